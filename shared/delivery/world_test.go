package delivery_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"bailing/shared/delivery"
	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/outbound"
	"bailing/shared/platform"
)

const callbackURL = "https://acme.example/cb"

// world is a hub with one ended job that has a callback.
type world struct {
	*jobtest.World
	t        *testing.T
	token    string // of the job's client
	receiver *jobtest.Business
	service  *delivery.Service
	sweeper  *delivery.Sweeper
	key      job.OutboxKey
}

func setup(t *testing.T, options ...jobtest.Option) *world {
	t.Helper()
	w := &world{World: jobtest.New(t, options...), t: t, receiver: &jobtest.Business{}}
	w.token = w.Seed()
	w.service = &delivery.Service{
		Store: w.Store, Clients: w.Store.Clients(), Secrets: w.Secrets, HTTP: w.receiver, Queue: w.Notices, ServerToken: jobtest.ServerToken,
		Clock: w.Clock, Logger: w.Platform.Logger, NewID: platform.NewID,
	}
	w.sweeper = &delivery.Sweeper{Store: w.Store, Queue: w.Notices, Clock: w.Clock, Logger: w.Platform.Logger}
	w.key = w.end(w.token, "first")
	return w
}

// end runs a job of the caller to its end, and takes the message about its callback.
func (w *world) end(token, request string) job.OutboxKey {
	w.t.Helper()
	id := w.MustLaunch(token, jobtest.Submission(request, `"callback_url":"`+callbackURL+`"`)).JobID
	w.Queue.Take()
	j, err := w.Lifecycle.Claim(w.t.Context(), id, platform.NewID())
	if err != nil {
		w.t.Fatal(err)
	}
	o := job.Outcome{Status: job.Done, Result: json.RawMessage(`{"text":"there"}`)}
	if err := w.Lifecycle.Finish(w.t.Context(), job.Fence{JobID: id, Claim: j.Claim}, o); err != nil {
		w.t.Fatal(err)
	}
	messages := w.Notices.Take()
	if len(messages) != 1 || messages[0].Delay != 0 || messages[0].Key.JobID != id {
		w.t.Fatalf("messages %+v", messages)
	}
	return messages[0].Key
}

func (w *world) deliver(k job.OutboxKey, want delivery.Outcome) {
	w.t.Helper()
	if got, err := w.service.Deliver(w.t.Context(), k); err != nil || got != want {
		w.t.Fatalf("%s, %v; want %s", got, err, want)
	}
}

func (w *world) row(k job.OutboxKey) *delivery.Row {
	w.t.Helper()
	row, err := w.Store.ReadOutbox(w.t.Context(), k)
	if err != nil {
		w.t.Fatal(err)
	}
	return row
}

func (w *world) sweep() delivery.Swept {
	w.t.Helper()
	n, err := w.sweeper.Sweep(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

// answer makes the receiver answer with a status, and with Retry-After unless that is "".
func (w *world) answer(status int, retryAfter string) {
	w.receiver.Answer(func(outbound.Request) (*outbound.Response, error) {
		res := jobtest.Response(status, "")
		if retryAfter != "" {
			res.Header.Set("Retry-After", retryAfter)
		}
		return res, nil
	})
}

// letter makes the row a dead letter.
func (w *world) letter() {
	w.t.Helper()
	w.answer(http.StatusGone, "")
	w.deliver(w.key, delivery.OutcomeDead)
}

// takeOne is the one message on the queue.
func (w *world) takeOne() jobtest.Notice {
	w.t.Helper()
	messages := w.Notices.Take()
	if len(messages) != 1 {
		w.t.Fatalf("messages %+v", messages)
	}
	return messages[0]
}

// until moves the clock to at.
func (w *world) until(at time.Time) { w.Clock.Advance(at.Sub(w.Clock.Now())) }
