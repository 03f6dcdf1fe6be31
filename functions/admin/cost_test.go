package admin_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"bailing/functions/admin"
	"bailing/shared/clock"
	jobs "bailing/shared/job"
	"bailing/shared/money"
)

// costs is what jobs used.
type costs struct {
	rows     []jobs.CostRow
	err      error
	from, to time.Time // what was asked for
}

func (c *costs) ReadCost(_ context.Context, from, to time.Time) ([]jobs.CostRow, error) {
	c.from, c.to = from, to
	return c.rows, c.err
}

func (c *costs) add(t *testing.T, day, route, target string, count, tokens int64, usd string) {
	t.Helper()
	cost, err := money.ParseExact(usd)
	if err != nil {
		t.Fatal(err)
	}
	c.rows = append(c.rows, jobs.CostRow{Day: day, Route: route, Target: target, Jobs: count, Usage: jobs.Usage{Tokens: tokens, CostUSD: cost}})
}

func setupCost(t *testing.T) (*hub, *costs) {
	t.Helper()
	c := &costs{}
	return setup(t, func(d *admin.Deps) { d.Cost, d.Clock = c, clock.NewManual(now) }), c
}

// The members are those of the recorded exchange admin-cost (D36), with tokens and route_key added.
func TestTheCostReportHasTheRecordedShape(t *testing.T) {
	t.Parallel()
	h, c := setupCost(t)
	for _, save := range [][2]string{
		{"targets", `{"name":"ref-exec","kind":"executor"}`},
		{"routes", `{"route_key":"ref_exec","name":"Route ref_exec","target":"ref-exec","session_policy":"new"}`},
	} {
		if w := h.admin("POST", "/admin/api/"+save[0], save[1]); w.Code != 200 {
			t.Fatalf("%s: %d %s", save[0], w.Code, w.Body)
		}
	}
	c.add(t, "2026-11-30", "ref_exec", "ref-exec", 4, 0, "0.06")
	c.add(t, "2026-11-30", "ref_exec", "llm", 1, 19, "0") // it had another target then
	c.add(t, "2026-11-29", "gone", "llm", 149, 3100, "0")
	want(t, h.admin("GET", "/admin/api/cost?days=2", ""), 200, `{"days":2,"total":{"jobs":154,"cost_usd":0.06,"tokens":3119},
		"by_day":[{"day":"2026-11-29","jobs":149,"cost_usd":0,"tokens":3100},{"day":"2026-11-30","jobs":5,"cost_usd":0.06,"tokens":19}],
		"by_target":[{"target":"ref-exec","jobs":4,"cost_usd":0.06,"tokens":0},{"target":"llm","jobs":150,"cost_usd":0,"tokens":3119}],
		"by_route":[{"route":"Route ref_exec","route_key":"ref_exec","jobs":5,"cost_usd":0.06,"tokens":19},
			{"route":"gone","route_key":"gone","jobs":149,"cost_usd":0,"tokens":3100}]}`)
	if c.from.Format(time.DateOnly) != "2026-11-29" || c.to.Format(time.DateOnly) != "2026-11-30" {
		t.Errorf("asked for %v to %v", c.from, c.to)
	}
}

func TestTheCostReportOrdersWhatCostsTheSameByTokensAndJobs(t *testing.T) {
	t.Parallel()
	h, c := setupCost(t)
	c.add(t, "2026-11-30", "d", "d", 1, 1, "0")
	c.add(t, "2026-11-30", "c", "c", 2, 1, "0")
	c.add(t, "2026-11-30", "b", "b", 1, 2, "0")
	c.add(t, "2026-11-30", "a", "a", 1, 0, "0.000000000001")
	c.add(t, "2026-11-30", "e", "e", 1, 1, "0")
	w := h.admin("GET", "/admin/api/cost", "")
	want(t, w, 200, `{"days":30,"total":{"jobs":6,"cost_usd":0.000000000001,"tokens":5},
		"by_day":[{"day":"2026-11-30","jobs":6,"cost_usd":0.000000000001,"tokens":5}],
		"by_target":[{"target":"a","jobs":1,"cost_usd":0.000000000001,"tokens":0},{"target":"b","jobs":1,"cost_usd":0,"tokens":2},
			{"target":"c","jobs":2,"cost_usd":0,"tokens":1},{"target":"d","jobs":1,"cost_usd":0,"tokens":1},{"target":"e","jobs":1,"cost_usd":0,"tokens":1}],
		"by_route":[{"route":"a","route_key":"a","jobs":1,"cost_usd":0.000000000001,"tokens":0},{"route":"b","route_key":"b","jobs":1,"cost_usd":0,"tokens":2},
			{"route":"c","route_key":"c","jobs":2,"cost_usd":0,"tokens":1},{"route":"d","route_key":"d","jobs":1,"cost_usd":0,"tokens":1},{"route":"e","route_key":"e","jobs":1,"cost_usd":0,"tokens":1}]}`)
}

func TestDaysOfTheCostReport(t *testing.T) {
	t.Parallel()
	h, c := setupCost(t)
	for query, first := range map[string]string{
		"": "2026-11-01", "?days=30": "2026-11-01", "?days=x": "2026-11-01", "?days=1": "2026-11-30", "?days=0": "2026-11-30", "?days=-5": "2026-11-30",
		"?days=2": "2026-11-29", "?days=366": "2025-11-30", "?days=367": "2025-11-30", "?days=99999999999999999999": "2026-11-01",
	} {
		if w := h.admin("GET", "/admin/api/cost"+query, ""); w.Code != 200 || c.from.Format(time.DateOnly) != first || !c.to.Equal(now) {
			t.Errorf("%s: %d, asked for %v to %v, want %s", query, w.Code, c.from, c.to, first)
		}
	}
	c.rows = nil
	want(t, h.admin("GET", "/admin/api/cost", ""), 200, `{"days":30,"total":{"jobs":0,"cost_usd":0,"tokens":0},"by_day":[],"by_target":[],"by_route":[]}`)
	c.err = errors.New("down")
	if w := h.admin("GET", "/admin/api/cost", ""); w.Code != 500 {
		t.Errorf("status %d", w.Code)
	}
	if w := h.call("GET", "/admin/api/cost", "", ""); w.Code != 401 {
		t.Errorf("without a token: %d", w.Code)
	}
}
