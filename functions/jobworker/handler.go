package jobworker

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"bailing/shared/clock"
	"bailing/shared/jobrun"
	"bailing/shared/model/openai"
	"bailing/shared/platform"
	"bailing/shared/queue"
	"bailing/shared/toolcall"
)

// Runner runs one job.
type Runner interface {
	Run(ctx context.Context, jobID string) error
}

// Handler handles events of the jobs queue.
type Handler struct {
	Runner  Runner
	Logger  *slog.Logger
	Metrics *platform.Metrics
	Clock   clock.Clock
}

// New wires the function.
func New(p *platform.Platform) (lambda.Handler, error) {
	sealer, err := p.Sealer()
	if err != nil {
		return nil, err
	}
	http, err := p.Outbound()
	if err != nil {
		return nil, err
	}
	s := p.Store()
	tools := &toolcall.Service{Store: s, HTTP: http, Secrets: sealer, Waits: p.Waits(), Clock: p.Clock, Logger: p.Logger}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	h := &Handler{
		Runner: &jobrun.Runner{
			Jobs: p.Lifecycle(s), Store: s, Model: openai.New(http), Tools: tools, Secrets: sealer,
			Clock: p.Clock, Logger: p.Logger, Worker: func() string { return "inhub:" + host + ":" + platform.NewID() },
		},
		Logger: p.Logger, Metrics: p.Metrics, Clock: p.Clock,
	}
	return lambda.NewHandler(h.Handle), nil
}

// Handle runs the jobs of the event, one after another.
func (h *Handler) Handle(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
	res := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}}
	for _, m := range e.Records {
		start := h.Clock.Now()
		outcome := "handled"
		if err := h.one(ctx, m); err != nil {
			outcome = "failed"
			h.Logger.ErrorContext(ctx, "message not handled", "message_id", m.MessageId, "error", err)
			res.BatchItemFailures = append(res.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
		}
		h.Metrics.Count("job_messages", 1, "outcome", outcome)
		h.Metrics.Duration("job_run", h.Clock.Now().Sub(start).Round(time.Millisecond))
	}
	return res, nil
}

func (h *Handler) one(ctx context.Context, m events.SQSMessage) error {
	id, err := queue.JobID(m.Body)
	if err != nil {
		return err
	}
	return h.Runner.Run(ctx, id)
}
