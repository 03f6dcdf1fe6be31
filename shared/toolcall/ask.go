package toolcall

import (
	"context"
	"errors"
	"fmt"

	"bailing/shared/approval"
	"bailing/shared/capability"
)

// ticketDraws is how many numbers are drawn for a ticket before something is wrong with the draw.
const ticketDraws = 4

// askApproval is the approval gate (core §6.1). It answers with an outcome unless the call may go ahead: a rule that cannot be
// evaluated refuses, a ticket that waits is reported with its number, and where there is none a new one is made.
func (s *Service) askApproval(ctx context.Context, p *prepared) (*Outcome, error) {
	why, blocked := p.tool.ApprovalFor(p.args)
	switch {
	case blocked != nil:
		o := refused(blocked.Reason, fmt.Sprintf("Whether this call of %s needs an approval cannot be decided (%s). Nothing was sent; correct the arguments and call again.", p.tool.Name, blocked.Reason))
		return o, s.refuse(ctx, p.call, *o)
	case why == nil:
		return nil, nil
	case p.view.Ticket == nil:
		return s.openTicket(ctx, p, *why)
	}
	known := p.view.Ticket
	if known.State != approval.Pending || !s.Clock.Now().Before(known.ExpiresAt) {
		// Only a pending ticket can be reported as waiting. What a decided one allows is not for this release to say.
		o := refused("approval_closed", fmt.Sprintf("The approval %d of this call is not open any more. Nothing was sent.", known.ID))
		o.ApprovalID = known.ID
		return o, s.refuse(ctx, p.call, *o)
	}
	o := awaiting(p.tool.Name, known.ID)
	rec := p.awaitingRecord(o)
	return &o, s.Store.CompleteCall(ctx, p.call.Fence, rec, s.pendingEvent(p, *why, known.ID, known.ExpiresAt))
}

// openTicket freezes the call and asks a person about it.
func (s *Service) openTicket(ctx context.Context, p *prepared, why capability.Approval) (*Outcome, error) {
	draft := approval.Draft{
		Job: p.call.Job, Tool: p.tool, Provider: p.view.Provider.Name, Subject: p.subject, SubjectField: p.source.SubjectField,
		Args: p.args, ArgsHash: p.argsHash, Why: why,
	}
	t, err := approval.New(draft, s.Clock.Now(), p.view.Route.Tools.ApprovalExpiry())
	if err != nil {
		return nil, err
	}
	clear := t.Intent
	for range ticketDraws {
		t.ID = approval.NewID()
		if p.tool.Sensitive {
			if t.Sealed, err = s.Secrets.Seal(ctx, clear, approval.SealedPlace(t.ID)); err != nil {
				return nil, err
			}
			t.Intent = nil
		}
		o := awaiting(p.tool.Name, t.ID)
		err = s.Store.OpenTicket(ctx, p.call.Fence, t, p.awaitingRecord(o), s.pendingEvent(p, why, t.ID, t.ExpiresAt))
		if err == nil {
			return &o, nil
		}
		if !errors.Is(err, approval.ErrIDTaken) {
			return nil, err
		}
	}
	return nil, err
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
