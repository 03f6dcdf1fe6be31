package registry_test

import (
	"encoding/json"
	"testing"
	"time"

	"bailing/shared/registry"
)

func budgetRules() []rule {
	return []rule{
		{"budget", `null`, "", ""},
		{"budget", `{}`, "", ""},
		{"budget", `{"enabled":false}`, "", ""},
		{"budget", `{"enabled":true,"window":"hour","window_hours":1,"hard_cost_usd":0.5,"hard_tokens":1,"soft_cost_usd":0.25,"soft_tokens":1}`, "", ""},
		{"budget", `[]`, "budget", "object"},
		{"budget", `{"max_jobs":1}`, "budget.max_jobs", "not a known member"},
		{"budget", `{"enabled":"yes"}`, "budget.enabled", "true or false"},
		{"budget", `{"window":"hour"}`, "", ""},
		{"budget", `{"window":"day"}`, "", ""},
		{"budget", `{"window":"month"}`, "", ""},
		{"budget", `{"window":""}`, "", ""},
		{"budget", `{"window":"week"}`, "budget.window", "one of hour, day, month"},
		{"budget", `{"window":24}`, "budget.window", "string"},
		{"budget", `{"window_hours":0}`, "budget.window_hours", "from 1"},
		{"budget", `{"window_hours":1.5}`, "budget.window_hours", "whole number"},
		{"budget", `{"window_hours":8785}`, "", ""},
		{"budget", `{"window_hours":2147483647}`, "", ""},
		{"budget", `{"window_hours":2147483648}`, "budget.window_hours", "to 2147483647"},
		{"budget", `{"hard_tokens":0}`, "budget.hard_tokens", "from 1"},
		{"budget", `{"hard_tokens":1}`, "", ""},
		{"budget", `{"hard_tokens":9007199254740991}`, "", ""},
		{"budget", `{"hard_tokens":9007199254740992}`, "budget.hard_tokens", "to 9007199254740991"},
		{"budget", `{"hard_tokens":"1"}`, "budget.hard_tokens", "whole number"},
		{"budget", `{"soft_tokens":0}`, "budget.soft_tokens", "from 1"},
		{"budget", `{"soft_tokens":9007199254740992}`, "budget.soft_tokens", "to 9007199254740991"},
		{"budget", `{"hard_cost_usd":0}`, "budget.hard_cost_usd", "above 0"},
		{"budget", `{"hard_cost_usd":-0.01}`, "budget.hard_cost_usd", "above 0"},
		{"budget", `{"hard_cost_usd":"1"}`, "budget.hard_cost_usd", "number"},
		{"budget", `{"hard_cost_usd":0.000000000001}`, "", ""},
		{"budget", `{"hard_cost_usd":0.0000000000001}`, "budget.hard_cost_usd", "at most 12 decimals"},
		{"budget", `{"hard_cost_usd":1000000000000}`, "", ""},
		{"budget", `{"hard_cost_usd":1000000000001}`, "budget.hard_cost_usd", "at most 1000000000000"},
		{"budget", `{"hard_cost_usd":1e300}`, "budget.hard_cost_usd", "at most 1000000000000"},
		{"budget", `{"soft_cost_usd":0}`, "budget.soft_cost_usd", "above 0"},
		{"budget", `{"soft_cost_usd":0.0000000000001}`, "budget.soft_cost_usd", "at most 12 decimals"},
	}
}

func TestBudgetRules(t *testing.T) {
	t.Parallel()
	t.Run("of a route", func(t *testing.T) {
		t.Parallel()
		checkRules(t, "route", route, routed, budgetRules())
	})
	t.Run("of a client", func(t *testing.T) {
		t.Parallel()
		checkRules(t, "client", client, nil, budgetRules())
	})
}

func TestABudgetIsShownAsItWasSaved(t *testing.T) {
	t.Parallel()
	b := setup(t)
	routed(t, b)
	for _, tc := range []struct{ saved, shown string }{
		{`{}`, `{"enabled":true}`},
		{
			`{"enabled":false,"window":"month","window_hours":9000,"hard_cost_usd":0.000000000001,"hard_tokens":9007199254740991,"soft_cost_usd":12.50,"soft_tokens":7}`,
			`{"enabled":false,"window":"month","window_hours":9000,"hard_cost_usd":0.000000000001,"hard_tokens":9007199254740991,"soft_cost_usd":12.5,"soft_tokens":7}`,
		},
		{`null`, ``},
	} {
		b.must(t, "route", with(t, route, "budget", tc.saved))
		b.must(t, "client", with(t, client, "budget", tc.saved))
		routes, err := b.ListRoutes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		clients, err := b.ListClients(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for what, list := range map[string]any{"route": routes, "client": clients} {
			doc, err := json.Marshal(list)
			if err != nil {
				t.Fatal(err)
			}
			var shown []struct{ Budget json.RawMessage }
			if err := json.Unmarshal(doc, &shown); err != nil || len(shown) != 1 {
				t.Fatalf("%s, %v", doc, err)
			}
			if got := shown[0].Budget; (tc.shown == "") != (got == nil) {
				t.Errorf("%s with the budget %s shows %s", what, tc.saved, got)
			} else if got != nil {
				wantJSON(t, got, tc.shown)
			}
		}
	}
}

func TestLengthsOfBudgets(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		budget registry.Budget
		hours  int
	}{
		{registry.Budget{}, 24}, {registry.Budget{Window: registry.WindowDay}, 24}, {registry.Budget{Window: registry.WindowHour}, 1},
		{registry.Budget{Window: registry.WindowMonth}, 720}, {registry.Budget{Window: registry.WindowHour, WindowHours: 2}, 2},
		{registry.Budget{WindowHours: 1}, 1}, {registry.Budget{WindowHours: 8784}, 8784}, {registry.Budget{WindowHours: 8785}, 8784},
		{registry.Budget{WindowHours: 2147483647}, 8784},
	} {
		if got := tc.budget.Length(); got != time.Duration(tc.hours)*time.Hour {
			t.Errorf("%+v reaches back %v, want %d h", tc.budget, got, tc.hours)
		}
	}
}

func TestABudgetWithoutLimitsRefusesNothing(t *testing.T) {
	t.Parallel()
	var none *registry.Budget
	if none.Limits() || (&registry.Budget{Enabled: true}).Limits() || (&registry.Budget{HardTokens: 1}).Limits() || (&registry.Budget{Enabled: true, SoftTokens: 1}).Limits() {
		t.Error("a budget that is off, empty or soft limits something")
	}
	if !(&registry.Budget{Enabled: true, HardTokens: 1}).Limits() {
		t.Error("a budget of one token limits nothing")
	}
}
