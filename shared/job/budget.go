package job

import (
	"context"
	"time"

	"bailing/shared/registry"
)

// Reasons of the budget gate: wire codes in a job's error member (core §1.5).
const (
	ReasonRouteCost    = "budget_route_cost_exceeded"
	ReasonRouteTokens  = "budget_route_tokens_exceeded"
	ReasonClientCost   = "budget_client_cost_exceeded"
	ReasonClientTokens = "budget_client_tokens_exceeded"
)

// budgetGate is a budget that can refuse a launch, whose usage it limits, and how it says so.
type budgetGate struct {
	budget       *registry.Budget
	scope        UsageScope
	cost, tokens string
}

// budgetGates are the budgets of a launch in the contract's order: the route's, then the client's. An administrator has none.
func budgetGates(r *registry.Route, c *registry.Client) (gates []budgetGate) {
	if r.Budget.Limits() {
		gates = append(gates, budgetGate{r.Budget, UsageScope{UsageOfRoute, r.RouteKey}, ReasonRouteCost, ReasonRouteTokens})
	}
	if c != nil && c.Budget.Limits() {
		gates = append(gates, budgetGate{c.Budget, UsageScope{UsageOfClient, c.AppID}, ReasonClientCost, ReasonClientTokens})
	}
	return gates
}

// refusal is the reason why used is too much for one job more, "" when it is not: a limit that is reached refuses.
func (g budgetGate) refusal(used Usage) string {
	switch {
	case !g.budget.HardCostUSD.IsZero() && used.CostUSD.Cmp(g.budget.HardCostUSD) >= 0:
		return g.cost
	case g.budget.HardTokens > 0 && used.Tokens >= g.budget.HardTokens:
		return g.tokens
	}
	return ""
}

// overBudget is the reason why the budgets of route and client refuse one job more now, "" when they do not (core §11.6). It reads
// nothing when neither has one, and takes one trip otherwise.
//
// Usage counts when a job ends. What is under way is not in it, so jobs that pass the gate together may use more than is left: the
// excess is at most what was launched before the first of them ended. A budget stops the launches after that; it cuts no job short,
// and neither a rerun nor a job that goes on after an approval asks it.
func (l *Launcher) overBudget(ctx context.Context, r *registry.Route, c *registry.Client, now time.Time) (string, error) {
	gates := budgetGates(r, c)
	if len(gates) == 0 {
		return "", nil
	}
	windows := make([]UsageWindow, len(gates))
	for i, g := range gates {
		windows[i] = UsageWindow{Scope: g.scope, Since: now.Add(-g.budget.Length()), Now: now}
	}
	used, err := l.Store.ReadUsage(ctx, windows)
	if err != nil {
		return "", err
	}
	for i, g := range gates {
		if reason := g.refusal(used[i]); reason != "" {
			return reason, nil
		}
	}
	return "", nil
}
