package refresher

import (
	"context"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"bailing/shared/capability/compile"
	"bailing/shared/platform"
	"bailing/shared/provider"
)

// Refresher does what is due once.
type Refresher interface {
	RefreshDue(ctx context.Context) (provider.Swept, error)
}

// Handler handles the schedule's events.
type Handler struct {
	Refresher Refresher
	Logger    *slog.Logger
	Metrics   *platform.Metrics
}

// New wires the function.
func New(p *platform.Platform) (lambda.Handler, error) {
	providers, err := p.Providers(p.Store(), compile.Compile, compile.Version)
	if err != nil {
		return nil, err
	}
	h := &Handler{Refresher: providers, Logger: p.Logger, Metrics: p.Metrics}
	return lambda.NewHandler(h.Handle), nil
}

// stopBefore is left of the invocation when the round stops, so that it ends by itself and says what it did.
const stopBefore = 5 * time.Second

// Handle runs one round.
func (h *Handler) Handle(ctx context.Context, _ events.CloudWatchEvent) error {
	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-stopBefore))
		defer cancel()
	}
	n, err := h.Refresher.RefreshDue(ctx)
	h.Metrics.Count("specs_refreshed", float64(n.Refreshed))
	h.Metrics.Count("specs_failed", float64(n.Failed))
	h.Metrics.Count("specs_recompiled", float64(n.Recompiled))
	if n.Due > 0 || err != nil {
		h.Logger.InfoContext(ctx, "specifications refreshed", "providers", n.Looked, "due", n.Due, "refreshed", n.Refreshed,
			"failed", n.Failed, "recompiled", n.Recompiled)
	}
	return err
}
