package audience_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"bailing/shared/audience"
	"bailing/shared/canonical"
)

func TestSearchText(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ rule, input, metadata, want string }{
		{"input alone", "Where IS it?", `{}`, "where is it?"},
		{"keys and values", "in", `{"Kind":"Refund","n":12.50,"b":true,"z":null}`, "in\x00kind\x00refund\x00n\x0012.5\x00b\x00true\x00z"},
		{"at any depth", "in", `{"a":{"b":["C",{"d":[["E"]]}]}}`, "in\x00a\x00b\x00c\x00d\x00e"},
		{"letters of other scripts", "ÄÖ ΑΒ Ж", `{}`, "äö αβ ж"},
	} {
		if got := audience.SearchText(tc.input, value(t, tc.metadata)).String(); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.rule, got, tc.want)
		}
	}
	if got := audience.SearchText("in", canonical.Value{}).String(); got != "in" {
		t.Errorf("without metadata: %q", got)
	}
}

func route(t testing.TB, key, name, text string) audience.Route {
	return audience.Route{Key: key, Name: name, Enabled: true, Allowed: true, Policy: policy(t, text)}
}

func plain(text string) audience.Text { return audience.SearchText(text, canonical.Value{}) }

// Words are found in the same way on both sides of the length from which on a text is indexed.
func TestWordsAreFoundInTextsOfEveryLength(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 4<<10 - 8, 4<<10 - 7, 4<<10 - 6, 100_000} {
		pad := strings.Repeat("-", n)
		for input, want := range map[string]int{pad + " Refund": 11, "REFUND " + pad: 11, pad + " refun" + pad: 0, "refun" + pad + "d": 0} {
			if n == 0 && input == "refund" {
				want = 11
			}
			_, verdicts := audience.Decide([]audience.Route{route(t, "xx", "yy", `{"keywords":["refund"]}`)}, clerk, plain(input))
			if got := verdicts[0].Score; got != want {
				t.Errorf("%d bytes more: score %d of %.20q, want %d", n, got, input, want)
			}
		}
	}
}

// The name of a route may have line breaks, and so may a value.
func TestNoWordIsFoundAcrossTheBorderOfTwoValues(t *testing.T) {
	t.Parallel()
	routes := []audience.Route{route(t, "xx", "one\ntwo", `{"keywords":["zzz"]}`)}
	for metadata, want := range map[string]int{`{"one":"two"}`: 0, `{"k":["one","two"]}`: 0, `{"k":"one\ntwo"}`: 11} {
		_, verdicts := audience.Decide(routes, clerk, audience.SearchText("one", value(t, metadata)))
		if got := verdicts[0].Score; got != want {
			t.Errorf("%s: score %d, want %d", metadata, got, want)
		}
	}
}

func TestScore(t *testing.T) {
	t.Parallel()
	const text = "i want a refund for order 7, refund!"
	for _, tc := range []struct {
		rule, policy string
		score        int
		reasons      string
	}{
		{"auto alone", `{"auto":true}`, 1, ""},
		{"a keyword and its reason", `{"keywords":["refund"]}`, 11, "keywords"},
		{"the case of a keyword does not count", `{"keywords":["REFUND"]}`, 11, "keywords"},
		{"a keyword counts once however often it is there", `{"keywords":["refund","nothing"]}`, 11, "keywords"},
		{"each keyword counts, their reason once", `{"keywords":["refund","order"]}`, 21, "keywords"},
		{"a keyword may have words", `{"keywords":["order 7"]}`, 11, "keywords"},
		{"priority", `{"priority":7,"keywords":["refund"]}`, 18, "keywords"},
		{"a negative priority", `{"priority":-10,"keywords":["refund"]}`, 1, "keywords"},
		{"auto beside keywords", `{"auto":true,"keywords":["refund"]}`, 12, "keywords"},
		{"a tenant that is named", `{"auto":true,"tenants":["north"]}`, 2, "tenant"},
		{"an audience that is named", `{"auto":true,"audiences":["staff"]}`, 2, "audience"},
		{"roles that are named count once", `{"auto":true,"roles":["clerk","buyer"]}`, 2, "role"},
		{"a client that is named", `{"auto":true,"clients":["crm"]}`, 2, "client"},
		{"a wildcard is no reason", `{"auto":true,"clients":["*"],"tenants":["*"],"roles":["*"],"audiences":["*"]}`, 1, ""},
		{"a value beside a wildcard is one", `{"auto":true,"clients":["*","crm"]}`, 2, "client"},
		{"channels and principals are none", `{"auto":true,"channels":["desk"],"principals":["u1"]}`, 1, ""},
		{"all of them", `{"auto":true,"priority":1000,"keywords":["refund"],"clients":["crm"],"tenants":["north"],"roles":["clerk"],"audiences":["staff"]}`,
			1016, "keywords,tenant,audience,role,client"},
		{"lists that are off speak for nothing", `{"enabled":false,"auto":true,"clients":["crm"],"tenants":["south"]}`, 1, ""},
	} {
		_, verdicts := audience.Decide([]audience.Route{route(t, "xx", "yy", tc.policy)}, clerk, plain(text))
		v := verdicts[0]
		if v.Score != tc.score || strings.Join(v.Reasons, ",") != tc.reasons || v.Rejected != "" {
			t.Errorf("%s: %+v, want %d %s", tc.rule, v, tc.score, tc.reasons)
		}
	}
	for _, tc := range []struct {
		rule, key, name string
		score           int
	}{
		{"the key", "refund", "x-name", 12},
		{"the name", "x-key", "Refund FOR order", 12},
		{"both, their reason once", "refund", "Order", 22},
		{"neither", "x-key", "x-name", 1},
		{"no name is no hit", "x-key", "", 1},
	} {
		_, verdicts := audience.Decide([]audience.Route{route(t, tc.key, tc.name, `{"auto":true}`)}, clerk, plain(text))
		if got := verdicts[0].Score; got != tc.score {
			t.Errorf("%s: %d, want %d", tc.rule, got, tc.score)
		}
	}
}

func TestEveryRejectionHasItsReason(t *testing.T) {
	t.Parallel()
	r := audience.Route{Key: "r", Name: "n", Policy: policy(t, `{"roles":["chief"]}`)}
	for _, step := range []struct {
		want audience.Reason
		mend func()
	}{
		{"route_disabled", func() { r.Enabled = true }},
		{"auto_not_enabled", func() { r.Policy = policy(t, `{"roles":["chief"],"keywords":["zzz"]}`) }},
		{"client_not_allowed", func() { r.Allowed = true }},
		{"role_not_allowed", func() { r.Policy = policy(t, `{"keywords":["zzz"],"priority":0}`) }},
		{"score_zero_or_lower", func() { r.Policy = policy(t, `{"keywords":["zzz"],"priority":-1}`) }},
		{"score_zero_or_lower", func() { r.Policy = policy(t, `{"keywords":["zzz"],"priority":1}`) }},
		{"", func() {}},
	} {
		d, verdicts := audience.Decide([]audience.Route{r}, clerk, plain("text"))
		if got := verdicts[0].Rejected; got != step.want || d.OK != (step.want == "") {
			t.Errorf("%+v: %q %+v, want %q", r, got, d, step.want)
		}
		step.mend()
	}
}

// Comparing every role with every entry of every list would take half a minute here.
func TestEveryOfVeryManyRolesCounts(t *testing.T) {
	t.Parallel()
	p := audience.Principal{ID: "u", Roles: make([]string, 150_000)}
	for i := range p.Roles {
		p.Roles[i] = fmt.Sprint("role", i)
	}
	others := make([]string, audience.MaxEntries)
	for i := range others {
		others[i] = fmt.Sprint("none", i)
	}
	routes := []audience.Route{{Key: "found", Enabled: true, Allowed: true, Policy: &audience.Policy{
		Keywords: []string{"k"}, Roles: append(others[1:], "role149999"),
	}}}
	for i := range 1000 {
		routes = append(routes, audience.Route{Key: fmt.Sprint("other", i), Enabled: true, Allowed: true, Policy: &audience.Policy{
			Keywords: []string{"k"}, Roles: others,
		}})
	}
	d, verdicts := audience.Decide(routes, p, audience.SearchText("k", canonical.Value{}))
	if !d.OK || d.RouteKey != "found" || len(d.Candidates) != 1 || d.Candidates[0].Score != 12 || verdicts[1].Rejected != audience.RoleRefused {
		t.Fatalf("%+v", d)
	}
}

func TestDecision(t *testing.T) {
	t.Parallel()
	with := func(priorities ...int) (routes []audience.Route) {
		for i, p := range priorities {
			routes = append(routes, route(t, fmt.Sprintf("key%d", i), "", fmt.Sprintf(`{"auto":true,"priority":%d}`, p)))
		}
		return routes
	}
	for _, tc := range []struct {
		rule   string
		routes []audience.Route
		want   string
	}{
		{"no route", nil, `{"mode":"auto","ok":false,"candidates":[],"error":"route_auto_no_match"}`},
		{"none above zero", with(-1, -1000), `{"mode":"auto","ok":false,"candidates":[],"error":"route_auto_no_match"}`},
		{"one above zero", with(-1, 0), `{"mode":"auto","ok":true,"route_key":"key1","candidates":[{"route_key":"key1","score":1,"reasons":[]}]}`},
		{"the best", with(1, 2), `{"mode":"auto","ok":true,"route_key":"key1","candidates":[` +
			`{"route_key":"key1","score":3,"reasons":[]},{"route_key":"key0","score":2,"reasons":[]}]}`},
		{"a tie at the top, by key", with(2, 1, 2), `{"mode":"auto","ok":false,"candidates":[{"route_key":"key0","score":3,"reasons":[]},` +
			`{"route_key":"key2","score":3,"reasons":[]},{"route_key":"key1","score":2,"reasons":[]}],"error":"route_auto_ambiguous"}`},
		{"a tie below is none", with(1, 2, 1), `{"mode":"auto","ok":true,"route_key":"key1","candidates":[{"route_key":"key1","score":3,"reasons":[]},` +
			`{"route_key":"key0","score":2,"reasons":[]},{"route_key":"key2","score":2,"reasons":[]}]}`},
	} {
		d, _ := audience.Decide(tc.routes, clerk, plain(""))
		if got, err := json.Marshal(d); err != nil || string(got) != tc.want {
			t.Errorf("%s: %s, want %s", tc.rule, got, tc.want)
		}
	}
}

func TestFiveCandidatesAreListedAndTheSixthIsNot(t *testing.T) {
	t.Parallel()
	var routes []audience.Route
	for n := 1; n <= 6; n++ {
		routes = append(routes, route(t, fmt.Sprint("key", n), "", fmt.Sprintf(`{"auto":true,"priority":%d}`, n)))
		d, verdicts := audience.Decide(routes, clerk, plain(""))
		if len(d.Candidates) != min(n, 5) || len(verdicts) != n || d.RouteKey != fmt.Sprint("key", n) {
			t.Errorf("of %d routes: %+v", n, d)
		}
	}
}

// naive is the rule of core §1.4 written down a second time: nothing is joined, everything is counted on its own.
func naive(routes []audience.Route, p audience.Principal, input string, metadata any) (best []audience.Candidate) {
	var parts []string
	var collect func(any)
	collect = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, member := range v {
				parts = append(parts, key)
				collect(member)
			}
		case []any:
			for _, e := range v {
				collect(e)
			}
		case nil:
		default:
			parts = append(parts, fmt.Sprint(v))
		}
	}
	collect(metadata)
	parts = append(parts, input)
	found := func(word string) bool {
		return word != "" && slices.ContainsFunc(parts, func(part string) bool {
			return strings.Contains(strings.ToLower(part), strings.ToLower(word))
		})
	}
	for _, r := range routes {
		l := r.Policy
		if !r.Enabled || !r.Allowed || l == nil || (l.Auto == nil || !*l.Auto) && len(l.Keywords) == 0 || l.Admit(p) != "" {
			continue
		}
		c := audience.Candidate{RouteKey: r.Key, Reasons: []string{}}
		speak := func(reason string, yes bool) {
			if yes {
				c.Score++
				c.Reasons = append(c.Reasons, reason)
			}
		}
		hits := 0
		for _, k := range l.Keywords {
			if found(k) {
				hits++
			}
		}
		speak("keywords", hits > 0)
		if found(r.Key) {
			hits++
		}
		if found(r.Name) {
			hits++
		}
		speak("route", found(r.Key) || found(r.Name))
		on := l.Enabled == nil || *l.Enabled
		speak("tenant", on && p.Tenant != "" && slices.Contains(l.Tenants, p.Tenant))
		speak("audience", on && p.Audience != "" && slices.Contains(l.Audiences, p.Audience))
		role := false
		for _, have := range p.Roles {
			role = role || slices.Contains(l.Roles, have)
		}
		speak("role", on && role)
		speak("client", on && p.ClientAppID != "" && slices.Contains(l.Clients, p.ClientAppID))
		c.Score += 10 * hits
		if l.Priority != nil {
			c.Score += *l.Priority
		}
		if l.Auto != nil && *l.Auto {
			c.Score++
		}
		if c.Score > 0 {
			best = append(best, c)
		}
	}
	slices.SortFunc(best, func(a, b audience.Candidate) int {
		return cmp.Or(b.Score-a.Score, strings.Compare(a.RouteKey, b.RouteKey))
	})
	return best
}

// words are few, so that they meet.
var words = []string{"a", "B", "ab", "Abc", "ca", "7", "true", "ж", "x y"}

func pick(r *rand.Rand, list []string) string { return list[r.IntN(len(list))] }

func some(r *rand.Rand, extra ...string) []string {
	if r.IntN(4) > 0 {
		return nil
	}
	out := []string{}
	for range r.IntN(4) {
		out = append(out, pick(r, append(slices.Clone(words), extra...)))
	}
	return out
}

func maybe[T any](r *rand.Rand, v T) *T {
	if r.IntN(2) == 0 {
		return nil
	}
	return &v
}

func randomRoutes(r *rand.Rand) (routes []audience.Route) {
	for i := range r.IntN(9) {
		routes = append(routes, audience.Route{
			Key: fmt.Sprint(strings.ToLower(pick(r, words)), i), Name: pick(r, append(words, "")), Enabled: r.IntN(16) > 0, Allowed: r.IntN(16) > 0,
			Policy: &audience.Policy{
				Enabled: maybe(r, r.IntN(3) > 0), Anonymous: maybe(r, r.IntN(3) > 0), Auto: maybe(r, r.IntN(2) > 0), Priority: maybe(r, r.IntN(3)*5-5),
				Keywords: append(some(r), some(r)...), Clients: some(r, "*"), Channels: some(r, "*", "*"), Tenants: some(r, "*"), Roles: some(r, "*"),
				Principals: some(r, "*"), Audiences: some(r, "*"),
			},
		})
	}
	return routes
}

func randomMetadata(r *rand.Rand, depth int) any {
	switch n := r.IntN(6); {
	case n == 0 && depth > 0:
		return nil
	case n == 1 && depth > 0:
		return float64(r.IntN(100))
	case n == 2 && depth > 0:
		return r.IntN(2) == 0
	case n == 3 && depth > 0 && depth < 3:
		return []any{randomMetadata(r, depth+1), randomMetadata(r, depth+1)}
	case depth == 0 || n == 4 && depth < 3:
		o := map[string]any{}
		for range r.IntN(4) {
			o[pick(r, words)] = randomMetadata(r, depth+1)
		}
		return o
	}
	return pick(r, words)
}

func TestDecideAgreesWithANaiveSecondImplementation(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 4))
	outcomes := map[string]int{}
	for range 4000 {
		routes := randomRoutes(r)
		p := audience.Principal{ClientAppID: pick(r, words), Channel: pick(r, words)}
		if r.IntN(4) > 0 {
			p.ID, p.Tenant, p.Audience, p.Roles = pick(r, words), pick(r, append(words, "")), pick(r, words), []string{pick(r, words), pick(r, words)}
		}
		input, metadata := pick(r, words)+"-"+pick(r, words), randomMetadata(r, 0)
		if r.IntN(8) == 0 {
			input += strings.Repeat("-", 4<<10) // enough for an index
		}
		text, err := json.Marshal(metadata)
		if err != nil {
			t.Fatal(err)
		}
		d, verdicts := audience.Decide(routes, p, audience.SearchText(input, value(t, string(text))))
		want := naive(routes, p, input, metadata)
		if len(d.Candidates) != min(len(want), 5) || len(want) > 0 && !reflect.DeepEqual(d.Candidates, want[:min(len(want), 5)]) {
			t.Fatalf("candidates %+v, want %+v\nof %+v\nfor %+v %q %s", d.Candidates, want, routes, p, input, text)
		}
		outcome := "one"
		switch {
		case len(want) == 0:
			outcome = audience.NoMatch
		case len(want) > 1 && want[0].Score == want[1].Score:
			outcome = audience.Ambiguous
		}
		if d.OK != (outcome == "one") || !d.OK && d.Error != outcome || d.OK && d.RouteKey != want[0].RouteKey {
			t.Fatalf("%+v, want %s of %+v", d, outcome, want)
		}
		outcomes[outcome]++
		// The order in which routes are listed means nothing.
		r.Shuffle(len(routes), func(i, j int) { routes[i], routes[j] = routes[j], routes[i] })
		again, verdictsAgain := audience.Decide(routes, p, audience.SearchText(input, value(t, string(text))))
		if !reflect.DeepEqual(d, again) || !reflect.DeepEqual(verdicts, verdictsAgain) {
			t.Fatalf("%+v in another order of %+v, want %+v", again, routes, d)
		}
	}
	for _, o := range []string{"one", audience.NoMatch, audience.Ambiguous} {
		if outcomes[o] < 50 {
			t.Errorf("only %d decisions are %s", outcomes[o], o)
		}
	}
}
