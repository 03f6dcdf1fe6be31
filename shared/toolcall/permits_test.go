package toolcall_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bailing/shared/awslocal/fault"
	"bailing/shared/job/jobtest"
	"bailing/shared/ratelimit"
	"bailing/shared/registry"
	"bailing/shared/toolcall"
)

// Tools of the shop: burst_get declares two calls a second, order_get nothing.
const (
	declaring = "burst_get"
	free      = "order_get"
)

var arguments = map[string]string{declaring: `{}`, free: `{"id":"1"}`}

// govern sets the provider's limits, perMin of all tools together.
func (c *caller) govern(perMin int, limits *registry.ToolRateLimits) {
	p := jobtest.ShopProvider()
	p.RateLimitPerMin, p.ToolRateLimits = perMin, limits
	c.SaveProvider(p, jobtest.Spec(jobtest.ShopTools()...))
}

func custom(count int, window string) registry.RatePolicy {
	return registry.RatePolicy{Mode: registry.RateCustom, Count: count, Window: window}
}

// override gives one tool a policy of its own.
func override(tool string, p registry.RatePolicy) *registry.ToolRateLimits {
	return &registry.ToolRateLimits{Overrides: map[string]registry.RatePolicy{tool: p}}
}

// sends makes n calls that no limit refuses.
func (c *caller) sends(tool string, n int) {
	c.t.Helper()
	for i := range n {
		if o := c.invoke(tool, arguments[tool]); !o.OK {
			c.t.Fatalf("call %d of %d: %+v", i+1, n, o)
		}
	}
}

// limited makes a call that the tool's own limit refuses.
func (c *caller) limited(tool string) toolcall.Outcome {
	c.t.Helper()
	return c.refused(tool, arguments[tool], "rate_limited:tool")
}

func TestAnOverrideIsOneLimitForAllJobs(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	c.govern(100, override(free, custom(1, "1h")))
	c.sends(free, 1)
	c.Clock.Advance(time.Minute)
	c.start(jobtest.ServerToken, `{}`)
	o := c.limited(free)
	want := toolcall.RateLimit{Level: "tool", Count: 1, WindowSec: 3600, Scope: "tool_provider_shared", Source: "tool_override"}
	if o.Status != 429 || !o.AutoRetry || o.RetryAfterMS != 59*60_000 || o.RateLimit == nil || *o.RateLimit != want {
		t.Errorf("outcome %+v with %+v", o, o.RateLimit)
	}
	detail := c.Events(c.job.ID, "tool_blocked")[0].Detail
	audited := map[string]any{
		"level": "tool", "count": 1.0, "window_sec": 3600.0, "scope": "tool_provider_shared", "source": "tool_override",
	}
	if !reflect.DeepEqual(detail["rate_limit"], audited) || detail["retry_after_ms"] != 3_540_000.0 {
		t.Errorf("audit %+v", detail)
	}
	c.Clock.Advance(59*time.Minute - time.Millisecond)
	if o := c.limited(free); o.RetryAfterMS != 1 {
		t.Errorf("outcome %+v, want a retry after 1 ms", o)
	}
	c.Clock.Advance(time.Millisecond)
	c.sends(free, 1)
}

func TestTheLimitOfATool(t *testing.T) {
	t.Parallel()
	inherit, disabled := registry.RatePolicy{Mode: registry.RateInherit}, registry.RatePolicy{Mode: registry.RateDisabled}
	perMinute, perDay := custom(1, "1m"), custom(3, "1d")
	with := func(def registry.RatePolicy, tool string, p registry.RatePolicy) *registry.ToolRateLimits {
		return &registry.ToolRateLimits{Default: &def, Overrides: override(tool, p).Overrides}
	}
	byDefault := func(p registry.RatePolicy) *registry.ToolRateLimits { return &registry.ToolRateLimits{Default: &p} }
	for name, tc := range map[string]struct {
		tool   string
		limits *registry.ToolRateLimits
		sends  int
		window int64 // of the refusal after that, seconds; 0 for none
		source string
	}{
		"is the declared one":                      {declaring, nil, 2, 1, "declaration"},
		"is none without a declaration":            {free, nil, 3, 0, ""},
		"is the declared one by an empty object":   {declaring, &registry.ToolRateLimits{}, 2, 1, "declaration"},
		"is the declared one by inheritance":       {declaring, with(inherit, declaring, inherit), 2, 1, "declaration"},
		"is the default before the declared one":   {declaring, byDefault(perMinute), 1, 60, "provider_default"},
		"is the default without a declaration":     {free, byDefault(perMinute), 1, 60, "provider_default"},
		"is the default by inheritance":            {declaring, with(perMinute, declaring, inherit), 1, 60, "provider_default"},
		"is the default beside another's override": {free, with(perMinute, declaring, disabled), 1, 60, "provider_default"},
		"is none by a default":                     {declaring, byDefault(disabled), 3, 0, ""},
		"is its override":                          {declaring, with(perMinute, declaring, perDay), 3, 86_400, "tool_override"},
		"is its override in spite of the default":  {free, with(disabled, free, custom(1, "1s")), 1, 1, "tool_override"},
		"is none by its override":                  {declaring, with(perMinute, declaring, disabled), 3, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := open(t, `{}`)
			c.govern(0, tc.limits)
			c.sends(tc.tool, tc.sends)
			if tc.window == 0 {
				if n := c.spent(tc.tool); n != 0 {
					t.Errorf("%d permits of a limit that does not exist", n)
				}
				return
			}
			o := c.limited(tc.tool)
			want := toolcall.RateLimit{
				Level: "tool", Count: tc.sends, WindowSec: tc.window, Scope: "tool_provider_shared", Source: tc.source,
			}
			if o.RateLimit == nil || *o.RateLimit != want || o.RetryAfterMS != tc.window*1000 {
				t.Errorf("outcome %+v with %+v", o, o.RateLimit)
			}
		})
	}
}

func TestAToolWithoutALimitHasItsProvidersStill(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	c.govern(3, &registry.ToolRateLimits{Default: &registry.RatePolicy{Mode: registry.RateDisabled}})
	c.sends(declaring, 3)
	o := c.refused(declaring, `{}`, "rate_limited:provider")
	if l := o.RateLimit; l == nil || l.Level != "provider" || l.Source != "provider_total" || l.Count != 3 || l.WindowSec != 60 {
		t.Errorf("limit %+v", l)
	}
}

// Calls that are known count by the policy of today. Those made without a limit were never counted, and those that a shorter
// window has let go of are not known any more.
func TestAChangedPolicyHoldsFromTheNextCall(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	c.sends(declaring, 2)
	c.Clock.Advance(10 * time.Second)

	c.govern(0, override(declaring, custom(1, "1h")))
	if o := c.limited(declaring); o.RetryAfterMS != 3_590_000 {
		t.Errorf("by a longer window: %+v, want the rest of the hour", o)
	}
	c.govern(0, override(declaring, registry.RatePolicy{Mode: registry.RateDisabled}))
	c.sends(declaring, 2)
	c.govern(0, override(declaring, custom(3, "1h")))
	c.sends(declaring, 1)
	c.limited(declaring)

	c.Clock.Advance(time.Second)
	c.govern(0, override(declaring, custom(1, "1s")))
	c.sends(declaring, 1)
	c.govern(0, override(declaring, custom(2, "1h")))
	c.sends(declaring, 1)
	c.limited(declaring)
}

// The policy comes with the row of the provider, however many there are: a call with an override makes the trips of one with a
// declared limit.
func TestOverridesCostNoTrip(t *testing.T) {
	t.Parallel()
	c := open(t, `{}`)
	limits := &registry.ToolRateLimits{Overrides: map[string]registry.RatePolicy{}}
	for i := range registry.MaxRateOverrides - 1 {
		limits.Overrides[fmt.Sprintf("%s%04d", strings.Repeat("t", 60), i)] = custom(1_000_000, "1m")
	}
	limits.Overrides[free] = custom(10, "1h")
	c.govern(100, limits)
	trips := func(tool string) (actions []string) {
		var mu sync.Mutex
		c.Faults().Set(func(op fault.Op) fault.Fault {
			mu.Lock()
			defer mu.Unlock()
			actions = append(actions, op.Action)
			return fault.Fault{}
		})
		defer c.Faults().Set(nil)
		c.sends(tool, 1)
		slices.Sort(actions)
		return actions
	}
	c.sends(free, 1) // reads the catalogue, which is kept
	declared, overridden := trips(declaring), trips(free)
	want := []string{"BatchGetItem", "PutItem", "PutItem", "TransactWriteItems", "TransactWriteItems"}
	if !slices.Equal(declared, want) {
		t.Errorf("by declaration: %v, want %v", declared, want)
	}
	if !slices.Equal(overridden, declared) {
		t.Errorf("by override: %v, want %v", overridden, declared)
	}
}

// A wait is whole milliseconds from 1 to a day (agent §6.2), whatever the clock shows and however a large limit counts.
func TestTheWaitOfARefusalHasBounds(t *testing.T) {
	t.Parallel()
	t.Run("part of a millisecond", func(t *testing.T) {
		t.Parallel()
		c := open(t, `{}`)
		c.sends(declaring, 2)
		c.Clock.Advance(time.Second - 1300*time.Microsecond)
		if o := c.limited(declaring); o.RetryAfterMS != 2 {
			t.Errorf("outcome %+v, want a retry after 2 ms", o)
		}
		c.Clock.Advance(time.Millisecond)
		if o := c.limited(declaring); o.RetryAfterMS != 1 {
			t.Errorf("outcome %+v, want a retry after 1 ms", o)
		}
	})
	t.Run("more than a day", func(t *testing.T) {
		t.Parallel()
		c := open(t, `{}`)
		const count = ratelimit.ExactLimit + 1
		c.govern(0, override(free, custom(count, "1d")))
		row := c.view(free).ToolLimit
		for range count {
			row.Bucket, _, _ = row.Bucket.Take(c.Clock.Now(), ratelimit.Policy{Count: count, Window: 24 * time.Hour})
		}
		if _, ok, err := c.Store.WriteBucket(t.Context(), row); !ok || err != nil {
			t.Fatal(ok, err)
		}
		if o := c.limited(free); o.RetryAfterMS != 86_400_000 {
			t.Errorf("outcome %+v, want a retry after a day", o)
		}
	})
}
