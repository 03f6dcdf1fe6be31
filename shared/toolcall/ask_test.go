package toolcall_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"bailing/shared/approval"
	"bailing/shared/canonical"
	"bailing/shared/job/jobtest"
	"bailing/shared/toolcall"
)

// transfer is a write whose approval depends on its amount.
func transfer(more string) jobtest.Op {
	return jobtest.Op{
		Name: "transfer", Method: "POST", Path: "/transfer", Scope: "pay.write",
		Capability: `"approval":{"when":[{"param":"amount","op":">","value":1000}],"prompt":"Transfer {amount}?"}` + more,
		Body:       `{"type":"object","properties":{"amount":{"type":"number"},"memo":{"type":"string"}}}`,
	}
}

func (c *caller) offer(op jobtest.Op) {
	c.SaveProvider(jobtest.ShopProvider(), jobtest.Spec(append(jobtest.ShopTools(), op)...))
	c.assemble()
}

// ticket is the ticket of a call, which must exist.
func (c *caller) ticket(tool, args string) approval.Ticket {
	c.t.Helper()
	known := c.keyed(tool, args).Ticket
	if known == nil {
		c.t.Fatalf("%s %.60s has no ticket", tool, args)
	}
	ticket, err := c.Store.ReadTicket(c.t.Context(), known.ID)
	if err != nil || ticket == nil {
		c.t.Fatalf("ticket %d: %v, %v", known.ID, ticket, err)
	}
	if ticket.State != known.State || !ticket.ExpiresAt.Equal(known.ExpiresAt) {
		c.t.Errorf("the lookup says %+v, the ticket %+v", known, ticket)
	}
	return *ticket
}

func (c *caller) awaits(tool, args string) toolcall.Outcome {
	c.t.Helper()
	sent := len(c.Business.Sent())
	o := c.invoke(tool, args)
	if o.State != toolcall.Awaiting || o.OK || o.AutoRetry || o.ApprovalID < 1 || !strings.Contains(o.Text, "approval") {
		c.t.Errorf("%s: %+v", tool, o)
	}
	if len(c.Business.Sent()) != sent || c.entry(tool, args) != nil {
		c.t.Errorf("%s: something was sent or reserved", tool)
	}
	return o
}

func TestCallThatNeedsApprovalMakesATicket(t *testing.T) {
	t.Parallel()
	c := open(t, `{"user":"u"}`)
	c.limitProvider(10)
	c.saveRound()
	o := c.awaits("refund", `{"order":"SO-1"}`)
	got := c.ticket("refund", `{"order":"SO-1"}`)
	if got.ID != o.ApprovalID || got.State != approval.Pending || got.JobID != c.job.ID || got.Owner != jobtest.Client || got.Provider != jobtest.Provider {
		t.Errorf("ticket %+v", got)
	}
	if got.CreatedAt != c.Clock.Now() || got.ExpiresAt != c.Clock.Now().Add(7*24*time.Hour) {
		t.Errorf("from %v to %v", got.CreatedAt, got.ExpiresAt)
	}
	var intent approval.Intent
	if err := json.Unmarshal(got.Intent, &intent); err != nil {
		t.Fatal(err)
	}
	if string(intent.Args) != `{"order":"SO-1"}` || intent.Policy != "risk_high" || intent.Reason != "risk=high" || intent.Subject != "u" || intent.SubjectField != "user" {
		t.Errorf("intent %s", got.Intent)
	}
	e := c.Events(c.job.ID, "tool_approval_pending")
	if len(e) != 1 || e[0].Detail["approval_id"] != float64(o.ApprovalID) || e[0].Detail["args_hash"] != got.ArgsHash || e[0].Stage != "approval" {
		t.Errorf("audit %+v", e)
	}
	if rec, ok := c.stored(); !ok || rec.Outcome != o {
		t.Errorf("stored %+v", rec)
	}
	if n := held(c, c.view("refund").ProviderLimit); n != 0 {
		t.Errorf("%d permits spent; a call that waits gives them back (D10)", n)
	}
	if c.Job(c.job.ID).Open != nil {
		t.Error("a call that waits is no open call")
	}

	// The same call again reports the same number; another one has a number of its own.
	if again := c.awaits("refund", `{ "order" : "SO-1" }`); again != o {
		t.Errorf("again %+v, want %+v", again, o)
	}
	if other := c.awaits("refund", `{"order":"SO-2"}`); other.ApprovalID == o.ApprovalID {
		t.Error("two questions have one number")
	}
}

func TestRulesDecideAtTheCall(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	c.offer(transfer(""))
	if o, err := c.try(t.Context(), "transfer", `{"amount":1000}`); err != nil || !o.OK {
		t.Errorf("at the limit: %+v, %v", o, err)
	}
	c.awaits("transfer", `{"amount":1000.01}`)
	var intent approval.Intent
	if err := json.Unmarshal(c.ticket("transfer", `{"amount":1000.01}`).Intent, &intent); err != nil {
		t.Fatal(err)
	}
	hit, _ := json.Marshal(intent.ConfirmWhen)
	if string(hit) != `{"param":"amount","op":"\u003e","value":1000,"actual":1000.01,"reason":"confirm_when: amount \u003e 1000"}` || intent.Summary != "Transfer 1000.01?" {
		t.Errorf("hit %s, summary %q", hit, intent.Summary)
	}
}

// A rule that cannot be evaluated blocks the call: going ahead could be a missing approval.
func TestRuleThatCannotBeEvaluatedBlocks(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	op := transfer("")
	op.Capability = `"approval":{"when":[{"param":"amount","op":"in","value":[1,"x"]}]}`
	op.Body = `{"type":"object","properties":{"amount":{"type":["number","boolean"]}}}`
	c.offer(op)
	c.limitProvider(10)
	c.offer(op)
	c.refused("transfer", `{"amount":true}`, "confirm_when_argument_type:amount")
	if c.keyed("transfer", `{"amount":true}`).Ticket != nil {
		t.Error("there is a ticket")
	}
}

// D10: a call at its limit is told to wait, and nobody is asked.
func TestLimitsComeBeforeApproval(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	c.offer(transfer(`,"execution":{"rate_limit":{"count":1,"window":"1m"}}`))
	if o, err := c.try(t.Context(), "transfer", `{"amount":1}`); err != nil || !o.OK {
		t.Fatalf("%+v, %v", o, err)
	}
	c.refused("transfer", `{"amount":5000}`, "rate_limited:tool")
	if c.keyed("transfer", `{"amount":5000}`).Ticket != nil {
		t.Error("there is a ticket")
	}
}

func TestTicketsExpireAsTheRouteSays(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	r := jobtest.SupportRoute()
	r.Tools.Approval = json.RawMessage(`{"type":"wecom","to":"a","expires_in_s":60}`)
	c.SaveRoute(r)
	o := c.awaits("refund", `{}`)
	if got := c.ticket("refund", `{}`); got.ExpiresAt != c.Clock.Now().Add(time.Minute) {
		t.Errorf("expires at %v", got.ExpiresAt)
	}
	c.Clock.Advance(time.Minute - time.Millisecond)
	if again := c.awaits("refund", `{}`); again.ApprovalID != o.ApprovalID {
		t.Error("another number")
	}
	c.Clock.Advance(time.Millisecond)
	if late := c.refused("refund", `{}`, "approval_expired"); late.ApprovalID != o.ApprovalID {
		t.Errorf("%+v", late)
	}
}

// The largest arguments are frozen whole (core §6.2), those of a sensitive tool sealed (I10).
func TestFrozenArguments(t *testing.T) {
	t.Parallel()
	for rule, sensitive := range map[string]bool{"in clear": false, "sealed": true} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			c := open(t, `{}`)
			more := ""
			if sensitive {
				more = `,"audit":{"sensitive":true}`
			}
			c.offer(transfer(more))
			args := `{"amount":5000,"memo":"` + strings.Repeat("m", 1<<20-len(`{"amount":5000,"memo":""}`)) + `"}`
			c.awaits("transfer", args)
			got := c.ticket("transfer", args)
			text := got.Intent
			if (got.Sealed != "") != sensitive || (len(got.Intent) == 0) != sensitive {
				t.Fatalf("%d bytes in clear, %d sealed", len(got.Intent), len(got.Sealed))
			}
			if sensitive {
				var err error
				if text, err = c.Secrets.Open(t.Context(), got.Sealed, approval.SealedPlace(got.ID)); err != nil {
					t.Fatal(err)
				}
			}
			var intent approval.Intent
			if err := json.Unmarshal(text, &intent); err != nil {
				t.Fatal(err)
			}
			v, err := canonical.Parse(intent.Args, canonical.Limits{})
			if err != nil || string(intent.Args) != args || v.Hash() != got.ArgsHash {
				t.Errorf("%d bytes of %d are frozen, %v", len(intent.Args), len(args), err)
			}
			for _, e := range c.Events(c.job.ID, "") {
				if b, _ := json.Marshal(e); strings.Contains(string(b), "mmmm") {
					t.Errorf("the audit record %s holds arguments", e.Name)
				}
			}
		})
	}
}

func TestDisabledProviderAsksNobody(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	p := jobtest.ShopProvider()
	p.Enabled = false
	c.SaveProvider(p, jobtest.Spec(jobtest.ShopTools()...))
	c.refused("refund", `{}`, "provider_disabled")
}
