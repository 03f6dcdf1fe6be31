package audience

import (
	"cmp"
	"slices"
)

// Codes of a decision without a route (core §1.4, D45).
const (
	NoMatch   = "route_auto_no_match"
	Ambiguous = "route_auto_ambiguous"
)

// Why a route is no candidate, beside the reasons of its policy (core §1.4).
const (
	RouteDisabled  Reason = "route_disabled"
	AutoNotEnabled Reason = "auto_not_enabled"
	NoScore        Reason = "score_zero_or_lower"
)

// MaxCandidates is how many candidates a decision lists.
const MaxCandidates = 5

// What a hit adds to a score (core §1.4).
const hitScore = 10

// Route is what the choice needs of a route.
type Route struct {
	Key     string
	Name    string
	Enabled bool
	Allowed bool // the client may use it
	Policy  *Policy
}

// Candidate is a route with its score, which is above 0. Reasons are of keywords, route, tenant, audience, role and client, in
// this order.
type Candidate struct {
	RouteKey string   `json:"route_key"`
	Score    int      `json:"score"`
	Reasons  []string `json:"reasons"`
}

// Decision is which route `route: "auto"` means (core §1.4).
type Decision struct {
	Mode       string      `json:"mode"` // "auto"
	OK         bool        `json:"ok"`
	RouteKey   string      `json:"route_key,omitempty"` // with OK
	Candidates []Candidate `json:"candidates"`          // at most MaxCandidates, the best first
	Error      string      `json:"error,omitempty"`     // without OK: NoMatch or Ambiguous
}

// Verdict is what became of one route.
type Verdict struct {
	Candidate        // without score and reasons when an earlier rule rejected it
	Rejected  Reason // "" for a candidate
}

// Decide chooses among the routes for a principal and a text of [SearchText]. The verdicts are about every route, by its key. The
// result depends on the set of the routes, not on their order.
func Decide(routes []Route, p Principal, text Text) (Decision, []Verdict) {
	verdicts := make([]Verdict, 0, len(routes))
	var best []Candidate
	who := newRequester(p)
	for _, r := range routes {
		v := r.judge(who, text)
		verdicts = append(verdicts, v)
		if v.Rejected == Admitted {
			best = append(best, v.Candidate)
		}
	}
	slices.SortFunc(verdicts, func(a, b Verdict) int { return cmp.Compare(a.RouteKey, b.RouteKey) })
	slices.SortFunc(best, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.RouteKey, b.RouteKey))
	})
	d := Decision{Mode: "auto", Candidates: append([]Candidate{}, best[:min(len(best), MaxCandidates)]...)}
	switch {
	case len(best) == 0:
		d.Error = NoMatch
	case len(best) > 1 && best[0].Score == best[1].Score:
		d.Error = Ambiguous
	default:
		d.OK, d.RouteKey = true, best[0].RouteKey
	}
	return d, verdicts
}

// judge applies the rules in the order of core §1.4.
func (r Route) judge(p requester, text Text) Verdict {
	v := Verdict{Candidate: Candidate{RouteKey: r.Key, Reasons: []string{}}}
	switch {
	case !r.Enabled:
		v.Rejected = RouteDisabled
	case !r.Policy.Routable():
		v.Rejected = AutoNotEnabled
	case !r.Allowed:
		v.Rejected = ClientRefused
	default:
		v.Rejected = r.Policy.admit(p)
	}
	if v.Rejected != Admitted {
		return v
	}
	v.Score, v.Reasons = r.score(p, text)
	if v.Score <= 0 {
		v.Rejected = NoScore
	}
	return v
}

// score counts what speaks for a route that admits the principal. An attribute speaks for it when a list names its value; the
// wildcard admits and says nothing about this request.
func (r Route) score(p requester, text Text) (score int, reasons []string) {
	if r.Policy.Priority != nil {
		score = *r.Policy.Priority
	}
	reasons = []string{}
	found := func(reason string, words ...string) {
		hits := 0
		for _, w := range words {
			if text.has(w) {
				hits++
			}
		}
		if hits > 0 {
			score += hits * hitScore
			reasons = append(reasons, reason)
		}
	}
	found("keywords", r.Policy.Keywords...)
	found("route", r.Key, r.Name)
	reasons = append(reasons, r.Policy.positives(p)...)
	score += len(reasons)
	if r.Policy.auto() {
		score++
	}
	return score, reasons
}

// positives is the attributes of the principal that the policy names, in the order of core §1.4.
func (l *Policy) positives(p requester) (names []string) {
	if !l.active() {
		return nil
	}
	matched := map[string]bool{}
	for _, r := range l.rules(p) {
		matched[r.positive] = r.matched()
	}
	for _, name := range []string{"tenant", "audience", "role", "client"} {
		if matched[name] {
			names = append(names, name)
		}
	}
	return names
}
