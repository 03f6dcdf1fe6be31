package jobtest

import (
	"context"
	"slices"
	"sync"
	"time"

	"bailing/shared/approval"
)

// Waits records what is asked of the executions that hold approvals.
type Waits struct {
	mu       sync.Mutex
	started  []int64
	released []string
}

// Start records a ticket.
func (w *Waits) Start(_ context.Context, ticketID int64, _ time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.started = append(w.started, ticketID)
	return nil
}

// Release records a token.
func (w *Waits) Release(_ context.Context, token string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.released = append(w.released, token)
	return nil
}

// Started are the tickets whose wait was started, in order.
func (w *Waits) Started() []int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.started)
}

// Released are the tokens that were released, in order.
func (w *Waits) Released() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.released)
}

// Tickets are the approvals that a job asked for, oldest first.
func (w *World) Tickets(jobID string) []approval.Ticket {
	w.t.Helper()
	tickets, err := w.Store.JobTickets(w.t.Context(), jobID, 100)
	if err != nil {
		w.t.Fatal(err)
	}
	return tickets
}

// Decide records the decision of an administrator, which must be possible.
func (w *World) Decide(t approval.Ticket, approve bool) approval.Decided {
	w.t.Helper()
	d, err := w.Clerk.Decide(w.t.Context(), &t, approval.Ruling{Approved: approve, By: "ann", Auth: "console:ann"})
	if err != nil {
		w.t.Fatalf("decision on %d: %v", t.ID, err)
	}
	return d
}
