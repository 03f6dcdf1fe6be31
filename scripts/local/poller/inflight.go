package poller

import (
	"context"
	"sync"
	"time"

	"bailing/shared/clock"
)

// inflight is the set of running invocations. Their context outlives that of the poller by the grace.
type inflight struct {
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

func newInflight(ctx context.Context) *inflight {
	f := &inflight{}
	f.ctx, f.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return f
}

// drain waits until nothing runs. When the grace ends first, it ends the invocations' context and goes on waiting.
func (f *inflight) drain(c clock.Clock, grace time.Duration) {
	idle := make(chan struct{})
	go func() {
		f.wg.Wait()
		close(idle)
	}()
	select {
	case <-idle:
	case <-c.After(grace):
	}
	f.cancel()
	<-idle
}
