package approval

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"bailing/shared/canonical"
	"bailing/shared/capability"
	"bailing/shared/chance"
	"bailing/shared/envelope"
	"bailing/shared/job"
	"bailing/shared/plainjson"
)

// State of a ticket (core §6.2, D9).
type State string

// The states of a ticket. Only a pending one may be decided, and none ever becomes pending again.
const (
	Pending  State = "pending"  // waits for a person
	Approved State = "approved" // may be used once, until its deadline
	Denied   State = "denied"
	Expired  State = "expired" // its deadline passed while it was pending, or approved and unused
)

// Versions of the frozen intent (core §6.3).
const (
	IntentKind    = "tool_approval_intent"
	IntentVersion = "bailing.approval-intent.v1"
)

// MaxID is the largest ticket number: 52 bits are exact in every JSON reader (D9).
const MaxID = 1<<52 - 1

// NewID draws a ticket number. Numbers are not in sequence, so that none can be guessed from another.
func NewID() int64 { return 1 + chance.N[int64](MaxID) }

var (
	// ErrNotFound says that there is no such ticket.
	ErrNotFound = errors.New("approval: not found")
	// ErrIDTaken says that another ticket has this number: draw again.
	ErrIDTaken = errors.New("approval: ticket number taken")
	// ErrExists says that the call has a ticket already.
	ErrExists = errors.New("approval: the call has a ticket")
	// ErrMoved says that a ticket, its job or the job's thread changed since it was read.
	ErrMoved = errors.New("approval: changed meanwhile")
	// ErrNotDue says that a ticket's deadline has not passed.
	ErrNotDue = errors.New("approval: the deadline has not passed")
)

// Ticket is one frozen question.
type Ticket struct {
	ID        int64
	State     State
	JobID     string
	RequestID string
	RouteKey  string
	Owner     string // app_id of the job's client; "" for an administrator's job
	Provider  string
	Tool      string
	Scope     string
	Method    string
	Path      string
	Risk      capability.Risk
	Policy    string
	Reason    string
	Summary   string // of the arguments; "" for a sensitive tool, whose summary is in the sealed intent only
	Subject   string
	ArgsHash  string // of the frozen arguments
	ArgsBytes int
	Binding   string // see [Bind]
	Claim     int64  // of the job, under which the call was asked for
	Round     int    // and the wish that led to it
	Index     int
	CreatedAt time.Time
	ExpiresAt time.Time // a ticket that is pending, or approved and unused, is expired then

	Ruling *Ruling   // of a decided ticket
	UsedAt time.Time // zero, or when the call was dispatched
	EndAt  time.Time // zero, or when it expired
	// Token is that of the wait that the decision ends; "" for none. It is stored in clear and shown nowhere. It decides nothing: whoever
	// had it, and the permission to answer it, could end the wait, and the sweeper would end the ticket at its deadline.
	Token string

	Intent []byte // JSON of [Intent]; nil when sealed, or not read
	Sealed string // the intent of a sensitive tool, sealed for [SealedPlace]
}

// Open reports whether a person may decide the ticket at now.
func (t *Ticket) Open(now time.Time) bool { return t.State == Pending && now.Before(t.ExpiresAt) }

// Usable reports whether the ticket lets its call be made at now.
func (t *Ticket) Usable(now time.Time) bool {
	return t.State == Approved && t.UsedAt.IsZero() && now.Before(t.ExpiresAt)
}

// Unused reports whether the ticket ends at its deadline: nobody decided it, or nothing was made of its approval.
func (t *Ticket) Unused() bool { return t.State == Pending || t.State == Approved && t.UsedAt.IsZero() }

// StateAt is the state as it is to be shown at now: a deadline that passed counts although nobody wrote it down yet.
func (t *Ticket) StateAt(now time.Time) State {
	if t.Unused() && !now.Before(t.ExpiresAt) {
		return Expired
	}
	return t.State
}

// Ruling is what a person decided.
type Ruling struct {
	Approved   bool
	DecisionID string // "" for a decision of the console
	By         string // at most 64 UTF-16 units
	Name       string // of who decided, beside an id, at most 64; it is on record in the audit only
	Comment    string // at most 1000
	SaidAt     string // decided_at as it was given, at most 64; "" for none
	Auth       string // admin-token, client:<app_id>, signed-business, or console:<username>
	At         time.Time
}

// State is what the ruling makes of a pending ticket.
func (r Ruling) State() State {
	if r.Approved {
		return Approved
	}
	return Denied
}

// Bind is the hash of what an approval is bound to beside its arguments: a call of a tool that has become another one, or for
// another person, is not the call that was approved. Descriptions and guidance are not part of it.
func Bind(provider, tool, scope, method, path, subject string) string {
	sum := sha256.New()
	for _, part := range []string{provider, tool, scope, method, path, subject} {
		fmt.Fprintf(sum, "%d:%s,", len(part), part)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// SealedPlace is where a sealed intent belongs.
func SealedPlace(id int64) envelope.Context {
	return envelope.Context{Kind: "ticket", ID: fmt.Sprint(id), Field: "intent"}
}

// Lookup is what the governed call needs to know about the ticket of a call.
type Lookup struct {
	ID        int64
	State     State
	ArgsHash  string
	ExpiresAt time.Time
	Binding   string
	Claim     int64 // under which it was asked for
	Used      bool
	UsedClaim int64 // the wish that used it
	UsedRound int
	UsedIndex int
}

// Usable reports whether the call may be made at now.
func (l *Lookup) Usable(now time.Time) bool {
	return l.State == Approved && !l.Used && now.Before(l.ExpiresAt)
}

// Page is part of a list of tickets, latest first.
type Page struct {
	Tickets []Ticket
	Next    job.Cursor // "" on the last page
}

// Use consumes an approved ticket in the transaction that dispatches its call.
type Use struct {
	ID       int64
	JobID    string
	Tool     string
	ArgsHash string
	Claim    int64 // of the job
	Round    int
	Index    int
	Due      string // the job's mark that is dropped with it; "" for none
	Now      time.Time
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
	summary := Summary(d.Tool.ConfirmPrompt, d.Args)
	intent, err := plainjson.Marshal(Intent{
		Kind: IntentKind, SchemaVersion: IntentVersion, JobID: d.Job.ID, RequestID: d.Job.RequestID,
		RouteKey: d.Job.Snapshot.RouteKey, RouteName: d.Job.Snapshot.RouteName, Source: d.Job.Source,
		Subject: d.Subject, SubjectField: d.SubjectField, Provider: d.Provider, Tool: d.Tool.Name, Scope: d.Tool.Scope,
		Risk: d.Tool.Risk, Policy: d.Why.Policy, Reason: d.Why.Reason, Method: d.Tool.Method, Path: d.Tool.Path,
		Args: d.Args.AppendCompact(nil), ArgsHash: d.ArgsHash, Summary: summary,
		ConfirmWhen: d.Why.Hit, Metadata: metadata,
	})
	if err != nil {
		return Ticket{}, fmt.Errorf("approval: intent: %w", err)
	}
	return Ticket{
		State: Pending, JobID: d.Job.ID, RequestID: d.Job.RequestID, RouteKey: d.Job.Snapshot.RouteKey, Owner: d.Job.Owner,
		Provider: d.Provider, Tool: d.Tool.Name, Scope: d.Tool.Scope, Method: d.Tool.Method, Path: d.Tool.Path, Risk: d.Tool.Risk,
		Policy: d.Why.Policy, Reason: d.Why.Reason, Summary: summary, Subject: d.Subject, ArgsHash: d.ArgsHash,
		ArgsBytes: d.Args.Size(), Binding: Bind(d.Provider, d.Tool.Name, d.Tool.Scope, d.Tool.Method, d.Tool.Path, d.Subject),
		CreatedAt: now, ExpiresAt: now.Add(expiry), Intent: intent,
	}, nil
}
