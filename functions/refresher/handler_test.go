package refresher_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"bailing/functions/refresher"
	"bailing/shared/clock"
	"bailing/shared/platform"
	"bailing/shared/provider"
)

// round answers with a count, and shows the deadline that it was given.
type round struct {
	n        provider.Swept
	err      error
	deadline time.Time
}

func (r *round) RefreshDue(ctx context.Context) (provider.Swept, error) {
	r.deadline, _ = ctx.Deadline()
	return r.n, r.err
}

func handler(r *round) (*refresher.Handler, *bytes.Buffer) {
	var out bytes.Buffer
	return &refresher.Handler{
		Refresher: r, Logger: platform.NewLogger(&out, 0),
		Metrics: platform.NewMetrics(&out, clock.NewManual(time.Unix(1_796_053_968, 0)), "refresher"),
	}, &out
}

func TestARoundIsCounted(t *testing.T) {
	t.Parallel()
	down := errors.New("kms is down")
	h, out := handler(&round{n: provider.Swept{Looked: 9, Due: 6, Refreshed: 3, Failed: 2, Recompiled: 1}, err: down})
	if err := h.Handle(t.Context(), events.CloudWatchEvent{}); !errors.Is(err, down) {
		t.Errorf("%v", err)
	}
	for _, want := range []string{`"specs_refreshed":3`, `"specs_failed":2`, `"specs_recompiled":1`, `"providers":9`, `"due":6`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output has no %s", want)
		}
	}
	h, out = handler(&round{n: provider.Swept{Looked: 9}})
	if err := h.Handle(t.Context(), events.CloudWatchEvent{}); err != nil || strings.Contains(out.String(), `"msg"`) {
		t.Errorf("a round with nothing to do says so: %s %v", out, err)
	}
}

// What a round found out is written up to three seconds after its deadline, and the invocation ends after that.
func TestARoundEndsBeforeItsInvocation(t *testing.T) {
	t.Parallel()
	r := &round{}
	h, _ := handler(r)
	end := time.Now().Add(time.Hour)
	ctx, cancel := context.WithDeadline(t.Context(), end)
	defer cancel()
	if err := h.Handle(ctx, events.CloudWatchEvent{}); err != nil || !r.deadline.Equal(end.Add(-5*time.Second)) {
		t.Errorf("deadline %v before the end, %v", end.Sub(r.deadline), err)
	}
}
