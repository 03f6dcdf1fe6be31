package approval_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bailing/shared/approval"
	"bailing/shared/job"
)

func TestNotifyTellsOfOpenTicketsOnly(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	f, open := o.under()
	decided, late := o.ask(f, "h2"), o.ask(f, "h3")
	if _, err := o.clerk.Decide(t.Context(), decided, ruling(false, "d")); err != nil {
		t.Fatal(err)
	}
	for range 2 { // it may run twice: the teller is told twice, and knows
		for _, id := range []int64{open.ID, decided.ID} {
			if err := o.keeper.Notify(t.Context(), id); err != nil {
				t.Error(err)
			}
		}
	}
	o.Clock.Advance(time.Hour)
	if err := o.keeper.Notify(t.Context(), late.ID); err != nil {
		t.Error(err)
	}
	if !slices.Equal(o.teller.told, []int64{open.ID, open.ID}) {
		t.Errorf("told of %v, want %d twice", o.teller.told, open.ID)
	}
	if err := o.keeper.Notify(t.Context(), approval.NewID()); !errors.Is(err, approval.ErrNotFound) {
		t.Errorf("absent: %v", err)
	}
	_, next := o.under()
	o.teller.fail = errors.New("down")
	if err := o.keeper.Notify(t.Context(), next.ID); !errors.Is(err, o.teller.fail) {
		t.Errorf("the receiver is down: %v", err)
	}
}

func TestHoldKeepsTheTokenUntilSomebodyDecides(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	f, ticket := o.under()
	for _, token := range []string{"first", "first", "second"} { // a task that is tried again has another token
		if err := o.keeper.Hold(t.Context(), ticket.ID, token); err != nil || o.row(ticket.ID).Token != token {
			t.Errorf("%v, token %q", err, o.row(ticket.ID).Token)
		}
	}
	if n := o.waits.tokens(); len(n) != 0 {
		t.Errorf("released %v", n)
	}
	// Somebody decided before the token came, or nobody did in time: the wait ends at once.
	for i, decide := range []func(*approval.Ticket){
		func(ticket *approval.Ticket) { _, _ = o.clerk.Decide(t.Context(), ticket, ruling(true, "d1")) },
		func(ticket *approval.Ticket) { _, _ = o.clerk.Decide(t.Context(), ticket, ruling(false, "d2")) },
		func(*approval.Ticket) { o.Clock.Advance(time.Hour) },
	} {
		ticket, token := o.ask(f, fmt.Sprint("h", i)), fmt.Sprint("late-", i)
		decide(ticket)
		if err := o.keeper.Hold(t.Context(), ticket.ID, token); err != nil {
			t.Error(err)
		}
		row := o.row(ticket.ID)
		if row.Token != "" || row.State == approval.Pending || !slices.Contains(o.waits.tokens(), token) {
			t.Errorf("case %d: %s with token %q, released %v", i, row.State, row.Token, o.waits.tokens())
		}
	}
	if err := o.keeper.Hold(t.Context(), approval.NewID(), "x"); !errors.Is(err, approval.ErrNotFound) {
		t.Errorf("absent: %v", err)
	}
	decided := o.ask(f, "decided")
	if _, err := o.clerk.Decide(t.Context(), decided, ruling(false, "d3")); err != nil {
		t.Fatal(err)
	}
	o.waits.broken(errors.New("down"))
	if err := o.keeper.Hold(t.Context(), decided.ID, "x"); err == nil {
		t.Error("a wait that could not be ended is no success")
	}
}

func TestExpireAtTheDeadline(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	f, ticket := o.under()
	approved, denied := o.ask(f, "approved"), o.ask(f, "denied")
	for _, r := range []struct {
		*approval.Ticket
		approved bool
	}{{approved, true}, {denied, false}} {
		if _, err := o.clerk.Decide(t.Context(), r.Ticket, ruling(r.approved, r.ArgsHash)); err != nil {
			t.Fatal(err)
		}
	}
	behind := o.keeperAt(at(ticket.ExpiresAt.Add(-time.Millisecond)))
	if err := behind.Expire(t.Context(), ticket.ID); !errors.Is(err, approval.ErrNotDue) || o.row(ticket.ID).State != approval.Pending {
		t.Errorf("by a clock that is behind: %v", err)
	}
	ahead := o.keeperAt(at(ticket.ExpiresAt))
	for range 2 {
		for _, id := range []int64{ticket.ID, approved.ID, denied.ID} {
			if err := ahead.Expire(t.Context(), id); err != nil {
				t.Error(err)
			}
		}
	}
	if row := o.row(ticket.ID); row.State != approval.Expired || !row.EndAt.Equal(ticket.ExpiresAt) {
		t.Errorf("%+v", row)
	}
	if o.row(approved.ID).State != approval.Approved || o.row(denied.ID).State != approval.Denied {
		t.Error("a wait ended a ticket that was decided")
	}
	if n := o.named(ticket.JobID, "tool_approval_expired"); n != 1 {
		t.Errorf("%d audit records", n)
	}
	if err := ahead.Expire(t.Context(), approval.NewID()); !errors.Is(err, approval.ErrNotFound) {
		t.Errorf("absent: %v", err)
	}
}

func (o *office) sweep() approval.Swept {
	o.t.Helper()
	n, err := o.keeper.Sweep(o.t.Context())
	if err != nil {
		o.t.Fatal(err)
	}
	return n
}

func TestSweeperStartsAWaitThatWasLost(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	_, ticket := o.under()
	o.Clock.Advance(approval.StartAfter - time.Millisecond)
	if n := o.sweep(); n != (approval.Swept{}) {
		t.Errorf("too early: %+v", n)
	}
	o.Clock.Advance(time.Millisecond)
	o.waits.broken(errors.New("down"))
	if n := o.sweep(); n.Started != 0 || n.Looked != 1 {
		t.Errorf("%+v", n)
	}
	o.waits.broken(nil)
	if n := o.sweep(); n.Started != 1 || !o.waits.started[ticket.ID].Equal(ticket.ExpiresAt) {
		t.Errorf("%+v, started %v", n, o.waits.started)
	}
	if n := o.sweep(); n.Looked != 0 {
		t.Errorf("again at once: %+v", n)
	}
	// An execution that died left no token. It is looked after again and again, until there is one.
	o.Clock.Advance(10 * time.Minute)
	if n := o.sweep(); n.Started != 1 {
		t.Errorf("%+v", n)
	}
	if err := o.keeper.Hold(t.Context(), ticket.ID, "token"); err != nil {
		t.Fatal(err)
	}
	o.Clock.Advance(10 * time.Minute)
	if n := o.sweep(); n.Started != 0 || n.Looked != 1 {
		t.Errorf("with a token: %+v", n)
	}
	o.Clock.Advance(ticket.ExpiresAt.Sub(o.Clock.Now()) - time.Millisecond)
	if n := o.sweep(); n.Looked != 0 {
		t.Errorf("before the deadline: %+v", n)
	}
	// The execution was lost, token and all: the sweeper is the clock.
	o.Clock.Advance(time.Millisecond)
	if n := o.sweep(); n.Expired != 1 {
		t.Errorf("at the deadline: %+v", n)
	}
	for n := o.sweep(); n.Looked > 0; n = o.sweep() {
	}
	if row := o.row(ticket.ID); row.State != approval.Expired || row.Token != "" || !slices.Equal(o.waits.tokens(), []string{"token"}) {
		t.Errorf("%+v, released %v", row, o.waits.tokens())
	}
}

func TestSweeperEndsApprovedTicketsThatNobodyUsed(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	f, ticket := o.under()
	if _, err := o.clerk.Decide(t.Context(), ticket, ruling(true, "d")); err != nil {
		t.Fatal(err)
	}
	if n := o.sweep(); n.Looked != 1 || n.Expired != 0 {
		t.Errorf("%+v", n)
	}
	o.Clock.Advance(time.Hour - time.Millisecond)
	if n := o.sweep(); n.Looked != 0 {
		t.Errorf("before the deadline: %+v", n)
	}
	o.Clock.Advance(time.Millisecond)
	if n := o.sweep(); n.Expired != 1 {
		t.Errorf("at the deadline: %+v", n)
	}
	o.sweep()
	if n := o.sweep(); n.Looked != 0 || o.row(ticket.ID).State != approval.Expired {
		t.Errorf("%+v, the ticket is %s", n, o.row(ticket.ID).State)
	}
	e := o.Events(f.JobID, "tool_approval_expired")
	if len(e) != 1 || e[0].Detail["from"] != "approved" {
		t.Errorf("%+v", e)
	}
}

func TestSweeperLeavesAUsedTicketAlone(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	f, ticket := o.under()
	if _, err := o.clerk.Decide(t.Context(), ticket, ruling(true, "d")); err != nil {
		t.Fatal(err)
	}
	o.sweep()
	use := approval.Use{
		ID: ticket.ID, JobID: f.JobID, Tool: ticket.Tool, ArgsHash: ticket.ArgsHash, Round: 1, Now: o.Clock.Now(),
		Due: job.DueTicket{ID: ticket.ID, ExpiresAt: ticket.ExpiresAt}.Mark(),
	}
	if err := o.Store.BeginCall(t.Context(), f, &use, o.event("tool_call")); err != nil {
		t.Fatal(err)
	}
	o.Clock.Advance(time.Hour)
	if n := o.sweep(); n.Looked != 1 || n.Expired != 0 {
		t.Errorf("%+v", n)
	}
	if n := o.sweep(); n.Looked != 0 || o.row(ticket.ID).State != approval.Approved {
		t.Errorf("%+v, the ticket is %s", n, o.row(ticket.ID).State)
	}
}

// One ticket that cannot be moved does not keep the others waiting.
func TestSweeperGoesOn(t *testing.T) {
	t.Parallel()
	o := openOffice(t)
	f, first := o.under()
	all := []*approval.Ticket{first}
	for i := range 5 {
		all = append(all, o.ask(f, fmt.Sprint("h", i)))
	}
	o.Clock.Advance(approval.StartAfter)
	k := o.keeperAt(o.Clock)
	k.Waits = &picky{waits: o.waits, not: all[2].ID}
	if n, err := k.Sweep(t.Context()); err != nil || n.Looked != len(all) || n.Started != len(all)-1 {
		t.Errorf("%+v, %v", n, err)
	}
}

// picky starts no wait for one ticket.
type picky struct {
	*waits
	not int64
}

func (p *picky) Start(ctx context.Context, id int64, deadline time.Time) error {
	if id == p.not {
		return errors.New("down")
	}
	return p.waits.Start(ctx, id, deadline)
}

// The steps of a ticket's life in every order, with some of them lost: the row decides what each does, and in the end nothing waits.
func TestWaitsAndDecisionsInEveryOrder(t *testing.T) {
	t.Parallel()
	steps := []string{"notify", "hold", "decide", "deadline", "expire", "sweep"}
	all := orders(steps)
	if rounds(t) < 1000 { // 11 is no divisor of how they are generated
		var some [][]string
		for i := 0; i < len(all); i += 11 {
			some = append(some, all[i])
		}
		all = some
	}
	for part := range 4 {
		t.Run(fmt.Sprint("part ", part), func(t *testing.T) {
			t.Parallel()
			o := openOffice(t)
			var f job.Fence
			for i := part; i < len(all); i += 4 {
				if i/4%20 == 0 {
					f, _ = o.under() // whose ticket waits for ever: the clocks of the others are their own
				}
				for _, approved := range []bool{true, false} {
					o.lives(f, fmt.Sprint(i, approved), all[i], approved)
				}
			}
		})
	}
}

// orders are the arrangements of steps with at most one of them left out, in which "hold" comes after "notify" as in the machine.
func orders(steps []string) (all [][]string) {
	var extend func(prefix []string)
	extend = func(prefix []string) {
		if len(prefix) >= len(steps)-1 {
			all = append(all, slices.Clone(prefix))
		}
		for _, s := range steps {
			if !slices.Contains(prefix, s) && (s != "notify" || !slices.Contains(prefix, "hold")) {
				extend(append(prefix, s))
			}
		}
	}
	extend(nil)
	return all
}

func (o *office) lives(f job.Fence, args string, order []string, approved bool) {
	t := o.t
	t.Helper()
	ticket, token := o.ask(f, args), "token-"+args
	clk := &moving{now: ticket.CreatedAt}
	keeper, clerk := o.keeperAt(clk), o.clerkAt(clk)
	what := fmt.Sprintf("%s, approved %v", strings.Join(order, " "), approved)
	decided := false
	var ruled error
	for _, step := range order {
		var err error
		switch step {
		case "notify":
			err = keeper.Notify(t.Context(), ticket.ID)
		case "hold":
			err = keeper.Hold(t.Context(), ticket.ID, token)
		case "decide":
			_, ruled = clerk.Decide(t.Context(), ticket, ruling(approved, args))
			decided = true
		case "deadline":
			clk.now = ticket.ExpiresAt
		case "expire":
			if err = keeper.Expire(t.Context(), ticket.ID); errors.Is(err, approval.ErrNotDue) && clk.now.Before(ticket.ExpiresAt) {
				err = nil
			}
		case "sweep":
			_, err = keeper.Sweep(t.Context())
		}
		if err != nil {
			t.Fatalf("%s: %s: %v", what, step, err)
		}
	}
	inTime := decided && (!slices.Contains(order, "deadline") || slices.Index(order, "decide") < slices.Index(order, "deadline"))
	switch {
	case decided && inTime && ruled != nil, decided && !inTime && conflict(t, ruled).State != approval.Expired:
		t.Fatalf("%s: decision: %v", what, ruled)
	}
	// Whatever was lost, the sweeper ends it.
	clk.now = ticket.ExpiresAt
	for range 4 {
		if _, err := keeper.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := keeper.Sweep(t.Context()); err != nil || n.Looked != 0 {
		t.Fatalf("%s: the sweeper finds no end: %+v, %v", what, n, err)
	}
	row := o.row(ticket.ID)
	want := approval.Expired // also of an approved ticket that nobody used
	if inTime && !approved {
		want = approval.Denied
	}
	held := slices.Contains(order, "hold")
	if row.State != want || row.Token != "" || (row.Ruling != nil) != inTime || held != slices.Contains(o.waits.tokens(), token) {
		t.Fatalf("%s: %s with token %q, ruling %v, released %v", what, row.State, row.Token, row.Ruling, o.waits.tokens())
	}
}

// moving is a clock of one ticket.
type moving struct{ now time.Time }

func (m *moving) Now() time.Time                         { return m.now }
func (m *moving) After(d time.Duration) <-chan time.Time { panic("nothing here waits") }
