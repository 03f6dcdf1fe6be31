package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"bailing/shared/approval"
	"bailing/shared/job"
	"bailing/shared/toolcall"
	"bailing/shared/topology"
)

var ticketUses = []promise{
	{"an approved ticket is used with its call, and the mark goes", ticketUsed},
	{"a ticket lets one call be made, however many try", ticketUsedOnce},
	{"a ticket that is not approved lets no call be made", ticketNotUsable},
	{"a ticket may be used up to its deadline and not at it", usedInTime},
	{"a worker without the job uses no ticket", fencedUse},
	{"a call that was reserved before uses no ticket", useAfterReserve},
	{"a ticket expires at its deadline and not before it", expiredInTime},
	{"a ticket expires once, and only if nothing came of it", expiredOnce},
	{"decision, use and expiry of one ticket exclude each other", ticketRaces},
}

var ticketWaits = []promise{
	{"the token of a wait stays with its ticket until the wait was told", tokenHeld},
	{"a ticket that is not pending holds no token", tokenNotHeld},
	{"a new ticket is looked at when its wait counts as lost", ticketLooks},
	{"a ticket that moved is not postponed", ticketNotPostponed},
	{"every due ticket is visited, and no job", ticketsVisited},
	{"tickets are listed by state, latest first, page by page", ticketsListed},
	{"a ticket of a newer release is left as it is", newerTicket},
}

// use is the consumption of a ticket by the call that b.entry or BeginCall makes.
func (b *bundle) use(t approval.Ticket) *approval.Use {
	return &approval.Use{
		ID: t.ID, JobID: t.JobID, Tool: t.Tool, ArgsHash: t.ArgsHash, Claim: 2, Round: 3, Index: 4,
		Due: job.DueTicket{ID: t.ID, ExpiresAt: t.ExpiresAt}.Mark(), Now: b.now.Add(2 * time.Minute),
	}
}

// makes are the two transactions that use a ticket.
func (b *bundle) makes(t *testing.T) map[string]func(f job.Fence, u *approval.Use) error {
	return map[string]func(f job.Fence, u *approval.Use) error{
		"with side effects": func(f job.Fence, u *approval.Use) error {
			return b.Store.Reserve(t.Context(), f, b.entry(f, u.ArgsHash), u, b.event("tool_call"))
		},
		"without": func(f job.Fence, u *approval.Use) error {
			return b.Store.BeginCall(t.Context(), f, u, b.event("tool_call"))
		},
	}
}

func ticketUsed(t *testing.T, b *bundle) {
	for rule, make := range b.makes(t) {
		j, f := b.running(t)
		ticket, other := b.ask(t, f, "h"), b.ask(t, f, "h2")
		b.approve(t, ticket)
		stays := b.approve(t, other)
		want := b.ticketRow(t, ticket.ID)
		u := b.use(ticket)
		must(t, make(f, u))
		want.UsedAt = u.Now
		wantEqual(t, rule+": ticket", b.ticketRow(t, ticket.ID), want)
		wantEqual(t, rule+": lookup", b.view(t, j.ID, "h").Ticket, &approval.Lookup{
			ID: ticket.ID, State: approval.Approved, ArgsHash: "h", ExpiresAt: ticket.ExpiresAt, Binding: "bind-h", Claim: f.Claim,
			Used: true, UsedClaim: 2, UsedRound: 3, UsedIndex: 4,
		})
		wantEqual(t, rule+": marks", b.read(t, j.ID).Due, []job.DueTicket{stays})
		wantEqual(t, rule+": reserved", b.view(t, j.ID, "h").Entry != nil, rule == "with side effects")
		wantEqual(t, rule+": recorded", slices.Contains(b.audit(t, j.ID), "tool_call"), true)
	}
}

func ticketUsedOnce(t *testing.T, b *bundle) {
	for rule, make := range b.makes(t) {
		_, f := b.running(t)
		ticket := b.ask(t, f, "h")
		b.approve(t, ticket)
		const many = 20
		errs, won := [many]error{}, 0
		var wg sync.WaitGroup
		for i := range many {
			wg.Go(func() {
				u := b.use(ticket)
				u.Round = i
				errs[i] = make(f, u)
			})
		}
		wg.Wait()
		for i, err := range errs {
			switch {
			case err == nil:
				won++
				wantEqual(t, rule+": used by", b.view(t, f.JobID, "h").Ticket.UsedRound, i)
			case !errors.Is(err, toolcall.ErrTicketMoved) && !errors.Is(err, toolcall.ErrReserved):
				t.Errorf("%s: %v", rule, err)
			}
		}
		wantEqual(t, rule+": uses", won, 1)
		wantEqual(t, rule+": marks", len(b.read(t, f.JobID).Due), 0)
	}
}

func ticketNotUsable(t *testing.T, b *bundle) {
	for rule, make := range b.makes(t) {
		j, f := b.running(t)
		pending, denied, expired := b.ask(t, f, "pending"), b.ask(t, f, "denied"), b.ask(t, f, "expired")
		lapsed, replaced := b.ask(t, f, "lapsed"), b.ask(t, f, "replaced")
		must(t, b.tryDecide(t.Context(), denied.ID, b.ruling(false)))
		must(t, b.Store.ExpireTicket(t.Context(), &expired, expired.ExpiresAt, b.event("expired")))
		b.approve(t, lapsed)
		lapsed = b.ticketRow(t, lapsed.ID)
		must(t, b.Store.ExpireTicket(t.Context(), &lapsed, lapsed.ExpiresAt, b.event("expired")))
		absent := b.ticket(f, "absent", 1)
		must(t, b.Store.ExpireTicket(t.Context(), &replaced, replaced.ExpiresAt, b.event("expired")))
		next := b.ticket(f, "replaced", 1)
		must(t, b.Store.OpenTicket(t.Context(), f, toolcall.Opening{Ticket: next, Replaces: replaced.ID, BesideDue: true}, record("waits"), b.event("again")))
		b.approve(t, next)
		before := b.read(t, j.ID)
		for _, ticket := range []approval.Ticket{pending, denied, expired, lapsed, absent, replaced} {
			if err := make(f, b.use(ticket)); !errors.Is(err, toolcall.ErrTicketMoved) {
				t.Errorf("%s, %s: %v", rule, ticket.ArgsHash, err)
			}
			wantEqual(t, "entry", b.view(t, j.ID, ticket.ArgsHash).Entry, nil)
		}
		wantEqual(t, rule+": job", b.read(t, j.ID), before)
		if b.view(t, j.ID, "replaced").Ticket.Used {
			t.Error("the ticket in its place is used")
		}
		wantEqual(t, rule+": recorded", slices.Contains(b.audit(t, j.ID), "tool_call"), false)
	}
}

func usedInTime(t *testing.T, b *bundle) {
	for _, make := range b.makes(t) {
		_, f := b.running(t)
		ticket := b.ask(t, f, "h")
		b.approve(t, ticket)
		u := b.use(ticket)
		u.Now = ticket.ExpiresAt
		wantErr(t, make(f, u), toolcall.ErrTicketMoved)
		u.Now = ticket.ExpiresAt.Add(-time.Millisecond)
		must(t, make(f, u))
	}
}

func fencedUse(t *testing.T, b *bundle) {
	for rule, make := range b.makes(t) {
		j, f := b.running(t)
		ticket := b.ask(t, f, "h")
		b.approve(t, ticket)
		must(t, b.Store.ReleaseJob(t.Context(), f, job.Release{Recovered: true, Now: b.now}, b.event("recovered")))
		wantErr(t, make(f, b.use(ticket)), job.ErrLostClaim)
		next := b.claim(t, j.ID)
		wantErr(t, make(f, b.use(ticket)), job.ErrLostClaim)
		wantErr(t, make(f, b.use(b.ticket(f, "absent", 1))), job.ErrLostClaim) // before anything about the ticket
		wantEqual(t, rule+": used", b.ticketRow(t, ticket.ID).UsedAt, time.Time{})
		wantEqual(t, rule+": marks", len(b.read(t, j.ID).Due), 1)
		must(t, make(next, b.use(ticket)))
	}
}

func useAfterReserve(t *testing.T, b *bundle) {
	j, f := b.running(t)
	ticket := b.ask(t, f, "h")
	b.approve(t, ticket)
	must(t, b.Store.Reserve(t.Context(), f, b.entry(f, "h"), nil, b.event("tool_call"))) // the tool needed no approval then
	wantErr(t, b.Store.Reserve(t.Context(), f, b.entry(f, "h"), b.use(ticket), b.event("again")), toolcall.ErrReserved)
	wantEqual(t, "used", b.ticketRow(t, ticket.ID).UsedAt, time.Time{})
	wantEqual(t, "marks", len(b.read(t, j.ID).Due), 1)
}

func expiredInTime(t *testing.T, b *bundle) {
	for _, approved := range []bool{false, true} {
		j, f := b.running(t)
		ticket := b.ask(t, f, "h")
		if approved {
			b.approve(t, ticket)
			ticket = b.ticketRow(t, ticket.ID)
		}
		wantErr(t, b.Store.ExpireTicket(t.Context(), &ticket, ticket.ExpiresAt.Add(-time.Millisecond), b.event("x")), approval.ErrMoved)
		b.wantState(t, ticket, ticket.State)
		before, want := b.read(t, j.ID), b.ticketRow(t, ticket.ID)
		must(t, b.Store.ExpireTicket(t.Context(), &ticket, ticket.ExpiresAt, b.event("expired")))
		want.State, want.EndAt = approval.Expired, ticket.ExpiresAt
		wantEqual(t, "ticket", b.ticketRow(t, ticket.ID), want)
		b.wantState(t, ticket, approval.Expired)
		wantEqual(t, "job", b.read(t, j.ID), before) // its mark is for the job to drop
		wantEqual(t, "recorded", slices.Contains(b.audit(t, j.ID), "expired"), true)
		b.wantTicketDue(t, ticket.ID, ticket.ExpiresAt) // for its wait
	}
}

func expiredOnce(t *testing.T, b *bundle) {
	_, f := b.running(t)
	expired, denied, used, approved := b.ask(t, f, "expired"), b.ask(t, f, "denied"), b.ask(t, f, "used"), b.ask(t, f, "approved")
	must(t, b.Store.ExpireTicket(t.Context(), &expired, expired.ExpiresAt, b.event("expired")))
	must(t, b.tryDecide(t.Context(), denied.ID, b.ruling(false)))
	b.approve(t, used)
	must(t, b.Store.BeginCall(t.Context(), f, b.use(used), b.event("tool_call")))
	b.approve(t, approved) // the one that was read pending is not this one
	for _, ticket := range []approval.Ticket{expired, denied, used, approved} {
		before := b.ticketRow(t, ticket.ID)
		wantErr(t, b.Store.ExpireTicket(t.Context(), &ticket, ticket.ExpiresAt.Add(time.Hour), b.event("again")), approval.ErrMoved)
		wantEqual(t, "ticket", b.ticketRow(t, ticket.ID), before)
	}
	for _, ticket := range []approval.Ticket{b.ticketRow(t, denied.ID), b.ticketRow(t, used.ID), b.ticketRow(t, expired.ID)} {
		wantErr(t, b.Store.ExpireTicket(t.Context(), &ticket, ticket.ExpiresAt.Add(time.Hour), b.event("again")), approval.ErrMoved)
	}
	wantEqual(t, "recorded", slices.Contains(b.audit(t, f.JobID), "again"), false)
}

// The clocks of those who race differ, so that each thinks that it is in time.
func ticketRaces(t *testing.T, b *bundle) {
	for i := range 6 {
		j, f := b.running(t)
		ticket := b.ask(t, f, "h")
		approved := i%2 == 1
		if approved {
			b.approve(t, ticket)
			ticket = b.ticketRow(t, ticket.ID)
		}
		var expired, other error
		var wg sync.WaitGroup
		wg.Go(func() {
			expired = b.Store.ExpireTicket(t.Context(), &ticket, ticket.ExpiresAt, b.event("expired"))
		})
		wg.Go(func() {
			if approved {
				other = b.Store.Reserve(t.Context(), f, b.entry(f, "h"), b.use(ticket), b.event("tool_call"))
				return
			}
			other = b.tryDecide(t.Context(), ticket.ID, b.ruling(true))
		})
		wg.Wait()
		if (expired == nil) == (other == nil) {
			t.Fatalf("expired: %v, the other: %v", expired, other)
		}
		row := b.ticketRow(t, ticket.ID)
		wantEqual(t, "expired", row.State == approval.Expired, expired == nil)
		b.wantState(t, ticket, row.State)
		wantEqual(t, "reserved", b.view(t, j.ID, "h").Entry != nil, approved && other == nil)
		wantEqual(t, "recorded", slices.Contains(b.audit(t, j.ID), "expired"), expired == nil)
	}
}

func tokenHeld(t *testing.T, b *bundle) {
	_, f := b.running(t)
	ticket := b.ask(t, f, "h")
	for _, token := range []string{"one", "one", "two"} {
		held, err := b.Store.HoldTicket(t.Context(), ticket.ID, token, ticket.ExpiresAt.Add(-time.Millisecond))
		must(t, err)
		wantEqual(t, "held", held, true)
		wantEqual(t, "token", b.ticketRow(t, ticket.ID).Token, token)
	}
	must(t, b.Store.SettleTicket(t.Context(), ticket.ID, "one")) // another wait's
	wantEqual(t, "token", b.ticketRow(t, ticket.ID).Token, "two")
	for range 2 {
		must(t, b.Store.SettleTicket(t.Context(), ticket.ID, "two"))
		wantEqual(t, "token", b.ticketRow(t, ticket.ID).Token, "")
	}
	want := b.ticketRow(t, ticket.ID)
	ticket.Intent = nil
	wantEqual(t, "ticket", want, ticket)
	must(t, b.Store.SettleTicket(t.Context(), approval.NewID(), "x"))
}

func tokenNotHeld(t *testing.T, b *bundle) {
	_, f := b.running(t)
	late, approved, denied, expired := b.ask(t, f, "late"), b.ask(t, f, "approved"), b.ask(t, f, "denied"), b.ask(t, f, "expired")
	b.approve(t, approved)
	must(t, b.tryDecide(t.Context(), denied.ID, b.ruling(false)))
	must(t, b.Store.ExpireTicket(t.Context(), &expired, expired.ExpiresAt, b.event("expired")))
	for _, ticket := range []approval.Ticket{late, approved, denied, expired, {ID: approval.NewID()}} {
		now := b.now
		if ticket.ID == late.ID {
			now = late.ExpiresAt
		}
		held, err := b.Store.HoldTicket(t.Context(), ticket.ID, "one", now)
		must(t, err)
		wantEqual(t, "held by "+ticket.ArgsHash, held, false)
		if ticket.ArgsHash != "" {
			wantEqual(t, "token", b.ticketRow(t, ticket.ID).Token, "")
		}
	}
}

// ticketDue reports how often a ticket is visited by a look at the given time.
func (b *bundle) ticketDue(t *testing.T, id int64, at time.Time) int {
	t.Helper()
	if b.Settle != nil {
		b.Settle()
	}
	n := 0
	must(t, b.Store.EachDueTicket(t.Context(), at, func(visited int64) error {
		if visited == id {
			n++
		}
		return nil
	}))
	return n
}

// wantTicketDue checks that a ticket is due from the given moment on and not a millisecond earlier.
func (b *bundle) wantTicketDue(t *testing.T, id int64, at time.Time) {
	t.Helper()
	wantEqual(t, "visits before "+at.Sub(b.now).String(), b.ticketDue(t, id, at.Add(-time.Millisecond)), 0)
	wantEqual(t, "visits at "+at.Sub(b.now).String(), b.ticketDue(t, id, at), 1)
}

func ticketLooks(t *testing.T, b *bundle) {
	_, f := b.running(t)
	ticket := b.ask(t, f, "h")
	b.wantTicketDue(t, ticket.ID, b.now.Add(approval.StartAfter))
	must(t, b.Store.PostponeTicket(t.Context(), &ticket, b.now.Add(time.Hour)))
	b.wantTicketDue(t, ticket.ID, b.now.Add(time.Hour))
	must(t, b.Store.PostponeTicket(t.Context(), &ticket, time.Time{}))
	wantEqual(t, "visits", b.ticketDue(t, ticket.ID, b.now.Add(far)), 0)
	must(t, b.tryDecide(t.Context(), ticket.ID, b.ruling(true)))
	b.wantTicketDue(t, ticket.ID, b.now.Add(time.Minute)) // at once: it has a deadline, and perhaps a wait
}

func ticketNotPostponed(t *testing.T, b *bundle) {
	_, f := b.running(t)
	ticket := b.ask(t, f, "h")
	stale := b.ticketRow(t, ticket.ID)
	held, err := b.Store.HoldTicket(t.Context(), ticket.ID, "one", b.now)
	must(t, err)
	wantEqual(t, "held", held, true)
	must(t, b.Store.PostponeTicket(t.Context(), &stale, time.Time{})) // it has a token now
	b.wantTicketDue(t, ticket.ID, b.now.Add(approval.StartAfter))
	stale = b.ticketRow(t, ticket.ID)
	must(t, b.tryDecide(t.Context(), ticket.ID, b.ruling(false)))
	must(t, b.Store.PostponeTicket(t.Context(), &stale, time.Time{})) // it is decided now
	b.wantTicketDue(t, ticket.ID, b.now.Add(time.Minute))
	stale = b.ticketRow(t, ticket.ID)
	must(t, b.Store.SettleTicket(t.Context(), ticket.ID, "one"))
	must(t, b.Store.PostponeTicket(t.Context(), &stale, time.Time{})) // its wait was told
	b.wantTicketDue(t, ticket.ID, b.now.Add(time.Minute))
	must(t, b.Store.PostponeTicket(t.Context(), &approval.Ticket{ID: approval.NewID(), State: approval.Pending}, b.now))
}

func ticketsVisited(t *testing.T, b *bundle) {
	j, f := b.running(t)
	want := map[int64]int{}
	for i := range 40 {
		want[b.ask(t, f, fmt.Sprint("h", i)).ID] = 1
	}
	if b.Settle != nil {
		b.Settle()
	}
	got := map[int64]int{}
	must(t, b.Store.EachDueTicket(t.Context(), b.now.Add(far), func(id int64) error {
		if want[id] > 0 {
			got[id]++
		}
		return nil
	}))
	wantEqual(t, "visits", got, want)
	b.wantDueAt(t, j.ID, b.now.Add(lease)) // nor do the jobs' looks meet tickets
	stop, n := errors.New("stop"), 0
	wantErr(t, b.Store.EachDueTicket(t.Context(), b.now.Add(far), func(int64) error { n++; return stop }), stop)
	wantEqual(t, "visits", n, 1)
}

func ticketsListed(t *testing.T, b *bundle) {
	_, f := b.running(t)
	made := map[approval.State][]int64{}
	var all []int64
	for i := range 14 {
		ticket := b.ticket(f, fmt.Sprint("h", i), 1)
		ticket.CreatedAt = b.now.Add(time.Duration(i/2) * time.Second) // two of each time
		must(t, b.Store.OpenTicket(t.Context(), f, toolcall.Opening{Ticket: ticket, BesideDue: true}, record("waits"), b.event("pending")))
		state := []approval.State{approval.Pending, approval.Approved, approval.Denied, approval.Expired}[i%4]
		switch state {
		case approval.Approved, approval.Denied:
			must(t, b.tryDecide(t.Context(), ticket.ID, b.ruling(state == approval.Approved)))
		case approval.Expired:
			must(t, b.Store.ExpireTicket(t.Context(), &ticket, ticket.ExpiresAt, b.event("expired")))
		}
		made[state] = append(made[state], ticket.ID)
		all = append(all, ticket.ID)
	}
	if b.Settle != nil {
		b.Settle()
	}
	made[""] = all
	for state, ids := range made {
		for _, limit := range []int{1, 3, 100} {
			var got []approval.Ticket
			var after job.Cursor
			for {
				page, err := b.Store.ListTickets(t.Context(), state, limit, after)
				must(t, err)
				if len(page.Tickets) > limit || page.Next != "" && page.Next == after {
					t.Fatalf("a page of %d tickets after %q: %d, next %q", limit, after, len(page.Tickets), page.Next)
				}
				for _, ticket := range page.Tickets {
					if slices.Contains(all, ticket.ID) {
						got = append(got, ticket)
					}
				}
				if after = page.Next; after == "" || len(got) == len(ids) && limit == 1 {
					break
				}
			}
			seen := map[int64]bool{}
			for i, ticket := range got {
				if i > 0 && ticket.CreatedAt.After(got[i-1].CreatedAt) {
					t.Errorf("%q by %d: %s after %s", state, limit, ticket.CreatedAt, got[i-1].CreatedAt)
				}
				if !slices.Contains(ids, ticket.ID) || seen[ticket.ID] {
					t.Errorf("%q by %d: ticket %d", state, limit, ticket.ID)
				}
				seen[ticket.ID] = true
			}
			wantEqual(t, fmt.Sprintf("tickets of %q by %d", state, limit), len(got), len(ids))
			wantEqual(t, "ticket", got[0], b.ticketRow(t, got[0].ID))
		}
	}
}

func newerTicket(t *testing.T, b *bundle) {
	ctx := t.Context()
	for _, way := range []bool{false, true} { // the ticket, and the way to it
		j, f := b.running(t)
		ticket, approved := b.ask(t, f, "h"), b.ask(t, f, "h2")
		b.approve(t, approved)
		approved = b.ticketRow(t, approved.ID)
		v, r := b.weighed(t, ticket.ID, "d"), b.ruling(true)
		rows := [][2]string{{fmt.Sprintf("ticket#%d", ticket.ID), "ticket"}, {fmt.Sprintf("ticket#%d", approved.ID), "ticket"}}
		if way {
			rows = [][2]string{{"job#" + j.ID, "ticket#refund#h"}, {"job#" + j.ID, "ticket#refund#h2"}}
		}
		for _, row := range rows {
			b.outdate(t, topology.TableJobs, row[0], row[1])
		}
		before := b.read(t, j.ID)
		for what, act := range map[string]func() error{
			"DecideTicket":           func() error { return b.Store.DecideTicket(ctx, v, change(v, r), b.event("x")) },
			"ExpireTicket":           func() error { return b.Store.ExpireTicket(ctx, &ticket, ticket.ExpiresAt, b.event("x")) },
			"ExpireTicket, approved": func() error { return b.Store.ExpireTicket(ctx, &approved, approved.ExpiresAt, b.event("x")) },
			"Reserve":                func() error { return b.Store.Reserve(ctx, f, b.entry(f, "h2"), b.use(approved), b.event("x")) },
			"BeginCall":              func() error { return b.Store.BeginCall(ctx, f, b.use(approved), b.event("x")) },
			"ReadDecision": func() error {
				_, err := b.Store.ReadDecision(ctx, ticket.ID, "shop", "d")
				if way {
					err = errors.New("it reads no lookup")
				}
				return err
			},
		} {
			if err := act(); err == nil || errors.Is(err, approval.ErrMoved) || errors.Is(err, toolcall.ErrTicketMoved) || errors.Is(err, approval.ErrNotFound) {
				t.Errorf("%s: %v, want a refusal", what, err)
			}
		}
		wantEqual(t, "job", b.read(t, j.ID), before)
		if way {
			continue
		}
		held, err := b.Store.HoldTicket(ctx, ticket.ID, "token", b.now)
		must(t, err)
		wantEqual(t, "held", held, false)
		must(t, b.Store.PostponeTicket(ctx, &ticket, time.Time{}))
		if _, ok := b.item(t, topology.TableJobs, rows[0][0], rows[0][1])["dpk"]; !ok {
			t.Error("the sweeper has forgotten the ticket")
		}
		if _, err := b.Store.ReadTicketRow(ctx, ticket.ID); err == nil {
			t.Error("the row is read")
		}
	}
}
