package store_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"bailing/functions/runs"
	"bailing/shared/registry"
)

// budgets gives the route "thrifty" and the client of tripToken a budget of so many hours.
func budgets(t *testing.T, s *stand, hours int) {
	t.Helper()
	budget := &registry.Budget{Enabled: true, WindowHours: hours, HardTokens: 1}
	change := registry.Change{At: start, By: "token", Method: "POST", Path: "test"}
	err := s.Routes().Put(t.Context(), "thrifty", registry.Versioned[registry.Route]{Value: registry.Route{
		RouteKey: "thrifty", Name: "thrifty", Enabled: true, Target: "llm", SessionPolicy: registry.SessionNew, TargetConfig: json.RawMessage(`{}`), Budget: budget,
	}}, change)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := s.Clients().Get(t.Context(), "shop")
	if err != nil {
		t.Fatal(err)
	}
	stored.Value.Budget = budget
	if err := s.Clients().Put(t.Context(), *stored, stored.Value.TokenHash, change); err != nil {
		t.Fatal(err)
	}
}

func TestBudgetsTakeNoTripOfTheirOwn(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name        string
		hours       int
		client, hub []string // the second trip
	}{
		{"a day", 24, []string{"BatchGetItem", "BatchGetItem", "PutItem"}, []string{"BatchGetItem", "BatchGetItem"}},
		{"a month", 720, []string{"BatchGetItem", "BatchGetItem", "PutItem"}, []string{"BatchGetItem", "BatchGetItem"}},
		{
			"the longest window", 8784, // 112 items for each of two scopes
			[]string{"BatchGetItem", "BatchGetItem", "BatchGetItem", "BatchGetItem", "PutItem"}, []string{"BatchGetItem", "BatchGetItem", "BatchGetItem"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			seed(t, s)
			budgets(t, s, tc.hours)
			c := newTrips(t, s.Server)
			h, err := runs.New(s.platform(c))
			if err != nil {
				t.Fatal(err)
			}
			submit := func(token, requestID string) func(*testing.T) {
				return func(t *testing.T) {
					call(t, h, "POST", "/run", token, `{"request_id":"`+requestID+`","route":"thrifty","input":"i"}`, http.StatusAccepted)
				}
			}
			wantTrips(t, "POST /run", c.count(t, submit(tripToken, "one")), read, tc.client, write)
			wantTrips(t, "POST /run, administrator", c.count(t, submit(tripServer, "two")), read, tc.hub, write)
		})
	}
}
