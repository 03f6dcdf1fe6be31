package registry

import (
	"bailing/shared/canonical"
	"bailing/shared/ratelimit"
	"bailing/shared/textlimit"
)

// MaxRateOverrides is how many tools of a provider may have a policy of their own (core §5.6).
const MaxRateOverrides = 1000

// RateMode says what a [RatePolicy] does.
type RateMode string

const (
	RateInherit  RateMode = "inherit"  // decides nothing: what is less specific does
	RateDisabled RateMode = "disabled" // no limit, whatever the tool declares
	RateCustom   RateMode = "custom"   // Count calls in any Window
)

// RatePolicy is an administrator's word about how often a tool may be called (core §5.6).
type RatePolicy struct {
	Mode   RateMode `json:"mode"`
	Count  int      `json:"count,omitempty"`  // 1 to 1000000, with custom only
	Window string   `json:"window,omitempty"` // 1s, 1m, 1h or 1d, with custom only
}

// ToolRateLimits is a provider's `tool_rate_limits`: what stands before the limits that its tools declare. They are kept as
// they were given, policies that decide nothing included.
type ToolRateLimits struct {
	Default   *RatePolicy           `json:"default,omitempty"`  // of every tool without an override
	Overrides map[string]RatePolicy `json:"overrides,omitzero"` // by tool name
}

// RateSource says where a limit comes from (core §5.6, agent §6.2).
type RateSource string

const (
	RateDeclared      RateSource = "declaration"      // the tool's specification
	RateDefault       RateSource = "provider_default" // [ToolRateLimits.Default]
	RateOverride      RateSource = "tool_override"    // [ToolRateLimits.Overrides]
	RateProviderTotal RateSource = "provider_total"   // the provider's rate_limit_per_min, of all tools together
)

// For is the policy that decides how often tool may be called, and where it stands: the tool's override, else the default,
// each unless it inherits. With [RateDeclared] it is the declaration that decides. l may be nil.
func (l *ToolRateLimits) For(tool string) (RatePolicy, RateSource) {
	if l != nil {
		if p, ok := l.Overrides[tool]; ok && p.Mode != RateInherit {
			return p, RateOverride
		}
		if p := l.Default; p != nil && p.Mode != RateInherit {
			return *p, RateDefault
		}
	}
	return RatePolicy{Mode: RateInherit}, RateDeclared
}

// toolRateLimits is an optional closed object of policies; nil when absent.
func (o *object) toolRateLimits(name string) *ToolRateLimits {
	v, ok := o.get(name)
	if !ok {
		return nil
	}
	c := o.child(name, v)
	l := &ToolRateLimits{Overrides: c.rateOverrides("overrides")}
	if v, ok := c.get("default"); ok {
		p := c.ratePolicy("default", v)
		l.Default = &p
	}
	o.adopt(c.done())
	return l
}

// rateOverrides is an optional object of policies by tool name; nil when absent. The names need not be those of tools: a
// specification may still bring them.
func (o *object) rateOverrides(name string) map[string]RatePolicy {
	v, ok := o.get(name)
	if !ok {
		return nil
	}
	switch {
	case v.Kind() != canonical.Object:
		o.fail(name, "must be a JSON object of policies by the name of the tool")
		return nil
	case v.Len() > MaxRateOverrides:
		o.fail(name, "must have at most %d entries", MaxRateOverrides)
		return nil
	}
	c := o.child(name, v)
	overrides := make(map[string]RatePolicy, len(c.members))
	for tool, policy := range v.Members() {
		if !textlimit.ToolName(tool) {
			o.fail(name, "must be keyed by names of tools: 1 to 64 letters, digits and underscores, no digit first, no wildcard")
			return nil
		}
		overrides[tool] = c.ratePolicy(tool, policy)
	}
	o.adopt(c.err)
	return overrides
}

// ratePolicy reads the policy v, which is the member name. A count or window that would not be used is refused: whoever sent it
// meant a limit.
func (o *object) ratePolicy(name string, v canonical.Value) RatePolicy {
	c := o.child(name, v)
	p := RatePolicy{Mode: RateMode(c.oneOf("mode", "", string(RateInherit), string(RateDisabled), string(RateCustom)))}
	for _, member := range []string{"count", "window"} {
		switch _, given := c.get(member); {
		case given && p.Mode != RateCustom:
			c.fail(member, "needs mode custom")
		case !given && p.Mode == RateCustom:
			c.fail(member, "is required with mode custom")
		}
	}
	if p.Mode == RateCustom {
		p.Count = c.integer("count", 0, 1, ratelimit.MaxCount)
		p.Window = c.oneOf("window", "", "1s", "1m", "1h", "1d")
	}
	o.adopt(c.done())
	return p
}
