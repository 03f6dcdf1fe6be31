package sweeper_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"bailing/functions/sweeper"
	"bailing/shared/approval"
	"bailing/shared/clock"
	"bailing/shared/delivery"
	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/platform"
)

// sweeps answers with a count, and shows the deadline that it was given.
type sweeps struct {
	n        job.Swept
	err      error
	deadline time.Time
}

func (s *sweeps) Sweep(ctx context.Context) (job.Swept, error) {
	s.deadline, _ = ctx.Deadline()
	return s.n, s.err
}

// outbox answers like sweeps.
type outbox struct {
	n   delivery.Swept
	err error
}

func (o outbox) Sweep(context.Context) (delivery.Swept, error) { return o.n, o.err }

// tickets answers like sweeps.
type tickets struct {
	n   approval.Swept
	err error
}

func (o tickets) Sweep(context.Context) (approval.Swept, error) { return o.n, o.err }

func handler(s *sweeps) (*sweeper.Handler, *bytes.Buffer) {
	var out bytes.Buffer
	return &sweeper.Handler{
		Sweeper: s, Outbox: outbox{}, Tickets: tickets{}, Logger: platform.NewLogger(&out, 0), Metrics: platform.NewMetrics(&out, clock.NewManual(jobtest.Start), "sweeper"),
	}, &out
}

func TestSweepIsCounted(t *testing.T) {
	t.Parallel()
	h, out := handler(&sweeps{n: job.Swept{Looked: 6, Requeued: 1, Recovered: 2, Expired: 3}})
	if err := h.Handle(t.Context(), events.CloudWatchEvent{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"jobs_requeued":1`, `"jobs_recovered":2`, `"jobs_expired":3`, `"looked":6`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output has no %s", want)
		}
	}
}

func TestQuietSweepWritesNoLine(t *testing.T) {
	t.Parallel()
	h, out := handler(&sweeps{})
	if err := h.Handle(t.Context(), events.CloudWatchEvent{}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), `"msg"`) {
		t.Errorf("%s", out.String())
	}
}

func TestFailedSweepIsReportedWithWhatItDid(t *testing.T) {
	t.Parallel()
	down := errors.New("index down")
	h, out := handler(&sweeps{n: job.Swept{Expired: 1}, err: down})
	if err := h.Handle(t.Context(), events.CloudWatchEvent{}); !errors.Is(err, down) {
		t.Errorf("%v", err)
	}
	if !strings.Contains(out.String(), `"jobs_expired":1`) {
		t.Errorf("%s", out.String())
	}
}

// Jobs and outbox fail apart: what the other one did is done, and counted.
func TestOutboxIsSweptBesideTheJobs(t *testing.T) {
	t.Parallel()
	down := errors.New("outbox down")
	h, out := handler(&sweeps{n: job.Swept{Expired: 1}})
	h.Outbox = outbox{n: delivery.Swept{Looked: 2, Sent: 1}, err: down}
	if err := h.Handle(t.Context(), events.CloudWatchEvent{}); !errors.Is(err, down) {
		t.Errorf("%v", err)
	}
	for _, want := range []string{`"jobs_expired":1`, `"callbacks_promoted":1`, `"callbacks_looked":2`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output has no %s", want)
		}
	}
}

// The sweep ends before the platform ends it.
func TestSweepEndsBeforeItsInvocation(t *testing.T) {
	t.Parallel()
	s := &sweeps{}
	h, _ := handler(s)
	end := time.Now().Add(time.Hour)
	ctx, cancel := context.WithDeadline(t.Context(), end)
	defer cancel()
	if err := h.Handle(ctx, events.CloudWatchEvent{}); err != nil {
		t.Fatal(err)
	}
	if !s.deadline.Equal(end.Add(-5 * time.Second)) {
		t.Errorf("the sweep ends at %v, its invocation at %v", s.deadline, end)
	}
}

// The sample event of events/sweeper.json through the wired function.
func TestSampleEvent(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t)
	token := w.Seed()
	id := w.MustLaunch(token, jobtest.Submission("r")).JobID
	w.Clock.Advance(job.QueueTimeout + time.Second)
	payload, err := os.ReadFile(filepath.Join("..", "..", "events", "sweeper.json"))
	if err != nil {
		t.Fatal(err)
	}
	h, err := sweeper.New(w.Platform)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := h.Invoke(t.Context(), payload); err != nil {
			t.Fatal(err)
		}
	}
	if j := w.Job(id); j.Status != job.Failed {
		t.Errorf("job is %s", j.Status)
	}
	if got := strings.Count(w.Logs.String(), `"jobs_expired":1`); got != 1 {
		t.Errorf("counted %d times", got)
	}
}
