package toolcall

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bailing/shared/clock"
	"bailing/shared/job"
	"bailing/shared/outbound"
)

// Evidence is how far the request of an uncertain call came, for the person who looks it up (D30).
type Evidence struct {
	Phase     string `json:"phase,omitempty"` // of package outbound; "" when a whole answer came
	Connected bool   `json:"connected"`       // a connection to the business was made
	Sent      bool   `json:"sent"`            // a byte of the request may have left
	Timeout   bool   `json:"timeout"`
	Status    int    `json:"status,omitempty"` // 0 when no answer began
}

// evidenceOf is what is known of an attempt; nil when that is nothing.
func evidenceOf(res *outbound.Response, err error) *Evidence {
	var failed *outbound.Error
	switch {
	case errors.As(err, &failed):
		return &Evidence{
			Phase: string(failed.Phase), Connected: failed.Connected, Sent: failed.Sent, Timeout: failed.Timeout, Status: failed.Status,
		}
	case res != nil:
		return &Evidence{Connected: true, Sent: true, Status: res.Status}
	}
	return nil
}

// Finding is what a person found out about an unresolved call.
type Finding string

const (
	Happened    Finding = "happened"     // the business did what was asked, or answered with an error that is known
	NotHappened Finding = "not_happened" // the business did nothing
)

// Closing is how a person closed an unresolved call.
type Closing struct {
	Finding Finding   `json:"outcome"`
	Status  int       `json:"status,omitempty"` // of the business, 100 to 599; 0 = not known. Only with Happened
	Reason  string    `json:"reason"`           // the person's words
	By      string    `json:"by"`
	At      time.Time `json:"at"`
}

// Bounds of a closing.
const (
	ClosingReasonMax = 1000 // UTF-16 units
	ClosingStatusMin = 100
	ClosingStatusMax = 599
)

// same reports whether another closing finds the same.
func (c *Closing) same(o Closing) bool { return c.Finding == o.Finding && c.Status == o.Status }

func (c *Closing) state() EntryState {
	if c.Finding == Happened {
		return ClosedHappened
	}
	return ClosedNotHappened
}

// outcome is what the model reads when it asks for the call again. What a person wrote is for persons.
func (c *Closing) outcome(tool string) Outcome {
	out := Outcome{State: Executed, OK: true, Status: c.Status, Reason: string(c.state())}
	var found string
	switch {
	case c.Finding == NotHappened:
		// It was attempted, so it is no rejected_before_dispatch (core §5.9); that it had no effect is final.
		out.State, out.OK = BusinessReject, false
		found = "that the business did not do it. It was not done, and must not be repeated under this job; say so."
	case c.Status == 0:
		found = "that the business did it; its answer is not on record. Do not call it again."
	case c.Status >= 200 && c.Status < 300:
		found = fmt.Sprintf("that the business did it, with status %d; its answer is not on record. Do not call it again.", c.Status)
	default:
		out.State, out.OK = BusinessReject, false
		found = fmt.Sprintf("that the business received it and answered with status %d. Do not call it again.", c.Status)
	}
	out.Text = fmt.Sprintf("Tool %s was called earlier without an answer. A person confirmed %s", tool, found)
	return out
}

// closedEvent records a call that was answered with what a person found out.
func (s *Service) closedEvent(p *prepared, e *Entry, o Outcome) job.Event {
	ev := s.dedupedEvent(p, e, o)
	ev.Title = "Tool call answered from its reconciliation"
	ev.Detail["state"], ev.Detail["reconciled_by"] = e.State, e.Closing.By
	ev.Detail["reason"] = "a person closed the same call of this job; that is the answer, and nothing is sent"
	return ev
}

// Reconciliation is a call that is unresolved, or was until a person closed it.
type Reconciliation struct {
	Entry     Entry
	JobStatus job.Status
	UnderWay  bool            // the job has not come to its end with this call: it cannot be closed yet
	Due       []job.DueTicket // approved calls of the job that were not made: a rerun makes them
}

// Reconciliations is one page of unresolved calls.
type Reconciliations struct {
	Items []Reconciliation
	Next  job.Cursor // where the next page begins; "" = this was the last
}

// ReconciliationsMax is the most calls of one page.
const ReconciliationsMax = 200

// ReconcileStore is the storage of a Reconciler.
type ReconcileStore interface {
	// ListUnresolved reads the unresolved calls with which jobs ended, the one that was reserved last first, at most limit of
	// those before after. Only the last page may be empty.
	ListUnresolved(ctx context.Context, limit int, after job.Cursor) (Reconciliations, error)
	// ReadReconciliation reads one call by its job and idempotency key, nil when there is no such one or it is completed.
	ReadReconciliation(ctx context.Context, jobID, key string) (*Reconciliation, error)
	// CloseCall stores e, which carries its closing: {job, which has e open and is at rest: nothing is open; entry, still
	// unresolved: closed; audit record}. ErrCloseMoved when one of these does not hold.
	CloseCall(ctx context.Context, e Entry, ev job.Event) error
}

// Why a call is not closed.
var (
	// ErrNoReconciliation says that the job has no such call, or that it is completed.
	ErrNoReconciliation = errors.New("toolcall: no such reconciliation")
	// ErrUnderWay says that the job still works on the call; it will end, or complete it.
	ErrUnderWay = errors.New("toolcall: the call is under way")
	// ErrCloseMoved says that job or call changed since they were read.
	ErrCloseMoved = errors.New("toolcall: changed meanwhile")
)

// ClosedOtherwise says that a call was closed before, with another finding.
type ClosedOtherwise struct{ First Closing }

func (e *ClosedOtherwise) Error() string {
	return "toolcall: closed before as " + string(e.First.Finding)
}

// Reconciler closes what only a person can find out (I4, D30). It is safe for concurrent use.
type Reconciler struct {
	Store ReconcileStore
	Clock clock.Clock
}

// closeAttempts is how often a closing meets a change of the job; each is a step of the job's life, and there are few.
const closeAttempts = 8

// List reads a page of unresolved calls; see [ReconcileStore].
func (r *Reconciler) List(ctx context.Context, limit int, after job.Cursor) (Reconciliations, error) {
	return r.Store.ListUnresolved(ctx, limit, after)
}

// Read returns one call, ErrNoReconciliation when there is none.
func (r *Reconciler) Read(ctx context.Context, jobID, key string) (*Reconciliation, error) {
	found, err := r.Store.ReadReconciliation(ctx, jobID, key)
	if err == nil && found == nil {
		err = ErrNoReconciliation
	}
	return found, err
}

// Close closes a call with what c finds; c.At is set here. It sends nothing, and the journal's key stays used up for ever (I1):
// it changes what a rerun of the job reads, and that the rerun goes on at all. The end with which the job was told stays.
//
// Closing twice with the same finding and status returns the first closing, whatever its reason; another one is a
// *ClosedOtherwise. The other errors are ErrNoReconciliation and ErrUnderWay. Of several at once one wins. Beside a worker or a
// rerun the state of the job decides, in the same transaction: while a worker holds the job it is ErrUnderWay, and a worker that
// lost the job stores nothing any more. Dying before the transaction changes nothing.
func (r *Reconciler) Close(ctx context.Context, jobID, key string, c Closing) (*Reconciliation, error) {
	c.At = r.Clock.Now().UTC().Truncate(time.Millisecond)
	for range closeAttempts {
		found, err := r.Read(ctx, jobID, key)
		if err != nil {
			return nil, err
		}
		e := &found.Entry
		switch {
		case e.Closing != nil && e.Closing.same(c):
			return found, nil
		case e.Closing != nil:
			return nil, &ClosedOtherwise{*e.Closing}
		case found.UnderWay:
			return nil, ErrUnderWay
		}
		ev := reconciledEvent(e, c)
		e.State, e.Closing, e.UpdatedAt = c.state(), &c, c.At
		if err = r.Store.CloseCall(ctx, *e, ev); errors.Is(err, ErrCloseMoved) {
			continue
		}
		if err != nil {
			return nil, err
		}
		// A call that was approved since the job was read waits for the rerun, too.
		if again, err := r.Store.ReadReconciliation(ctx, jobID, key); err == nil && again != nil {
			found.Due = again.Due
		}
		return found, nil
	}
	return nil, ErrCloseMoved
}

// reconciledEvent records a closing of e, which is as it was before.
func reconciledEvent(e *Entry, c Closing) job.Event {
	detail := map[string]any{
		"tool": e.Tool, "scope": e.Scope, "idempotency_key": e.IdempotencyKey, "from": e.State, "state": c.state(), "outcome": c.Finding,
		"reason": c.Reason, "by": c.By,
	}
	if e.Provider != "" {
		detail["provider"] = e.Provider
	}
	if c.Status != 0 {
		detail["status"] = c.Status
	}
	if e.Evidence != nil {
		detail["evidence"] = e.Evidence
	}
	return job.Event{
		ID: "tool_reconciled-" + e.IdempotencyKey, At: c.At, Name: "tool_reconciled", Stage: job.StageTool, Severity: job.Warning,
		Title: "A person closed a call of unknown outcome", Summary: e.Tool + " · " + string(c.Finding), Detail: detail,
	}
}
