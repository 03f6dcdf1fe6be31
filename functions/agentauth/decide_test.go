package agentauth_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"bailing/shared/registry"
)

func (a *api) decide(verb, id, body string) answer {
	a.t.Helper()
	return a.business("POST", "authorizations/"+id+"/"+verb, body)
}

// Agent §2.4, the success, and §2.5.
func TestDecisionsRedirectTheBrowser(t *testing.T) {
	t.Parallel()
	a := open(t)
	uri := func(code string) string { return `{"redirect_uri":"` + code + `"}` }
	got := a.decide("approve", a.ask(nil), approval)
	code := a.redirected(got).Get("code")
	if !strings.HasPrefix(code, "bhc_") || len(code) != 47 {
		t.Errorf("code of %d characters", len(code))
	}
	got.want(t, 200, uri(callback+"?code="+code+"&state="+state))
	a.decide("deny", a.ask(nil), "").want(t, 200, uri(callback+"?error=access_denied&state="+state))

	// Foreign parameters stay; a code, an error and a state that are there already do not.
	kept := map[string]any{"redirect_uri": callback + "?a=1&code=old&error=old&state=old&b=2", "state": "a state/&+"}
	q := a.redirected(a.decide("deny", a.ask(kept), "{}"))
	if q.Get("a") != "1" || q.Get("b") != "2" || q.Has("code") || len(q["error"]) != 1 || q.Get("error") != "access_denied" || len(q["state"]) != 1 || q.Get("state") != "a state/&+" {
		t.Errorf("%v", q)
	}
	q = a.redirected(a.decide("approve", a.ask(kept), approval))
	if q.Get("a") != "1" || q.Get("b") != "2" || q.Has("error") || len(q["code"]) != 1 || q.Get("code") == "old" || len(q["state"]) != 1 {
		t.Errorf("%v", q)
	}
}

// Agent §2.4, the checks of the body, which go before everything that is stored about the authorization.
func TestApproveRefusesWhatBreaksARule(t *testing.T) {
	t.Parallel()
	a := open(t)
	id := a.ask(map[string]any{"requested_routes": []string{"depot-desk", "yard-ops"}})
	for _, body := range []string{"", "{}", "[]", `"x"`, "1", "null", "{", "\xff", `{"on_behalf_of":"x","on_behalf_of":"y"}`} {
		a.decide("approve", id, body).refused(t, fmt.Sprintf("the body %q", body), 400, "invalid_request")
	}
	principal := func(member string, v any) map[string]any {
		p := map[string]any{"id": "op-15"}
		p[member] = v
		return map[string]any{"principal": p}
	}
	long := func(n int) string { return strings.Repeat("x", n) }
	roles := func(n int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprint("role-", i))
		}
		return out
	}
	for rule, members := range map[string]map[string]any{
		"another field": {"scope": "x"}, "no principal": {"principal": nil}, "a principal that is no object": {"principal": "op-15"},
		"a principal with another member": principal("name", "x"), "no id": principal("id", ""), "a blank id": principal("id", " \t"), "an id of 129": principal("id", long(129)),
		"an id of another type": principal("id", 15), "a tenant of 129": principal("tenant", long(129)), "a tenant of another type": principal("tenant", 2),
		"an audience of 65": principal("audience", long(65)), "a channel of 129": principal("channel", long(129)),
		"65 roles": principal("roles", roles(65)), "a role of 65": principal("roles", []string{long(65)}), "a blank role (D47)": principal("roles", []string{" "}),
		"a role of another type": principal("roles", []any{"clerk", 1}),
		"nobody behind it":       {"on_behalf_of": nil}, "a blank one": {"on_behalf_of": "  "}, "one of 192": {"on_behalf_of": long(192)}, "one of another type": {"on_behalf_of": 1},
		"no routes": {"allowed_routes": nil}, "an empty list of routes": {"allowed_routes": []string{}}, "the route auto": {"allowed_routes": []string{"auto"}},
		"every route": {"allowed_routes": []string{"*"}}, "a route twice": {"allowed_routes": []string{"depot-desk", "depot-desk"}}, "65 routes": {"allowed_routes": numbered(65)},
		"a display that is a text": {"subject_display": "Yard 2"}, "a display without a name": {"subject_display": map[string]any{}},
		"a display with another member": {"subject_display": map[string]any{"name": "Yard 2", "id": 2}}, "a name of another type": {"subject_display": map[string]any{"name": 2}},
		"a blank name": {"subject_display": map[string]any{"name": " "}}, "a name of 121": {"subject_display": map[string]any{"name": long(121)}},
		"a name with a control character": {"subject_display": map[string]any{"name": "Yard\t2"}}, "a name of two lines": {"subject_display": map[string]any{"name": "Yard\u20282"}},
	} {
		a.decide("approve", id, with(t, approval, members)).refused(t, rule, 400, "invalid_request")
		a.decide("approve", unknownID, with(t, approval, members)).refused(t, rule+", before the authorization", 400, "invalid_request")
	}
	a.decide("approve", unknownID, strings.TrimSuffix(approval, "}")+`,"x":"`+strings.Repeat("x", 1<<20)+`"}`).refused(t, "1 MiB and more", 400, "invalid_request")
	for rule, members := range map[string]map[string]any{
		"every limit": {
			"principal":    map[string]any{"id": " " + long(128) + " ", "tenant": long(128), "roles": append(roles(63), long(64)), "audience": long(64), "channel": long(128)},
			"on_behalf_of": long(191), "subject_display": map[string]any{"name": long(120)},
		},
		"no more than what is required": {"principal": map[string]any{"id": "op-15"}, "subject_display": nil},
		"roles that are no list":        principal("roles", "clerk"), "no display": {"subject_display": nil},
	} {
		if got := a.decide("approve", a.ask(nil), with(t, approval, members)); got.Status != 200 {
			t.Errorf("%s: %d %s", rule, got.Status, got.Body)
		}
	}
	if got := a.decide("approve", a.ask(nil), strings.Replace(approval, `{"name":"Yard 2"}`, "null", 1)); got.Status != 200 {
		t.Errorf("the display null: %d %s", got.Status, got.Body)
	}
}

// Agent §2.4: 401, then the body, then 404, then 403, then the transition: 410 before 409.
func TestApproveChecksInOrder(t *testing.T) {
	t.Parallel()
	a := open(t)
	id := a.ask(nil)
	path := prefix + "authorizations/" + id + "/approve"
	broken := with(t, approval, map[string]any{"x": 1})
	foreign := with(t, approval, map[string]any{"allowed_routes": []string{"yard-ops"}})

	a.send(request{method: "POST", path: path, body: broken}).refused(t, "401 before the body", 401, "unauthorized")
	a.send(request{method: "POST", path: path, body: broken, auth: bearer(a.other)}).refused(t, "the body before whose it is", 400, "invalid_request")
	a.send(request{method: "POST", path: path, body: foreign, auth: bearer(a.other)}).refused(t, "404 before 403", 404, "not_found")
	a.decide("approve", unknownID, foreign).refused(t, "404 before 403, of none", 404, "not_found")
	a.decide("approve", id, foreign).refused(t, "a route that was not requested", 403, "route_not_allowed")
	a.decide("approve", id, with(t, approval, map[string]any{"allowed_routes": []string{"depot-desk", "yard-ops"}})).refused(t, "one of two", 403, "route_not_allowed")
	a.saveDepot(func(c *registry.Client) { c.AllowedRoutes = []string{"yard-ops"} })
	a.decide("approve", id, approval).refused(t, "a route that the client may not use any more", 403, "route_not_allowed")
	a.saveDepot(func(*registry.Client) {})

	a.decide("approve", strings.ToUpper(id), approval)
	a.decide("approve", id, foreign).refused(t, "403 before 409", 403, "route_not_allowed")
	for _, verb := range []string{"approve", "deny"} {
		a.decide(verb, id, map[string]string{"approve": approval, "deny": ""}[verb]).refused(t, verb+" of an approved one", 409, "invalid_state")
	}
	a.Clock.Advance(600 * time.Second)
	a.decide("approve", id, foreign).refused(t, "403 before 410", 403, "route_not_allowed")
	a.decide("approve", id, approval).refused(t, "410 before 409", 410, "expired")
	a.decide("deny", id, "").refused(t, "410 before 409, of a denial", 410, "expired")
}

// Agent §2.1: 600 seconds from the creation.
func TestAnAuthorizationExpires(t *testing.T) {
	t.Parallel()
	a := open(t)
	last, over, denied := a.ask(nil), a.ask(nil), a.ask(nil)
	a.Clock.Advance(600*time.Second - time.Millisecond)
	if got := a.decide("approve", last, approval); got.Status != 200 {
		t.Errorf("within 600 s: %d %s", got.Status, got.Body)
	}
	a.Clock.Advance(time.Millisecond)
	for range 2 {
		a.decide("approve", over, approval).refused(t, "approve after 600 s", 410, "expired")
		a.decide("deny", denied, "").refused(t, "deny after 600 s", 410, "expired")
	}
}

// Agent §2.5.
func TestDenyTakesNoMembers(t *testing.T) {
	t.Parallel()
	a := open(t)
	for _, body := range []string{"", "{}", "[]", `"x"`, "7", "null", "{", "\xff", strings.Repeat("x", 1<<20+1)} {
		if got := a.decide("deny", a.ask(nil), body); got.Status != 200 {
			t.Errorf("%.10q: %d %s", body, got.Status, got.Body)
		}
	}
	id := a.ask(nil)
	a.decide("deny", id, `{"reason":"no"}`).refused(t, "a member", 400, "invalid_request")
	a.decide("deny", unknownID, `{"reason":"no"}`).refused(t, "the body before the authorization", 400, "invalid_request")
	a.decide("deny", unknownID, "").refused(t, "none", 404, "not_found")
	a.send(request{method: "POST", path: prefix + "authorizations/" + id + "/deny", auth: bearer(a.other)}).refused(t, "another client's", 404, "not_found")
	a.send(request{method: "POST", path: prefix + "authorizations/" + id + "/deny", body: `{"reason":"no"}`}).refused(t, "401 before the body", 401, "unauthorized")
	a.decide("deny", id, "{}")
	a.decide("deny", id, "{}").refused(t, "twice", 409, "invalid_state")
	a.decide("approve", id, approval).refused(t, "approved after it", 409, "invalid_state")
}
