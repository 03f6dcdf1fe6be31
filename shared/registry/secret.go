package registry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"bailing/shared/envelope"
	"bailing/shared/textlimit"
)

// maxSecret is the longest secret that a record holds, in characters.
const maxSecret = 4096

// Sealer encrypts secrets for storage. The context is authenticated: a sealed text opens only with the context that it
// was sealed with, so it cannot be moved to another record.
type Sealer interface {
	Seal(ctx context.Context, plaintext []byte, place envelope.Context) (string, error)
	Open(ctx context.Context, sealed string, place envelope.Context) ([]byte, error)
}

// CredentialKeyContext is the encryption context of the api_key of the credential called name.
func CredentialKeyContext(name string) envelope.Context {
	return envelope.Context{Kind: "credential", ID: name, Field: "api_key"}
}

// ProviderSecretContext is the encryption context of the secret of the provider called name.
func ProviderSecretContext(name string) envelope.Context {
	return envelope.Context{Kind: "tool-provider", ID: name, Field: "secret"}
}

// ClientTokenContext is the encryption context of the token of the client appID.
func ClientTokenContext(appID string) envelope.Context {
	return envelope.Context{Kind: "client", ID: appID, Field: "token"}
}

// TokenHash is the key under which a token's row is stored: its SHA-256 in lower-case hexadecimal.
func TokenHash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// maskedPart stands for what a mask hides.
const maskedPart = "…"

// maskFrom is the shortest secret whose ends are shown: at least as much stays hidden as is shown.
const maskFrom = 18

// Mask is what a list shows of a secret: the first five and the last four characters, or only "…" for a short one.
func Mask(secret string) string {
	if textlimit.Len(secret) < maskFrom {
		return maskedPart
	}
	r := []rune(secret)
	if len(r) < maskFrom {
		return maskedPart
	}
	return string(r[:5]) + maskedPart + string(r[len(r)-4:])
}
