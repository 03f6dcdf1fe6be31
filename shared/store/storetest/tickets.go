package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/uuid"

	"bailing/shared/approval"
	"bailing/shared/job"
	"bailing/shared/toolcall"
	"bailing/shared/topology"
)

var tickets = []promise{
	{"a decision is kept with the ticket and with the way to it", decisionKept},
	{"an approval of a job that has not ended marks it and changes nothing else of it", approvedInFlight},
	{"an approval of a job that ended queues it again", approvedEnded},
	{"an approval of a job that ended with an open call marks it only", approvedOpen},
	{"an approval of a job that ended too often marks it only", approvedUsedUp},
	{"a denial leaves the job alone", deniedAlone},
	{"a ticket is decided once", decidedOnce},
	{"a decision that read another job is none", decisionMoved},
	{"a decision knows the token of the wait that it ends", decisionToken},
	{"a ticket may be decided up to its deadline and not at it", decidedInTime},
	{"a decision id belongs to one ticket of its owner", decisionIDs},
	{"of many decisions at once one is made", decisionsRace},
	{"a ticket that does not exist cannot be decided", noTicketNoDecision},
	{"a ticket's row is read without what it froze", rowOfTicket},
	{"a new ticket of the same call takes the place of one that allows nothing", ticketReplaced},
	{"no other call is asked about while an approved one is due, unless that was looked at", askedBesideDue},
	{"the tickets of a tool are those of its name", toolTickets},
}

// ask stores a pending ticket of the job's call with these arguments.
func (b *bundle) ask(t *testing.T, f job.Fence, args string) approval.Ticket {
	t.Helper()
	ticket := b.ticket(f, args, 10)
	ticket.Claim, ticket.Binding = f.Claim, "bind-"+args
	must(t, b.Store.OpenTicket(t.Context(), f, toolcall.Opening{Ticket: ticket}, record("waits"), b.event("pending-"+args)))
	return ticket
}

func (b *bundle) ruling(approved bool) approval.Ruling {
	return approval.Ruling{Approved: approved, DecisionID: uuid.NewString(), By: "ann", Auth: "client:shop", At: b.now.Add(time.Minute)}
}

// change is what a ruling has to change.
func change(v approval.DecisionView, r approval.Ruling) approval.Change {
	c := approval.Change{Ruling: r}
	if !r.Approved {
		return c
	}
	c.Due = &job.DueTicket{ID: v.Ticket.ID, ExpiresAt: v.Ticket.ExpiresAt}
	if v.Job.Status.Terminal() && v.Job.Open == nil && v.Ends < job.RunsMax {
		seat := job.SeatOf(v.Job, v.Thread, v.Peers)
		c.Seat = &seat
	}
	return c
}

func (b *bundle) weighed(t *testing.T, id int64, decisionID string) approval.DecisionView {
	t.Helper()
	v, err := b.Store.ReadDecision(t.Context(), id, "shop", decisionID)
	must(t, err)
	return v
}

func (b *bundle) tryDecide(ctx context.Context, id int64, r approval.Ruling) error {
	v, err := b.Store.ReadDecision(ctx, id, "shop", r.DecisionID)
	if err != nil {
		return err
	}
	return b.Store.DecideTicket(ctx, v, change(v, r), b.event(fmt.Sprint("decided-", id)))
}

// approve approves a ticket and returns the mark that its job has.
func (b *bundle) approve(t *testing.T, ticket approval.Ticket) job.DueTicket {
	t.Helper()
	must(t, b.tryDecide(t.Context(), ticket.ID, b.ruling(true)))
	return job.DueTicket{ID: ticket.ID, ExpiresAt: ticket.ExpiresAt}
}

func (b *bundle) ticketRow(t *testing.T, id int64) approval.Ticket {
	t.Helper()
	ticket, err := b.Store.ReadTicketRow(t.Context(), id)
	must(t, err)
	if ticket == nil {
		t.Fatalf("no ticket %d", id)
	}
	return *ticket
}

// wantState checks that a ticket and the way to it agree.
func (b *bundle) wantState(t *testing.T, ticket approval.Ticket, want approval.State) {
	t.Helper()
	wantEqual(t, "state of the ticket", b.ticketRow(t, ticket.ID).State, want)
	wantEqual(t, "state of the lookup", b.view(t, ticket.JobID, ticket.ArgsHash).Ticket.State, want)
}

// plant changes a job's row past the store.
func (b *bundle) plant(t *testing.T, jobID, expr string, values map[string]types.AttributeValue) {
	t.Helper()
	_, err := b.DB.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName:        aws.String(b.Prefix + topology.TableJobs),
		Key:              map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "job#" + jobID}, "sk": &types.AttributeValueMemberS{Value: "job"}},
		UpdateExpression: aws.String(expr), ExpressionAttributeNames: map[string]string{"#state": "state"}, ExpressionAttributeValues: values,
	})
	must(t, err)
}

func decisionKept(t *testing.T, b *bundle) {
	for _, r := range []approval.Ruling{
		{Approved: true, DecisionID: uuid.NewString(), By: "ann", Comment: "fine", SaidAt: "yesterday", Auth: "signed-business", At: b.now.Add(time.Minute)},
		{DecisionID: uuid.NewString(), By: "ann", Auth: "client:shop", At: b.now.Add(time.Minute)},
		{Approved: true, By: "ann", Auth: "console:ann", At: b.now.Add(time.Minute)},
	} {
		j, f := b.running(t)
		want := b.ask(t, f, "h")
		must(t, b.tryDecide(t.Context(), want.ID, r))
		got, err := b.Store.ReadTicket(t.Context(), want.ID)
		must(t, err)
		want.State, want.Ruling = r.State(), &r
		wantEqual(t, "ticket", got, &want)
		wantEqual(t, "lookup", b.view(t, j.ID, "h").Ticket, &approval.Lookup{
			ID: want.ID, State: r.State(), ArgsHash: "h", ExpiresAt: want.ExpiresAt, Binding: "bind-h", Claim: f.Claim,
		})
		wantEqual(t, "audit", b.audit(t, j.ID), []string{fmt.Sprint("decided-", want.ID), "pending-h", "received"})
		b.wantTicketDue(t, want.ID, r.At) // for its wait
	}
}

func approvedInFlight(t *testing.T, b *bundle) {
	queued := func() *job.Job {
		j, f := b.running(t)
		b.ask(t, f, "h")
		must(t, b.Store.ReleaseJob(t.Context(), f, job.Release{Now: b.now}, b.event("yield")))
		return j
	}
	for state, arrange := range map[job.Status]func() *job.Job{
		job.Queued: queued,
		job.Running: func() *job.Job {
			j, f := b.running(t)
			b.ask(t, f, "h")
			return j
		},
		job.Dispatched: func() *job.Job {
			j := queued()
			b.plant(t, j.ID, "SET #state = :state", map[string]types.AttributeValue{":state": &types.AttributeValueMemberS{Value: "dispatched"}})
			return j
		},
	} {
		j := arrange()
		want, thread := b.read(t, j.ID), b.thread(t, j.ThreadKey)
		wantEqual(t, "status", want.Status, state)
		id := b.view(t, j.ID, "h").Ticket.ID
		v := b.weighed(t, id, "d")
		if c := change(v, b.ruling(true)); c.Seat != nil {
			t.Fatalf("%s: a seat", state)
		}
		want.Due = []job.DueTicket{b.approve(t, b.ticketRow(t, id))}
		wantEqual(t, "job", b.read(t, j.ID), want)
		wantEqual(t, "thread", b.thread(t, j.ThreadKey), thread)
	}
}

func approvedEnded(t *testing.T, b *bundle) {
	j, f := b.running(t)
	ticket := b.ask(t, f, "h")
	must(t, b.Store.ReleaseJob(t.Context(), f, job.Release{Attempts: 1, Recovered: true, Now: b.now}, b.event("recovered")))
	b.fail(t, b.claim(t, j.ID))
	v := b.weighed(t, ticket.ID, "d")
	if v.Ends != 1 || v.Job.Status != job.Failed || v.Thread.Head != "" || v.Taken != 0 || len(v.Peers) != 0 {
		t.Fatalf("read %+v", v)
	}
	r := b.ruling(true)
	must(t, b.tryDecide(t.Context(), ticket.ID, r))
	got := b.read(t, j.ID)
	want := *j
	want.Status, want.Head, want.Claim, want.ClaimedAt, want.QueuedAt, want.UpdatedAt = job.Queued, true, 2, b.now, r.At, r.At
	want.Due, want.Continued = []job.DueTicket{{ID: ticket.ID, ExpiresAt: ticket.ExpiresAt}}, true
	wantEqual(t, "job", got, &want)
	thread := b.thread(t, j.ThreadKey)
	if thread.Head != j.ID || len(thread.Waiting) != 0 {
		t.Fatalf("thread %+v", thread)
	}
	b.wantDueAt(t, j.ID, r.At.Add(job.ResendAfter))
	if f := b.claim(t, j.ID); f.Claim != 3 {
		t.Fatalf("claim %d", f.Claim)
	}
}

// close closes the open call of a job that ended, as a person does.
func (b *bundle) close(t *testing.T, f job.Fence, args string) {
	t.Helper()
	e := b.entry(f, args)
	e.State = toolcall.ClosedHappened
	e.Closing = &toolcall.Closing{Finding: toolcall.Happened, Reason: "seen", By: "ann", At: b.now, Status: 200}
	must(t, b.Store.CloseCall(t.Context(), e, b.event("closed")))
}

func approvedOpen(t *testing.T, b *bundle) {
	j, f := b.running(t)
	ticket := b.ask(t, f, "h")
	must(t, b.Store.Reserve(t.Context(), f, b.entry(f, "h1"), nil, b.event("tool_call")))
	b.fail(t, f)
	v, r := b.weighed(t, ticket.ID, "d"), b.ruling(true)
	c := change(v, r)
	if c.Seat != nil || v.Job.Open == nil {
		t.Fatalf("view %+v", v)
	}
	b.close(t, f, "h1")
	wantErr(t, b.Store.DecideTicket(t.Context(), v, c, b.event("x")), approval.ErrMoved) // now it could go on

	other, f := b.running(t)
	ticket = b.ask(t, f, "h")
	must(t, b.Store.Reserve(t.Context(), f, b.entry(f, "h1"), nil, b.event("tool_call")))
	b.fail(t, f)
	want := b.read(t, other.ID)
	want.Due = []job.DueTicket{b.approve(t, ticket)}
	wantEqual(t, "job", b.read(t, other.ID), want)
	wantEqual(t, "head", b.thread(t, other.ThreadKey).Head, "")
	b.wantNotDue(t, other.ID)
	b.close(t, f, "h1")
	b.rerun(t, other.ID, b.now)
	wantEqual(t, "due in the rerun", b.read(t, other.ID).Due, want.Due)
	wantEqual(t, "status", b.read(t, j.ID).Status, job.Failed)
}

func approvedUsedUp(t *testing.T, b *bundle) {
	j, f := b.running(t)
	ticket := b.ask(t, f, "h")
	b.fail(t, f)
	b.plant(t, j.ID, "SET term = :n, #state = :state", map[string]types.AttributeValue{
		":n": &types.AttributeValueMemberN{Value: fmt.Sprint(job.RunsMax)}, ":state": &types.AttributeValueMemberS{Value: string(job.Failed)},
	})
	want := b.read(t, j.ID)
	want.Due = []job.DueTicket{b.approve(t, ticket)}
	wantEqual(t, "job", b.read(t, j.ID), want)
}

func deniedAlone(t *testing.T, b *bundle) {
	for _, ended := range []bool{false, true} {
		j, f := b.running(t)
		ticket := b.ask(t, f, "h")
		if ended {
			b.finish(t, f)
		}
		want, thread := b.read(t, j.ID), b.thread(t, j.ThreadKey)
		must(t, b.tryDecide(t.Context(), ticket.ID, b.ruling(false)))
		wantEqual(t, "job", b.read(t, j.ID), want)
		wantEqual(t, "thread", b.thread(t, j.ThreadKey), thread)
		b.wantState(t, ticket, approval.Denied)
	}
}

func decidedOnce(t *testing.T, b *bundle) {
	for _, first := range []bool{true, false} {
		j, f := b.running(t)
		ticket := b.ask(t, f, "h")
		early := b.weighed(t, ticket.ID, "d") // read before
		must(t, b.tryDecide(t.Context(), ticket.ID, b.ruling(first)))
		row, now := b.ticketRow(t, ticket.ID), b.read(t, j.ID)
		for _, approved := range []bool{true, false} {
			r := b.ruling(approved)
			wantErr(t, b.Store.DecideTicket(t.Context(), early, change(early, r), b.event("again")), approval.ErrMoved)
			wantErr(t, b.tryDecide(t.Context(), ticket.ID, r), approval.ErrMoved)
		}
		wantEqual(t, "ticket", b.ticketRow(t, ticket.ID), row)
		wantEqual(t, "job", b.read(t, j.ID), now)
	}
}

// Every part of what a decision was weighed by may change before it is made.
func decisionMoved(t *testing.T, b *bundle) {
	for rule, move := range map[string]func(j *job.Job, f job.Fence){
		"the job ended": func(j *job.Job, f job.Fence) { b.finish(t, f) },
	} {
		j, f := b.running(t)
		ticket := b.ask(t, f, "h")
		v, r := b.weighed(t, ticket.ID, "d"), b.ruling(true)
		move(j, f)
		if err := b.Store.DecideTicket(t.Context(), v, change(v, r), b.event("x")); !errors.Is(err, approval.ErrMoved) {
			t.Errorf("%s: %v", rule, err)
		}
		b.wantState(t, ticket, approval.Pending)
	}
	for rule, move := range map[string]func(j *job.Job){
		"the job was run again":     func(j *job.Job) { b.rerun(t, j.ID, b.now) },
		"the job ended once more":   func(j *job.Job) { b.rerun(t, j.ID, b.now); b.fail(t, b.claim(t, j.ID)) },
		"another joined the thread": func(j *job.Job) { b.launch(t, j.ThreadKey) },
	} {
		j, f := b.running(t)
		ticket := b.ask(t, f, "h")
		b.fail(t, f)
		v, r := b.weighed(t, ticket.ID, "d"), b.ruling(true)
		move(j)
		now := b.read(t, j.ID)
		if err := b.Store.DecideTicket(t.Context(), v, change(v, r), b.event("x")); !errors.Is(err, approval.ErrMoved) {
			t.Errorf("%s: %v", rule, err)
		}
		b.wantState(t, ticket, approval.Pending)
		wantEqual(t, rule, b.read(t, j.ID), now)
	}
}

func decisionToken(t *testing.T, b *bundle) {
	_, f := b.running(t)
	ticket := b.ask(t, f, "h")
	for _, token := range []string{"one", "two"} { // none, and then another one
		v := b.weighed(t, ticket.ID, "d")
		held, err := b.Store.HoldTicket(t.Context(), ticket.ID, token, b.now)
		must(t, err)
		wantEqual(t, "held", held, true)
		wantErr(t, b.Store.DecideTicket(t.Context(), v, change(v, b.ruling(true)), b.event("x")), approval.ErrMoved)
	}
	v := b.weighed(t, ticket.ID, "d")
	wantEqual(t, "token", v.Ticket.Token, "two")
	must(t, b.Store.DecideTicket(t.Context(), v, change(v, b.ruling(true)), b.event("x")))
	wantEqual(t, "token", b.ticketRow(t, ticket.ID).Token, "two") // until the wait was told
}

func decidedInTime(t *testing.T, b *bundle) {
	_, f := b.running(t)
	ticket, r := b.ask(t, f, "h"), b.ruling(true)
	r.At = ticket.ExpiresAt
	wantErr(t, b.tryDecide(t.Context(), ticket.ID, r), approval.ErrMoved)
	b.wantState(t, ticket, approval.Pending)
	r.At = ticket.ExpiresAt.Add(-time.Millisecond)
	must(t, b.tryDecide(t.Context(), ticket.ID, r))
	b.wantState(t, ticket, approval.Approved)
}

func decisionIDs(t *testing.T, b *bundle) {
	_, f := b.running(t)
	first, second, r := b.ask(t, f, "h1"), b.ask(t, f, "h2"), b.ruling(false)
	wantEqual(t, "taken", b.weighed(t, first.ID, r.DecisionID).Taken, 0)
	before := b.weighed(t, second.ID, r.DecisionID)
	must(t, b.tryDecide(t.Context(), first.ID, r))
	wantEqual(t, "taken", b.weighed(t, second.ID, r.DecisionID).Taken, first.ID)
	wantEqual(t, "taken", b.weighed(t, first.ID, r.DecisionID).Taken, first.ID)
	for _, approved := range []bool{false, true} {
		r.Approved = approved
		wantErr(t, b.tryDecide(t.Context(), second.ID, r), approval.ErrMoved)
		wantErr(t, b.Store.DecideTicket(t.Context(), before, change(before, r), b.event("x")), approval.ErrMoved)
	}
	b.wantState(t, second, approval.Pending)

	// Another owner's ids are its own, also those of an administrator's jobs.
	for _, owner := range []string{"other", ""} {
		j := b.draft()
		j.Owner = owner
		must(t, b.join(t.Context(), j))
		foreign := b.ticket(b.claim(t, j.ID), "h", 1)
		foreign.Owner = owner
		must(t, b.Store.OpenTicket(t.Context(), job.Fence{JobID: j.ID, Claim: 1}, toolcall.Opening{Ticket: foreign}, record("waits"), b.event("pending")))
		v, err := b.Store.ReadDecision(t.Context(), foreign.ID, owner, r.DecisionID)
		must(t, err)
		wantEqual(t, "taken", v.Taken, 0)
		must(t, b.Store.DecideTicket(t.Context(), v, change(v, r), b.event("x")))
	}
	// Without an id any number of tickets may be decided.
	r.DecisionID = ""
	for _, ticket := range []approval.Ticket{second, b.ask(t, f, "h3")} {
		must(t, b.tryDecide(t.Context(), ticket.ID, r))
	}
}

func decisionsRace(t *testing.T, b *bundle) {
	j, f := b.running(t)
	ticket := b.ask(t, f, "h")
	b.finish(t, f)
	const many = 20
	errs := make([]error, many)
	rulings := make([]approval.Ruling, many)
	var wg sync.WaitGroup
	for i := range many {
		rulings[i] = b.ruling(i%2 == 0)
		v := b.weighed(t, ticket.ID, rulings[i].DecisionID)
		wg.Go(func() {
			errs[i] = b.Store.DecideTicket(t.Context(), v, change(v, rulings[i]), b.event(fmt.Sprint("decided-", i)))
		})
	}
	wg.Wait()
	won := -1
	for i, err := range errs {
		if err == nil && won < 0 {
			won = i
			continue
		}
		wantErr(t, err, approval.ErrMoved)
	}
	if won < 0 {
		t.Fatal("nobody decided")
	}
	wantEqual(t, "ruling", b.ticketRow(t, ticket.ID).Ruling, &rulings[won])
	b.wantState(t, ticket, rulings[won].State())
	now := b.read(t, j.ID)
	wantEqual(t, "queued again", now.Status == job.Queued, rulings[won].Approved)
	wantEqual(t, "marks", len(now.Due) == 1, rulings[won].Approved)
	records := 0
	for _, id := range b.audit(t, j.ID) {
		if len(id) > 8 && id[:8] == "decided-" {
			records++
		}
	}
	wantEqual(t, "audit records", records, 1)
}

func noTicketNoDecision(t *testing.T, b *bundle) {
	_, err := b.Store.ReadDecision(t.Context(), approval.NewID(), "shop", "d")
	wantErr(t, err, approval.ErrNotFound)
	row, err := b.Store.ReadTicketRow(t.Context(), approval.NewID())
	must(t, err)
	wantEqual(t, "row", row, nil)
}

func rowOfTicket(t *testing.T, b *bundle) {
	_, f := b.running(t)
	want := b.ticket(f, "h", 5<<20) // too large for an item
	want.RequestID, want.RouteKey, want.Scope, want.Method, want.Path, want.Risk = "r", "orders", "s", "POST", "/p", "high"
	want.Policy, want.Reason, want.Summary, want.Subject, want.ArgsBytes, want.Binding = "risk_high", "risk=high", "sum", "u", 7, "bind"
	want.Claim, want.Round, want.Index = f.Claim, 1, 2
	must(t, b.Store.OpenTicket(t.Context(), f, toolcall.Opening{Ticket: want}, record("waits"), b.event("pending")))
	whole, err := b.Store.ReadTicket(t.Context(), want.ID)
	must(t, err)
	wantEqual(t, "ticket", whole, &want)
	want.Intent = nil
	wantEqual(t, "row", b.ticketRow(t, want.ID), want)
}

func ticketReplaced(t *testing.T, b *bundle) {
	replace := func(f job.Fence, old approval.Ticket) (approval.Ticket, error) {
		next := b.ticket(f, old.ArgsHash, 1)
		return next, b.Store.OpenTicket(t.Context(), f, toolcall.Opening{Ticket: next, Replaces: old.ID}, record("waits"), b.event("again"))
	}
	j, f := b.running(t)
	open, denied, expired, used := b.ask(t, f, "open"), b.ask(t, f, "denied"), b.ask(t, f, "expired"), b.ask(t, f, "used")
	_, err := replace(f, open)
	wantErr(t, err, approval.ErrExists)
	_, err = replace(f, approval.Ticket{ID: 1, ArgsHash: "never asked"})
	wantErr(t, err, approval.ErrExists)
	must(t, b.tryDecide(t.Context(), denied.ID, b.ruling(false)))
	must(t, b.Store.ExpireTicket(t.Context(), &expired, expired.ExpiresAt, b.event("expired")))
	mark := b.approve(t, used)
	other := b.ticket(f, "used", 1)
	must(t, b.Store.DropDue(t.Context(), f, mark, record("x"), b.event("dropped")))
	wantErr(t, b.Store.OpenTicket(t.Context(), f, toolcall.Opening{Ticket: other, Replaces: used.ID}, record("waits"), b.event("again")), approval.ErrExists)
	must(t, b.Store.BeginCall(t.Context(), f, b.use(used), b.event("tool_call")))
	for _, old := range []approval.Ticket{denied, expired, used} {
		wrong := old
		wrong.ID++
		_, err := replace(f, wrong) // only the latest one gives up its place
		wantErr(t, err, approval.ErrExists)
		before := b.ticketRow(t, old.ID)
		next, err := replace(f, old)
		must(t, err)
		wantEqual(t, "lookup", b.view(t, j.ID, old.ArgsHash).Ticket, &approval.Lookup{
			ID: next.ID, State: approval.Pending, ArgsHash: old.ArgsHash, ExpiresAt: next.ExpiresAt,
		})
		wantEqual(t, "the old ticket", b.ticketRow(t, old.ID), before)
		_, err = replace(f, old)
		wantErr(t, err, approval.ErrExists)
	}
}

func askedBesideDue(t *testing.T, b *bundle) {
	j, f := b.running(t)
	b.approve(t, b.ask(t, f, "h1"))
	next := toolcall.Opening{Ticket: b.ticket(f, "h2", 1)}
	wantErr(t, b.Store.OpenTicket(t.Context(), f, next, record("waits"), b.event("again")), job.ErrDue)
	wantEqual(t, "lookup", b.view(t, j.ID, "h2").Ticket, nil)
	late := job.Fence{JobID: j.ID, Claim: f.Claim + 1}
	wantErr(t, b.Store.OpenTicket(t.Context(), late, next, record("waits"), b.event("again")), job.ErrLostClaim)
	next.BesideDue = true
	wantErr(t, b.Store.OpenTicket(t.Context(), late, next, record("waits"), b.event("again")), job.ErrLostClaim)
	must(t, b.Store.OpenTicket(t.Context(), f, next, record("waits"), b.event("again")))
	wantEqual(t, "due", len(b.read(t, j.ID).Due), 1)
}

func toolTickets(t *testing.T, b *bundle) {
	j, f := b.running(t)
	want := map[int64]approval.Lookup{}
	for _, args := range []string{"h1", "h2"} {
		ticket := b.ask(t, f, args)
		want[ticket.ID] = *b.view(t, j.ID, args).Ticket
	}
	other := b.ticket(f, "h1", 1)
	other.Tool = "refund_all"
	must(t, b.Store.OpenTicket(t.Context(), f, toolcall.Opening{Ticket: other}, record("waits"), b.event("pending")))
	found, err := b.Store.ToolTickets(t.Context(), j.ID, "refund")
	must(t, err)
	got := map[int64]approval.Lookup{}
	for _, l := range found {
		got[l.ID] = l
	}
	wantEqual(t, "tickets", got, want)
	none, err := b.Store.ToolTickets(t.Context(), uuid.NewString(), "refund")
	must(t, err)
	wantEqual(t, "tickets of another job", len(none), 0)
}
