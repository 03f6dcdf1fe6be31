package approval_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"bailing/shared/approval"
	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/model"
)

// answer is what one of several decisions came to.
type answer struct {
	approval.Decided
	err error
}

// together makes decisions at once.
func together(o *office, ticket *approval.Ticket, rulings ...approval.Ruling) []answer {
	got := make([]answer, len(rulings))
	var wg sync.WaitGroup
	for i, r := range rulings {
		wg.Go(func() { got[i].Decided, got[i].err = o.clerk.Decide(o.t.Context(), ticket, r) })
	}
	wg.Wait()
	return got
}

// finishes runs the job until it has ended again and checks that the call was made as often as it should.
func (o *office) finishes(jobID string, calls int) {
	o.t.Helper()
	before := len(o.Business.Sent())
	if calls > 0 {
		o.Model.Then(jobtest.Say("refunded"))
	}
	o.Deliver()
	if j := o.Job(jobID); j.Status != job.Done || len(j.Due) != 0 || j.Head {
		o.t.Fatalf("the job is %s with %v: %s", j.Status, j.Due, j.Error)
	}
	if n := len(o.Business.Sent()) - before; n != calls {
		o.t.Fatalf("%d calls, want %d", n, calls)
	}
}

// I9: the same decision, delivered three times at once, is one.
func TestSameDecisionThreeTimesAtOnce(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	for i := range rounds(t) {
		ticket, approved := o.waiting(), i%2 == 0
		r := ruling(approved, ticket.JobID)
		made := 0
		for _, a := range together(o, ticket, r, r, r) {
			switch {
			case a.err != nil || a.ID != ticket.ID || a.State != r.State() || a.DecisionID != r.DecisionID:
				t.Fatalf("round %d: %+v", i, a)
			case !a.Idempotent:
				made++
				if a.Rerun != approved {
					t.Fatalf("round %d: %+v", i, a)
				}
			case a.Rerun:
				t.Fatalf("round %d: a repeated decision queued the job: %+v", i, a)
			}
		}
		if made != 1 || o.named(ticket.JobID, "tool_approved_external")+o.named(ticket.JobID, "tool_denied_external") != 1 {
			t.Fatalf("round %d: made %d times", i, made)
		}
		o.row(ticket.ID)
		o.finishes(ticket.JobID, map[bool]int{true: 1}[approved])
	}
}

func TestApprovalAgainstDenial(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	for i := range rounds(t) {
		ticket := o.waiting()
		yes, no := ruling(true, ticket.JobID+"-yes"), ruling(false, ticket.JobID+"-no")
		if i%3 == 0 { // a decision of the console
			no.DecisionID = ""
		}
		got := together(o, ticket, yes, no)
		if (got[0].err == nil) == (got[1].err == nil) {
			t.Fatalf("round %d: %+v", i, got)
		}
		winner, loser := yes, got[1].err
		if got[0].err != nil {
			winner, loser = no, got[0].err
		}
		if c := conflict(t, loser); c != (approval.Conflict{State: winner.State(), DecisionID: winner.DecisionID}) {
			t.Fatalf("round %d: %+v, want the winner %+v", i, c, winner)
		}
		if row := o.row(ticket.ID); row.State != winner.State() || row.Ruling.DecisionID != winner.DecisionID {
			t.Fatalf("round %d: %+v", i, row)
		}
		o.finishes(ticket.JobID, map[bool]int{true: 1}[winner.Approved])
	}
}

func TestOneDecisionIDForTwoTickets(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	for i := range rounds(t) {
		first, second := o.waiting(), o.waiting()
		r := ruling(i%2 == 0, first.JobID)
		got := make([]answer, 2)
		var wg sync.WaitGroup
		for k, ticket := range []*approval.Ticket{first, second} {
			wg.Go(func() { got[k].Decided, got[k].err = o.clerk.Decide(t.Context(), ticket, r) })
		}
		wg.Wait()
		if (got[0].err == nil) == (got[1].err == nil) {
			t.Fatalf("round %d: %+v", i, got)
		}
		won, lost, err := first, second, got[1].err
		if got[0].err != nil {
			won, lost, err = second, first, got[0].err
		}
		if c := conflict(t, err); c != (approval.Conflict{DecisionID: r.DecisionID, TicketID: won.ID}) {
			t.Fatalf("round %d: %+v", i, c)
		}
		if o.row(won.ID).State != r.State() || o.row(lost.ID).State != approval.Pending || o.Job(lost.JobID).Status != job.Done {
			t.Fatalf("round %d: the loser's ticket is %s", i, o.row(lost.ID).State)
		}
		o.finishes(won.JobID, map[bool]int{true: 1}[r.Approved])
	}
}

// The clocks of the two differ, so that each thinks that it is in time.
func TestDecisionAgainstExpiry(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	for i := range rounds(t) {
		_, ticket := o.under()
		late := at(ticket.ExpiresAt)
		var got [2]answer
		var expired error
		var wg sync.WaitGroup
		wg.Go(func() {
			got[0].Decided, got[0].err = o.clerk.Decide(t.Context(), ticket, ruling(i%2 == 0, ticket.JobID))
		})
		wg.Go(func() { // the same decision, delivered twice
			got[1].Decided, got[1].err = o.clerkAt(late).Decide(t.Context(), ticket, ruling(i%2 == 0, ticket.JobID))
		})
		wg.Go(func() { expired = o.keeperAt(late).Expire(t.Context(), ticket.ID) })
		wg.Wait()
		row := o.row(ticket.ID)
		for k, a := range got {
			if row.State != approval.Expired && (a.err != nil || a.Idempotent != (k == 1)) {
				t.Fatalf("round %d: the ticket is %s, decision %d: %+v", i, row.State, k, a)
			}
			if row.State == approval.Expired && conflict(t, a.err) != (approval.Conflict{State: approval.Expired}) {
				t.Fatalf("round %d: the ticket has expired, decision %d: %+v", i, k, a)
			}
		}
		if expired != nil || row.State == approval.Pending {
			t.Fatalf("round %d: %s, expiry %v", i, row.State, expired)
		}
		if n := o.named(ticket.JobID, "tool_approval_expired"); (n == 1) != (row.State == approval.Expired) {
			t.Fatalf("round %d: %d expiries recorded, the ticket is %s", i, n, row.State)
		}
		if marks := len(o.Job(ticket.JobID).Due); (marks == 1) != (row.State == approval.Approved) {
			t.Fatalf("round %d: %d marks, the ticket is %s", i, marks, row.State)
		}
	}
}

// A decision that comes before the token of the wait, after it, or with it: the wait is ended, without the sweeper.
func TestDecisionAgainstTheTokenOfItsWait(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	for i := range rounds(t) {
		_, ticket := o.under()
		token := "token-" + ticket.JobID
		var held, decided error
		var wg sync.WaitGroup
		wg.Go(func() { held = o.keeper.Hold(t.Context(), ticket.ID, token) })
		wg.Go(func() { _, decided = o.clerk.Decide(t.Context(), ticket, ruling(i%2 == 0, ticket.JobID)) })
		wg.Wait()
		if held != nil || decided != nil {
			t.Fatalf("round %d: %v, %v", i, held, decided)
		}
		if row := o.row(ticket.ID); row.Token != "" || !slices.Contains(o.waits.tokens(), token) {
			t.Fatalf("round %d: token %q, released %v", i, row.Token, o.waits.tokens())
		}
	}
}

// Whichever comes first, the approved call is made, and made once.
func TestDecisionAgainstTheEndOfTheJob(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	reruns := 0
	for i := range rounds(t) {
		id, last := o.launch(), make(chan *approval.Ticket, 1)
		o.Model.Then(jobtest.Call(jobtest.Wish{Tool: "refund", Args: `{"order":"SO-1"}`}), func(r model.Request) (model.Response, error) {
			found, err := o.Store.JobTickets(t.Context(), id, 1)
			if err != nil || len(found) != 1 {
				found = make([]approval.Ticket, 1) // which nobody finds
			}
			last <- &found[0] // from now on the job is about to end
			return jobtest.Say("it waits for approval")(r)
		})
		var got answer
		var ran error
		var wg sync.WaitGroup
		wg.Go(func() { ran = o.Runner.Run(t.Context(), id) })
		wg.Go(func() { got.Decided, got.err = o.clerk.Decide(t.Context(), <-last, ruling(true, id)) })
		wg.Wait()
		if got.err != nil || ran != nil {
			t.Fatalf("round %d: %v, %v", i, got.err, ran)
		}
		if j := o.Job(id); j.Status != job.Queued || len(j.Due) != 1 {
			t.Fatalf("round %d: the job is %s with %v", i, j.Status, j.Due)
		}
		if got.Rerun {
			reruns++
		}
		o.finishes(id, 1)
	}
	t.Logf("%d of %d decisions came after the end of the job", reruns, rounds(t))
}

// Decisions about jobs of one thread at once: none is lost, and the jobs run by age.
func TestDecisionsInOneThread(t *testing.T) {
	t.Parallel()
	const many = 5
	for range max(1, rounds(t)/20) {
		o := openOffice(t)
		r := jobtest.SupportRoute()
		r.SessionPolicy, r.SessionFixedID = "fixed", "desk"
		o.SaveRoute(r)
		var asked []*approval.Ticket
		for range many {
			asked = append(asked, o.waiting())
			o.Clock.Advance(1e9)
		}
		got := make([]answer, many)
		var wg sync.WaitGroup
		for i, ticket := range asked {
			wg.Go(func() { got[i].Decided, got[i].err = o.clerk.Decide(t.Context(), ticket, ruling(true, fmt.Sprint(i))) })
		}
		wg.Wait()
		for i, a := range got {
			if a.err != nil || !a.Rerun {
				t.Fatalf("decision %d: %+v", i, a)
			}
		}
		o.Queue.Take()
		for i, ticket := range asked { // each in its turn, the oldest first
			for later := many - 1; later > i; later-- {
				if _, err := o.Lifecycle.Claim(t.Context(), asked[later].JobID, "w"); !errors.Is(err, job.ErrNotClaimable) {
					t.Fatalf("job %d before job %d: %v", later, i, err)
				}
			}
			o.Model.Then(jobtest.Say("refunded"))
			o.Run(t.Context(), ticket.JobID)
			if j := o.Job(ticket.JobID); j.Status != job.Done {
				t.Fatalf("job %d is %s: %s", i, j.Status, j.Error)
			}
		}
		if n := len(o.Business.Sent()); n != many {
			t.Fatalf("%d calls", n)
		}
	}
}
