package jobrun_test

import (
	"testing"
	"time"

	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/outbound"
	"bailing/shared/topology"
)

// Two calls of 600 s do not fit into one invocation: the second one waits for the next, which has its whole time (architecture §3).
func TestCallsOfTenMinutesShareNoInvocation(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	ops := jobtest.ShopTools()
	ops[0].Capability, ops[0].Method = `"execution":{"timeout_ms":600000,"readonly":false}`, "POST"
	b.SaveProvider(jobtest.ShopProvider(), jobtest.Spec(ops...))
	b.Business.Answer(func(r outbound.Request) (*outbound.Response, error) {
		b.Clock.Advance(r.Timeout)
		return jobtest.Response(200, `{"ok":true}`), nil
	})
	b.Model.Then(jobtest.Call(order("1"), order("2")), jobtest.Say("x"))
	for n := 1; n <= 2; n++ {
		if m := b.Queue.Take(); len(m) != 1 {
			t.Fatalf("before invocation %d: messages %v", n, m)
		}
		b.Run(deadline{t.Context(), b.Clock.Now().Add(topology.WorkerTimeout)}, b.id)
		j := b.Job(b.id)
		if len(b.Business.Sent()) != n || b.Business.Sent()[n-1].Timeout != 600*time.Second || j.Recoveries != 0 {
			t.Fatalf("after invocation %d: %d sent, %d recoveries, %s: %s", n, len(b.Business.Sent()), j.Recoveries, j.Status, b.Logs)
		}
		if want := []job.Status{job.Queued, job.Done}[n-1]; j.Status != want {
			t.Fatalf("after invocation %d the job is %s, want %s: %s", n, j.Status, want, j.Error)
		}
	}
	if len(b.Model.Requests()) != 2 {
		t.Errorf("%d requests to the model", len(b.Model.Requests()))
	}
}
