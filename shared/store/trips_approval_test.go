package store_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"bailing/shared/approval"
	"bailing/shared/job"
	"bailing/shared/registry"
	"bailing/shared/toolcall"
)

// hints takes every message, and ends every wait.
type hints struct{}

func (hints) Enqueue(context.Context, string, time.Duration) error { return nil }
func (hints) Start(context.Context, int64, time.Time) error        { return nil }
func (hints) Release(context.Context, string) error                { return nil }

// desk is the running job "a", whose calls are counted.
type desk struct {
	*stand
	c       *trips
	service *toolcall.Service // counted
	clerk   *approval.Clerk   // counted
	set     *toolcall.Toolset
	job     *job.Job
}

func openDesk(t *testing.T, route string) *desk {
	t.Helper()
	d := &desk{stand: open(t)}
	seed(t, d.stand)
	j := jobIn("t", "a")
	j.Snapshot.RouteKey = route
	arranged(t, create(t.Context(), d.Store, j, job.Thread{}))
	var err error
	d.job, err = d.ClaimJob(t.Context(), "a", "w", start, start.Add(job.Lease))
	arranged(t, err)
	config, err := d.ReadRun(t.Context(), route, "none")
	arranged(t, err)
	d.c = newTrips(t, d.Server)
	p := d.platform(d.c)
	log := slog.New(slog.DiscardHandler)
	d.service = &toolcall.Service{Store: p.Store(), HTTP: business{}, Secrets: unsealed{}, Clock: p.Clock, Logger: log}
	d.clerk = &approval.Clerk{Store: p.Store(), Queue: hints{}, Waits: hints{}, Clock: p.Clock, Logger: log}
	d.set, err = d.service.Assemble(t.Context(), config.Route, config.Providers)
	arranged(t, err)
	return d
}

// call counts the trips of a call.
func (d *desk) call(t *testing.T, c toolcall.Call, state toolcall.State) (toolcall.Outcome, [][]string) {
	t.Helper()
	c.Fence, c.Job, c.CallID = fenceA, d.job, "c"
	var out toolcall.Outcome
	got := d.c.count(t, func(t *testing.T) {
		var err error
		if out, err = d.service.Invoke(t.Context(), d.set, c); err != nil || out.State != state {
			t.Errorf("outcome %+v, %v", out, err)
		}
	})
	return out, got
}

// decide counts the trips of a decision.
func (d *desk) decide(t *testing.T, id int64, approved bool) [][]string {
	t.Helper()
	ticket, err := d.ReadTicketRow(t.Context(), id)
	arranged(t, err)
	return d.c.count(t, func(t *testing.T) {
		if _, err := d.clerk.Decide(t.Context(), ticket, approval.Ruling{Approved: approved, DecisionID: ticket.ArgsHash, By: "ann"}); err != nil {
			t.Error(err)
		}
	})
}

// A governed write takes as many trips with an approval as without: the ticket is read with the other rows, and used by RESERVE.
func TestTripsOfAnApprovedCallAreThoseOfTheArchitecture(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		route, tool string
		want        [][]string
		asks        [][]string
	}{
		{"limiting", "asking_limited_write", [][]string{read, charge2, write, write}, [][]string{read, charge2, write, charge2}},
		{"limiting", "asking_write", [][]string{read, {"PutItem"}, write, write}, [][]string{read, {"PutItem"}, write, {"PutItem"}}},
		{"unlimited", "asking_limited_write", [][]string{read, {"PutItem"}, write, write}, [][]string{read, {"PutItem"}, write, {"PutItem"}}},
		{"unlimited", "asking_write", [][]string{read, write, write}, [][]string{read, write}},
	} {
		t.Run(tc.tool+" of a provider that is "+tc.route, func(t *testing.T) {
			t.Parallel()
			d := openDesk(t, tc.route)
			for n, due := range []bool{false, true} { // the model's own call, and the one that the hub makes
				args := []string{`{"n":1}`, `{"n":2}`}[n]
				out, got := d.call(t, toolcall.Call{Round: 1 + 2*n, Tool: tc.tool, Args: args}, toolcall.Awaiting)
				wantTrips(t, "the question, whose permits go back", got, tc.asks...)
				d.decide(t, out.ApprovalID, true)
				c := toolcall.Call{Round: 2 + 2*n, Tool: tc.tool, Args: args}
				if due {
					ticket, err := d.ReadTicketRow(t.Context(), out.ApprovalID)
					arranged(t, err)
					c.Due = &toolcall.Due{DueTicket: job.DueTicket{ID: ticket.ID, ExpiresAt: ticket.ExpiresAt}, Provider: ticket.Provider}
				}
				_, got = d.call(t, c, toolcall.Executed)
				wantTrips(t, "the approved call", got, tc.want...)
				if row, err := d.ReadTicketRow(t.Context(), out.ApprovalID); err != nil || row.UsedAt.IsZero() {
					t.Errorf("the ticket is not used: %+v, %v", row, err)
				}
				if j, err := d.ReadState(t.Context(), "a"); err != nil || len(j.Due) != 0 || j.Open != nil {
					t.Errorf("%+v, %v", j, err)
				}
			}
		})
	}
}

// A decision reads ticket and decision id, the job, its thread, and who is in that, and is one transaction. A wait that left its token
// costs one trip more, after it.
func TestTripsOfADecision(t *testing.T) {
	t.Parallel()
	d := openDesk(t, "unlimited")
	ask := func(round int, args string) int64 {
		t.Helper()
		out, _ := d.call(t, toolcall.Call{Round: round, Tool: "asking_write", Args: args}, toolcall.Awaiting)
		return out.ApprovalID
	}
	first, second, third := ask(1, `{"n":1}`), ask(2, `{"n":2}`), ask(3, `{"n":3}`)
	settle := []string{"UpdateItem"}
	wantTrips(t, "a job under way", d.decide(t, first, false), read, read, read, read, write)
	wantTrips(t, "the same again", d.decide(t, first, false), read, read, read, read)
	if held, err := d.HoldTicket(t.Context(), second, "token", start); err != nil || !held {
		t.Fatalf("%v, %v", held, err)
	}
	wantTrips(t, "with a wait", d.decide(t, second, false), read, read, read, read, write, settle)
	_, err := d.FinishJob(t.Context(), fenceA, job.Outcome{Status: job.Done, Now: start}, eventOf("finished"))
	arranged(t, err)
	wantTrips(t, "an ended job, alone in its thread", d.decide(t, third, true), read, read, read, write)
	if j, err := d.ReadState(t.Context(), "a"); err != nil || j.Status != job.Queued || j.Snapshot.TargetKind != registry.InHub {
		t.Errorf("%+v, %v", j, err)
	}
}
