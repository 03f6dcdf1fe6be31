package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"bailing/shared/approval"
	"bailing/shared/job"
	"bailing/shared/jobrun"
	"bailing/shared/model"
	"bailing/shared/registry"
	"bailing/shared/toolcall"
)

var dueMarks = []promise{
	{"a job with a due call does not end", notEndedDue},
	{"a job ends with due calls that lapsed, if that is what ends it", endedLapsed},
	{"a job with an open call ends and keeps its due calls", endedOpenDue},
	{"the end of a job and an approval exclude each other", endRacesApproval},
	{"a due call that is not made is on record and its mark is gone", dueDropped},
	{"a worker without the job drops no mark", fencedDrop},
	{"a rerun keeps the marks and forgets the rounds", rerunKeepsMarks},
	{"an approved job keeps its rounds, and its end is told although nobody wanted it", continued},
}

var seats = []promise{
	{"an approved job waits behind a head that runs", seatBehindRunning},
	{"an approved job takes the place of a younger head that only queued", seatBeforeQueued},
	{"a head that was claimed meanwhile is not displaced", seatClaimedMeanwhile},
	{"approved jobs of one thread queue by age and take no new job's place", seatsByAge},
}

func notEndedDue(t *testing.T, b *bundle) {
	j, f := b.running(t)
	b.approve(t, b.ask(t, f, "h"))
	before, thread := b.read(t, j.ID), b.thread(t, j.ThreadKey)
	o := job.Outcome{Status: job.Done, Result: json.RawMessage(`{}`), Now: b.now}
	for _, o.DueLapsed = range []bool{false, true} { // it has not lapsed
		_, err := b.Store.FinishJob(t.Context(), f, o, b.event("finished"))
		wantErr(t, err, job.ErrDue)
	}
	wantEqual(t, "job", b.read(t, j.ID), before)
	must(t, b.Store.ReleaseJob(t.Context(), f, job.Release{Now: b.now}, b.event("yield")))
	queued := b.read(t, j.ID)
	for _, o.DueLapsed = range []bool{false, true} {
		_, err := b.Store.ExpireJob(t.Context(), j.ID, queued.QueuedAt, o, b.event("finished"))
		wantErr(t, err, job.ErrDue)
	}
	wantEqual(t, "job", b.read(t, j.ID), queued)
	wantEqual(t, "thread", b.thread(t, j.ThreadKey), thread)
	wantEqual(t, "recorded", slices.Contains(b.audit(t, j.ID), "finished"), false)
}

func endedLapsed(t *testing.T, b *bundle) {
	for _, expires := range []bool{false, true} {
		j, f := b.running(t)
		early, late := b.ask(t, f, "h1"), b.ticket(f, "h2", 1)
		late.ExpiresAt = early.ExpiresAt.Add(time.Minute)
		must(t, b.Store.OpenTicket(t.Context(), f, toolcall.Opening{Ticket: late}, record("waits"), b.event("pending")))
		want := []job.DueTicket{b.approve(t, early), b.approve(t, late)}
		if expires {
			must(t, b.Store.ReleaseJob(t.Context(), f, job.Release{Now: b.now}, b.event("yield")))
		}
		wantEqual(t, "marks", b.read(t, j.ID).Due, want)
		end := func(at time.Time, lapsed bool) error {
			o := job.Outcome{Status: job.Failed, Error: "no", Result: json.RawMessage(`{}`), Now: at, DueLapsed: lapsed}
			var err error
			if expires {
				_, err = b.Store.ExpireJob(t.Context(), j.ID, b.now, o, b.event("finished"))
			} else {
				_, err = b.Store.FinishJob(t.Context(), f, o, b.event("finished"))
			}
			return err
		}
		wantErr(t, end(late.ExpiresAt.Add(-time.Millisecond), true), job.ErrDue) // one is left
		wantErr(t, end(late.ExpiresAt, false), job.ErrDue)
		must(t, end(late.ExpiresAt, true))
		got := b.read(t, j.ID)
		if got.Status != job.Failed || got.Due != nil {
			t.Fatalf("%s with %v", got.Status, got.Due)
		}
	}
}

func endedOpenDue(t *testing.T, b *bundle) {
	for _, expires := range []bool{false, true} {
		j, f := b.running(t)
		want := []job.DueTicket{b.approve(t, b.ask(t, f, "h"))}
		must(t, b.Store.Reserve(t.Context(), f, b.entry(f, "h1"), nil, b.event("tool_call")))
		if expires { // it was queued again after it had ended so
			b.fail(t, f)
			b.rerun(t, j.ID, b.now)
			_, err := b.Store.ExpireJob(t.Context(), j.ID, b.now, job.Outcome{Status: job.Failed, Now: b.now}, b.event("expired"))
			must(t, err)
		} else {
			b.fail(t, f)
		}
		got := b.read(t, j.ID)
		wantEqual(t, "status", got.Status, job.Failed)
		wantEqual(t, "marks", got.Due, want)
		if got.Open == nil {
			t.Fatal("the open call is gone")
		}
	}
}

func endRacesApproval(t *testing.T, b *bundle) {
	for i := range 8 {
		j, f := b.running(t)
		ticket := b.ask(t, f, "h")
		var ended, decided error
		var wg sync.WaitGroup
		wg.Go(func() {
			_, ended = b.Store.FinishJob(t.Context(), f, job.Outcome{Status: job.Done, Result: json.RawMessage(`{}`), Now: b.now}, b.event("finished"))
		})
		wg.Go(func() {
			r := b.ruling(true)
			for decided = approval.ErrMoved; errors.Is(decided, approval.ErrMoved); {
				decided = b.tryDecide(t.Context(), ticket.ID, r)
			}
		})
		wg.Wait()
		must(t, decided)
		got := b.read(t, j.ID)
		switch {
		case errors.Is(ended, job.ErrDue):
			wantEqual(t, "status", got.Status, job.Running)
		case ended == nil:
			wantEqual(t, "status", got.Status, job.Queued)
			wantEqual(t, "head", b.thread(t, j.ThreadKey).Head, j.ID)
		default:
			t.Fatalf("round %d: %v", i, ended)
		}
		wantEqual(t, "marks", len(got.Due), 1)
	}
}

func dueDropped(t *testing.T, b *bundle) {
	j, f := b.running(t)
	must(t, b.Store.SaveRound(t.Context(), f, round(1), b.event("round")))
	first, second := b.ask(t, f, "h1"), b.ask(t, f, "h2")
	marks := []job.DueTicket{b.approve(t, first), b.approve(t, second)}
	rec := record("not made")
	for range 2 { // twice is as good as once
		must(t, b.Store.DropDue(t.Context(), f, marks[0], rec, b.event("dropped")))
		wantEqual(t, "marks", b.read(t, j.ID).Due, marks[1:])
	}
	rounds, err := b.Store.LoadRounds(t.Context(), j.ID)
	must(t, err)
	wantEqual(t, "outcome", rounds[0].Calls[2], rec)
	wantEqual(t, "recorded", slices.Contains(b.audit(t, j.ID), "dropped"), true)
	wantEqual(t, "ticket", b.ticketRow(t, first.ID).UsedAt, time.Time{})
	must(t, b.Store.DropDue(t.Context(), f, marks[1], rec, b.event("dropped")))
	wantEqual(t, "marks", b.read(t, j.ID).Due, nil)
	must(t, b.Store.DropDue(t.Context(), f, marks[1], rec, b.event("dropped")))
	b.finish(t, f)
}

func fencedDrop(t *testing.T, b *bundle) {
	j, f := b.running(t)
	mark := b.approve(t, b.ask(t, f, "h"))
	must(t, b.Store.ReleaseJob(t.Context(), f, job.Release{Recovered: true, Now: b.now}, b.event("recovered")))
	wantErr(t, b.Store.DropDue(t.Context(), f, mark, record("late"), b.event("late")), job.ErrLostClaim)
	b.claim(t, j.ID)
	wantErr(t, b.Store.DropDue(t.Context(), f, mark, record("late"), b.event("late")), job.ErrLostClaim)
	wantEqual(t, "marks", b.read(t, j.ID).Due, []job.DueTicket{mark})
	wantEqual(t, "recorded", slices.Contains(b.audit(t, j.ID), "late"), false)
}

// saved is a round with one answered call.
func (b *bundle) saved(t *testing.T, f job.Fence, n int) jobrun.Round {
	t.Helper()
	r := jobrun.Round{Number: n, Message: model.Message{Content: fmt.Sprint("round ", n)}}
	must(t, b.Store.SaveRound(t.Context(), f, r, b.event(fmt.Sprint("round-", n))))
	rec := toolcall.Record{Round: n, Outcome: toolcall.Outcome{Text: fmt.Sprint("call ", n)}}
	must(t, b.Store.CompleteCall(t.Context(), f, rec, b.event(fmt.Sprint("call-", n))))
	r.Calls = map[int]toolcall.Record{0: rec}
	return r
}

func (b *bundle) wantRounds(t *testing.T, jobID string, want ...jobrun.Round) {
	t.Helper()
	got, err := b.Store.LoadRounds(t.Context(), jobID)
	must(t, err)
	wantEqual(t, "rounds", got, want)
}

func rerunKeepsMarks(t *testing.T, b *bundle) {
	j, f := b.running(t)
	b.saved(t, f, 1)
	ticket := b.ask(t, f, "h")
	must(t, b.Store.Reserve(t.Context(), f, b.entry(f, "h1"), nil, b.event("tool_call")))
	mark := b.approve(t, ticket)
	b.fail(t, f)
	b.close(t, f, "h1")
	b.rerun(t, j.ID, b.now)
	got := b.read(t, j.ID)
	wantEqual(t, "marks", got.Due, []job.DueTicket{mark})
	wantEqual(t, "since", got.SinceClaim, f.Claim)
	wantEqual(t, "continued", got.Continued, true)
	b.wantRounds(t, j.ID)
}

func continued(t *testing.T, b *bundle) {
	j := b.draft()
	j.Metadata, j.Snapshot.Delivery = json.RawMessage(`{"no_delivery":true,"z":1.10,"a":"<&>"}`), &registry.Delivery{Type: registry.DeliveryWebhook, URL: "https://shop.example/hook"}
	j.CallbackURL = ""
	must(t, b.join(t.Context(), j))
	f := b.claim(t, j.ID)
	first, ticket := b.saved(t, f, 1), b.ask(t, f, "h")
	first.Calls[2] = record("waits")
	ended, err := b.Store.FinishJob(t.Context(), f, job.Outcome{Status: job.Done, Now: b.now}, b.event("finished"))
	must(t, err)
	wantEqual(t, "told", len(ended.Outbox), 0)
	mark := b.approve(t, ticket)
	got := b.read(t, j.ID)
	wantEqual(t, "metadata", string(got.Metadata), `{"a":"<&>","z":1.10}`)
	wantEqual(t, "continued", got.Continued, true)
	wantEqual(t, "since", got.SinceClaim, 0)
	b.wantRounds(t, j.ID, first)
	f = b.claim(t, j.ID)
	b.wantRounds(t, j.ID, first, b.saved(t, f, 2))
	must(t, b.Store.DropDue(t.Context(), f, mark, record("x"), b.event("dropped")))
	ended, err = b.Store.FinishJob(t.Context(), f, job.Outcome{Status: job.Done, Now: b.now}, b.event("finished"))
	must(t, err)
	wantEqual(t, "told", ended.Outbox, []job.OutboxKey{{JobID: j.ID, Terminal: 2, Target: job.ToDelivery}})
}

// waits is a job of the thread that ended and waits for approval.
func (b *bundle) waits(t *testing.T, thread string) (*job.Job, approval.Ticket) {
	t.Helper()
	j := b.launch(t, thread)
	f := b.claim(t, j.ID)
	ticket := b.ask(t, f, "h")
	b.finish(t, f)
	return j, ticket
}

func seatBehindRunning(t *testing.T, b *bundle) {
	old, ticket := b.waits(t, "")
	head := b.launch(t, old.ThreadKey)
	f := b.claim(t, head.ID)
	young := b.launch(t, old.ThreadKey)
	b.approve(t, ticket)
	thread := b.thread(t, old.ThreadKey)
	wantEqual(t, "head", thread.Head, head.ID)
	if !slices.Contains(thread.Waiting, old.ID) || thread.InFlight() != 2 {
		t.Fatalf("thread %+v", thread)
	}
	b.wantNotDue(t, old.ID)
	_, err := b.Store.ClaimJob(t.Context(), old.ID, "w", b.now, b.now.Add(lease))
	wantErr(t, err, job.ErrNotClaimable)
	// They are of one age here; the number decides.
	next := b.finish(t, f)
	wantEqual(t, "next", next.ID, min(old.ID, young.ID))
	b.claim(t, next.ID)
}

func seatBeforeQueued(t *testing.T, b *bundle) {
	old, ticket := b.waits(t, "")
	young := b.draft()
	young.ThreadKey, young.CreatedAt = old.ThreadKey, b.now.Add(time.Second)
	must(t, b.join(t.Context(), young))
	third := b.launch(t, old.ThreadKey)
	mark := b.approve(t, ticket)
	thread := b.thread(t, old.ThreadKey)
	wantEqual(t, "head", thread.Head, old.ID)
	wantEqual(t, "waiting", thread.Waiting, []string{young.ID, third.ID})
	wantEqual(t, "in flight", thread.InFlight(), 2)
	down := b.read(t, young.ID)
	if down.Head || down.Status != job.Queued {
		t.Fatalf("the displaced head is %s, head %v", down.Status, down.Head)
	}
	b.wantNotDue(t, young.ID)
	_, err := b.Store.ClaimJob(t.Context(), young.ID, "w", b.now, b.now.Add(lease))
	wantErr(t, err, job.ErrNotClaimable)
	_, err = b.Store.ExpireJob(t.Context(), young.ID, young.QueuedAt, job.Outcome{Status: job.Failed, Now: b.now}, b.event("expired"))
	wantErr(t, err, job.ErrNotClaimable)
	f := b.claim(t, old.ID)
	must(t, b.Store.DropDue(t.Context(), f, mark, record("x"), b.event("dropped")))
	wantEqual(t, "next", b.finish(t, f).ID, young.ID)
	if now := b.read(t, young.ID); !now.Head {
		t.Fatal("the displaced head did not become head again")
	}
	b.wantDueAt(t, young.ID, b.now.Add(job.ResendAfter))
	wantEqual(t, "uncounted", len(b.thread(t, old.ThreadKey).Uncounted), 0)
	wantEqual(t, "next", b.finish(t, b.claim(t, young.ID)).ID, third.ID)
}

func seatClaimedMeanwhile(t *testing.T, b *bundle) {
	old, ticket := b.waits(t, "")
	young := b.draft()
	young.ThreadKey, young.CreatedAt = old.ThreadKey, b.now.Add(time.Second)
	must(t, b.join(t.Context(), young))
	v, r := b.weighed(t, ticket.ID, "d"), b.ruling(true)
	b.claim(t, young.ID)
	wantErr(t, b.Store.DecideTicket(t.Context(), v, change(v, r), b.event("x")), approval.ErrMoved)
	wantEqual(t, "status", b.read(t, old.ID).Status, job.Done)
	b.approve(t, ticket)
	thread := b.thread(t, old.ThreadKey)
	wantEqual(t, "head", thread.Head, young.ID)
	wantEqual(t, "waiting", thread.Waiting, []string{old.ID})
}

func seatsByAge(t *testing.T, b *bundle) {
	const many = 5
	key := "thread-" + b.draft().ID
	var jobs []*job.Job
	var asked []approval.Ticket
	for i := range many {
		j := b.draft()
		j.ThreadKey, j.CreatedAt = key, b.now.Add(time.Duration(i)*time.Second)
		must(t, b.join(t.Context(), j))
		f := b.claim(t, j.ID)
		asked = append(asked, b.ask(t, f, "h"))
		b.finish(t, f)
		jobs = append(jobs, j)
	}
	head := b.draft()
	head.ThreadKey, head.CreatedAt = key, b.now.Add(time.Hour)
	must(t, b.join(t.Context(), head))
	f := b.claim(t, head.ID)
	marks := map[string]job.DueTicket{}
	for _, i := range []int{3, 0, 4, 2, 1} {
		marks[jobs[i].ID] = b.approve(t, asked[i])
	}
	thread := b.thread(t, key)
	wantEqual(t, "in flight", thread.InFlight(), 1)
	for i := range job.MaxInFlight - 1 { // as many new jobs as if nobody had approved anything
		j := b.draft()
		j.ThreadKey, j.CreatedAt = key, b.now.Add(2*time.Hour+time.Duration(i)*time.Second)
		must(t, b.join(t.Context(), j))
		jobs = append(jobs, j)
	}
	wantEqual(t, "in flight", b.thread(t, key).InFlight(), job.MaxInFlight)
	for _, j := range jobs {
		next := b.finish(t, f)
		wantEqual(t, "next", next.ID, j.ID)
		f = b.claim(t, j.ID)
		if mark, ok := marks[j.ID]; ok {
			must(t, b.Store.DropDue(t.Context(), f, mark, record("x"), b.event("dropped")))
		}
	}
	wantEqual(t, "next", b.finish(t, f), nil)
	thread = b.thread(t, key)
	if thread.InFlight() != 0 || len(thread.Uncounted) != 0 {
		t.Fatalf("thread %+v", thread)
	}
}
