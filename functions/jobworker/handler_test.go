package jobworker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"bailing/functions/jobworker"
	"bailing/shared/clock"
	"bailing/shared/job/jobtest"
	"bailing/shared/platform"
	"bailing/shared/queue"
)

// runner fails for the jobs it is told to.
type runner struct {
	ran  []string
	fail map[string]error
}

func (r *runner) Run(_ context.Context, id string) error {
	r.ran = append(r.ran, id)
	return r.fail[id]
}

func handler(r *runner) (*jobworker.Handler, *bytes.Buffer) {
	var out bytes.Buffer
	c := clock.NewManual(jobtest.Start)
	return &jobworker.Handler{Runner: r, Logger: platform.NewLogger(&out, 0), Metrics: platform.NewMetrics(&out, c, "jobworker"), Clock: c}, &out
}

const (
	first  = "11111111-2222-4333-8444-555555555555"
	second = "22222222-2222-4333-8444-555555555555"
	third  = "33333333-2222-4333-8444-555555555555"
)

func event(bodies ...string) events.SQSEvent {
	var e events.SQSEvent
	for i, b := range bodies {
		e.Records = append(e.Records, events.SQSMessage{MessageId: string(rune('a' + i)), Body: b})
	}
	return e
}

func body(id string) string { return `{"job_id":"` + id + `"}` }

func failures(t *testing.T, res events.SQSEventResponse, err error) []string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	ids := []string{}
	for _, f := range res.BatchItemFailures {
		ids = append(ids, f.ItemIdentifier)
	}
	return ids
}

func TestOnlyFailedMessagesComeAgain(t *testing.T) {
	t.Parallel()
	r := &runner{fail: map[string]error{second: errors.New("store down")}}
	h, out := handler(r)
	res, err := h.Handle(t.Context(), event(body(first), body(second), `{"job":1}`, body(third)))
	if got := failures(t, res, err); !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("failed %v, want the job that could not be saved and the foreign message", got)
	}
	if !slices.Equal(r.ran, []string{first, second, third}) {
		t.Errorf("ran %v: one failure must not keep the others", r.ran)
	}
	for _, want := range []string{"store down", queue.ErrMessage.Error(), `"outcome":"failed"`, `"outcome":"handled"`, `"job_run"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the log has no %q", want)
		}
	}
}

// Lambda reads a null list as success of all, too, but an empty one is what the contract of the service shows.
func TestAnswerIsAlwaysAList(t *testing.T) {
	t.Parallel()
	h, _ := handler(&runner{})
	for _, e := range []events.SQSEvent{event(), event(body(first))} {
		res, err := h.Handle(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(res)
		if err != nil || string(b) != `{"batchItemFailures":[]}` {
			t.Errorf("%s, %v", b, err)
		}
	}
}

// The sample event of events/jobworker.json through the wired function: its job does not exist, and the message is done.
func TestSampleEvent(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t)
	payload, err := os.ReadFile(filepath.Join("..", "..", "events", "jobworker.json"))
	if err != nil {
		t.Fatal(err)
	}
	h, err := jobworker.New(w.Platform)
	if err != nil {
		t.Fatal(err)
	}
	out, err := h.Invoke(t.Context(), payload)
	if err != nil || string(out) != `{"batchItemFailures":[]}` {
		t.Errorf("%s, %v", out, err)
	}
	if !strings.Contains(w.Logs.String(), "fde28e3e-23c0-490e-9b51-ea880b1c3c87") {
		t.Error("the log does not name the job")
	}
}

// A job whose state cannot be reached leaves its message on the queue.
func TestStoreIsDown(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t, jobtest.Configure(func(c *platform.Config) { c.TablePrefix = "absent-" }))
	h, err := jobworker.New(w.Platform)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := json.Marshal(event(body(first)))
	if err != nil {
		t.Fatal(err)
	}
	out, err := h.Invoke(t.Context(), payload)
	if err != nil || string(out) != `{"batchItemFailures":[{"itemIdentifier":"a"}]}` {
		t.Errorf("%s, %v", out, err)
	}
}

func TestFunctionThatCannotBeWired(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t)
	for rule, change := range map[string]func(*platform.Config){
		"no key for secrets":  func(c *platform.Config) { c.KeyFile = "" },
		"an egress allowlist": func(c *platform.Config) { c.EgressAllow = "10.0.0.0/99" },
	} {
		c := w.Platform.Config
		change(&c)
		if _, err := jobworker.New(platform.New("jobworker", c, platform.Options{})); err == nil {
			t.Errorf("%s: wired", rule)
		}
	}
}

func TestDurationIsMeasured(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := clock.NewManual(jobtest.Start)
	h := &jobworker.Handler{
		Runner: slow{c}, Logger: platform.NewLogger(&out, 0), Metrics: platform.NewMetrics(&out, c, "jobworker"), Clock: c,
	}
	if _, err := h.Handle(t.Context(), event(body(first))); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `"job_run":2500`) {
		t.Errorf("%s", out.String())
	}
}

type slow struct{ c *clock.Manual }

func (s slow) Run(context.Context, string) error {
	s.c.Advance(2500 * time.Millisecond)
	return nil
}
