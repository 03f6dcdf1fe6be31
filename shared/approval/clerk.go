package approval

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"bailing/shared/clock"
	"bailing/shared/job"
)

// ClerkStore is the storage of a decision.
type ClerkStore interface {
	// ReadDecision reads a ticket without its intent, who has its owner's decision id, its job, the job's thread, and the jobs of
	// that thread: four trips, three when the thread is empty. ErrNotFound when there is no such ticket. decisionID may be "".
	ReadDecision(ctx context.Context, id int64, owner, decisionID string) (DecisionView, error)
	// DecideTicket is the decision: {ticket, lookup, decision id, job, thread, old head, audit records} in one transaction.
	// ErrMoved when anything of it is not as v says any more.
	DecideTicket(ctx context.Context, v DecisionView, c Change, events ...job.Event) error
	// ExpireTicket ends a ticket whose deadline has passed; see [KeeperStore].
	ExpireTicket(ctx context.Context, t *Ticket, now time.Time, ev job.Event) error
	// SettleTicket forgets the token of a decided ticket whose wait was told, if it is this one.
	SettleTicket(ctx context.Context, id int64, token string) error
}

// DecisionView is what decides a decision.
type DecisionView struct {
	Ticket *Ticket
	Taken  int64    // the ticket that has the decision id; 0 for none
	Job    *job.Job // its state; see [job.LifeStore.ReadState]
	Ends   int      // how often the job has ended
	Thread job.Thread
	Peers  map[string]job.Peer // the jobs of the thread, by id
}

// Change is what a decision changes.
type Change struct {
	Ruling Ruling
	Due    *job.DueTicket // nil, or the mark that the job gets: its approved call is to be made
	Seat   *job.Seat      // nil, or the job is queued again, and where
}

// Waits are the executions that hold a ticket's wait (Step Functions).
type Waits interface {
	// Start begins the wait of a ticket. One that exists already is no error.
	Start(ctx context.Context, ticketID int64, deadline time.Time) error
	// Release ends the wait that gave this token. One that is over is no error.
	Release(ctx context.Context, token string) error
}

// Conflict says that a ticket cannot be decided so (core §6.5).
type Conflict struct {
	State      State  // of the ticket; "" when the decision id is the reason
	DecisionID string // that decided the ticket, or that is taken
	TicketID   int64  // that has the decision id; 0 otherwise
}

func (c *Conflict) Error() string {
	if c.TicketID != 0 {
		return fmt.Sprintf("approval: decision id is used by ticket %d", c.TicketID)
	}
	return "approval: ticket is " + string(c.State)
}

// Decided is the answer to a decision.
type Decided struct {
	ID         int64
	State      State
	DecisionID string
	Idempotent bool // it had been decided so before
	Rerun      bool // its job was queued again
}

// Clerk records decisions. It is safe for concurrent use.
type Clerk struct {
	Store  ClerkStore
	Queue  job.Enqueuer
	Waits  Waits // nil leaves them to the sweeper
	Clock  clock.Clock
	Logger *slog.Logger
}

// decideAttempts bounds how often a decision is weighed anew because its job moved.
const decideAttempts = 24

// Decide records what a person decided about ticket t, which the caller read and whose decision it has authenticated.
//
// The transaction is the truth, whatever the wait does (core §6.7). With an approval it marks the job: an approved call is due. A
// job that has ended is queued again in the same transaction, behind older jobs of its thread and before younger ones, but
// never before one that runs; a job that is under way makes the call before it ends. A job that ended with a call of unknown
// outcome keeps the mark for a rerun.
//
// The errors are *[Conflict], [ErrNotFound], job.ErrNotFound, [ErrMoved] when its job does not come to rest, and failures of the store. The same decision again changes nothing and is no error
// (I9). Of two that disagree one wins; the other learns which. Dying before the transaction changes nothing; dying after it leaves
// the job's message and the wait to the sweepers.
func (c *Clerk) Decide(ctx context.Context, t *Ticket, r Ruling) (Decided, error) {
	for range decideAttempts {
		v, err := c.Store.ReadDecision(ctx, t.ID, t.Owner, r.DecisionID)
		if err != nil {
			return Decided{}, err
		}
		r.At = c.Clock.Now()
		answer, err := c.weigh(ctx, v, r)
		if errors.Is(err, ErrMoved) {
			continue
		}
		if answer != nil || err != nil {
			return orNone(answer), err
		}
		change := c.change(v, r)
		err = c.Store.DecideTicket(ctx, v, change, rulingEvents(v, change)...)
		if errors.Is(err, ErrMoved) {
			continue
		}
		if err != nil {
			return Decided{}, err
		}
		c.follow(ctx, v, change)
		return Decided{ID: t.ID, State: r.State(), DecisionID: r.DecisionID, Rerun: change.Seat != nil}, nil
	}
	return Decided{}, ErrMoved
}

func orNone(d *Decided) Decided {
	if d == nil {
		return Decided{}
	}
	return *d
}

// weigh is the answer that needs no transaction; nil when the ticket is open. ErrMoved asks to read again: somebody whose clock is
// behind decided the ticket although its deadline has passed here, and who decided it has to be named.
func (c *Clerk) weigh(ctx context.Context, v DecisionView, r Ruling) (*Decided, error) {
	t := v.Ticket
	if t.Open(r.At) {
		if v.Taken != 0 && v.Taken != t.ID {
			return nil, &Conflict{DecisionID: r.DecisionID, TicketID: v.Taken}
		}
		return nil, nil
	}
	if t.Ruling != nil {
		if r.DecisionID != "" && t.Ruling.DecisionID == r.DecisionID && t.Ruling.Approved == r.Approved {
			return &Decided{ID: t.ID, State: r.State(), DecisionID: r.DecisionID, Idempotent: true}, nil
		}
		return nil, &Conflict{State: t.StateAt(r.At), DecisionID: t.Ruling.DecisionID}
	}
	if t.State == Pending { // the deadline has passed; that nobody wrote it down yet makes no difference
		if err := c.Store.ExpireTicket(ctx, t, r.At, ExpiryEvent(t, r.At)); err != nil {
			return nil, err
		}
	}
	return nil, &Conflict{State: Expired}
}

// change is what the ruling does to the job.
func (c *Clerk) change(v DecisionView, r Ruling) Change {
	out := Change{Ruling: r}
	if !r.Approved {
		return out
	}
	out.Due = &job.DueTicket{ID: v.Ticket.ID, ExpiresAt: v.Ticket.ExpiresAt}
	if v.Job.Status.Terminal() && v.Job.Open == nil && v.Ends < job.RunsMax {
		seat := job.SeatOf(v.Job, v.Thread, v.Peers)
		out.Seat = &seat
	}
	return out
}

// follow sends what the decision leads to; both are hints.
func (c *Clerk) follow(ctx context.Context, v DecisionView, change Change) {
	if s := change.Seat; s != nil && s.Head && v.Job.Runnable() {
		if err := c.Queue.Enqueue(ctx, v.Job.ID, 0); err != nil {
			c.Logger.WarnContext(ctx, "job not queued, the sweeper will", "job_id", v.Job.ID, "error", err)
		}
	}
	if c.Waits == nil || v.Ticket.Token == "" {
		return
	}
	err := c.Waits.Release(ctx, v.Ticket.Token)
	if err == nil {
		err = c.Store.SettleTicket(ctx, v.Ticket.ID, v.Ticket.Token)
	}
	if err != nil {
		c.Logger.WarnContext(ctx, "wait not ended, the sweeper will", "approval_id", v.Ticket.ID, "error", err)
	}
}

// rulingEvents are the audit records of a decision (core §6.5 to §6.7).
func rulingEvents(v DecisionView, c Change) []job.Event {
	r, t := c.Ruling, v.Ticket
	name, title := "tool_approved", "Tool call approved"
	if !r.Approved {
		name, title = "tool_denied", "Tool call denied"
	}
	if r.DecisionID != "" {
		name += "_external"
	}
	detail := map[string]any{
		"approval_id": t.ID, "tool": t.Tool, "scope": t.Scope, "args_hash": t.ArgsHash, "by": r.By, "auth": r.Auth, "rerun": c.Seat != nil,
	}
	if r.DecisionID != "" {
		detail["decision_id"] = r.DecisionID
	}
	if r.Name != "" && r.Name != r.By {
		detail["approver_name"] = r.Name
	}
	if r.Comment != "" {
		detail["comment"] = r.Comment
	}
	if r.SaidAt != "" {
		detail["decided_at"] = r.SaidAt
	}
	events := []job.Event{{
		ID: fmt.Sprintf("%s-%d", name, t.ID), At: r.At, Name: name, Stage: job.StageApproval, Severity: job.Info, Title: title,
		Summary: fmt.Sprintf("%s · %d", t.Tool, t.ID), Detail: detail,
	}}
	if c.Seat != nil {
		events = append(events, job.Event{
			ID: fmt.Sprintf("rerun-%d", v.Ends+1), At: r.At.Add(time.Nanosecond), // after the decision
			Name: "rerun", Stage: job.StageRecovery, Severity: job.Info,
			Title: "Queued again to make an approved call", Summary: fmt.Sprintf("%s · %d", t.Tool, t.ID),
			Detail: map[string]any{"by": r.By, "from": v.Job.Status, "run": v.Ends + 1, "approval_id": t.ID},
		})
	}
	return events
}
