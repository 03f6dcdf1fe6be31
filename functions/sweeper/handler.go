package sweeper

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"bailing/shared/approval"
	"bailing/shared/delivery"
	"bailing/shared/job"
	"bailing/shared/platform"
)

// Sweeper looks at every due job once.
type Sweeper interface {
	Sweep(ctx context.Context) (job.Swept, error)
}

// Outbox looks at every due callback and delivery once.
type Outbox interface {
	Sweep(ctx context.Context) (delivery.Swept, error)
}

// Tickets looks at every approval ticket that is due once.
type Tickets interface {
	Sweep(ctx context.Context) (approval.Swept, error)
}

// Handler handles the schedule's events.
type Handler struct {
	Sweeper Sweeper
	Outbox  Outbox
	Tickets Tickets
	Logger  *slog.Logger
	Metrics *platform.Metrics
}

// New wires the function.
func New(p *platform.Platform) (lambda.Handler, error) {
	s := p.Store()
	h := &Handler{
		Sweeper: &job.Sweeper{Lifecycle: p.Lifecycle(s)},
		Outbox:  &delivery.Sweeper{Store: s, Queue: p.CallbacksQueue(), Clock: p.Clock, Logger: p.Logger},
		Tickets: &approval.Keeper{Store: s, Waits: p.Waits(), Clock: p.Clock, Logger: p.Logger},
		Logger:  p.Logger, Metrics: p.Metrics,
	}
	return lambda.NewHandler(h.Handle), nil
}

// stopBefore is left of the invocation when the sweep stops, so that it ends by itself and says what it did.
const stopBefore = 5 * time.Second

// Handle sweeps once: jobs, outbox and tickets side by side, since none may wait for another's backlog.
func (h *Handler) Handle(ctx context.Context, _ events.CloudWatchEvent) error {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-stopBefore))
		defer cancel()
	}
	var told delivery.Swept
	var asked approval.Swept
	var untold, unasked error
	var others sync.WaitGroup
	others.Go(func() { told, untold = h.Outbox.Sweep(ctx) })
	others.Go(func() { asked, unasked = h.Tickets.Sweep(ctx) })
	n, err := h.Sweeper.Sweep(ctx)
	others.Wait()
	err = errors.Join(err, untold, unasked)
	h.Metrics.Count("jobs_requeued", float64(n.Requeued))
	h.Metrics.Count("jobs_recovered", float64(n.Recovered))
	h.Metrics.Count("jobs_expired", float64(n.Expired))
	h.Metrics.Count("callbacks_promoted", float64(told.Sent))
	h.Metrics.Count("approvals_expired", float64(asked.Expired))
	if n.Looked > 0 || told.Looked > 0 || asked.Looked > 0 || err != nil {
		h.Logger.InfoContext(ctx, "swept", "looked", n.Looked, "requeued", n.Requeued, "recovered", n.Recovered, "expired", n.Expired,
			"callbacks_looked", told.Looked, "callbacks_promoted", told.Sent,
			"approvals_looked", asked.Looked, "approvals_started", asked.Started, "approvals_released", asked.Released, "approvals_expired", asked.Expired)
	}
	return err
}
