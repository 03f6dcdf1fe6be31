package registry

import (
	"crypto/sha256"
	"crypto/subtle"
)

// ServerToken is the administrator's token, kept as its hash. The zero value is nobody's.
type ServerToken struct {
	hash [sha256.Size]byte
	set  bool
}

// NewServerToken keeps token; "" makes nobody an administrator (core §0.2).
func NewServerToken(token string) ServerToken {
	return ServerToken{hash: sha256.Sum256([]byte(token)), set: token != ""}
}

// Is reports whether presented is the token. Comparing hashes takes the same time whatever was sent, and tells nothing about
// the length of the token.
func (t ServerToken) Is(presented string) bool {
	sum := sha256.Sum256([]byte(presented))
	return subtle.ConstantTimeCompare(sum[:], t.hash[:]) == 1 && t.set
}
