package delivery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"bailing/shared/job"
)

const (
	// ListDefault and ListMax bound a list of dead letters (core §2.6).
	ListDefault = 100
	ListMax     = 500
	// ReplayMax is how many dead letters one replay queues.
	ReplayMax = 1000
	// replayWidth is how many of them are queued side by side.
	replayWidth = 16
	// resendLease keeps a dead letter with the call that sends it again: longer than that call may take.
	resendLease = 30 * time.Second
)

// Letters returns dead letters, latest first. A limit outside 1 to ListMax is the default or the maximum.
func (s *Service) Letters(ctx context.Context, resolved bool, limit int) ([]*Row, error) {
	switch {
	case limit < 1:
		limit = ListDefault
	case limit > ListMax:
		limit = ListMax
	}
	return s.Store.DeadLetters(ctx, Letters{Resolved: resolved, Limit: limit})
}

// Log returns the outbox rows of a job, oldest first.
func (s *Service) Log(ctx context.Context, jobID string) ([]*Row, error) {
	return s.Store.OutboxOf(ctx, jobID)
}

var (
	// ErrPending says that the letter is being delivered: it was queued again, or somebody else sends it.
	ErrPending = errors.New("delivery: under way")
	// ErrResolved says that the letter is closed: delivered, or resolved by a person.
	ErrResolved = errors.New("delivery: resolved already")
)

// Refused is a resend that failed.
type Refused struct{ Reason string }

func (e *Refused) Error() string { return "delivery: " + e.Reason }

// Resend makes one attempt at a dead letter now (D44): nil when it was delivered, *Refused when not, [ErrResolved],
// [ErrPending] or [ErrNotFound] when there was nothing to attempt.
func (s *Service) Resend(ctx context.Context, k job.OutboxKey, by string) error {
	now := s.Clock.Now()
	row, err := s.Store.ClaimOutbox(ctx, k, Dead, s.NewID(), now, now.Add(resendLease))
	if errors.Is(err, ErrNotClaimable) {
		return s.explain(ctx, k)
	}
	if err != nil {
		return err
	}
	row.Attempts = min(row.Attempts, MaxAttempts) // a person's attempt is not one of the schedule
	v, hub := s.attempt(ctx, row)
	r := Result{State: Dead, Attempts: row.Attempts, Reason: v.reason, Now: s.Clock.Now()}
	switch {
	case errors.Is(hub, ErrNoSecret):
		r.Reason = ErrNoSecret.Error()
	case hub != nil:
		s.Logger.ErrorContext(ctx, "delivery not attempted", "outbox_id", k.ID(), "error", hub)
		r.Reason = "the hub could not make the attempt"
	case v.delivered:
		r.State = Delivered
	}
	ev := job.Event{
		ID: fmt.Sprintf("resend-%s-%d-%d", k.Target, k.Terminal, row.Claim), At: r.Now, Name: "dlq_resend_ok", Stage: job.StageDelivery,
		Severity: job.Info, Title: "Dead letter sent again", Detail: map[string]any{"id": k.ID(), "by": by, "recipient": row.URL},
	}
	if v.status != 0 {
		ev.Detail["status"] = v.status
	}
	if r.State == Dead {
		ev.Name, ev.Severity, ev.Title, ev.Summary = "dlq_resend_failed", job.Warning, "Dead letter sent again in vain", r.Reason
		ev.Detail["reason"] = r.Reason
	}
	// The attempt happened, whatever became of the caller.
	if err := s.Store.SaveAttempt(context.WithoutCancel(ctx), row, r, ev); err != nil {
		return err
	}
	if r.State == Dead {
		return &Refused{Reason: r.Reason}
	}
	return nil
}

// explain says why a letter could not be claimed.
func (s *Service) explain(ctx context.Context, k job.OutboxKey) error {
	row, err := s.Store.ReadOutbox(ctx, k)
	switch {
	case err != nil:
		return err
	case row.DiedAt.IsZero():
		return ErrNotFound // it never was a dead letter
	case !row.ResolvedAt.IsZero():
		return ErrResolved
	}
	return ErrPending
}

// Resolve closes a dead letter without sending it. Closing a closed one changes nothing.
func (s *Service) Resolve(ctx context.Context, k job.OutboxKey, by string) error {
	now := s.Clock.Now()
	ev := job.Event{
		ID: fmt.Sprintf("resolve-%s-%d", k.Target, k.Terminal), At: now, Name: "dlq_resolved", Stage: job.StageDelivery, Severity: job.Info,
		Title: "Dead letter closed", Detail: map[string]any{"id": k.ID(), "by": by},
	}
	err := s.Store.ResolveOutbox(ctx, k, now, ev)
	if !errors.Is(err, ErrNotClaimable) {
		return err
	}
	if err := s.explain(ctx, k); !errors.Is(err, ErrResolved) {
		return err
	}
	return nil
}

// Replayed is what a replay did.
type Replayed struct {
	Queued int
	More   bool // there were more than ReplayMax; the same call again queues further ones
}

// Replay starts the schedule of the named dead letters anew; those that are not dead letters, or closed, are left alone.
func (s *Service) Replay(ctx context.Context, keys []job.OutboxKey, by string) (Replayed, error) {
	now := s.Clock.Now()
	queued := make(chan struct{}, len(keys))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(replayWidth)
	for _, k := range keys {
		g.Go(func() error {
			ev := job.Event{
				ID: fmt.Sprintf("replay-%s-%d", k.Target, k.Terminal), At: now, Name: "dlq_replayed", Stage: job.StageDelivery,
				Severity: job.Info, Title: "Dead letter queued again", Detail: map[string]any{"id": k.ID(), "by": by},
			}
			err := s.Store.RequeueOutbox(gctx, k, now, now.Add(ResendAfter), ev)
			if errors.Is(err, ErrNotClaimable) {
				return nil
			}
			if err != nil {
				return err
			}
			queued <- struct{}{}
			s.later(gctx, k, 0)
			return nil
		})
	}
	err := g.Wait()
	return Replayed{Queued: len(queued)}, err
}

// ReplaySince is [Service.Replay] of every unresolved dead letter that died at since or later, at most ReplayMax of them.
func (s *Service) ReplaySince(ctx context.Context, since time.Time, by string) (Replayed, error) {
	rows, err := s.Store.DeadLetters(ctx, Letters{Since: since, Limit: ReplayMax + 1})
	if err != nil {
		return Replayed{}, err
	}
	more := len(rows) > ReplayMax
	keys := make([]job.OutboxKey, 0, ReplayMax)
	for _, row := range rows[:min(len(rows), ReplayMax)] {
		keys = append(keys, row.Key)
	}
	n, err := s.Replay(ctx, keys, by)
	n.More = more
	return n, err
}
