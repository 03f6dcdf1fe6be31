package job_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"bailing/shared/audience"
	"bailing/shared/job/jobtest"
	"bailing/shared/registry"
)

// withPolicy is a route like the seeded one, with an audience policy.
func withPolicy(t *testing.T, w *jobtest.World, key, policy string, change ...func(*registry.Route)) {
	t.Helper()
	r := jobtest.SupportRoute()
	r.RouteKey, r.Name, r.Audience = key, "Route "+key, &audience.Policy{}
	if err := json.Unmarshal([]byte(policy), r.Audience); err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(&r)
	}
	w.SaveRoute(r)
}

func TestAudiencePolicyDecidesWhoMaySubmit(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t)
	token := w.Seed()
	for i, tc := range []struct{ rule, policy, metadata, reason string }{
		{"no list", `{}`, `{}`, ""},
		{"a policy that is off", `{"enabled":false,"roles":["chief"]}`, `{}`, ""},
		{"a role", `{"roles":["clerk"]}`, `{"subject":{"uid":"u","role":"buyer, clerk"}}`, ""},
		{"no principal", `{"roles":["clerk"]}`, `{"roles":["clerk"]}`, "route_requires_principal"},
		{"anonymous", `{"anonymous":true}`, `{}`, ""},
		{"not anonymous", `{"anonymous":false}`, `{}`, "route_requires_principal"},
		{"the client of the token", `{"clients":["acme"]}`, `{}`, ""},
		{"a client that metadata claims", `{"clients":["other"]}`, `{"principal":{"id":"u","client_app_id":"other"}}`, "client_not_allowed"},
		{"a channel that metadata claims", `{"channels":["desk"]}`, `{"principal":{"id":"u","channel":"desk"}}`, "channel_not_allowed"},
		{"a tenant", `{"tenants":["north"]}`, `{"uid":"u","org_id":"south"}`, "tenant_not_allowed"},
		{"another role", `{"roles":["chief"]}`, `{"uid":"u","roles":["clerk"]}`, "role_not_allowed"},
		{"another principal", `{"principals":["v"]}`, `{"uid":"u"}`, "principal_not_allowed"},
		{"another audience", `{"audiences":["staff"]}`, `{"uid":"u","user_type":"guest"}`, "audience_not_allowed"},
	} {
		withPolicy(t, w, fmt.Sprint("route", i), tc.policy)
		request := body(map[string]string{"request_id": quoted(fmt.Sprint("r", i)), "route": quoted(fmt.Sprint("route", i)), "metadata": tc.metadata})
		_, err := w.Launch(token, request)
		if tc.reason == "" {
			if err != nil {
				t.Errorf("%s: %v", tc.rule, err)
			}
			continue
		}
		e := refusal(t, err)
		if e.Code.Status() != 403 || e.Body["reason"] != tc.reason || !strings.Contains(e.Message, "route") {
			t.Errorf("%s: %d %v, want 403 %s", tc.rule, e.Code.Status(), e.Body, tc.reason)
		}
	}
}

func TestAudienceBindsAdministratorsWhoAreNoClient(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t)
	w.Seed()
	withPolicy(t, w, "of-client", `{"clients":["acme"]}`)
	withPolicy(t, w, "of-role", `{"roles":["clerk"]}`)
	_, err := w.Launch(jobtest.ServerToken, body(map[string]string{"route": `"of-client"`}))
	if got := refusal(t, err).Body["reason"]; got != "client_not_allowed" {
		t.Errorf("reason %v", got)
	}
	w.MustLaunch(jobtest.ServerToken, body(map[string]string{"route": `"of-role"`, "metadata": `{"uid":"u","role":"clerk"}`}))
}

func TestWhomTheAudienceRefusesLeavesNothing(t *testing.T) {
	t.Parallel()
	w, token := limitedWorld(t, 10)
	withPolicy(t, w, "staff-only", `{"audiences":["staff"]}`)
	request := func(kind string) string {
		return body(map[string]string{"route": `"staff-only"`, "metadata": `{"uid":"u","user_type":` + quoted(kind) + `}`})
	}
	_, err := w.Launch(token, request("guest"))
	wantStatus(t, err, 403)
	if n := spent(t, w, token); n != 0 {
		t.Errorf("%d permits spent, want 0 (D4)", n)
	}
	if m := w.Queue.Take(); len(m) != 0 {
		t.Errorf("messages %v", m)
	}
	if a := w.MustLaunch(token, request("staff")); a.PayloadMismatch { // the id is still free
		t.Error("the refused request kept its id")
	}
}

// Authorisation comes before the look-up of the request id, as for a route that was disabled (core §1.1).
func TestReplayIsRefusedWhenTheAudienceNoLongerAdmits(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t)
	token := w.Seed()
	withPolicy(t, w, "desk", `{"roles":["clerk"]}`)
	request := body(map[string]string{"route": `"desk"`, "metadata": `{"uid":"u","role":"clerk"}`})
	w.MustLaunch(token, request)
	withPolicy(t, w, "desk", `{"roles":["chief"]}`)
	_, err := w.Launch(token, request)
	wantStatus(t, err, 403)
}

// Each step mends what the step before was refused for (core §1.1, steps 8 to 10).
func TestAudienceIsCheckedAfterTheRouteAndBeforeTheTarget(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t)
	token := w.Seed()
	role := "buyer"
	save := func(enabled bool, target string) {
		withPolicy(t, w, "desk", `{"roles":["clerk"]}`, func(r *registry.Route) { r.Enabled, r.Target = enabled, target })
	}
	save(false, "absent")
	for _, step := range []struct {
		status int
		mend   func()
	}{
		{400, func() { save(true, "absent") }},
		{403, func() { role = "clerk" }},
		{400, func() { save(true, registry.TargetLLM) }},
		{202, func() {}},
	} {
		_, err := w.Launch(token, body(map[string]string{"route": `"desk"`, "metadata": `{"uid":"u","role":` + quoted(role) + `}`}))
		if step.status != 202 {
			wantStatus(t, err, step.status)
		} else if err != nil {
			t.Error(err)
		}
		step.mend()
	}
}
