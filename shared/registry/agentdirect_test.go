package registry_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bailing/shared/apierr"
	"bailing/shared/registry"
)

func TestAgentDirectIsValidated(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 64)
	for rule, tc := range map[string]struct {
		policy registry.AgentDirect
		want   string // in the message; "" for a valid policy
	}{
		"nothing":                          {registry.AgentDirect{}, ""},
		"write tools alone":                {registry.AgentDirect{Enabled: true, WriteTools: []string{"a", "b"}}, ""},
		"some of them forced":              {registry.AgentDirect{WriteTools: []string{"a", "b"}, ForceApproval: []string{"b"}}, ""},
		"all of them forced":               {registry.AgentDirect{WriteTools: []string{"a"}, ForceApproval: []string{"a"}}, ""},
		"the older form":                   {registry.AgentDirect{WriteTools: []string{"a", "b"}, Unattended: []string{"a"}}, ""},
		"a name of 64 characters":          {registry.AgentDirect{WriteTools: []string{long}}, ""},
		"a name of 65 characters":          {registry.AgentDirect{WriteTools: []string{long + "a"}}, "write_tools must hold names of tools"},
		"an empty list":                    {registry.AgentDirect{WriteTools: []string{}}, "write_tools must have at least one name"},
		"an empty forced list":             {registry.AgentDirect{WriteTools: []string{"a"}, ForceApproval: []string{}}, "force_approval_tools must have at least one name"},
		"an empty unattended list":         {registry.AgentDirect{WriteTools: []string{"a"}, Unattended: []string{}}, "unattended_write_tools must have at least one name"},
		"an empty name":                    {registry.AgentDirect{WriteTools: []string{""}}, "write_tools must hold names of tools"},
		"a wildcard":                       {registry.AgentDirect{WriteTools: []string{"*"}}, "write_tools must hold names of tools"},
		"a wildcard at the end":            {registry.AgentDirect{WriteTools: []string{"order_*"}}, "write_tools must hold names of tools"},
		"a name twice":                     {registry.AgentDirect{WriteTools: []string{"a", "b", "a"}}, "write_tools names a twice"},
		"names differ by case":             {registry.AgentDirect{WriteTools: []string{"a", "A"}}, ""},
		"a forced name twice":              {registry.AgentDirect{WriteTools: []string{"a"}, ForceApproval: []string{"a", "a"}}, "force_approval_tools names a twice"},
		"a forced tool that is no write":   {registry.AgentDirect{WriteTools: []string{"a"}, ForceApproval: []string{"b"}}, "force_approval_tools names b, which is not among"},
		"forced without write tools":       {registry.AgentDirect{ForceApproval: []string{"b"}}, "force_approval_tools names b, which is not among"},
		"an unattended tool that is none":  {registry.AgentDirect{WriteTools: []string{"a"}, Unattended: []string{"b"}}, "unattended_write_tools names b, which is not among"},
		"both forms":                       {registry.AgentDirect{WriteTools: []string{"a"}, ForceApproval: []string{"a"}, Unattended: []string{"a"}}, "must not be configured together"},
		"lists are checked when it is off": {registry.AgentDirect{Enabled: false, WriteTools: []string{}}, "write_tools must have at least one name"},
	} {
		err := tc.policy.Validate()
		if tc.want == "" {
			if err != nil {
				t.Errorf("%s: %v", rule, err)
			}
			continue
		}
		message := apierr.Of(err).Message
		if apierr.CodeOf(err) != apierr.Invalid || !strings.HasPrefix(message, "tools.agent_direct.") || !strings.Contains(message, tc.want) {
			t.Errorf("%s: %v, want %q", rule, err, tc.want)
		}
	}
}

func TestAgentDirectRules(t *testing.T) {
	t.Parallel()
	direct := func(members string) string { return `{"agent_direct":{` + members + `}}` }
	checkRules(t, "route", route, routed, []rule{
		{"tools", `{"agent_direct":null}`, "", ""},
		{"tools", `{"agent_direct":[]}`, "tools.agent_direct", "object"},
		{"tools", direct(``), "tools.agent_direct.enabled", "required"},
		{"tools", direct(`"enabled":null`), "tools.agent_direct.enabled", "required"},
		{"tools", direct(`"enabled":"yes"`), "tools.agent_direct.enabled", "true or false"},
		{"tools", direct(`"enabled":true`), "", ""},
		{"tools", direct(`"enabled":false,"write_tools":["a","b"],"force_approval_tools":["b"]`), "", ""},
		{"tools", direct(`"enabled":true,"write_tools":["a","b"],"unattended_write_tools":["b"]`), "", ""},
		{"tools", direct(`"enabled":true,"write_tools":null`), "", ""},
		{"tools", direct(`"enabled":true,"write_tools":"a"`), "tools.agent_direct.write_tools", "list"},
		{"tools", direct(`"enabled":true,"write_tools":[1]`), "tools.agent_direct.write_tools", "list"},
		{"tools", direct(`"enabled":true,"write_tools":[]`), "tools.agent_direct.write_tools", "at least one"},
		{"tools", direct(`"enabled":true,"write_tools":["a","a"]`), "tools.agent_direct.write_tools", "twice"},
		{"tools", direct(`"enabled":true,"write_tools":["*"]`), "tools.agent_direct.write_tools", "no wildcard"},
		{"tools", direct(`"enabled":true,"write_tools":["a"],"force_approval_tools":["b"]`), "tools.agent_direct.force_approval_tools", "not among"},
		{"tools", direct(`"enabled":true,"write_tools":["a"],"force_approval_tools":["a"],"unattended_write_tools":["a"]`),
			"tools.agent_direct.force_approval_tools", "must not be configured together"},
		{"tools", direct(`"enabled":true,"wildcard":true`), "tools.agent_direct.wildcard", "not a known member"},
	})
}

func TestForcedTranslatesTheOlderForm(t *testing.T) {
	t.Parallel()
	d := registry.AgentDirect{WriteTools: []string{"a", "b", "c"}, Unattended: []string{"b"}}
	if got := d.Forced(); !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("forced %v, want the write tools that are not unattended", got)
	}
	d = registry.AgentDirect{WriteTools: []string{"a", "b"}, ForceApproval: []string{"b"}}
	if got := d.Forced(); !slices.Equal(got, []string{"b"}) {
		t.Errorf("forced %v", got)
	}
}

// A body of the largest size holds so many names that comparing each with each would take a minute.
func TestPoliciesOfVeryManyNamesAreJudged(t *testing.T) {
	t.Parallel()
	d := &registry.AgentDirect{Enabled: true}
	for i := range 200_000 {
		d.WriteTools = append(d.WriteTools, fmt.Sprintf("t%06d", i))
	}
	d.ForceApproval = d.WriteTools
	if err := d.Validate(); err != nil {
		t.Fatal(err)
	}
	d.ForceApproval, d.Unattended = nil, d.WriteTools[1:]
	if err := d.Validate(); err != nil {
		t.Fatal(err)
	}
	if forced := d.Forced(); len(forced) != 1 || forced[0] != "t000000" {
		t.Fatalf("%d tools are forced", len(forced))
	}
}
