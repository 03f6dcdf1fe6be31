package registry_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"bailing/shared/audience"
	"bailing/shared/registry"
)

// numbered is a list of n distinct entries.
func numbered(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf(`"e%d"`, i)
	}
	return "[" + strings.Join(list, ",") + "]"
}

func TestAudienceRules(t *testing.T) {
	t.Parallel()
	in := func(member, value string) string { return fmt.Sprintf(`{%q:%s}`, member, value) }
	rules := []rule{
		{"audience", `null`, "", ""},
		{"audience", `{}`, "", ""},
		{"audience", `[]`, "audience", "object"},
		{"audience", `true`, "audience", "object"},
		{"audience", `{"keyword":["x"]}`, "audience.keyword", "not a known member"},
		{"audience", `{"Auto":true}`, "audience.Auto", "not a known member"},
		{"audience", `{"priority":-1000}`, "", ""},
		{"audience", `{"priority":-1001}`, "audience.priority", "from -1000 to 1000"},
		{"audience", `{"priority":1000}`, "", ""},
		{"audience", `{"priority":1001}`, "audience.priority", "from -1000 to 1000"},
		{"audience", `{"priority":1.5}`, "audience.priority", "whole number"},
		{"audience", `{"priority":"1"}`, "audience.priority", "whole number"},
		{"audience", `{"priority":null}`, "", ""},
	}
	for _, member := range []string{"enabled", "auto", "anonymous"} {
		rules = append(rules,
			rule{"audience", in(member, `true`), "", ""},
			rule{"audience", in(member, `false`), "", ""},
			rule{"audience", in(member, `null`), "", ""},
			rule{"audience", in(member, `1`), "audience." + member, "true or false"},
			rule{"audience", in(member, `"true"`), "audience." + member, "true or false"})
	}
	for member, most := range map[string]int{
		"keywords": 128, "clients": 128, "channels": 128, "tenants": 128, "roles": 64, "principals": 128, "audiences": 64,
	} {
		full := "audience." + member
		rules = append(rules,
			rule{"audience", in(member, `[]`), "", ""},
			rule{"audience", in(member, `["*"]`), "", ""},
			rule{"audience", in(member, `["a","a"]`), "", ""},
			rule{"audience", in(member, numbered(100)), "", ""},
			rule{"audience", in(member, numbered(101)), full, "at most 100 entries"},
			rule{"audience", in(member, "["+text(most)+"]"), "", ""},
			rule{"audience", in(member, "["+text(most+1)+"]"), full, fmt.Sprintf("at most %d characters", most)},
			rule{"audience", in(member, `"a"`), full, "list of strings"},
			rule{"audience", in(member, `{"a":1}`), full, "list of strings"},
			rule{"audience", in(member, `["a",1]`), full, "list of strings"},
			rule{"audience", in(member, `["a",null]`), full, "list of strings"},
			rule{"audience", in(member, `[""]`), full, "not blank"},
			rule{"audience", in(member, `["\u00a0"]`), full, "not blank"},
			rule{"audience", in(member, `[" a"]`), full, "spaces around"},
			rule{"audience", in(member, `["a\nb"]`), full, "control characters"},
			rule{"audience", in(member, `["a\u0000b"]`), full, "control characters"},
			rule{"audience", in(member, `["a\ud800"]`), full, "valid Unicode"})
	}
	checkRules(t, "route", route, routed, rules)
}

func TestAudienceIsListedAsItWasSavedAndMayBeSentBack(t *testing.T) {
	t.Parallel()
	for saved, listed := range map[string]string{
		`null`: ``,
		`{}`:   `{}`,
		`{"enabled":false,"anonymous":false,"auto":false,"priority":0,"clients":[]}`: `{"enabled":false,"anonymous":false,"clients":[],"auto":false,"priority":0}`,
		`{"keywords":["b","a","b"]}`: `{"keywords":["b","a"]}`,
		`{"enabled":true,"auto":true,"priority":-7,"keywords":["k"],"clients":["c"],"channels":["h"],"tenants":["t"],"roles":["r"],"principals":["p"],` +
			`"audiences":["a"],"anonymous":true}`: `{"enabled":true,"anonymous":true,"clients":["c"],"channels":["h"],"tenants":["t"],"roles":["r"],` +
			`"principals":["p"],"audiences":["a"],"auto":true,"priority":-7,"keywords":["k"]}`,
	} {
		b := setup(t)
		routed(t, b)
		body := with(t, route, "audience", saved)
		for range 2 {
			b.must(t, "route", body)
			list, err := b.ListRoutes(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if list[0].Audience != nil {
				text, err := json.Marshal(list[0].Audience)
				if err != nil {
					t.Fatal(err)
				}
				got = string(text)
			}
			if got != listed {
				t.Errorf("%s is listed as %s, want %s", saved, got, listed)
			}
			if listed != "" {
				body = with(t, route, "audience", listed)
			}
		}
	}
}

func TestAutoRoutesAreThoseThatTheClientMayUse(t *testing.T) {
	t.Parallel()
	routes := []registry.Route{{RouteKey: "a1"}, {RouteKey: "b1"}, {RouteKey: "Capital.Key"}, {RouteKey: "auto"}}
	for _, tc := range []struct {
		rule   string
		client *registry.Client
		want   string
	}{
		{"an administrator may use all", nil, "a1 b1 Capital.Key auto"},
		{"a client what its allowlist holds", &registry.Client{Enabled: true, AllowedRoutes: []string{"b1", "c1"}}, "b1"},
		{"what it could name", &registry.Client{Enabled: true, AllowedRoutes: []string{"*"}}, "a1 b1"},
		{"what it could name, even if it is allowed", &registry.Client{Enabled: true, AllowedRoutes: []string{"Capital.Key", "auto"}}, ""},
		{"a disabled one nothing", &registry.Client{AllowedRoutes: []string{"*"}}, ""},
	} {
		var got []string
		for _, r := range registry.AutoRoutes(routes, tc.client) {
			if r.Allowed {
				got = append(got, r.Key)
			}
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%s: %v, want %s", tc.rule, got, tc.want)
		}
	}
	p := &audience.Policy{Keywords: []string{"k"}}
	got := registry.AutoRoutes([]registry.Route{{RouteKey: "a1", Name: "n", Enabled: true, Audience: p}}, nil)[0]
	if got != (audience.Route{Key: "a1", Name: "n", Enabled: true, Allowed: true, Policy: p}) {
		t.Errorf("%+v", got)
	}
}
