package approval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"bailing/shared/canonical"
	"bailing/shared/capability"
	"bailing/shared/envelope"
	"bailing/shared/job"
)

// State of a ticket (core §6.2, D9).
type State string

// Pending is waiting for a person.
const Pending State = "pending"

// Versions of the frozen intent (core §6.3).
const (
	IntentKind    = "tool_approval_intent"
	IntentVersion = "bailing.approval-intent.v1"
)

// MaxID is the largest ticket number: 52 bits are exact in every JSON reader (D9).
const MaxID = 1<<52 - 1

// NewID draws a ticket number. Numbers are not in sequence, so that none can be guessed from another.
func NewID() int64 { return 1 + rand.Int64N(MaxID) }

var (
	// ErrIDTaken says that another ticket has this number: draw again.
	ErrIDTaken = errors.New("approval: ticket number taken")
	// ErrExists says that the call has a ticket already.
	ErrExists = errors.New("approval: the call has a ticket")
)

// Ticket is one frozen question.
type Ticket struct {
	ID        int64
	State     State
	JobID     string
	Owner     string // app_id of the job's client; "" for an administrator's job
	Provider  string
	Tool      string
	ArgsHash  string // of the frozen arguments
	CreatedAt time.Time
	ExpiresAt time.Time // a ticket that is still open then is expired

	Intent []byte // JSON of [Intent]; nil when sealed
	Sealed string // the intent of a sensitive tool, sealed for [SealedPlace]
}

// SealedPlace is where a sealed intent belongs.
func SealedPlace(id int64) envelope.Context {
	return envelope.Context{Kind: "ticket", ID: fmt.Sprint(id), Field: "intent"}
}

// Lookup is what the governed call needs to know about the ticket of a call.
type Lookup struct {
	ID        int64
	State     State
	ExpiresAt time.Time
}

// Intent is everything that the person decides about, frozen when the ticket is made (core §6.3).
type Intent struct {
	Kind          string          `json:"kind"`
	SchemaVersion string          `json:"schema_version"`
	JobID         string          `json:"job_id"`
	RequestID     string          `json:"request_id"`
	RouteKey      string          `json:"route_key"`
	RouteName     string          `json:"route_name"`
	Source        string          `json:"source"`
	Subject       string          `json:"subject,omitempty"`
	SubjectField  string          `json:"subject_field,omitempty"`
	Provider      string          `json:"provider"`
	Tool          string          `json:"tool"`
	Scope         string          `json:"scope"`
	Risk          capability.Risk `json:"risk"`
	Policy        string          `json:"policy"`
	Reason        string          `json:"reason"`
	Method        string          `json:"method"`
	Path          string          `json:"path"`
	Args          json.RawMessage `json:"args"` // complete, in the order in which they were given
	ArgsHash      string          `json:"args_hash"`
	Summary       string          `json:"summary,omitempty"` // at most 1000 UTF-16 units
	ConfirmWhen   *capability.Hit `json:"confirm_when,omitempty"`
	Metadata      json.RawMessage `json:"metadata"`
}

// Draft is a call that needs approval.
type Draft struct {
	Job          *job.Job
	Tool         *capability.Tool
	Provider     string
	Subject      string
	SubjectField string
	Args         canonical.Value
	ArgsHash     string // of Args
	Why          capability.Approval
}

// New makes the pending ticket of a draft, with its intent in clear and without a number.
func New(d Draft, now time.Time, expiry time.Duration) (Ticket, error) {
	metadata := d.Job.Metadata
	if len(metadata) == 0 {
		metadata = json.RawMessage(`{}`)
	}
	intent, err := encode(Intent{
		Kind: IntentKind, SchemaVersion: IntentVersion, JobID: d.Job.ID, RequestID: d.Job.RequestID,
		RouteKey: d.Job.Snapshot.RouteKey, RouteName: d.Job.Snapshot.RouteName, Source: d.Job.Source,
		Subject: d.Subject, SubjectField: d.SubjectField, Provider: d.Provider, Tool: d.Tool.Name, Scope: d.Tool.Scope,
		Risk: d.Tool.Risk, Policy: d.Why.Policy, Reason: d.Why.Reason, Method: d.Tool.Method, Path: d.Tool.Path,
		Args: d.Args.AppendCompact(nil), ArgsHash: d.ArgsHash, Summary: Summary(d.Tool.ConfirmPrompt, d.Args),
		ConfirmWhen: d.Why.Hit, Metadata: metadata,
	})
	if err != nil {
		return Ticket{}, fmt.Errorf("approval: intent: %w", err)
	}
	return Ticket{
		State: Pending, JobID: d.Job.ID, Owner: d.Job.Owner, Provider: d.Provider, Tool: d.Tool.Name, ArgsHash: d.ArgsHash,
		CreatedAt: now, ExpiresAt: now.Add(expiry), Intent: intent,
	}, nil
}

// encode is v as JSON without the escapes for HTML, which would change the frozen bytes.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
