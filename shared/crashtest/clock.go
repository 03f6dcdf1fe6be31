package crashtest

import (
	"context"
	"sync/atomic"
	"time"
)

// Clock is the machine's clock, moved forward by hand. Waits take real time. The zero value shows the machine's time.
type Clock struct{ by atomic.Int64 }

// Now is the machine's time and what was advanced.
func (c *Clock) Now() time.Time { return time.Now().UTC().Add(time.Duration(c.by.Load())) }

// After is time.After.
func (c *Clock) After(d time.Duration) <-chan time.Time { return time.After(d) }

// Advance moves the clock forward.
func (c *Clock) Advance(d time.Duration) { c.by.Add(int64(d)) }

// Invocation is a context that ends when a function that started now, and may run for limit, would be stopped.
func (c *Clock) Invocation(parent context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithDeadline(parent, c.Now().Add(limit))
}
