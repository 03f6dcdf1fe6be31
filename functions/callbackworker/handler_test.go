package callbackworker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"bailing/functions/callbackworker"
	"bailing/shared/clock"
	"bailing/shared/delivery"
	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/platform"
)

const id = "fde28e3e-23c0-490e-9b51-ea880b1c3c87"

// deliverer answers by the terminal number.
type deliverer map[int]func() (delivery.Outcome, error)

func (d deliverer) Deliver(_ context.Context, k job.OutboxKey) (delivery.Outcome, error) {
	return d[k.Terminal]()
}

func says(o delivery.Outcome, err error) func() (delivery.Outcome, error) {
	return func() (delivery.Outcome, error) { return o, err }
}

func handler(d deliverer) (*callbackworker.Handler, *bytes.Buffer) {
	var out lines
	c := clock.NewManual(jobtest.Start)
	return &callbackworker.Handler{
		Deliverer: d, Logger: platform.NewLogger(&out, 0), Metrics: platform.NewMetrics(&out, c, "callbackworker"), Clock: c,
	}, &out.Buffer
}

func event(bodies ...string) (e events.SQSEvent) {
	for i, b := range bodies {
		e.Records = append(e.Records, events.SQSMessage{MessageId: string(rune('a' + i)), Body: b})
	}
	return e
}

func message(terminal string) string {
	return `{"job_id":"` + id + `","terminal":` + terminal + `,"target":"callback"}`
}

func TestOnlyWhatCouldNotBeHandledComesAgain(t *testing.T) {
	t.Parallel()
	h, out := handler(deliverer{
		1: says(delivery.OutcomeDelivered, nil), 2: says(delivery.OutcomeRetry, nil), 3: says(delivery.OutcomeDead, nil),
		4: says("", errors.New("store down")), 5: says(delivery.OutcomeSkipped, nil),
	})
	res, err := h.Handle(t.Context(), event(message("1"), message("2"), message("3"), message("4"), "not ours", message("5")))
	if err != nil || len(res.BatchItemFailures) != 2 || res.BatchItemFailures[0].ItemIdentifier != "d" || res.BatchItemFailures[1].ItemIdentifier != "e" {
		t.Errorf("%+v, %v", res, err)
	}
	for text, want := range map[string]int{
		`"outcome":"delivered"`: 1, `"outcome":"retry"`: 1, `"outcome":"dead"`: 1, `"outcome":"failed"`: 2, `"outcome":"skipped"`: 1, `"callback_dead":1`: 1,
	} {
		if got := strings.Count(out.String(), text); got != want {
			t.Errorf("%s is there %d times, want %d", text, got, want)
		}
	}
}

// The messages of a batch wait for nothing of each other: each of these ends only when all of them have begun.
func TestTheMessagesOfABatchAreAttemptedSideBySide(t *testing.T) {
	t.Parallel()
	arrived, all := make(chan struct{}, 3), make(chan struct{})
	meet := func() (delivery.Outcome, error) {
		arrived <- struct{}{}
		<-all
		return delivery.OutcomeDelivered, nil
	}
	h, _ := handler(deliverer{1: meet, 2: meet, 3: meet})
	go func() {
		for range 3 {
			<-arrived
		}
		close(all)
	}()
	if res, err := h.Handle(t.Context(), event(message("1"), message("2"), message("3"))); err != nil || len(res.BatchItemFailures) != 0 {
		t.Errorf("%+v, %v", res, err)
	}
}

// The sample event of events/callbackworker.json through the wired function: its row does not exist, and the message is done.
func TestSampleEvent(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t)
	payload, err := os.ReadFile(filepath.Join("..", "..", "events", "callbackworker.json"))
	if err != nil {
		t.Fatal(err)
	}
	h, err := callbackworker.New(w.Platform)
	if err != nil {
		t.Fatal(err)
	}
	out, err := h.Invoke(t.Context(), payload)
	if err != nil || string(out) != `{"batchItemFailures":[]}` {
		t.Errorf("%s, %v", out, err)
	}
}

// A row that cannot be reached leaves its message on the queue.
func TestStoreIsDown(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t, jobtest.Configure(func(c *platform.Config) { c.TablePrefix = "absent-" }))
	h, err := callbackworker.New(w.Platform)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := json.Marshal(event(message("1")))
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
		if _, err := callbackworker.New(platform.New("callbackworker", c, platform.Options{})); err == nil {
			t.Errorf("%s: wired", rule)
		}
	}
}
