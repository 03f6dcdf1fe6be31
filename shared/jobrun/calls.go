package jobrun

import (
	"context"
	"errors"
	"fmt"

	"bailing/shared/job"
	"bailing/shared/textlimit"
	"bailing/shared/toolcall"
)

// call makes one call of a round and remembers its outcome, which is saved by then.
func (r *run) call(ctx context.Context, round *Round, index int) error {
	wish := round.Message.ToolCalls[index]
	rec := toolcall.Record{Round: round.Number, Index: index, CallID: wish.ID, Tool: wish.Name}
	var err error
	switch {
	case round.Approved != nil:
		rec.Outcome, err = r.invoke(ctx, round, index)
	case wish.Name == findTools && r.conv.catalogue():
		rec.Outcome = r.conv.lookup(wish.Arguments)
		err = r.Store.CompleteCall(ctx, r.fence, rec, r.lookupEvent(rec))
	case r.conv.disabled(wish.Name):
		rec.Outcome = toolcall.Outcome{State: toolcall.NotDispatched, Reason: "tool_disabled",
			Text: fmt.Sprintf("Tool %s failed twice in a row and is disabled for this job. Nothing was sent.", wish.Name)}
		err = r.Store.CompleteCall(ctx, r.fence, rec, r.disabledEvent(rec))
	default:
		rec.Outcome, err = r.invoke(ctx, round, index)
	}
	var frozen *toolcall.Frozen
	var deferred *toolcall.Deferred
	switch {
	case errors.As(err, &deferred):
		return r.deferral(round, deferred)
	case errors.Is(err, toolcall.ErrPaused):
		return &errYield{reason: "the hub is paused", paused: true}
	case errors.Is(err, toolcall.ErrNoTime):
		return &errYield{reason: "too little time is left for a tool call"}
	case errors.As(err, &frozen):
		if rec.Outcome.State != "" {
			round.Calls[index] = rec
		}
		return &errReconcile{&frozen.Open}
	case err != nil:
		return err
	}
	round.Calls[index] = rec
	r.progress = true
	return nil
}

// invoke makes a governed call.
func (r *run) invoke(ctx context.Context, round *Round, index int) (toolcall.Outcome, error) {
	wish := round.Message.ToolCalls[index]
	return r.Tools.Invoke(ctx, r.conv.set, toolcall.Call{
		Fence: r.fence, Job: r.job, Round: round.Number, Index: index, CallID: wish.ID, Tool: wish.Name, Args: wish.Arguments, Due: dueOf(round),
	})
}

func (r *run) lookupEvent(rec toolcall.Record) job.Event {
	return job.Event{
		ID: fmt.Sprintf("tool_lookup-%d-%d", rec.Round, rec.Index), At: r.Clock.Now(), Name: "tool_lookup",
		Stage: job.StageTool, Severity: job.Info, Title: "Tool definitions looked up", Summary: string(rec.Outcome.State),
	}
}

func (r *run) disabledEvent(rec toolcall.Record) job.Event {
	return job.Event{
		ID: fmt.Sprintf("tool_blocked-%d-%d", rec.Round, rec.Index), At: r.Clock.Now(), Name: "tool_blocked",
		Stage: job.StageTool, Severity: job.Warning, Title: "Tool call refused", Summary: textlimit.Cut(rec.Tool, 64),
		Detail: map[string]any{"tool": textlimit.Cut(rec.Tool, 64), "reason": rec.Outcome.Reason},
	}
}

// reconcile ends a job whose call has no known outcome. Whoever tries again when it cannot be stored finds the call open.
func (r *Runner) reconcile(ctx context.Context, run *run, open *job.OpenCall) error {
	r.Logger.ErrorContext(ctx, "job needs reconciliation", "job_id", run.job.ID, "tool", open.Tool, "idempotency_key", open.IdempotencyKey)
	if err := r.Store.AddEvent(ctx, run.job.ID, open.Event(run.fence, r.Clock.Now())); err != nil {
		return err
	}
	return r.Jobs.Reconcile(ctx, run.fence, open, run.usage())
}
