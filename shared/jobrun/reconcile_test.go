package jobrun_test

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"bailing/shared/awslocal/fault"
	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/model"
	"bailing/shared/outbound"
	"bailing/shared/registry"
)

func ticket(text string) jobtest.Wish {
	return jobtest.Wish{Tool: "ticket_create", Args: `{"text":"` + text + `"}`}
}

// unreachable is a business that takes requests and answers none of the tickets.
func unreachable(r outbound.Request) (*outbound.Response, error) {
	if r.Method == "POST" {
		return nil, &outbound.Error{Phase: outbound.PhaseHeaders, Connected: true, Sent: true, Timeout: true}
	}
	return jobtest.Response(200, `{"ok":true}`), nil
}

// retrying is a route that repeats failed jobs.
func retrying(r *registry.Route) { r.Retry = &registry.Retry{Max: 3, BackoffMS: 1000} }

// reconciled requires that the job ended for a person to reconcile (core §1.6) and returns its result.
func (b *bench) reconciled(state, reason string) map[string]any {
	b.t.Helper()
	j := b.Job(b.id)
	var r map[string]any
	if err := json.Unmarshal(j.Result, &r); err != nil {
		b.t.Fatalf("job is %s (%s) with the result %s", j.Status, j.Error, j.Result)
	}
	execution, _ := r["tool_execution"].(map[string]any)
	if j.Status != job.Failed || j.Error != "tool_execution_reconciliation_required" || j.Attempts != 0 {
		b.t.Errorf("job is %s: %s after %d tries", j.Status, j.Error, j.Attempts)
	}
	if r["governance_state"] != "reconciliation_required" || r["auto_retry_allowed"] != false || r["text"] == "" {
		b.t.Errorf("result %s", j.Result)
	}
	if execution["state"] != state || execution["reason"] != reason || execution["tool"] != "ticket_create" || execution["scope"] != "tickets.write" || execution["message"] == "" {
		b.t.Errorf("tool_execution %v, want %s because of %s", execution, state, reason)
	}
	if j.Open == nil || execution["idempotency_key"] != j.Open.IdempotencyKey {
		b.t.Errorf("the call does not stay visible: %+v", j.Open)
	}
	if n := len(b.Events(b.id, "finished")); n != 1 {
		b.t.Errorf("%d ends", n)
	}
	return r
}

// A write without a trustworthy answer ends its job at once: no further call of the round, no model, no retry (I4).
func TestUnknownWriteEndsTheJob(t *testing.T) {
	t.Parallel()
	b := open(t, retrying)
	b.Business.Answer(unreachable)
	b.run(jobtest.Call(order("1"), ticket("a"), ticket("b"), order("2")), jobtest.Say("never asked"))
	b.reconciled("uncertain", "timeout")
	if asked, sent := len(b.Model.Requests()), len(b.Business.Sent()); asked != 1 || sent != 2 {
		t.Errorf("%d requests to the model, %d calls", asked, sent)
	}
	if n := len(b.Events(b.id, "job_reconciliation_required")); n != 1 {
		t.Errorf("%d records", n)
	}
	var usage struct {
		NumTurns int `json:"num_turns"`
	}
	if err := json.Unmarshal(b.Job(b.id).Usage, &usage); err != nil || usage.NumTurns != 1 {
		t.Errorf("usage %s", b.Job(b.id).Usage)
	}
	for range 3 { // nothing ever touches it again
		b.Clock.Advance(job.Lease + time.Second)
		b.Sweep()
		b.Deliver()
	}
	b.reconciled("uncertain", "timeout")
	if n := len(b.Business.Sent()); n != 2 {
		t.Errorf("%d calls in the end", n)
	}
}

// A read whose outcome is unknown is reported and freezes nothing (core §5.9).
func TestUnknownReadDoesNotFreeze(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	b.Business.Answer(func(r outbound.Request) (*outbound.Response, error) {
		if r.Method == "GET" {
			return nil, &outbound.Error{Phase: outbound.PhaseHeaders, Connected: true, Sent: true}
		}
		return jobtest.Response(200, `{"ok":true}`), nil
	})
	if r := b.answered(jobtest.Call(order("1"), ticket("a")), jobtest.Say("done")); r.ToolCalls != 2 || len(b.Business.Sent()) != 2 {
		t.Errorf("%+v, %d calls", r, len(b.Business.Sent()))
	}
}

// Two identical wishes are one effect; the second gets the first one's answer (I1).
func TestIdenticalWritesOfARound(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	b.Business.Respond(201, `{"no":7}`)
	r := b.answered(jobtest.Call(ticket("a"), ticket("a"), ticket("b")), jobtest.Call(ticket("a")), jobtest.Say("done"))
	if n := len(b.Business.Sent()); n != 2 {
		t.Errorf("%d calls were sent", n)
	}
	if r.ToolCalls != 4 {
		t.Errorf("%d calls count, want each wish", r.ToolCalls)
	}
	for i, text := range b.toolResults() {
		if text != `{"no":7}` {
			t.Errorf("result %d: %s", i, text)
		}
	}
	if n := len(b.Events(b.id, "tool_call_deduped")); n != 2 {
		t.Errorf("%d answers from the journal", n)
	}
}

// Whoever claims a job with an open call does nothing but end it, however often its workers were lost.
func TestOpenCallIsFoundBeforeAnythingElse(t *testing.T) {
	t.Parallel()
	for rule, lost := range map[string]int{"after the first lost worker": 1, "after the last one that a job survives": job.MaxRecoveries + 1} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			b := openIn(jobtest.New(t, jobtest.NoRetries()), t, retrying)
			b.Queue.Take()
			for range lost - 1 { // workers that are lost before they do anything
				if _, err := b.Lifecycle.Claim(t.Context(), b.id, "lost"); err != nil {
					t.Fatal(err)
				}
				b.Clock.Advance(job.Lease + time.Second)
				b.Sweep()
				b.Clock.Advance(10 * time.Minute)
			}
			b.Queue.Take()
			var dead atomic.Bool
			b.Business.Answer(func(outbound.Request) (*outbound.Response, error) {
				dead.Store(true)
				return jobtest.Response(200, `{}`), nil
			})
			b.Faults().Set(func(op fault.Op) fault.Fault {
				if dead.Load() && op.AccessKey == jobtest.AccessKey {
					return fault.Fault{Kind: fault.Drop}
				}
				return fault.Fault{}
			})
			b.Model.Then(jobtest.Call(ticket("a")), jobtest.Say("never asked"))
			_ = b.Runner.Run(t.Context(), b.id)
			b.Faults().Set(nil)
			if open := b.Job(b.id).Open; open == nil || open.State != "dispatching" {
				t.Fatalf("open call %+v", open)
			}
			b.Clock.Advance(job.Lease + time.Second)
			b.Sweep()
			b.Deliver()
			b.reconciled("dispatching", "worker_lost")
			if asked, sent := len(b.Model.Requests()), len(b.Business.Sent()); asked != 1 || sent != 1 {
				t.Errorf("%d requests to the model, %d calls", asked, sent)
			}
		})
	}
}

// An end that cannot be stored is stored by the next worker, which makes no call either.
func TestEndThatCannotBeStored(t *testing.T) {
	t.Parallel()
	b := openIn(jobtest.New(t, jobtest.NoRetries()), t, nil)
	b.Queue.Take()
	b.Business.Answer(unreachable)
	b.Faults().Set(func(op fault.Op) fault.Fault {
		if op.AccessKey == jobtest.AccessKey && op.Action == "PutItem" && len(b.Business.Sent()) > 0 { // the job's record
			return fault.Fault{Kind: fault.ErrorBefore}
		}
		return fault.Fault{}
	})
	b.Model.Then(jobtest.Call(ticket("a")))
	if err := b.Runner.Run(t.Context(), b.id); err == nil {
		t.Error("the message is done although the end is not stored")
	}
	b.Faults().Set(nil)
	b.Clock.Advance(job.Lease + time.Second)
	b.Sweep()
	b.Deliver()
	b.reconciled("uncertain", "timeout")
}

// killedWhileWriting is a job with a read and two writes whose worker dies at request k to the state.
func killedWhileWriting(t *testing.T, k int, kind fault.Kind) (b *bench, made int) {
	t.Helper()
	b = openIn(jobtest.New(t, jobtest.NoRetries()), t, nil)
	writes := func(r model.Request) (model.Response, error) {
		for _, m := range r.Messages {
			if m.Role == model.RoleTool {
				return jobtest.Say("Done.")(r)
			}
		}
		return jobtest.Call(order("1"), ticket("a"), ticket("b"), ticket("a"))(r)
	}
	b.Model.Then(writes, writes, writes, writes, writes)
	b.Queue.Take()
	var dead atomic.Bool
	var n atomic.Int32
	b.Faults().Set(func(op fault.Op) fault.Fault {
		switch {
		case op.AccessKey != jobtest.AccessKey:
			return fault.Fault{}
		case dead.Load():
			return fault.Fault{Kind: fault.Drop}
		case int(n.Add(1)) == k:
			dead.Store(true)
			return fault.Fault{Kind: kind}
		}
		return fault.Fault{}
	})
	_ = b.Runner.Run(t.Context(), b.id)
	b.Faults().Set(nil)
	return b, int(n.Load())
}

// A worker may die before and after every request to the state: no write happens twice, and the job ends, by itself or for a
// person to reconcile (I1, I4, I5).
func TestNoWriteTwiceAfterAKill(t *testing.T) {
	t.Parallel()
	_, total := killedWhileWriting(t, 0, fault.None)
	if total < 16 {
		t.Fatalf("a whole run makes only %d requests", total)
	}
	ends := map[string]int{}
	for _, kind := range []fault.Kind{fault.Drop, fault.DropAfterCommit} {
		for k := 1; k <= total; k++ {
			b, _ := killedWhileWriting(t, k, kind)
			for range 4 {
				b.Clock.Advance(job.Lease + time.Second)
				b.Sweep()
				b.Deliver()
			}
			seen := map[string]int{}
			for _, r := range b.Business.Sent() {
				if key := r.Header.Get("X-Bailing-Idempotency-Key"); key != "" {
					if seen[string(r.Body)]++; seen[string(r.Body)] > 1 {
						t.Errorf("killed at %d (%v): %s was written twice", k, kind, r.Body)
					}
				}
			}
			j := b.Job(b.id)
			switch {
			case j.Status == job.Done:
				ends["done"]++
				if len(seen) != 2 || j.Open != nil {
					t.Errorf("killed at %d (%v): done with %d writes, open %+v", k, kind, len(seen), j.Open)
				}
			case j.Error == job.ReasonReconciliation:
				ends["reconciliation"]++
				b.reconciled("dispatching", "worker_lost")
			default:
				t.Errorf("killed at %d (%v): job is %s: %s", k, kind, j.Status, j.Error)
			}
		}
	}
	// A write dies in RESERVE after it took effect, or in COMPLETE before: two writes, so four deaths.
	if ends["reconciliation"] != 4 {
		t.Errorf("ends %v, want exactly 4 to reconcile", ends)
	}
}

// An invocation that ends during such a call does not put the job back: it is frozen all the same.
func TestUnknownWriteAtTheEndOfAnInvocation(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	b.Queue.Take()
	ctx, cancel := context.WithCancel(t.Context())
	b.Business.Answer(func(r outbound.Request) (*outbound.Response, error) {
		cancel()
		return unreachable(r)
	})
	b.Model.Then(jobtest.Call(ticket("a")))
	b.Run(ctx, b.id)
	b.reconciled("uncertain", "timeout")
}

// No retry of a route applies to a job with an open call (I4).
func TestRetryOfAFrozenJobEndsIt(t *testing.T) {
	t.Parallel()
	b := open(t, retrying)
	j, err := b.Lifecycle.Claim(t.Context(), b.id, "w")
	if err != nil {
		t.Fatal(err)
	}
	j.Open = &job.OpenCall{Tool: "ticket_create", State: "uncertain"}
	if err := b.Lifecycle.Retry(t.Context(), j, job.Fence{JobID: j.ID, Claim: j.Claim}, "the model failed", nil); err != nil {
		t.Fatal(err)
	}
	if got := b.Job(b.id); got.Status != job.Failed || got.Error != job.ReasonReconciliation {
		t.Errorf("job is %s: %s", got.Status, got.Error)
	}
}
