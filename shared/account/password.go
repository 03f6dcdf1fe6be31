package account

import (
	"crypto/subtle"
	"encoding/base32"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/crypto/argon2"

	"bailing/shared/textlimit"
)

const (
	// MinPassword and MaxPassword bound a new password, in characters (UTF-16 units).
	MinPassword = 8
	MaxPassword = 1024

	saltBytes = 16
	keyBytes  = 32
	// maxMemory, maxPasses and maxThreads bound what a stored hash may ask for, and with it what [Cost] may be: a damaged one
	// must not take a function's memory, nor its time.
	maxMemory  = 64 << 10 // KiB
	maxPasses  = 64
	maxThreads = 64
)

// CheckPassword completes "password " for a new password that is too short or too long; "" for a good one.
func CheckPassword(password string) string {
	switch n := textlimit.Len(password); {
	case n < MinPassword:
		return fmt.Sprintf("must have at least %d characters", MinPassword)
	case n > MaxPassword:
		return fmt.Sprintf("must have at most %d characters", MaxPassword)
	}
	return ""
}

// Cost is the work that one hash takes: the parameters of argon2id. They are part of each hash, in the usual form
//
//	$argon2id$v=19$m=19456,t=2,p=1$<salt>$<key>
//
// so that they can rise: a login with a hash of a lower cost replaces it.
type Cost struct {
	Memory  uint32 // KiB
	Passes  uint32
	Threads uint8
}

// DefaultCost is OWASP's minimum for argon2id.
var DefaultCost = Cost{Memory: 19 << 10, Passes: 2, Threads: 1}

// hash returns the hash of password under a new salt.
func (c Cost) hash(password string, random io.Reader) (string, error) {
	salt := make([]byte, saltBytes)
	if _, err := io.ReadFull(random, salt); err != nil {
		return "", fmt.Errorf("account: random source: %w", err)
	}
	key := argon2.IDKey([]byte(password), salt, c.Passes, c.Memory, c.Threads, keyBytes)
	b64 := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, c.Memory, c.Passes, c.Threads, b64(salt), b64(key)), nil
}

// spend does the work of one check, for a login whose account does not exist.
func (c Cost) spend(password string) {
	argon2.IDKey([]byte(password), make([]byte, saltBytes), c.Passes, c.Memory, c.Threads, keyBytes)
}

// below reports whether c takes less work than other in any respect.
func (c Cost) below(other Cost) bool {
	return c.Memory < other.Memory || c.Passes < other.Passes || c.Threads < other.Threads
}

// errHash is a stored hash that cannot be read. It does not quote the hash.
var errHash = errors.New("account: the stored password hash is damaged")

// verify reports whether hash is one of password, and the cost that hash has.
func verify(password, hash string) (ok bool, c Cost, err error) {
	parts := strings.Split(hash, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return false, c, errHash
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &c.Memory, &c.Passes, &c.Threads); err != nil {
		return false, c, errHash
	}
	salt, err1 := base64.RawStdEncoding.DecodeString(parts[4])
	key, err2 := base64.RawStdEncoding.DecodeString(parts[5])
	if err1 != nil || err2 != nil || len(salt) < saltBytes || len(key) < keyBytes ||
		c.Memory == 0 || c.Memory > maxMemory || c.Passes == 0 || c.Passes > maxPasses || c.Threads == 0 || c.Threads > maxThreads {
		return false, c, errHash
	}
	got := argon2.IDKey([]byte(password), salt, c.Passes, c.Memory, c.Threads, uint32(len(key)))
	return subtle.ConstantTimeCompare(got, key) == 1, c, nil
}

// generate returns a password of 128 random bits.
func generate(random io.Reader) (string, error) {
	b := make([]byte, 16)
	if _, err := io.ReadFull(random, b); err != nil {
		return "", fmt.Errorf("account: random source: %w", err)
	}
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b)), nil
}
