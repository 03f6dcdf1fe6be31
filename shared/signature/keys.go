package signature

import (
	"crypto/sha256"
	"encoding/hex"

	"bailing/shared/canonical"
)

// ToolToken is the bearer token with which an executor calls tools of the job it claimed (core §7.6).
func ToolToken(serverToken, jobID, claimToken string) string {
	return hex.EncodeToString(sum(serverToken, jobID+"."+claimToken))
}

// VerifyToolToken checks a bearer token against the job's current claim. Whether the job is still dispatched is the caller's
// to know.
func VerifyToolToken(serverToken, jobID, claimToken, token string) error {
	if !isHexDigest(token) {
		return ErrMalformed
	}
	if claimToken == "" {
		return ErrBadSignature // nobody holds the job
	}
	return compare(serverToken, jobID+"."+claimToken, token)
}

// IdempotencyKey is the value of X-Bailing-Idempotency-Key: the hash of the canonical JSON of the four parts (core §5.7).
// onBehalfOf is empty when there is no subject; argsHash is [canonical.Value.Hash] of the arguments.
func IdempotencyKey(jobID, tool, argsHash, onBehalfOf string) string {
	b := make([]byte, 0, 256)
	b = canonical.AppendString(append(b, `{"args_hash":`...), argsHash)
	b = canonical.AppendString(append(b, `,"job_id":`...), jobID)
	b = canonical.AppendString(append(b, `,"on_behalf_of":`...), onBehalfOf)
	b = canonical.AppendString(append(b, `,"tool":`...), tool)
	digest := sha256.Sum256(append(b, '}'))
	return hex.EncodeToString(digest[:])
}
