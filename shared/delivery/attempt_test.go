package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bailing/shared/awslocal/fault"
	"bailing/shared/delivery"
	"bailing/shared/envelope"
	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/outbound"
	"bailing/shared/registry"
	"bailing/shared/signature"
)

func TestAnAttempt(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.deliver(w.key, delivery.OutcomeDelivered)
	r := w.receiver.Sent()[0]
	if r.Method != "POST" || r.URL != callbackURL || r.Timeout != 10*time.Second || r.MaxResponse != 64<<10 || !r.OneSend ||
		r.Header.Get("Content-Type") != "application/json" {
		t.Errorf("request %+v", r)
	}
	w.verify(r, w.token)
	if row := w.row(w.key); row.State != delivery.Delivered || row.Attempts != 1 {
		t.Errorf("row %+v", row)
	}
	e := w.Events(w.key.JobID, "callback")
	if len(e) != 1 || e[0].Stage != "delivery" || e[0].Severity != "info" || e[0].Detail["final"] != true || e[0].Detail["status"] != 200.0 {
		t.Errorf("log %+v", e)
	}
	w.deliver(w.key, delivery.OutcomeSkipped) // a second message
	if n := len(w.receiver.Sent()); n != 1 || len(w.Notices.Take()) != 0 {
		t.Errorf("%d requests", n)
	}
}

// verify checks both signature styles (D6, D7).
func (w *world) verify(r outbound.Request, secret string) {
	w.t.Helper()
	h := signature.Headers{Timestamp: r.Header.Get("X-Bailing-Timestamp"), Signature: r.Header.Get("X-Bailing-Signature")}
	if err := signature.VerifyCallback(secret, r.Body, h, w.Clock.Now()); err != nil {
		w.t.Errorf("X-Bailing-Signature: %v", err)
	}
	want := signature.SignWebhook(secret, w.key.ID(), r.Body, w.Clock.Now())
	got := signature.WebhookHeaders{ID: r.Header.Get("webhook-id"), Timestamp: r.Header.Get("webhook-timestamp"), Signature: r.Header.Get("webhook-signature")}
	if got != want {
		w.t.Errorf("webhook headers %+v, want %+v", got, want)
	}
}

// Core §2.2.
func TestWhichSecretSigns(t *testing.T) {
	t.Parallel()
	w := setup(t)
	rotated := w.SaveClient(registry.Client{AppID: jobtest.Client, AllowedRoutes: []string{"*"}, Enabled: false})
	w.deliver(w.key, delivery.OutcomeDelivered)
	w.verify(w.receiver.Sent()[0], rotated)

	w.key = w.end(jobtest.ServerToken, "of the administrator")
	w.deliver(w.key, delivery.OutcomeDelivered)
	w.verify(w.receiver.Sent()[1], jobtest.ServerToken)

	w.key = w.end(jobtest.ServerToken, "without any secret")
	w.service.ServerToken = ""
	w.deliver(w.key, delivery.OutcomeDead)
	if row := w.row(w.key); !strings.Contains(row.Reason, "no secret") || len(w.receiver.Sent()) != 2 {
		t.Errorf("row %+v", row)
	}
}

// D7: nine attempts, the same bytes and id, each signed anew, and then a dead letter with its reason.
func TestTheWholeSchedule(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.answer(http.StatusInternalServerError, "")
	start := w.Clock.Now()
	waits := []time.Duration{
		2 * time.Second, 10 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour,
	}
	for i, wait := range waits {
		w.deliver(w.key, delivery.OutcomeRetry)
		w.verify(w.receiver.Sent()[i], w.token)
		row := w.row(w.key)
		pause := row.NextAt.Sub(w.Clock.Now())
		if row.Attempts != i+1 || pause < wait || pause > wait+wait/10 || row.Reason != "status 500" {
			t.Fatalf("after attempt %d: %+v, %s to go", i+1, row, pause)
		}
		if pause <= 15*time.Minute {
			if m := w.takeOne(); m.Delay < pause || m.Delay > pause+2*time.Second {
				t.Errorf("after attempt %d: message in %s, due in %s", i+1, m.Delay, pause)
			}
			w.until(row.NextAt.Add(-time.Millisecond))
			w.deliver(w.key, delivery.OutcomeSkipped) // early
		} else {
			w.until(row.NextAt.Add(-time.Millisecond))
			if n := w.sweep(); n.Sent != 0 || len(w.Notices.Take()) != 0 {
				t.Errorf("after attempt %d: sent before its time", i+1)
			}
		}
		w.until(row.NextAt)
		if pause > 15*time.Minute {
			if n := w.sweep(); n.Sent != 1 || w.takeOne().Delay != 0 {
				t.Errorf("after attempt %d: not promoted", i+1)
			}
		}
	}
	w.deliver(w.key, delivery.OutcomeDead)
	row := w.row(w.key)
	if row.State != delivery.Dead || row.Attempts != 9 || row.Reason != "gave up after 9 attempts; the last one: status 500" {
		t.Errorf("row %+v", row)
	}
	sent := w.receiver.Sent()
	stamps := map[string]bool{}
	for _, r := range sent {
		if string(r.Body) != string(sent[0].Body) || r.Header.Get("webhook-id") != w.key.ID() {
			t.Error("an attempt has other bytes or another id")
		}
		stamps[r.Header.Get("X-Bailing-Timestamp")] = true
	}
	if len(sent) != 9 || len(stamps) != 9 || w.Clock.Now().Sub(start) < 31*time.Hour {
		t.Errorf("%d attempts, %d signatures", len(sent), len(stamps))
	}
	log := w.Events(w.key.JobID, "callback")
	for i, e := range log {
		if e.Detail["attempt"] != float64(i+1) || e.Detail["final"] != (i == 8) {
			t.Errorf("log %d: %+v", i, e)
		}
	}
	if len(log) != 9 {
		t.Errorf("%d entries", len(log))
	}
	w.Clock.Advance(48 * time.Hour)
	if n := w.sweep(); n.Looked != 0 {
		t.Errorf("a dead letter is swept: %+v", n)
	}
}

func TestFinality(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		rule       string
		status     int
		retryAfter string
		err        error
		want       delivery.Outcome
		wait       time.Duration
	}{
		{"2xx is delivered", 204, "", nil, delivery.OutcomeDelivered, 0},
		{"a redirect is final (D14)", 302, "", nil, delivery.OutcomeDead, 0},
		{"gone is final", 410, "", nil, delivery.OutcomeDead, 0},
		{"404 is final", 404, "60", nil, delivery.OutcomeDead, 0},
		{"5xx is tried again", 503, "", nil, delivery.OutcomeRetry, 2 * time.Second},
		{"408 is tried again", 408, "", nil, delivery.OutcomeRetry, 2 * time.Second},
		{"425 is tried again", 425, "", nil, delivery.OutcomeRetry, 2 * time.Second},
		{"429 waits as it asks", 429, "60", nil, delivery.OutcomeRetry, time.Minute},
		{"503 waits until the date that it names", 503, jobtest.Start.Add(90 * time.Second).Format(http.TimeFormat), nil, delivery.OutcomeRetry, 90 * time.Second},
		{"longer than a queue holds it is a row that is due", 429, "7200", nil, delivery.OutcomeRetry, 2 * time.Hour},
		{"a timeout is tried again", 0, "", &outbound.Error{Phase: outbound.PhaseHeaders, Timeout: true}, delivery.OutcomeRetry, 2 * time.Second},
		{"a refused connection is tried again", 0, "", &outbound.Error{Phase: outbound.PhaseDial}, delivery.OutcomeRetry, 2 * time.Second},
		{"a blocked address is final (I7)", 0, "", &outbound.Error{Phase: outbound.PhaseBlocked}, delivery.OutcomeDead, 0},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			w.answer(tc.status, tc.retryAfter)
			if tc.err != nil {
				w.receiver.Answer(func(outbound.Request) (*outbound.Response, error) { return nil, tc.err })
			}
			w.deliver(w.key, tc.want)
			row := w.row(w.key)
			switch tc.want {
			case delivery.OutcomeRetry:
				if got := row.NextAt.Sub(w.Clock.Now()); got != tc.wait || row.State != delivery.Pending {
					t.Errorf("%s in %s, want %s", row.State, got, tc.wait)
				}
				if n := len(w.Notices.Take()); (n == 1) != (tc.wait <= 15*time.Minute) {
					t.Errorf("%d messages", n)
				}
			case delivery.OutcomeDead:
				if row.State != delivery.Dead || row.Reason == "" {
					t.Errorf("row %+v", row)
				}
			}
		})
	}
}

// A failure of the hub is no attempt of the receiver's schedule.
func TestTheHubsFailuresCostNoAttempt(t *testing.T) {
	t.Parallel()
	w := setup(t)
	secrets := w.service.Secrets
	w.service.Secrets = broken{}
	w.deliver(w.key, delivery.OutcomeDeferred)
	row := w.row(w.key)
	if row.State != delivery.Pending || row.Attempts != 0 || len(w.receiver.Sent()) != 0 || !row.NextAt.After(w.Clock.Now()) {
		t.Errorf("row %+v", row)
	}
	if strings.Contains(row.Reason, "vault") {
		t.Errorf("the reason tells %q", row.Reason)
	}
	w.until(row.NextAt)
	w.service.Secrets = secrets
	w.deliver(w.takeOne().Key, delivery.OutcomeDelivered)
}

type broken struct{}

func (broken) Open(context.Context, string, envelope.Context) ([]byte, error) {
	return nil, errors.New("vault down")
}

// A message that is lost, or whose worker died, comes again by the sweep.
func TestLostMessagesComeAgain(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.Clock.Advance(delivery.ResendAfter - time.Millisecond)
	if n := w.sweep(); n.Looked != 0 {
		t.Errorf("looked early: %+v", n)
	}
	w.Clock.Advance(time.Millisecond)
	if n := w.sweep(); n.Sent != 1 {
		t.Errorf("%+v", n)
	}
	if n := w.sweep(); n.Looked != 0 {
		t.Errorf("sent twice: %+v", n)
	}
	w.Notices.Take() // lost, too
	w.Clock.Advance(delivery.ResendAfter)
	w.sweep()
	w.deliver(w.takeOne().Key, delivery.OutcomeDelivered)

	k := w.end(w.token, "without a queue")
	w.Clock.Advance(delivery.ResendAfter)
	w.Notices.Fail(errors.New("down"))
	if n := w.sweep(); n.Sent != 0 || n.Looked != 1 {
		t.Errorf("%+v", n)
	}
	w.Notices.Fail(nil)
	if n := w.sweep(); n.Sent != 1 || w.takeOne().Key != k {
		t.Errorf("a row that could not be sent is lost: %+v", n)
	}
}

// A worker may die before and after any of its requests to AWS, and while it waits for the receiver: the callback is
// delivered all the same, a second request has the same id and bytes, and no attempt overlaps another.
func TestAWorkerMayDieAtEveryStep(t *testing.T) {
	t.Parallel()
	clean := setup(t, jobtest.NoRetries())
	steps := clean.dieAt(0, fault.None)
	if row := clean.row(clean.key); row.State != delivery.Delivered || steps < 3 {
		t.Fatalf("a clean run of %d steps left %+v", steps, row)
	}
	for step := 1; step <= steps; step++ {
		for name, kind := range map[string]fault.Kind{"before": fault.Drop, "after": fault.DropAfterCommit} {
			t.Run(fmt.Sprintf("%s step %d", name, step), func(t *testing.T) {
				t.Parallel()
				w := setup(t, jobtest.NoRetries())
				w.dieAt(step, kind)
				w.recover()
			})
		}
	}
	t.Run("while the receiver works", func(t *testing.T) {
		t.Parallel()
		w := setup(t)
		ctx, kill := context.WithCancel(t.Context())
		w.receiver.Answer(func(outbound.Request) (*outbound.Response, error) {
			kill()
			return jobtest.Response(200, ""), nil
		})
		if _, err := w.service.Deliver(ctx, w.key); !errors.Is(err, context.Canceled) {
			t.Fatalf("%v", err)
		}
		w.receiver.Answer(nil)
		w.deliver(w.key, delivery.OutcomeSkipped) // its lease lasts
		w.recover()
		if n := len(w.receiver.Sent()); n != 2 {
			t.Errorf("%d requests", n)
		}
	})
}

// dieAt lets a worker deliver that is dead from its n-th request to AWS on, and returns how many it made.
func (w *world) dieAt(n int, kind fault.Kind) (steps int) {
	w.t.Helper()
	var count atomic.Int64 // requests come from the server's goroutines
	w.Faults().Set(func(op fault.Op) fault.Fault {
		if op.AccessKey != jobtest.AccessKey {
			return fault.Fault{}
		}
		switch step := int(count.Add(1)); {
		case n == 0 || step < n:
			return fault.Fault{}
		case step == n:
			return fault.Fault{Kind: kind}
		}
		return fault.Fault{Kind: fault.Drop}
	})
	_, _ = w.service.Deliver(w.t.Context(), w.key) // whatever it says, nobody hears it
	w.Faults().Set(nil)
	w.Notices.Take()
	return int(count.Load())
}

// recover is what the sweep and living workers make of it.
func (w *world) recover() {
	w.t.Helper()
	for range 4 {
		w.Clock.Advance(delivery.Lease + delivery.ResendAfter)
		w.sweep()
		for _, m := range w.Notices.Take() {
			if _, err := w.service.Deliver(w.t.Context(), m.Key); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	if row := w.row(w.key); row.State != delivery.Delivered {
		w.t.Errorf("row %+v", row)
	}
	sent := w.receiver.Sent()
	if len(sent) < 1 || len(sent) > 2 {
		w.t.Errorf("%d requests", len(sent))
	}
	for _, r := range sent {
		if string(r.Body) != string(sent[0].Body) || r.Header.Get("webhook-id") != w.key.ID() {
			w.t.Error("a repeated request differs")
		}
	}
}

// A worker that is lost in every attempt uses the schedule up: the row ends, and says why.
func TestARowThatKillsItsWorkersEnds(t *testing.T) {
	t.Parallel()
	w := setup(t)
	for range delivery.MaxAttempts {
		if _, err := w.Store.ClaimOutbox(t.Context(), w.key, delivery.Pending, fmt.Sprint(w.Clock.Now()), w.Clock.Now(), w.Clock.Now().Add(delivery.Lease)); err != nil {
			t.Fatal(err)
		}
		w.Clock.Advance(delivery.Lease)
	}
	w.deliver(w.key, delivery.OutcomeDead)
	if row := w.row(w.key); row.State != delivery.Dead || !strings.Contains(row.Reason, "lost its worker") || len(w.receiver.Sent()) != 0 {
		t.Errorf("row %+v", row)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	k := job.OutboxKey{JobID: "fde28e3e-23c0-490e-9b51-ea880b1c3c87", Terminal: 12, Target: job.ToDelivery}
	if got, err := job.ParseOutboxKey(k.ID()); err != nil || got != k {
		t.Errorf("%+v, %v", got, err)
	}
	for _, id := range []string{"", "_", "a_1_callback", k.JobID + "_0_callback", k.JobID + "_01_callback", k.JobID + "_1_other", k.JobID + "_10000_callback", k.ID() + "_"} {
		if got, err := job.ParseOutboxKey(id); !errors.Is(err, job.ErrOutboxKey) {
			t.Errorf("%s: %+v, %v", id, got, err)
		}
	}
}
