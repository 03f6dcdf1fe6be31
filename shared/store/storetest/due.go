package storetest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"bailing/shared/job"
	"bailing/shared/registry"
)

var looks = []promise{
	{"a queued head is due when its message counts as lost", dueQueued},
	{"a head that a remote executor runs is due like any other, so that a pause is noticed", dueForeign},
	{"a running job is due when its lease ends", dueRunning},
	{"a released job is due after its next start", dueReleased},
	{"a waiting job is not due, however far one looks ahead", dueWaiting},
	{"an ended or rejected job is not due any more", dueEnded},
	{"every due job is visited, over all shards and pages", dueAll},
	{"each minute another shard is the first, so that none always waits for the others", dueTurns},
	{"an error of the visitor ends the visits", dueStops},
	{"a postponed head is due later", postponed},
	{"a restarted queue timeout counts from now", restarted},
	{"a job that is not a queued head cannot be postponed", notPostponed},
}

func dueTurns(t *testing.T, b *bundle) {
	for range 100 {
		b.launch(t, "")
	}
	if b.Settle != nil {
		b.Settle()
	}
	firsts := map[string]bool{}
	stop := errors.New("stop")
	for minute := range 16 {
		err := b.Store.EachDue(t.Context(), b.now.Add(far+time.Duration(minute)*time.Minute), func(id string) error { firsts[id] = true; return stop })
		wantErr(t, err, stop)
	}
	if len(firsts) < 8 { // 100 jobs leave hardly one of the 16 shards empty
		t.Errorf("the visits of 16 minutes began with %d jobs", len(firsts))
	}
}

// far is a look ahead past everything that these tests schedule.
const far = 100 * 24 * time.Hour

// due reports how often id is visited by a look at the given time. Other jobs of a shared table are not of interest.
func (b *bundle) due(t *testing.T, id string, at time.Time) int {
	t.Helper()
	if b.Settle != nil {
		b.Settle()
	}
	n := 0
	must(t, b.Store.EachDue(t.Context(), at, func(jobID string) error {
		if jobID == id {
			n++
		}
		return nil
	}))
	return n
}

// wantDueAt checks that a job is due from the given moment on and not a millisecond earlier.
func (b *bundle) wantDueAt(t *testing.T, id string, at time.Time) {
	t.Helper()
	if b.due(t, id, at.Add(-time.Millisecond)) != 0 {
		t.Errorf("due before %s", at.Sub(b.now))
	}
	for _, look := range []time.Time{at, at.Add(far)} {
		if n := b.due(t, id, look); n != 1 {
			t.Errorf("visited %d times by a look at %s, want 1", n, look.Sub(b.now))
		}
	}
}

func (b *bundle) wantNotDue(t *testing.T, id string) {
	t.Helper()
	if b.due(t, id, b.now.Add(far)) != 0 {
		t.Errorf("job %s is due", id)
	}
}

func dueQueued(t *testing.T, b *bundle) {
	b.wantDueAt(t, b.launch(t, "").ID, b.now.Add(job.ResendAfter))
}

func dueForeign(t *testing.T, b *bundle) {
	j := b.draft()
	j.Snapshot.TargetKind = registry.Executor
	must(t, b.join(t.Context(), j))
	b.wantDueAt(t, j.ID, b.now.Add(job.ResendAfter))
}

func dueRunning(t *testing.T, b *bundle) {
	j, _ := b.running(t)
	b.wantDueAt(t, j.ID, b.now.Add(lease))
}

func dueReleased(t *testing.T, b *bundle) {
	now, f := b.running(t)
	at := b.now.Add(time.Second)
	must(t, b.Store.ReleaseJob(t.Context(), f, job.Release{Now: at}, b.event("released")))
	b.wantDueAt(t, now.ID, at.Add(job.ResendAfter))

	later, f := b.running(t)
	must(t, b.Store.ReleaseJob(t.Context(), f, job.Release{RunAfter: at.Add(time.Hour), Now: at}, b.event("released")))
	b.wantDueAt(t, later.ID, at.Add(time.Hour+job.ResendAfter))
}

func dueWaiting(t *testing.T, b *bundle) {
	head, f := b.running(t)
	waiting := b.launch(t, head.ThreadKey)
	b.wantNotDue(t, waiting.ID)
	at := b.now.Add(time.Hour)
	_, err := b.Store.FinishJob(t.Context(), f, job.Outcome{Status: job.Done, Now: at}, b.event("finished"))
	must(t, err)
	b.wantDueAt(t, waiting.ID, at.Add(job.ResendAfter))
}

func dueEnded(t *testing.T, b *bundle) {
	done, f := b.running(t)
	b.finish(t, f)
	b.wantNotDue(t, done.ID)

	expired := b.launch(t, "")
	_, err := b.Store.ExpireJob(t.Context(), expired.ID, expired.QueuedAt, job.Outcome{Status: job.Failed, Now: b.now}, b.event("expired"))
	must(t, err)
	b.wantNotDue(t, expired.ID)

	j := b.draft()
	j.Status = job.Rejected
	must(t, b.Store.CreateJob(t.Context(), j, entry(j), job.Thread{Key: j.ThreadKey}, b.event("rejected")))
	b.wantNotDue(t, j.ID)
}

func dueAll(t *testing.T, b *bundle) {
	want := map[string]int{}
	for range 60 {
		want[b.launch(t, "").ID] = 1
	}
	if b.Settle != nil {
		b.Settle()
	}
	got := map[string]int{}
	must(t, b.Store.EachDue(t.Context(), b.now.Add(far), func(id string) error {
		if want[id] > 0 {
			got[id]++
		}
		return nil
	}))
	wantEqual(t, "visits", got, want)
}

func dueStops(t *testing.T, b *bundle) {
	b.launch(t, "")
	b.launch(t, "")
	if b.Settle != nil {
		b.Settle()
	}
	stop, n := errors.New("stop"), 0
	wantErr(t, b.Store.EachDue(t.Context(), b.now.Add(far), func(string) error { n++; return stop }), stop)
	wantEqual(t, "visits", n, 1)
}

func postponed(t *testing.T, b *bundle) {
	j := b.launch(t, "")
	look := b.now.Add(7 * time.Minute)
	must(t, b.Store.PostponeJob(t.Context(), j.ID, look, false))
	b.wantDueAt(t, j.ID, look)
	wantEqual(t, "job", b.read(t, j.ID), j)
}

func restarted(t *testing.T, b *bundle) {
	j := b.draft()
	j.QueuedAt = b.now.Add(-time.Hour)
	must(t, b.join(t.Context(), j))
	from := b.Clock.Now().Truncate(time.Millisecond)
	must(t, b.Store.PostponeJob(t.Context(), j.ID, b.now, true))
	if got := b.read(t, j.ID).QueuedAt; got.Before(from) || got.After(b.Clock.Now()) {
		t.Fatalf("queued at %s, want now (%s)", got, from)
	}
	b.wantDueAt(t, j.ID, b.now)
}

func notPostponed(t *testing.T, b *bundle) {
	postpone := func(id string) {
		t.Helper()
		must(t, b.Store.PostponeJob(t.Context(), id, b.now, true))
	}
	running, f := b.running(t)
	waiting := b.launch(t, running.ThreadKey)
	for _, j := range []*job.Job{running, waiting} {
		before := b.read(t, j.ID)
		postpone(j.ID)
		wantEqual(t, "job", b.read(t, j.ID), before)
	}
	b.wantDueAt(t, running.ID, b.now.Add(lease))
	b.wantNotDue(t, waiting.ID)
	b.finish(t, f)
	postpone(running.ID)
	b.wantNotDue(t, running.ID)

	absent := uuid.NewString()
	postpone(absent)
	_, err := b.Store.ReadJob(t.Context(), absent)
	wantErr(t, err, job.ErrNotFound)
	b.wantNotDue(t, absent)
}
