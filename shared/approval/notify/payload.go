package notify

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"bailing/shared/approval"
	"bailing/shared/capability"
	"bailing/shared/job"
	"bailing/shared/textlimit"
)

const (
	// ArgsMax is the largest JSON of arguments that a notification holds, in bytes (D31).
	ArgsMax = 8 << 10
	// maxSummary bounds what stands for larger ones, in UTF-16 units.
	maxSummary = 1000
)

// facts are what every notification of a ticket tells.
type facts struct {
	ticket    *approval.Ticket
	intent    approval.Intent // its arguments are nil when the notification has none
	arguments arguments
	summary   string // "" for none
	base      string
}

// intent is the frozen intent with its ticket's number (core §6.4), its members in the order in which they were frozen.
type intent struct {
	ApprovalID int64 `json:"approval_id"`
	approval.Intent
}

// shortIntent is one without its arguments: the member hides the intent's own.
type shortIntent struct {
	intent
	Args *struct{} `json:"args,omitempty"`
}

// told is the intent as the notification shows it.
func (f *facts) told() any {
	i := intent{f.ticket.ID, f.intent}
	if f.intent.Args == nil {
		return shortIntent{intent: i}
	}
	return i
}

// arguments are the frozen arguments, or where they can be read (D31).
type arguments struct {
	Args      json.RawMessage `json:"args,omitempty"`
	Hash      string          `json:"args_hash"`
	Truncated bool            `json:"args_truncated,omitempty"`
	Bytes     int             `json:"args_bytes,omitempty"`
	Path      string          `json:"arguments_path,omitempty"`
	URL       string          `json:"arguments_url,omitempty"`
}

// facts reads the intent of t, and takes out of it what must not leave.
func (s *Teller) facts(ctx context.Context, t *approval.Ticket) (*facts, error) {
	sensitive := t.Sealed != ""
	frozen := t.Intent
	if sensitive {
		var err error
		if frozen, err = s.Secrets.Open(ctx, t.Sealed, approval.SealedPlace(t.ID)); err != nil {
			return nil, fmt.Errorf("notify: approval %d: intent: %w", t.ID, err)
		}
	}
	f := &facts{ticket: t, base: strings.TrimRight(s.BaseURL, "/")}
	if json.Unmarshal(frozen, &f.intent) != nil { // the error of the parser may quote an argument
		return nil, fmt.Errorf("notify: approval %d: the intent is not readable", t.ID)
	}
	in := &f.intent
	args := in.Args
	f.arguments = arguments{Hash: in.ArgsHash}
	if !sensitive && len(args) <= ArgsMax {
		f.arguments.Args, f.summary = args, in.Summary
		return f, nil
	}
	in.Args = nil
	f.arguments.Truncated, f.arguments.Bytes = true, len(args)
	f.arguments.Path = fmt.Sprintf("/approvals/%d/arguments", t.ID)
	f.arguments.URL = f.absolute(f.arguments.Path)
	if in.ConfirmWhen != nil { // what the rule compared is an argument
		in.ConfirmWhen = &capability.Hit{Param: in.ConfirmWhen.Param, Op: in.ConfirmWhen.Op, Value: in.ConfirmWhen.Value, Reason: in.ConfirmWhen.Reason}
	}
	switch {
	case sensitive:
		in.Summary = ""
	case in.Summary != "":
		f.summary = in.Summary
	default:
		f.summary = textlimit.Cut(string(args), maxSummary)
	}
	return f, nil
}

// absolute is a path of the hub as an address; "" when the hub does not know its own.
func (f *facts) absolute(path string) string {
	if f.base == "" {
		return ""
	}
	return f.base + path
}

// request is the approval request (core §6.4).
type request struct {
	Kind       string          `json:"kind"`
	ApprovalID int64           `json:"approval_id"`
	JobID      string          `json:"job_id"`
	RequestID  string          `json:"request_id"`
	Route      string          `json:"route"`
	Subject    string          `json:"subject,omitempty"`
	Provider   string          `json:"provider"`
	Tool       string          `json:"tool"`
	Scope      string          `json:"scope"`
	Risk       capability.Risk `json:"risk"`
	Policy     string          `json:"policy"`
	Reason     string          `json:"reason"`
	Method     string          `json:"method"`
	Path       string          `json:"path"`
	arguments
	Summary      string          `json:"summary,omitempty"`
	Intent       any             `json:"intent"`     // see facts.told
	ExpiresAt    string          `json:"expires_at"` // D9
	DecisionPath string          `json:"decision_path"`
	DecisionURL  string          `json:"decision_url,omitempty"`
	Contract     contract        `json:"decision_contract"`
	Metadata     json.RawMessage `json:"metadata"`
}

// contract tells a receiver how to answer.
type contract struct {
	Kind           string   `json:"kind"`
	SchemaVersion  string   `json:"schema_version"`
	RequiredFields []string `json:"required_fields"`
	DecisionValues []string `json:"decision_values"`
	Idempotency    string   `json:"idempotency"`
	Match          match    `json:"match"`
	Example        example  `json:"example"`
}

// match are the members of a decision that must be repeated as they are.
type match struct {
	ApprovalID int64  `json:"approval_id"`
	JobID      string `json:"job_id"`
	RequestID  string `json:"request_id"`
	ArgsHash   string `json:"args_hash"`
}

type example struct {
	Kind          string `json:"kind"`
	SchemaVersion string `json:"schema_version"`
	match
	DecisionID string         `json:"decision_id"`
	Decision   approval.State `json:"decision"`
	Approver   string         `json:"approver"`
	Comment    string         `json:"comment"`
}

func requestOf(f *facts) request {
	in, id := f.intent, f.ticket.ID
	path := fmt.Sprintf("/approvals/%d/decision", id)
	same := match{id, in.JobID, in.RequestID, in.ArgsHash}
	return request{
		Kind: "tool_approval_request", ApprovalID: id, JobID: in.JobID, RequestID: in.RequestID, Route: in.RouteName, Subject: in.Subject,
		Provider: in.Provider, Tool: in.Tool, Scope: in.Scope, Risk: in.Risk, Policy: in.Policy, Reason: in.Reason, Method: in.Method, Path: in.Path,
		arguments: f.arguments, Summary: f.summary, Intent: f.told(), ExpiresAt: job.Timestamp(f.ticket.ExpiresAt),
		DecisionPath: path, DecisionURL: f.absolute(path), Metadata: in.Metadata,
		Contract: contract{
			Kind: approval.DecisionKind, SchemaVersion: approval.DecisionVersion,
			RequiredFields: []string{"approval_id", "job_id", "request_id", "args_hash", "decision_id", "decision", "approver"},
			DecisionValues: []string{string(approval.Approved), string(approval.Denied)}, Idempotency: "decision_id", Match: same,
			Example: example{
				Kind: approval.DecisionKind, SchemaVersion: approval.DecisionVersion, match: same,
				DecisionID: "biz-" + strconv.FormatInt(id, 10) + "-<your-approval-record-id>", Decision: approval.Approved, Approver: "<business-user-id>",
			},
		},
	}
}

// message is the notification of a webhook that people read (core §6.4). Its arguments are a text.
type message struct {
	Kind       string          `json:"kind"`
	ApprovalID int64           `json:"approval_id"`
	JobID      string          `json:"job_id"`
	RequestID  string          `json:"request_id"`
	Tool       string          `json:"tool"`
	Scope      string          `json:"scope"`
	Risk       capability.Risk `json:"risk"`
	Policy     string          `json:"policy"`
	Reason     string          `json:"reason"`
	Args       *string         `json:"args,omitempty"` // in place of the member of arguments
	arguments
	Summary   string `json:"summary,omitempty"`
	Intent    any    `json:"intent"` // see facts.told
	ExpiresAt string `json:"expires_at"`
	Message   string `json:"message"`
}

func messageOf(f *facts) message {
	in := f.intent
	m := message{
		Kind: "tool_approval", ApprovalID: f.ticket.ID, JobID: in.JobID, RequestID: in.RequestID, Tool: in.Tool, Scope: in.Scope, Risk: in.Risk,
		Policy: in.Policy, Reason: in.Reason, arguments: f.arguments, Summary: f.summary, Intent: f.told(), ExpiresAt: job.Timestamp(f.ticket.ExpiresAt),
	}
	if f.arguments.Args != nil {
		text := string(f.arguments.Args)
		m.Args, m.arguments.Args = &text, nil
	}
	m.Message = fmt.Sprintf("%s: %s waits for approval %d until %s (%s)", in.RouteName, in.Tool, f.ticket.ID, m.ExpiresAt, in.Reason)
	if f.summary != "" {
		m.Message += "\n" + f.summary
	}
	return m
}
