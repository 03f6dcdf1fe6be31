package callbackworker_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bailing/functions/callbackworker"
	"bailing/shared/delivery"
	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/platform"
)

// lines is a buffer for several writers.
type lines struct {
	mu sync.Mutex
	bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.Buffer.Write(b)
}

// receivers is a server of receivers of every kind, and a hub that has one ended job for each.
type receivers struct {
	*jobtest.World
	t        *testing.T
	server   *httptest.Server
	arrived  chan string   // names of receivers whose request came
	over     chan struct{} // ends those that hang
	gigabyte atomic.Int64  // bytes that the largest answer could send
	keys     map[string]job.OutboxKey
}

func open(t *testing.T) *receivers {
	w := &receivers{
		World: jobtest.New(t, jobtest.Configure(func(c *platform.Config) { c.EgressAllow = "loopback" })), t: t,
		arrived: make(chan string, 100), over: make(chan struct{}), keys: map[string]job.OutboxKey{},
	}
	w.server = httptest.NewServer(w)
	t.Cleanup(w.server.Close)
	t.Cleanup(func() { close(w.over) })
	return w
}

func (w *receivers) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	name := r.URL.Path[1:]
	w.arrived <- name
	switch name {
	case "hangs":
		<-w.over
	case "drips its answer", "drips an error":
		if name == "drips an error" {
			rw.WriteHeader(http.StatusInternalServerError)
		}
		for { // one byte a second
			if _, err := rw.Write([]byte("x")); err != nil {
				return
			}
			_ = http.NewResponseController(rw).Flush()
			select {
			case <-w.Clock.After(time.Second):
			case <-r.Context().Done():
				return
			case <-w.over:
				return
			}
		}
	case "sends a gigabyte":
		block := make([]byte, 1<<20)
		for range 1 << 10 {
			n, err := rw.Write(block)
			w.gigabyte.Add(int64(n))
			if err != nil {
				return
			}
		}
	case "429":
		rw.Header().Set("Retry-After", "300")
		rw.WriteHeader(429)
	case "302":
		rw.Header().Set("Location", w.server.URL+"/elsewhere")
		rw.WriteHeader(302)
	default:
		var status int
		if _, err := fmt.Sscan(name, &status); err == nil {
			rw.WriteHeader(status)
		}
	}
}

// job ends a job whose callback goes to the receiver.
func (w *receivers) job(token, name string) {
	w.t.Helper()
	url, _ := json.Marshal(w.server.URL + "/" + escape(name))
	jobID := w.MustLaunch(token, jobtest.Submission("for "+name, `"callback_url":`+string(url))).JobID
	j, err := w.Lifecycle.Claim(w.t.Context(), jobID, platform.NewID())
	if err != nil {
		w.t.Fatal(err)
	}
	if err := w.Lifecycle.Finish(w.t.Context(), job.Fence{JobID: jobID, Claim: j.Claim}, job.Outcome{Status: job.Done, Result: json.RawMessage(`{}`)}); err != nil {
		w.t.Fatal(err)
	}
	w.keys[name] = w.Notices.Take()[0].Key
}

func escape(name string) string {
	return string(bytes.ReplaceAll([]byte(name), []byte(" "), []byte("%20")))
}

// Receivers that misbehave in every way share one invocation with one that does not: each ends in its right state, in bounded
// time and with bounded reading, and the good one does not wait for them.
func TestReceivers(t *testing.T) {
	t.Parallel()
	w := open(t)
	token := w.Seed()
	want := map[string]struct {
		state delivery.State
		next  time.Duration // from the end of the attempt; 0 = none
	}{
		"good":             {delivery.Delivered, 0},
		"500":              {delivery.Pending, 2 * time.Second},
		"429":              {delivery.Pending, 300 * time.Second},
		"410":              {delivery.Dead, 0},
		"302":              {delivery.Dead, 0},
		"hangs":            {delivery.Pending, 2 * time.Second},
		"drips its answer": {delivery.Delivered, 0}, // it said 200: the message was taken
		"drips an error":   {delivery.Pending, 2 * time.Second},
		"sends a gigabyte": {delivery.Delivered, 0},
	}
	var messages []string
	for name := range want {
		w.job(token, name)
		body, _ := json.Marshal(map[string]any{"job_id": w.keys[name].JobID, "terminal": 1, "target": "callback"})
		messages = append(messages, string(body))
	}
	h, err := callbackworker.New(w.Platform)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := json.Marshal(event(messages...))
	if err != nil {
		t.Fatal(err)
	}
	begun := w.Clock.Now()
	done := make(chan string, 1)
	go func() {
		out, err := h.Invoke(t.Context(), payload)
		done <- fmt.Sprint(string(out), err)
	}()
	for range want {
		if name := <-w.arrived; name == "elsewhere" {
			t.Error("a redirect was followed")
		}
	}
	// No time has passed, and those that answer are done with; the others use theirs up.
	for _, name := range []string{"good", "410", "302", "500", "429", "sends a gigabyte"} {
		w.settled(name)
	}
	for range delivery.AttemptTimeout / time.Second {
		w.Clock.Advance(time.Second)
	}
	if out := <-done; out != `{"batchItemFailures":[]}<nil>` {
		t.Errorf("%s", out)
	}
	for name, tc := range want {
		row, err := w.Store.ReadOutbox(t.Context(), w.keys[name])
		if err != nil {
			t.Fatal(err)
		}
		if row.State != tc.state || row.Attempts != 1 {
			t.Errorf("%s: %s after %d attempts (%s), want %s", name, row.State, row.Attempts, row.Reason, tc.state)
		}
		if tc.state == delivery.Pending && row.NextAt.Sub(row.UpdatedAt) != tc.next {
			t.Errorf("%s: again in %s, want %s", name, row.NextAt.Sub(row.UpdatedAt), tc.next)
		}
		if took := row.UpdatedAt.Sub(begun); took > delivery.AttemptTimeout {
			t.Errorf("%s: took %s", name, took)
		}
	}
	if n := w.gigabyte.Load(); n > 64<<20 {
		t.Errorf("%d bytes of an answer were taken", n)
	}
}

// settled waits until the receiver's row is not with a worker any more.
func (w *receivers) settled(name string) {
	w.t.Helper()
	for {
		row, err := w.Store.ReadOutbox(w.t.Context(), w.keys[name])
		if err != nil {
			w.t.Fatal(err)
		}
		if row.Claim > 0 && row.LeaseUntil.IsZero() {
			return
		}
	}
}
