package jobrun_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"bailing/shared/approval"
	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/model"
	"bailing/shared/outbound"
	"bailing/shared/registry"
)

// pay is a side effect of high risk.
func pay() jobtest.Op {
	return jobtest.Op{
		Name: "pay", Method: "POST", Path: "/payments", Scope: "payments.write", Capability: `"risk":{"level":"high"}`,
		Body: `{"type":"object","properties":{"order":{"type":"string"}}}`,
	}
}

func payTools() []jobtest.Op { return append(jobtest.ShopTools(), pay()) }

func refund(order string) jobtest.Wish {
	return jobtest.Wish{Tool: "pay", Args: fmt.Sprintf(`{ "order" : %q }`, order)}
}

// then lets the model answer with what f says when it is asked.
func then(f func() jobtest.Reply) jobtest.Reply {
	return func(r model.Request) (model.Response, error) { return f()(r) }
}

// paying is a world with a job that may pay.
func paying(t *testing.T) *bench {
	t.Helper()
	b := open(t, nil, `"callback_url":"https://shop.example/cb"`, `"metadata":{"no_delivery":true}`)
	b.SaveProvider(jobtest.ShopProvider(), jobtest.Spec(payTools()...))
	return b
}

// asked is a job that ended with n tickets.
func asked(t *testing.T, wishes ...jobtest.Wish) (*bench, []approval.Ticket) {
	t.Helper()
	b := paying(t)
	if r := b.answered(jobtest.Call(wishes...), jobtest.Say("It waits for approval.")); r.Text != "It waits for approval." {
		t.Fatalf("%+v", r)
	}
	tickets := b.Tickets(b.id)
	if len(b.Business.Sent()) != 0 || len(tickets) == 0 {
		t.Fatalf("%d calls, %d tickets", len(b.Business.Sent()), len(tickets))
	}
	return b, tickets
}

// An approved call is made by the hub itself, before any model, with the frozen bytes; the model goes on from its saved rounds, and
// the job ends a second time (core §6.7).
func TestAnApprovedCallIsMadeFirst(t *testing.T) {
	t.Parallel()
	b, tickets := asked(t, refund("SO-1"))
	if d := b.Decide(tickets[0], true); !d.Rerun || d.State != approval.Approved {
		t.Fatalf("%+v", d)
	}
	if j := b.Job(b.id); j.Status != job.Queued || j.Result != nil || len(j.Due) != 1 || strings.Contains(string(j.Metadata), "no_delivery") {
		t.Errorf("queued again as %+v", j)
	}
	r := b.answered(jobtest.Say("Refunded."))
	sent := b.Business.Sent()
	if r.Text != "Refunded." || r.ToolCalls != 1 || len(sent) != 1 || string(sent[0].Body) != `{"order":"SO-1"}` {
		t.Errorf("result %+v, sent %+v", r, sent)
	}
	requests := b.Model.Requests()
	if len(requests) != 3 {
		t.Fatalf("%d requests to the model", len(requests))
	}
	var roles []string
	for _, m := range requests[2].Messages {
		roles = append(roles, string(m.Role))
	}
	if got := strings.Join(roles, " "); got != "system user assistant tool assistant system assistant tool system" {
		t.Errorf("the model reads %s", got)
	}
	m := requests[2].Messages
	if m[4].Content != "It waits for approval." || m[6].ToolCalls[0].Arguments != `{"order":"SO-1"}` || !strings.Contains(m[5].Content, fmt.Sprint(tickets[0].ID)) {
		t.Errorf("messages %+v", m[4:])
	}
	j := b.Job(b.id)
	if len(j.Due) != 0 || j.Open != nil {
		t.Errorf("left behind: %+v, %+v", j.Due, j.Open)
	}
	if after := b.Tickets(b.id)[0]; after.UsedAt.IsZero() || after.State != approval.Approved {
		t.Errorf("ticket %+v", after)
	}
	for name, want := range map[string]int{"tool_call": 1, "tool_result": 1, "finished": 2, "rerun": 1, "tool_approved": 1, "approval_taken_up": 1} {
		if n := len(b.Events(b.id, name)); n != want {
			t.Errorf("%d records %s, want %d", n, name, want)
		}
	}
	if e := b.Events(b.id, "tool_call"); e[0].Detail["approval_id"] != float64(tickets[0].ID) {
		t.Errorf("the call's record names %v", e[0].Detail["approval_id"])
	}
	if rows, err := b.Store.OutboxOf(t.Context(), b.id); err != nil || len(rows) != 2 || rows[1].Key.Terminal != 2 {
		t.Errorf("callbacks %+v, %v", rows, err)
	}
}

func TestADeniedCallRunsNothing(t *testing.T) {
	t.Parallel()
	b, tickets := asked(t, refund("SO-1"))
	if d := b.Decide(tickets[0], false); d.Rerun || d.State != approval.Denied {
		t.Fatalf("%+v", d)
	}
	b.Deliver()
	if j := b.Job(b.id); j.Status != job.Done || len(j.Due) != 0 || len(b.Business.Sent()) != 0 {
		t.Errorf("%+v", j)
	}
}

// Several tickets of one job: each approval runs its own call, whenever it comes.
func TestSeveralTicketsOfOneJob(t *testing.T) {
	t.Parallel()
	b, tickets := asked(t, refund("SO-1"), refund("SO-2"), refund("SO-3"))
	first, second := b.Decide(tickets[0], true), b.Decide(tickets[1], true)
	if !first.Rerun || second.Rerun {
		t.Errorf("queued again: %v, %v", first.Rerun, second.Rerun)
	}
	b.Decide(tickets[2], false)
	b.answered(jobtest.Say("Two are refunded, one was denied."))
	if sent := b.Business.Sent(); len(sent) != 2 || len(b.Model.Requests()) != 3 {
		t.Errorf("%d calls, %d requests to the model", len(sent), len(b.Model.Requests()))
	}
}

// A decision that comes while the job runs marks it; the job does not end before the call is made.
func TestADecisionWhileTheJobRuns(t *testing.T) {
	t.Parallel()
	b := paying(t)
	b.Model.Then(jobtest.Call(refund("SO-1")), then(func() jobtest.Reply {
		if d := b.Decide(b.Tickets(b.id)[0], true); d.Rerun {
			t.Errorf("%+v", d)
		}
		return jobtest.Say("It waits.")
	}), jobtest.Say("Refunded."))
	b.Deliver()
	j := b.Job(b.id)
	if j.Status != job.Done || !strings.Contains(string(j.Result), "Refunded.") || len(b.Business.Sent()) != 1 || len(j.Due) != 0 {
		t.Errorf("%+v, result %s, %d calls", j, j.Result, len(b.Business.Sent()))
	}
	if n := len(b.Events(b.id, "finished")); n != 1 {
		t.Errorf("%d ends", n)
	}
}

// When the model repeats the approved call before the hub comes to it, that uses the ticket, and nothing is made twice.
func TestTheModelRepeatsTheApprovedCall(t *testing.T) {
	t.Parallel()
	b := paying(t)
	b.Model.Then(jobtest.Call(refund("SO-1")), then(func() jobtest.Reply {
		b.Decide(b.Tickets(b.id)[0], true)
		return jobtest.Call(refund("SO-1"))
	}), jobtest.Say("Refunded."))
	b.Deliver()
	if j := b.Job(b.id); j.Status != job.Done || len(b.Business.Sent()) != 1 || len(j.Due) != 0 {
		t.Errorf("%+v, %d calls", j, len(b.Business.Sent()))
	}
}

// A call with other arguments than the approved one is neither sent nor asked for (core §6.1).
func TestArgumentsThatDrift(t *testing.T) {
	t.Parallel()
	b := paying(t)
	b.Model.Then(jobtest.Call(refund("SO-1")), then(func() jobtest.Reply {
		b.Decide(b.Tickets(b.id)[0], true)
		return jobtest.Call(refund("SO-2"))
	}), jobtest.Say("It differs."), jobtest.Say("Refunded SO-1."))
	b.Deliver()
	sent := b.Business.Sent()
	if len(sent) != 1 || string(sent[0].Body) != `{"order":"SO-1"}` || len(b.Tickets(b.id)) != 1 || len(b.Events(b.id, "tool_args_drift")) != 1 {
		t.Errorf("%d calls, %d tickets, %d records", len(sent), len(b.Tickets(b.id)), len(b.Events(b.id, "tool_args_drift")))
	}
	if j := b.Job(b.id); j.Status != job.Done || !strings.Contains(string(j.Result), "Refunded SO-1.") {
		t.Errorf("%s: %s", j.Status, j.Result)
	}
}

// What refuses an approved call and can pass puts the job off; the ticket stays approved and unused, and is used once afterwards (I3).
func TestAnApprovedCallSurvivesWhatCanPass(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ stop, start func(b *bench) }{
		"disabled provider": {
			func(b *bench) {
				p := jobtest.ShopProvider()
				p.Enabled = false
				b.SaveProvider(p, jobtest.Spec(payTools()...))
			},
			func(b *bench) { b.SaveProvider(jobtest.ShopProvider(), jobtest.Spec(payTools()...)) },
		},
		"disabled route": {
			func(b *bench) {
				r := jobtest.SupportRoute()
				r.Enabled = false
				b.SaveRoute(r)
			},
			func(b *bench) { b.SaveRoute(jobtest.SupportRoute()) },
		},
		"limit": {
			func(b *bench) {
				p := jobtest.ShopProvider()
				p.ToolRateLimits = &registry.ToolRateLimits{Overrides: map[string]registry.RatePolicy{"pay": {Mode: "custom", Count: 1, Window: "1h"}}}
				b.SaveProvider(p, jobtest.Spec(payTools()...))
				b.spendPermit()
			},
			func(b *bench) { b.Clock.Advance(2 * time.Hour) },
		},
		"changed guidance": {
			func(b *bench) {
				tools := payTools()
				tools[len(tools)-1].Capability += `,"guidance":{"when_to_use":"Another text."}`
				b.SaveProvider(jobtest.ShopProvider(), jobtest.Spec(tools...))
			},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, tickets := asked(t, refund("SO-1"))
			tc.stop(b)
			before := len(b.Business.Sent())
			b.Decide(tickets[0], true)
			if tc.start != nil {
				for range 3 {
					for _, m := range b.Queue.Take() {
						b.Run(t.Context(), m.JobID)
					}
					j := b.Job(b.id)
					if j.Status != job.Queued || len(j.Due) != 1 || len(b.Business.Sent()) != before || !b.Tickets(b.id)[0].UsedAt.IsZero() {
						t.Fatalf("put off: %+v, %d calls", j, len(b.Business.Sent()))
					}
					b.Clock.Advance(time.Minute)
				}
				tc.start(b)
			}
			b.Clock.Advance(11 * time.Minute)
			b.Sweep()
			b.answered(jobtest.Say("Refunded."))
			if n := len(b.Business.Sent()) - before; n != 1 || b.Tickets(b.id)[0].UsedAt.IsZero() {
				t.Errorf("%d calls, ticket %+v", n, b.Tickets(b.id)[0])
			}
			if n := len(b.Events(b.id, "tool_call")); n != 1 {
				t.Errorf("%d calls on record", n)
			}
		})
	}
}

// The deadline ends an approval that could not be used, and the job says so.
func TestAnApprovedCallThatIsNotMadeInTime(t *testing.T) {
	t.Parallel()
	b, tickets := asked(t, refund("SO-1"))
	r := jobtest.SupportRoute()
	r.Enabled = false
	b.SaveRoute(r)
	b.Decide(tickets[0], true)
	for range 200 {
		for _, m := range b.Queue.Take() {
			b.Model.Then(jobtest.Say("It was not made in time."))
			b.Run(t.Context(), m.JobID)
		}
		if b.Job(b.id).Status.Terminal() {
			break
		}
		b.Clock.Advance(2 * time.Hour)
		b.Sweep()
		if _, err := b.Keeper.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	j := b.Job(b.id)
	if j.Status != job.Done || len(j.Due) != 0 || len(b.Business.Sent()) != 0 || !strings.Contains(string(j.Result), "not made in time") {
		t.Errorf("%+v: %s", j, j.Result)
	}
	if ticket := b.Tickets(b.id)[0]; ticket.State != approval.Expired || !ticket.UsedAt.IsZero() {
		t.Errorf("ticket %+v", ticket)
	}
	if got := b.toolResults(); !strings.Contains(got[len(got)-1], "expired") {
		t.Errorf("the model reads %q", got)
	}
}

// A tool that became another one is not what was approved.
func TestAnApprovedToolThatChangedIsNotSent(t *testing.T) {
	t.Parallel()
	b, tickets := asked(t, refund("SO-1"))
	tools := payTools()
	for i := range tools {
		if tools[i].Name == "pay" {
			tools[i].Path = "/other"
		}
	}
	b.SaveProvider(jobtest.ShopProvider(), jobtest.Spec(tools...))
	b.Decide(tickets[0], true)
	b.answered(jobtest.Say("The tool has changed."))
	if len(b.Business.Sent()) != 0 || b.toolResults() == nil || !b.Tickets(b.id)[0].UsedAt.IsZero() {
		t.Errorf("%d calls", len(b.Business.Sent()))
	}
	if got := b.last(); got.Role != model.RoleTool && got.Role != model.RoleSystem {
		t.Errorf("%+v", got)
	}
}

// An approved call whose outcome is unknown freezes the job like any other (I4).
func TestAnApprovedCallOfUnknownOutcome(t *testing.T) {
	t.Parallel()
	b, tickets := asked(t, refund("SO-1"), refund("SO-2"))
	b.Business.Answer(unreachable)
	b.Decide(tickets[0], true)
	b.Deliver()
	j := b.Job(b.id)
	if j.Status != job.Failed || j.Error != job.ReasonReconciliation || j.Open == nil || len(b.Business.Sent()) != 1 {
		t.Fatalf("%+v, %d calls", j, len(b.Business.Sent()))
	}
	// An approval given now runs nothing; it waits for a rerun.
	if d := b.Decide(tickets[1], true); d.Rerun {
		t.Errorf("%+v", d)
	}
	b.Deliver()
	if j = b.Job(b.id); j.Status != job.Failed || len(j.Due) != 1 || len(b.Business.Sent()) != 1 {
		t.Errorf("%+v, %d calls", j, len(b.Business.Sent()))
	}
}

// An idempotent call keeps no journal: a worker that is lost between using the ticket and the answer leaves a call that is not made again.
func TestAnApprovedIdempotentCallIsUsedOnce(t *testing.T) {
	t.Parallel()
	b, tickets := asked(t, jobtest.Wish{Tool: "refund", Args: `{"order":"SO-1"}`})
	b.Decide(tickets[0], true)
	lost := true
	b.Business.Answer(func(outbound.Request) (*outbound.Response, error) {
		if lost {
			lost = false
			b.Clock.Advance(job.Lease + time.Second)
			b.Sweep() // the worker that is calling has lost the job
		}
		return jobtest.Response(200, `{"ok":true}`), nil
	})
	b.answered(jobtest.Say("Nobody knows."))
	if n := len(b.Business.Sent()); n != 1 {
		t.Errorf("%d calls with one approval", n)
	}
	if got := b.toolResults(); !strings.Contains(got[len(got)-1], "unknown") {
		t.Errorf("the model reads %q", got)
	}
}

// spendPermit uses up a permit of the tool with a call of another job.
func (b *bench) spendPermit() {
	b.t.Helper()
	id := b.MustLaunch(b.token, jobtest.Submission("spender")).JobID
	b.Model.Then(jobtest.Call(refund("SO-9")), jobtest.Say("It waits."), jobtest.Say("Paid."))
	b.Deliver()
	b.Decide(b.Tickets(id)[0], true)
	b.Deliver()
}

// A denied call is not asked about again in the same run, however often the model wishes for it; a rerun asks anew (core §6.7).
func TestADeniedCallIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	b := paying(t)
	b.Model.Then(jobtest.Call(refund("SO-1")), then(func() jobtest.Reply {
		b.Decide(b.Tickets(b.id)[0], false)
		return jobtest.Call(refund("SO-1"))
	}), jobtest.Say("It was denied."))
	b.Deliver()
	if j := b.Job(b.id); j.Status != job.Done || len(b.Tickets(b.id)) != 1 || len(b.Business.Sent()) != 0 {
		t.Fatalf("%+v, %d tickets", j, len(b.Tickets(b.id)))
	}
	if got := b.toolResults(); !strings.Contains(got[1], "denied") {
		t.Errorf("the model reads %q", got)
	}
	b.Clock.Advance(time.Second) // tickets are listed by the time at which they were asked
	rerunner := &job.Rerunner{Store: b.Store, Queue: b.Queue, Clock: b.Clock, Logger: b.Platform.Logger}
	if err := rerunner.Rerun(t.Context(), b.id, "ann"); err != nil {
		t.Fatal(err)
	}
	b.Model.Then(jobtest.Call(refund("SO-1")), jobtest.Say("It waits again."))
	b.Deliver()
	known := b.Tickets(b.id)
	if len(known) != 2 || known[0].State != approval.Denied || known[1].State != approval.Pending {
		t.Errorf("tickets %+v", known)
	}
}
