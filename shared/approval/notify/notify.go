package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"bailing/shared/approval"
	"bailing/shared/clock"
	"bailing/shared/delivery"
	"bailing/shared/job"
	"bailing/shared/plainjson"
	"bailing/shared/registry"
)

// Types of tools.approval that are told by a request of the hub's (core §6.4).
const (
	BusinessWebhook = "business_webhook"
	ApprovalWebhook = "approval_webhook"
	Webhook         = "webhook"
)

// Why nobody was told.
const (
	ReasonNone    = "not_configured"     // neither the route nor the hub says whom to tell
	ReasonChannel = "type_not_available" // the type is told by an executor or a channel, which this hub does not have
)

// Routes reads routes; nil for one that does not exist.
type Routes interface {
	Get(ctx context.Context, key string) (*registry.Versioned[registry.Route], error)
}

// Log keeps audit records.
type Log interface {
	AddEvent(ctx context.Context, jobID string, ev job.Event) error
}

// Poster signs and sends one message.
type Poster interface {
	Post(ctx context.Context, m delivery.Message) (delivery.Answer, error)
}

// Target says whom to tell, and how: tools.approval of a route (core §5.1), or the hub's alert configuration (core §11.9).
type Target struct {
	Type string `json:"type"`
	URL  string `json:"url"`

	alerts bool // the hub's own, whose address is an operator's secret
}

// Teller sends notifications. It is safe for concurrent use.
type Teller struct {
	Routes  Routes
	Log     Log
	Secrets delivery.Opener // opens the intents of sensitive tools
	Post    Poster
	Alerts  Target // for routes that say nothing; the zero value is nobody
	BaseURL string // public address of the hub, without a final slash; "" leaves absolute addresses out
	Clock   clock.Clock
	Logger  *slog.Logger
}

var _ approval.Teller = (*Teller)(nil)

// Tell sends the notification of t, which was read with its intent. An error asks for another try: the receiver did not answer or
// could not take it now, or the hub could not send it.
func (s *Teller) Tell(ctx context.Context, t *approval.Ticket) error {
	to, owner, err := s.target(ctx, t)
	if err != nil {
		return err
	}
	var name string
	var compose func(*facts) any
	switch to.Type {
	case BusinessWebhook, ApprovalWebhook:
		name, compose = "approval_intent_webhook", func(f *facts) any { return requestOf(f) }
	case Webhook:
		name, compose = "approval_notify", func(f *facts) any { return messageOf(f) }
	case "":
		return s.skip(ctx, t, to, ReasonNone)
	default:
		return s.skip(ctx, t, to, ReasonChannel)
	}
	f, err := s.facts(ctx, t)
	if err != nil {
		return err
	}
	body, err := plainjson.Marshal(compose(f))
	if err != nil {
		return fmt.Errorf("notify: approval %d: body: %w", t.ID, err)
	}
	answer, err := s.Post.Post(ctx, delivery.Message{ID: MessageID(t.ID), Owner: owner, URL: to.URL, Body: body})
	if ctx.Err() != nil {
		return ctx.Err() // nobody knows what came of it
	}
	switch {
	case errors.Is(err, delivery.ErrNoSecret):
		answer = delivery.Answer{Final: true, Reason: err.Error()}
	case err != nil:
		return fmt.Errorf("notify: approval %d: %w", t.ID, err)
	}
	if err := s.Log.AddEvent(ctx, t.JobID, s.event(t, name, to, answer)); err != nil {
		return err
	}
	s.Logger.InfoContext(ctx, "approval notified", "approval_id", t.ID, "job_id", t.JobID, "type", to.Type, "delivered", answer.Delivered,
		"status", answer.Status, "reason", answer.Reason)
	if !answer.Delivered && !answer.Final {
		return fmt.Errorf("notify: approval %d: %s", t.ID, answer.Reason)
	}
	return nil
}

// MessageID is the webhook-id of everything that is sent about a ticket.
func MessageID(id int64) string { return fmt.Sprintf("approval-%d", id) }

// target is whom to tell about t, and whose token signs.
func (s *Teller) target(ctx context.Context, t *approval.Ticket) (to Target, owner string, err error) {
	route, err := s.Routes.Get(ctx, t.RouteKey)
	if err != nil {
		return Target{}, "", fmt.Errorf("notify: route: %w", err)
	}
	if route == nil || route.Value.Tools == nil || len(route.Value.Tools.Approval) == 0 {
		return Target{Type: s.Alerts.Type, URL: s.Alerts.URL, alerts: true}, "", nil
	}
	if err := json.Unmarshal(route.Value.Tools.Approval, &to); err != nil {
		return Target{}, "", fmt.Errorf("notify: route %s: %w", t.RouteKey, err)
	}
	return to, t.Owner, nil
}

// skip records that nobody is told.
func (s *Teller) skip(ctx context.Context, t *approval.Ticket, to Target, reason string) error {
	ev := s.record(t, "approval_notify_skipped", job.Warning, "Nobody was told about the approval")
	ev.Summary, ev.Detail["reason"] = reason, reason
	if to.Type != "" {
		ev.Detail["type"] = to.Type
	}
	return s.Log.AddEvent(ctx, t.JobID, ev)
}

// event is the audit record of one attempt.
func (s *Teller) event(t *approval.Ticket, name string, to Target, a delivery.Answer) job.Event {
	ev := s.record(t, name, job.Info, "Approval requested")
	switch {
	case a.Delivered:
	case a.Final:
		ev.Severity, ev.Title = job.Severe, "Approval request failed for good"
	default:
		ev.Severity, ev.Title = job.Warning, "Approval request failed, to be tried again"
	}
	recipient := to.URL
	if to.alerts {
		recipient = "alerts"
	}
	ev.Detail["type"], ev.Detail["recipient"], ev.Detail["ok"], ev.Detail["final"] = to.Type, recipient, a.Delivered, a.Delivered || a.Final
	if a.Status != 0 {
		ev.Detail["status"] = a.Status
	}
	if a.Reason != "" {
		ev.Summary, ev.Detail["reason"] = a.Reason, a.Reason
	}
	return ev
}

func (s *Teller) record(t *approval.Ticket, name, severity, title string) job.Event {
	return job.Event{
		ID: fmt.Sprintf("%s-%d", name, t.ID), At: s.Clock.Now(), Name: name, Stage: job.StageApproval, Severity: severity, Title: title,
		Detail: map[string]any{"approval_id": t.ID, "tool": t.Tool, "args_hash": t.ArgsHash},
	}
}
