package invoke

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"bailing/shared/clock"
	"bailing/shared/lambdahttp"
)

type handler func(ctx context.Context, payload []byte) ([]byte, error)

func (h handler) Invoke(ctx context.Context, payload []byte) ([]byte, error) { return h(ctx, payload) }

func setup(t *testing.T, h handler) (Function, *clock.Manual) {
	t.Helper()
	t.Parallel()
	c := clock.NewManual(time.Unix(1_760_000_000, 0))
	return Function{Name: "f", Handler: h, Timeout: 29 * time.Second, Clock: c, NewID: func() string { return "id-1" }}, c
}

func TestTheContextIsLambdas(t *testing.T) {
	f, c := setup(t, func(ctx context.Context, payload []byte) ([]byte, error) {
		lc, ok := lambdacontext.FromContext(ctx)
		if !ok || lc.AwsRequestID != "id-1" || lc.InvokedFunctionArn != "arn:aws:lambda:us-east-1:000000000000:function:f" {
			t.Errorf("lambda context %+v", lc)
		}
		at, ok := ctx.Deadline()
		if !ok || !at.Equal(time.Unix(1_760_000_029, 0)) {
			t.Errorf("deadline %v", at)
		}
		return payload, ctx.Err()
	})
	_ = c
	if out, err := f.Invoke(context.Background(), []byte("in")); string(out) != "in" || err != nil {
		t.Errorf("Invoke = %q, %v", out, err)
	}
}

func TestWhatCanBecomeOfAnInvocation(t *testing.T) {
	own := errors.New("own")
	answer := func(n int) handler {
		return func(context.Context, []byte) ([]byte, error) { return make([]byte, n), nil }
	}
	cases := []struct {
		name  string
		event int
		h     handler
		want  error
	}{
		{"an event at the limit", lambdahttp.EventMax, answer(2), nil},
		{"an event past the limit", lambdahttp.EventMax + 1, answer(2), ErrEventTooLarge},
		{"a response at the limit", 2, answer(lambdahttp.ResponseMax), nil},
		{"a response past the limit", 2, answer(lambdahttp.ResponseMax + 1), ErrResponseTooLarge},
		{"an error", 2, func(context.Context, []byte) ([]byte, error) { return nil, own }, own},
		{"a panic", 2, func(context.Context, []byte) ([]byte, error) { panic("no") }, ErrPanic},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			f, _ := setup(t, tc.h)
			if _, err := f.Invoke(context.Background(), make([]byte, tc.event)); !errors.Is(err, tc.want) {
				t.Errorf("err = %v, want %v", err, tc.want)
			}
		})
	}
}

func TestTheDeadlineEndsTheContextAndVoidsTheResult(t *testing.T) {
	var c *clock.Manual
	f, m := setup(t, func(ctx context.Context, _ []byte) ([]byte, error) {
		derived, cancel := context.WithCancel(ctx)
		defer cancel()
		c.Advance(29 * time.Second)
		<-derived.Done()
		if !errors.Is(derived.Err(), context.DeadlineExceeded) {
			t.Errorf("a derived context ended with %v", derived.Err())
		}
		return []byte("late"), nil
	})
	c = m
	if out, err := f.Invoke(context.Background(), nil); !errors.Is(err, ErrTimeout) || out != nil {
		t.Errorf("Invoke = %q, %v", out, err)
	}
}

func TestTheCallersContextEndsTheInvocation(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	f, _ := setup(t, func(ctx context.Context, _ []byte) ([]byte, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	})
	if _, err := f.Invoke(ctx, nil); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "f: ") {
		t.Errorf("err = %v", err)
	}
}
