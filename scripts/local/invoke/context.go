package invoke

import (
	"context"
	"time"

	"bailing/shared/clock"
)

// WithTimeout is the context of an invocation: the platform's deadline on the host's clock. stop must be called.
func WithTimeout(parent context.Context, c clock.Clock, d time.Duration) (ctx context.Context, stop func()) {
	return clock.WithTimeout(parent, c, d)
}
