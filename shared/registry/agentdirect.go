package registry

import (
	"slices"

	"bailing/shared/apierr"
	"bailing/shared/canonical"
	"bailing/shared/textlimit"
)

// AgentDirect is a route's policy for calls that agents make themselves, `tools.agent_direct` (agent §3.1). A list that is nil
// is absent.
type AgentDirect struct {
	Enabled bool `json:"enabled"`
	// WriteTools are the tools that are not read-only and may be called all the same.
	WriteTools []string `json:"write_tools,omitempty"`
	// ForceApproval are write tools of which every call needs approval, whatever their declaration says.
	ForceApproval []string `json:"force_approval_tools,omitempty"`
	// Unattended is the older form: every write tool needs approval but these.
	Unattended []string `json:"unattended_write_tools,omitempty"`
}

// Validate checks the lists: when present they have at least one name, each of the form TOOL and only once; the last two name
// write tools, and are not configured together. Its errors are [apierr.Invalid] and name the member.
func (d *AgentDirect) Validate() error {
	const path = "tools.agent_direct."
	writes := nameSet(d.WriteTools)
	for _, list := range []struct {
		member string
		names  []string
		within bool // of the write tools
	}{
		{"write_tools", d.WriteTools, false},
		{"force_approval_tools", d.ForceApproval, true},
		{"unattended_write_tools", d.Unattended, true},
	} {
		if list.names != nil && len(list.names) == 0 {
			return apierr.New(apierr.Invalid, path+list.member+" must have at least one name; leave it out for none")
		}
		seen := make(map[string]bool, len(list.names))
		for _, name := range list.names {
			switch {
			case !textlimit.ToolName(name):
				return apierr.New(apierr.Invalid, path+list.member+
					" must hold names of tools: 1 to 64 letters, digits and underscores, no digit first, no wildcard")
			case seen[name]:
				return apierr.Newf(apierr.Invalid, "%s%s names %s twice", path, list.member, name)
			case list.within && !writes[name]:
				return apierr.Newf(apierr.Invalid, "%s%s names %s, which is not among the write_tools", path, list.member, name)
			}
			seen[name] = true
		}
	}
	if d.ForceApproval != nil && d.Unattended != nil {
		return apierr.New(apierr.Invalid, path+"force_approval_tools and unattended_write_tools must not be configured together")
	}
	return nil
}

// Forced are the write tools of which every call needs approval, the older form translated (agent §5.2).
func (d *AgentDirect) Forced() []string {
	forced := slices.Clone(d.ForceApproval)
	if d.Unattended == nil {
		return forced
	}
	unattended := nameSet(d.Unattended)
	for _, name := range d.WriteTools {
		if !unattended[name] {
			forced = append(forced, name)
		}
	}
	return forced
}

// nameSet is for lists that are as long as a body may be: comparing each name with each would take minutes.
func nameSet(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

func (o *object) agentDirect(name string) *AgentDirect {
	v, ok := o.get(name)
	if !ok {
		return nil
	}
	c := o.child(name, v)
	if _, given := c.get("enabled"); !given {
		c.fail("enabled", "is required")
	}
	d := &AgentDirect{
		Enabled:       c.boolean("enabled", false),
		WriteTools:    c.toolNames("write_tools"),
		ForceApproval: c.toolNames("force_approval_tools"),
		Unattended:    c.toolNames("unattended_write_tools"),
	}
	o.adopt(c.done())
	if o.err == nil {
		o.adopt(d.Validate())
	}
	return d
}

// toolNames is an optional list of strings; which strings they may be is for Validate to say.
func (o *object) toolNames(name string) []string {
	v, ok := o.get(name)
	if !ok {
		return nil
	}
	if v.Kind() != canonical.Array {
		o.fail(name, "must be a list of names of tools")
		return nil
	}
	out := make([]string, 0, v.Len())
	for _, e := range v.Elems() {
		if e.Kind() != canonical.String {
			o.fail(name, "must be a list of names of tools")
			return nil
		}
		out = append(out, e.Text())
	}
	return out
}
