// Package envelope encrypts secrets at rest (architecture §5, I10): each under a data key, the data key wrapped by a key that
// never leaves its [KeySource] (a KMS key in production, a file on a developer's machine).
//
//	v1.<wrapped data key>.<nonce>.<ciphertext and tag>        unpadded base64url, AES-256-GCM, random nonce
//
// A [Context] names the one place where a secret may be read: kind and id of its record, and the field. It is authenticated twice,
// by the key source when it unwraps and as additional data of the ciphertext, so a sealed value that is copied to another record
// does not open there.
//
// Unwrapping costs a network call, so an [Envelope] keeps unwrapped data keys in a bounded cache, by wrapped key, for a bounded time;
// and it uses one data key for a bounded number of seals of one context. Nothing else is kept, and no error text holds
// plaintext, key bytes or sealed text.
//
// File access is in filekey.go alone. The KMS key source lives with the other AWS code.
package envelope
