package audience_test

import (
	"encoding/json"
	"testing"

	"bailing/shared/audience"
)

func policy(t testing.TB, text string) *audience.Policy {
	t.Helper()
	if text == "" {
		return nil
	}
	p := &audience.Policy{}
	if err := json.Unmarshal([]byte(text), p); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return p
}

// clerk has a value for every list.
var clerk = audience.Principal{ID: "u1", Tenant: "north", Roles: []string{"clerk", "buyer"}, Audience: "staff", Channel: "desk", ClientAppID: "crm"}

// nobody came through the same client and channel.
var nobody = audience.Principal{Channel: "desk", ClientAppID: "crm"}

func TestAdmit(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		rule, policy string
		who          audience.Principal
		want         audience.Reason
	}{
		{"no policy admits", "", clerk, audience.Admitted},
		{"no policy admits nobody", "", audience.Principal{}, audience.Admitted},
		{"an empty policy admits nobody", `{}`, audience.Principal{}, audience.Admitted},
		{"enabled false admits, whatever the lists", `{"enabled":false,"clients":["x"],"roles":["x"],"anonymous":false}`, audience.Principal{}, audience.Admitted},
		{"enabled true applies", `{"enabled":true,"clients":["x"]}`, clerk, audience.ClientRefused},
		{"without enabled it applies", `{"clients":["x"]}`, clerk, audience.ClientRefused},
		{"empty lists ask nothing", `{"clients":[],"channels":[],"tenants":[],"roles":[],"principals":[],"audiences":[]}`, nobody, audience.Admitted},

		{"client", `{"clients":["x","crm"]}`, clerk, audience.Admitted},
		{"another client", `{"clients":["crm2"]}`, clerk, audience.ClientRefused},
		{"an administrator has no client", `{"clients":["crm"]}`, audience.Principal{ID: "u1"}, audience.ClientRefused},
		{"any client, and none", `{"clients":["*"]}`, audience.Principal{ID: "u1"}, audience.Admitted},
		{"channel", `{"channels":["desk"]}`, clerk, audience.Admitted},
		{"another channel", `{"channels":["phone"]}`, clerk, audience.ChannelRefused},
		{"no channel", `{"channels":["desk"]}`, audience.Principal{ID: "u1"}, audience.ChannelRefused},
		{"tenant", `{"tenants":["north"]}`, clerk, audience.Admitted},
		{"another tenant", `{"tenants":["south"]}`, clerk, audience.TenantRefused},
		{"no tenant", `{"tenants":["north"]}`, audience.Principal{ID: "u1"}, audience.TenantRefused},
		{"one role is enough", `{"roles":["chief","buyer"]}`, clerk, audience.Admitted},
		{"no role of the list", `{"roles":["chief"]}`, clerk, audience.RoleRefused},
		{"no role at all", `{"roles":["chief"]}`, audience.Principal{ID: "u1"}, audience.RoleRefused},
		{"principal", `{"principals":["u1"]}`, clerk, audience.Admitted},
		{"another principal", `{"principals":["u2"]}`, clerk, audience.PrincipalRefused},
		{"audience", `{"audiences":["staff"]}`, clerk, audience.Admitted},
		{"another audience", `{"audiences":["guest"]}`, clerk, audience.AudienceRefused},
		{"a wildcard beside other entries", `{"roles":["chief","*"]}`, clerk, audience.Admitted},
		{"letter by letter", `{"roles":["Clerk"],"audiences":["staf"]}`, clerk, audience.RoleRefused},
		{"a wildcard is no pattern", `{"tenants":["nor*"]}`, clerk, audience.TenantRefused},

		{"anonymous false refuses nobody", `{"anonymous":false}`, nobody, audience.RequiresPrincipal},
		{"anonymous false admits somebody", `{"anonymous":false}`, clerk, audience.Admitted},
		{"anonymous true admits nobody", `{"anonymous":true}`, nobody, audience.Admitted},
		{"anonymous true does not lift the lists", `{"anonymous":true,"roles":["clerk"]}`, nobody, audience.RoleRefused},
		{"anonymous true and a wildcard", `{"anonymous":true,"roles":["*"],"tenants":["*"],"principals":["*"],"audiences":["*"]}`, nobody, audience.Admitted},
		{"a list about persons needs one: tenants", `{"tenants":["north"]}`, nobody, audience.RequiresPrincipal},
		{"a list about persons needs one: roles", `{"roles":["clerk"]}`, nobody, audience.RequiresPrincipal},
		{"a list about persons needs one: principals", `{"principals":["u1"]}`, nobody, audience.RequiresPrincipal},
		{"a list about persons needs one: audiences", `{"audiences":["staff"]}`, nobody, audience.RequiresPrincipal},
		{"a wildcard needs none", `{"roles":["*"],"principals":["*"]}`, nobody, audience.Admitted},
		{"lists about the way in need none", `{"clients":["crm"],"channels":["desk"]}`, nobody, audience.Admitted},
	} {
		if got := policy(t, tc.policy).Admit(tc.who); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.rule, got, tc.want)
		}
	}
}

// Each step mends what the step before was refused for.
func TestReasonsComeInTheContractsOrder(t *testing.T) {
	t.Parallel()
	p := policy(t, `{"anonymous":false,"clients":["c"],"channels":["h"],"tenants":["t"],"roles":["r"],"principals":["p"],"audiences":["a"]}`)
	who := audience.Principal{}
	for _, step := range []struct {
		want audience.Reason
		mend func()
	}{
		{"route_requires_principal", func() { who.ID = "x" }},
		{"client_not_allowed", func() { who.ClientAppID = "c" }},
		{"channel_not_allowed", func() { who.Channel = "h" }},
		{"tenant_not_allowed", func() { who.Tenant = "t" }},
		{"role_not_allowed", func() { who.Roles = []string{"r"} }},
		{"principal_not_allowed", func() { who.ID = "p" }},
		{"audience_not_allowed", func() { who.Audience = "a" }},
		{"", func() {}},
	} {
		if got := p.Admit(who); got != step.want {
			t.Errorf("%+v: %q, want %q", who, got, step.want)
		}
		step.mend()
	}
}

func TestPolicyReadsAsItWasWritten(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{}`,
		`{"enabled":false,"anonymous":false,"auto":false,"priority":0}`,
		`{"enabled":true,"clients":[],"keywords":[]}`,
		`{"enabled":true,"anonymous":true,"clients":["a"],"channels":["b"],"tenants":["c"],"roles":["d"],"principals":["e"],"audiences":["f"],` +
			`"auto":true,"priority":-1000,"keywords":["g","h"]}`,
	} {
		got, err := json.Marshal(policy(t, text))
		if err != nil || string(got) != text {
			t.Errorf("%s, want %s (%v)", got, text, err)
		}
	}
}

func TestRoutable(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"": false, `{}`: false, `{"auto":false}`: false, `{"keywords":[]}`: false, `{"priority":5}`: false,
		`{"auto":true}`: true, `{"keywords":["k"]}`: true, `{"auto":false,"keywords":["k"]}`: true, `{"enabled":false,"auto":true}`: true,
	} {
		if got := policy(t, text).Routable(); got != want {
			t.Errorf("%s: %t, want %t", text, got, want)
		}
	}
}
