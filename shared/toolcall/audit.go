package toolcall

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"bailing/shared/approval"
	"bailing/shared/capability"
	"bailing/shared/job"
	"bailing/shared/outbound"
	"bailing/shared/textlimit"
)

// auditTextMax bounds the arguments and the answer in an audit record, in UTF-16 units (core §5.11).
const auditTextMax = 65_536

func (c Call) eventID(name string) string {
	// Fixed widths keep the calls of one millisecond in their order.
	return fmt.Sprintf("%s-%d-%04d-%04d", name, c.Fence.Claim, c.Round, c.Index)
}

// callEvent records a call before it is sent (core §5.11).
func (s *Service) callEvent(p *prepared) job.Event {
	detail := map[string]any{
		"provider": p.view.Provider.Name, "tool": p.tool.Name, "scope": p.tool.Scope, "method": p.tool.Method,
		"path": p.tool.Path, "on_behalf_of": orNil(p.subject), "signature_scheme": "sha256=", "idempotency_key": orNil(p.key),
	}
	if p.use != nil {
		detail["approval_id"] = p.use.ID
	}
	args := p.args.AppendCompact(nil)
	detail["args_bytes"] = len(args)
	if p.logsPayload() {
		detail["args"] = json.RawMessage(args)
		if text := string(args); !textlimit.Fits(text, auditTextMax) {
			detail["args"], detail["args_truncated"] = textlimit.Cut(text, auditTextMax), true
		}
	} else {
		names := []string{}
		for name := range p.args.Members() {
			names = append(names, name)
		}
		detail["args"] = names
	}
	return job.Event{
		ID: p.call.eventID("tool_call"), At: s.Clock.Now(), Name: "tool_call", Stage: job.StageTool, Severity: job.Info,
		Title: "Tool called", Summary: p.tool.Name, Detail: detail,
	}
}

// resultEvent records what came of it.
func (s *Service) resultEvent(p *prepared, o Outcome, res *outbound.Response, err error, took time.Duration) job.Event {
	detail := map[string]any{
		"tool": p.tool.Name, "status": o.Status, "ok": o.OK, "duration_ms": took.Milliseconds(), "idempotency_key": orNil(p.key),
		"governance_state": o.State,
	}
	severity := job.Info
	if !o.OK {
		severity = job.Warning
	}
	var failed *outbound.Error
	switch {
	case errors.As(err, &failed):
		severity = job.Severe
		detail["reason"], detail["sent"] = failed.Error(), failed.Sent
		detail["connected"], detail["timeout"] = failed.Connected, failed.Timeout
	case res != nil:
		detail["resp_bytes"] = len(res.Body)
		detail["resp"] = fmt.Sprintf("<%d bytes>", len(res.Body))
		if p.logsPayload() {
			text := textlimit.Cut(string(res.Body), auditTextMax)
			detail["resp"] = text
			if len(text) < len(res.Body) {
				detail["resp_truncated"] = true
			}
		}
		if res.Truncated {
			detail["resp_truncated"] = true
		}
	}
	return job.Event{
		ID: p.call.eventID("tool_result"), At: s.Clock.Now(), Name: "tool_result", Stage: job.StageTool, Severity: severity,
		Title: "Tool answered", Summary: fmt.Sprintf("%s · %s", p.tool.Name, o.State), Detail: detail,
	}
}

// uncertainEvent records a side-effecting call without a trustworthy answer, with the evidence of how far it came (D30).
func (s *Service) uncertainEvent(p *prepared, e Entry, res *outbound.Response, err error, took time.Duration) job.Event {
	detail := map[string]any{
		"tool": p.tool.Name, "scope": p.tool.Scope, "state": e.State, "idempotency_key": p.key, "reason": e.Reason, "duration_ms": took.Milliseconds(),
	}
	var failed *outbound.Error
	switch {
	case errors.As(err, &failed):
		detail["evidence"] = map[string]any{
			"error": failed.Error(), "phase": failed.Phase, "sent": failed.Sent, "connected": failed.Connected, "timeout": failed.Timeout, "status": failed.Status,
		}
	case res != nil:
		detail["evidence"] = map[string]any{"sent": true, "connected": true, "status": res.Status, "resp_bytes": len(res.Body)}
	}
	return job.Event{
		ID: p.call.eventID("tool_reconciliation_required"), At: s.Clock.Now(), Name: "tool_reconciliation_required", Stage: job.StageTool,
		Severity: job.Severe, Title: "Tool call without a trustworthy answer", Summary: p.tool.Name, Detail: detail,
	}
}

// dedupedEvent records a call that the journal answered.
func (s *Service) dedupedEvent(p *prepared, e *Entry, o Outcome) job.Event {
	return job.Event{
		ID: p.call.eventID("tool_call_deduped"), At: s.Clock.Now(), Name: "tool_call_deduped", Stage: job.StageTool, Severity: job.Info,
		Title: "Tool call answered from the journal", Summary: e.Tool,
		Detail: map[string]any{
			"tool": e.Tool, "scope": e.Scope, "status": o.Status, "idempotency_key": e.IdempotencyKey,
			"reason": "the same call of this job is completed; its answer is given again and nothing is sent",
		},
	}
}

// pendingEvent records that a call waits for a person. It names the ticket, whose intent holds the arguments.
func (s *Service) pendingEvent(p *prepared, why capability.Approval, id int64, expires time.Time) job.Event {
	return job.Event{
		ID: p.call.eventID("tool_approval_pending"), At: s.Clock.Now(), Name: "tool_approval_pending", Stage: job.StageApproval, Severity: job.Warning,
		Title: "Tool call waits for approval", Summary: fmt.Sprintf("%s · %d", p.tool.Name, id),
		Detail: map[string]any{
			"approval_id": id, "tool": p.tool.Name, "scope": p.tool.Scope, "risk": p.tool.Risk,
			"confirm_required": p.tool.ConfirmRequired, "policy": why.Policy, "reason": why.Reason,
			"args_hash": p.argsHash, "expires_at": job.Timestamp(expires),
		},
	}
}

// driftEvent records a call that differs from the approved one of its tool.
func (s *Service) driftEvent(p *prepared, approved approval.Lookup) job.Event {
	return job.Event{
		ID: p.call.eventID("tool_args_drift"), At: s.Clock.Now(), Name: "tool_args_drift", Stage: job.StageApproval, Severity: job.Warning,
		Title: "Call differs from the approved one", Summary: fmt.Sprintf("%s · %d", p.tool.Name, approved.ID),
		Detail: map[string]any{"tool": p.tool.Name, "approval_id": approved.ID, "approved_args_hash": approved.ArgsHash, "args_hash": p.argsHash},
	}
}

// blockedEvent records a call that a gate refused.
func (s *Service) blockedEvent(c Call, o Outcome) job.Event {
	detail := map[string]any{"tool": textlimit.Cut(c.Tool, maxToolName), "reason": o.Reason, "status": o.Status, "retry_after_ms": o.RetryAfterMS}
	if o.RateLimit != nil {
		detail["rate_limit"] = o.RateLimit
	}
	return job.Event{
		ID: c.eventID("tool_blocked"), At: s.Clock.Now(), Name: "tool_blocked", Stage: job.StageTool, Severity: job.Warning,
		Title: "Tool call refused", Summary: textlimit.Cut(c.Tool, maxToolName) + " · " + o.Reason,
		Detail: detail,
	}
}

// logsPayload reports whether arguments and answers may be kept in the audit.
func (p *prepared) logsPayload() bool { return p.view.Provider.LogPayload && !p.sensitive() }

// sensitive reports whether arguments and answer are never stored in clear (I10): as the tool says, or said when the call was frozen.
func (p *prepared) sensitive() bool {
	return p.tool.Sensitive || p.call.Due != nil && p.call.Due.Sensitive
}

func orNil(s string) any {
	if s == "" {
		return nil
	}
	return s
}
