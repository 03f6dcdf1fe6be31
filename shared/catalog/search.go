package catalog

import (
	"slices"

	"bailing/shared/textlimit"
)

// SearchSchema names the answer to a search.
const SearchSchema = "bailing.agent-capability-search.v1"

// Bounds of a search (agent §5.3).
const (
	MaxQuery   = 2000 // UTF-16 units
	MaxResults = 12
)

// Search is the answer to a capability search (agent §5.3).
type Search struct {
	SchemaVersion      string       `json:"schema_version"`
	Route              string       `json:"route"`
	CapabilityRevision string       `json:"capability_revision"`
	Query              string       `json:"query"` // as it was used
	Tools              []Projection `json:"tools"` // best first, at most 12
	Discovery          Discovery    `json:"discovery"`
}

// Discovery says what the tools of an answer are a part of (agent §5.3).
type Discovery struct {
	Mode              string `json:"mode"`
	Scope             string `json:"scope"`
	ReturnedCount     int    `json:"returned_count"`
	AuthorizedTotal   int    `json:"authorized_total"`
	MatchedTotal      *int   `json:"matched_total"` // always null: candidates are ranked, not matched
	MatchedTotalExact bool   `json:"matched_total_exact"`
	Limit             int    `json:"limit"`
	Truncated         bool   `json:"truncated"`
	HasMore           bool   `json:"has_more"`
	TruncationScope   string `json:"truncation_scope"`
	Pagination        string `json:"pagination"`
}

// Search ranks the tools of the surface for a query and shows the first of them, at most limit. A query that is longer than
// [MaxQuery], as the message of a run may be, is cut; a limit outside of 1 to [MaxResults] means the nearest.
func (s *Surface) Search(query string, limit int) Search {
	query = textlimit.Safe(query, MaxQuery)
	limit = min(max(limit, 1), MaxResults)
	best := s.best(query, limit)
	tools := make([]Projection, len(best))
	for i, tool := range best {
		tools[i] = s.Tools[tool].Projection()
	}
	more := len(s.Tools) > len(tools)
	return Search{
		SchemaVersion: SearchSchema, Route: s.Route, CapabilityRevision: s.Revision, Query: query, Tools: tools,
		Discovery: Discovery{
			Mode: "ranked_candidates", Scope: "current_authorization", ReturnedCount: len(tools), AuthorizedTotal: len(s.Tools),
			Limit: limit, Truncated: more, HasMore: more, TruncationScope: "authorized_catalog", Pagination: "unsupported",
		},
	}
}

// best are the places of the tools with the highest scores, in order. Tools without any score count: an answer with fewer tools
// than the surface has would tell the agent that it knows all of them.
func (s *Surface) best(query string, limit int) []int {
	scores := s.scores(query)
	best := make([]int, 0, limit+1)
	for tool, score := range scores {
		at := len(best)
		for at > 0 && scores[best[at-1]] < score { // of equal scores the first by name stays first
			at--
		}
		if at < limit {
			best = slices.Insert(best, at, tool)
			best = best[:min(len(best), limit)]
		}
	}
	return best
}

// scores is the score of each tool of the surface.
func (s *Surface) scores(query string) []int {
	q := newTerms(query)
	bySource := make([][]int, len(s.sources))
	scores := make([]int, len(s.Tools))
	for i := range s.Tools {
		t := &s.Tools[i]
		if bySource[t.source] == nil {
			bySource[t.source] = s.sources[t.source].compiled.index().score(&q)
		}
		scores[i] = bySource[t.source][t.index]
	}
	return scores
}
