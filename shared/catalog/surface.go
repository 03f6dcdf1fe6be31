package catalog

import (
	"encoding/json"
	"fmt"
	"slices"

	"bailing/shared/capability"
	"bailing/shared/textlimit"
)

// Access is where a route's tools are looked at from, and what decides which of them are there.
type Access struct {
	Route      string // its key
	Permission string // of the route
	// Audience is the route's audience policy as it is configured; empty when there is none. Who is admitted was decided before.
	Audience json.RawMessage
	// Direct is the policy for agents. When it is off the surface has no tools (agent §3.1, knowledge-only workspaces).
	Direct Direct
	// HasSubject says that calls would be made for a person.
	HasSubject bool
}

// Surface is what a route offers to an agent session (agent §5.2). It is immutable and safe for concurrent use.
type Surface struct {
	Route string
	// Revision is the capability revision: 64 hexadecimal digits that change when the surface may have changed, and only then.
	Revision string
	Tools    []Tool   // by name (agent §1.7)
	Problems []string // why tools are missing

	sources []attachedSource
}

// Tool is a tool as a surface offers it: a view of the compiled tool, which is shared and never changed.
type Tool struct {
	*Attached
	// Confirm is the effective confirm flag: every call needs approval, because the business or the route says so (D48).
	Confirm bool

	facet *facet
}

// ApprovalRequired reports whether some call of the tool may need approval: always, or by one of its rules (agent §5.1).
func (t *Tool) ApprovalRequired() bool { return t.Confirm || t.Tool.NeedsApproval() }

// NewSurface filters what is attached by subject and policy (agent §5.2). The policy must be valid, see [Direct.Validate].
func NewSurface(a *Attachment, access Access) *Surface {
	s := &Surface{Route: access.Route, Problems: slices.Clip(a.Problems), sources: a.sources}
	if access.Direct.Enabled {
		s.admit(a, &access)
	}
	s.Revision = s.revision(&access)
	return s
}

func (s *Surface) admit(a *Attachment, access *Access) {
	policy := newRules(&access.Direct, access.Permission)
	s.Tools = make([]Tool, 0, len(a.Tools))
	for i := range a.Tools {
		t := &a.Tools[i]
		if t.Tool.RequiresSubject && !access.HasSubject || !policy.admits(t.Tool) {
			continue
		}
		facet := &a.sources[t.source].compiled.published()[t.index]
		if problem := unreadable(t.Tool, facet); problem != "" {
			s.Problems = append(s.Problems, problem)
			continue
		}
		s.Tools = append(s.Tools, Tool{Attached: t, Confirm: policy.confirms(t.Tool), facet: facet})
	}
	slices.SortFunc(s.Tools, func(a, b Tool) int { return CompareNames(a.Tool.Name, b.Tool.Name) })
}

// What clients take of one tool (agent §13.3). One tool beyond makes them refuse the whole answer, with all the other tools.
const (
	maxSchemaBytes = 65_536
	maxScope       = 256 // UTF-16 units
)

// unreadable says why a tool is not offered to agents; "" when it is.
func unreadable(t *capability.Tool, f *facet) string {
	switch {
	case len(f.schema) > maxSchemaBytes:
		return fmt.Sprintf("tool %s is not offered to agents: its input schema has more than %d bytes", t.Name, maxSchemaBytes)
	case !textlimit.Fits(t.Scope, maxScope):
		return fmt.Sprintf("tool %s is not offered to agents: its scope has more than %d characters", t.Name, maxScope)
	}
	return ""
}

// Find returns the tool called name, nil when the surface has none.
func (s *Surface) Find(name string) *Tool {
	i, ok := slices.BinarySearchFunc(s.Tools, name, func(t Tool, name string) int { return CompareNames(t.Tool.Name, name) })
	if !ok {
		return nil
	}
	return &s.Tools[i]
}

// Counters are numbers of tools over the whole surface (agent §3.3).
type Counters struct {
	Readonly         int
	Writes           int
	ApprovalRequired int
}

// Counters counts the tools.
func (s *Surface) Counters() (c Counters) {
	for i := range s.Tools {
		if s.Tools[i].Tool.Readonly {
			c.Readonly++
		} else {
			c.Writes++
		}
		if s.Tools[i].ApprovalRequired() {
			c.ApprovalRequired++
		}
	}
	return c
}
