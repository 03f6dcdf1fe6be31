package clock

import (
	"context"
	"sync"
	"time"
)

// timed is a context with a deadline on an injected clock. It is a context of its own, and not a cancelled one with
// another error, because contexts derived from it must end with DeadlineExceeded too.
type timed struct {
	context.Context // for values
	deadline        time.Time
	done            chan struct{}

	mu  sync.Mutex
	err error
}

// WithTimeout is context.WithTimeout on an injected clock. stop releases the context and must be called.
func WithTimeout(parent context.Context, c Clock, d time.Duration) (ctx context.Context, stop func()) {
	t := &timed{Context: parent, deadline: c.Now().Add(d), done: make(chan struct{})}
	if at, ok := parent.Deadline(); ok && at.Before(t.deadline) {
		t.deadline = at
	}
	expired := c.After(d)
	detach := context.AfterFunc(parent, func() { t.end(parent.Err()) })
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		select {
		case <-expired:
			t.end(context.DeadlineExceeded)
		case <-t.done:
		}
	}()
	return t, func() {
		detach()
		t.end(context.Canceled)
		<-watching
	}
}

func (t *timed) end(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = err
		close(t.done)
	}
}

func (t *timed) Deadline() (time.Time, bool) { return t.deadline, true }
func (t *timed) Done() <-chan struct{}       { return t.done }

func (t *timed) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}
