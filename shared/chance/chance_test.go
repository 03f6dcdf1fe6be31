package chance

import (
	"slices"
	"testing"
	"testing/cryptotest"
	"time"
)

func draw() (out []uint64) {
	for range 4 {
		out = append(out, Uint64(), uint64(N(1000)), uint64(N(time.Hour)))
	}
	return out
}

// Not parallel: the seed is the process's.
func TestASeedDecides(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 1)
	first := draw()
	cryptotest.SetGlobalRandom(t, 2)
	other := draw()
	cryptotest.SetGlobalRandom(t, 1)
	if again := draw(); !slices.Equal(first, again) || slices.Equal(first, other) {
		t.Errorf("%v, %v, %v", first, other, again)
	}
}

func TestNumbersAreBelowTheirBound(t *testing.T) {
	seen := map[int]bool{}
	for range 1000 {
		n := N(3)
		if n < 0 || n > 2 {
			t.Fatalf("N(3) = %d", n)
		}
		seen[n] = true
	}
	if len(seen) != 3 || N(1) != 0 {
		t.Errorf("drawn: %v", seen)
	}
}
