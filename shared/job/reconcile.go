package job

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// ReasonReconciliation is the error of a job that a person has to reconcile with a business system (core §1.6).
const ReasonReconciliation = "tool_execution_reconciliation_required"

// Stages of core §11.7 beside those of package job's own steps.
const (
	StageApproval = "approval"
	StageSystem   = "system"
)

// OpenCall is the side-effecting call of a job whose outcome is not known: it was reserved, and may have reached the business
// (core §5.8). A job has at most one, since it makes no further call after it. It is never dispatched again (I1, I4); it is
// open until a person closes it.
type OpenCall struct {
	Tool           string    `json:"tool"`
	ArgsHash       string    `json:"args_hash"`
	Scope          string    `json:"scope"`
	IdempotencyKey string    `json:"idempotency_key"`
	State          string    `json:"state"`            // of the journal entry: dispatching or uncertain
	Reason         string    `json:"reason,omitempty"` // why it is uncertain; "" while nothing is known
	Since          time.Time `json:"since"`
}

// Why is never empty: a call that is still dispatching when somebody looks lost its worker.
func (c *OpenCall) Why() string {
	if c.Reason == "" {
		return "worker_lost"
	}
	return c.Reason
}

// Message tells a person what to do.
func (c *OpenCall) Message() string {
	return fmt.Sprintf("Tool %s may have reached the business system, and no trustworthy answer came back. Nothing is repeated by itself, so that "+
		"nothing happens twice: look the idempotency key %s up in the business system and reconcile.", c.Tool, c.IdempotencyKey)
}

// execution is the `tool_execution` object (core §5.9).
func (c *OpenCall) execution() map[string]any {
	return map[string]any{
		"state": c.State, "tool": c.Tool, "scope": c.Scope, "idempotency_key": c.IdempotencyKey, "reason": c.Why(), "message": c.Message(),
	}
}

// Outcome ends a job that has this open call (core §1.6).
func (c *OpenCall) Outcome(usage json.RawMessage) Outcome {
	result, err := json.Marshal(map[string]any{
		"text": c.Message(), "governance_state": "reconciliation_required", "auto_retry_allowed": false, "tool_execution": c.execution(),
	})
	if err != nil { // texts always marshal
		result = json.RawMessage(`{}`)
	}
	return Outcome{Status: Failed, Error: ReasonReconciliation, Result: result, Usage: usage}
}

// Event is the audit record of the end that [OpenCall.Outcome] is.
func (c *OpenCall) Event(f Fence, now time.Time) Event {
	return Event{
		ID: fmt.Sprintf("job_reconciliation_required-%d", f.Claim), At: now, Name: "job_reconciliation_required", Stage: StageSystem,
		Severity: Severe, Title: "A person has to reconcile this job", Summary: c.Tool, Detail: c.execution(),
	}
}

// Reconcile ends a job that has an open call. Nothing of it is tried again, whatever its route's retries are (I4).
func (l *Lifecycle) Reconcile(ctx context.Context, f Fence, open *OpenCall, usage json.RawMessage) error {
	return l.Finish(ctx, f, open.Outcome(usage))
}
