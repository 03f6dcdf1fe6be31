package ratelimit

import (
	"errors"
	"slices"
	"time"
)

const (
	// ExactLimit is the largest count that is judged by exact timestamps.
	ExactLimit = 500
	// MaxCount is the largest count of a policy (core §5.6).
	MaxCount = 1_000_000

	slots = 60 // parts of a window that larger counts are kept in
)

// ErrPolicy is the error of [Policy.Validate].
var ErrPolicy = errors.New("rate limit policy needs a count of 0 to 1000000 and a window of 1 s, 1 min, 1 h or 1 day")

// Policy allows Count calls in any Window. A Count of 0 disables the limit.
type Policy struct {
	Count  int           // 0 to [MaxCount]
	Window time.Duration // 1 s, 1 min, 1 h or 24 h
}

// Validate reports a policy outside core §5.6 as [ErrPolicy].
func (p Policy) Validate() error {
	switch p.Window {
	case time.Second, time.Minute, time.Hour, 24 * time.Hour:
	default:
		if p.Count != 0 { // a disabled limit needs no window
			return ErrPolicy
		}
	}
	if p.Count < 0 || p.Count > MaxCount {
		return ErrPolicy
	}
	return nil
}

// Decision is the answer to one call.
type Decision struct {
	Allowed bool
	// RetryAfter is how long from now the same call would fit if nobody else called; 0 when allowed.
	RetryAfter time.Duration
}

// Permit is what an allowed call holds. The zero Permit is none.
type Permit struct {
	at  int64
	seq uint64
	ok  bool
}

// Held reports whether p stands for a call that was counted. Calls under a disabled limit are not.
func (p Permit) Held() bool { return p.ok }

// Bucket is the calls that a limit remembers. The zero Bucket is empty; Buckets are values and never change.
type Bucket struct {
	windowMS int64  // of the last policy
	seq      uint64 // number of the last exact call
	marks    []mark // by time
}

// mark is one call at its millisecond (seq > 0, n = 1) or the n calls of one slot at the slot's last millisecond (seq = 0).
type mark struct {
	at  int64
	n   int
	seq uint64
}

// Take counts one call at now if policy has room for it. next is the bucket to store; after a refusal storing it is allowed
// but not needed. A policy that does not [Policy.Validate] refuses, with a RetryAfter of a minute.
func (b Bucket) Take(now time.Time, policy Policy) (next Bucket, permit Permit, d Decision) {
	switch {
	case policy.Validate() != nil:
		return b, Permit{}, Decision{RetryAfter: time.Minute}
	case policy.Count == 0:
		return b, Permit{}, Decision{Allowed: true}
	}
	nowMS := now.UnixMilli()
	next = b.recall(nowMS, policy)
	if excess := next.total() - policy.Count; excess >= 0 {
		return next, Permit{}, Decision{RetryAfter: next.freeAt(excess + 1).Sub(now)}
	}
	permit = Permit{at: nowMS, ok: true}
	if policy.Count > ExactLimit {
		permit.at = slotEnd(nowMS, next.windowMS)
	} else {
		next.seq++
		permit.seq = next.seq
	}
	next.add(mark{permit.at, 1, permit.seq})
	return next, permit, Decision{Allowed: true}
}

// Return takes back the call that permit stands for, so that another may have its place. If that call is no longer known by
// itself, b comes back as it is. Permits of policies up to [ExactLimit] may be returned any number of times; larger ones
// share counters, and the caller must return each at most once.
func (b Bucket) Return(permit Permit) Bucket {
	i := slices.IndexFunc(b.marks, func(m mark) bool { return m.at == permit.at && m.seq == permit.seq })
	if !permit.ok || i < 0 {
		return b
	}
	b.marks = slices.Clone(b.marks)
	if b.marks[i].n--; b.marks[i].n == 0 {
		b.marks = slices.Delete(b.marks, i, i+1)
	}
	return b
}

// Expires is when the last call leaves the window: from then on the bucket is as good as the zero Bucket. The zero time
// if it is empty.
func (b Bucket) Expires() time.Time {
	if len(b.marks) == 0 {
		return time.Time{}
	}
	return time.UnixMilli(b.marks[len(b.marks)-1].at + b.windowMS).UTC()
}

// recall is a copy of b as policy sees it at nowMS: without what has left the window, and in slots if policy is large.
// Calls more than a window ahead come from a clock that was wrong; keeping them could block the limit for as long.
func (b Bucket) recall(nowMS int64, policy Policy) Bucket {
	window := policy.Window.Milliseconds()
	next := Bucket{windowMS: window, seq: b.seq, marks: make([]mark, 0, len(b.marks)+1)}
	for _, m := range b.marks {
		// The end of a slot of a longer window may be further ahead than the shorter one reaches, but its calls were made.
		if m.seq == 0 && window < b.windowMS && m.at > nowMS && m.at < nowMS+b.windowMS/slots {
			m.at = nowMS
		}
		if policy.Count > ExactLimit {
			m.at, m.seq = slotEnd(m.at, window), 0
		}
		if m.at > nowMS-window && m.at <= nowMS+window+window/slots {
			next.add(m)
		}
	}
	return next
}

// add puts m in its place by time. It changes b.marks, which must belong to b alone.
func (b *Bucket) add(m mark) {
	i := len(b.marks)
	for i > 0 && b.marks[i-1].at > m.at {
		i--
	}
	if i > 0 && m.seq == 0 && b.marks[i-1].at == m.at && b.marks[i-1].seq == 0 {
		b.marks[i-1].n += m.n
		return
	}
	b.marks = slices.Insert(b.marks, i, m)
}

func (b Bucket) total() int {
	n := 0
	for _, m := range b.marks {
		n += m.n
	}
	return n
}

// freeAt is when n calls have left the window.
func (b Bucket) freeAt(n int) time.Time {
	for _, m := range b.marks {
		if n -= m.n; n <= 0 {
			return time.UnixMilli(m.at + b.windowMS)
		}
	}
	return time.Time{} // unreachable: n is at most the total
}

// slotEnd is the last millisecond of the slot that ms is in. Slots of a second are not whole milliseconds long, so the
// bounds are rounded, always the same way: slotEnd of a slotEnd is itself.
func slotEnd(ms, window int64) int64 {
	slot := floorDiv(ms*slots, window)
	return -floorDiv(-(slot+1)*window, slots) - 1
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
