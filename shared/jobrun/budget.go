package jobrun

import (
	"context"
	"fmt"

	"bailing/shared/job"
)

// tellBudget records, before a round, that the job's business calls are nearly or wholly used (core §11.2). Only a round that
// made such calls can have changed that; a worker that continues right after it records it once more.
func (r *run) tellBudget(ctx context.Context) error {
	if !r.conv.calledBusiness() || r.conv.remaining() > 1 {
		return nil
	}
	name, title, severity := "tool_budget_near_limit", "One business call is left", job.Info
	if r.conv.remaining() == 0 {
		name, title, severity = "tool_budget_exhausted", "All business calls are used", job.Warning
	}
	used, limit := r.conv.used(), r.conv.maxCalls
	return r.Store.AddEvent(ctx, r.job.ID, job.Event{
		ID: fmt.Sprintf("%s-%d", name, r.fence.Claim), At: r.Clock.Now(), Name: name, Stage: job.StageTool, Severity: severity,
		Title: title, Summary: fmt.Sprintf("%d of %d", used, limit),
		Detail: map[string]any{"used": used, "limit": limit, "remaining": r.conv.remaining()},
	})
}

// calledBusiness reports whether the last round made business calls.
func (c *conversation) calledBusiness() bool {
	if len(c.rounds) == 0 {
		return false
	}
	for _, rec := range c.rounds[len(c.rounds)-1].Calls {
		if rec.Tool != findTools {
			return true
		}
	}
	return false
}
