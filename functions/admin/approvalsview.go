package admin

import (
	"encoding/json"
	"fmt"
	"time"

	"bailing/shared/approval"
	"bailing/shared/capability"
	"bailing/shared/job"
	"bailing/shared/redact"
)

// approvalView is a ticket (core §6.2; the members are those of the reference, and the times, sizes and owner beside them are ours).
type approvalView struct {
	ID          int64           `json:"id"`
	JobID       string          `json:"job_id"`
	RequestID   string          `json:"request_id"`
	RouteKey    string          `json:"route_key"`
	ClientAppID *string         `json:"client_app_id"` // null for a job of an administrator
	Provider    string          `json:"provider"`
	Tool        string          `json:"tool"`
	Scope       string          `json:"scope"`
	Risk        capability.Risk `json:"risk"`
	Policy      string          `json:"policy"`
	Reason      string          `json:"reason"`
	Method      string          `json:"method"`
	Path        string          `json:"path"`
	Summary     string          `json:"summary,omitempty"` // absent for a sensitive tool
	frozenView
	OnBehalfOf string         `json:"on_behalf_of,omitempty"`
	Status     approval.State `json:"status"`
	rulingView
	CreatedAt string `json:"created_at"`
	ExpiresAt string `json:"expires_at"`
}

// frozenView is what the ticket froze. The texts repeat what the intent holds; they are absent where that is large.
type frozenView struct {
	ArgsJSON    string          `json:"args_json,omitempty"`
	ArgsHash    string          `json:"args_hash"`
	ArgsBytes   int             `json:"args_bytes"`
	IntentJSON  string          `json:"intent_json,omitempty"`
	Intent      json.RawMessage `json:"intent,omitempty"`
	ArgsOmitted string          `json:"args_omitted,omitempty"` // why there is no intent
	Redacted    bool            `json:"redacted,omitempty"`     // the intent is shown after the display rules
}

// Why an answer has no intent.
const (
	omittedSize      = "size"      // it is in the answer for the ticket alone
	omittedSensitive = "sensitive" // it is shown by a reveal only
)

// rulingView is what became of a ticket, as far as anything did.
type rulingView struct {
	DecidedBy  string `json:"decided_by,omitempty"`
	DecidedVia string `json:"decided_via,omitempty"` // admin-token, client:<app_id>, signed-business or console:<username>
	DecidedAt  string `json:"decided_at,omitempty"`
	DecisionID string `json:"decision_id,omitempty"` // absent for a decision of an administrator
	Comment    string `json:"comment,omitempty"`
	UsedAt     string `json:"used_at,omitempty"`  // when the approved call was dispatched
	EndedAt    string `json:"ended_at,omitempty"` // when it was written down that the deadline had passed
}

// showing is how somebody sees tickets at one time. Who may decide sees exactly what will run; who may only read sees it after the
// display rules of core §11.7, as everything of a job.
type showing struct {
	exact bool
	now   time.Time
}

func (s showing) text(text string) string {
	if s.exact {
		return text
	}
	return redact.Text(text)
}

// row is a ticket without what it froze.
func (s showing) row(t approval.Ticket) approvalView {
	return approvalView{
		ID: t.ID, JobID: t.JobID, RequestID: t.RequestID, RouteKey: t.RouteKey, ClientAppID: orNull(t.Owner), Provider: t.Provider,
		Tool: t.Tool, Scope: t.Scope, Risk: t.Risk, Policy: t.Policy, Reason: t.Reason, Method: t.Method, Path: t.Path,
		Summary: s.text(t.Summary), frozenView: hashOf(t), OnBehalfOf: s.text(t.Subject), Status: t.StateAt(s.now),
		rulingView: s.ruling(t), CreatedAt: job.Timestamp(t.CreatedAt), ExpiresAt: job.Timestamp(t.ExpiresAt),
	}
}

// hashOf is what is always told of what a ticket froze.
func hashOf(t approval.Ticket) frozenView {
	return frozenView{ArgsHash: t.ArgsHash, ArgsBytes: t.ArgsBytes}
}

func (s showing) ruling(t approval.Ticket) rulingView {
	v := rulingView{UsedAt: since(t.UsedAt), EndedAt: since(t.EndAt)}
	if r := t.Ruling; r != nil {
		v.DecidedBy, v.DecidedVia, v.DecidedAt = s.text(r.By), r.Auth, job.Timestamp(r.At)
		v.DecisionID, v.Comment = r.DecisionID, redact.Text(r.Comment)
	}
	return v
}

// freeze adds to v what t froze, in at most room bytes: first without the texts that repeat it, then without the job's metadata, and
// when the arguments alone are too large, not at all.
func (s showing) freeze(v approvalView, t *approval.Ticket, room int) (approvalView, error) {
	v.ArgsOmitted = omittedSensitive
	if t.Sealed != "" {
		return v, nil
	}
	intent := json.RawMessage(t.Intent)
	if !s.exact {
		left := room
		shown, err := shown(intent, &left)
		if err != nil {
			return v, err
		}
		if intent = shown; left == room {
			v.ArgsOmitted = omittedSize
			return v, nil
		}
	}
	var frozen map[string]json.RawMessage
	if err := json.Unmarshal(intent, &frozen); err != nil {
		return v, fmt.Errorf("admin: intent of a ticket: %w", err)
	}
	whole := hashOf(*t)
	whole.Intent, whole.Redacted = intent, !s.exact
	tries := []frozenView{whole}
	if args := frozen["args"]; len(args) <= ticketArgsMax {
		texts := whole
		texts.ArgsJSON, texts.IntentJSON = string(args), string(intent)
		tries = []frozenView{texts, whole}
	}
	frozen["metadata"] = fmt.Appendf(nil, `{"omitted_bytes":%d}`, len(frozen["metadata"]))
	short, err := element(frozen)
	if err != nil {
		return v, err
	}
	without := whole
	without.Intent = short
	for _, try := range append(tries, without) {
		size, err := bytesOf(try)
		if err != nil {
			return v, err
		}
		if size <= room {
			v.frozenView = try
			return v, nil
		}
	}
	v.ArgsOmitted = omittedSize
	return v, nil
}

// bytesOf is how many bytes v takes in an answer.
func bytesOf(v any) (int, error) {
	b, err := element(v)
	return len(b), err
}
