package toolcall_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/jobrun"
	"bailing/shared/model"
	"bailing/shared/registry"
	"bailing/shared/toolcall"
)

func round() jobrun.Round {
	return jobrun.Round{Number: 1, Message: model.Message{Role: model.RoleAssistant}}
}

// Each gate refuses with its reason, in the order of core §5.3.
func TestGates(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	c.saveRound()
	for _, tc := range []struct{ rule, tool, args, reason string }{
		{"a tool that the route does not have", "nothing", `{}`, "tool_not_allowed"},
		{"a name that is far too long", strings.Repeat("x", 100_000), `{}`, "tool_not_allowed"},
		{"an unknown tool before its arguments", "nothing", `[`, "tool_not_allowed"},
		{"arguments that are an array", "order_get", `[]`, "tool_args_not_json_object"},
		{"arguments that are a string of JSON", "order_get", `"{\"id\":\"1\"}"`, "tool_args_not_json_object"},
		{"null", "order_get", `null`, "tool_args_not_json_object"},
		{"malformed JSON counts as no arguments", "order_get", `{"id":`, "missing_required:id"},
		{"no text counts as no arguments", "order_get", ``, "missing_required:id"},
		{"arguments one byte over a mebibyte", "order_get", `{"id":"` + strings.Repeat("x", 1<<20+1-len(`{"id":""}`)) + `"}`, "arguments_too_large"},
		{"undeclared arguments", "order_get", `{"id":"1","b":1,"a":2}`, "unknown_arguments:b,a"},
		{"a wrong type", "order_get", `{"id":1}`, "argument_type:id"},
		{"the schema before the subject", "whoami", `{"x":1}`, "unknown_arguments:x"},
		{"a subject that is missing", "whoami", `{}`, "subject_required"},
		{"the schema before the approval", "refund", `{"order":1}`, "argument_type:order"},
		{"a path that would climb", "order_get", `{"id":".."}`, "argument_path_segment:id"},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			c.t = t
			o := c.refused(tc.tool, tc.args, tc.reason)
			if len(o.Text) > 1000 {
				t.Errorf("a text of %d bytes", len(o.Text))
			}
			rec, ok := c.stored()
			if !ok || rec.Outcome != o || !strings.HasPrefix(tc.tool, rec.Tool) || len(rec.Tool) > 65 {
				t.Errorf("stored %+v", rec)
			}
			if o.AutoRetry {
				t.Error("only limits may be tried again by themselves")
			}
		})
	}
}

// What was switched off between the assembly of the tools and the call bites (architecture §3).
func TestConfigurationIsReadAtTheCall(t *testing.T) {
	t.Parallel()
	route := func(change func(*registry.Route)) func(*caller) {
		return func(c *caller) {
			r := jobtest.SupportRoute()
			change(&r)
			c.SaveRoute(r)
		}
	}
	provider := func(spec string, change func(*registry.Provider)) func(*caller) {
		return func(c *caller) {
			p := jobtest.ShopProvider()
			change(&p)
			c.SaveProvider(p, spec)
		}
	}
	shop := jobtest.Spec(jobtest.ShopTools()...)
	without := jobtest.Spec(jobtest.ShopTools()[1:]...)
	stricter := jobtest.ShopTools()
	stricter[0].Params = strings.Replace(stricter[0].Params, `"name":"note","in":"query"`, `"name":"note","in":"query","required":true`, 1)
	guarded := jobtest.ShopTools()
	guarded[0].Capability = `"subject":{"required":true}`
	for rule, tc := range map[string]struct {
		change func(*caller)
		reason string
	}{
		"the client is disabled":                {func(c *caller) { c.DisableClient(jobtest.Client) }, "client_disabled"},
		"the route is disabled":                 {route(func(r *registry.Route) { r.Enabled = false }), "route_disabled"},
		"the route has no tools any more":       {route(func(r *registry.Route) { r.Tools = nil }), "tool_not_allowed"},
		"the route allows less":                 {route(func(r *registry.Route) { r.Tools.Sources[0].Allow = []string{"me.*"} }), "tool_not_allowed"},
		"the provider is disabled":              {provider(shop, func(p *registry.Provider) { p.Enabled = false }), "provider_disabled"},
		"the provider has no specification":     {provider("", func(*registry.Provider) {}), "provider_disabled"},
		"the specification dropped the tool":    {provider(without, func(*registry.Provider) {}), "tool_not_allowed"},
		"the specification requires more":       {provider(jobtest.Spec(stricter...), func(*registry.Provider) {}), "missing_required:note"},
		"the specification now needs a subject": {provider(jobtest.Spec(guarded...), func(*registry.Provider) {}), "subject_required"},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			c := open(t, `{}`)
			tc.change(c)
			c.refused("order_get", `{"id":"1"}`, tc.reason)
		})
	}
}

// replaced is the shop's specification with another order_get.
func replaced(capability, method string) string {
	ops := jobtest.ShopTools()
	ops[0].Capability, ops[0].Method = capability, method
	return jobtest.Spec(ops...)
}

// A specification that became stricter since the tools were assembled is obeyed: with a journal entry, or with a ticket.
func TestKindOfToolIsReadAtTheCall(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	c.SaveProvider(jobtest.ShopProvider(), replaced(`"execution":{"readonly":false}`, "POST"))
	if o := c.invoke("order_get", `{"id":"1"}`); !o.OK || c.entry("order_get", `{"id":"1"}`) == nil {
		t.Errorf("a call that became a side effect has no journal entry: %+v", o)
	}
	c.SaveProvider(jobtest.ShopProvider(), replaced(`"approval":{"required":true}`, "GET"))
	if o := c.invoke("order_get", `{"id":"2"}`); o.State != toolcall.Awaiting || len(c.Business.Sent()) != 1 {
		t.Errorf("a call that became one to approve: %+v", o)
	}
}

func TestNewSpecificationIsWhatIsSent(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	ops := jobtest.ShopTools()
	ops[0].Path = "/v2/orders/{id}"
	p := jobtest.ShopProvider()
	p.BaseURL = "https://moved.example"
	c.SaveProvider(p, jobtest.Spec(ops...))
	if o := c.invoke("order_get", `{"id":"1"}`); !o.OK {
		t.Fatalf("%+v", o)
	}
	if got := c.Business.Sent()[0].URL; got != "https://moved.example/v2/orders/1" {
		t.Errorf("sent to %s", got)
	}
}

// Nothing was done in these cases: the job goes back to the queue and nothing is recorded.
func TestCallsThatWait(t *testing.T) {
	t.Parallel()
	for rule, tc := range map[string]struct {
		prepare func(*caller) context.Context
		want    error
	}{
		"the hub is paused": {func(c *caller) context.Context {
			c.Pause(true)
			return c.t.Context()
		}, toolcall.ErrPaused},
		"the invocation ends too soon": {func(c *caller) context.Context {
			return ending(c.t, c.Clock.Now().Add(20*time.Second-time.Millisecond))
		}, toolcall.ErrNoTime},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			c := open(t, `{}`)
			if _, err := c.try(tc.prepare(c), "burst_get", `{}`); !errors.Is(err, tc.want) {
				t.Fatalf("%v, want %v", err, tc.want)
			}
			if _, ok := c.stored(); ok || len(c.Business.Sent()) > 0 || len(c.Events(c.job.ID, "tool_call"))+len(c.Events(c.job.ID, "tool_blocked")) > 0 {
				t.Error("something was recorded or sent")
			}
			if n := c.spent("burst_get"); n != 0 {
				t.Errorf("%d permits spent", n)
			}
		})
	}
}

// ending is a context with a deadline on the world's clock, which its own timer does not know.
func ending(t *testing.T, at time.Time) context.Context { return deadline{t.Context(), at} }

type deadline struct {
	context.Context
	at time.Time
}

func (d deadline) Deadline() (time.Time, bool) { return d.at, true }

func TestJustEnoughTime(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	// The provider's 10 s and 10 s to save what came of it.
	o, err := c.try(ending(t, c.Clock.Now().Add(20*time.Second)), "burst_get", `{}`)
	if err != nil || !o.OK {
		t.Errorf("%+v, %v", o, err)
	}
	if got := c.Business.Sent()[0].Timeout; got != 10*time.Second {
		t.Errorf("timeout %v", got)
	}
}

func TestLostClaimStopsTheCall(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	if err := c.Lifecycle.Yield(t.Context(), c.fence(), "x", false); err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"burst_get", "nothing"} {
		if _, err := c.try(t.Context(), tool, `{}`); !errors.Is(err, job.ErrLostClaim) {
			t.Errorf("%s: %v", tool, err)
		}
	}
	if len(c.Business.Sent()) > 0 || c.spent("burst_get") != 0 {
		t.Error("a worker that lost its job has sent something or kept a permit")
	}
}
