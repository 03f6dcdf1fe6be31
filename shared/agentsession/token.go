package agentsession

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"unicode"
)

// Prefixes of what Agent Auth hands out, and the shortest length that is looked at (agent §1.2).
const (
	accessPrefix  = "bha_"
	refreshPrefix = "bhr_"
	codePrefix    = "bhc_"

	minToken    = 40
	tokenRandom = 32 // bytes
)

// hasShape reports whether s can be a token of the kind.
func hasShape(s, prefix string) bool { return len(s) >= minToken && strings.HasPrefix(s, prefix) }

// Bearer is the token in an Authorization header: the scheme in any case, one space, one run of characters that are no white
// space, and nothing else (agent §1.2). Anything else is no token, "".
func Bearer(header string) string {
	scheme, token, ok := strings.Cut(header, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") || strings.ContainsFunc(token, isWhite) {
		return ""
	}
	return token
}

func isWhite(r rune) bool { return unicode.IsSpace(r) && r != 0x85 || r == 0xFEFF }

// hash is the only form in which tokens and codes are stored: SHA-256 in lower-case hexadecimal.
func hash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// draw makes a token: the prefix and 32 random bytes in base64url without padding.
func draw(random io.Reader, prefix string) (string, error) {
	b := make([]byte, tokenRandom)
	if _, err := io.ReadFull(random, b); err != nil {
		return "", fmt.Errorf("agentsession: draw a token: %w", err)
	}
	return prefix + base64.RawURLEncoding.EncodeToString(b), nil
}

const (
	challengeLen = 43
	minVerifier  = 43
	maxVerifier  = 128
)

// isChallenge reports whether s is a PKCE challenge: 43 characters of base64url (agent §1.4).
func isChallenge(s string) bool { return len(s) == challengeLen && only(s, "-_") }

// isVerifier reports whether s is a PKCE verifier: 43 to 128 unreserved characters (agent §1.4).
func isVerifier(s string) bool {
	return len(s) >= minVerifier && len(s) <= maxVerifier && only(s, "-._~")
}

// only reports whether s consists of ASCII letters, digits and more.
func only(s, more string) bool {
	for i := range len(s) {
		c := s[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte(more, c) >= 0) {
			return false
		}
	}
	return true
}

// challengeOf is the S256 challenge of a verifier.
func challengeOf(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// proves reports whether verifier is what challenge was made of, in constant time.
func proves(verifier, challenge string) bool {
	return subtle.ConstantTimeCompare([]byte(challengeOf(verifier)), []byte(challenge)) == 1
}
