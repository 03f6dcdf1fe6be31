package registry_test

import "testing"

func TestTheOverviewOfAgents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	routed(t, b)
	b.must(t, "client", samples["client"])
	b.must(t, "client", `{"app_id":"plain","name":"Plain","allowed_routes":["*"],"enabled":false}`)
	b.must(t, "route", samples["route"])
	b.must(t, "route", with(t, with(t, route, "agent_client", `{"enabled":true}`), "description", `"d"`))
	b.must(t, "route", with(t, with(t, with(t, route, "agent_client", `{"enabled":true}`), "route_key", `"off"`), "enabled", "false"))
	for _, key := range []string{`"auto"`, `"No.Agent"`} { // agents cannot name these
		b.must(t, "route", with(t, with(t, route, "agent_client", `{"enabled":true}`), "route_key", key))
	}
	got, err := b.AgentOverview(t.Context(), 30)
	if err != nil {
		t.Fatal(err)
	}
	none := `"runs":0,"conversations":0,"completed":0,"failed":0,"tool_calls":0,"total_tokens":0,"approvals":{}`
	wantJSON(t, got, `{"days":30,
		"applications":[
			{"app_id":"crm","name":"CRM","enabled":true,"agent_auth_enabled":true,"agent_authorize_url":"https://crm.example/agent?x=1","allowed_routes":["desk"],
			 "last_used_at":null,"stats":{"client_app_id":"crm",`+none+`}},
			{"app_id":"plain","name":"Plain","enabled":false,"agent_auth_enabled":false,"agent_authorize_url":null,"allowed_routes":["*"],
			 "last_used_at":null,"stats":{"client_app_id":"plain",`+none+`}}],
		"workspaces":[{"route":"ref_plain","name":"Plain","description":"d"}],
		"setup_workspaces":[
			{"route":"desk","name":"Desk","enabled":true,"runtime_enabled":false,"direct_enabled":true,"system_info_configured":true,"source_count":1,"write_tool_count":1,"permission":"full"},
			{"route":"off","name":"Plain","enabled":false,"runtime_enabled":true,"direct_enabled":false,"system_info_configured":false,"source_count":0,"write_tool_count":0,"permission":null},
			{"route":"ref_plain","name":"Plain","enabled":true,"runtime_enabled":true,"direct_enabled":false,"system_info_configured":false,"source_count":0,"write_tool_count":0,"permission":null}],
		"summary":{"applications":2,"agent_auth_enabled":1,"sessions":{"total":0,"active":0,"expired":0,"revoked":0},`+none+`,"failure_rate":0}}`)
}

func TestTheDaysOfAnOverviewAreClamped(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for days, want := range map[int]int{-5: 1, 0: 1, 1: 1, 90: 90, 91: 90} {
		if got, err := b.AgentOverview(t.Context(), days); err != nil || got.Days != want {
			t.Errorf("%d days: %d, %v", days, got.Days, err)
		}
	}
	got, err := b.AgentOverview(t.Context(), 30)
	if err != nil {
		t.Fatal(err)
	}
	wantJSON(t, []any{got.Applications, got.Workspaces, got.Setups}, `[[],[],[]]`)
}
