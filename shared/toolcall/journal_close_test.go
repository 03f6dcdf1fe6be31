package toolcall_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/outbound"
	"bailing/shared/toolcall"
)

// frozen is a job that ended because the business did not answer a write.
func frozen(t *testing.T) *caller {
	t.Helper()
	c := open(t, `{"user":"u"}`)
	c.Business.Answer(func(outbound.Request) (*outbound.Response, error) {
		return nil, &outbound.Error{Phase: outbound.PhaseHeaders, Connected: true, Sent: true, Timeout: true}
	})
	if _, f := c.write(note); f == nil {
		t.Fatal("the write froze nothing")
	}
	if err := c.Lifecycle.Reconcile(t.Context(), c.fence(), c.Job(c.job.ID).Open, nil); err != nil {
		t.Fatal(err)
	}
	c.Business.Respond(201, `{"no":7}`)
	return c
}

func (c *caller) reconciler() *toolcall.Reconciler {
	return &toolcall.Reconciler{Store: c.Store, Clock: c.Clock}
}

func (c *caller) close(closing toolcall.Closing) (*toolcall.Reconciliation, error) {
	c.t.Helper()
	return c.reconciler().Close(c.t.Context(), c.job.ID, c.entry("ticket_create", note).IdempotencyKey, closing)
}

// rerun queues the ended job again and claims it.
func (c *caller) rerun() {
	c.t.Helper()
	r := &job.Rerunner{Store: c.Store, Queue: c.Queue, Clock: c.Clock, Logger: c.Lifecycle.Logger}
	err := r.Rerun(c.t.Context(), c.job.ID, "jo")
	if err == nil {
		c.job, err = c.Lifecycle.Claim(c.t.Context(), c.job.ID, "another worker")
	}
	if err != nil {
		c.t.Fatal(err)
	}
	c.saveRound()
}

// approvedMeanwhile lets a call of the job be approved while another one is being closed.
type approvedMeanwhile struct {
	toolcall.ReconcileStore
	due    []job.DueTicket
	closed bool
	broken error // of what is read after the closing
}

func (s *approvedMeanwhile) CloseCall(ctx context.Context, e toolcall.Entry, ev job.Event) error {
	err := s.ReconcileStore.CloseCall(ctx, e, ev)
	s.closed = err == nil
	return err
}

func (s *approvedMeanwhile) ReadReconciliation(ctx context.Context, jobID, key string) (*toolcall.Reconciliation, error) {
	if s.closed && s.broken != nil {
		return nil, s.broken
	}
	found, err := s.ReconcileStore.ReadReconciliation(ctx, jobID, key)
	if found != nil && s.closed {
		found.Due = s.due
	}
	return found, err
}

// A decision that comes between reading and closing has marked the job before the closing, and is told. That it cannot be read is no
// reason to say that the call was not closed.
func TestAClosingTellsOfCallsThatWereApprovedMeanwhile(t *testing.T) {
	t.Parallel()
	due := []job.DueTicket{{ID: 7, ExpiresAt: jobtest.Start}}
	for rule, s := range map[string]approvedMeanwhile{"told": {due: due}, "not known": {due: due, broken: errors.New("down")}} {
		c := frozen(t)
		s.ReconcileStore = c.Store
		r := &toolcall.Reconciler{Store: &s, Clock: c.Clock}
		found, err := r.Close(t.Context(), c.job.ID, c.entry("ticket_create", note).IdempotencyKey, toolcall.Closing{Finding: toolcall.Happened, Reason: "r", By: "jo"})
		if err != nil || found.Entry.State != toolcall.ClosedHappened || len(found.Due) != map[string]int{"told": 1}[rule] {
			t.Errorf("%s: %v, %+v", rule, err, found)
		}
	}
}

// Whatever a person found, the same call is answered with it in a rerun and never sent again (I1, D30).
func TestClosedCallIsAnsweredAndNeverSent(t *testing.T) {
	t.Parallel()
	for rule, tc := range map[string]struct {
		closing toolcall.Closing
		want    toolcall.Outcome
		says    string
	}{
		"it happened": {
			toolcall.Closing{Finding: toolcall.Happened}, toolcall.Outcome{State: toolcall.Executed, OK: true, Reason: "closed_happened"}, "confirmed that the business did it",
		},
		"it happened, with a status": {
			toolcall.Closing{Finding: toolcall.Happened, Status: 201},
			toolcall.Outcome{State: toolcall.Executed, OK: true, Status: 201, Reason: "closed_happened"}, "with status 201",
		},
		"the business refused it": {
			toolcall.Closing{Finding: toolcall.Happened, Status: 409},
			toolcall.Outcome{State: toolcall.BusinessReject, Status: 409, Reason: "closed_happened"}, "answered with status 409",
		},
		"it did not happen": {
			toolcall.Closing{Finding: toolcall.NotHappened},
			toolcall.Outcome{State: toolcall.BusinessReject, Reason: "closed_not_happened"}, "must not be repeated under this job",
		},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			c := frozen(t)
			tc.closing.Reason, tc.closing.By = "canary-reason", "jo"
			if _, err := c.close(tc.closing); err != nil {
				t.Fatal(err)
			}
			c.rerun()
			for range 2 {
				o, f := c.write(note)
				if f != nil || !strings.Contains(o.Text, tc.says) || strings.Contains(o.Text, "canary") {
					t.Fatalf("%+v, frozen %v", o, f)
				}
				if rec, ok := c.stored(); !ok || rec.Outcome != o {
					t.Errorf("stored %+v", rec)
				}
				if o.Text = ""; o != tc.want {
					t.Errorf("%+v, want %+v", o, tc.want)
				}
			}
			if n := len(c.Business.Sent()); n != 1 {
				t.Errorf("sent %d times", n)
			}
			deduped := c.Events(c.job.ID, "tool_call_deduped")
			if len(deduped) != 2 || deduped[0].Detail["reconciled_by"] != "jo" || len(c.Events(c.job.ID, "tool_call")) != 1 {
				t.Errorf("audit %+v", deduped)
			}
			if other, f := c.write(`{"text":"other"}`); f != nil || other.Status != 201 || len(c.Business.Sent()) != 2 {
				t.Errorf("other arguments are another call: %+v, %v", other, f)
			}
		})
	}
}

func TestClosingIsOnRecord(t *testing.T) {
	t.Parallel()
	c := frozen(t)
	found, err := c.close(toolcall.Closing{Finding: toolcall.Happened, Status: 201, Reason: "ticket 7 exists", By: "jo"})
	if err != nil || found.Entry.State != toolcall.ClosedHappened {
		t.Fatalf("%+v, %v", found, err)
	}
	events := c.Events(c.job.ID, "tool_reconciled")
	if len(events) != 1 {
		t.Fatalf("audit %+v", events)
	}
	d := events[0].Detail
	evidence, _ := d["evidence"].(map[string]any)
	for name, want := range map[string]any{
		"tool": "ticket_create", "provider": jobtest.Provider, "from": "uncertain", "state": "closed_happened", "outcome": "happened",
		"status": float64(http.StatusCreated), "reason": "ticket 7 exists", "by": "jo", "idempotency_key": found.Entry.IdempotencyKey,
	} {
		if d[name] != want {
			t.Errorf("%s is %v, want %v", name, d[name], want)
		}
	}
	if evidence["sent"] != true || evidence["phase"] != "headers" {
		t.Errorf("evidence %v", evidence)
	}
}

func TestClosingTwice(t *testing.T) {
	t.Parallel()
	c := frozen(t)
	first := toolcall.Closing{Finding: toolcall.Happened, Status: 201, Reason: "one", By: "a"}
	if _, err := c.close(first); err != nil {
		t.Fatal(err)
	}
	again, err := c.close(toolcall.Closing{Finding: toolcall.Happened, Status: 201, Reason: "two", By: "b"})
	if err != nil || again.Entry.Closing.Reason != "one" || again.Entry.Closing.By != "a" {
		t.Errorf("the same again: %+v, %v", again, err)
	}
	for _, other := range []toolcall.Closing{{Finding: toolcall.NotHappened}, {Finding: toolcall.Happened}, {Finding: toolcall.Happened, Status: 200}} {
		var otherwise *toolcall.ClosedOtherwise
		if _, err := c.close(other); !errors.As(err, &otherwise) || otherwise.First.Reason != "one" {
			t.Errorf("%+v: %v", other, err)
		}
	}
	if n := len(c.Events(c.job.ID, "tool_reconciled")); n != 1 {
		t.Errorf("%d records", n)
	}
}

func TestWhatCannotBeClosed(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	c.Business.Answer(func(outbound.Request) (*outbound.Response, error) {
		if _, err := c.close(toolcall.Closing{Finding: toolcall.Happened}); !errors.Is(err, toolcall.ErrUnderWay) {
			t.Errorf("under way: %v", err)
		}
		return jobtest.Response(200, `{}`), nil
	})
	c.write(note)
	if _, err := c.close(toolcall.Closing{Finding: toolcall.Happened}); !errors.Is(err, toolcall.ErrNoReconciliation) {
		t.Errorf("completed: %v", err)
	}
	if _, err := c.reconciler().Read(t.Context(), c.job.ID, strings.Repeat("0", 64)); !errors.Is(err, toolcall.ErrNoReconciliation) {
		t.Errorf("unknown: %v", err)
	}
}

// A person looks a call up by the time at which it left, not by that at which the hub gave it up.
func TestAnUnresolvedCallIsOpenSinceItsReservation(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	reserved := c.Clock.Now()
	c.Business.Answer(func(outbound.Request) (*outbound.Response, error) {
		c.Clock.Advance(10 * time.Second)
		return nil, &outbound.Error{Phase: outbound.PhaseHeaders, Connected: true, Sent: true, Timeout: true}
	})
	_, f := c.write(note)
	if f == nil || !f.Open.Since.Equal(reserved) {
		t.Fatalf("frozen %+v", f)
	}
	if e := c.entry("ticket_create", note); !e.CreatedAt.Equal(reserved) || !e.UpdatedAt.Equal(reserved.Add(10*time.Second)) {
		t.Errorf("created %v, updated %v", e.CreatedAt, e.UpdatedAt)
	}
	if open := c.Job(c.job.ID).Open; open == nil || !open.Since.Equal(reserved) {
		t.Errorf("open call %+v", open)
	}
}
