package ratelimit

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"sort"
	"testing"
	"time"
)

var start = time.UnixMilli(1_760_000_000_123)

func after(d time.Duration) time.Time { return start.Add(d) }

// fill takes n permits at once and fails the test if one is refused.
func fill(t *testing.T, b Bucket, n int, at time.Time, p Policy) (Bucket, Permit) {
	t.Helper()
	var permit Permit
	for i := range n {
		var d Decision
		if b, permit, d = b.Take(at, p); !d.Allowed || d.RetryAfter != 0 || !permit.Held() {
			t.Fatalf("call %d of %d refused: %+v", i+1, n, d)
		}
	}
	return b, permit
}

func refused(t *testing.T, b Bucket, at time.Time, p Policy) time.Duration {
	t.Helper()
	_, permit, d := b.Take(at, p)
	if d.Allowed || permit.Held() {
		t.Fatalf("allowed at %v", at.Sub(start))
	}
	return d.RetryAfter
}

func TestTheLimitAndOnePast(t *testing.T) {
	t.Parallel()
	for _, window := range []time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour} {
		p := Policy{3, window}
		b, _ := fill(t, Bucket{}, 1, start, p)
		b, _ = fill(t, b, 2, after(window/4), p)
		if got := refused(t, b, after(window/2), p); got != window/2 {
			t.Errorf("%v: RetryAfter %v, want %v", window, got, window/2)
		}
		if got := refused(t, b, after(window-time.Millisecond), p); got != time.Millisecond {
			t.Errorf("%v: RetryAfter %v just before the first call leaves", window, got)
		}
		b, _ = fill(t, b, 1, after(window), p) // exactly one window later the first call has left
		if got := refused(t, b, after(window), p); got != window/4 {
			t.Errorf("%v: RetryAfter %v, want %v", window, got, window/4)
		}
	}
}

func TestRetryAfterIsWhenTheCallFits(t *testing.T) {
	t.Parallel()
	for _, count := range []int{2, ExactLimit, ExactLimit + 1, 5000} {
		p := Policy{count, time.Second}
		now := start.Add(456 * time.Microsecond)
		b, _ := fill(t, Bucket{}, count, now, p)
		wait := refused(t, b, now, p)
		if limit := p.Window + p.Window/slots; wait <= 0 || wait > limit {
			t.Errorf("count %d: RetryAfter %v, want at most %v", count, wait, limit)
		}
		refused(t, b, now.Add(wait-time.Millisecond), p)
		fill(t, b, 1, now.Add(wait), p)
	}
}

func TestZeroDisables(t *testing.T) {
	t.Parallel()
	full, _ := fill(t, Bucket{}, 1, start, Policy{1, time.Minute})
	for _, window := range []time.Duration{0, time.Minute} {
		next, permit, d := full.Take(start, Policy{0, window})
		if !d.Allowed || permit.Held() || !reflect.DeepEqual(next, full) || !reflect.DeepEqual(next.Return(permit), full) {
			t.Errorf("a disabled limit counted: %+v", d)
		}
	}
}

func TestPolicyBounds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		p    Policy
		good bool
	}{
		{Policy{0, 0}, true},
		{Policy{1, time.Second}, true},
		{Policy{MaxCount, 24 * time.Hour}, true},
		{Policy{MaxCount + 1, time.Hour}, false},
		{Policy{-1, time.Hour}, false},
		{Policy{1, 2 * time.Second}, false},
		{Policy{1, 0}, false},
	} {
		if err := c.p.Validate(); (err == nil) != c.good || err != nil && !errors.Is(err, ErrPolicy) {
			t.Errorf("%+v: %v", c.p, err)
		}
		if !c.good {
			if got := refused(t, Bucket{}, start, c.p); got != time.Minute {
				t.Errorf("%+v: RetryAfter %v", c.p, got)
			}
		}
	}
}

func TestAReturnedPermitMakesRoom(t *testing.T) {
	t.Parallel()
	for _, count := range []int{3, ExactLimit, ExactLimit + 1} {
		p := Policy{count, time.Minute}
		b, _ := fill(t, Bucket{}, count-1, start, p)
		b, permit := fill(t, b, 1, start, p)
		refused(t, b, start, p)
		b, _ = fill(t, b.Return(permit), 1, start, p)
		refused(t, b, start, p)
	}
}

func TestAnExactPermitIsReturnedOnce(t *testing.T) {
	t.Parallel()
	p := Policy{3, time.Minute}
	b, _ := fill(t, Bucket{}, 2, start, p)
	b, permit := fill(t, b, 1, start, p)
	b = b.Return(permit).Return(permit).Return(Permit{})
	b, _ = fill(t, b, 1, start, p)
	refused(t, b.Return(permit), start, p) // its place belongs to another call now
}

func TestAPermitThatIsGoneStaysSpent(t *testing.T) {
	t.Parallel()
	for _, count := range []int{2, ExactLimit + 1} {
		p := Policy{count, time.Second}
		b, permit := fill(t, Bucket{}, 1, start, p)
		b, _ = fill(t, b, count, after(2*time.Second), p)
		refused(t, b.Return(permit), after(2*time.Second), p)
	}
	// A policy that became large has merged the call with others of its slot.
	b, permit := fill(t, Bucket{}, 1, start, Policy{2, time.Second})
	large := Policy{ExactLimit + 1, time.Second}
	b, _ = fill(t, b, ExactLimit, start, large)
	refused(t, b.Return(permit), start, large)
}

func TestPolicyChanges(t *testing.T) {
	t.Parallel()
	small, large := Policy{10, time.Minute}, Policy{600, time.Minute}
	t.Run("a lower count waits until enough calls have left", func(t *testing.T) {
		t.Parallel()
		b, _ := fill(t, Bucket{}, 5, start, small)
		b, _ = fill(t, b, 5, after(10*time.Second), small)
		if got := refused(t, b, after(20*time.Second), Policy{3, time.Minute}); got != 50*time.Second {
			t.Errorf("RetryAfter %v, want 50s", got)
		}
	})
	t.Run("a higher count has room at once", func(t *testing.T) {
		t.Parallel()
		b, _ := fill(t, Bucket{}, 10, start, small)
		b, _ = fill(t, b, 590, start, large)
		refused(t, b, start, large)
	})
	t.Run("from large to small every call still counts", func(t *testing.T) {
		t.Parallel()
		b, _ := fill(t, Bucket{}, 600, start, large)
		if wait := refused(t, b, start, small); wait < time.Minute || wait > time.Minute+time.Second {
			t.Errorf("RetryAfter %v", wait)
		}
		fill(t, b, 10, after(time.Minute+time.Second), small)
	})
	t.Run("a shorter window remembers what was just made in a slot of a longer one", func(t *testing.T) {
		t.Parallel()
		for _, longer := range []time.Duration{time.Hour, 24 * time.Hour} {
			for _, shorter := range []Policy{{5, time.Minute}, {5, time.Second}, {600, time.Second}} {
				b, _ := fill(t, Bucket{}, 600, start, Policy{1000, longer})
				if wait := refused(t, b, after(time.Millisecond), shorter); wait <= 0 || wait > shorter.Window+shorter.Window/slots+time.Millisecond {
					t.Errorf("%v to %v: RetryAfter %v", longer, shorter, wait)
				}
			}
		}
	})
	t.Run("a longer window remembers what is known", func(t *testing.T) {
		t.Parallel()
		b, _ := fill(t, Bucket{}, 10, start, small)
		refused(t, b, after(59*time.Minute), Policy{10, time.Hour})
	})
	t.Run("a shorter window forgets", func(t *testing.T) {
		t.Parallel()
		b, _ := fill(t, Bucket{}, 10, start, Policy{10, time.Hour})
		fill(t, b, 10, after(time.Second), Policy{10, time.Second})
	})
}

func TestClockGoingBack(t *testing.T) {
	t.Parallel()
	p := Policy{2, time.Minute}
	b, _ := fill(t, Bucket{}, 1, after(time.Second), p)
	b, _ = fill(t, b, 1, start, p)
	if got := refused(t, b, start, p); got != time.Minute {
		t.Errorf("RetryAfter %v, want 1m: the call made at the earlier time leaves first", got)
	}
	wrong, _ := fill(t, Bucket{}, 2, after(48*time.Hour), p)
	fill(t, wrong, 2, start, p) // a clock two days ahead must not close the limit for two days
}

func TestTakeAndReturnNeverChangeTheirBucket(t *testing.T) {
	t.Parallel()
	for _, count := range []int{100, 1000} {
		p := Policy{count, time.Second}
		r := rand.New(rand.NewPCG(1, 1))
		b := Bucket{}
		now := start
		for range 300 {
			now = now.Add(time.Duration(r.IntN(20)-2) * time.Millisecond)
			before, _ := b.MarshalBinary()
			next, permit, _ := b.Take(now, p)
			other, _, _ := b.Take(now.Add(time.Millisecond), p)
			next.Return(permit)
			other.Return(permit)
			if got, _ := b.MarshalBinary(); string(got) != string(before) {
				t.Fatal("the bucket changed")
			}
			b = next
		}
	}
}

// TestPropertyAgainstAListOfTimestamps compares with the definition: a call is allowed if fewer than count calls were allowed
// in the window before it. Large counts may refuse while a call is up to 1/60 of the window too old.
func TestPropertyAgainstAListOfTimestamps(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 7))
		window := []time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour}[seed%4]
		p := Policy{1 + r.IntN(40), window}
		if seed%2 == 1 {
			p.Count = ExactLimit + 1 + r.IntN(300)
		}
		var b Bucket
		var calls []time.Time
		within := func(now time.Time, d time.Duration) int { // calls ascend here
			return len(calls) - sort.Search(len(calls), func(i int) bool { return now.Sub(calls[i]) < d })
		}
		now := start
		for i := range 2000 {
			now = now.Add(time.Duration(r.Int64N(int64(window) * 2 / int64(p.Count)))).Truncate(time.Millisecond)
			if r.IntN(200) == 0 {
				now = now.Add(window / 2)
			}
			next, permit, d := b.Take(now, p)
			inWindow := within(now, window)
			if d.Allowed && inWindow >= p.Count {
				t.Fatalf("seed %d, call %d: allowed with %d calls in the window of %d", seed, i, inWindow, p.Count)
			}
			slack := time.Duration(0)
			if p.Count > ExactLimit {
				slack = window / slots
			}
			if !d.Allowed && within(now, window+slack) < p.Count {
				t.Fatalf("seed %d, call %d: refused with %d calls of %d", seed, i, inWindow, p.Count)
			}
			if !d.Allowed && (d.RetryAfter <= 0 || d.RetryAfter > window+slack) {
				t.Fatalf("seed %d, call %d: RetryAfter %v", seed, i, d.RetryAfter)
			}
			if b = next; d.Allowed {
				if r.IntN(10) == 0 {
					b = b.Return(permit)
				} else {
					calls = append(calls, now)
				}
			}
			if i%100 == 0 {
				b = roundTrip(t, b)
			}
		}
	}
}

func roundTrip(t *testing.T, b Bucket) Bucket {
	t.Helper()
	data, err := b.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > 10<<10 {
		t.Fatalf("%d bytes", len(data))
	}
	var back Bucket
	if err := back.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	if again, _ := back.MarshalBinary(); string(again) != string(data) {
		t.Fatal("another stored form after reading it")
	}
	return back
}

func TestStoredBucketDecidesAlike(t *testing.T) {
	t.Parallel()
	for _, count := range []int{ExactLimit, MaxCount} {
		p := Policy{count, 24 * time.Hour}
		b := Bucket{}
		var permit Permit
		for i := range count {
			if i >= 2000 {
				break
			}
			b, permit = fill(t, b, 1, after(time.Duration(i)*40*time.Second), p)
		}
		back := roundTrip(t, b)
		n1, _, d1 := b.Take(after(23*time.Hour), p)
		n2, _, d2 := back.Take(after(23*time.Hour), p)
		if d1 != d2 || n1.total() != n2.total() || back.Return(permit).total() != b.total()-1 || !back.Expires().Equal(b.Expires()) {
			t.Errorf("count %d: %+v and %+v", count, d1, d2)
		}
	}
	var empty Bucket
	if err := empty.UnmarshalBinary(nil); err != nil || !empty.Expires().IsZero() {
		t.Errorf("no bytes: %v", err)
	}
	roundTrip(t, Bucket{})
}

func TestExpires(t *testing.T) {
	t.Parallel()
	p := Policy{2, time.Minute}
	b, _ := fill(t, Bucket{}, 1, start, p)
	b, _ = fill(t, b, 1, after(time.Second), p)
	if got := b.Expires(); !got.Equal(after(61 * time.Second)) {
		t.Errorf("%v", got.Sub(start))
	}
}

func FuzzUnmarshal(f *testing.F) {
	p := Policy{20, time.Minute}
	b := Bucket{}
	for i := range 10 {
		b, _, _ = b.Take(after(time.Duration(i)*time.Second), p)
	}
	exact, _ := b.MarshalBinary()
	large, _, _ := b.Take(after(time.Minute), Policy{1000, time.Minute})
	slotted, _ := large.MarshalBinary()
	for _, data := range [][]byte{nil, {1}, {2, 0, 0, 0}, {1, 0, 0, 0}, exact, slotted, exact[:len(exact)-1], append(slotted, 0)} {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var b Bucket
		if err := b.UnmarshalBinary(data); err != nil {
			if !errors.Is(err, ErrCorrupt) || !reflect.DeepEqual(b, Bucket{}) {
				t.Fatalf("%v, %+v", err, b)
			}
			return
		}
		for _, p := range []Policy{{1, time.Second}, {1000, 24 * time.Hour}} {
			next, permit, d := b.Take(start, p)
			if d.Allowed && next.Return(permit).total() != next.total()-1 {
				t.Fatal("a permit that cannot be returned")
			}
			if !d.Allowed && d.RetryAfter <= 0 {
				t.Fatalf("refused with RetryAfter %v", d.RetryAfter)
			}
		}
		roundTripFuzz(t, b)
	})
}

func roundTripFuzz(t *testing.T, b Bucket) {
	data, _ := b.MarshalBinary()
	var back Bucket
	if err := back.UnmarshalBinary(data); err != nil || !reflect.DeepEqual(back, b) {
		t.Fatalf("%v: %+v, want %+v", err, back, b)
	}
}
