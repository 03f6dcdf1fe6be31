package notify_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bailing/shared/approval"
	"bailing/shared/delivery"
	"bailing/shared/job/jobtest"
	"bailing/shared/platform"
)

// receiver is a server that behaves as the path says.
type receiver struct {
	*httptest.Server
	arrived chan string
	over    chan struct{} // ends what hangs
	sent    atomic.Int64  // bytes of the largest answer
}

func listen(t *testing.T) *receiver {
	r := &receiver{arrived: make(chan string, 100), over: make(chan struct{})}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	t.Cleanup(func() { close(r.over) })
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	_, _ = io.Copy(io.Discard, req.Body)
	name := strings.TrimPrefix(req.URL.Path, "/")
	r.arrived <- name
	switch name {
	case "hangs":
		<-r.over
	case "drips":
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write([]byte("x"))
		_ = http.NewResponseController(w).Flush()
		<-r.over
	case "gigabyte":
		block := make([]byte, 1<<20)
		for range 1 << 10 {
			n, err := w.Write(block)
			r.sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	case "302", "307":
		w.Header().Set("Location", r.URL+"/elsewhere")
		fallthrough
	default:
		var status int
		if _, err := fmt.Sscan(name, &status); err == nil {
			w.WriteHeader(status)
		}
	}
}

// The wired keeper and real receivers: each try ends in bounded time, with bounded reading, without following anybody.
func TestReceivers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		again bool
		late  bool // takes as long as it may
		ok    bool
	}{
		{"200", false, false, true}, {"500", true, false, false}, {"429", true, false, false}, {"302", false, false, false}, {"307", false, false, false},
		{"hangs", true, true, false}, {"drips", true, true, false}, {"gigabyte", false, false, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			r := listen(t)
			w := &world{World: jobtest.New(t, jobtest.Configure(func(c *platform.Config) { c.EgressAllow = "loopback" })), t: t}
			w.token = w.Seed()
			w.configure(fmt.Sprintf(`{"type":"business_webhook","url":%q}`, r.URL+"/"+tc.name))
			keeper, err := w.Platform.Keeper(w.Store)
			if err != nil {
				t.Fatal(err)
			}
			asked := w.refund()
			done := make(chan error, 1)
			begun := w.Clock.Now()
			go func() { done <- keeper.Notify(t.Context(), asked.ID) }()
			<-r.arrived
			for tc.late {
				if w.Clock.Advance(time.Second); w.Clock.Now().Sub(begun) >= delivery.AttemptTimeout {
					break
				}
			}
			if err := <-done; (err != nil) != tc.again {
				t.Errorf("%v", err)
			}
			if len(r.arrived) != 0 || r.sent.Load() > 64<<20 {
				t.Errorf("%d more requests, %d bytes taken", len(r.arrived), r.sent.Load())
			}
			if e := w.Events(asked.JobID, "approval_intent_webhook"); len(e) != 1 || e[0].Detail["ok"] != tc.ok || e[0].Detail["final"] != !tc.again {
				t.Errorf("audit %+v", e)
			}
		})
	}
}

// I7: an address inside is not told, and that is final.
func TestAnAddressInside(t *testing.T) {
	t.Parallel()
	r := listen(t)
	w := &world{World: jobtest.New(t), t: t}
	w.token = w.Seed()
	w.configure(fmt.Sprintf(`{"type":"webhook","url":%q}`, r.URL+"/200"))
	keeper, err := w.Platform.Keeper(w.Store)
	if err != nil {
		t.Fatal(err)
	}
	asked := w.refund()
	if err := keeper.Notify(t.Context(), asked.ID); err != nil {
		t.Error(err)
	}
	if e := w.Events(asked.JobID, "approval_notify"); len(r.arrived) != 0 || len(e) != 1 || e[0].Detail["ok"] != false || e[0].Detail["final"] != true {
		t.Errorf("audit %+v", e)
	}
}

// A ticket that somebody decided, or that expired, is told to nobody.
func TestATicketThatIsNotOpen(t *testing.T) {
	t.Parallel()
	w := setup(t, webhook("business_webhook"))
	keeper := &approval.Keeper{Store: w.Store, Teller: w.teller, Clock: w.Clock, Logger: w.Platform.Logger}
	decided, late := w.refund(), w.ask(w.token, "refund", `{"order":"SO-2"}`)
	if _, err := w.Platform.Clerk(w.Store).Decide(t.Context(), decided, approval.Ruling{DecisionID: "d", By: "u", Auth: "admin-token"}); err != nil {
		t.Fatal(err)
	}
	w.Clock.Advance(late.ExpiresAt.Sub(w.Clock.Now()))
	for _, id := range []int64{decided.ID, late.ID} {
		if err := keeper.Notify(t.Context(), id); err != nil || len(w.receiver.Sent()) != 0 {
			t.Errorf("%v, %d requests", err, len(w.receiver.Sent()))
		}
	}
}
