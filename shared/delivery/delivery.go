package delivery

import (
	"context"
	"errors"
	"time"

	"bailing/shared/envelope"
	"bailing/shared/job"
	"bailing/shared/outbound"
	"bailing/shared/registry"
)

const (
	// AttemptTimeout bounds one request, from the name's resolution to the end of the answer (core §2.3).
	AttemptTimeout = 10 * time.Second
	// Lease is how long a claimed row stays with its worker: longer than the worker's invocation.
	Lease = 90 * time.Second
	// ResendAfter is when the sweeper assumes that the message of a due row was lost.
	ResendAfter = time.Minute

	// answerMax is how much of a receiver's answer is read, in bytes; none of it is kept.
	answerMax = 64 << 10
	// hold is the longest delay that travels as a message. SQS ends at 900 s.
	hold = 15*time.Minute - 2*clockSlack
	// clockSlack is added to a message's delay: one that comes a moment early finds nothing to claim and is lost.
	clockSlack = time.Second
	// hubWait is the wait after a failure of the hub itself, which is no attempt of the schedule.
	hubWait = 30 * time.Second
	// claimsMax ends rows that the hub fails to prepare again and again.
	claimsMax = 200
)

// State of an outbox row.
type State string

const (
	Pending   State = "pending"
	Delivered State = "delivered"
	Dead      State = "dead"
)

// Row is one message to one receiver about one end of a job.
type Row struct {
	Key     job.OutboxKey
	Owner   string // app_id whose token signs; "" = the server token
	URL     string
	Preview string // the first characters of the body

	// Body is what every attempt sends; nil when it is kept under Address, a content address.
	Body    []byte
	Address string

	State    State
	Attempts int   // begun since the schedule last started
	Claim    int64 // fencing token; only rises
	Reason   string

	NextAt     time.Time // not before this is it attempted again
	LeaseUntil time.Time // zero, or until when a worker has it
	CreatedAt  time.Time
	UpdatedAt  time.Time
	DiedAt     time.Time // zero, or when it last became a dead letter
	ResolvedAt time.Time // zero, or when the dead letter was closed
}

// Result is what an attempt leaves in its row.
type Result struct {
	State    State
	Attempts int
	Reason   string    // "" when delivered
	NextAt   time.Time // of a pending row
	LookAt   time.Time // when the sweeper looks at a pending row
	Now      time.Time
}

// Letters selects dead letters.
type Letters struct {
	Resolved bool      // with those that were closed
	Since    time.Time // zero, or only those that died then or later
	Limit    int
}

var (
	// ErrNotFound says that no such row exists.
	ErrNotFound = errors.New("delivery: not found")
	// ErrNotClaimable says that the row is not in the wanted state, not due, or with somebody else.
	ErrNotClaimable = errors.New("delivery: not claimable")
	// ErrLostClaim says that the row was claimed again meanwhile: this attempt's result does not count.
	ErrLostClaim = errors.New("delivery: claim lost")
)

// Store is the storage of the outbox after the end of a job wrote its rows.
type Store interface {
	// ClaimOutbox takes the row for one attempt: one conditional write. from is Pending, for a row that is due, or Dead, for
	// an unresolved dead letter; only the first counts as an attempt. claimant is different for every claim. [ErrNotClaimable] otherwise.
	ClaimOutbox(ctx context.Context, k job.OutboxKey, from State, claimant string, now, leaseUntil time.Time) (*Row, error)
	// SaveAttempt ends the claim of row: one transaction with ev. [ErrLostClaim] when it is not held any more.
	SaveAttempt(ctx context.Context, row *Row, r Result, ev job.Event) error
	// RequeueOutbox starts the schedule of an unresolved dead letter anew: one transaction with ev, or [ErrNotClaimable].
	RequeueOutbox(ctx context.Context, k job.OutboxKey, now, lookAt time.Time, ev job.Event) error
	// ResolveOutbox closes a dead letter: one transaction with ev, or [ErrNotClaimable].
	ResolveOutbox(ctx context.Context, k job.OutboxKey, now time.Time, ev job.Event) error
	// PostponeOutbox sets when a pending row is looked at next; it does nothing to another one.
	PostponeOutbox(ctx context.Context, k job.OutboxKey, lookAt time.Time) error
	// EachDueOutbox calls visit with every pending row to look at by now, in no order. Its index may lag.
	EachDueOutbox(ctx context.Context, now time.Time, visit func(job.OutboxKey) error) error
	// ReadOutbox reads one row strongly, or returns [ErrNotFound].
	ReadOutbox(ctx context.Context, k job.OutboxKey) (*Row, error)
	// OutboxOf reads the rows of a job, oldest first.
	OutboxOf(ctx context.Context, jobID string) ([]*Row, error)
	// DeadLetters reads dead letters, latest first.
	DeadLetters(ctx context.Context, l Letters) ([]*Row, error)
	// GetValue reads a body that is kept under its content address.
	GetValue(ctx context.Context, address string) ([]byte, error)
}

// Clients reads the records of clients; nil for one that does not exist.
type Clients interface {
	Get(ctx context.Context, appID string) (*registry.Versioned[registry.Client], error)
}

// Opener opens sealed tokens.
type Opener interface {
	Open(ctx context.Context, sealed string, place envelope.Context) ([]byte, error)
}

// HTTP is the guarded client.
type HTTP interface {
	Do(ctx context.Context, r outbound.Request) (*outbound.Response, error)
}
