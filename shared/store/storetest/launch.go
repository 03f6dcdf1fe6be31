package storetest

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"bailing/shared/job"
)

var launches = []promise{
	{"a launch stores job, request id, thread and audit record", launchStores},
	{"a launch whose request id is taken changes nothing and names the winner", requestTaken},
	{"a launch into a thread that moved changes nothing and brings the thread", threadMoved},
	{"a taken request id is told before a moved thread", requestBeforeThread},
	{"a rejected job is stored and takes no place in its thread", rejected},
	{"of concurrent launches with one request id one wins and the others see it", oneRequest},
	{"concurrent launches into one thread all get a place", oneThread},
}

func launchStores(t *testing.T, b *bundle) {
	j := b.draft()
	want := job.Thread{Key: j.ThreadKey, Head: j.ID, SessionID: "remembered"}
	j.Head = true
	must(t, b.Store.CreateJob(t.Context(), j, entry(j), want, b.event("received")))

	wantEqual(t, "job", b.read(t, j.ID), j)
	want.Version = 1
	want.Waiting = []string{}
	got := b.thread(t, j.ThreadKey)
	got.Waiting = append([]string{}, got.Waiting...)
	wantEqual(t, "thread", got, want)
	wantEqual(t, "request", b.request(t, j.RequestID), &job.RequestEntry{RequestID: j.RequestID, JobID: j.ID, Owner: "shop", Fingerprint: "fp-" + j.ID})
	wantEqual(t, "audit", b.audit(t, j.ID), []string{"received"})
	status, _, err := b.Store.ReadReplay(t.Context(), j.ID, "none")
	must(t, err)
	wantEqual(t, "status", status, job.Queued)
}

func (b *bundle) request(t *testing.T, id string) *job.RequestEntry {
	t.Helper()
	v, err := b.Store.ReadLaunch(t.Context(), job.LaunchKeys{RequestID: id})
	must(t, err)
	return v.Request
}

// wantAbsent checks that a launch left nothing behind.
func (b *bundle) wantAbsent(t *testing.T, j *job.Job) {
	t.Helper()
	_, err := b.Store.ReadJob(t.Context(), j.ID)
	wantErr(t, err, job.ErrNotFound)
	wantEqual(t, "audit of a job that does not exist", b.audit(t, j.ID), []string{})
}

func requestTaken(t *testing.T, b *bundle) {
	winner := b.launch(t, "")
	loser := b.draft()
	loser.RequestID = winner.RequestID
	var taken *job.RequestTaken
	if err := b.create(t.Context(), loser, job.Thread{}); !errors.As(err, &taken) {
		t.Fatalf("err = %v, want RequestTaken", err)
	}
	wantEqual(t, "entry", taken.Entry, entry(winner))
	b.wantAbsent(t, loser)
	wantEqual(t, "version of the loser's thread", b.thread(t, loser.ThreadKey).Version, 0)
	wantEqual(t, "winner", b.read(t, winner.ID), winner)
}

func threadMoved(t *testing.T, b *bundle) {
	first := b.launch(t, "")
	b.launch(t, first.ThreadKey)
	now := b.thread(t, first.ThreadKey)
	for name, stale := range map[string]job.Thread{"read as new": {}, "read after the first": {Version: 1, Head: first.ID}, "read in a future": {Version: 7}} {
		late := b.draft()
		late.ThreadKey = first.ThreadKey
		var moved *job.ThreadMoved
		if err := b.create(t.Context(), late, stale); !errors.As(err, &moved) {
			t.Fatalf("%s: err = %v, want ThreadMoved", name, err)
		}
		wantEqual(t, "thread of the refusal", moved.Now, now)
		b.wantAbsent(t, late)
		wantEqual(t, "request entry", b.request(t, late.RequestID), nil)
	}
	wantEqual(t, "thread", b.thread(t, first.ThreadKey), now)
}

func requestBeforeThread(t *testing.T, b *bundle) {
	winner := b.launch(t, "")
	loser := b.draft()
	loser.RequestID, loser.ThreadKey = winner.RequestID, winner.ThreadKey
	var taken *job.RequestTaken
	if err := b.create(t.Context(), loser, job.Thread{}); !errors.As(err, &taken) {
		t.Fatalf("err = %v, want RequestTaken", err)
	}
}

func rejected(t *testing.T, b *bundle) {
	head := b.launch(t, "")
	before := b.thread(t, head.ThreadKey)
	j := b.draft()
	j.ThreadKey, j.Status, j.Error = head.ThreadKey, job.Rejected, job.ReasonThreadQuota
	// The thread is stale on purpose: a rejected job does not depend on it.
	must(t, b.Store.CreateJob(t.Context(), j, entry(j), job.Thread{Key: j.ThreadKey}, b.event("rejected")))
	wantEqual(t, "job", b.read(t, j.ID), j)
	wantEqual(t, "thread", b.thread(t, head.ThreadKey), before)
	wantEqual(t, "request entry", *b.request(t, j.RequestID), entry(j))
	_, err := b.Store.ClaimJob(t.Context(), j.ID, "w", b.now, b.now.Add(lease))
	wantErr(t, err, job.ErrNotClaimable)
}

func oneRequest(t *testing.T, b *bundle) {
	const n = 20
	drafts, errs := make([]*job.Job, n), make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		drafts[i] = b.draft()
		drafts[i].RequestID = drafts[0].RequestID
		wg.Go(func() { errs[i] = b.create(t.Context(), drafts[i], job.Thread{}) })
	}
	wg.Wait()
	winner := slices.Index(errs, nil)
	if winner < 0 {
		t.Fatalf("nobody won: %v", errs[0])
	}
	for i, err := range errs {
		var taken *job.RequestTaken
		switch {
		case i == winner:
		case !errors.As(err, &taken):
			t.Fatalf("err = %v, want RequestTaken", err)
		default:
			wantEqual(t, "entry", taken.Entry, entry(drafts[winner]))
			b.wantAbsent(t, drafts[i])
		}
	}
	b.read(t, drafts[winner].ID)
}

func oneThread(t *testing.T, b *bundle) {
	const n = 10
	drafts, errs := make([]*job.Job, n), make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		drafts[i] = b.draft()
		drafts[i].ThreadKey = drafts[0].ThreadKey
		wg.Go(func() { errs[i] = b.join(t.Context(), drafts[i]) })
	}
	wg.Wait()
	must(t, errors.Join(errs...))
	thread := b.thread(t, drafts[0].ThreadKey)
	wantEqual(t, "version", thread.Version, n)
	placed := append([]string{thread.Head}, thread.Waiting...)
	for _, j := range drafts {
		if !slices.Contains(placed, j.ID) {
			t.Errorf("job %s has no place", j.ID)
		}
		wantEqual(t, "head", b.read(t, j.ID).Head, j.ID == thread.Head)
	}
	wantEqual(t, "places", len(placed), n)
}
