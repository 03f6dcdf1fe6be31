package toolcall_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"bailing/shared/awslocal/fault"
	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/outbound"
	"bailing/shared/textlimit"
	"bailing/shared/toolcall"
)

// Any answered status is an answer on the tools that are dispatched here (core §5.9, D12, D14).
func TestAnswers(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	c.saveRound()
	for _, tc := range []struct {
		status int
		state  toolcall.State
		text   string
	}{
		{200, toolcall.Executed, `{"a":1}`},
		{201, toolcall.Executed, `{"a":1}`},
		{302, toolcall.BusinessReject, "HTTP 302\n{\"a\":1}"},
		{404, toolcall.BusinessReject, "HTTP 404\n{\"a\":1}"},
		{408, toolcall.BusinessReject, "HTTP 408\n{\"a\":1}"},
		{429, toolcall.BusinessReject, "HTTP 429\n{\"a\":1}"},
		{500, toolcall.BusinessReject, "HTTP 500\n{\"a\":1}"},
		{502, toolcall.BusinessReject, "HTTP 502\n{\"a\":1}"},
		{503, toolcall.BusinessReject, "HTTP 503\n{\"a\":1}"},
		{504, toolcall.BusinessReject, "HTTP 504\n{\"a\":1}"},
	} {
		c.Business.Respond(tc.status, `{"a":1}`)
		o := c.invoke("order_get", `{"id":"1"}`)
		want := toolcall.Outcome{State: tc.state, OK: tc.state == toolcall.Executed, Status: tc.status, Text: tc.text}
		if o != want {
			t.Errorf("%d: %+v, want %+v", tc.status, o, want)
		}
		if rec, ok := c.stored(); !ok || rec.Outcome != want {
			t.Errorf("%d: stored %+v", tc.status, rec)
		}
	}
}

func TestLongAnswers(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	for _, tc := range []struct{ status, body, text int }{
		{200, 9000, 8192}, {200, 8192, 8192}, {500, 5000, 2057}, {200, 1 << 20, 8192},
	} {
		c.Business.Respond(tc.status, strings.Repeat("x", tc.body))
		if o := c.invoke("order_get", `{"id":"1"}`); textlimit.Len(o.Text) != tc.text {
			t.Errorf("%d with %d bytes: a text of %d, want %d", tc.status, tc.body, textlimit.Len(o.Text), tc.text)
		}
	}
	c.Business.Answer(func(outbound.Request) (*outbound.Response, error) {
		return response(500, "text/html", "<html>"+strings.Repeat("x", 5000)), nil
	})
	if o := c.invoke("order_get", `{"id":"1"}`); strings.Contains(o.Text, "<html") || len(o.Text) > 200 {
		t.Errorf("an error page reaches the model: %s", o.Text)
	}
}

// What is past a mebibyte is dropped, the audit says so, the status decides (D13).
func TestDroppedRestOfAnAnswer(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	c.Business.Answer(func(outbound.Request) (*outbound.Response, error) {
		r := response(200, "text/plain", strings.Repeat("y", 1<<20))
		r.Truncated = true
		return r, nil
	})
	if o := c.invoke("order_get", `{"id":"1"}`); o.State != toolcall.Executed || !o.OK {
		t.Errorf("%+v", o)
	}
	d := c.Events(c.job.ID, "tool_result")[0].Detail
	if d["resp_bytes"] != float64(1<<20) || d["resp_truncated"] != true || len(d["resp"].(string)) != 65_536 {
		t.Errorf("%v bytes, truncated %v, %d kept", d["resp_bytes"], d["resp_truncated"], len(d["resp"].(string)))
	}
}

// A request that was attempted and not answered whole is never "not sent", and nothing repeats it, not even a read.
func TestUnknownOutcome(t *testing.T) {
	t.Parallel()
	for rule, failure := range map[string]*outbound.Error{
		"the name does not resolve":   {Phase: outbound.PhaseResolve, Host: "shop.example:443"},
		"the address is blocked":      {Phase: outbound.PhaseBlocked},
		"the connection is refused":   {Phase: outbound.PhaseDial},
		"TLS fails":                   {Phase: outbound.PhaseTLS, Connected: true},
		"a time-out after sending":    {Phase: outbound.PhaseHeaders, Connected: true, Sent: true, Timeout: true},
		"the body ends early":         {Phase: outbound.PhaseBody, Connected: true, Sent: true, Status: 200, Body: []byte(`{"a":`)},
		"the request cannot be built": {Phase: outbound.PhaseRequest},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			c := open(t, `{}`)
			c.limitProvider(10)
			c.Business.Answer(func(outbound.Request) (*outbound.Response, error) { return nil, failure })
			for _, tool := range []string{"order_get", "price_check"} {
				args := map[string]string{"order_get": `{"id":"1"}`, "price_check": `{"sku":"a"}`}[tool]
				o := c.invoke(tool, args)
				if o.State != toolcall.Reconcile || o.OK || o.AutoRetry || o.Status != 0 {
					t.Errorf("%s: %+v", tool, o)
				}
			}
			if n := len(c.Business.Sent()); n != 2 {
				t.Errorf("%d requests, want one for each call", n)
			}
			results := c.Events(c.job.ID, "tool_result")
			if len(results) != 2 {
				t.Fatalf("%d records", len(results))
			}
			d := results[0].Detail
			if d["governance_state"] != "reconciliation_required" || d["sent"] != failure.Sent || d["connected"] != failure.Connected || d["timeout"] != failure.Timeout {
				t.Errorf("evidence %v", d)
			}
			if n := held(c, c.view("order_get").ProviderLimit); n != 2 {
				t.Errorf("%d permits spent, want 2: the calls were dispatched", n)
			}
		})
	}
}

// When the outcome cannot be stored the worker must stop; it has no outcome to go on with.
func TestOutcomeThatCannotBeStored(t *testing.T) {
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
	_, err := c.try(t.Context(), "order_get", `{"id":"1"}`)
	c.Faults().Set(nil)
	if err == nil {
		t.Error("the call has an outcome that is stored nowhere")
	}
	if _, ok := c.stored(); ok || len(c.Events(c.job.ID, "tool_result")) != 0 {
		t.Error("something was stored")
	}
}

// A worker that lost its job while the business answered must not write over its successor.
func TestClaimLostDuringTheCall(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	c.Business.Answer(func(outbound.Request) (*outbound.Response, error) {
		if err := c.Lifecycle.Recover(context.Background(), c.job, c.fence(), "lost"); err != nil {
			t.Error(err)
		}
		return jobtest.Response(200, `{}`), nil
	})
	if _, err := c.try(t.Context(), "order_get", `{"id":"1"}`); !errors.Is(err, job.ErrLostClaim) {
		t.Errorf("%v", err)
	}
	if _, ok := c.stored(); ok {
		t.Error("the outcome was stored")
	}
}

func TestDurationIsRecorded(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	c.saveRound()
	c.Business.Answer(func(outbound.Request) (*outbound.Response, error) {
		c.Clock.Advance(1500 * time.Millisecond)
		return jobtest.Response(200, `{}`), nil
	})
	c.invoke("order_get", `{"id":"1"}`)
	if rec, _ := c.stored(); rec.Outcome.TookMS != 1500 {
		t.Errorf("took %d ms", rec.Outcome.TookMS)
	}
	if d := c.Events(c.job.ID, "tool_result")[0].Detail; d["duration_ms"] != 1500.0 {
		t.Errorf("audit %v", d["duration_ms"])
	}
}
