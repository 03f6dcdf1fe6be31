package approval

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"bailing/shared/clock"
	"bailing/shared/job"
)

// KeeperStore is the storage of a ticket's wait.
type KeeperStore interface {
	// ReadTicket reads one ticket with its intent; nil when there is none.
	ReadTicket(ctx context.Context, id int64) (*Ticket, error)
	// ReadTicketRow reads one ticket without its intent; nil when there is none.
	ReadTicketRow(ctx context.Context, id int64) (*Ticket, error)
	// HoldTicket gives a ticket that is pending at now the token of its wait: one conditional write. It reports false when the
	// ticket is not pending any more, or past its deadline.
	HoldTicket(ctx context.Context, id int64, token string, now time.Time) (held bool, err error)
	// ExpireTicket ends t, which is pending, or approved and unused, and past its deadline at now: {ticket, lookup, audit record}
	// in one transaction. ErrMoved when it is not so any more.
	ExpireTicket(ctx context.Context, t *Ticket, now time.Time, ev job.Event) error
	// SettleTicket forgets the token of a ticket whose wait was told that it is over, if it is this one.
	SettleTicket(ctx context.Context, id int64, token string) error
	// PostponeTicket sets when the sweeper looks at t next, zero is never; it does nothing when t moved on meanwhile.
	PostponeTicket(ctx context.Context, t *Ticket, lookAt time.Time) error
	// EachDueTicket calls visit with every ticket to look at by now, in no order. Its index may lag.
	EachDueTicket(ctx context.Context, now time.Time, visit func(id int64) error) error
}

// Teller tells those who may decide that a ticket waits.
type Teller interface {
	// Tell sends the notification of a ticket. An error means that it should be tried again.
	Tell(ctx context.Context, t *Ticket) error
}

// Keeper holds the waits of tickets: its three methods are the tasks of an execution. Each may run twice, beside itself, and die
// anywhere; the ticket's row decides what is left to do.
type Keeper struct {
	Store  KeeperStore
	Waits  Waits
	Teller Teller // nil in the sweeper
	Clock  clock.Clock
	Logger *slog.Logger
}

// Notify tells those who may decide. A ticket that is not open any more is nobody's business.
func (k *Keeper) Notify(ctx context.Context, id int64) error {
	t, err := k.Store.ReadTicket(ctx, id)
	if err != nil {
		return err
	}
	if t == nil {
		return ErrNotFound
	}
	if !t.Open(k.Clock.Now()) {
		return nil
	}
	return k.Teller.Tell(ctx, t)
}

// Hold leaves the token of the wait with the ticket, so that the decision can end it. A decision that came first ends it here.
func (k *Keeper) Hold(ctx context.Context, id int64, token string) error {
	held, err := k.Store.HoldTicket(ctx, id, token, k.Clock.Now())
	if err != nil || held {
		return err
	}
	t, err := k.Store.ReadTicketRow(ctx, id)
	if err != nil {
		return err
	}
	if t == nil {
		return ErrNotFound
	}
	if t.State == Pending { // past its deadline: the wait ends by itself, but not before somebody writes it down
		if err := k.expire(ctx, t); err != nil {
			return err
		}
	}
	return k.Waits.Release(ctx, token)
}

// Expire ends the ticket if its deadline has passed. [ErrNotDue] asks to try again a little later.
func (k *Keeper) Expire(ctx context.Context, id int64) error {
	t, err := k.Store.ReadTicketRow(ctx, id)
	if err != nil {
		return err
	}
	if t == nil {
		return ErrNotFound
	}
	if t.State != Pending { // an approved ticket has its deadline too, for which the sweeper cares
		return nil
	}
	return k.expire(ctx, t)
}

func (k *Keeper) expire(ctx context.Context, t *Ticket) error {
	now := k.Clock.Now()
	if now.Before(t.ExpiresAt) {
		return ErrNotDue
	}
	err := k.Store.ExpireTicket(ctx, t, now, ExpiryEvent(t, now))
	if errors.Is(err, ErrMoved) {
		return nil // somebody decided it, or wrote it down
	}
	return err
}

// ExpiryEvent is the audit record of a ticket whose deadline passed.
func ExpiryEvent(t *Ticket, now time.Time) job.Event {
	return job.Event{
		ID: fmt.Sprintf("tool_approval_expired-%d", t.ID), At: now, Name: "tool_approval_expired", Stage: job.StageApproval, Severity: job.Warning,
		Title: "Approval expired", Summary: fmt.Sprintf("%s · %d", t.Tool, t.ID),
		Detail: map[string]any{
			"approval_id": t.ID, "tool": t.Tool, "scope": t.Scope, "args_hash": t.ArgsHash, "from": t.State, "expires_at": job.Timestamp(t.ExpiresAt),
		},
	}
}

const (
	// StartAfter is when the sweeper assumes that the wait of a new ticket was not started.
	StartAfter = time.Minute
	// restartAfter is when it looks again at a ticket whose wait left no token.
	restartAfter = 10 * time.Minute
)

// Swept counts what a sweep of tickets did.
type Swept struct{ Looked, Started, Released, Expired int }

// Sweep repairs what waits lost: it starts those that were not started, ends those whose ticket is decided, and ends tickets whose
// deadline passed. A ticket that cannot be moved is logged and does not keep the others waiting.
func (k *Keeper) Sweep(ctx context.Context) (n Swept, err error) {
	err = k.Store.EachDueTicket(ctx, k.Clock.Now(), func(id int64) error {
		n.Looked++
		if err := k.look(ctx, id, &n); err != nil {
			k.Logger.ErrorContext(ctx, "ticket not swept", "approval_id", id, "error", err)
		}
		return ctx.Err()
	})
	return n, err
}

func (k *Keeper) look(ctx context.Context, id int64, n *Swept) error {
	t, err := k.Store.ReadTicketRow(ctx, id)
	if t == nil || err != nil {
		return err
	}
	now := k.Clock.Now()
	if t.Unused() && !now.Before(t.ExpiresAt) {
		if err := k.expire(ctx, t); err != nil {
			return err
		}
		n.Expired++
		return nil // it is due at once, for its token
	}
	if t.State == Pending {
		if t.Token != "" { // the wait holds it
			return k.Store.PostponeTicket(ctx, t, t.ExpiresAt)
		}
		if err := k.Waits.Start(ctx, id, t.ExpiresAt); err != nil {
			return err
		}
		n.Started++
		return k.Store.PostponeTicket(ctx, t, earlier(now.Add(restartAfter), t.ExpiresAt))
	}
	if t.Token != "" {
		if err := k.Waits.Release(ctx, t.Token); err != nil {
			return err
		}
		n.Released++
		if err := k.Store.SettleTicket(ctx, id, t.Token); err != nil {
			return err
		}
		t.Token = ""
	}
	if t.Unused() {
		return k.Store.PostponeTicket(ctx, t, t.ExpiresAt)
	}
	return k.Store.PostponeTicket(ctx, t, time.Time{})
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
