package stack

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"bailing/scripts/demo/business"
	"bailing/shared/crashtest"
	"bailing/shared/delivery"
	"bailing/shared/job"
)

// submitWith submits a question whose callback goes to a path of the business.
func (w *crashWorld) submitWith(order, callbackPath string) string {
	return w.submitTo(order, w.s.Demo.BusinessURL+callbackPath)
}

func (w *crashWorld) submitTo(order, callback string) string {
	w.t.Helper()
	body := fmt.Sprintf(`{"request_id":"told-%s-%s","route":%q,"input":"Where is order %s?","metadata":{"operator_uid":"u_42"},"callback_url":%q}`,
		order, callback, DemoRoute, order, callback)
	var accepted struct {
		JobID string `json:"job_id"`
	}
	w.request(http.MethodPost, "/run", body, http.StatusAccepted, &accepted)
	return accepted.JobID
}

// receiveCallbacks takes the messages of the callbacks queue that are there, as one event.
func (w *crashWorld) receiveCallbacks() (e events.SQSEvent) {
	w.t.Helper()
	client := sqs.NewFromConfig(w.s.platform("tester", Options{Output: io.Discard, Clock: w.clock}).AWS())
	url := w.s.Config.CallbacksQueueURL
	for {
		out, err := client.ReceiveMessage(w.t.Context(), &sqs.ReceiveMessageInput{QueueUrl: aws.String(url), MaxNumberOfMessages: 10})
		if err != nil {
			w.t.Fatal(err)
		}
		if len(out.Messages) == 0 {
			return e
		}
		for _, m := range out.Messages {
			e.Records = append(e.Records, events.SQSMessage{MessageId: aws.ToString(m.MessageId), Body: aws.ToString(m.Body)})
			if _, err := client.DeleteMessage(w.t.Context(), &sqs.DeleteMessageInput{QueueUrl: aws.String(url), ReceiptHandle: m.ReceiptHandle}); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

// deliverCallbacks lets the callback worker handle the messages that are there.
func (w *crashWorld) deliverCallbacks() {
	w.t.Helper()
	payload, err := json.Marshal(w.receiveCallbacks())
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := w.invocation()
	defer cancel()
	if out, err := w.s.Functions["callbackworker"].Invoke(ctx, payload); err != nil || string(out) != `{"batchItemFailures":[]}` {
		w.t.Fatalf("%s, %v", out, err)
	}
}

func (w *crashWorld) sweep() {
	w.t.Helper()
	if _, err := w.s.Functions["sweeper"].Invoke(w.t.Context(), []byte(`{}`)); err != nil {
		w.t.Fatal(err)
	}
}

// The whole way with the event sources running: the business gets the callback of its job, with both signatures right.
func TestTheCallbackArrives(t *testing.T) {
	t.Parallel()
	s, err := Start(t.Context(), Options{Addr: "127.0.0.1:0", Demo: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	arrived := make(chan struct{}, 10)
	front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		s.Demo.Business.ServeHTTP(rw, r)
		arrived <- struct{}{}
	}))
	defer front.Close()
	w := &crashWorld{t: t, s: s, clock: &crashtest.Clock{}}
	id := w.submitTo("SO-1001", front.URL+business.CallbackPath)
	<-arrived
	got := s.Demo.Business.Callbacks()
	if len(got) != 1 || s.Demo.Business.Rejected() != 0 {
		t.Fatalf("%d callbacks, %d rejected", len(got), s.Demo.Business.Rejected())
	}
	var body struct {
		JobID       string     `json:"job_id"`
		Status      job.Status `json:"status"`
		TerminalSeq int        `json:"terminal_seq"`
	}
	if err := json.Unmarshal([]byte(got[0].Body), &body); err != nil || body.JobID != id || body.Status != job.Done || body.TerminalSeq != 1 {
		t.Errorf("body %s, %v", got[0].Body, err)
	}
	if want := id + "_1_callback"; got[0].WebhookID != want {
		t.Errorf("webhook-id %s, want %s", got[0].WebhookID, want)
	}
}

// request that a receiver got.
type receipt struct{ id, body string }

// A stack is killed while the schedule of a callback runs and an attempt is under way; another one on the same directory goes
// on with it.
func TestAStackKilledMidScheduleContinues(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got []receipt
	arrived, hang := make(chan int, 10), make(chan struct{})
	receiver := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		mu.Lock()
		got = append(got, receipt{r.Header.Get("webhook-id"), string(b)})
		n := len(got)
		mu.Unlock()
		arrived <- n
		switch n {
		case 1:
			rw.WriteHeader(http.StatusInternalServerError)
		case 2:
			<-hang
		}
	}))
	defer receiver.Close()
	defer close(hang)
	w := &crashWorld{t: t, clock: &crashtest.Clock{}}
	dir := t.TempDir()
	start := func() {
		t.Helper()
		var err error
		if w.s, err = Start(t.Context(), Options{Addr: "127.0.0.1:0", Demo: true, Manual: true, Clock: w.clock, Dir: dir}); err != nil {
			t.Fatal(err)
		}
	}
	start()
	id := w.submitTo("SO-1001", receiver.URL)
	w.jobs = []string{id}
	w.recover()
	w.deliverCallbacks()
	w.clock.Advance(10 * time.Second)

	// The second attempt reaches the receiver, and its worker dies with the stack.
	payload, err := json.Marshal(events.SQSEvent{Records: []events.SQSMessage{{
		MessageId: "m", Body: `{"job_id":"` + id + `","terminal":1,"target":"callback"}`,
	}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, kill := w.invocation()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = w.s.Functions["callbackworker"].Invoke(ctx, payload)
	}()
	for n := 0; n < 2; n = <-arrived {
	}
	kill()
	<-done
	if err := w.s.Close(); err != nil {
		t.Fatal(err)
	}

	start()
	defer func() {
		if err := w.s.Close(); err != nil {
			t.Error(err)
		}
	}()
	w.clock.Advance(delivery.Lease + delivery.ResendAfter)
	w.sweep()
	w.deliverCallbacks()
	var log struct {
		Items []struct {
			State    string `json:"state"`
			Attempts int    `json:"attempts"`
		} `json:"items"`
	}
	w.request(http.MethodGet, "/admin/api/runs/"+id+"/deliveries", "", http.StatusOK, &log)
	if len(log.Items) != 1 || log.Items[0].State != "delivered" || log.Items[0].Attempts != 3 {
		t.Errorf("log %+v", log)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(got) != 3 || got[1] != got[0] || got[2] != got[0] {
		t.Errorf("the receiver got %+v", got)
	}
}
