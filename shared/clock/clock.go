package clock

import (
	"context"
	"sort"
	"sync"
	"time"
)

// Clock tells the time and waits for it to pass.
type Clock interface {
	// Now is the current time in UTC.
	Now() time.Time
	// After returns a channel that receives once, when d has passed. A d of zero or less fires at once.
	After(d time.Duration) <-chan time.Time
}

// Sleep waits until d has passed on c or ctx ends, and returns ctx's error in the second case.
func Sleep(ctx context.Context, c Clock, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	select {
	case <-c.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// System is the machine's own clock.
func System() Clock { return system{} }

type system struct{}

func (system) Now() time.Time                         { return time.Now().UTC() }
func (system) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Manual is a clock that stands still until [Manual.Advance] moves it. It is safe for concurrent use.
type Manual struct {
	mu      sync.Mutex
	now     time.Time
	waiters []waiter
}

type waiter struct {
	at time.Time
	ch chan time.Time
}

// NewManual returns a clock that shows start.
func NewManual(start time.Time) *Manual { return &Manual{now: start.UTC()} }

// Now is the time shown.
func (m *Manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// After fires when the clock has been advanced by d or more.
func (m *Manual) After(d time.Duration) <-chan time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	ch := make(chan time.Time, 1)
	if d <= 0 {
		ch <- m.now
		return ch
	}
	m.waiters = append(m.waiters, waiter{m.now.Add(d), ch})
	return ch
}

// Advance moves the clock forward by d and fires every wait that has ended, oldest first.
func (m *Manual) Advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = m.now.Add(d)
	sort.SliceStable(m.waiters, func(i, j int) bool { return m.waiters[i].at.Before(m.waiters[j].at) })
	n := 0
	for n < len(m.waiters) && !m.waiters[n].at.After(m.now) {
		m.waiters[n].ch <- m.now
		n++
	}
	m.waiters = append([]waiter(nil), m.waiters[n:]...)
}
