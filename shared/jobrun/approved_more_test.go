package jobrun_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"bailing/shared/approval"
	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/model"
	"bailing/shared/outbound"
	"bailing/shared/registry"
	"bailing/shared/toolcall"
	"bailing/shared/topology"
)

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// wantAccepted checks that every request to the model is one that endpoints of this protocol accept: each message with calls is followed
// at once by one answer for each, and no id comes twice.
func (b *bench) wantAccepted() {
	b.t.Helper()
	for n, r := range b.Model.Requests() {
		seen := map[string]bool{}
		var open []string
		for i, m := range r.Messages {
			switch {
			case m.Role == model.RoleTool && (len(open) == 0 || m.ToolCallID != open[0]):
				b.t.Errorf("request %d, message %d answers %s, want one of %v", n, i, m.ToolCallID, open)
			case m.Role == model.RoleTool:
				open = open[1:]
				continue
			case len(open) > 0:
				b.t.Errorf("request %d, message %d: the calls %v have no answer", n, i, open)
			}
			open = nil
			for _, c := range m.ToolCalls {
				if seen[c.ID] || len(c.ID) > 40 || !toolName.MatchString(c.Name) || !json.Valid([]byte(c.Arguments)) {
					b.t.Errorf("request %d, message %d: call %+v", n, i, c)
				}
				seen[c.ID] = true
				open = append(open, c.ID)
			}
			if m.Role == model.RoleAssistant && m.Content == "" && len(m.ToolCalls) == 0 {
				b.t.Errorf("request %d, message %d says nothing", n, i)
			}
		}
		if len(open) > 0 {
			b.t.Errorf("request %d: the calls %v have no answer", n, open)
		}
	}
}

// An approved call needs neither budget nor rounds nor a tool that the model may still use: all of that was judged when it was asked for.
func TestAnApprovedCallNeedsNoBudget(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		calls  int
		first  []jobtest.Reply
		failed bool // the run that asked
	}{
		"every call used": {calls: 1, first: []jobtest.Reply{jobtest.Call(refund("SO-1")), jobtest.Say("It waits.")}},
		"every round used": {calls: 1, failed: true, first: []jobtest.Reply{
			jobtest.Call(refund("SO-1")), jobtest.Call(refund("SO-2")), jobtest.Call(refund("SO-3")),
		}},
		"tool disabled": {calls: 5, first: []jobtest.Reply{
			jobtest.Call(refund("SO-1")), jobtest.Call(jobtest.Wish{Tool: "pay", Args: `{"a":1}`}, jobtest.Wish{Tool: "pay", Args: `{"b":1}`}), jobtest.Say("It waits."),
		}},
		"empty answers": {calls: 5, first: []jobtest.Reply{jobtest.Call(refund("SO-1")), jobtest.Say(""), jobtest.Say(" ")}},
		"withheld answers": {calls: 5, failed: true, first: []jobtest.Reply{
			jobtest.Call(refund("SO-1")), jobtest.Say("<tool_call>{}</tool_call>"), jobtest.Say("<tool_call>{}</tool_call>"),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t, maxCalls(tc.calls))
			b.SaveProvider(jobtest.ShopProvider(), jobtest.Spec(payTools()...))
			if j := b.run(tc.first...); (j.Status == job.Failed) != tc.failed || !j.Status.Terminal() {
				t.Fatalf("%s: %s", j.Status, j.Error)
			}
			b.Decide(b.Tickets(b.id)[0], true)
			r := b.answered(jobtest.Say(""), jobtest.Say("Refunded."))
			if r.Text != "Refunded." || len(b.Business.Sent()) != 1 || r.ToolCalls < 1 || r.ToolCalls > tc.calls {
				t.Errorf("%+v, %d calls", r, len(b.Business.Sent()))
			}
			b.wantAccepted()
		})
	}
}

// The repair of an internal mark-up is granted once more after an approved call.
func TestMarkUpAfterAnApprovedCall(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	b.SaveProvider(jobtest.ShopProvider(), jobtest.Spec(payTools()...))
	b.answered(jobtest.Call(refund("SO-1")), jobtest.Say("<tool_call>"), jobtest.Say("It waits."))
	b.Decide(b.Tickets(b.id)[0], true)
	if r := b.answered(jobtest.Say("<tool_call>"), jobtest.Say("Refunded.")); r.Text != "Refunded." || !r.Repaired {
		t.Errorf("%+v", r)
	}
	b.wantAccepted()
}

// What keeps the model from being asked does not keep an approved call from being made.
func TestAnApprovedCallNeedsNoModel(t *testing.T) {
	t.Parallel()
	for name, breakIt := range map[string]func(b *bench){
		"credential disabled": func(b *bench) {
			b.SaveCredential(registry.Credential{Name: jobtest.Credential, BaseURL: "https://model.example/v1", DefaultModel: jobtest.ModelName}, jobtest.APIKey)
		},
		"no model named": func(b *bench) {
			b.SaveCredential(registry.Credential{Name: jobtest.Credential, BaseURL: "https://model.example/v1", Enabled: true}, jobtest.APIKey)
		},
		"model failing": func(b *bench) { b.Model.Then(jobtest.Fail(&model.Error{Transient: true, Public: "LLM 503"})) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, tickets := asked(t, refund("SO-1"))
			breakIt(b)
			b.Decide(tickets[0], true)
			b.Deliver()
			j := b.Job(b.id)
			if len(b.Business.Sent()) != 1 || j.Status != job.Failed || j.Error == "" || len(j.Due) != 0 {
				t.Errorf("%d calls, %s: %s, due %v", len(b.Business.Sent()), j.Status, j.Error, j.Due)
			}
			if n := len(b.Events(b.id, "started")); n != 2 {
				t.Errorf("the job was taken %d times", n)
			}
		})
	}
}

// What cannot pass ends the wish of the person: the call is answered with the reason, the ticket stays unused until its deadline.
func TestAnApprovedCallThatCannotBeMade(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(b *bench)
		reason string
	}{
		"tool gone": {func(b *bench) { b.SaveProvider(jobtest.ShopProvider(), jobtest.Spec(jobtest.ShopTools()...)) }, "tool_not_allowed"},
		"scope taken away": {func(b *bench) {
			r := jobtest.SupportRoute()
			r.Tools.Sources[0].Allow = []string{"orders.*"}
			b.SaveRoute(r)
		}, "tool_not_allowed"},
		"source taken away": {func(b *bench) {
			r := jobtest.SupportRoute()
			r.Tools.Sources[0].Provider = "other"
			b.SaveRoute(r)
		}, "tool_not_allowed"},
		"other schema": {func(b *bench) {
			ops := payTools()
			ops[len(ops)-1].Body = `{"type":"object","properties":{"amount":{"type":"number"}}}`
			b.SaveProvider(jobtest.ShopProvider(), jobtest.Spec(ops...))
		}, "unknown_arguments:order"},
		"other person": {func(b *bench) {
			r := jobtest.SupportRoute()
			r.Tools.Sources[0].SubjectField = "other"
			b.SaveRoute(r)
		}, "approval_tool_changed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t, nil, `"metadata":{"user":"u-1","other":"u-2"}`)
			b.limit("pay")
			b.answered(jobtest.Call(refund("SO-1")), jobtest.Say("It waits."))
			tc.change(b)
			b.Decide(b.Tickets(b.id)[0], true)
			b.answered(jobtest.Say("It cannot be made."))
			j, known := b.Job(b.id), b.Tickets(b.id)[0]
			if len(b.Business.Sent()) != 0 || len(j.Due) != 0 || known.State != approval.Approved || !known.UsedAt.IsZero() {
				t.Errorf("%d calls, due %v, ticket %+v", len(b.Business.Sent()), j.Due, known)
			}
			rounds := b.rounds()
			if got := rounds[2].Calls[0].Outcome; got.Reason != tc.reason || got.State != toolcall.NotDispatched {
				t.Errorf("outcome %+v", got)
			}
			if e := b.Events(b.id, "tool_blocked"); len(e) != 1 || e[0].Detail["reason"] != tc.reason {
				t.Errorf("records %+v", e)
			}
			b.wantAccepted()
			if name == "other person" { // it was refused after it had its permit
				if b.spendPermitOf("pay"); len(b.Business.Sent()) != 1 {
					t.Error("the permit was not given back")
				}
			}
		})
	}
}

// A call that needed no approval any more when it was made is not made again when it is approved after all (I1).
func TestAnApprovalOfACallThatWasMade(t *testing.T) {
	t.Parallel()
	b, tickets := asked(t, refund("SO-1"))
	ops := payTools()
	ops[len(ops)-1].Capability = ""
	b.SaveProvider(jobtest.ShopProvider(), jobtest.Spec(ops...))
	b.rerun()
	b.Business.Respond(201, `{"no":7}`)
	b.answered(jobtest.Call(refund("SO-1")), jobtest.Say("Paid."))
	b.DisableClient(jobtest.Client) // an answer from the journal needs nobody's leave
	b.Decide(tickets[0], true)
	b.answered(jobtest.Say("It was paid before."))
	if n := len(b.Business.Sent()); n != 1 || b.lastResult() != `{"no":7}` || len(b.Job(b.id).Due) != 0 {
		t.Errorf("%d calls; the model reads %q", n, b.lastResult())
	}
	if n := len(b.Events(b.id, "tool_call_deduped")); n != 1 {
		t.Errorf("%d records", n)
	}
}

// A pause holds an approved call back and costs nothing; one that lasts past the deadline lets it expire.
func TestAPauseHoldsApprovedCallsBack(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{false, true} {
		b, tickets := asked(t, refund("SO-1"))
		b.Decide(tickets[0], true)
		b.Model.Then(jobtest.Say("Over."))
		b.Pause(true)
		b.Deliver()
		for range 3 {
			b.Clock.Advance(2 * time.Hour)
			if late {
				b.Clock.Advance(3 * 24 * time.Hour)
			}
			b.Sweep()
			b.Deliver()
		}
		if j := b.Job(b.id); j.Status != job.Queued || len(j.Due) != 1 || j.Recoveries != 0 || len(b.Business.Sent()) != 0 {
			t.Fatalf("%+v", j)
		}
		b.Pause(false)
		b.Clock.Advance(job.ResendAfter)
		b.Sweep()
		b.Deliver()
		want := map[bool]int{false: 1, true: 0}[late]
		if j := b.Job(b.id); j.Status != job.Done || len(b.Business.Sent()) != want || strings.Contains(b.lastResult(), "expired") != late {
			t.Errorf("%+v, %d calls, %q", j, len(b.Business.Sent()), b.lastResult())
		}
	}
}

// Approved calls of 600 s get an invocation each, and one for which too little time is left keeps no shorter one from being made.
func TestApprovedCallsOfTenMinutes(t *testing.T) {
	t.Parallel()
	b := paying(t)
	ops := payTools()
	ops[len(ops)-1].Capability += `,"execution":{"timeout_ms":600000}`
	b.SaveProvider(jobtest.ShopProvider(), jobtest.Spec(ops...))
	b.answered(jobtest.Call(refund("SO-1"), refund("SO-2"), refundOf("SO-3")), jobtest.Say("They wait."))
	for _, ticket := range b.Tickets(b.id) {
		b.Decide(ticket, true)
	}
	b.Business.Answer(func(r outbound.Request) (*outbound.Response, error) {
		b.Clock.Advance(r.Timeout)
		return jobtest.Response(200, `{"ok":true}`), nil
	})
	b.Queue.Take()
	b.Model.Then(jobtest.Say("Made."))
	b.Run(deadline{t.Context(), b.Clock.Now().Add(300 * time.Second)}, b.id)
	if sent := b.Business.Sent(); len(sent) != 1 || sent[0].Method != "PUT" {
		t.Fatalf("%d calls in an invocation that is too short for the others", len(sent))
	}
	for n := 2; n <= 3; n++ {
		if m := b.Queue.Take(); len(m) != 1 || m[0].Delay != 0 {
			t.Fatalf("before call %d: messages %v", n, m)
		}
		b.Run(deadline{t.Context(), b.Clock.Now().Add(topology.WorkerTimeout)}, b.id)
		if len(b.Business.Sent()) != n {
			t.Fatalf("%d calls, want %d", len(b.Business.Sent()), n)
		}
	}
	if j := b.Job(b.id); j.Status != job.Done || j.Recoveries != 0 || len(b.rounds()) != 6 {
		t.Errorf("%+v", j)
	}
	b.wantAccepted()
}

// A limit that others keep using up costs an attempt each few seconds, not each time that it names.
func TestABusyLimitIsNotPolled(t *testing.T) {
	t.Parallel()
	b, tickets := asked(t, refund("SO-1"))
	p := jobtest.ShopProvider()
	p.ToolRateLimits = &registry.ToolRateLimits{Overrides: map[string]registry.RatePolicy{"pay": {Mode: "custom", Count: 1, Window: "1s"}}}
	b.SaveProvider(p, jobtest.Spec(payTools()...))
	b.Decide(tickets[0], true)
	b.Queue.Take()
	tries := 0
	for start := b.Clock.Now(); b.Clock.Now().Sub(start) < 5*time.Minute; tries++ {
		b.spendPermitAs(fmt.Sprint("other-", tries), "pay")
		b.Run(t.Context(), b.id)
		j := b.Job(b.id)
		if j.Status != job.Queued || j.RunAfter.IsZero() {
			t.Fatalf("%+v", j)
		}
		b.Queue.Take()
		b.Clock.Advance(j.RunAfter.Sub(b.Clock.Now()))
	}
	if tries > 40 {
		t.Errorf("%d tries in five minutes", tries)
	}
	b.Run(t.Context(), b.id) // nobody was faster
	if n := len(b.Events(b.id, "tool_call")); n != 1 {
		t.Errorf("%d calls", n)
	}
}

// Approved calls do not fail for the size of the conversation: it is judged when the model is asked.
func TestLargeApprovedCallsAreMade(t *testing.T) {
	t.Parallel()
	const n = 9
	b := open(t, maxCalls(n))
	b.SaveProvider(jobtest.ShopProvider(), jobtest.Spec(payTools()...))
	wishes := make([]jobtest.Wish, n)
	for i := range wishes {
		wishes[i] = refund(fmt.Sprint(i) + strings.Repeat("x", 1<<20-len(`{"order":""}`)-1))
	}
	b.answered(jobtest.Call(wishes...), jobtest.Say("They wait."))
	for _, ticket := range b.Tickets(b.id) {
		b.Decide(ticket, true)
	}
	j := b.run(jobtest.Say("never asked"))
	if j.Status != job.Failed || !strings.Contains(j.Error, "conversation has grown") || len(j.Due) != 0 {
		t.Errorf("%s: %s", j.Status, j.Error)
	}
	sent := map[string]bool{}
	for _, r := range b.Business.Sent() {
		sent[string(r.Body)] = true
	}
	if len(sent) != n || len(b.Business.Sent()) != n {
		t.Errorf("%d calls, %d different", len(b.Business.Sent()), len(sent))
	}
	for i := range wishes {
		if body := `{"order":"` + fmt.Sprint(i) + strings.Repeat("x", 1<<20-len(`{"order":""}`)-1) + `"}`; !sent[body] {
			t.Errorf("the bytes of call %d were not sent", i)
		}
	}
}

// A job that was reconciled and is rerun makes the call first that was approved meanwhile, in a conversation that starts anew.
func TestAnApprovedCallOfARerun(t *testing.T) {
	t.Parallel()
	b, _ := asked(t, refund("SO-1"), refund("SO-2"), refund("SO-3"))
	var tickets [3]approval.Ticket
	for _, ticket := range b.Tickets(b.id) {
		tickets[ticket.Index] = ticket
	}
	b.Business.Answer(unreachable)
	b.Decide(tickets[0], true)
	b.Deliver()
	b.Decide(tickets[1], true)
	b.Business.Answer(nil)
	r := &toolcall.Reconciler{Store: b.Store, Clock: b.Clock}
	closing := toolcall.Closing{Finding: toolcall.Happened, Status: 201, Reason: "r", By: "jo"}
	if _, err := r.Close(t.Context(), b.id, b.Job(b.id).Open.IdempotencyKey, closing); err != nil {
		t.Fatal(err)
	}
	if j := b.Job(b.id); len(j.Due) != 1 || j.Status != job.Failed {
		t.Fatalf("%+v", j)
	}
	b.rerun()
	b.answered(jobtest.Call(refund("SO-1"), refund("SO-2"), refund("SO-3")), jobtest.Say("Done."))
	if sent := b.Business.Sent(); len(sent) != 2 || string(sent[1].Body) != `{"order":"SO-2"}` {
		t.Errorf("%d calls", len(sent))
	}
	got := b.toolResults()
	if len(got) != 4 || got[0] != `{"ok":true}` || !strings.Contains(got[1], "with status 201") || got[2] != got[0] || !strings.Contains(got[3], fmt.Sprint(tickets[2].ID)) {
		t.Errorf("the model reads %q", got)
	}
	b.Decide(tickets[2], true)
	b.answered(jobtest.Say("All three."))
	rounds := b.rounds()
	for i, round := range rounds {
		if round.Number != i+1 {
			t.Errorf("round %d has the number %d", i+1, round.Number)
		}
	}
	if len(rounds) != 5 || len(b.Business.Sent()) != 3 {
		t.Errorf("%d rounds, %d calls", len(rounds), len(b.Business.Sent()))
	}
	b.wantAccepted()
}

// A person closes the call of a lost worker; when another approval lets the job go on, the open round is answered with the finding.
func TestAClosedCallOfALostWorker(t *testing.T) {
	t.Parallel()
	b, _ := asked(t, refund("SO-1"), refundOf("SO-2"))
	var paid, other approval.Ticket
	for _, ticket := range b.Tickets(b.id) {
		if ticket.Tool == "pay" {
			paid = ticket
		} else {
			other = ticket
		}
	}
	b.Business.Answer(func(outbound.Request) (*outbound.Response, error) {
		b.Clock.Advance(job.Lease + time.Second)
		b.Sweep()
		return jobtest.Response(200, `{"ok":true}`), nil
	})
	b.Decide(paid, true)
	b.Deliver()
	b.Business.Answer(nil)
	j := b.Job(b.id)
	if j.Error != job.ReasonReconciliation || j.Open == nil {
		t.Fatalf("%+v", j)
	}
	r := &toolcall.Reconciler{Store: b.Store, Clock: b.Clock}
	if _, err := r.Close(t.Context(), b.id, j.Open.IdempotencyKey, toolcall.Closing{Finding: toolcall.NotHappened, Reason: "r", By: "jo"}); err != nil {
		t.Fatal(err)
	}
	if d := b.Decide(other, true); !d.Rerun {
		t.Errorf("%+v", d)
	}
	b.answered(jobtest.Say("Done."))
	got := b.toolResults()
	if len(b.Business.Sent()) != 2 || !strings.Contains(got[2], "must not be repeated") || got[3] != `{"ok":true}` {
		t.Errorf("%d calls; the model reads %q", len(b.Business.Sent()), got)
	}
	b.wantAccepted()
}

// A job with a catalogue makes its approved call without a lookup, and goes on with the catalogue.
func TestAnApprovedCallOfACatalogue(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	b.SaveProvider(jobtest.ShopProvider(), jobtest.Spec(append(jobtest.ManyTools(13), pay())...))
	b.answered(jobtest.Call(jobtest.Wish{Tool: "find_tools", Args: `{"names":["pay"]}`}), jobtest.Call(refund("SO-1")), jobtest.Say("It waits."))
	b.Decide(b.Tickets(b.id)[0], true)
	if r := b.answered(jobtest.Call(jobtest.Wish{Tool: "find_tools", Args: `{"names":["tool_01"]}`}), jobtest.Say("Refunded.")); r.ToolCalls != 1 {
		t.Errorf("%+v", r)
	}
	if all := b.offered(); len(b.Business.Sent()) != 1 || strings.Join(all[3], " ") != "find_tools pay" || len(all[4]) != 3 {
		t.Errorf("%d calls, offered %v", len(b.Business.Sent()), all)
	}
	b.wantAccepted()
}

// What a job used counts what the model said, whoever made the calls.
func TestUsageBesideApprovedCalls(t *testing.T) {
	t.Parallel()
	b, tickets := asked(t, refund("SO-1"))
	b.Business.Answer(func(outbound.Request) (*outbound.Response, error) {
		b.Clock.Advance(3 * time.Second)
		return jobtest.Response(200, `{"ok":true}`), nil
	})
	b.Decide(tickets[0], true)
	r := b.answered(jobtest.Say("Refunded."))
	if got := string(b.Job(b.id).Usage); got != fmt.Sprintf(`{"duration_ms":3000,"num_turns":3,"tokens":%d}`, 3*jobtest.TokensPerReply) {
		t.Errorf("usage %s", got)
	}
	if string(r.ToolBudget) != `{"used":1,"limit":5,"remaining":4,"exhausted":false}` {
		t.Errorf("budget %s", r.ToolBudget)
	}
}

// What a sensitive tool was asked and answered is nowhere in clear, from the wish to the end of the job (I10).
func TestAnApprovedSensitiveCallIsNowhereInClear(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	ops := payTools()
	ops[len(ops)-1].Capability = `"audit":{"sensitive":true},"approval":{"prompt":"Pay {order}?","when":[{"param":"order","op":"contains","value":"4012"}]}`
	p := jobtest.ShopProvider()
	p.ToolRateLimits = &registry.ToolRateLimits{Overrides: map[string]registry.RatePolicy{"pay": {Mode: "custom", Count: 1, Window: "1h"}}}
	b.SaveProvider(p, jobtest.Spec(ops...))
	b.Business.Respond(200, `{"card":"`+canary+`"}`)
	b.answered(jobtest.Call(refund(canary), refund(canary+"-2")), jobtest.Say("They wait."))
	for _, ticket := range b.Tickets(b.id) {
		b.Decide(ticket, true)
	}
	for _, m := range b.Queue.Take() {
		b.Run(t.Context(), m.JobID) // one waits for the limit
	}
	b.Clock.Advance(2 * time.Hour)
	b.answered(jobtest.Say("Made."))
	if n := len(b.Business.Sent()); n != 2 || !strings.Contains(b.lastResult(), canary) {
		t.Fatalf("%d calls, %q", n, b.lastResult())
	}
	db := dynamodb.NewFromConfig(b.Env.Config("reader"))
	rows, seen := 0, false
	for _, table := range topology.System().Tables {
		out, err := db.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(jobtest.Prefix + table.Name)})
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range out.Items {
			rows++
			if text := plain(&types.AttributeValueMemberM{Value: it}); strings.Contains(text, canary) {
				t.Errorf("in clear: %.300s", text)
			} else if strings.Contains(text, "approval_taken_up") {
				seen = true
			}
		}
	}
	if rows < 20 || !seen {
		t.Errorf("%d rows, among them no record: the search sees nothing", rows)
	}
	if strings.Contains(b.Logs.String(), canary) {
		t.Error("a log line holds arguments")
	}
}

// plain is everything that a value holds, bytes as they are.
func plain(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberB:
		return string(v.Value)
	case *types.AttributeValueMemberSS:
		return strings.Join(v.Value, " ")
	case *types.AttributeValueMemberL:
		var all []string
		for _, e := range v.Value {
			all = append(all, plain(e))
		}
		return strings.Join(all, " ")
	case *types.AttributeValueMemberM:
		var all []string
		for name, e := range v.Value {
			all = append(all, name+"="+plain(e))
		}
		return strings.Join(all, " ")
	}
	return ""
}
