package storetest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"

	"bailing/shared/job"
	"bailing/shared/jobrun"
	"bailing/shared/model"
	"bailing/shared/toolcall"
)

var reruns = []promise{
	{"an ended job is queued again as if it were new", requeued},
	{"a job that is queued again waits behind the head of its thread", requeuedBehind},
	{"a rejected job is queued like any other", requeuedRejected},
	{"a job is queued again once", requeuedOnce},
	{"a job with an open call keeps it when it is queued again", requeuedOpen},
	{"a thread that moved keeps a job from being queued again", notRequeuedMoved},
	{"rounds of an earlier run are not those of the next", roundsOfThisRun},
	{"the journal outlives a rerun", journalOutlivesRerun},
	{"every end has a number of its own", endsAreNumbered},
}

// rerun queues an ended job again, in its thread as that is.
func (b *bundle) rerun(t *testing.T, id string, at time.Time) job.RerunView {
	t.Helper()
	v, err := b.Store.ReadRerun(t.Context(), id)
	must(t, err)
	if v.Job.Head = v.Thread.Head == ""; v.Job.Head {
		v.Thread.Head = id
	} else {
		v.Thread.Waiting = append(v.Thread.Waiting, id)
	}
	must(t, b.Store.RequeueJob(t.Context(), v, at, b.event("rerun")))
	return v
}

func (b *bundle) fail(t *testing.T, f job.Fence) {
	t.Helper()
	o := job.Outcome{Status: job.Failed, Error: "no", Result: json.RawMessage(`{"text":"t"}`), Usage: json.RawMessage(`{"tokens":1}`), Now: b.now}
	_, err := b.Store.FinishJob(t.Context(), f, o, b.event("finished"))
	must(t, err)
}

func requeued(t *testing.T, b *bundle) {
	want, f := b.running(t)
	must(t, b.Store.ReleaseJob(t.Context(), f, job.Release{Attempts: 1, Recovered: true, Now: b.now}, b.event("recovered")))
	b.fail(t, b.claim(t, want.ID))
	v, err := b.Store.ReadRerun(t.Context(), want.ID)
	must(t, err)
	if v.Ends != 1 || v.Job.Status != job.Failed || v.Thread.InFlight() != 0 {
		t.Fatalf("read %+v", v)
	}
	at := b.now.Add(time.Hour)
	b.rerun(t, want.ID, at)
	want.Continued = true
	want.Claim, want.SinceClaim, want.ClaimedAt, want.QueuedAt, want.UpdatedAt, want.Head = 2, 2, b.now, at, at, true
	wantEqual(t, "job", b.read(t, want.ID), want)
	wantEqual(t, "head", b.thread(t, want.ThreadKey).Head, want.ID)
	wantEqual(t, "audit", b.audit(t, want.ID), []string{"finished", "received", "recovered", "rerun"})
	if f := b.claim(t, want.ID); f.Claim != 3 {
		t.Fatalf("claim %d", f.Claim)
	}
	_, err = b.Store.ReadRerun(t.Context(), uuid.NewString())
	wantErr(t, err, job.ErrNotFound)
}

func requeuedBehind(t *testing.T, b *bundle) {
	first, f := b.running(t)
	second := b.launch(t, first.ThreadKey)
	b.finish(t, f)
	b.rerun(t, first.ID, b.now)
	wantEqual(t, "waiting", b.thread(t, first.ThreadKey).Waiting, []string{first.ID})
	_, err := b.Store.ClaimJob(t.Context(), first.ID, "w", b.now, b.now.Add(lease))
	wantErr(t, err, job.ErrNotClaimable)
	next := b.finish(t, b.claim(t, second.ID))
	wantEqual(t, "next", next, &job.NextHead{ID: first.ID, Kind: first.Snapshot.TargetKind})
	b.claim(t, first.ID)
}

func requeuedRejected(t *testing.T, b *bundle) {
	j := b.draft()
	j.Status, j.Error = job.Rejected, job.ReasonThreadQuota
	must(t, b.Store.CreateJob(t.Context(), j, entry(j), job.Thread{Key: j.ThreadKey}, b.event("rejected")))
	if v := b.rerun(t, j.ID, b.now); v.Ends != 0 {
		t.Fatalf("ends %d", v.Ends)
	}
	b.finish(t, b.claim(t, j.ID))
	v, err := b.Store.ReadRerun(t.Context(), j.ID)
	must(t, err)
	wantEqual(t, "ends", v.Ends, 1)
}

func requeuedOnce(t *testing.T, b *bundle) {
	j, f := b.running(t)
	b.finish(t, f)
	v := b.rerun(t, j.ID, b.now)
	before, thread := b.read(t, j.ID), b.thread(t, j.ThreadKey)
	again := func() {
		t.Helper()
		v.Thread.Version = b.thread(t, j.ThreadKey).Version // the thread is no reason
		wantErr(t, b.Store.RequeueJob(t.Context(), v, b.now, b.event("again")), job.ErrMoved)
	}
	again()
	wantEqual(t, "job", b.read(t, j.ID), before)
	wantEqual(t, "thread", b.thread(t, j.ThreadKey), thread)
	b.finish(t, b.claim(t, j.ID)) // the same state, one end later
	again()
	wantEqual(t, "status", b.read(t, j.ID).Status, job.Done)
}

func requeuedOpen(t *testing.T, b *bundle) {
	j, f := b.running(t)
	must(t, b.Store.Reserve(t.Context(), f, b.entry(f, "h"), nil, b.event("tool_call")))
	b.fail(t, f)
	v, err := b.Store.ReadRerun(t.Context(), j.ID)
	must(t, err)
	if v.Job.Open == nil {
		t.Fatal("the open call is not reported")
	}
	v.Job.Head, v.Thread.Head = true, j.ID
	must(t, b.Store.RequeueJob(t.Context(), v, b.now, b.event("rerun")))
	if got := b.read(t, j.ID); got.Status != job.Queued {
		t.Fatalf("status %s", got.Status)
	}
	again, err := b.Store.ReadRerun(t.Context(), j.ID)
	must(t, err)
	if again.Job.Open == nil {
		t.Fatal("the next run does not know of the open call")
	}
}

func notRequeuedMoved(t *testing.T, b *bundle) {
	j, f := b.running(t)
	b.finish(t, f)
	v, err := b.Store.ReadRerun(t.Context(), j.ID)
	must(t, err)
	joined := b.launch(t, j.ThreadKey)
	v.Job.Head, v.Thread.Head = true, j.ID
	wantErr(t, b.Store.RequeueJob(t.Context(), v, b.now, b.event("rerun")), job.ErrMoved)
	wantEqual(t, "head", b.thread(t, j.ThreadKey).Head, joined.ID)
	wantEqual(t, "status", b.read(t, j.ID).Status, job.Done)
}

func roundsOfThisRun(t *testing.T, b *bundle) {
	j, f := b.running(t)
	save := func(f job.Fence, n int, text string) jobrun.Round {
		t.Helper()
		r := jobrun.Round{Number: n, Message: model.Message{Content: text}}
		must(t, b.Store.SaveRound(t.Context(), f, r, b.event("round-"+text)))
		rec := toolcall.Record{Round: n, Outcome: toolcall.Outcome{Text: text}}
		must(t, b.Store.CompleteCall(t.Context(), f, rec, b.event("call-"+text)))
		r.Calls = map[int]toolcall.Record{0: rec}
		return r
	}
	load := func(want ...jobrun.Round) {
		t.Helper()
		got, err := b.Store.LoadRounds(t.Context(), j.ID)
		must(t, err)
		wantEqual(t, "rounds", got, want)
	}
	first, second := save(f, 1, "first"), save(f, 2, "second")
	load(first, second)
	b.finish(t, f)
	load(first, second) // until it is queued again
	b.rerun(t, j.ID, b.now)
	load()
	f = b.claim(t, j.ID)
	load()
	third := save(f, 1, "third")
	load(third)
	must(t, b.Store.ReleaseJob(t.Context(), f, job.Release{Recovered: true, Now: b.now}, b.event("recovered")))
	f = b.claim(t, j.ID)
	load(third, save(f, 2, "fourth")) // the worker was lost, not the run
}

// I1: what was done once is on record for every later run.
func journalOutlivesRerun(t *testing.T, b *bundle) {
	j, f := b.running(t)
	e := b.entry(f, "h")
	must(t, b.Store.Reserve(t.Context(), f, e, nil, b.event("tool_call")))
	e.State = toolcall.Completed
	must(t, b.Store.CompleteReserved(t.Context(), f, e, toolcall.Record{Round: 1, Tool: e.Tool, Outcome: toolcall.Outcome{OK: true, Text: "once"}}, b.event("tool_result")))
	b.finish(t, f)
	b.rerun(t, j.ID, b.now)
	f = b.claim(t, j.ID)
	view, err := b.Store.ReadCall(t.Context(), toolcall.Keys{Route: "orders", Provider: "shop", Tool: e.Tool, JobID: j.ID, ArgsHash: e.ArgsHash})
	must(t, err)
	if view.Entry == nil || view.Entry.State != toolcall.Completed || view.Entry.Record.Outcome.Text != "once" {
		t.Fatalf("entry %+v", view.Entry)
	}
	e.State = toolcall.Dispatching
	wantErr(t, b.Store.Reserve(t.Context(), f, e, nil, b.event("again")), toolcall.ErrReserved)
}

func endsAreNumbered(t *testing.T, b *bundle) {
	j, f := b.running(t)
	for n := 1; n <= 3; n++ {
		ended, err := b.Store.FinishJob(t.Context(), f, job.Outcome{Status: job.Done, Result: json.RawMessage(`{}`), Now: b.now}, b.event("finished"))
		must(t, err)
		wantEqual(t, "told", ended.Outbox, []job.OutboxKey{{JobID: j.ID, Terminal: n, Target: job.ToCallback}})
		b.rerun(t, j.ID, b.now)
		f = b.claim(t, j.ID)
	}
	rows, err := b.Store.OutboxOf(t.Context(), j.ID)
	must(t, err)
	wantEqual(t, "rows", len(rows), 3)
}
