package toolcall

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"bailing/shared/approval"
	"bailing/shared/capability"
	"bailing/shared/job"
)

// ticketDraws is how many numbers are drawn for a ticket before something is wrong with the draw.
const ticketDraws = 4

// askApproval is the approval gate (core §6.1). An approved ticket of exactly this call is to be used, and the call goes on; a pending
// one is reported again; without one a person is asked. A ticket that was denied or expired is final for this run of the job: asking
// again would only ask the person until they give in.
func (s *Service) askApproval(ctx context.Context, p *prepared) (*Outcome, error) {
	if p.call.Due != nil {
		return s.useDue(ctx, p)
	}
	why, blocked := p.tool.ApprovalFor(p.args)
	switch {
	case blocked != nil:
		o := refused(blocked.Reason, fmt.Sprintf("Whether this call of %s needs an approval cannot be decided (%s). Nothing was sent; correct the arguments and call again.", p.tool.Name, blocked.Reason))
		return o, s.refuse(ctx, p.call, *o)
	case why == nil:
		return nil, nil
	}
	known, now := p.view.Ticket, s.Clock.Now()
	switch {
	case known == nil:
		return s.openTicket(ctx, p, *why, 0)
	case known.Usable(now):
		return s.useTicket(ctx, p, known)
	case known.State == approval.Pending && now.Before(known.ExpiresAt):
		o := awaiting(p.tool.Name, known.ID)
		return &o, s.complete(ctx, p.call, p.awaitingRecord(o), s.pendingEvent(p, *why, known.ID, known.ExpiresAt))
	case known.Used || known.Claim <= p.call.Job.SinceClaim && known.State != approval.Pending && known.State != approval.Approved:
		return s.openTicket(ctx, p, *why, known.ID)
	}
	o := closed(p.tool.Name, known)
	return o, s.refuse(ctx, p.call, *o)
}

// judgeTicket is what comes of a call by its ticket alone, whatever the configuration is now; nil when that does not decide. A call
// without a journal entry that used its ticket and has no outcome lost its worker: it is not made again, and nothing may claim that
// nothing was sent. A side-effecting call never comes here so, since its entry freezes the job. A due call past its deadline is over.
func (s *Service) judgeTicket(p *prepared) *Outcome {
	c, known := p.call, p.view.Ticket
	switch {
	case p.view.Entry != nil:
		return nil
	case known == nil || !known.Used:
	case c.Due != nil && known.ID == c.Due.ID,
		c.Due == nil && known.UsedRound == c.Round && known.UsedIndex == c.Index && known.UsedClaim > c.Job.SinceClaim:
		o := lost(c.Tool)
		o.Reason, o.ApprovalID = "worker_lost", known.ID
		return &o
	}
	if c.Due != nil && !s.Clock.Now().Before(c.Due.ExpiresAt) {
		return closed(c.Tool, &approval.Lookup{ID: c.Due.ID, State: approval.Expired})
	}
	return nil
}

// useDue uses the ticket of a due call. Whether the tool still needs an approval makes no difference: it has one.
func (s *Service) useDue(ctx context.Context, p *prepared) (*Outcome, error) {
	known := p.view.Ticket
	switch {
	case known == nil || known.ID != p.call.Due.ID:
		o := refused("approval_closed", fmt.Sprintf("The approval %d is not the one of this call of %s. Nothing was sent.", p.call.Due.ID, p.tool.Name))
		return o, s.refuse(ctx, p.call, *o)
	case known.Usable(s.Clock.Now()):
		return s.useTicket(ctx, p, known)
	}
	o := closed(p.tool.Name, known)
	return o, s.refuse(ctx, p.call, *o)
}

// useTicket lets the call go on with an approved ticket, if it is the call that was approved (I3).
func (s *Service) useTicket(ctx context.Context, p *prepared, known *approval.Lookup) (*Outcome, error) {
	if known.Binding != approval.Bind(p.view.Provider.Name, p.tool.Name, p.tool.Scope, p.tool.Method, p.tool.Path, p.subject) {
		o := refused("approval_tool_changed", fmt.Sprintf("Tool %s, or the person it acts for, has changed since the approval %d was given. Nothing was sent; "+
			"say so, and do not call it again.", p.tool.Name, known.ID))
		o.ApprovalID = known.ID
		return o, s.refuse(ctx, p.call, *o)
	}
	p.use = &approval.Use{
		ID: known.ID, JobID: p.call.Job.ID, Tool: p.tool.Name, ArgsHash: p.argsHash,
		Claim: p.call.Fence.Claim, Round: p.call.Round, Index: p.call.Index,
		Due: job.DueTicket{ID: known.ID, ExpiresAt: known.ExpiresAt}.Mark(), Now: s.Clock.Now(),
	}
	return nil, nil
}

// closed is the outcome of a call whose ticket allows nothing and whose question is not asked again.
func closed(tool string, known *approval.Lookup) *Outcome {
	reason, why := "approval_expired", "expired before it was used"
	if known.State == approval.Denied {
		reason, why = "approval_denied", "was denied by a person"
	}
	o := refused(reason, fmt.Sprintf("The approval %d of this call of %s %s. Nothing was sent; say so, and do not call it again.", known.ID, tool, why))
	o.ApprovalID = known.ID
	return o
}

// drift looks for an approved and unused ticket of the same tool with other arguments, which is due: the hub makes that call itself, and
// a call that differs is neither sent nor asked for (core §6.1). One that the hub has tried and could not make, because its tool is
// another one now, is nobody's wish any more, and the job is not marked for it: it keeps nobody from asking.
func (s *Service) drift(ctx context.Context, p *prepared, due []job.DueTicket) (*Outcome, error) {
	others, err := s.Store.ToolTickets(ctx, p.call.Job.ID, p.tool.Name)
	if err != nil {
		return nil, err
	}
	for _, other := range others {
		marked := slices.ContainsFunc(due, func(d job.DueTicket) bool { return d.ID == other.ID })
		if !marked || other.ArgsHash == p.argsHash || !other.Usable(s.Clock.Now()) {
			continue
		}
		o := refused("tool_args_drift", fmt.Sprintf("A call of %s with other arguments is approved (%d), and is made as it was approved. "+
			"This one differs; nothing was sent, and nobody is asked. Go on with the approved call's result.", p.tool.Name, other.ID))
		o.ApprovalID = other.ID
		rec := p.awaitingRecord(*o)
		return o, s.complete(ctx, p.call, rec, s.driftEvent(p, other))
	}
	return nil, nil
}

// openTicket freezes the call and asks a person about it. replaces is the call's earlier ticket, 0 for none.
func (s *Service) openTicket(ctx context.Context, p *prepared, why capability.Approval, replaces int64) (*Outcome, error) {
	draft := approval.Draft{
		Job: p.call.Job, Tool: p.tool, Provider: p.view.Provider.Name, Subject: p.subject, SubjectField: p.source.SubjectField,
		Args: p.args, ArgsHash: p.argsHash, Why: why,
	}
	t, err := approval.New(draft, s.Clock.Now(), p.view.Route.Tools.ApprovalExpiry())
	if err != nil {
		return nil, err
	}
	t.Claim, t.Round, t.Index = p.call.Fence.Claim, p.call.Round, p.call.Index
	o := Opening{Ticket: t, Replaces: replaces}
	asked, err := s.storeTicket(ctx, p, why, o)
	var due *DueError
	if errors.As(err, &due) { // a decision came while this worker has the job
		if refusal, err := s.drift(ctx, p, due.Due); refusal != nil || err != nil {
			return refusal, err
		}
		o.BesideDue = true
		asked, err = s.storeTicket(ctx, p, why, o)
	}
	return asked, err
}

// storeTicket gives the ticket a number and stores it.
func (s *Service) storeTicket(ctx context.Context, p *prepared, why capability.Approval, o Opening) (_ *Outcome, err error) {
	clear := o.Ticket.Intent
	for range ticketDraws {
		t := &o.Ticket
		t.ID = approval.NewID()
		if p.tool.Sensitive {
			if t.Sealed, err = s.Secrets.Seal(ctx, clear, approval.SealedPlace(t.ID)); err != nil {
				return nil, err
			}
			t.Intent, t.Summary = nil, ""
		}
		out := awaiting(p.tool.Name, t.ID)
		err = s.Store.OpenTicket(ctx, p.call.Fence, o, p.awaitingRecord(out), s.pendingEvent(p, why, t.ID, t.ExpiresAt))
		if err == nil {
			s.startWait(ctx, *t)
			return &out, nil
		}
		if !errors.Is(err, approval.ErrIDTaken) {
			return nil, err
		}
	}
	return nil, err
}

// startWait is a hint: a wait that is not started now is started by the sweeper.
func (s *Service) startWait(ctx context.Context, t approval.Ticket) {
	if s.Waits == nil {
		return
	}
	if err := s.Waits.Start(ctx, t.ID, t.ExpiresAt); err != nil {
		s.Logger.WarnContext(ctx, "wait not started, the sweeper will", "approval_id", t.ID, "error", err)
	}
}

func (p *prepared) awaitingRecord(o Outcome) Record {
	return Record{Round: p.call.Round, Index: p.call.Index, CallID: p.call.CallID, Tool: p.tool.Name, Outcome: o}
}

func awaiting(tool string, id int64) Outcome {
	return Outcome{
		State: Awaiting, ApprovalID: id,
		Text: fmt.Sprintf("This call of %s needs a person's approval, number %d. Nothing was sent. Say that it waits for approval, and do not call it again.", tool, id),
	}
}
