package invoke

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"bailing/shared/clock"
	"bailing/shared/lambdahttp"
)

// streamer is a handler that streams.
type streamer func(ctx context.Context, payload []byte, w io.Writer) error

func (h streamer) Invoke(context.Context, []byte) ([]byte, error) {
	return nil, errors.New("not in one piece")
}

func (h streamer) InvokeStream(ctx context.Context, payload []byte, w io.Writer) error {
	return h(ctx, payload, w)
}

// counter counts what it is given and keeps nothing.
type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

func TestWhatCanBecomeOfAStream(t *testing.T) {
	t.Parallel()
	own := errors.New("own")
	// writes gives n bytes in pieces, and returns what the last write returned.
	writes := func(n int) streamer {
		return func(_ context.Context, _ []byte, w io.Writer) error {
			piece := make([]byte, 1<<20)
			for ; n > len(piece); n -= len(piece) {
				if _, err := w.Write(piece); err != nil {
					return err
				}
			}
			_, err := w.Write(piece[:n])
			return err
		}
	}
	cases := []struct {
		name  string
		event int
		h     streamer
		bytes int
		want  error
	}{
		{"an event at the limit", lambdahttp.EventMax, writes(2), 2, nil},
		{"an event past the limit", lambdahttp.EventMax + 1, writes(2), 0, ErrEventTooLarge},
		{"an answer at the limit", 2, writes(lambdahttp.StreamMax), lambdahttp.StreamMax, nil},
		{"an answer past the limit", 2, writes(lambdahttp.StreamMax + 1), 200 << 20 &^ (1<<20 - 1), ErrResponseTooLarge},
		{"an error after a part", 2, func(_ context.Context, _ []byte, w io.Writer) error {
			_, _ = io.WriteString(w, "part")
			return own
		}, 4, own},
		{"a panic after a part", 2, func(_ context.Context, _ []byte, w io.Writer) error {
			_, _ = io.WriteString(w, "part")
			panic("no")
		}, 4, ErrPanic},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var n counter
			f := Function{Name: "f", Handler: tc.h, Timeout: time.Minute, Clock: clock.NewManual(time.Unix(1_760_000_000, 0))}
			err := f.InvokeStream(t.Context(), make([]byte, tc.event), &n)
			if !errors.Is(err, tc.want) || int(n) != tc.bytes {
				t.Errorf("%d bytes, %v; want %d, %v", n, err, tc.bytes, tc.want)
			}
		})
	}
}

func TestAStreamPastTheDeadlineIsCut(t *testing.T) {
	t.Parallel()
	c := clock.NewManual(time.Unix(1_760_000_000, 0))
	var out strings.Builder
	h := streamer(func(ctx context.Context, _ []byte, w io.Writer) error {
		_, _ = io.WriteString(w, "in time")
		c.Advance(time.Minute)
		<-ctx.Done()
		if _, err := io.WriteString(w, "late"); !errors.Is(err, ErrTimeout) {
			t.Errorf("late: %v", err)
		}
		return nil
	})
	err := Function{Name: "f", Handler: h, Timeout: time.Minute, Clock: c}.InvokeStream(t.Context(), nil, &out)
	if !errors.Is(err, ErrTimeout) || out.String() != "in time" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

func TestAHandlerThatDoesNotStream(t *testing.T) {
	f, _ := setup(t, func(context.Context, []byte) ([]byte, error) { return nil, nil })
	if err := f.InvokeStream(t.Context(), nil, io.Discard); !errors.Is(err, ErrNotStreaming) {
		t.Errorf("err = %v", err)
	}
}
