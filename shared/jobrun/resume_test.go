package jobrun_test

import (
	"sync/atomic"
	"testing"
	"time"

	"bailing/shared/awslocal/fault"
	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/model"
)

// script answers by what the conversation holds, as a model does: whoever asks again hears the same.
func script(r model.Request) (model.Response, error) {
	for _, m := range r.Messages {
		if m.Role == model.RoleTool {
			return jobtest.Say("It is on its way.")(r)
		}
	}
	return jobtest.Call(order("1"), order("2"))(r)
}

// killed runs a two-round job whose worker loses its connection to the state at request k, before or after the request took
// effect, and never gets it back. It reports how many requests the worker had made by then.
func killed(t *testing.T, k int, kind fault.Kind) (b *bench, made int) {
	t.Helper()
	b = openIn(jobtest.New(t, jobtest.NoRetries()), t, nil)
	b.Model.Then(script, script, script, script, script)
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
	_ = b.Runner.Run(t.Context(), b.id) // how a dying worker ends is nobody's business
	b.Faults().Set(nil)
	return b, int(n.Load())
}

// A worker may die before and after every request to the state; the next one goes on where it stopped.
func TestResumeAfterAKill(t *testing.T) {
	t.Parallel()
	_, total := killed(t, 0, fault.None)
	if total < 10 {
		t.Fatalf("a whole run makes only %d requests", total)
	}
	for _, kind := range []fault.Kind{fault.Drop, fault.DropAfterCommit} {
		for k := 1; k <= total; k++ {
			b, _ := killed(t, k, kind)
			for range 4 { // the lease ends, the sweeper sends the message again
				b.Clock.Advance(job.Lease + time.Second)
				b.Sweep()
				b.Deliver()
			}
			j := b.Job(b.id)
			if j.Status != job.Done {
				t.Errorf("killed at %d (%v): job is %s: %s", k, kind, j.Status, j.Error)
				continue
			}
			if n := len(b.Events(b.id, "finished")); n != 1 {
				t.Errorf("killed at %d (%v): %d ends", k, kind, n)
			}
			// One request to the model or one call may be repeated, never a saved one.
			if asked, sent := len(b.Model.Requests()), len(b.Business.Sent()); asked > 3 || sent > 3 {
				t.Errorf("killed at %d (%v): %d requests to the model, %d calls", k, kind, asked, sent)
			}
			if r := b.answered(); r.Text != "It is on its way." || r.ToolCalls != 2 {
				t.Errorf("killed at %d (%v): %+v", k, kind, r)
			}
			if n := len(b.rounds()); n != 2 {
				t.Errorf("killed at %d (%v): %d rounds", k, kind, n)
			}
		}
	}
}

// A worker that is slow rather than dead stops at its next write.
func TestSlowWorkerDoesNotOverwrite(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	b.Queue.Take()
	overtaken := func(r model.Request) (model.Response, error) {
		b.Clock.Advance(job.Lease + time.Second)
		b.Sweep()
		b.Deliver() // the next worker runs the whole job
		return jobtest.Say("too late")(r)
	}
	b.Model.Then(overtaken, jobtest.Say("in time"))
	b.Run(t.Context(), b.id)
	if r := b.answered(); r.Text != "in time" {
		t.Errorf("%+v", r)
	}
	if n := len(b.Events(b.id, "finished")); n != 1 {
		t.Errorf("%d ends", n)
	}
}
