package job

import (
	"encoding/json"
	"errors"
	"time"

	"bailing/shared/registry"
)

// Status is a job's state (core §1.5).
type Status string

const (
	Queued     Status = "queued"
	Running    Status = "running"
	Dispatched Status = "dispatched"
	Done       Status = "done"
	Failed     Status = "error"
	Rejected   Status = "rejected"
)

// Terminal reports whether nothing more happens in this state.
func (s Status) Terminal() bool { return s == Done || s == Failed || s == Rejected }

const (
	// MaxInFlight is how many jobs of one thread may be queued, running and dispatched together (core §1.5).
	MaxInFlight = 6
	// Lease is how long a claimed in-hub job stays with its worker (core §7.5).
	Lease = 20 * time.Minute
	// QueueTimeout ends a job that nobody took, counted from its last queueing and from becoming head (core §7.5).
	QueueTimeout = 30 * time.Minute
	// ResendAfter is when the sweeper assumes that the message of a runnable job was lost.
	ResendAfter = time.Minute
	// MaxRecoveries is how many lost workers a job survives. A job that kills its worker each time would otherwise
	// never reach a terminal state (I5).
	MaxRecoveries = 5
)

// Reasons that end up in a job's error member. Launch gates are wire codes (core §1.5, D45).
const (
	ReasonThreadQuota  = "thread_inflight_quota"
	ReasonQueueTimeout = "queued for more than 30 minutes without being taken"
	ReasonWorkerLost   = "the worker was lost repeatedly while running this job"
)

// Snapshot is the configuration that a job runs with, frozen when it was launched. What may be switched off later
// (route, tools, providers, client) is read again where it is used.
type Snapshot struct {
	RouteKey        string              `json:"route_key"`
	RouteName       string              `json:"route_name"`
	Target          string              `json:"target"`
	TargetKind      registry.TargetKind `json:"target_kind"`
	TargetConfig    json.RawMessage     `json:"target_config,omitempty"`
	TargetTimeoutMS int                 `json:"target_timeout_ms,omitempty"`
	Retry           *registry.Retry     `json:"retry,omitempty"`
	Delivery        *registry.Delivery  `json:"delivery,omitempty"` // nil = nothing is delivered
}

// Job is one accepted request for work.
type Job struct {
	ID          string // lower-case UUID v4
	RequestID   string
	Status      Status
	Owner       string // app_id of the client that submitted it; "" for an administrator
	Source      string
	Profile     string
	Project     string
	ThreadKey   string // names the thread row
	ThreadID    int64
	SessionID   string
	Continue    bool
	CallbackURL string

	Input    string
	Metadata json.RawMessage // an object
	Snapshot Snapshot

	Attempts   int   // failed tries that were repeated (wire data)
	Claim      int64 // fencing token; only rises
	Recoveries int   // lost leases
	Head       bool  // first of its thread: may be claimed
	Worker     string
	Open       *OpenCall   // nil, or the call that must be reconciled before anything else happens
	Due        []DueTicket // approved calls to be made before the job may end, earliest deadline first
	SinceClaim int64       // what was saved under this claim or an earlier one belongs to a run before the last rerun
	Continued  bool        // queued again: its end is told even if the submitter wanted no delivery (core §2.5, §6.7)

	RunAfter   time.Time // zero, or the earliest next claim
	QueuedAt   time.Time // last queueing, or becoming head
	ClaimedAt  time.Time
	LeaseUntil time.Time
	CreatedAt  time.Time
	UpdatedAt  time.Time

	Result json.RawMessage // object, or nil
	Usage  json.RawMessage // object, or nil
	Error  string
}

// RetryMax is how often a transient failure is repeated.
func (j *Job) RetryMax() int {
	if j.Snapshot.Retry == nil {
		return 0
	}
	return j.Snapshot.Retry.Max
}

// Runnable reports whether the job worker executes this job, rather than a remote executor.
func (j *Job) Runnable() bool { return j.Snapshot.TargetKind == registry.InHub }

// NextHead is a waiting job that became head of its thread.
type NextHead struct {
	ID   string
	Kind registry.TargetKind
}

// Runnable reports whether the job worker executes the job.
func (n *NextHead) Runnable() bool { return n.Kind == registry.InHub }

// Event is one audit record of a job (core §11.7). ID and At together are unique within the job: writing the same event again
// changes nothing, and a step that is taken again later leaves another record.
type Event struct {
	ID       string
	At       time.Time
	Name     string
	Stage    string
	Severity string
	Title    string
	Summary  string
	Detail   map[string]any
}

// Stages and severities of audit records (core §11.7).
const (
	StageLaunch    = "launch"
	StageExecution = "execution"
	StageTool      = "tool"
	StageRecovery  = "recovery"
	StageDelivery  = "delivery"

	Info    = "info"
	Warning = "warning"
	Severe  = "error"
)

var (
	// ErrNotFound says that no such job exists.
	ErrNotFound = errors.New("job: not found")
	// ErrNotClaimable says that the job is not the queued head of its thread now; the message that named it is done.
	ErrNotClaimable = errors.New("job: not claimable")
	// ErrDue says that an approved call of the job has to be made before it may end.
	ErrDue = errors.New("job: an approved call is due")
	// ErrLostClaim says that the job was taken from this worker: it must stop without another write.
	ErrLostClaim = errors.New("job: claim lost")
)

// Fence proves that a write comes from the worker that holds the job.
type Fence struct {
	JobID string
	Claim int64
}
