package jobrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"bailing/shared/approval"
	"bailing/shared/job"
	"bailing/shared/model"
	"bailing/shared/toolcall"
)

// errDeferred asks to put the job back until an approved call of it may be made.
type errDeferred struct {
	reason string
	wait   time.Duration
}

func (e *errDeferred) Error() string { return "jobrun: " + e.reason }

// calls makes what is to be called before the model is asked again: the unanswered wishes of the last round, and then the approved calls
// that the job is marked for, each as a round of its own. Such a round is saved first, so that a worker that is lost leaves it to the
// next one; the mark goes when the call is reserved, or when it is on record why it is not made.
//
// An approved call that cannot be made now keeps no other from being made: the job is put back when each was tried.
func (r *run) calls(ctx context.Context) error {
	var put backs
	for {
		if round, index, ok := r.conv.pending(put.tried); ok {
			if err := put.later(round, r.call(ctx, round, index)); err != nil {
				return err
			}
			continue
		}
		due, ok := r.nextDue()
		if !ok {
			return put.err()
		}
		if err := r.takeUp(ctx, due); err != nil {
			return err
		}
	}
}

// backs remembers the approved calls that a worker has tried and that cannot be made now, and why.
type backs struct {
	tried    []int // numbers of their rounds
	yield    *errYield
	deferred *errDeferred // the one that may be made first
}

// later remembers that the call of round cannot be made now; it returns every other error.
func (b *backs) later(round *Round, err error) error {
	var (
		yield    *errYield
		deferred *errDeferred
	)
	switch {
	case errors.As(err, &deferred):
		if b.deferred == nil || deferred.wait < b.deferred.wait {
			b.deferred = deferred
		}
	case errors.As(err, &yield) && !yield.paused && round.Approved != nil: // there may be time enough for another one
		b.yield = yield
	default:
		return err
	}
	b.tried = append(b.tried, round.Number)
	return nil
}

// err is how the job is put back; nil when no call waits. One that needs a whole invocation gets it at once.
func (b *backs) err() error {
	switch {
	case b.yield != nil:
		return b.yield
	case b.deferred != nil:
		return b.deferred
	}
	return nil
}

// nextDue is the first approved call that has no round yet.
func (r *run) nextDue() (job.DueTicket, bool) {
	for _, d := range r.job.Due {
		if !slices.ContainsFunc(r.conv.rounds, func(round Round) bool { return round.Approved != nil && round.Approved.Ticket == d.ID }) {
			return d, true
		}
	}
	return job.DueTicket{}, false
}

// takeUp saves the round of an approved call: a wish in the model's name, with exactly the arguments that the ticket froze (I3). A call
// whose ticket a wish of the model used since the job was claimed has its answer there, and the stored mark went with it.
func (r *run) takeUp(ctx context.Context, due job.DueTicket) error {
	t, intent, err := r.frozen(ctx, due.ID)
	if err != nil {
		return err
	}
	if !t.UsedAt.IsZero() {
		r.job.Due = slices.DeleteFunc(r.job.Due, func(d job.DueTicket) bool { return d.ID == due.ID })
		return nil
	}
	now := r.Clock.Now()
	saved := Round{
		Number: len(r.conv.rounds) + 1,
		Message: model.Message{Role: model.RoleAssistant, ToolCalls: []model.ToolCall{
			{ID: fmt.Sprintf("approval-%d", due.ID), Name: t.Tool, Arguments: string(intent.Args)},
		}},
		Approved: &Approved{Ticket: due.ID, Provider: t.Provider, Sensitive: t.Sealed != "", ExpiresAt: due.ExpiresAt, Since: now},
		Calls:    map[int]toolcall.Record{},
	}
	stored, err := r.seal(ctx, saved, t.Sealed != "")
	if err != nil {
		return err
	}
	ev := job.Event{
		ID: fmt.Sprintf("approval_taken_up-%d", due.ID), At: now, Name: "approval_taken_up", Stage: job.StageApproval, Severity: job.Info,
		Title: "Approved call taken up", Summary: fmt.Sprintf("%s · %d", t.Tool, due.ID),
		Detail: map[string]any{"approval_id": due.ID, "tool": t.Tool, "args_hash": t.ArgsHash, "round": saved.Number},
	}
	if err := r.Store.SaveRound(ctx, r.fence, stored, ev); err != nil {
		return err
	}
	r.conv.rounds = append(r.conv.rounds, saved)
	r.progress = true
	return nil
}

// frozen reads a ticket and what it froze.
func (r *run) frozen(ctx context.Context, id int64) (*approval.Ticket, approval.Intent, error) {
	var intent approval.Intent
	t, err := r.Store.ReadTicket(ctx, id)
	if err != nil {
		return nil, intent, err
	}
	if t == nil {
		return nil, intent, fmt.Errorf("jobrun: approved ticket %d: %w", id, approval.ErrNotFound)
	}
	clear := t.Intent
	if t.Sealed != "" {
		if clear, err = r.Secrets.Open(ctx, t.Sealed, approval.SealedPlace(id)); err != nil {
			return nil, intent, fmt.Errorf("jobrun: approved ticket %d: %w", id, err)
		}
	}
	if err := json.Unmarshal(clear, &intent); err != nil {
		return nil, intent, fmt.Errorf("jobrun: approved ticket %d: %w", id, err)
	}
	return t, intent, nil
}

// dueOf is the due call of a round, nil for a round of the model.
func dueOf(round *Round) *toolcall.Due {
	a := round.Approved
	if a == nil {
		return nil
	}
	return &toolcall.Due{DueTicket: job.DueTicket{ID: a.Ticket, ExpiresAt: a.ExpiresAt}, Provider: a.Provider, Sensitive: a.Sensitive}
}

const (
	deferMin = 15 * time.Second
	deferMax = 10 * time.Minute
)

// deferral is how long a job waits whose approved call cannot be made: as long as the refusal says, but soon not in steps of less than
// deferMin; else half as long as it has waited, so that a short outage is noticed soon and a long one costs little. The deadline ends
// the wait.
func (r *run) deferral(round *Round, d *toolcall.Deferred) *errDeferred {
	now := r.Clock.Now()
	half := now.Sub(round.Approved.Since) / 2
	wait := max(d.Wait, min(half, deferMin))
	if d.Wait == 0 {
		wait = min(max(half, deferMin), deferMax)
	}
	return &errDeferred{reason: d.Outcome.Reason, wait: min(wait, max(round.Approved.ExpiresAt.Sub(now), 0))}
}
