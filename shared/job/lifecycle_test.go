package job_test

import (
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/registry"
)

// queued is a world with one queued job whose route repeats failures.
func queued(t *testing.T, retry *registry.Retry) (w *jobtest.World, id string) {
	w = jobtest.New(t)
	token := w.Seed()
	r := jobtest.SupportRoute()
	r.Retry = retry
	w.SaveRoute(r)
	id = w.MustLaunch(token, jobtest.Submission("r")).JobID
	w.Queue.Take()
	return w, id
}

func claim(t *testing.T, w *jobtest.World, id, worker string) (*job.Job, job.Fence) {
	t.Helper()
	j, err := w.Lifecycle.Claim(t.Context(), id, worker)
	if err != nil {
		t.Fatalf("claim by %s: %v", worker, err)
	}
	return j, job.Fence{JobID: id, Claim: j.Claim}
}

var outcome = job.Outcome{Status: job.Done, Result: json.RawMessage(`{"text":"x"}`), Usage: json.RawMessage(`{"num_turns":1}`)}

func TestClaimIsExclusive(t *testing.T) {
	t.Parallel()
	w, id := queued(t, nil)
	j, _ := claim(t, w, id, "a")
	if j.Status != job.Running || j.Claim != 1 || j.Worker != "a" || !j.ClaimedAt.Equal(jobtest.Start) || !j.LeaseUntil.Equal(jobtest.Start.Add(20*time.Minute)) {
		t.Errorf("claimed %+v", j)
	}
	if _, err := w.Lifecycle.Claim(t.Context(), id, "b"); !errors.Is(err, job.ErrNotClaimable) {
		t.Errorf("second claim: %v", err)
	}
	if again, err := w.Lifecycle.Claim(t.Context(), id, "a"); err != nil || again.Claim != 1 {
		t.Errorf("the same claim again, its answer lost: %+v, %v", again, err)
	}
	if _, err := w.Lifecycle.Claim(t.Context(), "11111111-2222-4333-8444-555555555555", "a"); !errors.Is(err, job.ErrNotClaimable) {
		t.Errorf("a job that does not exist: %v", err)
	}
}

func TestConcurrentClaimsHaveOneWinner(t *testing.T) {
	t.Parallel()
	w, id := queued(t, nil)
	var won atomic.Int32
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			_, err := w.Lifecycle.Claim(t.Context(), id, string(rune('a'+i)))
			switch {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, job.ErrNotClaimable):
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if won.Load() != 1 {
		t.Errorf("%d workers have the job", won.Load())
	}
}

// A worker that was presumed dead cannot change the job after another one took it over.
func TestOldClaimIsFenced(t *testing.T) {
	t.Parallel()
	w, id := queued(t, &registry.Retry{Max: 5, BackoffMS: 500})
	old, oldFence := claim(t, w, id, "a")
	if err := w.Lifecycle.Yield(t.Context(), oldFence, "test", false); err != nil {
		t.Fatal(err)
	}
	writes := map[string]func() error{
		"finish":  func() error { return w.Lifecycle.Finish(t.Context(), oldFence, outcome) },
		"retry":   func() error { return w.Lifecycle.Retry(t.Context(), old, oldFence, "x", nil) },
		"yield":   func() error { return w.Lifecycle.Yield(t.Context(), oldFence, "x", false) },
		"recover": func() error { return w.Lifecycle.Recover(t.Context(), old, oldFence, "x") },
	}
	for name, write := range writes {
		if err := write(); !errors.Is(err, job.ErrLostClaim) {
			t.Errorf("%s of a job that is queued again: %v", name, err)
		}
	}
	now, fence := claim(t, w, id, "b")
	if now.Claim != 2 {
		t.Errorf("claim %d, want 2: it only rises", now.Claim)
	}
	for name, write := range writes {
		if err := write(); !errors.Is(err, job.ErrLostClaim) {
			t.Errorf("%s of a job that another worker has: %v", name, err)
		}
	}
	if err := w.Lifecycle.Finish(t.Context(), fence, outcome); err != nil {
		t.Fatal(err)
	}
	for name, write := range writes {
		if err := write(); !errors.Is(err, job.ErrLostClaim) {
			t.Errorf("%s of a finished job: %v", name, err)
		}
	}
	if err := w.Lifecycle.Finish(t.Context(), fence, outcome); !errors.Is(err, job.ErrLostClaim) {
		t.Errorf("finishing twice: %v", err)
	}
	if n := len(w.Events(id, "finished")); n != 1 {
		t.Errorf("%d records of the end", n)
	}
}

func TestFinishStoresTheOutcome(t *testing.T) {
	t.Parallel()
	w, id := queued(t, nil)
	_, fence := claim(t, w, id, "a")
	w.Clock.Advance(time.Second)
	if err := w.Lifecycle.Finish(t.Context(), fence, outcome); err != nil {
		t.Fatal(err)
	}
	j := w.Job(id)
	if j.Status != job.Done || string(j.Result) != `{"text":"x"}` || string(j.Usage) != `{"num_turns":1}` || j.Error != "" || j.Worker != "" ||
		!j.LeaseUntil.IsZero() || !j.UpdatedAt.Equal(jobtest.Start.Add(time.Second)) {
		t.Errorf("job %+v", j)
	}
	w.Clock.Advance(3 * time.Hour)
	if n := w.Sweep(); n != (job.Swept{}) {
		t.Errorf("the sweeper looked at a finished job: %+v", n)
	}
}

func TestRetryWaitsLongerEachTime(t *testing.T) {
	t.Parallel()
	w, id := queued(t, &registry.Retry{Max: 3, BackoffMS: 1000})
	for try := range 3 {
		base := time.Second << try
		j, fence := claim(t, w, id, string(rune('a'+try)))
		if err := w.Lifecycle.Retry(t.Context(), j, fence, "model busy", nil); err != nil {
			t.Fatal(err)
		}
		j = w.Job(id)
		wait := j.RunAfter.Sub(w.Clock.Now())
		if wait < base || wait > base+base/10 {
			t.Fatalf("try %d: waits %v, want %v to a tenth more", try, wait, base)
		}
		// A message that comes before the job is due would find nothing to claim.
		if m := w.Queue.Take(); len(m) != 1 || m[0].Delay < wait || m[0].Delay > wait+time.Second {
			t.Fatalf("try %d: messages %v, want one after %v", try, m, wait)
		}
		if j.Status != job.Queued || j.Attempts != try+1 || j.Recoveries != 0 || !j.Head || !j.QueuedAt.Equal(j.RunAfter) {
			t.Fatalf("try %d: %+v", try, j)
		}
		w.Clock.Advance(base - time.Millisecond)
		if _, err := w.Lifecycle.Claim(t.Context(), id, "early"); !errors.Is(err, job.ErrNotClaimable) {
			t.Fatalf("try %d: claimed before its back-off was over: %v", try, err)
		}
		w.Clock.Advance(base/10 + 2*time.Millisecond)
	}
	j, fence := claim(t, w, id, "last")
	if err := w.Lifecycle.Retry(t.Context(), j, fence, "model busy", json.RawMessage(`{"num_turns":2}`)); err != nil {
		t.Fatal(err)
	}
	j = w.Job(id)
	if j.Status != job.Failed || j.Error != "model busy" || j.Attempts != 3 || string(j.Usage) != `{"num_turns":2}` {
		t.Errorf("after the last try: %+v", j)
	}
	var waits []any
	for _, e := range w.Events(id, "retry_scheduled") {
		waits = append(waits, e.Detail["attempt"])
	}
	if !slices.Equal(waits, []any{1.0, 2.0, 3.0}) {
		t.Errorf("recorded attempts %v", waits)
	}
}

func TestRetryIsBounded(t *testing.T) {
	t.Parallel()
	w, id := queued(t, &registry.Retry{Max: 5, BackoffMS: 300_000})
	for i := range 2 {
		j, fence := claim(t, w, id, string(rune('a'+i)))
		if err := w.Lifecycle.Retry(t.Context(), j, fence, "x", nil); err != nil {
			t.Fatal(err)
		}
		if wait := w.Job(id).RunAfter.Sub(w.Clock.Now()); wait < 5*time.Minute || wait > 330*time.Second {
			t.Errorf("waits %v, want at most 5 minutes and a tenth", wait)
		}
		w.Clock.Advance(330 * time.Second)
	}
}

func TestRouteWithoutRetryFailsAtOnce(t *testing.T) {
	t.Parallel()
	w, id := queued(t, nil)
	j, fence := claim(t, w, id, "a")
	if err := w.Lifecycle.Retry(t.Context(), j, fence, "model busy", nil); err != nil {
		t.Fatal(err)
	}
	if j := w.Job(id); j.Status != job.Failed || j.Error != "model busy" {
		t.Errorf("job %+v", j)
	}
}

func TestYieldIsNoFailure(t *testing.T) {
	t.Parallel()
	w, id := queued(t, nil)
	for i, paused := range []bool{false, true} {
		_, fence := claim(t, w, id, string(rune('a'+i)))
		if err := w.Lifecycle.Yield(t.Context(), fence, "x", paused); err != nil {
			t.Fatal(err)
		}
		j := w.Job(id)
		if j.Status != job.Queued || j.Attempts != 0 || j.Recoveries != 0 || !j.RunAfter.IsZero() {
			t.Errorf("paused %v: %+v", paused, j)
		}
		if n := len(w.Queue.Take()); n == 1 == paused {
			t.Errorf("paused %v: %d messages", paused, n)
		}
	}
}

func TestRecoverEnds(t *testing.T) {
	t.Parallel()
	w, id := queued(t, nil)
	for i := range job.MaxRecoveries {
		j, fence := claim(t, w, id, string(rune('a'+i)))
		if err := w.Lifecycle.Recover(t.Context(), j, fence, "lost"); err != nil {
			t.Fatal(err)
		}
		j = w.Job(id)
		if j.Status != job.Queued || j.Recoveries != i+1 || j.Attempts != 0 {
			t.Fatalf("recovery %d: %+v", i+1, j)
		}
		if i == 0 && !j.RunAfter.IsZero() {
			t.Error("the first recovery waits")
		}
		w.Clock.Advance(6 * time.Minute)
	}
	j, fence := claim(t, w, id, "last")
	if err := w.Lifecycle.Recover(t.Context(), j, fence, "lost"); err != nil {
		t.Fatal(err)
	}
	if j := w.Job(id); j.Status != job.Failed || j.Error == "" {
		t.Errorf("after %d recoveries: %+v", job.MaxRecoveries, j)
	}
}

func TestFinishMakesTheNextJobHead(t *testing.T) {
	t.Parallel()
	w := fixedThread(t)
	a, _ := w.launch(w.token, `{}`)
	b, _ := w.launch(w.token, `{}`)
	_, fence := claim(t, w.World, a.JobID, "a")
	if _, err := w.Lifecycle.Claim(t.Context(), b.JobID, "b"); !errors.Is(err, job.ErrNotClaimable) {
		t.Fatalf("claimed behind the head: %v", err)
	}
	w.Queue.Take()
	w.Clock.Advance(10 * time.Minute)
	w.Queue.Fail(errQueue)
	if err := w.Lifecycle.Finish(t.Context(), fence, outcome); err != nil {
		t.Fatal(err)
	}
	j := w.Job(b.JobID)
	if !j.Head || j.Status != job.Queued || !j.QueuedAt.Equal(w.Clock.Now()) {
		t.Errorf("next job %+v", j)
	}
	// Its message was lost; the sweeper sends it.
	w.Queue.Fail(nil)
	w.Clock.Advance(job.ResendAfter)
	w.Sweep()
	if m := w.Queue.Take(); len(m) != 1 || m[0].JobID != b.JobID {
		t.Errorf("messages %v", m)
	}
}
