package storetest

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"bailing/shared/job"
	"bailing/shared/jobrun"
	"bailing/shared/model"
	"bailing/shared/toolcall"
)

var claims = []promise{
	{"a claim returns the whole job, running", claimReturns},
	{"of twenty workers one claims", oneClaim},
	{"a claim repeated by the same worker returns the job again", claimRepeated},
	{"only a queued head that is due is claimed", claimable},
	{"a claim number only rises", claimRises},
	{"a worker that lost its claim writes nothing", fences},
	{"a released job is queued again at once", released},
	{"a released job waits for its time", releasedLater},
}

func claimReturns(t *testing.T, b *bundle) {
	want := b.launch(t, "")
	at := b.now.Add(time.Second)
	got, err := b.Store.ClaimJob(t.Context(), want.ID, "worker", at, at.Add(lease))
	must(t, err)
	want.Status, want.Claim, want.Worker = job.Running, 1, "worker"
	want.ClaimedAt, want.UpdatedAt, want.LeaseUntil = at, at, at.Add(lease)
	wantEqual(t, "claimed", got, want)
	wantEqual(t, "stored", b.read(t, want.ID), want)
}

func oneClaim(t *testing.T, b *bundle) {
	j := b.launch(t, "")
	const n = 20
	jobs, errs := make([]*job.Job, n), make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			jobs[i], errs[i] = b.Store.ClaimJob(t.Context(), j.ID, uuid.NewString(), b.now, b.now.Add(lease))
		})
	}
	wg.Wait()
	won := 0
	for i, err := range errs {
		if err == nil {
			won++
			wantEqual(t, "holder", b.read(t, j.ID).Worker, jobs[i].Worker)
			continue
		}
		wantErr(t, err, job.ErrNotClaimable)
	}
	wantEqual(t, "winners", won, 1)
	wantEqual(t, "claim", b.read(t, j.ID).Claim, 1)
}

// A worker that lost the answer to its claim asks again with the same name.
func claimRepeated(t *testing.T, b *bundle) {
	j := b.launch(t, "")
	first, err := b.Store.ClaimJob(t.Context(), j.ID, "w", b.now, b.now.Add(lease))
	must(t, err)
	again, err := b.Store.ClaimJob(t.Context(), j.ID, "w", b.now.Add(time.Second), b.now.Add(lease+time.Second))
	must(t, err)
	wantEqual(t, "claimed again", again, first)
	_, err = b.Store.ClaimJob(t.Context(), j.ID, "another", b.now, b.now.Add(lease))
	wantErr(t, err, job.ErrNotClaimable)

	b.finish(t, job.Fence{JobID: j.ID, Claim: first.Claim})
	_, err = b.Store.ClaimJob(t.Context(), j.ID, "w", b.now, b.now.Add(lease))
	wantErr(t, err, job.ErrNotClaimable)
}

func claimable(t *testing.T, b *bundle) {
	try := func(id string, at time.Time) error {
		_, err := b.Store.ClaimJob(t.Context(), id, uuid.NewString(), at, at.Add(lease))
		return err
	}
	wantErr(t, try(uuid.NewString(), b.now), job.ErrNotClaimable)

	head := b.launch(t, "")
	waiting := b.launch(t, head.ThreadKey)
	wantErr(t, try(waiting.ID, b.now), job.ErrNotClaimable)

	f := b.claim(t, head.ID)
	due := b.now.Add(time.Minute)
	must(t, b.Store.ReleaseJob(t.Context(), f, job.Release{RunAfter: due, Now: b.now}, b.event("released")))
	wantErr(t, try(head.ID, due.Add(-time.Millisecond)), job.ErrNotClaimable)
	must(t, try(head.ID, due))

	b.finish(t, job.Fence{JobID: head.ID, Claim: 2})
	wantErr(t, try(head.ID, due), job.ErrNotClaimable)
	must(t, try(waiting.ID, b.now))
}

func claimRises(t *testing.T, b *bundle) {
	j := b.launch(t, "")
	for want := range int64(3) {
		f := b.claim(t, j.ID)
		wantEqual(t, "claim", f.Claim, want+1)
		must(t, b.Store.ReleaseJob(t.Context(), f, job.Release{Now: b.now}, b.event("released")))
	}
	wantEqual(t, "claim while queued", b.read(t, j.ID).Claim, 3)
}

func fences(t *testing.T, b *bundle) {
	type state struct {
		name string
		id   string
		lost job.Fence
	}
	taken, lost := b.running(t)
	must(t, b.Store.ReleaseJob(t.Context(), lost, job.Release{Now: b.now}, b.event("released")))
	b.claim(t, taken.ID)
	queued, back := b.running(t)
	must(t, b.Store.ReleaseJob(t.Context(), back, job.Release{Now: b.now}, b.event("released")))
	ended, over := b.running(t)
	b.finish(t, over)
	ahead, held := b.running(t)
	held.Claim++
	for _, s := range []state{
		{"taken by another worker", taken.ID, lost},
		{"queued again", queued.ID, back},
		{"ended", ended.ID, over},
		{"a claim that was never given", ahead.ID, held},
	} {
		before, thread, audit := b.read(t, s.id), b.thread(t, b.read(t, s.id).ThreadKey), b.audit(t, s.id)
		for name, err := range b.fencedWrites(t, s.lost) {
			if !errors.Is(err, job.ErrLostClaim) {
				t.Errorf("%s: %s: err = %v, want ErrLostClaim", s.name, name, err)
			}
		}
		wantEqual(t, s.name+": job", b.read(t, s.id), before)
		wantEqual(t, s.name+": thread", b.thread(t, before.ThreadKey), thread)
		wantEqual(t, s.name+": audit", b.audit(t, s.id), audit)
		rounds, err := b.Store.LoadRounds(t.Context(), s.id)
		must(t, err)
		wantEqual(t, s.name+": rounds", len(rounds), 0)
	}
	for name, err := range b.fencedWrites(t, job.Fence{JobID: uuid.NewString(), Claim: 1}) {
		if !errors.Is(err, job.ErrLostClaim) {
			t.Errorf("absent job: %s: err = %v, want ErrLostClaim", name, err)
		}
	}
}

// fencedWrites tries every write that a worker makes.
func (b *bundle) fencedWrites(t *testing.T, f job.Fence) map[string]error {
	ctx, ev := t.Context(), b.event("late")
	_, finish := b.Store.FinishJob(ctx, f, job.Outcome{Status: job.Done, Now: b.now}, ev)
	return map[string]error{
		"SaveRound":    b.Store.SaveRound(ctx, f, jobrun.Round{Number: 1, Message: model.Message{Content: "late"}}, ev),
		"BeginCall":    b.Store.BeginCall(ctx, f, nil, ev),
		"CompleteCall": b.Store.CompleteCall(ctx, f, toolcall.Record{Round: 1}, ev),
		"ReleaseJob":   b.Store.ReleaseJob(ctx, f, job.Release{Now: b.now}, ev),
		"FinishJob":    finish,
	}
}

func released(t *testing.T, b *bundle) {
	want, f := b.running(t)
	at := b.now.Add(time.Second)
	must(t, b.Store.ReleaseJob(t.Context(), f, job.Release{Recovered: true, Now: at}, b.event("recovered")))
	want.Status, want.Claim, want.Recoveries = job.Queued, 1, 1
	want.ClaimedAt, want.UpdatedAt, want.QueuedAt = b.now, at, at
	wantEqual(t, "job", b.read(t, want.ID), want)
	wantEqual(t, "audit", b.audit(t, want.ID), []string{"received", "recovered"})
}

func releasedLater(t *testing.T, b *bundle) {
	want, f := b.running(t)
	at := b.now.Add(time.Second)
	start := at.Add(time.Minute)
	must(t, b.Store.ReleaseJob(t.Context(), f, job.Release{RunAfter: start, Attempts: 1, Now: at}, b.event("retry")))
	want.Status, want.Claim, want.Attempts, want.RunAfter = job.Queued, 1, 1, start
	want.ClaimedAt, want.UpdatedAt, want.QueuedAt = b.now, at, start
	wantEqual(t, "job", b.read(t, want.ID), want)
	// The next claim starts afresh.
	got, err := b.Store.ClaimJob(t.Context(), want.ID, "w", start, start.Add(lease))
	must(t, err)
	if !got.RunAfter.IsZero() || got.Attempts != 1 || got.Recoveries != 0 {
		t.Fatalf("claimed %+v", got)
	}
}
