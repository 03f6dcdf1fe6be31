package toolcall

import (
	"context"
	"errors"
	"time"

	"bailing/shared/approval"
	"bailing/shared/capability"
	"bailing/shared/envelope"
	"bailing/shared/job"
	"bailing/shared/limit"
	"bailing/shared/registry"
)

// State is the governance state of an outcome (core §5.9).
type State string

const (
	Executed       State = "executed"
	BusinessReject State = "business_rejected"
	Awaiting       State = "awaiting_approval"
	NotDispatched  State = "rejected_before_dispatch"
	Reconcile      State = "reconciliation_required"
)

// Outcome is what became of a call. It is stored with the job's round and is the model's tool result.
type Outcome struct {
	State        State      `json:"governance_state"`
	OK           bool       `json:"ok"`
	Status       int        `json:"status,omitempty"` // HTTP status of the business, or 429 of a limit
	Text         string     `json:"text"`             // what the model reads (core §5.10)
	Reason       string     `json:"reason,omitempty"` // machine code of a refusal
	AutoRetry    bool       `json:"auto_retry_allowed"`
	RetryAfterMS int64      `json:"retry_after_ms,omitempty"`
	RateLimit    *RateLimit `json:"rate_limit,omitempty"`
	TookMS       int64      `json:"took_ms,omitempty"` // of the HTTP request
	ApprovalID   int64      `json:"approval_id,omitempty"`
}

// RateLimit says which limit refused a call (core §5.6).
type RateLimit struct {
	Level     string `json:"level"` // tool or provider
	Count     int    `json:"count"`
	WindowSec int64  `json:"window_sec"`
	Scope     string `json:"scope"`
	Source    string `json:"source"` // a registry.RateSource
}

// Call is one call that a model asked for.
type Call struct {
	Fence  job.Fence
	Job    *job.Job
	Round  int // of the job, from 1
	Index  int // within the round, from 0
	CallID string
	Tool   string
	Args   string // JSON text as the model wrote it

	// Passed, unless nil, is called when every gate has let the call through, right before it is reserved: from then on what becomes of
	// it is an outcome, and a long call may commit its answer (architecture, long calls). It may be called twice.
	Passed func()

	// Due makes this the call of an approved ticket: Args are what it froze, and nothing is asked again.
	Due *Due
}

// Due is an approved call that the job is marked for.
type Due struct {
	job.DueTicket
	Provider  string
	Sensitive bool // the tool was sensitive when the call was frozen: what it is now makes no difference
}

// Record is the stored outcome of a call.
type Record struct {
	Round   int
	Index   int
	CallID  string
	Tool    string
	Outcome Outcome
	Sealed  string // Outcome.Text of a sensitive tool, sealed; the text itself is empty then
}

// SealedPlace is where sealed texts of a job's rounds belong.
func SealedPlace(jobID string) envelope.Context {
	return envelope.Context{Kind: "job", ID: jobID, Field: "round"}
}

// Keys names the rows that decide a call.
type Keys struct {
	Owner    string // client app_id, "" for an administrator's job
	Route    string
	Provider string
	Tool     string
	JobID    string
	ArgsHash string
}

// View is what those rows hold now; nil where a row does not exist.
type View struct {
	Paused        bool
	Client        *registry.Client
	Route         *registry.Route
	Provider      *registry.Provider
	ToolLimit     limit.Row
	ProviderLimit limit.Row
	Entry         *Entry           // the journal's, for this tool and these arguments
	Ticket        *approval.Lookup // likewise
}

// Store is the storage of a governed call.
type Store interface {
	limit.Writer
	// ReadCall reads every row in one trip.
	ReadCall(ctx context.Context, k Keys) (View, error)
	// BeginCall stores the audit record of a call that is about to be sent; one transaction with the fence, and with the use of a
	// ticket unless that is nil. It fails with ErrTicketMoved when the ticket cannot be used any more.
	BeginCall(ctx context.Context, f job.Fence, use *approval.Use, ev job.Event) error
	// CompleteCall stores the outcome and its audit record; one transaction with the fence.
	CompleteCall(ctx context.Context, f job.Fence, rec Record, ev job.Event) error
	// DropDue is CompleteCall for a due call that is not made: the job's mark goes with it.
	DropDue(ctx context.Context, f job.Fence, due job.DueTicket, rec Record, ev job.Event) error
	// Reserve is RESERVE: {fence, call is the job's open one, use of the ticket unless nil, journal entry that must not exist yet,
	// audit record}. It fails with ErrReserved when the entry exists or the job has an open call, and with ErrTicketMoved.
	Reserve(ctx context.Context, f job.Fence, e Entry, use *approval.Use, ev job.Event) error
	// CompleteReserved is COMPLETE: {fence, call is not open any more, entry completed with rec, outcome, audit record}. It fails
	// with ErrNotOpen when the call is not the job's open one.
	CompleteReserved(ctx context.Context, f job.Fence, e Entry, rec Record, ev job.Event) error
	// MarkUncertain is what stands in its place when the outcome is unknown: {fence, call stays open, entry uncertain, outcome,
	// audit record}. It fails like CompleteReserved.
	MarkUncertain(ctx context.Context, f job.Fence, e Entry, rec Record, ev job.Event) error
	// OpenTicket stores a new ticket: {fence, ticket, its lookup, outcome, audit record}. It fails with approval.ErrIDTaken,
	// approval.ErrExists, or a *[DueError].
	OpenTicket(ctx context.Context, f job.Fence, o Opening, rec Record, ev job.Event) error
	// ToolTickets reads the latest ticket of every call of one tool in a job.
	ToolTickets(ctx context.Context, jobID, tool string) ([]approval.Lookup, error)
	// GetValue reads a content-addressed value.
	GetValue(ctx context.Context, address string) ([]byte, error)
}

// Opener opens what was sealed for a place (package envelope).
type Opener interface {
	Open(ctx context.Context, sealed string, place envelope.Context) ([]byte, error)
}

// Sealer also seals.
type Sealer interface {
	Opener
	Seal(ctx context.Context, plaintext []byte, place envelope.Context) (string, error)
}

var (
	// ErrPaused says that the hub is paused: the job goes back to the queue.
	ErrPaused = errors.New("toolcall: paused")
	// ErrNoTime says that the invocation ends before the tool's timeout would.
	ErrNoTime = errors.New("toolcall: not enough time left")
	// ErrTicketMoved says that an approved ticket was used, or is past its deadline.
	ErrTicketMoved = errors.New("toolcall: ticket cannot be used")
	// ErrReserved says that a call was reserved before.
	ErrReserved = errors.New("toolcall: reserved before")
	// ErrNotOpen says that a call is not the one that its job has open.
	ErrNotOpen = errors.New("toolcall: not the open call")
)

// Frozen says that a side-effecting call of the job has no known outcome: the job makes no further call, asks no model, and ends
// (core §5.9).
type Frozen struct {
	Open job.OpenCall
	Err  error // why the outcome could not be stored; nil when it is
}

func (e *Frozen) Error() string {
	if e.Err != nil {
		return "toolcall: the job is frozen: " + e.Err.Error()
	}
	return "toolcall: the job is frozen"
}

// Unwrap is why the outcome could not be stored.
func (e *Frozen) Unwrap() error { return e.Err }

// Opening is a new ticket.
type Opening struct {
	Ticket    approval.Ticket
	Replaces  int64 // the earlier ticket of the same call, which allows nothing any more and gives up its lookup; 0 for none
	BesideDue bool  // although an approved call of the job is due, which is not one of the same tool
}

// DueError is job.ErrDue with the approved calls that are due.
type DueError struct{ Due []job.DueTicket }

func (e *DueError) Error() string { return job.ErrDue.Error() }

// Unwrap is job.ErrDue.
func (e *DueError) Unwrap() error { return job.ErrDue }

// Deferred says that a due call cannot be made now, for a reason that can pass: a limit, or an object that is disabled. Nothing was done
// and nothing is recorded; the ticket stays approved and unused (I3).
type Deferred struct {
	Outcome Outcome
	Wait    time.Duration // after which it may be tried again; 0 when nobody knows
}

func (e *Deferred) Error() string {
	return "toolcall: the approved call cannot be made now: " + e.Outcome.Reason
}

// Attached is a tool with the route's source that allows it.
type Attached struct {
	Tool     *capability.Tool
	Provider string
	Source   registry.ToolSource
}
