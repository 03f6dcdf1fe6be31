package agentclient

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
)

// newSecret is 32 random bytes as 43 characters: a state, or a PKCE verifier (agent §1.4).
func newSecret() string {
	b := make([]byte, 32)
	rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// challengeOf is the S256 challenge of a verifier (agent §2.7).
func challengeOf(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
