package jobrun_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bailing/shared/approval"
	"bailing/shared/awslocal/fault"
	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/outbound"
	"bailing/shared/registry"
)

func refundOf(order string) jobtest.Wish {
	return jobtest.Wish{Tool: "refund", Args: `{"order":"` + order + `"}`}
}

// lastResult is the text of the last tool message that the model read.
func (b *bench) lastResult() string {
	got := b.toolResults()
	if len(got) == 0 {
		return ""
	}
	return got[len(got)-1]
}

// An approved call that waits for a limit keeps no other approved call from being made, whichever was asked for first.
func TestAnApprovedCallThatWaitsKeepsNoOther(t *testing.T) {
	t.Parallel()
	for _, blocked := range []string{"pay", "refund"} {
		t.Run(blocked, func(t *testing.T) {
			t.Parallel()
			b, tickets := asked(t, refund("SO-1"), refundOf("SO-2"))
			b.limit(blocked)
			b.spendPermitOf(blocked)
			before := len(b.Business.Sent())
			b.Decide(tickets[0], true)
			b.Decide(tickets[1], true)
			for _, m := range b.Queue.Take() {
				b.Run(t.Context(), m.JobID)
			}
			if n := len(b.Business.Sent()) - before; n != 1 {
				t.Fatalf("%d calls made beside the one that waits", n)
			}
			if j := b.Job(b.id); j.Status != job.Queued || len(j.Due) != 1 || j.RunAfter.IsZero() {
				t.Fatalf("%+v", j)
			}
			b.Clock.Advance(2 * time.Hour)
			b.answered(jobtest.Say("Both are made."))
			if n := len(b.Business.Sent()) - before; n != 2 || len(b.Model.Requests()) != 6 {
				t.Errorf("%d calls, %d requests to the model", n, len(b.Model.Requests()))
			}
			results := 0
			for _, m := range b.Model.Requests()[5].Messages {
				if strings.Contains(m.Content, `{"ok":true}`) {
					results++
				}
			}
			if results != 2 {
				t.Errorf("the model reads %q", b.toolResults())
			}
		})
	}
}

// limit allows one call of a tool in an hour.
func (b *bench) limit(tool string) {
	b.t.Helper()
	p := jobtest.ShopProvider()
	p.ToolRateLimits = &registry.ToolRateLimits{Overrides: map[string]registry.RatePolicy{tool: {Mode: "custom", Count: 1, Window: "1h"}}}
	b.SaveProvider(p, jobtest.Spec(payTools()...))
}

// spendPermitOf uses up a permit of a tool with a call of another job.
func (b *bench) spendPermitOf(tool string) {
	b.t.Helper()
	b.spendPermitAs("spender", tool)
}

func (b *bench) spendPermitAs(request, tool string) {
	b.t.Helper()
	id := b.MustLaunch(b.token, jobtest.Submission(request)).JobID
	b.Model.Then(jobtest.Call(jobtest.Wish{Tool: tool, Args: `{"order":"SO-9"}`}), jobtest.Say("It waits."), jobtest.Say("Paid."))
	b.Deliver()
	b.Decide(b.Tickets(id)[0], true)
	b.Deliver()
}

// A wish that was saved before the decision came uses the ticket; the call is not taken up once more.
func TestATicketThatAWishUsedIsNotTakenUp(t *testing.T) {
	t.Parallel()
	for _, wish := range []jobtest.Wish{refundOf("SO-1"), refund("SO-1")} {
		t.Run(wish.Tool, func(t *testing.T) {
			t.Parallel()
			b := paying(t)
			b.Model.Then(jobtest.Call(wish), then(func() jobtest.Reply {
				b.Decide(b.Tickets(b.id)[0], true)
				b.Pause(true)
				return jobtest.Call(wish)
			}))
			b.Deliver()
			if j := b.Job(b.id); j.Status != job.Queued || len(j.Due) != 1 {
				t.Fatalf("%+v", j)
			}
			b.Pause(false)
			b.Clock.Advance(time.Minute)
			b.Sweep()
			b.answered(jobtest.Say("Refunded."))
			if n := len(b.Business.Sent()); n != 1 || len(b.rounds()) != 3 {
				t.Errorf("%d calls, %d rounds: %q", n, len(b.rounds()), b.toolResults())
			}
			if got := b.lastResult(); got != `{"ok":true}` {
				t.Errorf("the model reads %q", got)
			}
		})
	}
}

// Whatever refuses a call whose ticket was used and whose worker was lost, nobody is told that nothing was sent.
func TestAUsedTicketIsNeverCalledUnused(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]func(b *bench){
		"deadline": func(*bench) {}, // it passed with the lease
		"disabled provider": func(b *bench) {
			p := jobtest.ShopProvider()
			p.Enabled = false
			b.SaveProvider(p, jobtest.Spec(payTools()...))
		},
		"limit": func(b *bench) {
			b.limit("refund")
			b.spendPermitOf("refund")
		},
		"tool gone": func(b *bench) { b.SaveProvider(jobtest.ShopProvider(), jobtest.Spec(jobtest.ManyTools(1)...)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t, func(r *registry.Route) {
				if name == "deadline" {
					r.Tools.Approval = json.RawMessage(`{"type":"wecom","to":"a","expires_in_s":600}`)
				}
			})
			b.SaveProvider(jobtest.ShopProvider(), jobtest.Spec(payTools()...))
			b.answered(jobtest.Call(refundOf("SO-1")), jobtest.Say("It waits."))
			b.Decide(b.Tickets(b.id)[0], true)
			b.Business.Answer(func(outbound.Request) (*outbound.Response, error) {
				b.Clock.Advance(job.Lease + time.Second)
				b.Sweep()
				b.Queue.Take()
				b.Business.Answer(nil)
				after(b)
				return jobtest.Response(200, `{"ok":true}`), nil
			})
			b.Deliver()
			made := 0
			for _, r := range b.Business.Sent() {
				if string(r.Body) == `{"order":"SO-1"}` {
					made++
				}
			}
			b.Clock.Advance(time.Minute)
			b.Sweep()
			b.Model.Then(jobtest.Say("Nobody knows."))
			b.Deliver()
			j := b.Job(b.id)
			if made != 1 || j.Status != job.Done || strings.Contains(b.lastResult(), "Nothing was sent") || !strings.Contains(b.lastResult(), "unknown") {
				t.Errorf("%d calls, %s: the model reads %q", made, j.Status, b.lastResult())
			}
		})
	}
}

// What was asked for as sensitive stays so, even if its tool is declared otherwise when the call is made (I10).
func TestAnApprovedCallStaysSensitive(t *testing.T) {
	t.Parallel()
	tools := func(more string) string {
		ops := payTools()
		ops[len(ops)-1].Capability = `"risk":{"level":"high"}` + more
		return jobtest.Spec(ops...)
	}
	b := open(t, nil)
	b.SaveProvider(jobtest.ShopProvider(), tools(`,"audit":{"sensitive":true}`))
	b.answered(jobtest.Call(refund(canary)), jobtest.Say("It waits."))
	b.SaveProvider(jobtest.ShopProvider(), tools(""))
	b.Business.Respond(200, `{"order":"`+canary+`"}`)
	b.Decide(b.Tickets(b.id)[0], true)
	b.answered(jobtest.Say("Paid."))
	if len(b.Business.Sent()) != 1 || !strings.Contains(string(b.Business.Sent()[0].Body), canary) || !strings.Contains(b.lastResult(), canary) {
		t.Fatalf("%d calls, %q", len(b.Business.Sent()), b.toolResults())
	}
	b.wantSealed()
	for _, e := range b.Events(b.id, "") {
		if strings.Contains(string(mustJSON(t, e)), canary) {
			t.Errorf("the record %s holds arguments: %+v", e.Name, e.Detail)
		}
	}
	if strings.Contains(b.Logs.String(), canary) {
		t.Error("a log line holds arguments")
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) rerun() {
	b.t.Helper()
	b.Clock.Advance(time.Second)
	rerunner := &job.Rerunner{Store: b.Store, Queue: b.Queue, Clock: b.Clock, Logger: b.Platform.Logger}
	if err := rerunner.Rerun(b.t.Context(), b.id, "ann"); err != nil {
		b.t.Fatal(err)
	}
}

// A wish of a rerun uses a ticket that an earlier run asked for; when its worker is lost, nobody is asked about it once more.
func TestALostUseOfATicketFromAnEarlierRun(t *testing.T) {
	t.Parallel()
	for _, disabled := range []bool{false, true} {
		aLostUse(t, disabled)
	}
}

func aLostUse(t *testing.T, disabled bool) {
	t.Helper()
	b, _ := asked(t, refundOf("SO-1"))
	b.rerun()
	b.Model.Then(jobtest.Call(order("1")), then(func() jobtest.Reply {
		b.Decide(b.Tickets(b.id)[0], true)
		return jobtest.Call(refundOf("SO-1"))
	}), jobtest.Say("Nobody knows."))
	b.Business.Answer(func(r outbound.Request) (*outbound.Response, error) {
		if r.Method == "PUT" {
			b.Clock.Advance(job.Lease + time.Second)
			b.Sweep()
			if disabled {
				b.DisableClient(jobtest.Client)
			}
		}
		return jobtest.Response(200, `{"ok":true}`), nil
	})
	b.Deliver()
	if j := b.Job(b.id); j.Status != job.Done || len(b.Business.Sent()) != 2 || len(b.Tickets(b.id)) != 1 {
		t.Errorf("%+v, %d calls, %d tickets: %q", j, len(b.Business.Sent()), len(b.Tickets(b.id)), b.toolResults())
	}
	if !strings.Contains(b.lastResult(), "unknown") {
		t.Errorf("the model reads %q", b.lastResult())
	}
}

// An approval that the hub tried in vain, because the tool is another one now, keeps nobody from asking, also while a call of another
// tool is due.
func TestATicketThatWasTriedIsNoDrift(t *testing.T) {
	t.Parallel()
	b, tickets := asked(t, refund("SO-1"), refundOf("SO-7"))
	var paid, other approval.Ticket
	for _, ticket := range tickets {
		if ticket.Tool == "pay" {
			paid = ticket
		} else {
			other = ticket
		}
	}
	tools := payTools()
	tools[len(tools)-1].Path = "/other"
	b.SaveProvider(jobtest.ShopProvider(), jobtest.Spec(tools...))
	b.Decide(paid, true)
	b.answered(then(func() jobtest.Reply {
		b.Decide(other, true)
		return jobtest.Call(refund("SO-2"))
	}), jobtest.Say("It waits."), jobtest.Say("SO-7 is refunded."))
	if n := len(b.Tickets(b.id)); n != 3 || len(b.Events(b.id, "tool_args_drift")) != 0 || len(b.Business.Sent()) != 1 {
		t.Errorf("%d tickets, %d calls: %q", n, len(b.Business.Sent()), b.toolResults())
	}
}

// approvedAndKilled approves two calls of a job that has ended, and lets the worker that makes them lose its connection to the state at
// request k, before or after that took effect.
func approvedAndKilled(t *testing.T, tool string, k int, kind fault.Kind) (b *bench, made int) {
	t.Helper()
	b = openIn(jobtest.New(t, jobtest.NoRetries()), t, nil)
	b.SaveProvider(jobtest.ShopProvider(), jobtest.Spec(payTools()...))
	b.answered(jobtest.Call(jobtest.Wish{Tool: tool, Args: `{"order":"SO-1"}`}, jobtest.Wish{Tool: tool, Args: `{"order":"SO-2"}`}), jobtest.Say("They wait."))
	for _, ticket := range b.Tickets(b.id) {
		b.Decide(ticket, true)
	}
	b.Queue.Take()
	b.Model.Then(jobtest.Say("Made."), jobtest.Say("Made."), jobtest.Say("Made."))
	var dead atomic.Bool
	var n atomic.Int32
	b.Faults().Set(func(op fault.Op) fault.Fault {
		switch {
		case op.AccessKey != jobtest.AccessKey:
			return fault.Fault{}
		case dead.Load():
			return fault.Fault{Kind: fault.Drop}
		case int(n.Add(1)) == k:
			dead.Store(true)
			return fault.Fault{Kind: kind}
		}
		return fault.Fault{}
	})
	_ = b.Runner.Run(t.Context(), b.id) // how a dying worker ends is nobody's business
	b.Faults().Set(nil)
	return b, int(n.Load())
}

// A worker that makes approved calls may die before and after every request to the state: no call is made twice, none is lost without
// saying so, and the job ends with no mark left but those that wait for a reconciliation.
func TestKilledBesideApprovedCalls(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"pay", "refund"} {
		_, total := approvedAndKilled(t, tool, 0, fault.None)
		if total < 10 {
			t.Fatalf("a whole run makes only %d requests", total)
		}
		for _, kind := range []fault.Kind{fault.Drop, fault.DropAfterCommit} {
			for k := 1; k <= total; k++ {
				b, _ := approvedAndKilled(t, tool, k, kind)
				for range 4 {
					b.Clock.Advance(job.Lease + time.Second)
					b.Sweep()
					b.Deliver()
				}
				j, at := b.Job(b.id), fmt.Sprintf("%s killed at %d (%v)", tool, k, kind)
				sent := map[string]int{}
				for _, r := range b.Business.Sent() {
					sent[string(r.Body)]++
				}
				used := 0
				for _, ticket := range b.Tickets(b.id) {
					if !ticket.UsedAt.IsZero() {
						used++
					}
				}
				switch {
				case sent[`{"order":"SO-1"}`] > 1 || sent[`{"order":"SO-2"}`] > 1:
					t.Errorf("%s: sent %v", at, sent)
				case j.Status == job.Failed && j.Error == job.ReasonReconciliation:
					if tool != "pay" || j.Open == nil || used+len(j.Due) != 2 {
						t.Errorf("%s: %+v, %d tickets used", at, j, used)
					}
				case j.Status != job.Done || len(j.Due) != 0 || used != 2:
					t.Errorf("%s: %s (%s), due %v, %d tickets used", at, j.Status, j.Error, j.Due, used)
				case len(b.rounds()) != 5:
					t.Errorf("%s: %d rounds", at, len(b.rounds()))
				default:
					if lost := strings.Count(strings.Join(b.toolResults(), "\n"), "is unknown"); lost+strings.Count(strings.Join(b.toolResults(), "\n"), `{"ok":true}`) != 2 {
						t.Errorf("%s: the model reads %q", at, b.toolResults())
					}
				}
				b.wantFiled(at)
			}
		}
	}
}

// wantFiled checks that each call that was sent has a record of its own that was written before.
func (b *bench) wantFiled(at string) {
	b.t.Helper()
	if calls, sent := len(b.Events(b.id, "tool_call")), len(b.Business.Sent()); calls < sent {
		b.t.Errorf("%s: %d calls on record, %d sent", at, calls, sent)
	}
}

// A provider whose secret cannot be opened holds back its own approved calls, not those of another provider; once it is repaired, they
// are made.
func TestAnUnreadableSecretKeepsNoOtherCall(t *testing.T) {
	t.Parallel()
	b := open(t, func(r *registry.Route) {
		r.Tools.Sources = append(r.Tools.Sources, registry.ToolSource{Provider: "bank", Allow: []string{"*"}})
	})
	bank := jobtest.ShopProvider()
	bank.Name, bank.BaseURL = "bank", "https://bank.example"
	b.SaveProvider(bank, jobtest.Spec(pay()))
	b.answered(jobtest.Call(refund("SO-1"), refundOf("SO-2")), jobtest.Say("They wait."))
	broken := bank
	broken.Secret = "sealed elsewhere"
	b.SaveProvider(broken, jobtest.Spec(pay()))
	for _, ticket := range b.Tickets(b.id) {
		b.Decide(ticket, true)
	}
	for _, m := range b.Queue.Take() {
		b.Run(t.Context(), m.JobID)
	}
	if j := b.Job(b.id); len(b.Business.Sent()) != 1 || len(j.Due) != 1 || j.Status != job.Queued || j.Recoveries != 0 {
		t.Fatalf("%d calls, %+v", len(b.Business.Sent()), j)
	}
	b.SaveProvider(bank, jobtest.Spec(pay()))
	b.Clock.Advance(time.Minute)
	b.answered(jobtest.Say("Both are made."))
	if sent := b.Business.Sent(); len(sent) != 2 || !strings.HasPrefix(sent[1].URL, bank.BaseURL) {
		t.Errorf("%d calls", len(sent))
	}
}

// Of several approved calls that wait, the one that may be made first decides when the job is taken up again.
func TestTheShortestWaitDecides(t *testing.T) {
	t.Parallel()
	b, tickets := asked(t, refund("SO-1"), refundOf("SO-2"))
	p := jobtest.ShopProvider()
	p.ToolRateLimits = &registry.ToolRateLimits{Overrides: map[string]registry.RatePolicy{
		"pay": {Mode: "custom", Count: 1, Window: "1h"}, "refund": {Mode: "custom", Count: 1, Window: "1m"},
	}}
	b.SaveProvider(p, jobtest.Spec(payTools()...))
	b.spendPermitAs("one", "pay")
	b.spendPermitAs("two", "refund")
	for _, ticket := range tickets {
		b.Decide(ticket, true)
	}
	before := len(b.Business.Sent())
	for _, wait := range []time.Duration{time.Minute, 59 * time.Minute} {
		b.Queue.Take()
		b.Run(t.Context(), b.id)
		if got := b.Job(b.id).RunAfter.Sub(b.Clock.Now()); got != wait {
			t.Fatalf("the job waits %v, want %v", got, wait)
		}
		b.Clock.Advance(wait)
	}
	b.answered(jobtest.Say("Both are made."))
	if n := len(b.Business.Sent()) - before; n != 2 {
		t.Errorf("%d calls", n)
	}
}
