package toolcall_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"bailing/shared/awslocal/fault"
	"bailing/shared/job/jobtest"
	"bailing/shared/limit"
	"bailing/shared/ratelimit"
	"bailing/shared/toolcall"
)

// spent is how many permits of the tool's bucket are held now.
func (c *caller) spent(tool string) int {
	c.t.Helper()
	return held(c, c.view(tool).ToolLimit)
}

func (c *caller) view(tool string) toolcall.View {
	c.t.Helper()
	v, err := c.Store.ReadCall(c.t.Context(), toolcall.Keys{Owner: jobtest.Client, Route: jobtest.Route, Provider: jobtest.Provider, Tool: tool, JobID: c.job.ID})
	if err != nil {
		c.t.Fatal(err)
	}
	return v
}

func held(c *caller, row limit.Row) int {
	for n := 1; ; n++ {
		if _, _, d := row.Bucket.Take(c.Clock.Now(), ratelimit.Policy{Count: n, Window: time.Minute}); d.Allowed {
			return n - 1
		}
	}
}

// limitProvider sets the provider's limit per minute.
func (c *caller) limitProvider(n int) {
	p := jobtest.ShopProvider()
	p.RateLimitPerMin = n
	c.SaveProvider(p, jobtest.Spec(jobtest.ShopTools()...))
}

func TestToolLimitHasItsExactWindow(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	for range 2 {
		if o := c.invoke("burst_get", `{}`); !o.OK {
			t.Fatalf("within the limit: %+v", o)
		}
	}
	c.Clock.Advance(999 * time.Millisecond)
	o := c.refused("burst_get", `{}`, "rate_limited:tool")
	if o.Status != 429 || !o.AutoRetry || o.RetryAfterMS != 1 {
		t.Errorf("outcome %+v, want 429 with a retry after 1 ms", o)
	}
	if blocked := c.Events(c.job.ID, "tool_blocked"); blocked[0].Detail["status"] != 429.0 || blocked[0].Detail["retry_after_ms"] != 1.0 {
		t.Errorf("audit %+v", blocked[0].Detail)
	}
	c.Clock.Advance(time.Millisecond)
	if o := c.invoke("burst_get", `{}`); !o.OK {
		t.Errorf("after the window: %+v", o)
	}
	if len(c.Business.Sent()) != 3 {
		t.Errorf("%d requests sent, want 3", len(c.Business.Sent()))
	}
}

func TestProviderLimitCountsAllTools(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	c.limitProvider(2)
	c.invoke("order_get", `{"id":"1"}`)
	c.invoke("price_check", `{"sku":"a"}`)
	o := c.refused("burst_get", `{}`, "rate_limited:provider")
	if o.Status != 429 || o.RetryAfterMS != 60_000 {
		t.Errorf("outcome %+v, want 429 with a retry after a minute", o)
	}
	if n := c.spent("burst_get"); n != 0 {
		t.Errorf("%d permits of the tool spent: all gates are checked before any is charged", n)
	}
	c.Clock.Advance(time.Minute)
	c.invoke("burst_get", `{}`)
}

func TestToolLimitIsDecidedFirst(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	c.limitProvider(2)
	c.invoke("burst_get", `{}`)
	c.invoke("burst_get", `{}`)
	c.refused("burst_get", `{}`, "rate_limited:tool")
	if n := held(c, c.view("burst_get").ProviderLimit); n != 2 {
		t.Errorf("%d permits of the provider spent, want 2", n)
	}
}

func TestLimitsAreSharedByAllJobs(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	c.invoke("burst_get", `{}`)
	c.invoke("burst_get", `{}`)
	c.start(jobtest.ServerToken, `{}`)
	c.refused("burst_get", `{}`, "rate_limited:tool")
}

func TestHugeDeclaredLimitIsNoRefusal(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	ops := jobtest.ShopTools()
	ops[0].Capability = `"execution":{"rate_limit":{"count":2000000,"window":"1m"}}`
	c.SaveProvider(jobtest.ShopProvider(), jobtest.Spec(ops...))
	if o := c.invoke("order_get", `{"id":"1"}`); !o.OK {
		t.Errorf("%+v", o)
	}
}

func TestHugeLimitOfAProviderIsNoRefusal(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	for _, rate := range []int{ratelimit.MaxCount, ratelimit.MaxCount + 1, math.MaxInt32} {
		c.limitProvider(rate)
		if o := c.invoke("order_get", `{"id":"1"}`); !o.OK {
			t.Errorf("%d in a minute: %+v", rate, o)
		}
	}
}

func TestRefusedCallsSpendNothing(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	c.limitProvider(10)
	for tool, want := range map[string]toolcall.State{"nothing": toolcall.NotDispatched, "refund": toolcall.Awaiting, "whoami": toolcall.NotDispatched} {
		if o := c.invoke(tool, `{}`); o.State != want {
			t.Errorf("%s: %+v", tool, o)
		}
	}
	if n := held(c, c.view("refund").ProviderLimit); n != 0 {
		t.Errorf("%d permits spent", n)
	}
}

// The record of a call is durable before its request leaves; without it nothing is sent, and permits go back (D10).
func TestAuditFailsClosed(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`, jobtest.NoRetries())
	c.limitProvider(10)
	c.Faults().Set(func(op fault.Op) fault.Fault {
		if op.Action == "TransactWriteItems" {
			return fault.Fault{Kind: fault.ErrorBefore}
		}
		return fault.Fault{}
	})
	_, err := c.try(t.Context(), "burst_get", `{}`)
	c.Faults().Set(nil)
	if err == nil || errors.Is(err, toolcall.ErrPaused) {
		t.Fatalf("error %v", err)
	}
	if len(c.Business.Sent()) != 0 || len(c.Events(c.job.ID, "tool_call")) != 0 {
		t.Error("sent without a record")
	}
	if tool, provider := c.spent("burst_get"), held(c, c.view("burst_get").ProviderLimit); tool != 0 || provider != 0 {
		t.Errorf("%d and %d permits stay spent", tool, provider)
	}
}

// A bucket that cannot be charged refuses the call; what the other one charged goes back.
func TestLimitsFailClosed(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`, jobtest.NoRetries())
	c.limitProvider(10)
	c.Faults().Set(func(op fault.Op) fault.Fault {
		if op.Action == "PutItem" && strings.HasSuffix(op.Resource, "jobs") {
			return fault.Fault{Kind: fault.ErrorBefore}
		}
		return fault.Fault{}
	})
	_, err := c.try(t.Context(), "burst_get", `{}`)
	c.Faults().Set(nil)
	if err == nil || len(c.Business.Sent()) != 0 {
		t.Errorf("error %v, %d requests sent", err, len(c.Business.Sent()))
	}
}
