package storetest

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"bailing/shared/approval"
	"bailing/shared/job"
	"bailing/shared/jobrun"
	"bailing/shared/toolcall"
)

var journal = []promise{
	{"a reserved call is in the journal and open in its job", reserved},
	{"a call is reserved once, whoever asks", reservedOnce},
	{"a job has one open call", oneOpenCall},
	{"a completed call is kept with its answer and is open no more", completed},
	{"a call of unknown outcome stays open and says why", uncertain},
	{"only the open call can be settled", settledOnlyOpen},
	{"a worker without the job reserves and settles nothing", fencedJournal},
	{"an open call survives release, claim and end", openSurvives},
	{"a ticket comes back whole and leads from its call", ticketWhole},
	{"a call has one ticket and a number one call", ticketOnce},
	{"a worker without the job opens no ticket", fencedTicket},
}

func (b *bundle) entry(f job.Fence, args string) toolcall.Entry {
	return toolcall.Entry{
		State: toolcall.Dispatching, JobID: f.JobID, Tool: "refund", ArgsHash: args, IdempotencyKey: "key-" + args, Scope: "refunds.write",
		Subject: "u", Claim: f.Claim, Round: 1, Index: 2, CreatedAt: b.now, UpdatedAt: b.now,
	}
}

func (b *bundle) view(t *testing.T, jobID, args string) toolcall.View {
	t.Helper()
	v, err := b.Store.ReadCall(t.Context(), toolcall.Keys{Route: "none", Provider: "none", Tool: "refund", JobID: jobID, ArgsHash: args})
	must(t, err)
	return v
}

func record(text string) toolcall.Record {
	return toolcall.Record{
		Round: 1, Index: 2, CallID: "c", Tool: "refund",
		Outcome: toolcall.Outcome{State: toolcall.Executed, OK: true, Status: 200, Text: text, TookMS: 7},
	}
}

func reserved(t *testing.T, b *bundle) {
	j, f := b.running(t)
	e := b.entry(f, "h1")
	must(t, b.Store.Reserve(t.Context(), f, e, nil, b.event("tool_call")))
	wantEqual(t, "entry", b.view(t, j.ID, "h1").Entry, &e)
	open := e.Open()
	wantEqual(t, "open call", b.read(t, j.ID).Open, &open)
	state, err := b.Store.ReadState(t.Context(), j.ID)
	must(t, err)
	wantEqual(t, "open call of the state", state.Open, &open)
	wantEqual(t, "audit", b.audit(t, j.ID), []string{"received", "tool_call"})
	wantEqual(t, "entry of other arguments", b.view(t, j.ID, "h2").Entry, nil)
}

func reservedOnce(t *testing.T, b *bundle) {
	j, f := b.running(t)
	const workers = 8
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() { errs[i] = b.Store.Reserve(t.Context(), f, b.entry(f, "h1"), nil, b.event("tool_call")) })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		wantErr(t, err, toolcall.ErrReserved)
	}
	wantEqual(t, "reservations", won, 1)
	// Completed or not, and under any later claim.
	must(t, b.Store.CompleteReserved(t.Context(), f, b.entry(f, "h1"), record("x"), b.event("tool_result")))
	wantErr(t, b.Store.Reserve(t.Context(), f, b.entry(f, "h1"), nil, b.event("again")), toolcall.ErrReserved)
	must(t, b.Store.ReleaseJob(t.Context(), f, job.Release{Now: b.now}, b.event("yield")))
	next := b.claim(t, j.ID)
	wantErr(t, b.Store.Reserve(t.Context(), next, b.entry(next, "h1"), nil, b.event("again")), toolcall.ErrReserved)
	wantEqual(t, "open call", b.read(t, j.ID).Open, nil)
}

func oneOpenCall(t *testing.T, b *bundle) {
	j, f := b.running(t)
	must(t, b.Store.Reserve(t.Context(), f, b.entry(f, "h1"), nil, b.event("tool_call")))
	wantErr(t, b.Store.Reserve(t.Context(), f, b.entry(f, "h2"), nil, b.event("another")), toolcall.ErrReserved)
	wantEqual(t, "entry of the second", b.view(t, j.ID, "h2").Entry, nil)
}

func completed(t *testing.T, b *bundle) {
	for _, text := range []string{"short", strings.Repeat("答", 30_000)} { // within an item, and beside it
		j, f := b.running(t)
		e := b.entry(f, "h1")
		must(t, b.Store.Reserve(t.Context(), f, e, nil, b.event("tool_call")))
		e.State, e.UpdatedAt = toolcall.Completed, b.now.Add(time.Second)
		rec := record(text)
		must(t, b.Store.SaveRound(t.Context(), f, round(1), b.event("round")))
		must(t, b.Store.CompleteReserved(t.Context(), f, e, rec, b.event("tool_result")))
		e.Record = &rec
		wantEqual(t, "entry", b.view(t, j.ID, "h1").Entry, &e)
		wantEqual(t, "open call", b.read(t, j.ID).Open, nil)
		rounds, err := b.Store.LoadRounds(t.Context(), j.ID)
		must(t, err)
		wantEqual(t, "outcome", rounds[0].Calls[2], rec)
		must(t, b.Store.Reserve(t.Context(), f, b.entry(f, "h2"), nil, b.event("next")))
	}
}

func uncertain(t *testing.T, b *bundle) {
	j, f := b.running(t)
	e := b.entry(f, "h1")
	must(t, b.Store.Reserve(t.Context(), f, e, nil, b.event("tool_call")))
	e.State, e.Reason = toolcall.Uncertain, "timeout"
	for range 2 {
		must(t, b.Store.MarkUncertain(t.Context(), f, e, record(""), b.event("uncertain")))
	}
	wantEqual(t, "entry", b.view(t, j.ID, "h1").Entry, &e)
	open := e.Open()
	wantEqual(t, "open call", b.read(t, j.ID).Open, &open)
	wantErr(t, b.Store.Reserve(t.Context(), f, b.entry(f, "h2"), nil, b.event("another")), toolcall.ErrReserved)
}

func settledOnlyOpen(t *testing.T, b *bundle) {
	j, f := b.running(t)
	must(t, b.Store.Reserve(t.Context(), f, b.entry(f, "h1"), nil, b.event("tool_call")))
	wantErr(t, b.Store.CompleteReserved(t.Context(), f, b.entry(f, "h2"), record("x"), b.event("x")), toolcall.ErrNotOpen)
	wantErr(t, b.Store.MarkUncertain(t.Context(), f, b.entry(f, "h2"), record("x"), b.event("x")), toolcall.ErrNotOpen)
	wantEqual(t, "entry", b.view(t, j.ID, "h2").Entry, nil)
	must(t, b.Store.CompleteReserved(t.Context(), f, b.entry(f, "h1"), record("x"), b.event("tool_result")))
	wantErr(t, b.Store.CompleteReserved(t.Context(), f, b.entry(f, "h1"), record("y"), b.event("x")), toolcall.ErrNotOpen)
	wantErr(t, b.Store.MarkUncertain(t.Context(), f, b.entry(f, "h1"), record("y"), b.event("x")), toolcall.ErrNotOpen)
	wantEqual(t, "answer", b.view(t, j.ID, "h1").Entry.Record.Outcome.Text, "x")
}

func fencedJournal(t *testing.T, b *bundle) {
	j, f := b.running(t)
	must(t, b.Store.Reserve(t.Context(), f, b.entry(f, "h1"), nil, b.event("tool_call")))
	must(t, b.Store.ReleaseJob(t.Context(), f, job.Release{Recovered: true, Now: b.now}, b.event("recovered")))
	late := func() {
		t.Helper()
		wantErr(t, b.Store.Reserve(t.Context(), f, b.entry(f, "h2"), nil, b.event("late")), job.ErrLostClaim)
		wantErr(t, b.Store.CompleteReserved(t.Context(), f, b.entry(f, "h1"), record("late"), b.event("late")), job.ErrLostClaim)
		wantErr(t, b.Store.MarkUncertain(t.Context(), f, b.entry(f, "h1"), record("late"), b.event("late")), job.ErrLostClaim)
	}
	late() // while the job is queued
	next := b.claim(t, j.ID)
	late() // and while another worker has it
	wantEqual(t, "entry", b.view(t, j.ID, "h1").Entry.State, toolcall.Dispatching)
	b.finish(t, next)
	late()
	gone := job.Fence{JobID: uuid.NewString(), Claim: 1}
	wantErr(t, b.Store.Reserve(t.Context(), gone, b.entry(gone, "h1"), nil, b.event("late")), job.ErrLostClaim)
}

func openSurvives(t *testing.T, b *bundle) {
	j, f := b.running(t)
	e := b.entry(f, "h1")
	must(t, b.Store.Reserve(t.Context(), f, e, nil, b.event("tool_call")))
	must(t, b.Store.ReleaseJob(t.Context(), f, job.Release{Recovered: true, Now: b.now}, b.event("recovered")))
	claimed, err := b.Store.ClaimJob(t.Context(), j.ID, uuid.NewString(), b.now, b.now.Add(lease))
	must(t, err)
	open := e.Open()
	wantEqual(t, "open call of the claimed job", claimed.Open, &open)
	b.finish(t, job.Fence{JobID: j.ID, Claim: claimed.Claim})
	wantEqual(t, "open call of the ended job", b.read(t, j.ID).Open, &open)
	wantEqual(t, "entry", b.view(t, j.ID, "h1").Entry, &e)
}

func (b *bundle) ticket(f job.Fence, args string, size int) approval.Ticket {
	intent, _ := json.Marshal(map[string]string{"args": strings.Repeat("a", size)})
	return approval.Ticket{
		ID: approval.NewID(), State: approval.Pending, JobID: f.JobID, Owner: "shop", Provider: "p", Tool: "refund", ArgsHash: args,
		CreatedAt: b.now, ExpiresAt: b.now.Add(time.Hour), Intent: intent,
	}
}

func ticketWhole(t *testing.T, b *bundle) {
	for _, size := range []int{1, 5 << 20} {
		for _, sealed := range []bool{false, true} {
			j, f := b.running(t)
			must(t, b.Store.SaveRound(t.Context(), f, round(1), b.event("round")))
			want := b.ticket(f, "h1", size)
			if sealed {
				want.Sealed, want.Intent = string(want.Intent), nil
			}
			must(t, b.Store.OpenTicket(t.Context(), f, toolcall.Opening{Ticket: want}, record("waits"), b.event("pending")))
			got, err := b.Store.ReadTicket(t.Context(), want.ID)
			must(t, err)
			wantEqual(t, "ticket", got, &want)
			lookup := approval.Lookup{ID: want.ID, State: approval.Pending, ArgsHash: "h1", ExpiresAt: want.ExpiresAt}
			wantEqual(t, "lookup", b.view(t, j.ID, "h1").Ticket, &lookup)
			wantEqual(t, "lookup of other arguments", b.view(t, j.ID, "h2").Ticket, nil)
			rounds, err := b.Store.LoadRounds(t.Context(), j.ID)
			must(t, err)
			wantEqual(t, "outcome", rounds[0].Calls[2], record("waits"))
			wantEqual(t, "audit", b.audit(t, j.ID), []string{"pending", "received", "round"})
		}
	}
	none, err := b.Store.ReadTicket(t.Context(), approval.NewID())
	must(t, err)
	wantEqual(t, "ticket that does not exist", none, nil)
}

func ticketOnce(t *testing.T, b *bundle) {
	_, f := b.running(t)
	first := b.ticket(f, "h1", 1)
	must(t, b.Store.OpenTicket(t.Context(), f, toolcall.Opening{Ticket: first}, record("waits"), b.event("pending")))
	wantErr(t, b.Store.OpenTicket(t.Context(), f, toolcall.Opening{Ticket: b.ticket(f, "h1", 1)}, record("waits"), b.event("again")), approval.ErrExists)
	wantErr(t, b.Store.OpenTicket(t.Context(), f, toolcall.Opening{Ticket: first}, record("waits"), b.event("again")), approval.ErrExists)
	other := b.ticket(f, "h2", 1)
	other.ID = first.ID
	wantErr(t, b.Store.OpenTicket(t.Context(), f, toolcall.Opening{Ticket: other}, record("waits"), b.event("again")), approval.ErrIDTaken)
	wantEqual(t, "lookup", b.view(t, f.JobID, "h2").Ticket, nil)
}

func fencedTicket(t *testing.T, b *bundle) {
	j, f := b.running(t)
	must(t, b.Store.ReleaseJob(t.Context(), f, job.Release{Now: b.now}, b.event("yield")))
	late := b.ticket(f, "h1", 1)
	wantErr(t, b.Store.OpenTicket(t.Context(), f, toolcall.Opening{Ticket: late}, record("waits"), b.event("late")), job.ErrLostClaim)
	got, err := b.Store.ReadTicket(t.Context(), late.ID)
	must(t, err)
	wantEqual(t, "ticket", got, nil)
	wantEqual(t, "lookup", b.view(t, j.ID, "h1").Ticket, nil)
}

func round(n int) jobrun.Round { return jobrun.Round{Number: n, Calls: map[int]toolcall.Record{}} }
