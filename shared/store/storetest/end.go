package storetest

import (
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"bailing/shared/job"
)

var endings = []promise{
	{"finishing an only job empties its thread", finishAlone},
	{"finishing makes the next job head, in the order of joining", finishInOrder},
	{"a job that joins while the head finishes is never stranded", finishRace},
	{"a job finishes once", finishOnce},
	{"a failed job keeps its error", finishFailed},
	{"a queued head expires", expires},
	{"a job that was taken, queued again or waits does not expire", notExpired},
}

func finishAlone(t *testing.T, b *bundle) {
	want, f := b.running(t)
	at := b.now.Add(time.Second)
	o := job.Outcome{Status: job.Done, Result: json.RawMessage(`{"text":"<done>"}`), Usage: json.RawMessage(`{"num_turns":1}`), Now: at}
	next, err := b.Store.FinishJob(t.Context(), f, o, b.event("finished"))
	must(t, err)
	wantEqual(t, "next", next.Next, nil)
	want.Status, want.Claim, want.Head, want.ClaimedAt, want.UpdatedAt = job.Done, 1, false, b.now, at
	want.Result, want.Usage = o.Result, o.Usage
	wantEqual(t, "job", b.read(t, want.ID), want)
	thread := b.thread(t, want.ThreadKey)
	if thread.InFlight() != 0 || thread.Version != 2 {
		t.Fatalf("thread %+v, want it empty at version 2", thread)
	}
	wantEqual(t, "audit", b.audit(t, want.ID), []string{"finished", "received"}) // of one millisecond: by id
	b.launch(t, want.ThreadKey)                                                  // the thread goes on
}

func finishInOrder(t *testing.T, b *bundle) {
	first := b.launch(t, "")
	second, third := b.launch(t, first.ThreadKey), b.launch(t, first.ThreadKey)
	wantEqual(t, "waiting", b.thread(t, first.ThreadKey).Waiting, []string{second.ID, third.ID})

	f, at := b.claim(t, first.ID), b.now.Add(time.Hour)
	next, err := b.Store.FinishJob(t.Context(), f, job.Outcome{Status: job.Done, Now: at}, b.event("finished"))
	must(t, err)
	wantEqual(t, "next", next.Next, &job.NextHead{ID: second.ID, Kind: second.Snapshot.TargetKind})
	second.Head, second.QueuedAt, second.UpdatedAt = true, at, at // its queue timeout counts from becoming head
	wantEqual(t, "stored next", b.read(t, second.ID), second)
	wantEqual(t, "head of the third", b.read(t, third.ID).Head, false)

	wantEqual(t, "next after the second", b.finish(t, b.claim(t, second.ID)).ID, third.ID)
	wantEqual(t, "next after the third", b.finish(t, b.claim(t, third.ID)), nil)
	wantEqual(t, "in flight", b.thread(t, first.ThreadKey).InFlight(), 0)
}

func finishRace(t *testing.T, b *bundle) {
	head := b.launch(t, "")
	for range 12 {
		f, joining := b.claim(t, head.ID), b.draft()
		joining.ThreadKey = head.ThreadKey
		var next *job.NextHead
		var finished, joined error
		var wg sync.WaitGroup
		wg.Go(func() {
			var ended job.Ended
			ended, finished = b.Store.FinishJob(t.Context(), f, job.Outcome{Status: job.Done, Now: b.now}, b.event("finished"))
			next = ended.Next
		})
		wg.Go(func() { joined = b.join(t.Context(), joining) })
		wg.Wait()
		must(t, errors.Join(finished, joined))
		// Either the job waited and was made head, or it found the thread empty. Both ways it is the head now.
		if next != nil {
			wantEqual(t, "next", next.ID, joining.ID)
		}
		wantEqual(t, "head", b.thread(t, head.ThreadKey).Head, joining.ID)
		wantEqual(t, "joined job is head", b.read(t, joining.ID).Head, true)
		head = joining
	}
}

func finishOnce(t *testing.T, b *bundle) {
	first, f := b.running(t)
	second := b.launch(t, first.ThreadKey)
	b.finish(t, f)
	before := b.thread(t, first.ThreadKey)
	_, err := b.Store.FinishJob(t.Context(), f, job.Outcome{Status: job.Failed, Error: "again", Now: b.now}, b.event("again"))
	wantErr(t, err, job.ErrLostClaim)
	wantEqual(t, "status", b.read(t, first.ID).Status, job.Done)
	wantEqual(t, "thread", b.thread(t, first.ThreadKey), before)
	wantEqual(t, "head", before.Head, second.ID)
}

func finishFailed(t *testing.T, b *bundle) {
	j, f := b.running(t)
	o := job.Outcome{Status: job.Failed, Error: "the model said no", Result: json.RawMessage(`{}`), Now: b.now}
	_, err := b.Store.FinishJob(t.Context(), f, o, b.event("finished"))
	must(t, err)
	got := b.read(t, j.ID)
	if got.Status != job.Failed || got.Error != o.Error || string(got.Result) != `{}` || got.Usage != nil {
		t.Fatalf("job %+v", got)
	}
}

func expires(t *testing.T, b *bundle) {
	j := b.launch(t, "")
	waiting := b.launch(t, j.ThreadKey)
	o := job.Outcome{Status: job.Failed, Error: job.ReasonQueueTimeout, Result: json.RawMessage(`{}`), Now: b.now.Add(time.Hour)}
	next, err := b.Store.ExpireJob(t.Context(), j.ID, j.QueuedAt, o, b.event("expired"))
	must(t, err)
	wantEqual(t, "next", next.Next.ID, waiting.ID)
	got := b.read(t, j.ID)
	if got.Status != job.Failed || got.Error != job.ReasonQueueTimeout || got.Head {
		t.Fatalf("job %+v", got)
	}
	b.claim(t, waiting.ID)
}

func notExpired(t *testing.T, b *bundle) {
	expire := func(id string, queued time.Time) {
		t.Helper()
		before := b.read(t, id)
		thread := b.thread(t, before.ThreadKey)
		o := job.Outcome{Status: job.Failed, Error: job.ReasonQueueTimeout, Now: b.now}
		_, err := b.Store.ExpireJob(t.Context(), id, queued, o, b.event("expired"))
		wantErr(t, err, job.ErrNotClaimable)
		wantEqual(t, "job", b.read(t, id), before)
		wantEqual(t, "thread", b.thread(t, before.ThreadKey), thread)
	}
	running, f := b.running(t)
	expire(running.ID, running.QueuedAt)
	at := b.now.Add(time.Minute)
	must(t, b.Store.ReleaseJob(t.Context(), f, job.Release{Now: at}, b.event("released")))
	expire(running.ID, running.QueuedAt) // of an earlier queueing
	waiting := b.launch(t, running.ThreadKey)
	expire(waiting.ID, waiting.QueuedAt)
	done, f := b.running(t)
	b.finish(t, f)
	expire(done.ID, done.QueuedAt)

	_, err := b.Store.ExpireJob(t.Context(), uuid.NewString(), b.now, job.Outcome{Status: job.Failed, Now: b.now}, b.event("expired"))
	wantErr(t, err, job.ErrNotClaimable)
}
