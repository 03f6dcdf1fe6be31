package toolcall

import (
	"context"
	"errors"

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
	// BeginCall stores the audit record of a call that is about to be sent; one transaction with the fence.
	BeginCall(ctx context.Context, f job.Fence, ev job.Event) error
	// CompleteCall stores the outcome and its audit record; one transaction with the fence.
	CompleteCall(ctx context.Context, f job.Fence, rec Record, ev job.Event) error
	// Reserve is RESERVE: {fence, call is the job's open one, journal entry that must not exist yet, audit record}. It fails
	// with ErrReserved when the entry exists or the job has an open call.
	Reserve(ctx context.Context, f job.Fence, e Entry, ev job.Event) error
	// CompleteReserved is COMPLETE: {fence, call is not open any more, entry completed with rec, outcome, audit record}. It fails
	// with ErrNotOpen when the call is not the job's open one.
	CompleteReserved(ctx context.Context, f job.Fence, e Entry, rec Record, ev job.Event) error
	// MarkUncertain is what stands in its place when the outcome is unknown: {fence, call stays open, entry uncertain, outcome,
	// audit record}. It fails like CompleteReserved.
	MarkUncertain(ctx context.Context, f job.Fence, e Entry, rec Record, ev job.Event) error
	// OpenTicket stores a new ticket: {fence, ticket, its lookup, outcome, audit record}. It fails with approval.ErrIDTaken or
	// approval.ErrExists.
	OpenTicket(ctx context.Context, f job.Fence, t approval.Ticket, rec Record, ev job.Event) error
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

// Attached is a tool with the route's source that allows it.
type Attached struct {
	Tool     *capability.Tool
	Provider string
	Source   registry.ToolSource
}
