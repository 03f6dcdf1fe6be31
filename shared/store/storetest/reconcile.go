package storetest

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"bailing/shared/clock"
	"bailing/shared/job"
	"bailing/shared/toolcall"
)

var reconciliations = []promise{
	{"a call with which a job ended is listed until it is closed", unresolvedListed},
	{"a call is listed however its job ended", unresolvedAnyEnd},
	{"a call that is under way is neither listed nor closed", underWay},
	{"a call of a job that is queued again is listed and can be closed", unresolvedQueued},
	{"unresolved calls come in pages, the latest first", unresolvedPages},
	{"a closed call stays closed, whatever a late worker stores", closedForLateWorkers},
	{"of many closings one is stored", closedOnce},
	{"closing and rerun leave a job that goes on or is closed", closedBesideRerun},
	{"closing beside a worker that completes is one of the two", closedBesideWorker},
	{"an end whose job opened a call meanwhile lists it", endBesideReserve},
}

// frozen is a job that ended with an open call, reserved at the time.
func (b *bundle) frozen(t *testing.T, at time.Time) toolcall.Entry {
	t.Helper()
	_, f := b.running(t)
	e := b.entry(f, "h1")
	e.CreatedAt = at
	must(t, b.Store.Reserve(t.Context(), f, e, nil, b.event("tool_call")))
	e.State, e.Reason, e.Provider = toolcall.Uncertain, "timeout", "shop"
	e.Evidence = &toolcall.Evidence{Phase: "headers", Connected: true, Sent: true, Timeout: true}
	must(t, b.Store.MarkUncertain(t.Context(), f, e, record(""), b.event("uncertain")))
	b.fail(t, f)
	return e
}

// listed is what the list shows of these jobs; a store may have others.
func (b *bundle) listed(t *testing.T, jobIDs ...string) []toolcall.Reconciliation {
	t.Helper()
	if b.Settle != nil {
		b.Settle()
	}
	found := []toolcall.Reconciliation{}
	for after := job.Cursor(""); ; {
		page, err := b.Store.ListUnresolved(t.Context(), 50, after)
		must(t, err)
		for _, r := range page.Items {
			if slices.Contains(jobIDs, r.Entry.JobID) {
				found = append(found, r)
			}
		}
		if after = page.Next; after == "" {
			return found
		}
	}
}

func (b *bundle) unresolved(t *testing.T, e toolcall.Entry) *toolcall.Reconciliation {
	t.Helper()
	found, err := b.Store.ReadReconciliation(t.Context(), e.JobID, e.IdempotencyKey)
	must(t, err)
	return found
}

func closed(e toolcall.Entry, finding toolcall.Finding, at time.Time) toolcall.Entry {
	e.State = toolcall.ClosedNotHappened
	e.Closing = &toolcall.Closing{Finding: finding, Reason: "looked", By: "jo", At: at}
	if finding == toolcall.Happened {
		e.State, e.Closing.Status = toolcall.ClosedHappened, 201
	}
	e.UpdatedAt = at
	return e
}

func unresolvedListed(t *testing.T, b *bundle) {
	e := b.frozen(t, b.now)
	want := toolcall.Reconciliation{Entry: e, JobStatus: job.Failed}
	ids := []string{e.JobID}
	wantEqual(t, "list", b.listed(t, ids...), []toolcall.Reconciliation{want})
	wantEqual(t, "one", b.unresolved(t, e), &want)
	for _, finding := range []toolcall.Finding{toolcall.Happened, toolcall.NotHappened} {
		e := b.frozen(t, b.now)
		ids = append(ids, e.JobID)
		done := closed(e, finding, b.now.Add(time.Minute))
		must(t, b.Store.CloseCall(t.Context(), done, b.event("closed")))
		wantEqual(t, "closed", b.unresolved(t, e), &toolcall.Reconciliation{Entry: done, JobStatus: job.Failed})
		wantEqual(t, "entry", b.view(t, e.JobID, "h1").Entry, &done)
		wantEqual(t, "open call", b.read(t, e.JobID).Open, nil)
		wantEqual(t, "status", b.read(t, e.JobID).Status, job.Failed)
		wantEqual(t, "audit", b.audit(t, e.JobID), []string{"closed", "finished", "received", "tool_call", "uncertain"})
		wantErr(t, b.Store.CloseCall(t.Context(), done, b.event("again")), toolcall.ErrCloseMoved)
	}
	wantEqual(t, "list", b.listed(t, ids...), []toolcall.Reconciliation{want})
	none, err := b.Store.ReadReconciliation(t.Context(), e.JobID, "other")
	must(t, err)
	wantEqual(t, "another key", none, nil)
	none, err = b.Store.ReadReconciliation(t.Context(), uuid.NewString(), e.IdempotencyKey)
	must(t, err)
	wantEqual(t, "another job", none, nil)
}

func unresolvedAnyEnd(t *testing.T, b *bundle) {
	_, f := b.running(t) // its worker is lost, and another one ends it
	lost := b.entry(f, "h1")
	must(t, b.Store.Reserve(t.Context(), f, lost, nil, b.event("tool_call")))
	must(t, b.Store.ReleaseJob(t.Context(), f, job.Release{Recovered: true, Now: b.now}, b.event("recovered")))
	b.fail(t, b.claim(t, f.JobID))
	_, f = b.running(t) // nobody takes it again
	expired := b.entry(f, "h1")
	expired.CreatedAt = b.now.Add(-time.Second)
	must(t, b.Store.Reserve(t.Context(), f, expired, nil, b.event("tool_call")))
	must(t, b.Store.ReleaseJob(t.Context(), f, job.Release{Recovered: true, Now: b.now}, b.event("recovered")))
	end := job.Outcome{Status: job.Failed, Error: "no", Now: b.now}
	_, err := b.Store.ExpireJob(t.Context(), f.JobID, b.now, end, b.event("expired"))
	must(t, err)
	wantEqual(t, "list", b.listed(t, lost.JobID, expired.JobID), []toolcall.Reconciliation{
		{Entry: lost, JobStatus: job.Failed}, {Entry: expired, JobStatus: job.Failed},
	})
}

func underWay(t *testing.T, b *bundle) {
	_, f := b.running(t)
	e := b.entry(f, "h1")
	must(t, b.Store.Reserve(t.Context(), f, e, nil, b.event("tool_call")))
	still := func(status job.Status) {
		t.Helper()
		wantEqual(t, "list", b.listed(t, e.JobID), []toolcall.Reconciliation{})
		wantEqual(t, "one", b.unresolved(t, e), &toolcall.Reconciliation{Entry: e, JobStatus: status, UnderWay: true})
		wantErr(t, b.Store.CloseCall(t.Context(), closed(e, toolcall.Happened, b.now), b.event("closed")), toolcall.ErrCloseMoved)
	}
	still(job.Running)
	must(t, b.Store.ReleaseJob(t.Context(), f, job.Release{Recovered: true, Now: b.now}, b.event("recovered")))
	still(job.Queued)
	_, f = b.running(t)
	e = b.entry(f, "h1")
	must(t, b.Store.Reserve(t.Context(), f, e, nil, b.event("tool_call")))
	answered := e
	answered.State = toolcall.Completed
	must(t, b.Store.CompleteReserved(t.Context(), f, answered, record("x"), b.event("tool_result")))
	b.finish(t, f)
	wantEqual(t, "list", b.listed(t, e.JobID), []toolcall.Reconciliation{})
	wantEqual(t, "a completed call", b.unresolved(t, e), nil)
}

func unresolvedQueued(t *testing.T, b *bundle) {
	e := b.frozen(t, b.now)
	b.rerun(t, e.JobID, b.now)
	wantEqual(t, "list", b.listed(t, e.JobID), []toolcall.Reconciliation{{Entry: e, JobStatus: job.Queued}})
	f := b.claim(t, e.JobID)
	wantEqual(t, "list", b.listed(t, e.JobID), []toolcall.Reconciliation{{Entry: e, JobStatus: job.Running, UnderWay: true}})
	wantErr(t, b.Store.CloseCall(t.Context(), closed(e, toolcall.Happened, b.now), b.event("closed")), toolcall.ErrCloseMoved)
	b.fail(t, f)
	b.rerun(t, e.JobID, b.now)
	must(t, b.Store.CloseCall(t.Context(), closed(e, toolcall.Happened, b.now), b.event("closed")))
	wantEqual(t, "list", b.listed(t, e.JobID), []toolcall.Reconciliation{})
	f = b.claim(t, e.JobID)
	wantEqual(t, "open call", b.read(t, e.JobID).Open, nil)
	b.finish(t, f)
	wantEqual(t, "list", b.listed(t, e.JobID), []toolcall.Reconciliation{})
}

func unresolvedPages(t *testing.T, b *bundle) {
	var want []string
	for i := range 5 {
		want = append(want, b.frozen(t, b.now.Add(time.Duration(i)*time.Millisecond)).JobID)
	}
	slices.Reverse(want)
	wantEqual(t, "calls", len(b.listed(t, want...)), len(want))
	for _, limit := range []int{1, 2, 5, 200} {
		var got []string
		for after := job.Cursor(""); ; {
			page, err := b.Store.ListUnresolved(t.Context(), limit, after)
			must(t, err)
			for _, r := range page.Items {
				if slices.Contains(want, r.Entry.JobID) {
					got = append(got, r.Entry.JobID)
				}
			}
			if after = page.Next; after == "" {
				break
			}
			if _, err := job.ParseCursor(string(after)); err != nil || len(page.Items) > limit {
				t.Fatalf("%d items, then %q", len(page.Items), after)
			}
		}
		wantEqual(t, "jobs", got, want)
	}
}

func closedForLateWorkers(t *testing.T, b *bundle) {
	e := b.frozen(t, b.now)
	done := closed(e, toolcall.NotHappened, b.now)
	must(t, b.Store.CloseCall(t.Context(), done, b.event("closed")))
	late := func() {
		t.Helper()
		f := job.Fence{JobID: e.JobID, Claim: e.Claim}
		wantErr(t, b.Store.CompleteReserved(t.Context(), f, e, record("late"), b.event("late")), job.ErrLostClaim)
		wantErr(t, b.Store.MarkUncertain(t.Context(), f, e, record("late"), b.event("late")), job.ErrLostClaim)
		wantEqual(t, "entry", b.view(t, e.JobID, "h1").Entry, &done)
	}
	late()
	b.rerun(t, e.JobID, b.now)
	next := b.claim(t, e.JobID)
	late()
	wantErr(t, b.Store.Reserve(t.Context(), next, b.entry(next, "h1"), nil, b.event("again")), toolcall.ErrReserved)
	wantErr(t, b.Store.CompleteReserved(t.Context(), next, e, record("late"), b.event("late")), toolcall.ErrNotOpen)
	must(t, b.Store.Reserve(t.Context(), next, b.entry(next, "h2"), nil, b.event("other")))
}

// rounds of the races below.
const raceRounds = 100

func closedOnce(t *testing.T, b *bundle) {
	r := &toolcall.Reconciler{Store: b.Store, Clock: clock.NewManual(b.now)}
	var ids []string
	for range raceRounds {
		e := b.frozen(t, b.now)
		ids = append(ids, e.JobID)
		findings := []toolcall.Closing{
			{Finding: toolcall.Happened, Status: 201, Reason: "one", By: "a"}, {Finding: toolcall.Happened, Status: 201, Reason: "two", By: "b"},
			{Finding: toolcall.NotHappened, Reason: "three", By: "c"}, {Finding: toolcall.Happened, Reason: "four", By: "d"},
		}
		got := make([]*toolcall.Reconciliation, len(findings))
		errs := make([]error, len(findings))
		var wg sync.WaitGroup
		for i, c := range findings {
			wg.Go(func() { got[i], errs[i] = r.Close(t.Context(), e.JobID, e.IdempotencyKey, c) })
		}
		wg.Wait()
		first := b.unresolved(t, e).Entry.Closing
		for i, c := range findings {
			var otherwise *toolcall.ClosedOtherwise
			switch same := c.Finding == first.Finding && c.Status == first.Status; {
			case same && (errs[i] != nil || *got[i].Entry.Closing != *first):
				t.Fatalf("%+v got %+v, %v; the first is %+v", c, got[i], errs[i], first)
			case !same && (!errors.As(errs[i], &otherwise) || otherwise.First != *first):
				t.Fatalf("%+v got %v; the first is %+v", c, errs[i], first)
			}
		}
		if n := len(b.audit(t, e.JobID)); n != 5 {
			t.Fatalf("%d audit records, want one closing among 5", n)
		}
	}
	wantEqual(t, "list", b.listed(t, ids...), []toolcall.Reconciliation{})
}

// A rerun that is claimed, ends again and comes back; the closing finds it at rest, or is told that it is under way.
func closedBesideRerun(t *testing.T, b *bundle) {
	r := &toolcall.Reconciler{Store: b.Store, Clock: clock.NewManual(b.now)}
	var ids []string
	for range raceRounds {
		e := b.frozen(t, b.now)
		ids = append(ids, e.JobID)
		var wg sync.WaitGroup
		var err error
		var open *job.OpenCall
		wg.Go(func() {
			_, err = r.Close(t.Context(), e.JobID, e.IdempotencyKey, toolcall.Closing{Finding: toolcall.NotHappened, Reason: "r", By: "a"})
		})
		b.rerun(t, e.JobID, b.now)
		claimed, claimErr := b.Store.ClaimJob(t.Context(), e.JobID, uuid.NewString(), b.now, b.now.Add(lease))
		must(t, claimErr)
		open = claimed.Open
		f := job.Fence{JobID: e.JobID, Claim: claimed.Claim}
		if open == nil { // it goes on
			wantEqual(t, "entry", b.view(t, e.JobID, "h1").Entry.State, toolcall.ClosedNotHappened)
		}
		b.fail(t, f)
		wg.Wait()
		found := b.unresolved(t, e)
		switch {
		case err == nil && found.Entry.State == toolcall.ClosedNotHappened && b.read(t, e.JobID).Open == nil:
		case errors.Is(err, toolcall.ErrUnderWay) && open != nil && found.Entry.State == toolcall.Uncertain && !found.UnderWay:
			must(t, b.Store.CloseCall(t.Context(), closed(e, toolcall.Happened, b.now), b.event("closed")))
		default:
			t.Fatalf("closing: %v; claimed with %+v; now %+v", err, open, found)
		}
	}
	wantEqual(t, "list", b.listed(t, ids...), []toolcall.Reconciliation{})
}

func closedBesideWorker(t *testing.T, b *bundle) {
	r := &toolcall.Reconciler{Store: b.Store, Clock: clock.NewManual(b.now)}
	var ids []string
	for range raceRounds {
		_, f := b.running(t)
		e := b.entry(f, "h1")
		ids = append(ids, e.JobID)
		must(t, b.Store.Reserve(t.Context(), f, e, nil, b.event("tool_call")))
		var wg sync.WaitGroup
		var closing, completing error
		wg.Go(func() {
			_, closing = r.Close(t.Context(), e.JobID, e.IdempotencyKey, toolcall.Closing{Finding: toolcall.Happened, Reason: "r", By: "a"})
		})
		wg.Go(func() {
			answered := e
			answered.State = toolcall.Completed
			completing = b.Store.CompleteReserved(t.Context(), f, answered, record("late"), b.event("tool_result"))
		})
		// The sweeper takes the lost worker for dead and ends its job.
		_, err := b.Store.FinishJob(t.Context(), f, job.Outcome{Status: job.Failed, Error: "no", Now: b.now}, b.event("finished"))
		must(t, err)
		wg.Wait()
		view := b.view(t, e.JobID, "h1").Entry
		switch {
		case completing == nil && view.Record != nil && view.Closing == nil && closing != nil:
		case errors.Is(completing, job.ErrLostClaim) && closing == nil && view.Closing != nil && view.Record == nil:
		case errors.Is(completing, job.ErrLostClaim) && errors.Is(closing, toolcall.ErrUnderWay) && view.Closing == nil:
			must(t, b.Store.CloseCall(t.Context(), closed(e, toolcall.Happened, b.now), b.event("closed")))
		default:
			t.Fatalf("closing: %v, completing: %v, entry %+v", closing, completing, view)
		}
	}
	wantEqual(t, "list", b.listed(t, ids...), []toolcall.Reconciliation{})
}

// A worker that is taken for lost may reserve a call while its job is ended.
func endBesideReserve(t *testing.T, b *bundle) {
	for range raceRounds {
		_, f := b.running(t)
		e := b.entry(f, "h1")
		var wg sync.WaitGroup
		var reserving error
		wg.Go(func() { reserving = b.Store.Reserve(t.Context(), f, e, nil, b.event("tool_call")) })
		b.fail(t, f)
		wg.Wait()
		if reserving != nil {
			wantErr(t, reserving, job.ErrLostClaim)
			wantEqual(t, "entry", b.view(t, e.JobID, "h1").Entry, nil)
			continue
		}
		wantEqual(t, "list", b.listed(t, e.JobID), []toolcall.Reconciliation{{Entry: e, JobStatus: job.Failed}})
		must(t, b.Store.CloseCall(t.Context(), closed(e, toolcall.Happened, b.now), b.event("closed")))
		wantEqual(t, "list", b.listed(t, e.JobID), []toolcall.Reconciliation{})
	}
}
