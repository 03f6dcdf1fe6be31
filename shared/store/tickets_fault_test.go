package store_test

import (
	"context"
	"testing"
	"time"

	"bailing/shared/approval"
	"bailing/shared/job"
	"bailing/shared/toolcall"
)

// ticketOf is a ticket of the running job "a".
func ticketOf(id int64, args string) approval.Ticket {
	return approval.Ticket{
		ID: id, State: approval.Pending, JobID: "a", Owner: "shop", Tool: "refund", ArgsHash: args, Claim: 1, Round: 1,
		CreatedAt: start, ExpiresAt: start.Add(time.Hour), Intent: []byte(`{}`),
	}
}

func arranged(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// aTicket arranges the running job "a" with ticket 7, and "b" behind it.
func aTicket(s *stand, t *testing.T) {
	t.Helper()
	aThread(s, t)
	arranged(t, s.OpenTicket(t.Context(), fenceA, toolcall.Opening{Ticket: ticketOf(7, "h")}, toolcall.Record{Round: 1}, eventOf("pending")))
}

// aTicketOfTheEnded arranges "a" as ended, and "b" as head of the thread.
func aTicketOfTheEnded(s *stand, t *testing.T) {
	t.Helper()
	aTicket(s, t)
	_, err := s.FinishJob(t.Context(), fenceA, job.Outcome{Status: job.Done, Result: []byte(`{}`), Now: start}, eventOf("finished"))
	arranged(t, err)
}

// anApproval arranges "a" running with the approved ticket 7.
func anApproval(s *stand, t *testing.T) {
	t.Helper()
	aTicket(s, t)
	arranged(t, rule(t.Context(), s, true))
}

// rule is a decision about ticket 7 as the job of it is now.
func rule(ctx context.Context, s *stand, approved bool) error {
	v, err := s.ReadDecision(ctx, 7, "shop", "d")
	if err != nil {
		return err
	}
	c := approval.Change{Ruling: approval.Ruling{Approved: approved, DecisionID: "d", By: "ann", Comment: "fine", Auth: "client:shop", At: start.Add(time.Minute)}}
	if approved {
		c.Due = &job.DueTicket{ID: 7, ExpiresAt: v.Ticket.ExpiresAt}
	}
	if approved && v.Job.Status.Terminal() {
		seat := job.SeatOf(v.Job, v.Thread, v.Peers)
		c.Seat = &seat
	}
	return s.DecideTicket(ctx, v, c, eventOf("decided"), eventOf("rerun"))
}

func useOf(id int64) *approval.Use {
	return &approval.Use{
		ID: id, JobID: "a", Tool: "refund", ArgsHash: "h", Round: 1, Due: job.DueTicket{ID: id, ExpiresAt: start.Add(time.Hour)}.Mark(), Now: start.Add(2 * time.Minute),
	}
}

// ticketWrites are the writes of tickets, for the same tests as all others. A write whose answer was lost must not look like one that
// came too late: a decision would be a conflict with itself, and a token would be thrown away.
func ticketWrites() []method {
	decides := func(approved bool) func(context.Context, *stand) (any, error) {
		return func(ctx context.Context, s *stand) (any, error) { return nil, rule(ctx, s, approved) }
	}
	pending := ticketOf(7, "h")
	moved := []error{approval.ErrMoved}
	return []method{
		{name: "DecideTicket, approved, under way", arrange: aTicket, again: moved, act: decides(true)},
		{name: "DecideTicket, approved, ended", arrange: aTicketOfTheEnded, again: moved, act: decides(true)},
		{name: "DecideTicket, denied", arrange: aTicketOfTheEnded, again: moved, act: decides(false)},
		{name: "HoldTicket", arrange: aTicket, act: func(ctx context.Context, s *stand) (any, error) {
			return s.HoldTicket(ctx, 7, "token", start)
		}},
		{name: "SettleTicket", arrange: func(s *stand, t *testing.T) {
			aTicket(s, t)
			_, err := s.HoldTicket(t.Context(), 7, "token", start)
			arranged(t, err)
		}, act: func(ctx context.Context, s *stand) (any, error) { return nil, s.SettleTicket(ctx, 7, "token") }},
		{name: "PostponeTicket", arrange: aTicket, act: func(ctx context.Context, s *stand) (any, error) {
			return nil, s.PostponeTicket(ctx, &pending, start.Add(time.Hour))
		}},
		{name: "PostponeTicket, for ever", arrange: aTicket, act: func(ctx context.Context, s *stand) (any, error) {
			return nil, s.PostponeTicket(ctx, &pending, time.Time{})
		}},
		{name: "ExpireTicket", arrange: aTicket, again: moved, act: func(ctx context.Context, s *stand) (any, error) {
			return nil, s.ExpireTicket(ctx, &pending, start.Add(time.Hour), eventOf("expired"))
		}},
		{name: "ExpireTicket, approved", arrange: anApproval, again: moved, act: func(ctx context.Context, s *stand) (any, error) {
			approved := pending
			approved.State = approval.Approved
			return nil, s.ExpireTicket(ctx, &approved, start.Add(time.Hour), eventOf("expired"))
		}},
		{name: "Reserve, with a ticket", arrange: anApproval, again: []error{toolcall.ErrReserved}, act: func(ctx context.Context, s *stand) (any, error) {
			return nil, s.Reserve(ctx, fenceA, entryOf(toolcall.Dispatching), useOf(7), eventOf("tool_call"))
		}},
		{name: "BeginCall, with a ticket", arrange: anApproval, again: []error{toolcall.ErrTicketMoved}, act: func(ctx context.Context, s *stand) (any, error) {
			return nil, s.BeginCall(ctx, fenceA, useOf(7), eventOf("tool_call"))
		}},
		{name: "DropDue, large", arrange: anApproval, act: func(ctx context.Context, s *stand) (any, error) {
			rec := toolcall.Record{Round: 1, Outcome: toolcall.Outcome{Text: big}}
			return nil, s.DropDue(ctx, fenceA, job.DueTicket{ID: 7, ExpiresAt: start.Add(time.Hour)}, rec, eventOf("dropped"))
		}},
		{name: "OpenTicket, in the place of another", arrange: func(s *stand, t *testing.T) {
			aTicket(s, t)
			arranged(t, rule(t.Context(), s, false))
		}, again: []error{approval.ErrExists}, act: func(ctx context.Context, s *stand) (any, error) {
			return nil, s.OpenTicket(ctx, fenceA, toolcall.Opening{Ticket: ticketOf(8, "h"), Replaces: 7}, toolcall.Record{Round: 1}, eventOf("again"))
		}},
		{name: "FinishJob, with a call that lapsed", arrange: anApproval, again: []error{job.ErrLostClaim}, act: func(ctx context.Context, s *stand) (any, error) {
			return s.FinishJob(ctx, fenceA, job.Outcome{Status: job.Failed, Error: "e", Now: start.Add(time.Hour), DueLapsed: true}, eventOf("finished"))
		}},
		{name: "ReleaseJob, for a due call", arrange: anApproval, again: []error{job.ErrLostClaim}, act: func(ctx context.Context, s *stand) (any, error) {
			return nil, s.ReleaseJob(ctx, fenceA, job.Release{RunAfter: start.Add(time.Minute), Now: start}, eventOf("deferred"))
		}},
	}
}

// ticketReaders are the reads of tickets.
func ticketReaders() []method {
	list := []method{
		{name: "ReadTicket", act: func(ctx context.Context, s *stand) (any, error) { return s.ReadTicket(ctx, 7) }},
		{name: "ReadTicketRow", act: func(ctx context.Context, s *stand) (any, error) { return s.ReadTicketRow(ctx, 7) }},
		{name: "ReadDecision", act: func(ctx context.Context, s *stand) (any, error) { return s.ReadDecision(ctx, 7, "shop", "d") }},
		{name: "ToolTickets", act: func(ctx context.Context, s *stand) (any, error) { return s.ToolTickets(ctx, "a", "refund") }},
		{name: "JobTickets", act: func(ctx context.Context, s *stand) (any, error) { return s.JobTickets(ctx, "a", 10) }},
		{name: "ListTickets", act: func(ctx context.Context, s *stand) (any, error) { return s.ListTickets(ctx, "", 10, "") }},
		{name: "ListTickets, of a state", act: func(ctx context.Context, s *stand) (any, error) { return s.ListTickets(ctx, approval.Pending, 10, "") }},
		{name: "EachDueTicket", act: func(ctx context.Context, s *stand) (any, error) {
			ids := map[int64]bool{} // a page that is asked for again is no second visit
			err := s.EachDueTicket(ctx, start.Add(time.Hour), func(id int64) error { ids[id] = true; return nil })
			return ids, err
		}},
	}
	for i := range list {
		list[i].arrange, list[i].reads = aTicketOfTheEnded, true
	}
	return list
}
