package approval_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"bailing/shared/approval"
	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/registry"
)

// The table of core §6.5, for a ticket whose job has ended.
func TestDecisionsAreAnsweredAsTheStateOfTheTicketSays(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	for _, approved := range []bool{true, false} {
		ticket := o.waiting()
		id := ticket.JobID + "-1"
		want := approval.Decided{ID: ticket.ID, State: ruling(approved, id).State(), DecisionID: id, Rerun: approved}
		got, err := o.clerk.Decide(t.Context(), ticket, ruling(approved, id))
		if err != nil || got != want {
			t.Fatalf("pending: %+v, %v, want %+v", got, err, want)
		}
		same := func(when string) {
			t.Helper()
			again := want
			again.Idempotent, again.Rerun = true, false
			if got, err := o.clerk.Decide(t.Context(), ticket, ruling(approved, id)); err != nil || got != again {
				t.Errorf("the same decision %s: %+v, %v, want %+v", when, got, err, again)
			}
		}
		same("at once")
		winner := approval.Conflict{State: want.State, DecisionID: id}
		for rule, r := range map[string]approval.Ruling{
			"the same decision with another id":     ruling(approved, id+"x"),
			"the opposite decision with another id": ruling(!approved, id+"y"),
			"the opposite decision":                 ruling(!approved, id),
			"the same decision without an id":       ruling(approved, ""),
		} {
			if _, err := o.clerk.Decide(t.Context(), ticket, r); conflict(t, err) != winner {
				t.Errorf("%s: %v, want %+v", rule, err, winner)
			}
		}
		other := o.waiting()
		for _, r := range []approval.Ruling{ruling(approved, id), ruling(!approved, id)} {
			if _, err := o.clerk.Decide(t.Context(), other, r); conflict(t, err) != (approval.Conflict{DecisionID: id, TicketID: ticket.ID}) {
				t.Errorf("the id of another ticket's decision: %v", err)
			}
		}
		// What became of the ticket comes first: the rows of the table are in this order.
		denied, theirs := o.waiting(), ticket.JobID+"-theirs"
		if _, err := o.clerk.Decide(t.Context(), denied, ruling(false, theirs)); err != nil {
			t.Fatal(err)
		}
		if _, err := o.clerk.Decide(t.Context(), denied, ruling(false, id)); conflict(t, err) != (approval.Conflict{State: approval.Denied, DecisionID: theirs}) {
			t.Errorf("the id of another ticket's decision for a decided ticket: %v", err)
		}
		if o.row(other.ID).State != approval.Pending {
			t.Error("a ticket was decided with another one's id")
		}
		if n := o.named(ticket.JobID, map[bool]string{true: "tool_approved_external", false: "tool_denied_external"}[approved]); n != 1 {
			t.Errorf("%d audit records of the decision", n)
		}
		if n, j := o.named(ticket.JobID, "rerun"), o.Job(ticket.JobID); (n == 1) != approved || (j.Status == job.Queued) != approved {
			t.Errorf("approved %v: %d reruns recorded, the job is %s", approved, n, j.Status)
		}
		o.Clock.Advance(8 * 24 * time.Hour) // past every deadline
		same("after the deadline")
	}
}

func TestDecisionOfTheConsoleHasNoID(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	for _, approved := range []bool{true, false} {
		ticket, r := o.waiting(), ruling(approved, "")
		r.Auth = "console:ada"
		if got, err := o.clerk.Decide(t.Context(), ticket, r); err != nil || got.Idempotent || got.Rerun != approved {
			t.Fatalf("%+v, %v", got, err)
		}
		for _, again := range []approval.Ruling{r, ruling(approved, "late-"+ticket.JobID), ruling(!approved, "")} {
			if _, err := o.clerk.Decide(t.Context(), ticket, again); conflict(t, err) != (approval.Conflict{State: r.State()}) {
				t.Errorf("%v", err)
			}
		}
		name := map[bool]string{true: "tool_approved", false: "tool_denied"}[approved]
		e := o.Events(ticket.JobID, name)
		if len(e) != 1 || e[0].Detail["auth"] != "console:ada" || e[0].Detail["decision_id"] != nil || e[0].Stage != "approval" {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

func TestDecisionIDsAreEachOwnersOwn(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	first := o.waiting()
	o.token = o.SaveClient(registry.Client{AppID: "other", AllowedRoutes: []string{"*"}, Enabled: true})
	second := o.waiting()
	for _, ticket := range []*approval.Ticket{first, second} {
		if got, err := o.clerk.Decide(t.Context(), ticket, ruling(true, "dec-1")); err != nil || got.Idempotent {
			t.Errorf("%s: %+v, %v", ticket.Owner, got, err)
		}
	}
}

func TestDecisionOfATicketThatIsNotThere(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	if _, err := o.clerk.Decide(t.Context(), &approval.Ticket{ID: approval.NewID()}, ruling(true, "d")); !errors.Is(err, approval.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

func TestDecisionUpToTheDeadline(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	_, ticket := o.under()
	o.Clock.Advance(time.Hour - time.Millisecond)
	if got, err := o.clerk.Decide(t.Context(), ticket, ruling(true, "d1")); err != nil || got.State != approval.Approved {
		t.Errorf("a millisecond before: %+v, %v", got, err)
	}
	_, ticket = o.under()
	o.Clock.Advance(time.Hour)
	for range 2 { // it is written down by the first
		if _, err := o.clerk.Decide(t.Context(), ticket, ruling(true, "d2")); conflict(t, err) != (approval.Conflict{State: approval.Expired}) {
			t.Errorf("at the deadline: %v", err)
		}
	}
	if row := o.row(ticket.ID); row.State != approval.Expired || !row.EndAt.Equal(o.Clock.Now()) || row.Ruling != nil {
		t.Errorf("%+v", row)
	}
	if n := o.named(ticket.JobID, "tool_approval_expired"); n != 1 {
		t.Errorf("%d audit records", n)
	}
	if j := o.Job(ticket.JobID); len(j.Due) != 0 {
		t.Errorf("marks %v", j.Due)
	}
	// The id of a decision that was not made is free.
	_, free := o.under()
	if _, err := o.clerk.Decide(t.Context(), free, ruling(true, "d2")); err != nil {
		t.Error(err)
	}
}

// A clock that is ahead must not make a decision of its own out of one that was made in time.
func TestDecisionByAClockThatIsAheadNamesTheWinner(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	_, ticket := o.under()
	if _, err := o.clerk.Decide(t.Context(), ticket, ruling(true, "d")); err != nil {
		t.Fatal(err)
	}
	ahead := o.clerkAt(at(ticket.ExpiresAt.Add(time.Minute)))
	if got, err := ahead.Decide(t.Context(), ticket, ruling(true, "d")); err != nil || !got.Idempotent {
		t.Errorf("the same decision: %+v, %v", got, err)
	}
	if _, err := ahead.Decide(t.Context(), ticket, ruling(false, "e")); conflict(t, err).DecisionID != "d" {
		t.Errorf("another decision: %v", err)
	}
	if o.row(ticket.ID).State != approval.Approved {
		t.Error("a refused decision changed the ticket")
	}
}

// What was approved is what runs, once, and its job ends a second time (core §6.7).
func TestApprovedJobMakesTheFrozenCallAndGoesOn(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	ticket := o.waiting()
	if len(o.Business.Sent()) != 0 {
		t.Fatal("something was sent before the approval")
	}
	first := o.Notices.Take()
	if got, err := o.clerk.Decide(t.Context(), ticket, ruling(true, "d")); err != nil || !got.Rerun {
		t.Fatalf("%+v, %v", got, err)
	}
	if m := o.Queue.Take(); len(m) != 1 || m[0].JobID != ticket.JobID || m[0].Delay != 0 {
		t.Fatalf("messages %v", m)
	}
	o.Model.Then(jobtest.Say("refunded"))
	o.Run(t.Context(), ticket.JobID)
	sent := o.Business.Sent()
	if len(sent) != 1 || sent[0].Method != "PUT" || string(sent[0].Body) != `{"order":"SO-1"}` {
		t.Fatalf("sent %+v", sent)
	}
	if j := o.Job(ticket.JobID); j.Status != job.Done || len(j.Due) != 0 {
		t.Errorf("the job is %s with %v", j.Status, j.Due)
	}
	if row := o.row(ticket.ID); row.State != approval.Approved || row.UsedAt.IsZero() {
		t.Errorf("%+v", row)
	}
	second := o.Notices.Take()
	if len(first) != 1 || len(second) != 1 || first[0].Key.Terminal != 1 || second[0].Key.Terminal != 2 {
		t.Errorf("callbacks %v, %v", first, second)
	}
}

func TestApprovalOfAJobUnderWayIsMadeBeforeItsEnd(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	f, ticket := o.under()
	if got, err := o.clerk.Decide(t.Context(), ticket, ruling(true, "d")); err != nil || got.Rerun || got.State != approval.Approved {
		t.Fatalf("%+v, %v", got, err)
	}
	if m := o.Queue.Take(); len(m) != 0 {
		t.Errorf("messages %v", m)
	}
	if err := o.Lifecycle.Finish(t.Context(), f, job.Outcome{Status: job.Done, Result: []byte(`{}`)}); err != nil {
		t.Fatal(err)
	}
	if j := o.Job(f.JobID); j.Status != job.Queued || !j.Head || j.Attempts != 0 || j.Recoveries != 0 || !slices.Equal(j.Due, []job.DueTicket{{ID: ticket.ID, ExpiresAt: ticket.ExpiresAt}}) {
		t.Errorf("%+v", j)
	}
	if m := o.Queue.Take(); len(m) != 1 || m[0].JobID != f.JobID {
		t.Errorf("messages %v", m)
	}
	if o.named(f.JobID, "finished") != 0 || len(o.Notices.Take()) != 0 {
		t.Error("the job ended")
	}
}

func TestSeveralTicketsOfOneJob(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	id := o.launch()
	o.Model.Then(jobtest.Call(
		jobtest.Wish{Tool: "refund", Args: `{"order":"SO-1"}`}, jobtest.Wish{Tool: "refund", Args: `{"order":"SO-2"}`}, jobtest.Wish{Tool: "refund", Args: `{"order":"SO-3"}`},
	), jobtest.Say("they wait"))
	o.Run(t.Context(), id)
	found, err := o.Store.JobTickets(t.Context(), id, 10)
	if err != nil || len(found) != 3 {
		t.Fatalf("%d tickets, %v", len(found), err)
	}
	for i, want := range []approval.Decided{{Rerun: true}, {}, {}} { // the first queues the job; another one is approved, one denied
		got, err := o.clerk.Decide(t.Context(), &found[i], ruling(i < 2, found[i].ArgsHash))
		if err != nil || got.Rerun != want.Rerun {
			t.Fatalf("ticket %d: %+v, %v", i, got, err)
		}
	}
	o.Model.Then(jobtest.Say("two were refunded"))
	o.Queue.Take()
	o.Run(t.Context(), id)
	bodies := map[string]int{}
	for _, r := range o.Business.Sent() {
		bodies[string(r.Body)]++
	}
	if j := o.Job(id); j.Status != job.Done || len(bodies) != 2 || len(o.Business.Sent()) != 2 {
		t.Errorf("the job is %s, sent %v", j.Status, bodies)
	}
	if o.named(id, "rerun") != 1 {
		t.Error("the job was queued again more than once")
	}
}

// The hints of a decision may be lost.
func TestDecisionWithoutQueueAndWaits(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	ticket := o.waiting()
	if err := o.keeper.Hold(t.Context(), ticket.ID, "token"); err != nil {
		t.Fatal(err)
	}
	down := errors.New("down")
	o.Queue.Fail(down)
	o.waits.broken(down)
	if got, err := o.clerk.Decide(t.Context(), ticket, ruling(true, "d")); err != nil || !got.Rerun {
		t.Fatalf("%+v, %v", got, err)
	}
	if row := o.row(ticket.ID); row.Token != "token" {
		t.Errorf("token %q is forgotten, and its wait was not told", row.Token)
	}
	o.Queue.Fail(nil)
	o.waits.broken(nil)
	o.Clock.Advance(job.ResendAfter)
	o.World.Sweep()
	if m := o.Queue.Take(); len(m) != 1 || m[0].JobID != ticket.JobID {
		t.Errorf("messages %v", m)
	}
	if n, err := o.keeper.Sweep(t.Context()); err != nil || n.Released != 1 {
		t.Errorf("%+v, %v", n, err)
	}
	if got := o.waits.tokens(); !slices.Equal(got, []string{"token"}) || o.row(ticket.ID).Token != "" {
		t.Errorf("released %v", got)
	}
}

func TestDecisionEndsItsWait(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	for _, approved := range []bool{true, false} {
		_, ticket := o.under()
		token := "token-" + ticket.JobID
		if err := o.keeper.Hold(t.Context(), ticket.ID, token); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := o.clerk.Decide(t.Context(), ticket, ruling(approved, ticket.JobID)); err != nil {
				t.Fatal(err)
			}
		}
		if got := o.waits.tokens(); !slices.Equal(got, []string{token}) {
			t.Errorf("released %v", got)
		}
		if row := o.row(ticket.ID); row.Token != "" {
			t.Errorf("token %q", row.Token)
		}
		o.waits.released = nil
	}
}

// A stopped hub decides, and does not run.
func TestDecisionWhileTheHubIsPaused(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	ticket := o.waiting()
	o.Pause(true)
	if got, err := o.clerk.Decide(t.Context(), ticket, ruling(true, "d")); err != nil || !got.Rerun {
		t.Fatalf("%+v, %v", got, err)
	}
	o.Deliver()
	if len(o.Business.Sent()) != 0 || o.Job(ticket.JobID).Status != job.Queued {
		t.Error("the job ran")
	}
	o.Pause(false)
	o.Clock.Advance(job.ResendAfter)
	o.World.Sweep()
	o.Model.Then(jobtest.Say("refunded"))
	o.Deliver()
	if len(o.Business.Sent()) != 1 || o.Job(ticket.JobID).Status != job.Done {
		t.Errorf("%d calls, the job is %s", len(o.Business.Sent()), o.Job(ticket.JobID).Status)
	}
}
