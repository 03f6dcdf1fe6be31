package catalog

import "bailing/shared/capability"

// DetailSchema names the answer with a tool's details.
const DetailSchema = "bailing.agent-tool-detail.v1"

// Detail is the answer with a tool's details (agent §5.4).
type Detail struct {
	SchemaVersion      string     `json:"schema_version"`
	Route              string     `json:"route"`
	CapabilityRevision string     `json:"capability_revision"`
	Tool               Projection `json:"tool"`
	UsageGuidance      Guidance   `json:"usage_guidance"`
}

// Guidance is how a tool is to be used, in the words of the business. The compiler cut the text to the bounds that stand beside
// it; the counts are of all of it.
type Guidance struct {
	Text        string `json:"text"`
	Truncated   bool   `json:"truncated"`
	SourceChars int    `json:"source_chars"` // code points
	MaxChars    int    `json:"max_chars"`
	SourceBytes int    `json:"source_bytes"` // of UTF-8
	MaxBytes    int    `json:"max_bytes"`
}

func newGuidance(of *capability.Guidance) Guidance {
	g := Guidance{MaxChars: capability.MaxGuidanceChars, MaxBytes: capability.MaxGuidanceBytes}
	if of != nil {
		g.Text, g.Truncated, g.SourceChars, g.SourceBytes = of.Text, of.Truncated, of.SourceChars, of.SourceBytes
	}
	return g
}

// Detail is the answer for the tool called name; false when the surface has none. A tool without guidance has an empty text.
func (s *Surface) Detail(name string) (Detail, bool) {
	t := s.Find(name)
	if t == nil {
		return Detail{}, false
	}
	return Detail{
		SchemaVersion: DetailSchema, Route: s.Route, CapabilityRevision: s.Revision,
		Tool: t.Projection(), UsageGuidance: newGuidance(t.Tool.Guidance),
	}, true
}
