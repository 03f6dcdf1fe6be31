package job_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"bailing/shared/awslocal/fault"
	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/registry"
)

func TestJobThatNobodyTookEndsAfterThirtyMinutes(t *testing.T) {
	t.Parallel()
	w, id := queued(t, nil)
	w.Clock.Advance(job.QueueTimeout)
	w.Sweep()
	if j := w.Job(id); j.Status != job.Queued {
		t.Fatalf("at 30 minutes: %s", j.Status)
	}
	w.Clock.Advance(job.ResendAfter) // the next look
	if n := w.Sweep(); n.Expired != 1 {
		t.Errorf("%+v, want one expired", n)
	}
	j := w.Job(id)
	if j.Status != job.Failed || j.Error != job.ReasonQueueTimeout || j.Head {
		t.Errorf("after 30 minutes: %+v", j)
	}
	if n := w.Sweep(); n != (job.Swept{}) {
		t.Errorf("second sweep: %+v", n)
	}
}

func TestQueueTimeoutStartsWhenAJobBecomesHead(t *testing.T) {
	t.Parallel()
	w := fixedThread(t)
	a, _ := w.launch(w.token, `{}`)
	b, _ := w.launch(w.token, `{}`)
	_, fence := claim(t, w.World, a.JobID, "a")
	w.Clock.Advance(19 * time.Minute)
	w.Sweep()
	if err := w.Lifecycle.Finish(t.Context(), fence, outcome); err != nil {
		t.Fatal(err)
	}
	w.Clock.Advance(29 * time.Minute)
	if n := w.Sweep(); n.Expired != 0 || w.Job(b.JobID).Status != job.Queued {
		t.Errorf("%+v: the job was head for 29 minutes only", n)
	}
	w.Clock.Advance(2 * time.Minute)
	if n := w.Sweep(); n.Expired != 1 || w.Job(b.JobID).Status != job.Failed {
		t.Errorf("%+v after 31 minutes as head", n)
	}
}

// The head of a thread is what may expire; those behind it get their own 30 minutes.
func TestExpiredHeadPassesOn(t *testing.T) {
	t.Parallel()
	w := fixedThread(t)
	a, _ := w.launch(w.token, `{}`)
	b, _ := w.launch(w.token, `{}`)
	w.Queue.Take()
	w.Clock.Advance(job.QueueTimeout + time.Second)
	if n := w.Sweep(); n.Expired != 1 {
		t.Fatalf("%+v", n)
	}
	if first, second := w.Job(a.JobID), w.Job(b.JobID); first.Status != job.Failed || second.Status != job.Queued || !second.Head {
		t.Errorf("first %s, second %s, head %v", first.Status, second.Status, second.Head)
	}
	if m := w.Queue.Take(); len(m) != 1 || m[0].JobID != b.JobID {
		t.Errorf("messages %v", m)
	}
}

func TestSweeperSendsALostMessageAgain(t *testing.T) {
	t.Parallel()
	w, id := queued(t, nil)
	w.Clock.Advance(job.ResendAfter - time.Millisecond)
	if n := w.Sweep(); n != (job.Swept{}) {
		t.Errorf("too early: %+v", n)
	}
	w.Clock.Advance(time.Millisecond)
	for range 2 { // the second sweep at the same time finds nothing to do
		w.Sweep()
	}
	if m := w.Queue.Take(); len(m) != 1 || m[0].JobID != id || m[0].Delay != 0 {
		t.Errorf("messages %v", m)
	}
	if j := w.Job(id); !j.QueuedAt.Equal(jobtest.Start) {
		t.Error("sending the message again must not start the timeout anew")
	}
}

func TestSweeperRecoversALostWorker(t *testing.T) {
	t.Parallel()
	w, id := queued(t, nil)
	claim(t, w, id, "a")
	w.Clock.Advance(job.Lease - time.Millisecond)
	if n := w.Sweep(); n.Recovered != 0 || w.Job(id).Status != job.Running {
		t.Fatalf("before the lease ended: %+v", n)
	}
	w.Clock.Advance(time.Millisecond)
	if n := w.Sweep(); n.Recovered != 1 {
		t.Fatalf("%+v, want one recovered", n)
	}
	j := w.Job(id)
	if j.Status != job.Queued || j.Recoveries != 1 || j.Attempts != 0 || !j.Head || !j.QueuedAt.Equal(w.Clock.Now()) {
		t.Errorf("recovered %+v", j)
	}
	if m := w.Queue.Take(); len(m) != 1 || m[0].JobID != id {
		t.Errorf("messages %v", m)
	}
	if e := w.Events(id, "recovered"); len(e) != 1 || e[0].Stage != "recovery" {
		t.Errorf("events %+v", e)
	}
	if n := w.Sweep(); n != (job.Swept{}) {
		t.Errorf("second sweep: %+v", n)
	}
}

// A value that cannot be read keeps no job from its end, nor the jobs behind it from their turn (I5).
func TestSweeperNeedsNoValue(t *testing.T) {
	t.Parallel()
	w, id := queued(t, nil)
	large := w.MustLaunch(jobtest.ServerToken, jobtest.Submission("large", `"metadata":{"note":"`+strings.Repeat("m", 100_000)+`"}`)).JobID
	w.Faults().Set(func(op fault.Op) fault.Fault {
		if op.Service == "s3" {
			return fault.Fault{Kind: fault.ErrorBefore}
		}
		return fault.Fault{}
	})
	w.Clock.Advance(job.QueueTimeout + time.Millisecond)
	if n := w.Sweep(); n.Looked != 2 || n.Expired != 2 {
		t.Errorf("%+v, want two expired", n)
	}
	w.Faults().Set(nil)
	for _, id := range []string{id, large} {
		if j := w.Job(id); j.Status != job.Failed {
			t.Errorf("job is %s", j.Status)
		}
	}
}

func TestReclaimTakesEveryRunningJob(t *testing.T) {
	t.Parallel()
	w, id := queued(t, nil)
	claim(t, w, id, "a")
	n, err := w.Sweeper.Reclaim(t.Context())
	if err != nil || n.Recovered != 1 {
		t.Fatalf("%+v, %v", n, err)
	}
	if j := w.Job(id); j.Status != job.Queued || j.Recoveries != 0 {
		t.Errorf("%s after %d recoveries: a restart is nobody's failure", j.Status, j.Recoveries)
	}
	claim(t, w, id, "b")
}

func TestPauseIsNoTimeInTheQueue(t *testing.T) {
	t.Parallel()
	w, id := queued(t, nil)
	w.Pause(true)
	for range 90 {
		w.Clock.Advance(time.Minute)
		if n := w.Sweep(); n.Expired != 0 || n.Requeued != 0 {
			t.Fatalf("sweep while paused: %+v", n)
		}
	}
	if m := w.Queue.Take(); len(m) != 0 {
		t.Fatalf("messages while paused: %v", m)
	}
	w.Pause(false)
	w.Sweep()
	if m := w.Queue.Take(); len(m) != 1 || m[0].JobID != id {
		t.Errorf("messages after the pause: %v", m)
	}
	w.Clock.Advance(29 * time.Minute)
	w.Sweep()
	if j := w.Job(id); j.Status != job.Queued {
		t.Errorf("%s 29 minutes after the pause", j.Status)
	}
	w.Clock.Advance(2 * time.Minute)
	w.Sweep()
	if j := w.Job(id); j.Status != job.Failed {
		t.Errorf("%s 31 minutes after the pause", j.Status)
	}
}

func TestBackOffIsNoTimeInTheQueue(t *testing.T) {
	t.Parallel()
	w, id := queued(t, &registry.Retry{Max: 1, BackoffMS: 300_000})
	w.Clock.Advance(29 * time.Minute)
	j, fence := claim(t, w, id, "a")
	if err := w.Lifecycle.Retry(t.Context(), j, fence, "x", nil); err != nil {
		t.Fatal(err)
	}
	w.Clock.Advance(34 * time.Minute)
	w.Sweep()
	if j := w.Job(id); j.Status != job.Queued {
		t.Errorf("%s 29 minutes after its back-off", j.Status)
	}
}

func TestExecutorJobsAreNotQueuedButExpire(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t)
	token := w.Seed()
	w.SaveTarget(registry.Target{Name: "desk", Kind: registry.Executor, Enabled: true})
	r := jobtest.SupportRoute()
	r.Target, r.TargetConfig = "desk", json.RawMessage(`{}`)
	w.SaveRoute(r)
	id := w.MustLaunch(token, jobtest.Submission("r")).JobID
	for range 30 {
		w.Clock.Advance(time.Minute)
		w.Sweep()
	}
	if j, m := w.Job(id), w.Queue.Take(); j.Status != job.Queued || len(m) != 0 {
		t.Errorf("%s with messages %v: only the job worker's jobs are queued", j.Status, m)
	}
	w.Clock.Advance(time.Minute)
	w.Sweep()
	if j := w.Job(id); j.Status != job.Failed {
		t.Errorf("%s after 31 minutes", j.Status)
	}
}

func TestSweepersSideBySide(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t)
	token := w.Seed()
	var running, waiting []string
	for i := range 12 {
		id := w.MustLaunch(token, jobtest.Submission(string(rune('a'+i)))).JobID
		if i%2 == 0 {
			claim(t, w, id, id)
			running = append(running, id)
		} else {
			waiting = append(waiting, id)
		}
	}
	w.Clock.Advance(job.QueueTimeout + time.Second)
	var mu sync.Mutex
	var total job.Swept
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			n, err := w.Sweeper.Sweep(t.Context())
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			total.Recovered += n.Recovered
			total.Expired += n.Expired
		})
	}
	wg.Wait()
	if total.Recovered != len(running) || total.Expired != len(waiting) {
		t.Errorf("%+v, want %d recovered and %d expired in all", total, len(running), len(waiting))
	}
	for _, id := range running {
		if j := w.Job(id); j.Status != job.Queued || j.Recoveries != 1 {
			t.Errorf("%s after %d recoveries", j.Status, j.Recoveries)
		}
	}
	for _, id := range waiting {
		if n := len(w.Events(id, "finished")); n != 1 {
			t.Errorf("%d records of the end", n)
		}
	}
}

func TestSweepEndsWithItsContext(t *testing.T) {
	t.Parallel()
	w, _ := queued(t, nil)
	w.Clock.Advance(job.ResendAfter)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := w.Sweeper.Sweep(ctx); err == nil {
		t.Error("a sweep that could not look says that it did")
	}
}
