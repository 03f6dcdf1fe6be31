package invoke

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"bailing/shared/lambdahttp"
)

// ErrNotStreaming says that the handler cannot hand out its answer as it comes.
var ErrNotStreaming = errors.New("function does not stream")

// InvokeStream is [Function.Invoke] for a handler that is a [lambdahttp.StreamHandler]: the answer goes to w as it comes, and an error
// may come after a part of it. What is written past the deadline, or past the platform's limit, does not reach w.
func (f Function) InvokeStream(ctx context.Context, payload []byte, w io.Writer) error {
	h, ok := f.Handler.(lambdahttp.StreamHandler)
	if !ok {
		return fmt.Errorf("%s: %w", f.Name, ErrNotStreaming)
	}
	timed, stop, err := f.begin(ctx, payload)
	if err != nil {
		return err
	}
	defer stop()
	out := &limited{ctx: timed, w: w, left: lambdahttp.StreamMax}
	err = callStream(timed, h, payload, out)
	switch {
	case errors.Is(timed.Err(), context.DeadlineExceeded):
		return f.timedOut()
	case out.left < 0:
		return fmt.Errorf("%s: %w: over %d bytes", f.Name, ErrResponseTooLarge, lambdahttp.StreamMax)
	case err != nil:
		return fmt.Errorf("%s: %w", f.Name, err)
	}
	return nil
}

// limited passes on what an invocation may still say.
type limited struct {
	ctx  context.Context
	w    io.Writer
	left int // bytes; negative once there were too many
}

func (l *limited) Write(p []byte) (int, error) {
	switch err := l.ctx.Err(); {
	case errors.Is(err, context.DeadlineExceeded):
		return 0, ErrTimeout
	case l.left < len(p):
		l.left = -1
		return 0, ErrResponseTooLarge
	}
	l.left -= len(p)
	return l.w.Write(p)
}

func callStream(ctx context.Context, h lambdahttp.StreamHandler, payload []byte, w io.Writer) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: %v\n%s", ErrPanic, v, debug.Stack())
		}
	}()
	return h.InvokeStream(ctx, payload, w)
}
