package registry

import (
	"errors"
	"time"

	"bailing/shared/canonical"
	"bailing/shared/money"
)

// Windows of a budget (core §11.6).
const (
	WindowHour  = "hour"
	WindowDay   = "day" // of a budget that names none
	WindowMonth = "month"
)

// Bounds of a budget (core §10.4).
const (
	// maxWindowHours is what a longer window_hours counts as: 366 days.
	maxWindowHours = 8784
	// maxTokens is the largest integer that every reader of JSON keeps exactly.
	maxTokens = 1<<53 - 1
)

// Budget limits what the jobs of a route or a client use within a sliding window (core §10.4, §11.6). Package job checks it when a
// job is launched.
type Budget struct {
	Enabled     bool      `json:"enabled"`
	Window      string    `json:"window,omitempty"`       // WindowHour, WindowDay or WindowMonth; "" = WindowDay
	WindowHours int       `json:"window_hours,omitempty"` // 0, or the length in place of Window
	HardCostUSD money.USD `json:"hard_cost_usd,omitzero"` // zero = no limit
	HardTokens  int64     `json:"hard_tokens,omitempty"`  // 0 = no limit
	SoftCostUSD money.USD `json:"soft_cost_usd,omitzero"` // kept and shown; nothing acts on it
	SoftTokens  int64     `json:"soft_tokens,omitempty"`  // kept and shown; nothing acts on it
}

// Limits reports whether the budget can refuse anything.
func (b *Budget) Limits() bool {
	return b != nil && b.Enabled && (b.HardTokens > 0 || !b.HardCostUSD.IsZero())
}

// Length is how far the window reaches back from now.
func (b *Budget) Length() time.Duration {
	switch {
	case b.WindowHours > 0:
		return time.Duration(min(b.WindowHours, maxWindowHours)) * time.Hour
	case b.Window == WindowHour:
		return time.Hour
	case b.Window == WindowMonth:
		return 720 * time.Hour
	}
	return 24 * time.Hour
}

// budget is the optional budgetPolicy of core §10.4, a closed object. One that says nothing is kept: it is enabled and limits nothing.
func (o *object) budget(name string) *Budget {
	v, ok := o.get(name)
	if !ok {
		return nil
	}
	c := o.child(name, v)
	b := &Budget{
		Enabled: c.boolean("enabled", true), WindowHours: c.integer("window_hours", 0, 1, maxCount),
		HardCostUSD: c.dollars("hard_cost_usd"), HardTokens: int64(c.integer("hard_tokens", 0, 1, maxTokens)),
		SoftCostUSD: c.dollars("soft_cost_usd"), SoftTokens: int64(c.integer("soft_tokens", 0, 1, maxTokens)),
	}
	if b.Window = c.text("window", 0); b.Window != "" {
		c.oneOf("window", "", WindowHour, WindowDay, WindowMonth)
	}
	o.adopt(c.done())
	return b
}

// dollars is an optional amount above 0.
func (o *object) dollars(name string) money.USD {
	v, ok := o.get(name)
	if !ok {
		return money.USD{}
	}
	if v.Kind() != canonical.Number {
		o.fail(name, "must be a number")
		return money.USD{}
	}
	a, err := money.ParseExact(v.Number())
	switch {
	case errors.Is(err, money.ErrDecimals):
		o.fail(name, "must have at most %d decimals", money.Decimals)
	case err != nil || a.IsZero():
		o.fail(name, "must be a number above 0, at most %d", int64(money.Max))
	}
	return a
}
