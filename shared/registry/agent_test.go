package registry_test

import (
	"strings"
	"testing"

	"bailing/shared/registry"
)

// described is an agent_client whose system_info has one member set to raw JSON, or removed when raw is "".
func described(t *testing.T, member, raw string) string {
	t.Helper()
	return `{"system_info":` + with(t, `{"name":"Desk","summary":"Tickets.","domains":["a"],"boundaries":["b"]}`, member, raw) + `}`
}

func list(n int, entry string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(entry+",", n), ",") + "]"
}

func TestAgentClientRules(t *testing.T) {
	t.Parallel()
	info := "agent_client.system_info"
	rules := []rule{
		{"agent_client", `null`, "", ""},
		{"agent_client", `{}`, "", ""},
		{"agent_client", `[]`, "agent_client", "object"},
		{"agent_client", `{"enabled":false}`, "", ""},
		{"agent_client", `{"enabled":1}`, "agent_client.enabled", "true or false"},
		{"agent_client", `{"instructions":` + text(20_000) + `}`, "", ""},
		{"agent_client", `{"instructions":` + text(20_001) + `}`, "agent_client.instructions", "at most 20000"},
		{"agent_client", `{"instructions":"a\u0000"}`, "agent_client.instructions", "control"},
		{"agent_client", `{"instructions":"a\n\tb"}`, "", ""},
		{"agent_client", `{"instructions":7}`, "agent_client.instructions", "string"},
		{"agent_client", `{"active_tool_limit":0}`, "agent_client.active_tool_limit", "from 1 to 12"},
		{"agent_client", `{"active_tool_limit":1}`, "", ""},
		{"agent_client", `{"active_tool_limit":12}`, "", ""},
		{"agent_client", `{"active_tool_limit":13}`, "agent_client.active_tool_limit", "from 1 to 12"},
		{"agent_client", `{"active_tool_limit":1.5}`, "agent_client.active_tool_limit", "whole"},
		{"agent_client", `{"artifact_upload":{"enabled":true}}`, "agent_client.artifact_upload", "not supported"},
		{"agent_client", `{"artifact_upload":null}`, "", ""},
		{"agent_client", `{"tools":[]}`, "agent_client.tools", "not a known member"},
		{"agent_client", `{"system_info":null}`, "", ""},
		{"agent_client", `{"system_info":"Desk"}`, info, "object"},
		{"agent_client", described(t, "note", `"x"`), info + ".note", "not a known member"},
		{"agent_client", described(t, "domains", list(6, `"a"`)), "", ""},
		{"agent_client", described(t, "domains", list(7, `"a"`)), info + ".domains", "at most 6"},
		{"agent_client", described(t, "domains", `[`+text(120)+`]`), "", ""},
		{"agent_client", described(t, "domains", `[`+text(121)+`]`), info + ".domains", "at most 120"},
		{"agent_client", described(t, "boundaries", list(6, `"a"`)), "", ""},
		{"agent_client", described(t, "boundaries", list(7, `"a"`)), info + ".boundaries", "at most 6"},
		{"agent_client", described(t, "boundaries", `[`+text(160)+`]`), "", ""},
		{"agent_client", described(t, "boundaries", `[`+text(161)+`]`), info + ".boundaries", "at most 160"},
	}
	for member, max := range map[string]int{"name": 120, "summary": 400} {
		full := info + "." + member
		rules = append(rules,
			rule{"agent_client", described(t, member, ""), full, "required"},
			rule{"agent_client", described(t, member, `null`), full, "required"},
			rule{"agent_client", described(t, member, `7`), full, "text of 1 to"},
			rule{"agent_client", described(t, member, `"\u3000 "`), full, "text of 1 to"},
			rule{"agent_client", described(t, member, text(max)), "", ""},
			rule{"agent_client", described(t, member, text(max+1)), full, "at most"},
			rule{"agent_client", described(t, member, `" `+strings.Trim(text(max), `"`)+` "`), "", ""},
		)
		for _, broken := range []string{`a\nb`, `a\tb`, `a\rb`, `a\u0000`, `a\u007f`, `a\u0085b`, `a\u2028b`, `a\u2029b`, `\ud800`} {
			rules = append(rules, rule{"agent_client", described(t, member, `"`+broken+`"`), full, "one line"})
		}
	}
	for _, member := range []string{"domains", "boundaries"} {
		full := info + "." + member
		rules = append(rules,
			rule{"agent_client", described(t, member, ""), full, "required"},
			rule{"agent_client", described(t, member, `"a"`), full, "list"},
			rule{"agent_client", described(t, member, `[]`), "", ""},
			rule{"agent_client", described(t, member, `[""]`), full, "has an entry"},
			rule{"agent_client", described(t, member, `[1]`), full, "has an entry"},
			rule{"agent_client", described(t, member, `["a\nb"]`), full, "one line"},
		)
	}
	checkRules(t, "route", route, routed, rules)
}

func TestTextsOfSystemInfoAreKeptTrimmed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	routed(t, b)
	b.must(t, "route", with(t, route, "agent_client", `{"system_info":{"name":"\ufeff Desk ","summary":" s\u00a0","domains":[" a "],"boundaries":[" b"]}}`))
	wantJSON(t, b.entry(t, "route", route)["agent_client"], `{"system_info":{"name":"Desk","summary":"s","domains":["a"],"boundaries":["b"]}}`)
}

func TestTheRuntimeFollowsDirectToolsUnlessItIsSet(t *testing.T) {
	t.Parallel()
	on, off := true, false
	direct := &registry.RouteTools{AgentDirect: &registry.AgentDirect{Enabled: true}}
	for name, tc := range map[string]struct {
		route           registry.Route
		runtime, direct bool
	}{
		"nothing":               {registry.Route{}, false, false},
		"tools without policy":  {registry.Route{Tools: &registry.RouteTools{}}, false, false},
		"direct off":            {registry.Route{Tools: &registry.RouteTools{AgentDirect: &registry.AgentDirect{}}}, false, false},
		"direct on":             {registry.Route{Tools: direct}, true, true},
		"client without switch": {registry.Route{Tools: direct, AgentClient: &registry.AgentClient{}}, true, true},
		"client off":            {registry.Route{Tools: direct, AgentClient: &registry.AgentClient{Enabled: &off}}, false, true},
		"client on":             {registry.Route{AgentClient: &registry.AgentClient{Enabled: &on}}, true, false},
	} {
		if got := tc.route.RuntimeEnabled(); got != tc.runtime {
			t.Errorf("%s: runtime %v", name, got)
		}
		if got := tc.route.DirectEnabled(); got != tc.direct {
			t.Errorf("%s: direct %v", name, got)
		}
	}
}

func TestActiveToolsHaveADefault(t *testing.T) {
	t.Parallel()
	var none *registry.AgentClient
	for want, a := range map[int]*registry.AgentClient{8: none, 3: {ActiveToolLimit: 3}} {
		if got := a.ActiveTools(); got != want {
			t.Errorf("%d, want %d", got, want)
		}
	}
	if got := (&registry.AgentClient{}).ActiveTools(); got != 8 {
		t.Errorf("%d, want the default of 8", got)
	}
}
