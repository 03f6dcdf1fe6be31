package catalog

import (
	"bailing/shared/capability"
	"bailing/shared/registry"
)

// Direct is a route's policy for calls that agents make themselves, `tools.agent_direct` (agent §3.1).
type Direct = registry.AgentDirect

// rules is a policy that is ready to judge tools.
type rules struct {
	writes map[string]bool // may be called
	forced map[string]bool // always need approval
}

// newRules is the policy of a route with a permission. Writes need `readwrite` or `full` (agent §3.1).
func newRules(d *Direct, permission string) rules {
	r := rules{writes: map[string]bool{}, forced: map[string]bool{}}
	if permission == "readwrite" || permission == "full" {
		r.writes = set(d.WriteTools)
		r.forced = set(d.Forced())
	}
	return r
}

func set(names []string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, name := range names {
		m[name] = true
	}
	return m
}

func (r *rules) admits(t *capability.Tool) bool { return t.Readonly || r.writes[t.Name] }

// confirms reports the effective confirm flag of a tool. A route only ever adds approval (agent §6.11).
func (r *rules) confirms(t *capability.Tool) bool {
	return t.ConfirmRequired || !t.Readonly && r.forced[t.Name]
}
