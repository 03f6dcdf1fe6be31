package delivery

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"bailing/shared/clock"
	"bailing/shared/job"
)

// Sweeper sends the messages of rows that waited longer than the queue can hold a message, and of those whose message or
// worker was lost. It may run twice, beside itself, and die anywhere: a message too many finds nothing to claim.
type Sweeper struct {
	Store  Store
	Queue  job.Notifier
	Clock  clock.Clock
	Logger *slog.Logger
}

// Swept counts what a sweep did.
type Swept struct{ Looked, Sent int }

// Sweep looks at every due row once. One that cannot be read is logged and keeps no other waiting.
func (s *Sweeper) Sweep(ctx context.Context) (n Swept, err error) {
	err = s.Store.EachDueOutbox(ctx, s.Clock.Now(), func(k job.OutboxKey) error {
		n.Looked++
		if err := s.look(ctx, k, &n); err != nil {
			s.Logger.ErrorContext(ctx, "outbox row not swept", "outbox_id", k.ID(), "error", err)
		}
		return ctx.Err()
	})
	return n, err
}

// lookMax bounds how rarely a row is looked at that stays due: its receivers may be slow, or the hub.
const lookMax = time.Hour

func (s *Sweeper) look(ctx context.Context, k job.OutboxKey, n *Swept) error {
	row, err := s.Store.ReadOutbox(ctx, k)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	now := s.Clock.Now()
	wait := row.NextAt.Sub(now)
	switch {
	case row.State != Pending:
		return nil
	case row.LeaseUntil.After(now):
		return s.Store.PostponeOutbox(ctx, k, row.LeaseUntil)
	case wait > hold:
		return s.Store.PostponeOutbox(ctx, k, row.NextAt)
	case wait > 0:
		wait += clockSlack
	}
	if err := s.Queue.Notify(ctx, k, max(0, wait)); err != nil {
		return err
	}
	n.Sent++
	// A message that waits behind others is not lost: the longer the row has been due, the rarer the copies.
	overdue := now.Sub(row.NextAt)
	return s.Store.PostponeOutbox(ctx, k, now.Add(max(0, wait)+min(lookMax, max(ResendAfter, overdue))))
}
