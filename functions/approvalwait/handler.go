package approvalwait

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"bailing/shared/approval"
	"bailing/shared/clock"
	"bailing/shared/platform"
)

// Keeper keeps tickets. An approval.ErrNotFound says that there is none of that number.
type Keeper interface {
	// Notify tells the business about a ticket that waits, once. An error asks for another try.
	Notify(ctx context.Context, ticketID int64) error
	// Hold stores the task token that ends the wait, or answers it at once when nothing waits any more. An error asks for another
	// try, which brings another token.
	Hold(ctx context.Context, ticketID int64, token string) error
	// Expire ends the ticket if its deadline has passed. An error asks for another try.
	Expire(ctx context.Context, ticketID int64) error
}

// Handler handles the tasks of the machine.
type Handler struct {
	Keeper  Keeper
	Clock   clock.Clock
	Logger  *slog.Logger
	Metrics *platform.Metrics
}

// Task is what the machine invokes the function with.
type Task struct {
	Action   Action    `json:"action"`
	Ticket   int64     `json:"ticket"`
	Deadline time.Time `json:"deadline,omitzero"` // of Remaining
	Token    string    `json:"token,omitempty"`   // of Hold
}

// Action names a task.
type Action string

// The tasks of the machine.
const (
	Notify    Action = "notify"
	Remaining Action = "remaining"
	Hold      Action = "hold"
	Expire    Action = "expire"
)

// Done is what a task answers.
type Done struct {
	// Seconds is what Remaining found: how long the machine may wait.
	Seconds int64 `json:"timeout_s,omitempty"`
}

// maxSeconds is the longest time-out of a state.
const maxSeconds = 99_999_999

// errTask says that the machine and this function do not belong together. Tries cannot help: the execution fails, and is seen.
var errTask = errors.New("not a task of this function")

// Handle runs one task.
func (h *Handler) Handle(ctx context.Context, t Task) (d Done, err error) {
	outcome := "done"
	d, err = h.run(ctx, t)
	if errors.Is(err, approval.ErrNotFound) {
		// Rows of tickets come before their executions and are never deleted: nobody will decide, and no try will find one.
		h.Logger.ErrorContext(ctx, "no such ticket", "action", t.known(), "approval_id", t.Ticket)
		outcome, err = "absent", nil
	}
	if err != nil {
		outcome = "failed"
		// Not the task itself: its token ends the wait.
		h.Logger.ErrorContext(ctx, "task failed", "action", t.known(), "approval_id", t.Ticket, "error", err)
	}
	h.Metrics.Count("approval_tasks", 1, "action", t.known(), "outcome", outcome)
	return d, err
}

func (h *Handler) run(ctx context.Context, t Task) (Done, error) {
	if t.Ticket < 1 || (t.Action == Hold) != (t.Token != "") || (t.Action == Remaining) == t.Deadline.IsZero() {
		return Done{}, fmt.Errorf("approvalwait: %w", errTask)
	}
	switch t.Action {
	case Notify:
		return Done{}, h.Keeper.Notify(ctx, t.Ticket)
	case Remaining:
		return Done{Seconds: secondsUntil(t.Deadline, h.Clock.Now())}, nil
	case Hold:
		return Done{}, h.Keeper.Hold(ctx, t.Ticket, t.Token)
	case Expire:
		return Done{}, h.Keeper.Expire(ctx, t.Ticket)
	}
	return Done{}, fmt.Errorf("approvalwait: %w", errTask)
}

// known is the action for logs and metrics, in which nothing of an unknown one may stand.
func (t Task) known() string {
	switch t.Action {
	case Notify, Remaining, Hold, Expire:
		return string(t.Action)
	}
	return "unknown"
}

// secondsUntil is the time to the deadline, rounded up so that the wait never ends before it, and within what a state takes.
func secondsUntil(deadline, now time.Time) int64 {
	left := deadline.Sub(now)
	seconds := int64(left / time.Second)
	if left%time.Second > 0 {
		seconds++
	}
	return min(max(seconds, 1), maxSeconds)
}

// New wires the function.
func New(p *platform.Platform) (lambda.Handler, error) {
	k, err := p.Keeper(p.Store())
	if err != nil {
		return nil, err
	}
	h := &Handler{Keeper: k, Clock: p.Clock, Logger: p.Logger, Metrics: p.Metrics}
	return lambda.NewHandler(h.Handle), nil
}
