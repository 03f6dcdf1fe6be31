package stack

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bailing/shared/approval"
	"bailing/shared/crashtest"
	"bailing/shared/job"
	"bailing/shared/platform"
)

// askRefund makes the demo model ask for a call that needs a person.
const askRefund = "Refund SO-1001 25.00"

// refunded is how a job that asked for a refund came to its end.
type refunded struct {
	status  job.Status
	error   string
	text    string
	calls   int // that reached the business
	tickets []approval.Ticket
	job     *job.Job
}

// look reads the whole story of the first job.
func (w *crashWorld) look() (r refunded) {
	w.t.Helper()
	var v struct {
		Status job.Status `json:"status"`
		Error  string     `json:"error"`
		Result struct {
			Text string `json:"text"`
		} `json:"result"`
	}
	w.request(http.MethodGet, "/jobs/"+w.jobs[0], "", http.StatusOK, &v)
	r.status, r.error, r.text = v.Status, v.Error, v.Result.Text
	for _, c := range w.s.Demo.Business.Verified() {
		if c.JobID == w.jobs[0] && c.Operation == "refund_create" {
			r.calls++
		}
	}
	s := w.s.platform("tester", Options{Output: io.Discard, Clock: w.clock}).Store()
	var err error
	if r.tickets, err = s.JobTickets(w.t.Context(), w.jobs[0], 100); err != nil {
		w.t.Fatal(err)
	}
	if r.job, err = s.ReadJob(w.t.Context(), w.jobs[0]); err != nil {
		w.t.Fatal(err)
	}
	return r
}

// frozen is a world whose job ended with a pending ticket.
func frozen(t *testing.T) *crashWorld {
	w := emptyCrashWorld(t)
	w.again = true
	w.jobs = []string{w.ask("refund", askRefund, "s")}
	w.recover()
	w.checkFrozen()
	return w
}

func (w *crashWorld) checkFrozen() approval.Ticket {
	w.t.Helper()
	r := w.look()
	if r.status != job.Done || r.calls != 0 || len(r.tickets) != 1 || r.tickets[0].State != approval.Pending {
		w.t.Fatalf("%s (%s), %d calls, tickets %+v", r.status, r.error, r.calls, r.tickets)
	}
	return r.tickets[0]
}

// decide records a decision on the first ticket, as a process on platform p.
func (w *crashWorld) decide(ctx context.Context, p *platform.Platform, approve bool) (approval.Decided, error) {
	s := p.Store()
	t := w.look().tickets[0]
	return p.Clerk(s).Decide(ctx, &t, approval.Ruling{Approved: approve, DecisionID: "d1", By: "ann", Auth: "admin-token"})
}

// victim is a platform whose process dies at one of its calls.
func (w *crashWorld) victim(dieAt int, after bool, run func(context.Context, *platform.Platform)) (steps int) {
	w.t.Helper()
	ctx, cancel := w.invocation()
	defer cancel()
	v := crashtest.NewVictim(dieAt, after, cancel)
	w.s.AWS.Faults().Set(v.Hook)
	defer w.s.AWS.Faults().Set(nil)
	c := w.s.Config
	c.AccessKey = crashtest.AccessKey
	run(ctx, platform.New("victim", c, platform.Options{Output: io.Discard, Clock: w.clock, Dial: v.Dial, HTTP: v}))
	return v.Steps()
}

// approved lets a healthy process repeat the decision, whatever became of it before, and the job come to its end.
func (w *crashWorld) approved() refunded {
	w.t.Helper()
	if _, err := w.decide(w.t.Context(), w.s.platform("tester", Options{Output: io.Discard, Clock: w.clock}), true); err != nil {
		w.t.Fatal(err)
	}
	w.recover()
	return w.look()
}

// checkOnce requires that the approved call was made once and its ticket used once; or that nobody knows, and a person reconciles.
func (w *crashWorld) checkOnce(r refunded) (reconciled bool) {
	w.t.Helper()
	if r.error == job.ReasonReconciliation {
		if r.calls > 1 || r.job.Open == nil || r.tickets[0].UsedAt.IsZero() {
			w.t.Errorf("reconciliation with %d calls, %+v, ticket %+v", r.calls, r.job.Open, r.tickets[0])
		}
		return true
	}
	if r.status != job.Done || r.calls != 1 || !strings.Contains(r.text, "efund") || len(r.tickets) != 1 || r.tickets[0].UsedAt.IsZero() || len(r.job.Due) != 0 {
		w.t.Errorf("%s %q (%s), %d calls, due %v, tickets %+v", r.status, r.text, r.error, r.calls, r.job.Due, r.tickets)
	}
	return false
}

// eachDeath counts the calls of a clean run and plays each death in a world of its own.
func eachDeath(t *testing.T, world func(*testing.T) *crashWorld, least int, run func(w *crashWorld, dieAt int, after bool) int, check func(w *crashWorld)) {
	t.Helper()
	clean := world(t)
	calls := run(clean, 0, false)
	check(clean)
	if calls < least {
		t.Fatalf("the clean run made %d calls, want at least %d", calls, least)
	}
	t.Logf("a clean run makes %d calls", calls)
	t.Run("each", func(t *testing.T) {
		for k := 1; k <= calls; k++ {
			for _, after := range []bool{false, true} {
				t.Run(fmt.Sprintf("call %d, took effect %v", k, after), func(t *testing.T) {
					t.Parallel()
					w := world(t)
					run(w, k, after)
					check(w)
				})
			}
		}
	})
}

// A worker that dies at any call while it freezes a call leaves one ticket, whose approval leads to one call.
func TestAWorkerMayDieAtEveryCallOfAFreeze(t *testing.T) {
	t.Parallel()
	eachDeath(t, func(t *testing.T) *crashWorld {
		w := emptyCrashWorld(t)
		w.again = true
		w.jobs = []string{w.ask("refund", askRefund, "s")}
		return w
	}, 12, (*crashWorld).runVictim, func(w *crashWorld) {
		w.recover()
		w.checkFrozen()
		if w.checkOnce(w.approved()) {
			w.t.Error("a freeze led to a reconciliation")
		}
	})
}

// A decision whose process dies at any call is made or not made; repeated, it is made once.
func TestADecisionMayDieAtEveryCall(t *testing.T) {
	t.Parallel()
	eachDeath(t, frozen, 5, func(w *crashWorld, dieAt int, after bool) int {
		return w.victim(dieAt, after, func(ctx context.Context, p *platform.Platform) {
			_, _ = w.decide(ctx, p, true) // a dead process's answer reaches nobody
		})
	}, func(w *crashWorld) {
		if w.checkOnce(w.approved()) {
			w.t.Error("a decision led to a reconciliation")
		}
	})
}

// A worker that dies at any call of the continuation makes the approved call at most once.
func TestAWorkerMayDieAtEveryCallOfAnApprovedCall(t *testing.T) {
	t.Parallel()
	var reconciliations atomic.Int32
	eachDeath(t, func(t *testing.T) *crashWorld {
		w := frozen(t)
		if _, err := w.decide(t.Context(), w.s.platform("tester", Options{Output: io.Discard, Clock: w.clock}), true); err != nil {
			t.Fatal(err)
		}
		return w
	}, 12, (*crashWorld).runVictim, func(w *crashWorld) {
		w.recover()
		if w.checkOnce(w.look()) {
			reconciliations.Add(1)
		}
	})
	// RESERVE that took effect, the connection before and after the request, COMPLETE that did not: as without an approval.
	if n := reconciliations.Load(); n != 4 {
		t.Errorf("%d deaths led to a reconciliation, want 4", n)
	}
}

// An end by the clock whose process dies at any call happens once, and a late decision finds it.
func TestAnExpiryMayDieAtEveryCall(t *testing.T) {
	t.Parallel()
	eachDeath(t, func(t *testing.T) *crashWorld {
		w := frozen(t)
		w.clock.Advance(7*24*time.Hour + time.Minute)
		return w
	}, 2, func(w *crashWorld, dieAt int, after bool) int {
		return w.victim(dieAt, after, func(ctx context.Context, p *platform.Platform) {
			keeper, err := p.Keeper(p.Store())
			if err != nil {
				w.t.Fatal(err)
			}
			_ = keeper.Expire(ctx, w.look().tickets[0].ID)
		})
	}, func(w *crashWorld) {
		if _, err := w.s.Functions["sweeper"].Invoke(w.t.Context(), []byte(`{}`)); err != nil {
			w.t.Fatal(err)
		}
		r := w.look()
		if r.status != job.Done || r.calls != 0 || r.tickets[0].State != approval.Expired {
			w.t.Errorf("%s, %d calls, ticket %+v", r.status, r.calls, r.tickets[0])
		}
		_, err := w.decide(w.t.Context(), w.s.platform("tester", Options{Output: io.Discard, Clock: w.clock}), true)
		if err == nil || !strings.Contains(err.Error(), "expired") {
			w.t.Errorf("a decision after the deadline: %v", err)
		}
	})
}
