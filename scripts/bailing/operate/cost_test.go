package operate

import "testing"

const costAnswer = `{"days":30,"total":{"jobs":154,"cost_usd":0.060000000001,"tokens":3119},` +
	`"by_day":[{"day":"2026-11-29","jobs":149,"cost_usd":0,"tokens":3100},{"day":"2026-11-30","jobs":5,"cost_usd":0.060000000001,"tokens":19}],` +
	`"by_target":[{"target":"ref-exec","jobs":4,"cost_usd":0.060000000001,"tokens":0},{"target":"llm","jobs":150,"cost_usd":0,"tokens":3119}],` +
	`"by_route":[{"route":"Orders \u001b[2J","route_key":"orders","jobs":5,"cost_usd":0.060000000001,"tokens":19},{"route":"gone","route_key":"gone","jobs":149,"cost_usd":0,"tokens":3100}]}`

func TestCostIsShownByDayTargetAndRoute(t *testing.T) {
	t.Parallel()
	h, s := session(t)
	h.Set("GET /admin/api/cost?days=30", 200, costAnswer)
	s.Want(0, "30 days: 154 jobs, 3119 tokens, 0.060000000001 USD", "cost")
	s.Golden("cost.txt")
	s.Want(0, "", "cost --json")
	s.Golden("cost.json")
	h.Set("GET /admin/api/cost?days=1", 200, `{"days":1,"total":{"jobs":0,"cost_usd":0,"tokens":0},"by_day":[],"by_target":[],"by_route":[]}`)
	s.Want(0, "1 day: 0 jobs, 0 tokens, 0 USD", "cost --days 1")
	h.Set("GET /admin/api/cost?days=366", 403, `{"error":"runs:read is needed"}`)
	s.Want(2, "runs:read is needed", "cost --days 366")
}

func TestDaysOfCostAreCheckedBeforeTheyTravel(t *testing.T) {
	t.Parallel()
	h, s := session(t)
	s.Want(2, "--days is from 1 to 366", "cost --days 0")
	s.Want(2, "--days is from 1 to 366", "cost --days 367")
	s.Want(2, "takes no arguments", "cost now")
	if len(h.Asked()) > 0 {
		t.Errorf("%v", h.Asked())
	}
}
