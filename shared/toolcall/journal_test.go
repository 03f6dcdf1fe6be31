package toolcall_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"bailing/shared/awslocal/fault"
	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/outbound"
	"bailing/shared/toolcall"
)

const note = `{"text":"x"}`

// idempotencyKey is the formula of core §5.7, written out once more.
func idempotencyKey(jobID, tool, argsHash, subject string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, `{"args_hash":%q,"job_id":%q,"on_behalf_of":%q,"tool":%q}`, argsHash, jobID, subject, tool))
	return hex.EncodeToString(sum[:])
}

// write makes a side-effecting call and returns how it froze the job, nil if it did not.
func (c *caller) write(args string) (toolcall.Outcome, *toolcall.Frozen) {
	c.t.Helper()
	o, err := c.try(c.t.Context(), "ticket_create", args)
	var frozen *toolcall.Frozen
	if err != nil && !errors.As(err, &frozen) {
		c.t.Fatal(err)
	}
	return o, frozen
}

// A write is durable in the journal and in the audit, and named by the job's row, before it leaves; and settled after (I2).
func TestWriteIsReservedBeforeItLeaves(t *testing.T) {
	t.Parallel()
	c := open(t, `{"user":"u"}`)
	c.saveRound()
	var during *toolcall.Entry
	var open *job.OpenCall
	var called int
	c.Business.Answer(func(outbound.Request) (*outbound.Response, error) {
		during, open, called = c.entry("ticket_create", note), c.Job(c.job.ID).Open, len(c.Events(c.job.ID, "tool_call"))
		return jobtest.Response(201, `{"no":7}`), nil
	})
	o, frozen := c.write(note)
	if frozen != nil || o.State != toolcall.Executed || !o.OK || o.Status != 201 || o.Text != `{"no":7}` {
		t.Fatalf("%+v, %v", o, frozen)
	}
	hash := c.entry("ticket_create", note).ArgsHash
	key := idempotencyKey(c.job.ID, "ticket_create", hash, "u")
	if during == nil || during.State != toolcall.Dispatching || during.IdempotencyKey != key || during.Record != nil || called != 1 {
		t.Errorf("while the request was under way: entry %+v, %d audit records", during, called)
	}
	if open == nil || open.State != "dispatching" || open.Tool != "ticket_create" || open.ArgsHash != hash || open.IdempotencyKey != key || open.Scope != "tickets.write" {
		t.Errorf("while the request was under way: open call %+v", open)
	}
	after := c.entry("ticket_create", note)
	if after.State != toolcall.Completed || after.Record == nil || after.Record.Outcome != o || after.Subject != "u" {
		t.Errorf("afterwards: %+v", after)
	}
	if left := c.Job(c.job.ID).Open; left != nil {
		t.Errorf("still open: %+v", left)
	}
	r := c.Business.Sent()[0]
	if got := r.Header.Values("X-Bailing-Idempotency-Key"); len(got) != 1 || got[0] != key || !r.OneSend {
		t.Errorf("key %q, one send %v; want %s", got, r.OneSend, key)
	}
	verify(t, c, r, "/tickets")
	for _, name := range []string{"tool_call", "tool_result"} {
		if e := c.Events(c.job.ID, name); len(e) != 1 || e[0].Detail["idempotency_key"] != key {
			t.Errorf("%s: %+v", name, e)
		}
	}
	if rec, ok := c.stored(); !ok || rec.Outcome != o {
		t.Errorf("stored %+v", rec)
	}
}

// The same tool with the same arguments is sent once in a job, for ever; its answer is given again (I1).
func TestSameWriteIsAnsweredFromTheJournal(t *testing.T) {
	t.Parallel()
	for rule, status := range map[string]int{"an answer": 200, "a refusal of the business": 409} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			c := open(t, `{}`)
			c.limitProvider(10)
			c.saveRound()
			c.Business.Respond(status, `{"n":1}`)
			first, _ := c.write(`{"text":"a","n":1}`[:11] + `}`)
			for _, spelled := range []string{`{"text":"a"}`, "{ \"text\" :\n\"\\u0061\" }"} {
				again, frozen := c.write(spelled)
				if again != first || frozen != nil {
					t.Errorf("again: %+v, want %+v", again, first)
				}
				if rec, ok := c.stored(); !ok || rec.Outcome != first || rec.CallID != fmt.Sprint("call_", c.n) {
					t.Errorf("stored %+v", rec)
				}
			}
			if n := len(c.Business.Sent()); n != 1 {
				t.Errorf("sent %d times", n)
			}
			deduped := c.Events(c.job.ID, "tool_call_deduped")
			if len(deduped) != 2 || deduped[0].Detail["status"] != float64(status) || deduped[0].Detail["idempotency_key"] != c.entry("ticket_create", `{"text":"a"}`).IdempotencyKey {
				t.Errorf("audit %+v", deduped)
			}
			if n := held(c, c.view("ticket_create").ProviderLimit); n != 1 {
				t.Errorf("%d permits spent, want one for one dispatch", n)
			}
			if other, _ := c.write(`{"text":"b"}`); other.State == "" || len(c.Business.Sent()) != 2 {
				t.Errorf("other arguments are another call: %+v", other)
			}
		})
	}
}

// Calling it idempotent later does not undo that it was sent as a side effect.
func TestJournalOutlivesTheDeclaration(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	first, _ := c.write(note)
	ops := jobtest.ShopTools()
	for i := range ops {
		if ops[i].Name == "ticket_create" {
			ops[i].Capability = `"execution":{"idempotent":true}`
		}
	}
	c.SaveProvider(jobtest.ShopProvider(), jobtest.Spec(ops...))
	if o := c.invoke("ticket_create", note); o != first || len(c.Business.Sent()) != 1 {
		t.Errorf("%+v, sent %d times", o, len(c.Business.Sent()))
	}
}

func TestLargeAndSensitiveAnswersComeBackFromTheJournal(t *testing.T) {
	t.Parallel()
	for rule, tc := range map[string]struct{ capability, body string }{
		"larger than an item's share": {"", strings.Repeat("\x01", 8192)},
		"of a sensitive tool":         {`"audit":{"sensitive":true}`, "canary-4111"},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			c := open(t, `{}`)
			ops := jobtest.ShopTools()
			for i := range ops {
				if ops[i].Name == "ticket_create" {
					ops[i].Capability = tc.capability
				}
			}
			c.SaveProvider(jobtest.ShopProvider(), jobtest.Spec(ops...))
			c.Business.Answer(func(outbound.Request) (*outbound.Response, error) { return response(200, "text/plain", tc.body), nil })
			first, _ := c.write(note)
			if again, _ := c.write(note); again != first || first.Text != tc.body || len(c.Business.Sent()) != 1 {
				t.Errorf("again %.60q, first %.60q, sent %d times", again.Text, first.Text, len(c.Business.Sent()))
			}
			if rec := c.entry("ticket_create", note).Record; tc.capability != "" && (rec.Outcome.Text != "" || rec.Sealed == "") {
				t.Errorf("stored in clear: %+v", rec)
			}
		})
	}
}

// On a side-effecting tool 408, 502 and 504 say that an intermediary lost the answer; everything else is an answer (D12, D14).
func TestAnswersToAWrite(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]toolcall.State{
		200: toolcall.Executed, 204: toolcall.Executed, 302: toolcall.BusinessReject, 400: toolcall.BusinessReject, 404: toolcall.BusinessReject,
		408: toolcall.Reconcile, 409: toolcall.BusinessReject, 425: toolcall.BusinessReject, 429: toolcall.BusinessReject,
		500: toolcall.BusinessReject, 502: toolcall.Reconcile, 503: toolcall.BusinessReject, 504: toolcall.Reconcile, 520: toolcall.BusinessReject,
	} {
		c := open(t, `{}`)
		c.Business.Respond(status, `{}`)
		o, frozen := c.write(note)
		if o.State != want || o.Status != status || o.AutoRetry || (frozen != nil) != (want == toolcall.Reconcile) {
			t.Errorf("%d: %+v, %v", status, o, frozen)
		}
		state := toolcall.Completed
		if want == toolcall.Reconcile {
			state = toolcall.Uncertain
		}
		if e := c.entry("ticket_create", note); e == nil || e.State != state {
			t.Errorf("%d: entry %+v", status, e)
		}
	}
}

// A write without a trustworthy answer freezes its job: the call stays open with the evidence, and is never sent again (I4).
func TestUnknownOutcomeOfAWrite(t *testing.T) {
	t.Parallel()
	for rule, tc := range map[string]struct {
		failure *outbound.Error
		reason  string
	}{
		"the connection is refused":   {&outbound.Error{Phase: outbound.PhaseDial}, "no_connection"}, // D30
		"the name does not resolve":   {&outbound.Error{Phase: outbound.PhaseResolve, Host: "shop.example:443"}, "no_connection"},
		"the address is blocked":      {&outbound.Error{Phase: outbound.PhaseBlocked}, "no_connection"},
		"a time-out after sending":    {&outbound.Error{Phase: outbound.PhaseHeaders, Connected: true, Sent: true, Timeout: true}, "timeout"},
		"the connection is reset":     {&outbound.Error{Phase: outbound.PhaseHeaders, Connected: true, Sent: true}, "no_answer"},
		"the body ends early (D13)":   {&outbound.Error{Phase: outbound.PhaseBody, Connected: true, Sent: true, Status: 200}, "no_answer"},
		"a time-out while connecting": {&outbound.Error{Phase: outbound.PhaseDial, Timeout: true}, "timeout"},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			c := open(t, `{}`)
			c.limitProvider(10)
			c.saveRound()
			c.Business.Answer(func(outbound.Request) (*outbound.Response, error) { return nil, tc.failure })
			o, frozen := c.write(note)
			if o.State != toolcall.Reconcile || o.OK || o.AutoRetry || o.Reason != tc.reason || frozen == nil || frozen.Err != nil {
				t.Fatalf("%+v, %+v", o, frozen)
			}
			e, open := c.entry("ticket_create", note), c.Job(c.job.ID).Open
			if e.State != toolcall.Uncertain || e.Reason != tc.reason || open == nil || *open != frozen.Open || open.State != "uncertain" || open.Reason != tc.reason {
				t.Errorf("entry %+v, open %+v", e, open)
			}
			records := c.Events(c.job.ID, "tool_reconciliation_required")
			if len(records) != 1 || len(c.Events(c.job.ID, "tool_result")) != 0 {
				t.Fatalf("audit %+v", records)
			}
			evidence, _ := records[0].Detail["evidence"].(map[string]any)
			if evidence["sent"] != tc.failure.Sent || evidence["connected"] != tc.failure.Connected || records[0].Detail["idempotency_key"] != e.IdempotencyKey {
				t.Errorf("evidence %v", records[0].Detail)
			}
			if rec, ok := c.stored(); !ok || rec.Outcome != o {
				t.Errorf("stored %+v", rec)
			}
			c.Business.Respond(200, `{}`)
			// Neither the same call, nor another write, nor, once the job was claimed with it, anything else.
			if _, again := c.write(note); again == nil || again.Open.Reason != tc.reason {
				t.Errorf("the same call: %+v", again)
			}
			if _, err := c.try(t.Context(), "ticket_create", `{"text":"other"}`); !errors.Is(err, toolcall.ErrReserved) {
				t.Errorf("another write: %v", err)
			}
			c.job = c.Job(c.job.ID)
			var still *toolcall.Frozen
			if _, err := c.try(t.Context(), "order_get", `{"id":"1"}`); !errors.As(err, &still) {
				t.Errorf("a read: %v", err)
			}
			if n := len(c.Business.Sent()); n != 1 {
				t.Errorf("%d requests", n)
			}
			if n := held(c, c.view("ticket_create").ProviderLimit); n != 1 {
				t.Errorf("%d permits spent, want that of the dispatch", n)
			}
		})
	}
}

// A call that cannot be reserved is not sent, and gives its permits back (I2, D10).
func TestWriteThatCannotBeReserved(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`, jobtest.NoRetries())
	c.limitProvider(10)
	c.Faults().Set(func(op fault.Op) fault.Fault {
		if op.Action == "TransactWriteItems" {
			return fault.Fault{Kind: fault.ErrorBefore}
		}
		return fault.Fault{}
	})
	_, err := c.try(t.Context(), "ticket_create", note)
	c.Faults().Set(nil)
	var frozen *toolcall.Frozen
	if err == nil || errors.As(err, &frozen) || len(c.Business.Sent()) != 0 {
		t.Errorf("error %v, %d requests", err, len(c.Business.Sent()))
	}
	if c.entry("ticket_create", note) != nil || held(c, c.view("ticket_create").ProviderLimit) != 0 {
		t.Error("an entry or a permit is left")
	}
}

// An answer that cannot be stored is no answer: the entry stays dispatching, and whoever claims the job is told.
func TestAnswerToAWriteThatCannotBeStored(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`, jobtest.NoRetries())
	c.Business.Answer(func(outbound.Request) (*outbound.Response, error) {
		c.Faults().Set(func(op fault.Op) fault.Fault {
			if op.AccessKey == jobtest.AccessKey {
				return fault.Fault{Kind: fault.ErrorBefore}
			}
			return fault.Fault{}
		})
		return jobtest.Response(200, `{}`), nil
	})
	_, frozen := c.write(note)
	c.Faults().Set(nil)
	if frozen == nil || frozen.Err == nil || frozen.Open.State != "uncertain" || frozen.Open.Reason != "outcome_not_stored" {
		t.Fatalf("%+v", frozen)
	}
	if e, open := c.entry("ticket_create", note), c.Job(c.job.ID).Open; e.State != toolcall.Dispatching || open == nil || open.State != "dispatching" {
		t.Errorf("entry %+v, open %+v", e, open)
	}
}

// An invocation that ends while the business works still stores what came of the call.
func TestOutcomeIsStoredAfterTheInvocationEnded(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	ctx, cancel := context.WithCancel(t.Context())
	c.Business.Answer(func(outbound.Request) (*outbound.Response, error) {
		cancel()
		return jobtest.Response(200, `{}`), nil
	})
	if o, err := c.try(ctx, "ticket_create", note); err != nil || !o.OK {
		t.Errorf("%+v, %v", o, err)
	}
	if e := c.entry("ticket_create", note); e.State != toolcall.Completed {
		t.Errorf("%+v", e)
	}
}

// Two workers with the same job: whoever lost it sends nothing, and stores nothing over its successor's work.
func TestTwoWorkersOneWrite(t *testing.T) {
	t.Parallel()
	t.Run("the first is overtaken before it reserves", func(t *testing.T) {
		t.Parallel()
		c := open(t, `{}`)
		first := c.call("ticket_create", note)
		c.reclaim()
		if o, frozen := c.write(note); !o.OK || frozen != nil {
			t.Fatalf("%+v, %v", o, frozen)
		}
		if _, err := c.Tools.Invoke(t.Context(), c.set, first); !errors.Is(err, job.ErrLostClaim) {
			t.Errorf("the first: %v", err)
		}
		if n := len(c.Business.Sent()); n != 1 {
			t.Errorf("%d requests", n)
		}
	})
	t.Run("the first is overtaken while the business works", func(t *testing.T) {
		t.Parallel()
		c := open(t, `{}`)
		c.Business.Answer(func(outbound.Request) (*outbound.Response, error) {
			c.reclaim()
			return jobtest.Response(200, `{}`), nil
		})
		if _, err := c.try(t.Context(), "ticket_create", note); !errors.Is(err, job.ErrLostClaim) {
			t.Errorf("the first: %v", err)
		}
		// Its successor was given the open call with the job, and is frozen even if it does not look.
		if c.job.Open == nil || c.job.Open.State != "dispatching" {
			t.Errorf("claimed with %+v", c.job.Open)
		}
		c.job.Open = nil
		if _, frozen := c.write(note); frozen == nil || len(c.Business.Sent()) != 1 {
			t.Errorf("the second: %+v, %d requests", frozen, len(c.Business.Sent()))
		}
	})
}

// reclaim gives the job to another worker, as after a lost lease.
func (c *caller) reclaim() {
	c.t.Helper()
	if err := c.Lifecycle.Recover(context.Background(), c.job, c.fence(), "lost"); err != nil {
		c.t.Error(err)
	}
	c.Clock.Advance(time.Minute)
	j, err := c.Lifecycle.Claim(context.Background(), c.job.ID, "another worker")
	if err != nil {
		c.t.Error(err)
		return
	}
	c.job = j
}
