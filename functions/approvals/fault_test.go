package approvals_test

import (
	"sync/atomic"
	"testing"

	"bailing/shared/awslocal/fault"
	"bailing/shared/job"
	"bailing/shared/job/jobtest"
)

// hubFault makes the n-th transaction of the hub go wrong.
func (a *api) hubFault(n int64, kind fault.Kind) {
	var seen atomic.Int64
	a.Faults().Set(func(op fault.Op) fault.Fault {
		if op.AccessKey == jobtest.AccessKey && op.Action == "TransactWriteItems" && seen.Add(1) == n {
			return fault.Fault{Kind: kind}
		}
		return fault.Fault{}
	})
}

// A decision whose answer is lost is sent again, and is the same decision (I9): recorded once, whether the first one took effect or not.
func TestADecisionWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]fault.Kind{
		"refused": fault.ErrorBefore, "dropped": fault.Drop, "took effect": fault.ErrorAfterCommit, "took effect, dropped": fault.DropAfterCommit,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := open(t, jobtest.NoRetries())
			asked := a.refund(a.token)
			a.hubFault(1, kind)
			first := a.decide(a.token, asked.ID, envelope(asked, "approved", "d"))
			a.Faults().Set(nil)
			if first.Status != 200 && first.Status < 500 {
				t.Errorf("%d %s", first.Status, first.Body)
			}
			again := a.decide(a.token, asked.ID, envelope(asked, "approved", "d"))
			if again.Status != 200 {
				t.Errorf("%d %s", again.Status, again.Body)
			}
			if e := a.Events(asked.JobID, "tool_approved_external"); len(e) != 1 {
				t.Errorf("%d records", len(e))
			}
			a.settle(0, asked, 1)
		})
	}
}

// The message that the job is due again is a hint: without it the decision holds all the same.
func TestADecisionWithoutTheQueue(t *testing.T) {
	t.Parallel()
	a := open(t, jobtest.NoRetries())
	asked := a.refund(a.token)
	a.Faults().Set(func(op fault.Op) fault.Fault {
		if op.AccessKey == jobtest.AccessKey && op.Service == "sqs" {
			return fault.Fault{Kind: fault.Drop}
		}
		return fault.Fault{}
	})
	a.decide(a.token, asked.ID, envelope(asked, "approved", "d")).want(t, 200, approved(asked.ID, "d", `"idempotent":false,"rerun":true`))
	a.Faults().Set(nil)
	if j := a.Job(asked.JobID); j.Status != job.Queued {
		t.Errorf("job %+v", j)
	}
	a.settle(0, asked, 1)
}

// A store that cannot answer refuses nobody: the caller is told to come again.
func TestAStoreThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	a := open(t, jobtest.NoRetries())
	asked := a.refund(a.token)
	a.Faults().Set(func(op fault.Op) fault.Fault {
		if op.AccessKey == jobtest.AccessKey {
			return fault.Fault{Kind: fault.ErrorBefore}
		}
		return fault.Fault{}
	})
	for _, token := range []string{a.token, ""} {
		for _, got := range []answer{a.decide(token, asked.ID, envelope(asked, "approved", "d")), a.arguments(token, asked.ID)} {
			if got.Status < 500 {
				t.Errorf("%d %s", got.Status, got.Body)
			}
		}
	}
}
