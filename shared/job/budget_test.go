package job_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/money"
	"bailing/shared/registry"
)

func usd(t *testing.T, literal string) money.USD {
	t.Helper()
	a, err := money.ParseExact(literal)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// spend runs a job of the token's owner that ends with this usage.
func spend(t *testing.T, w *jobtest.World, token, requestID, usage string) {
	t.Helper()
	a := w.MustLaunch(token, jobtest.Submission(requestID))
	j, err := w.Lifecycle.Claim(t.Context(), a.JobID, "w-"+requestID)
	if err != nil {
		t.Fatal(err)
	}
	o := job.Outcome{Status: job.Done, Result: json.RawMessage(`{"text":"done"}`), Usage: json.RawMessage(usage)}
	if err := w.Lifecycle.Finish(t.Context(), job.Fence{JobID: j.ID, Claim: j.Claim}, o); err != nil {
		t.Fatal(err)
	}
	w.Queue.Take()
}

// limitTo gives the route and the client of a seeded world budgets; nil is none.
func limitTo(w *jobtest.World, token string, route, client *registry.Budget) {
	r := jobtest.SupportRoute()
	r.Budget = route
	w.SaveRoute(r)
	w.SaveClientWith(registry.Client{AppID: jobtest.Client, AllowedRoutes: []string{"*"}, Enabled: true, Budget: client}, token)
}

func TestABudgetRefusesAtItsLimitAndNotBelow(t *testing.T) {
	t.Parallel()
	tokens := func(n int64) *registry.Budget { return &registry.Budget{Enabled: true, HardTokens: n} }
	cost := func(literal string) *registry.Budget {
		return &registry.Budget{Enabled: true, HardCostUSD: usd(t, literal)}
	}
	both := &registry.Budget{Enabled: true, HardTokens: 1, HardCostUSD: usd(t, "0.1")}
	for _, tc := range []struct {
		name          string
		route, client *registry.Budget
		want          string // the error of a rejected job, "" for one that is queued
	}{
		// 100 tokens and 0.3 dollars are used.
		{"tokens of the route, at the limit", tokens(100), nil, "budget_route_tokens_exceeded"},
		{"tokens of the route, one below", tokens(101), nil, ""},
		{"cost of the route, at the limit", cost("0.3"), nil, "budget_route_cost_exceeded"},
		{"cost of the route, a trillionth below", cost("0.300000000001"), nil, ""},
		{"tokens of the client, at the limit", nil, tokens(100), "budget_client_tokens_exceeded"},
		{"tokens of the client, one below", nil, tokens(101), ""},
		{"cost of the client, at the limit", nil, cost("0.3"), "budget_client_cost_exceeded"},
		{"cost of the client, a trillionth below", nil, cost("0.300000000001"), ""},
		{"cost before tokens", both, nil, "budget_route_cost_exceeded"},
		{"cost before tokens of the client", nil, both, "budget_client_cost_exceeded"},
		{"the route before the client", tokens(1), cost("0.1"), "budget_route_tokens_exceeded"},
		{"the client after a route that has some left", tokens(101), tokens(100), "budget_client_tokens_exceeded"},
		{"a budget that is off", &registry.Budget{HardTokens: 1, HardCostUSD: usd(t, "0.1")}, nil, ""},
		{"soft limits", &registry.Budget{Enabled: true, SoftTokens: 1, SoftCostUSD: usd(t, "0.1")}, nil, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := jobtest.New(t)
			token := w.Seed()
			spend(t, w, token, "a", `{"tokens":60,"cost_usd":0.1}`)
			spend(t, w, token, "b", `{"tokens":40,"cost_usd":0.2}`)
			limitTo(w, token, tc.route, tc.client)
			got := w.MustLaunch(token, jobtest.Submission("r"))
			stored := w.Job(got.JobID)
			if tc.want == "" {
				if got.Status != job.Queued || stored.Status != job.Queued {
					t.Errorf("status %s, error %q, want a queued job", got.Status, stored.Error)
				}
				return
			}
			if got.Status != job.Rejected || stored.Status != job.Rejected || stored.Error != tc.want || stored.Head {
				t.Errorf("status %s, error %q, want a job rejected with %s", got.Status, stored.Error, tc.want)
			}
			if e := w.Events(got.JobID, "rejected"); len(e) != 1 || e[0].Detail["reason"] != tc.want {
				t.Errorf("audit %+v", e)
			}
			if m := w.Queue.Take(); len(m) != 0 {
				t.Errorf("a rejected job was queued: %v", m)
			}
			if again := w.MustLaunch(token, jobtest.Submission("r")); again.JobID != got.JobID || again.Status != job.Rejected {
				t.Errorf("the replay is %+v", again)
			}
		})
	}
}

func TestABudgetComesBeforeTheQuotaOfTheThread(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t)
	token := w.Seed()
	spend(t, w, token, "a", `{"tokens":1}`)
	r := jobtest.SupportRoute()
	r.SessionPolicy, r.SessionFixedID = registry.SessionFixed, "desk"
	w.SaveRoute(r)
	for i := range job.MaxInFlight {
		w.MustLaunch(token, jobtest.Submission(strings.Repeat("q", i+1)))
	}
	seventh := w.MustLaunch(token, jobtest.Submission("seventh"))
	if got := w.Job(seventh.JobID).Error; got != job.ReasonThreadQuota {
		t.Fatalf("error %q, want %s", got, job.ReasonThreadQuota)
	}
	r.Budget = &registry.Budget{Enabled: true, HardTokens: 1}
	w.SaveRoute(r)
	eighth := w.MustLaunch(token, jobtest.Submission("eighth"))
	if got := w.Job(eighth.JobID).Error; got != job.ReasonRouteTokens {
		t.Errorf("error %q, want %s", got, job.ReasonRouteTokens)
	}
}

func TestARejectedJobTakesNoPlaceInItsThread(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t)
	token := w.Seed()
	spend(t, w, token, "a", `{"tokens":1}`)
	r := jobtest.SupportRoute()
	r.SessionPolicy, r.SessionFixedID = registry.SessionFixed, "desk"
	r.Budget = &registry.Budget{Enabled: true, HardTokens: 1}
	w.SaveRoute(r)
	rejected := w.Job(w.MustLaunch(token, jobtest.Submission("rejected")).JobID)
	r.Budget = nil
	w.SaveRoute(r)
	next := w.Job(w.MustLaunch(token, jobtest.Submission("next")).JobID)
	if rejected.Status != job.Rejected || next.Status != job.Queued || !next.Head || next.ThreadKey != rejected.ThreadKey {
		t.Errorf("after %+v came %+v, want the head of the same thread", rejected, next)
	}
}

func TestABudgetOpensAgainWhenItsWindowHasPassed(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t)
	token := w.Seed()
	w.Model.Then(jobtest.Say("done"))
	w.MustLaunch(token, jobtest.Submission("first"))
	w.Deliver() // a model job counts its tokens
	limitTo(w, token, &registry.Budget{Enabled: true, Window: registry.WindowHour, HardTokens: jobtest.TokensPerReply}, nil)
	status := func(requestID string) job.Status { return w.MustLaunch(token, jobtest.Submission(requestID)).Status }
	if got := status("at once"); got != job.Rejected {
		t.Errorf("at once: %s", got)
	}
	w.Clock.Advance(time.Hour)
	if got := status("after an hour"); got != job.Rejected {
		t.Errorf("after an hour: %s", got)
	}
	w.Clock.Advance(10 * time.Minute)
	if got := status("later"); got != job.Queued {
		t.Errorf("after an hour and ten minutes: %s", got)
	}
}

func TestAnAdministratorIsHeldToTheBudgetOfTheRouteAlone(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t)
	token := w.Seed()
	spend(t, w, jobtest.ServerToken, "a", `{"tokens":5}`)
	limitTo(w, token, nil, &registry.Budget{Enabled: true, HardTokens: 5})
	if got := w.MustLaunch(token, jobtest.Submission("client")); got.Status != job.Queued {
		t.Errorf("the client is %s: what an administrator used is not its own", got.Status)
	}
	limitTo(w, token, &registry.Budget{Enabled: true, HardTokens: 5}, nil)
	if got := w.MustLaunch(jobtest.ServerToken, jobtest.Submission("hub")); got.Status != job.Rejected {
		t.Errorf("the administrator is %s", got.Status)
	}
}

func TestUsageThatCannotBeReadRefusesTheLaunch(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t, jobtest.NoRetries())
	token := w.Seed()
	limitTo(w, token, &registry.Budget{Enabled: true, HardTokens: 5}, nil)
	w.Launcher.Store = unreadable{w.Store}
	if got, err := w.Launch(token, jobtest.Submission("r")); err == nil {
		t.Errorf("accepted as %+v: a budget that nobody can check lets nothing in", got)
	}
}

// unreadable is a store whose usage cannot be read.
type unreadable struct{ job.LaunchStore }

func (unreadable) ReadUsage(context.Context, []job.UsageWindow) ([]job.Usage, error) {
	return nil, errQueue
}

func TestUsageIsReadWithoutLosingADigit(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		doc, cost string
		tokens    int64
		fails     bool
	}{
		{``, "0", 0, false},
		{`{}`, "0", 0, false},
		{`{"tokens":9007199254740991,"cost_usd":0.000000000001}`, "0.000000000001", 9007199254740991, false},
		{`{"tokens":9007199254740992,"cost_usd":1000000000000}`, "1000000000000", 0, true},
		{`{"tokens":3,"cost_usd":1000000000001}`, "0", 3, true},
		{`{"tokens":1e3}`, "0", 1000, false},
		{`{"tokens":-1}`, "0", 0, true},
		{`{"tokens":true,"cost_usd":"x"}`, "0", 0, true},
		{`[1]`, "0", 0, false},
		{`{`, "0", 0, true},
	} {
		u, err := job.UsageIn(json.RawMessage(tc.doc))
		if u.Tokens != tc.tokens || u.CostUSD.String() != tc.cost || (err != nil) != tc.fails {
			t.Errorf("%s is %d tokens and %s dollars, %v", tc.doc, u.Tokens, u.CostUSD, err)
		}
	}
}

func TestSumsOfTokensEndAtTheLargest(t *testing.T) {
	t.Parallel()
	most := job.Usage{Tokens: 1<<63 - 1}
	if got := most.Add(job.Usage{Tokens: 1}).Tokens; got != 1<<63-1 {
		t.Errorf("%d", got)
	}
	if got := (job.Usage{Tokens: 1<<63 - 2}).Add(job.Usage{Tokens: 1}).Tokens; got != 1<<63-1 {
		t.Errorf("%d", got)
	}
}

func TestWhatIsInFlightIsNotCountedAndARerunIsNotRefused(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t)
	token := w.Seed()
	limitTo(w, token, &registry.Budget{Enabled: true, HardTokens: 1}, nil)
	first, second := w.MustLaunch(token, jobtest.Submission("first")), w.MustLaunch(token, jobtest.Submission("second"))
	w.Model.Then(jobtest.Say("done"), jobtest.Say("done"))
	w.Deliver()
	for _, a := range []job.Accepted{first, second} {
		if got := w.Job(a.JobID).Status; got != job.Done {
			t.Errorf("status %s: both were launched before either ended", got)
		}
	}
	third := w.MustLaunch(token, jobtest.Submission("third"))
	if got := w.Job(third.JobID); got.Error != job.ReasonRouteTokens {
		t.Errorf("status %s, error %q", got.Status, got.Error)
	}
	again := &job.Rerunner{Store: w.Store, Queue: w.Queue, Clock: w.Clock, Logger: w.Platform.Logger}
	if err := again.Rerun(t.Context(), third.JobID, "ada"); err != nil {
		t.Fatal(err)
	}
	w.Model.Then(jobtest.Say("after all"))
	w.Deliver()
	if got := w.Job(third.JobID); got.Status != job.Done || got.Error != "" {
		t.Errorf("after the rerun: status %s, error %q", got.Status, got.Error)
	}
}
