package lambdahttp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"bailing/shared/clock"
)

// Passed says that every gate of ctx's request has passed: from now on, once [Heartbeat] has gone by since the request began, its answer
// may be committed as a 200 whose body is still to come. What the endpoint writes to its response remains the answer: a body of JSON with a
// status below 400 follows as it is. Headers and the status are lost then.
//
// late makes the body for everything else, as JSON. It is called at most once, after the endpoint has returned or panicked, so that it may
// look at what the endpoint knows by then: whether RESERVE was tried, above all. It gets the error that was given to [WriteError], the
// panic, or a [*StatusError] with what the endpoint wrote by itself. When Passed is called again, its late replaces the earlier one.
//
// Outside a streaming function it does nothing, as it does after the endpoint has returned.
func Passed(ctx context.Context, late func(error) []byte) {
	c := callOf(ctx)
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.finished {
		return
	}
	if c.late == nil {
		close(c.passed)
	}
	c.late = late
	if late == nil {
		c.late = func(error) []byte { return nil }
	}
}

// StatusError is a failure that an endpoint wrote by itself, or an answer that is not JSON.
type StatusError struct {
	Status int
	Body   []byte
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("the endpoint answered with status %d", e.Status)
}

type callKey struct{}

// call is one request of a streaming function.
type call struct {
	passed chan struct{} // closed by the first Passed
	done   chan struct{} // closed when the endpoint has returned and answer is final
	answer answer

	mu        sync.Mutex
	late      func(error) []byte
	failure   error // the last one that was answered with
	finished  bool
	committed bool
}

func callOf(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// noteFailure remembers what a request of a streaming function is answered with.
func noteFailure(ctx context.Context, err error) {
	if c := callOf(ctx); c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.failure = err
	}
}

// commit decides for the 200, unless the endpoint has returned.
func (c *call) commit() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.committed = !c.finished
	return c.committed
}

// finish notes that the endpoint has returned, and reports whether its answer comes after the commit.
func (c *call) finish() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finished = true
	return c.committed
}

// committed is the body of a committed answer: white space until the endpoint has returned, then its JSON. Close may be called beside Read.
type committed struct {
	ctx   context.Context
	clock clock.Clock
	call  *call
	at    time.Time        // when the next byte of white space is due
	due   <-chan time.Time // receives then; set before the byte before it is handed out
	rest  *bytes.Reader
}

// newCommitted is the body from now on. The first byte is due at once, so that the head of the answer leaves with it.
func newCommitted(ctx context.Context, c clock.Clock, of *call) *committed {
	return &committed{ctx: ctx, clock: c, call: of, at: c.Now(), due: c.After(0)}
}

// Read blocks until there is something to send.
func (b *committed) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	if b.rest == nil && !b.wait() {
		p[0] = whiteSpace
		return 1, nil
	}
	return b.rest.Read(p)
}

// wait returns true when the body is there, false when white space is due.
func (b *committed) wait() bool {
	select {
	case <-b.call.done: // goes before white space that is due at the same time
	default:
		select {
		case <-b.call.done:
		case <-b.due:
			now := b.clock.Now()
			for !b.at.After(now) {
				b.at = b.at.Add(Heartbeat)
			}
			b.due = b.clock.After(b.at.Sub(now))
			return false
		}
	}
	b.rest = bytes.NewReader(b.call.lateBody(b.ctx))
	return true
}

// Close waits for the endpoint: an invocation whose client has left is not over before its outcome is saved.
func (b *committed) Close() error {
	<-b.call.done
	return nil
}

var _ io.ReadCloser = (*committed)(nil)

// lateBody is what follows the white space; the endpoint must have returned.
func (c *call) lateBody(ctx context.Context) []byte {
	if c.answer.status < http.StatusBadRequest && json.Valid(c.answer.body) {
		return c.answer.body
	}
	c.mu.Lock()
	late, err := c.late, c.failure
	c.mu.Unlock()
	if err == nil || c.answer.status < http.StatusBadRequest {
		err = &StatusError{Status: c.answer.status, Body: c.answer.body}
	}
	Logger(ctx).LogAttrs(ctx, slog.LevelWarn, "failure after the commit",
		slog.Int("answer_status", c.answer.status), slog.String("error", err.Error()))
	body, lateErr := shape(late, err)
	if lateErr != nil {
		Logger(ctx).LogAttrs(ctx, slog.LevelError, "late body", slog.String("error", lateErr.Error()))
		body, _ = json.Marshal(map[string]string{"error": "internal_error", "request_id": RequestID(ctx)}) // strings
	}
	return body
}

// shape calls late, which belongs to an endpoint and may do anything.
func shape(late func(error) []byte, err error) (body []byte, failure error) {
	defer func() {
		if v := recover(); v != nil {
			failure = fmt.Errorf("panic: %v", v)
		}
	}()
	if body = late(err); !json.Valid(body) {
		return nil, errors.New("it is not JSON")
	}
	return body, nil
}
