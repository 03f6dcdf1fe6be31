package catalog

import (
	"encoding/json"
	"math"

	"bailing/shared/capability"
	"bailing/shared/textlimit"
)

// maxDescription bounds the description of a tool, in UTF-16 units (agent §5.1). The compiler keeps to 500 code points, so
// that only catalogues of other releases can be longer.
const maxDescription = 1200

// Projection is a tool as every answer to an agent shows it (agent §5.1).
type Projection struct {
	Name             string          `json:"name"`
	Description      string          `json:"description"` // not empty, at most 1200 UTF-16 units
	InputSchema      json.RawMessage `json:"input_schema"`
	Scope            string          `json:"scope"`
	Risk             capability.Risk `json:"risk"`
	ApprovalRequired bool            `json:"approval_required"`
	Readonly         bool            `json:"readonly"`
	Idempotent       bool            `json:"idempotent"`

	GuidanceAvailable    bool `json:"usage_guidance_available,omitempty"`
	DescriptionTruncated bool `json:"description_truncated,omitempty"`
}

// Projection shows the tool. Its schema is shared: it is read, never changed.
func (t *Tool) Projection() Projection {
	return Projection{
		Name: t.Tool.Name, Description: t.facet.description, InputSchema: t.facet.schema, Scope: t.Tool.Scope, Risk: t.Tool.Risk,
		ApprovalRequired: t.ApprovalRequired(), Readonly: t.Tool.Readonly, Idempotent: t.Tool.Idempotent,
		GuidanceAvailable: t.Tool.Guidance != nil, DescriptionTruncated: t.facet.truncated,
	}
}

// Projections shows every tool, by name: the legacy catalogue (agent §5.5).
func (s *Surface) Projections() []Projection {
	all := make([]Projection, len(s.Tools))
	for i := range s.Tools {
		all[i] = s.Tools[i].Projection()
	}
	return all
}

// facet is what agents see of a compiled tool, whatever the route: made once and shared by all surfaces.
type facet struct {
	description string
	truncated   bool // description is not all there was
	schema      json.RawMessage
	digest      digest // of the tool's part of the capability revision
}

func newFacet(t *capability.Tool) facet {
	f := facet{schema: publicSchema(t.InputSchema)}
	text := textlimit.Safe(t.Description, math.MaxInt)
	f.description = textlimit.Cut(text, maxDescription)
	f.truncated = t.DescriptionTruncated || len(f.description) < len(text)
	if f.description == "" { // clients refuse every tool of an answer in which one has no description (agent §13.3)
		f.description = t.Name
	}
	f.digest = toolDigest(t, &f)
	return f
}
