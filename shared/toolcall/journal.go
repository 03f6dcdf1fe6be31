package toolcall

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bailing/shared/job"
	"bailing/shared/outbound"
)

// EntryState is the state of a journal entry. The contract knows two more, response_recorded and evidence_degraded: an answer
// that is stored without its audit record. Here answer, entry and record are one transaction, so neither can be reached
// (core §5.8).
type EntryState string

// The states of an entry, in the order in which they can follow each other.
const (
	Dispatching       EntryState = "dispatching"         // reserved: the request may have left
	Completed         EntryState = "completed"           // answered, and recorded
	Uncertain         EntryState = "uncertain"           // attempted, without a trustworthy answer
	ClosedHappened    EntryState = "closed_happened"     // a person found that the business did it
	ClosedNotHappened EntryState = "closed_not_happened" // a person found that the business did not do it
)

// Entry is the journal's record of a side-effecting call: one for each tool and arguments of a job, kept for ever (I1).
type Entry struct {
	State          EntryState
	JobID          string
	Tool           string
	Provider       string // "" in entries of early releases
	ArgsHash       string
	IdempotencyKey string
	Scope          string
	Subject        string
	Claim          int64 // that reserved it
	Round, Index   int   // of the wish that led to it
	Reason         string
	CreatedAt      time.Time
	UpdatedAt      time.Time
	Record         *Record   // of a completed entry
	Evidence       *Evidence // of an uncertain entry, also once it is closed; nil when its worker was lost
	Closing        *Closing  // of a closed entry
}

// Open is the call as the job's row names it until the entry is completed.
func (e *Entry) Open() job.OpenCall {
	return job.OpenCall{
		Tool: e.Tool, ArgsHash: e.ArgsHash, Scope: e.Scope, IdempotencyKey: e.IdempotencyKey, State: string(e.State), Reason: e.Reason,
		Since: e.CreatedAt,
	}
}

// entry is the call's, as it is written now. It keeps the time at which the call was reserved, by which a person looks it up.
func (p *prepared) entry(state EntryState, now time.Time) Entry {
	return Entry{
		State: state, JobID: p.call.Job.ID, Tool: p.tool.Name, Provider: p.view.Provider.Name, ArgsHash: p.argsHash,
		IdempotencyKey: p.key, Scope: p.tool.Scope, Subject: p.subject, Claim: p.call.Fence.Claim, Round: p.call.Round, Index: p.call.Index,
		CreatedAt: p.reserved, UpdatedAt: now,
	}
}

// settle stores what came of a reserved call. An outcome that is unknown, or cannot be stored, freezes the job; a worker that
// lost the job stops, and the next one finds the call open.
func (s *Service) settle(ctx context.Context, p *prepared, out Outcome, res *outbound.Response, failed error, took time.Duration) (Outcome, error) {
	now := s.Clock.Now()
	e := p.entry(Completed, now)
	if out.State == Reconcile {
		e.State, e.Reason, e.Evidence = Uncertain, out.Reason, evidenceOf(res, failed)
	}
	rec, err := s.record(ctx, p, out)
	switch {
	case err != nil:
	case e.State == Uncertain:
		err = s.Store.MarkUncertain(ctx, p.call.Fence, e, rec, s.uncertainEvent(p, e, res, failed, took))
	default:
		err = s.Store.CompleteReserved(ctx, p.call.Fence, e, rec, s.resultEvent(p, out, res, failed, took))
	}
	switch {
	case errors.Is(err, job.ErrLostClaim):
		return out, err
	case err != nil:
		s.Logger.ErrorContext(ctx, "the outcome of a call could not be stored", "job_id", p.call.Job.ID, "tool", p.tool.Name,
			"idempotency_key", p.key, "status", out.Status, "error", err)
		e.State, e.Reason = Uncertain, "outcome_not_stored"
		return out, &Frozen{Open: e.Open(), Err: err}
	case e.State == Uncertain:
		return out, &Frozen{Open: e.Open()}
	}
	return out, nil
}

// replay answers a call that the journal knows: with what the business said then, or with what a person found out, without
// sending anything. An entry without either freezes the job.
func (s *Service) replay(ctx context.Context, p *prepared) (Outcome, error) {
	e := p.view.Entry
	if e.Closing != nil {
		out := e.Closing.outcome(e.Tool)
		rec := Record{Round: p.call.Round, Index: p.call.Index, CallID: p.call.CallID, Tool: e.Tool, Outcome: out}
		return out, s.complete(ctx, p.call, rec, s.closedEvent(p, e, out))
	}
	if e.State != Completed || e.Record == nil {
		return Outcome{}, &Frozen{Open: e.Open()}
	}
	rec := *e.Record
	rec.Round, rec.Index, rec.CallID = p.call.Round, p.call.Index, p.call.CallID
	rec.Outcome.TookMS = 0
	out := rec.Outcome
	if rec.Sealed != "" {
		text, err := s.Secrets.Open(ctx, rec.Sealed, SealedPlace(p.call.Job.ID))
		if err != nil {
			return Outcome{}, fmt.Errorf("toolcall: answer in the journal: %w", err)
		}
		out.Text = string(text)
	}
	return out, s.complete(ctx, p.call, rec, s.dedupedEvent(p, e, out))
}
