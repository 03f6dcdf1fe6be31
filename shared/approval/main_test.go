package approval_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"bailing/shared/approval"
	"bailing/shared/clock"
	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/jobrun"
	"bailing/shared/model"
	"bailing/shared/toolcall"
)

// waits remembers the executions of tickets. It is safe for concurrent use.
type waits struct {
	mu       sync.Mutex
	started  map[int64]time.Time
	starts   int
	released []string
	fail     error
}

func (w *waits) Start(_ context.Context, id int64, deadline time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fail != nil {
		return w.fail
	}
	if w.started == nil {
		w.started = map[int64]time.Time{}
	}
	w.started[id] = deadline
	w.starts++
	return nil
}

func (w *waits) Release(_ context.Context, token string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fail != nil {
		return w.fail
	}
	w.released = append(w.released, token)
	return nil
}

// broken makes everything fail with err; nil ends that.
func (w *waits) broken(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fail = err
}

func (w *waits) tokens() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.released)
}

// teller remembers who was told.
type teller struct {
	mu   sync.Mutex
	told []int64
	fail error
}

func (t *teller) Tell(_ context.Context, ticket *approval.Ticket) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.fail != nil {
		return t.fail
	}
	if len(ticket.Intent) == 0 {
		return errors.New("told without an intent")
	}
	t.told = append(t.told, ticket.ID)
	return nil
}

// at is a clock that stands still.
type at time.Time

func (a at) Now() time.Time                         { return time.Time(a) }
func (a at) After(d time.Duration) <-chan time.Time { panic("nothing here waits") }

// office is a hub with the two who care for tickets.
type office struct {
	*jobtest.World
	t      *testing.T
	token  string // of the client that owns the jobs
	waits  *waits
	teller *teller
	clerk  *approval.Clerk
	keeper *approval.Keeper
	n      int
}

func openOffice(t *testing.T) *office {
	t.Helper()
	o := &office{World: jobtest.New(t), t: t, waits: &waits{}, teller: &teller{}}
	o.token = o.Seed()
	o.clerk = o.clerkAt(o.Clock)
	o.keeper = o.keeperAt(o.Clock)
	return o
}

// clerkAt decides by another clock.
func (o *office) clerkAt(c clock.Clock) *approval.Clerk {
	return &approval.Clerk{Store: o.Store, Queue: o.Queue, Waits: o.waits, Clock: c, Logger: slog.New(slog.DiscardHandler)}
}

func (o *office) keeperAt(c clock.Clock) *approval.Keeper {
	return &approval.Keeper{Store: o.Store, Waits: o.waits, Teller: o.teller, Clock: c, Logger: slog.New(slog.DiscardHandler)}
}

// launch is a queued job; its message is taken.
func (o *office) launch() string {
	o.t.Helper()
	o.n++
	id := o.MustLaunch(o.token, jobtest.Submission(fmt.Sprint("r", o.n), `"metadata":{"user":"u"},"callback_url":"https://crm.example/cb"`)).JobID
	o.Queue.Take()
	return id
}

// waiting is a job that ended after it asked a person about a refund, and its ticket.
func (o *office) waiting() *approval.Ticket {
	o.t.Helper()
	id := o.launch()
	o.Model.Then(jobtest.Call(jobtest.Wish{Tool: "refund", Args: `{"order":"SO-1"}`}), jobtest.Say("it waits for approval"))
	o.Run(o.t.Context(), id)
	if j := o.Job(id); j.Status != job.Done {
		o.t.Fatalf("the job is %s: %s", j.Status, j.Error)
	}
	return o.ticketOf(id)
}

// under is a job that a worker has, and a ticket of it.
func (o *office) under() (job.Fence, *approval.Ticket) {
	o.t.Helper()
	id := o.launch()
	j, err := o.Lifecycle.Claim(o.t.Context(), id, "worker")
	if err != nil {
		o.t.Fatal(err)
	}
	f := job.Fence{JobID: id, Claim: j.Claim}
	if err := o.Store.SaveRound(o.t.Context(), f, jobrun.Round{Number: 1, Message: model.Message{Role: model.RoleAssistant}}, o.event("round")); err != nil {
		o.t.Fatal(err)
	}
	return f, o.ask(f, "h")
}

// ask opens a ticket of the job's call of a tool with these arguments.
func (o *office) ask(f job.Fence, args string) *approval.Ticket {
	o.t.Helper()
	now := o.Clock.Now()
	ticket := approval.Ticket{
		ID: approval.NewID(), State: approval.Pending, JobID: f.JobID, Owner: jobtest.Client, Provider: jobtest.Provider, Tool: "refund", ArgsHash: args,
		Claim: f.Claim, Round: 1, CreatedAt: now, ExpiresAt: now.Add(time.Hour), Intent: []byte(`{"args":{}}`),
	}
	err := o.Store.OpenTicket(o.t.Context(), f, toolcall.Opening{Ticket: ticket, BesideDue: true}, toolcall.Record{Round: 1, Tool: "refund"}, o.event("pending"))
	if err != nil {
		o.t.Fatal(err)
	}
	return &ticket
}

func (o *office) event(id string) job.Event {
	return job.Event{ID: id, At: o.Clock.Now(), Name: id, Stage: job.StageApproval, Severity: job.Info, Title: id}
}

// ticketOf is the only ticket of a job.
func (o *office) ticketOf(jobID string) *approval.Ticket {
	o.t.Helper()
	found, err := o.Store.JobTickets(o.t.Context(), jobID, 10)
	if err != nil || len(found) != 1 {
		o.t.Fatalf("%d tickets, %v", len(found), err)
	}
	return &found[0]
}

// row is a ticket as it is stored; the way to it must say the same.
func (o *office) row(id int64) *approval.Ticket {
	o.t.Helper()
	ticket, err := o.Store.ReadTicketRow(o.t.Context(), id)
	if err != nil || ticket == nil {
		o.t.Fatalf("ticket %d: %v, %v", id, ticket, err)
	}
	view, err := o.Store.ReadCall(o.t.Context(), toolcall.Keys{
		Route: jobtest.Route, Provider: jobtest.Provider, Tool: ticket.Tool, JobID: ticket.JobID, ArgsHash: ticket.ArgsHash,
	})
	if err != nil || view.Ticket == nil || view.Ticket.ID != id || view.Ticket.State != ticket.State || view.Ticket.Used == ticket.UsedAt.IsZero() {
		o.t.Errorf("the ticket is %+v, the way to it %+v, %v", ticket, view.Ticket, err)
	}
	return ticket
}

// named counts the audit records of a job with this name.
func (o *office) named(jobID, name string) int {
	o.t.Helper()
	return len(o.Events(jobID, name))
}

func ruling(approved bool, decisionID string) approval.Ruling {
	return approval.Ruling{Approved: approved, DecisionID: decisionID, By: "u_manager", Auth: "client:acme"}
}

// conflict is the error of a decision that cannot be made.
func conflict(t *testing.T, err error) approval.Conflict {
	t.Helper()
	var c *approval.Conflict
	if !errors.As(err, &c) {
		t.Fatalf("%v is no conflict", err)
	}
	return *c
}

// rounds is how often a race is run: BAILING_DECISION_ROUNDS, or a few times.
func rounds(t *testing.T) int {
	t.Helper()
	text := os.Getenv("BAILING_DECISION_ROUNDS")
	if text == "" {
		return 20
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("BAILING_DECISION_ROUNDS=%q is no number of rounds", text)
	}
	return n
}
