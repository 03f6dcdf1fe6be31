package delivery

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"bailing/shared/clock"
	"bailing/shared/job"
)

// Service makes attempts. It is safe for concurrent use.
type Service struct {
	Store       Store
	Clients     Clients
	Secrets     Opener
	HTTP        HTTP
	Queue       job.Notifier
	ServerToken string // signs for jobs without a client; "" = none
	Clock       clock.Clock
	Logger      *slog.Logger
	NewID       func() string // a new claimant for each claim
}

// Outcome is what became of a message of the queue, for metrics.
type Outcome string

const (
	OutcomeDelivered Outcome = "delivered"
	OutcomeRetry     Outcome = "retry"    // failed, and tried again later
	OutcomeDead      Outcome = "dead"     // failed for good
	OutcomeDeferred  Outcome = "deferred" // the hub could not make the attempt
	OutcomeSkipped   Outcome = "skipped"  // nothing was due
)

// Deliver makes one attempt at the row, if it is due. An error means that the row's state could not be read or saved: the
// message should come again.
func (s *Service) Deliver(ctx context.Context, k job.OutboxKey) (Outcome, error) {
	now := s.Clock.Now()
	row, err := s.Store.ClaimOutbox(ctx, k, Pending, s.NewID(), now, now.Add(Lease))
	if errors.Is(err, ErrNotClaimable) {
		return OutcomeSkipped, nil
	}
	if err != nil {
		return "", err
	}
	v, err := s.attempt(ctx, row)
	if ctx.Err() != nil {
		return "", ctx.Err() // nobody knows what came of it; the row is due again when its lease ends
	}
	r, outcome := s.decide(row, v, err)
	if err := s.Store.SaveAttempt(ctx, row, r, s.record(row, r, v)); err != nil {
		if errors.Is(err, ErrLostClaim) {
			return OutcomeSkipped, nil
		}
		return "", err
	}
	s.Logger.InfoContext(ctx, "delivery attempted", "outbox_id", k.ID(), "job_id", k.JobID, "attempt", row.Attempts, "outcome", outcome,
		"status", v.status, "reason", r.Reason)
	if r.State == Pending {
		s.later(ctx, k, r.NextAt.Sub(s.Clock.Now()))
	}
	return outcome, nil
}

// later sends the message of a pending row, unless it must wait longer than the queue can hold it.
func (s *Service) later(ctx context.Context, k job.OutboxKey, wait time.Duration) {
	if wait > hold {
		return
	}
	if wait > 0 {
		wait += clockSlack
	}
	if err := s.Queue.Notify(ctx, k, max(0, wait)); err != nil {
		s.Logger.WarnContext(ctx, "callback not queued, the sweeper will", "outbox_id", k.ID(), "error", err)
	}
}

// decide turns a verdict, or the failure of the hub to reach one, into what the row becomes.
func (s *Service) decide(row *Row, v verdict, hub error) (Result, Outcome) {
	now := s.Clock.Now()
	r := Result{State: Dead, Attempts: row.Attempts, Reason: v.reason, Now: now}
	switch {
	case hub != nil && row.Claim < claimsMax && !errors.Is(hub, ErrNoSecret):
		s.Logger.Error("delivery not attempted", "outbox_id", row.Key.ID(), "error", hub)
		r.State, r.Attempts, r.Reason = Pending, row.Attempts-1, "the hub could not make the attempt"
		r.NextAt = now.Add(hubWait)
		r.LookAt = r.NextAt.Add(ResendAfter)
		return r, OutcomeDeferred
	case hub != nil:
		r.Reason = "the hub could not make the attempt"
		if errors.Is(hub, ErrNoSecret) {
			r.Reason = ErrNoSecret.Error()
		}
	case v.delivered:
		r.State = Delivered
		return r, OutcomeDelivered
	case !v.final && row.Attempts < MaxAttempts:
		r.State, r.NextAt = Pending, now.Add(wait(row.Attempts, v.retryAfter))
		r.LookAt = r.NextAt
		if r.NextAt.Sub(now) <= hold {
			r.LookAt = r.NextAt.Add(ResendAfter) // its message is under way
		}
		return r, OutcomeRetry
	case !v.final:
		r.Reason = fmt.Sprintf("gave up after %d attempts; the last one: %s", row.Attempts, v.reason)
	}
	return r, OutcomeDead
}

// attempt signs and sends the row's bytes once. An error is the hub's own failure.
func (s *Service) attempt(ctx context.Context, row *Row) (verdict, error) {
	if row.Attempts > MaxAttempts {
		return verdict{final: true, reason: "the hub lost its worker in every attempt"}, nil
	}
	body := row.Body
	if row.Address != "" {
		var err error
		if body, err = s.Store.GetValue(ctx, row.Address); err != nil {
			return verdict{}, fmt.Errorf("delivery: body: %w", err)
		}
	}
	return s.poster().post(ctx, Message{ID: row.Key.ID(), Owner: row.Owner, URL: row.URL, Body: body})
}

func (s *Service) poster() *Poster {
	return &Poster{Clients: s.Clients, Secrets: s.Secrets, HTTP: s.HTTP, ServerToken: s.ServerToken, Clock: s.Clock}
}

// record is the entry of the delivery log.
func (s *Service) record(row *Row, r Result, v verdict) job.Event {
	ev := job.Event{
		ID: fmt.Sprintf("%s-%d-%d", row.Key.Target, row.Key.Terminal, row.Claim), At: r.Now, Name: "callback", Stage: job.StageDelivery,
		Severity: job.Info, Title: "Callback delivered",
		Detail: map[string]any{
			"id": row.Key.ID(), "attempt": row.Attempts, "state": r.State, "final": r.State != Pending, "recipient": row.URL,
		},
	}
	noun := "Callback"
	if row.Key.Target == job.ToDelivery {
		ev.Name, noun = "delivery_webhook", "Delivery"
	}
	if v.status != 0 {
		ev.Detail["status"] = v.status
	}
	switch r.State {
	case Delivered:
		ev.Title = noun + " delivered"
	case Pending:
		ev.Title, ev.Severity, ev.Summary = noun+" failed, to be tried again", job.Warning, r.Reason
		ev.Detail["reason"], ev.Detail["next_attempt_at"] = r.Reason, job.Timestamp(r.NextAt)
	default:
		ev.Title, ev.Severity, ev.Summary = noun+" failed for good", job.Severe, r.Reason
		ev.Detail["reason"] = r.Reason
	}
	return ev
}
