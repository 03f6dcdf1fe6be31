package toolcall

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"bailing/shared/capability"
	"bailing/shared/limit"
	"bailing/shared/ratelimit"
	"bailing/shared/registry"
)

// gate is one limit that a call must pass.
type gate struct {
	level  string // tool or provider
	source registry.RateSource
	row    limit.Row
	policy ratelimit.Policy
}

// gates are the limits of a call, the tool's own first (core §5.6).
func (p *prepared) gates() []gate {
	policy, source := toolPolicy(p.view.Provider.ToolRateLimits, p.tool)
	return []gate{
		{"tool", source, p.view.ToolLimit, policy},
		{"provider", registry.RateProviderTotal, p.view.ProviderLimit, limit.PerMinute(p.view.Provider.RateLimitPerMin)},
	}
}

var windows = map[string]time.Duration{"1s": time.Second, "1m": time.Minute, "1h": time.Hour, "1d": 24 * time.Hour}

// toolPolicy is how often a tool may be called: as the provider's administrator says, else as the tool declares. A policy
// without a count is no limit.
func toolPolicy(limits *registry.ToolRateLimits, t *capability.Tool) (ratelimit.Policy, registry.RateSource) {
	set, source := limits.For(t.Name)
	switch {
	case source != registry.RateDeclared:
		return ratelimit.Policy{Count: set.Count, Window: windows[set.Window]}, source
	case t.RateLimit == nil:
		return ratelimit.Policy{}, source
	}
	count := min(t.RateLimit.Count, ratelimit.MaxCount) // a larger one would be no valid policy, and refuse every call
	return ratelimit.Policy{Count: int(count), Window: windows[t.RateLimit.Window]}, source
}

// takePermits decides all gates from the rows that came with the call's read, and only then charges each, in parallel. If
// one refuses after all, what the others charged goes back.
func (s *Service) takePermits(ctx context.Context, p *prepared) ([]limit.Permit, *Outcome, error) {
	now := s.Clock.Now()
	gates := p.gates()
	for _, g := range gates {
		if g.policy.Count == 0 {
			continue
		}
		if _, _, d := g.row.Bucket.Take(now, g.policy); !d.Allowed {
			return nil, limited(p.tool.Name, g, d), nil
		}
	}
	permits := make([]limit.Permit, len(gates))
	decisions := make([]ratelimit.Decision, len(gates))
	group, gctx := errgroup.WithContext(ctx)
	for i, g := range gates {
		group.Go(func() (err error) {
			permits[i], decisions[i], err = limit.Take(gctx, s.Store, g.row, g.policy, now)
			return err
		})
	}
	err := group.Wait()
	for i, d := range decisions {
		if err == nil && !d.Allowed {
			s.giveBack(ctx, permits)
			return nil, limited(p.tool.Name, gates[i], d), nil
		}
	}
	if err != nil {
		s.giveBack(ctx, permits)
		return nil, nil, err
	}
	return permits, nil, nil
}

// giveBack returns permits of a call that was not sent. One that cannot be returned stays spent until its window passes.
func (s *Service) giveBack(ctx context.Context, permits []limit.Permit) {
	var wg sync.WaitGroup
	for _, p := range permits {
		wg.Go(func() {
			if err := limit.GiveBack(ctx, s.Store, p); err != nil {
				s.Logger.WarnContext(ctx, "permit stays spent", "error", err)
			}
		})
	}
	wg.Wait()
}

// maxRetryAfterMS is the longest wait that an answer names: the longest window, a day (agent §6.2). A large limit counts calls a
// little longer than that.
const maxRetryAfterMS = 86_400_000

// retryAfterMS is a wait in whole milliseconds. It is rounded up: a call that comes back a moment early is refused again.
func retryAfterMS(d time.Duration) int64 {
	return min(int64((d+time.Millisecond-1)/time.Millisecond), maxRetryAfterMS)
}

func limited(tool string, g gate, d ratelimit.Decision) *Outcome {
	wait := retryAfterMS(d.RetryAfter)
	return &Outcome{
		State: NotDispatched, Status: 429, Reason: rateLimited + g.level, AutoRetry: true,
		RetryAfterMS: wait,
		RateLimit: &RateLimit{
			Level: g.level, Count: g.policy.Count, WindowSec: int64(g.policy.Window / time.Second),
			Scope: "tool_provider_shared", Source: string(g.source),
		},
		Text: fmt.Sprintf("Tool %s has reached its limit of calls (%s). Nothing was sent; try again in %d seconds.",
			tool, g.source, (wait+999)/1000),
	}
}
