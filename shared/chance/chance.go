package chance

import (
	cryptorand "crypto/rand"
	"encoding/binary"
	"math/rand/v2"
)

// source reads the generator anew for every number: it keeps no state that a later seed would not reach.
type source struct{}

func (source) Uint64() uint64 {
	var b [8]byte
	_, _ = cryptorand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:])
}

// Uint64 is any number.
func Uint64() uint64 { return source{}.Uint64() }

// N is at least 0 and less than n. It panics when n is not positive.
func N[T ~int | ~int64](n T) T { return T(rand.New(source{}).Int64N(int64(n))) }
