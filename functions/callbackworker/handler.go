package callbackworker

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"bailing/shared/clock"
	"bailing/shared/delivery"
	"bailing/shared/job"
	"bailing/shared/platform"
	"bailing/shared/queue"
)

// Deliverer makes one attempt.
type Deliverer interface {
	Deliver(ctx context.Context, k job.OutboxKey) (delivery.Outcome, error)
}

// Handler handles events of the callbacks queue.
type Handler struct {
	Deliverer Deliverer
	Logger    *slog.Logger
	Metrics   *platform.Metrics
	Clock     clock.Clock
}

// New wires the function.
func New(p *platform.Platform) (lambda.Handler, error) {
	d, err := p.Delivery(p.Store())
	if err != nil {
		return nil, err
	}
	h := &Handler{Deliverer: d, Logger: p.Logger, Metrics: p.Metrics, Clock: p.Clock}
	return lambda.NewHandler(h.Handle), nil
}

// Handle makes the attempts of the event, all at once, and returns when the last one ended.
func (h *Handler) Handle(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
	failed := make([]bool, len(e.Records))
	var attempts sync.WaitGroup
	for i, m := range e.Records {
		attempts.Go(func() { failed[i] = !h.one(ctx, m) })
	}
	attempts.Wait()
	res := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
	for i, m := range e.Records {
		if failed[i] {
			res.BatchItemFailures = append(res.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
		}
	}
	return res, nil
}

func (h *Handler) one(ctx context.Context, m events.SQSMessage) (ok bool) {
	start := h.Clock.Now()
	k, err := queue.OutboxKey(m.Body)
	outcome := delivery.Outcome("failed")
	if err == nil {
		var o delivery.Outcome
		if o, err = h.Deliverer.Deliver(ctx, k); err == nil {
			outcome = o
		}
	}
	if err != nil {
		h.Logger.ErrorContext(ctx, "message not handled", "message_id", m.MessageId, "outbox_id", k.ID(), "error", err)
	}
	h.Metrics.Count("callback_attempts", 1, "outcome", string(outcome))
	h.Metrics.Duration("callback_attempt", h.Clock.Now().Sub(start).Round(time.Millisecond))
	if outcome == delivery.OutcomeDead {
		h.Metrics.Count("callback_dead", 1)
	}
	return err == nil
}
