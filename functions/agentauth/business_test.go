package agentauth_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"bailing/shared/registry"
)

// Agent §2.1: the token of an enabled client, and everything of another client is 404.
func TestBusinessAuthentication(t *testing.T) {
	t.Parallel()
	a := open(t)
	id, tok := a.login(nil)
	calls := []struct{ method, path, body string }{
		{"GET", "authorizations/" + id, ""}, {"POST", "authorizations/" + id + "/approve", approval}, {"POST", "authorizations/" + id + "/deny", ""},
		{"POST", "authorizations/" + id + "/revoke", ""}, {"POST", "sessions/" + tok.SessionID + "/revoke", ""},
		{"PUT", "sessions/" + tok.SessionID + "/subject-display", `{"subject_display":null}`},
	}
	for _, c := range append(calls, struct{ method, path, body string }{"GET", "sessions", ""}) {
		for rule, auth := range map[string][]string{
			"none": nil, "an unknown token": bearer(strings.Repeat("0", 32)), "the server token": bearer("server-token-for-jobtest-worlds"), "an access token": bearer(tok.Access),
			"two spaces": {"Bearer  " + a.token}, "no scheme": {a.token}, "a space after it": {"Bearer " + a.token + " x"}, "two headers": {"Bearer " + a.token, "Bearer " + a.token},
		} {
			a.send(request{method: c.method, path: prefix + c.path, auth: auth, body: c.body}).refused(t, c.path+", "+rule, 401, "unauthorized")
		}
		got := a.send(request{method: c.method, path: prefix + c.path, body: c.body, query: url.Values{"token": {a.token}}})
		got.refused(t, c.path+", a token in the query", 401, "unauthorized")
	}
	for _, c := range calls {
		a.send(request{method: c.method, path: prefix + c.path, auth: bearer(a.other), body: c.body}).refused(t, c.path+", of another client", 404, "not_found")
	}
	a.DisableClient(app)
	for _, c := range calls {
		a.business(c.method, c.path, c.body).refused(t, c.path+", of a disabled client", 401, "unauthorized")
	}
}

// Agent §2.3.
func TestContextOfAnAuthorization(t *testing.T) {
	t.Parallel()
	a := open(t)
	read := func(id string) answer { t.Helper(); return a.business("GET", "authorizations/"+id, "") }
	view := func(id, status, expires, more string) string {
		return fmt.Sprintf(`{"authorization_id":%q,"client":{"app_id":"depot-agent","name":"Depot agent"},"device":{"name":"Yard laptop 3"},`+
			`"requested_routes":["depot-desk"],"status":%q,"expires_at":%q%s}`, id, status, expires, more)
	}
	const soon = "2099-07-01T12:10:00.000Z"
	id, denied, revoked, late, unused := a.ask(map[string]any{"device_label": " Yard laptop 3 "}), a.ask(nil), a.ask(nil), a.ask(nil), a.ask(nil)
	read(id).want(t, 200, view(id, "pending", soon, ""))
	read(strings.ToUpper(id)).want(t, 200, view(id, "pending", soon, ""))
	code := a.approve(id, nil)
	read(id).want(t, 200, view(id, "approved", soon, ""))
	a.Clock.Advance(time.Second)
	tok := a.tokensOf(a.exchange(code))
	session := `,"session":{"session_id":"` + tok.SessionID + `","state":"%s","expires_at":"2099-07-31T12:00:01.000Z","subject_display":{"name":"Yard 2"},"subject_display_status":"provided"%s}`
	read(id).want(t, 200, view(id, "consumed", soon, fmt.Sprintf(session, "active", "")))
	a.decide("deny", denied, "")
	read(denied).want(t, 200, view(denied, "denied", soon, ""))
	a.decide("revoke", revoked, "")
	read(revoked).want(t, 200, view(revoked, "revoked", soon, ""))
	a.approve(unused, nil)

	a.Clock.Advance(599 * time.Second)
	read(late).want(t, 200, view(late, "expired", soon, ""))
	a.decide("approve", late, approval).refused(t, "late", 410, "expired")
	read(late).want(t, 200, view(late, "expired", soon, ""))
	read(unused).want(t, 200, view(unused, "approved", soon, "")) // only a pending one is shown as expired

	a.business("POST", "sessions/"+tok.SessionID+"/revoke", "")
	read(id).want(t, 200, view(id, "consumed", soon, fmt.Sprintf(session, "revoked", `,"revoked_at":"2099-07-01T12:10:00.000Z"`)))
	read(unknownID).refused(t, "none", 404, "not_found")
}

func TestContextOfAConsumedAuthorizationWhoseSessionExpired(t *testing.T) {
	t.Parallel()
	a := open(t)
	id, _ := a.login(nil)
	a.Clock.Advance(30 * 24 * time.Hour)
	var view struct {
		Status  string
		Session struct{ State string }
	}
	a.business("GET", "authorizations/"+id, "").into(t, &view)
	if view.Status != "consumed" || view.Session.State != "expired" {
		t.Errorf("%+v", view)
	}
}

// Agent §2.6, the table of states and the bodies.
func TestRevokeAnAuthorization(t *testing.T) {
	t.Parallel()
	a := open(t)
	revoke := func(id, body string) answer { t.Helper(); return a.decide("revoke", id, body) }
	done := func(id string) string { return `{"authorization_id":"` + id + `","revoked":true}` }
	status := func(id string) string {
		t.Helper()
		var view struct{ Status string }
		a.business("GET", "authorizations/"+id, "").into(t, &view)
		return view.Status
	}
	pending, approved, denied, expired := a.ask(nil), a.ask(nil), a.ask(nil), a.ask(nil)
	code := a.approve(approved, nil)
	a.decide("deny", denied, "")
	for _, body := range []string{"[]", `"x"`, "7", "null", "{", "\xff", `{"x":1}`, `{"x":"` + strings.Repeat("x", 4089) + `"}`, "{}" + strings.Repeat(" ", 4095)} {
		revoke(pending, body).refused(t, fmt.Sprintf("the body %.20q", body), 400, "invalid_request")
		revoke(unknownID, body).refused(t, fmt.Sprintf("the body %.20q before the authorization", body), 400, "invalid_request")
	}
	if s := status(pending); s != "pending" {
		t.Fatal(s)
	}
	for range 2 { // the second time nothing changes, and the answer is the same
		revoke(pending, "").want(t, 200, done(pending))
		revoke(strings.ToUpper(approved), "{}"+strings.Repeat(" ", 4094)).want(t, 200, done(approved))
		revoke(denied, "{}").want(t, 200, done(denied))
		if p, ap, d := status(pending), status(approved), status(denied); p != "revoked" || ap != "revoked" || d != "denied" {
			t.Errorf("%s, %s, %s", p, ap, d)
		}
	}
	a.exchange(code).refused(t, "the code of a revoked one", 400, "invalid_grant")
	a.decide("approve", pending, approval).refused(t, "approve a revoked one", 409, "invalid_state")

	consumed, tok := a.login(nil)
	_, other := a.login(nil)
	for range 2 {
		revoke(consumed, "").want(t, 200, `{"authorization_id":"`+consumed+`","revoked":true,"session_id":"`+tok.SessionID+`"}`)
	}
	if status(consumed) != "consumed" || a.works(tok.Access) || !a.works(other.Access) {
		t.Error("the authorization is not consumed any more, its session lives, or another one does not")
	}
	a.refresh(tok.Refresh).refused(t, "the session's refresh token", 400, "invalid_grant")

	a.Clock.Advance(600 * time.Second)
	a.decide("deny", expired, "").refused(t, "expired", 410, "expired")
	revoke(expired, "").want(t, 200, done(expired))
	if s := status(expired); s != "expired" {
		t.Error(s)
	}
	revoke(unknownID, "").refused(t, "none", 404, "not_found")
}

// Agent §2.11.
func TestRevokeASession(t *testing.T) {
	t.Parallel()
	a := open(t)
	_, tok := a.login(nil)
	for _, id := range []string{unknownID, "x", tok.SessionID + "0", strings.ReplaceAll(tok.SessionID, "-", "")} {
		a.business("POST", "sessions/"+id+"/revoke", "").refused(t, id, 404, "not_found")
		a.send(request{method: "POST", path: prefix + "sessions/" + id + "/revoke"}).refused(t, id+" without a token", 401, "unauthorized")
	}
	for _, body := range []string{"", "{", `{"x":1}`, "[]"} {
		a.business("POST", "sessions/"+strings.ToUpper(tok.SessionID)+"/revoke", body).want(t, 200, `{"revoked":true}`)
	}
	if a.works(tok.Access) {
		t.Error("the session lives")
	}
	a.refresh(tok.Refresh).refused(t, "its refresh token", 400, "invalid_grant")
}

type page struct {
	List []struct {
		SessionID       string `json:"session_id"`
		AuthorizationID string `json:"authorization_id"`
		State           string `json:"state"`
	} `json:"list"`
	NextCursor *string `json:"next_cursor"`
}

func (a *api) list(token string, query url.Values) answer {
	a.t.Helper()
	return a.send(request{method: "GET", path: prefix + "sessions", auth: bearer(token), query: query})
}

// ids are the sessions of all pages for a query, in order.
func (a *api) ids(query url.Values) (ids []string) {
	a.t.Helper()
	q := url.Values{}
	for name, values := range query {
		q[name] = values
	}
	for range 100 {
		var p page
		a.list(a.token, q).into(a.t, &p)
		for _, s := range p.List {
			ids = append(ids, s.SessionID)
		}
		if p.NextCursor == nil {
			return ids
		}
		q.Set("cursor", *p.NextCursor)
	}
	a.t.Fatal("the pages do not end")
	return nil
}

// Agent §2.12, the shape of an item and every filter.
func TestListSessions(t *testing.T) {
	t.Parallel()
	a := open(t)
	a.list(a.token, nil).want(t, 200, `{"list":[],"next_cursor":null}`)
	id, first := a.login(nil)
	item := `{"list":[{"session_id":"` + first.SessionID + `","authorization_id":"` + id + `","client_app_id":"depot-agent","device_label":"Yard laptop 3",` +
		`"subject_display":{"name":"Yard 2"},"subject_display_status":"provided","principal":{"id":"op-15","tenant":"yard-2","roles":["clerk"]},` +
		`"on_behalf_of":"yard-2:op-15","allowed_routes":["depot-desk"],"state":"%s","created_at":"2099-07-01T12:00:00.000Z","expires_at":"2099-07-31T12:00:00.000Z"%s}],"next_cursor":null}`
	a.list(a.token, nil).want(t, 200, fmt.Sprintf(item, "active", ""))
	a.list(a.other, nil).want(t, 200, `{"list":[],"next_cursor":null}`)
	a.business("POST", "sessions/"+first.SessionID+"/revoke", "")
	a.list(a.token, nil).want(t, 200, fmt.Sprintf(item, "revoked", `,"revoked_at":"2099-07-01T12:00:00.000Z"`))

	a.Clock.Advance(time.Second)
	_, second := a.login(map[string]any{"principal": map[string]any{"id": "op-15"}, "on_behalf_of": "op-15"})
	a.Clock.Advance(time.Second)
	_, third := a.login(map[string]any{"principal": map[string]any{"id": "op-16", "tenant": "yard-2"}, "on_behalf_of": "yard-2:op-16"})
	one, two, three := first.SessionID, second.SessionID, third.SessionID
	for _, tc := range []struct {
		rule  string
		query url.Values
		want  []string
	}{
		{"newest first", nil, []string{three, two, one}},
		{"pages", url.Values{"limit": {"1"}}, []string{three, two, one}},
		{"by authorization", url.Values{"authorization_id": {strings.ToUpper(id)}}, []string{one}},
		{"by an unknown authorization", url.Values{"authorization_id": {unknownID}}, nil},
		{"by whom it is for", url.Values{"on_behalf_of": {"op-15"}}, []string{two}}, {"letter by letter", url.Values{"on_behalf_of": {"OP-15"}}, nil},
		{"by tenant", url.Values{"tenant": {"yard-2"}}, []string{three, one}}, {"without a tenant", url.Values{"tenant": {""}}, []string{two}},
		{"by principal", url.Values{"principal_id": {"op-15"}, "tenant": {"yard-2"}}, []string{one}},
		{"by principal without a tenant", url.Values{"principal_id": {"op-15"}, "tenant": {""}}, []string{two}},
		{"by state", url.Values{"state": {"active"}}, []string{three, two}}, {"by another state", url.Values{"state": {"revoked"}, "limit": {"1"}}, []string{one}},
		{"all must hold", url.Values{"state": {"active"}, "tenant": {"yard-2"}, "on_behalf_of": {"yard-2:op-16"}}, []string{three}},
	} {
		if got := a.ids(tc.query); !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", tc.rule, got, tc.want)
		}
	}
	a.Clock.Advance(30*24*time.Hour - time.Second)
	if got := a.ids(url.Values{"state": {"expired"}}); !slices.Equal(got, []string{two}) {
		t.Errorf("expired: %v", got)
	}
	if got := a.ids(url.Values{"state": {"revoked"}}); !slices.Equal(got, []string{one}) {
		t.Errorf("a revoked session reads %v after its end", got)
	}
}

// Agent §2.12: the parameters.
func TestListSessionsRefusesOtherQueries(t *testing.T) {
	t.Parallel()
	a := open(t)
	long := func(n int) string { return strings.Repeat("x", n) }
	for _, tc := range []struct {
		rule  string
		query url.Values
		ok    bool
	}{
		{"an unknown name", url.Values{"foo": {"1"}}, false}, {"a name twice", url.Values{"limit": {"1", "1"}}, false}, {"a name in capitals", url.Values{"Limit": {"1"}}, false},
		{"no UUID", url.Values{"authorization_id": {"x"}}, false}, {"an empty one", url.Values{"authorization_id": {""}}, false},
		{"191 characters", url.Values{"on_behalf_of": {long(191)}}, true}, {"192", url.Values{"on_behalf_of": {long(192)}}, false}, {"none", url.Values{"on_behalf_of": {""}}, false},
		{"white space before", url.Values{"on_behalf_of": {" x"}}, false}, {"white space after", url.Values{"on_behalf_of": {"x\u00a0"}}, false},
		{"white space inside", url.Values{"on_behalf_of": {"x y"}}, true}, {"a control character", url.Values{"on_behalf_of": {"x\ty"}}, false}, {"DEL", url.Values{"on_behalf_of": {"x\x7fy"}}, false},
		{"a principal without a tenant", url.Values{"principal_id": {"x"}}, false}, {"128", url.Values{"principal_id": {long(128)}, "tenant": {""}}, true},
		{"129", url.Values{"principal_id": {long(129)}, "tenant": {""}}, false}, {"no principal", url.Values{"principal_id": {""}, "tenant": {""}}, false},
		{"a tenant of 128", url.Values{"tenant": {long(128)}}, true}, {"of 129", url.Values{"tenant": {long(129)}}, false},
		{"an unknown state", url.Values{"state": {"all"}}, false}, {"an empty state", url.Values{"state": {""}}, false},
		{"1", url.Values{"limit": {"1"}}, true}, {"100", url.Values{"limit": {"100"}}, true}, {"0", url.Values{"limit": {"0"}}, false}, {"101", url.Values{"limit": {"101"}}, false},
		{"a leading zero", url.Values{"limit": {"01"}}, false}, {"a sign", url.Values{"limit": {"+1"}}, false}, {"a fraction", url.Values{"limit": {"1.0"}}, false}, {"empty", url.Values{"limit": {""}}, false},
		{"an empty cursor", url.Values{"cursor": {""}}, false}, {"another alphabet", url.Values{"cursor": {"a="}}, false}, {"nothing that we gave", url.Values{"cursor": {"e30"}}, false},
		{"a cursor of 2049", url.Values{"cursor": {long(2049)}}, false},
	} {
		got := a.list(a.token, tc.query)
		if tc.ok != (got.Status == 200) || !tc.ok && (got.Status != 400 || got.Body != `{"error":"invalid_request"}`) {
			t.Errorf("%s: %d %s", tc.rule, got.Status, got.Body)
		}
	}
	a.send(request{method: "GET", path: prefix + "sessions", query: url.Values{"foo": {"1"}}}).refused(t, "401 before the query", 401, "unauthorized")
}

// Agent §2.12: a cursor belongs to its client and its filters, not to its limit.
func TestCursorIsBound(t *testing.T) {
	t.Parallel()
	a := open(t)
	for range 3 {
		a.login(nil)
		a.Clock.Advance(time.Second)
	}
	filters := url.Values{"on_behalf_of": {"yard-2:op-15"}, "state": {"active"}, "limit": {"1"}}
	var p page
	a.list(a.token, filters).into(t, &p)
	if p.NextCursor == nil {
		t.Fatal("no next page")
	}
	cursor := *p.NextCursor
	changed := func(name string, values ...string) url.Values {
		q := url.Values{"cursor": {cursor}}
		for n, v := range filters {
			q[n] = v
		}
		if q[name] = values; values == nil {
			delete(q, name)
		}
		return q
	}
	if got := a.list(a.token, changed("limit", "100")); got.Status != 200 {
		t.Errorf("another limit: %d %s", got.Status, got.Body)
	}
	if got := a.list(a.token, changed("limit")); got.Status != 200 {
		t.Errorf("without a limit: %d %s", got.Status, got.Body)
	}
	for rule, q := range map[string]url.Values{
		"another state": changed("state", "revoked"), "without a state": changed("state"), "of somebody else": changed("on_behalf_of", "yard-2:op-16"),
		"of everybody": changed("on_behalf_of"), "a filter more": changed("tenant", "yard-2"), "an authorization more": changed("authorization_id", unknownID),
		"a cursor that was changed": changed("cursor", cursor[:len(cursor)-4]+"AAAA"),
	} {
		a.list(a.token, q).refused(t, rule, 400, "invalid_request")
	}
	a.list(a.other, changed("limit", "1")).refused(t, "another client", 400, "invalid_request")
}

// Agent §2.13.
func TestSubjectDisplay(t *testing.T) {
	t.Parallel()
	a := open(t)
	_, tok := a.login(nil)
	path := "sessions/" + tok.SessionID + "/subject-display"
	for _, body := range []string{
		"", "{}", "[]", "null", "{", "\xff", `{"subject_display":{"name":"x"},"x":1}`, `{"subject_display":"x"}`, `{"subject_display":[]}`, `{"subject_display":{}}`,
		`{"subject_display":{"name":"x","y":1}}`, `{"subject_display":{"name":1}}`, `{"subject_display":{"name":""}}`, `{"subject_display":{"name":" "}}`,
		`{"subject_display":{"name":"` + strings.Repeat("x", 121) + `"}}`, `{"subject_display":{"name":"` + strings.Repeat("😀", 61) + `"}}`,
		`{"subject_display":{"name":"a\u0000"}}`, `{"subject_display":{"name":"a\n"}}`, `{"subject_display":{"name":"a\u007f"}}`, `{"subject_display":{"name":"a\u0085"}}`,
		`{"subject_display":{"name":"a\u009f"}}`, `{"subject_display":{"name":"a\u2028"}}`, `{"subject_display":{"name":"a\u2029"}}`, `{"subject_display":{"name":"a\ud800"}}`,
		`{"subject_display":null}` + strings.Repeat(" ", 4096-len(`{"subject_display":null}`)+1),
	} {
		a.business("PUT", path, body).refused(t, fmt.Sprintf("%.60q", body), 400, "invalid_request")
		a.business("PUT", "sessions/"+unknownID+"/subject-display", body).refused(t, fmt.Sprintf("%.60q before the session", body), 400, "invalid_request")
	}
	for stored, body := range map[string]string{
		`{"name":"Yard 3"}`: `{"subject_display":{"name":" Yard 3 "}}`, `{"name":"` + strings.Repeat("😀", 60) + `"}`: `{"subject_display":{"name":"` + strings.Repeat("😀", 60) + `"}}`,
		`{"name":"x"}`: `{"subject_display":{"name":"x"}}` + strings.Repeat(" ", 4096-len(`{"subject_display":{"name":"x"}}`)), "null": `{"subject_display":null}`,
	} {
		got := a.business("PUT", path, body)
		var item, listed struct {
			List      []json.RawMessage
			SessionID string          `json:"session_id"`
			Display   json.RawMessage `json:"subject_display"`
			Status    string          `json:"subject_display_status"`
		}
		got.into(t, &item)
		want := "provided"
		if stored == "null" {
			want = "missing"
		}
		if got.Status != 200 || item.SessionID != tok.SessionID || string(item.Display) != stored || item.Status != want {
			t.Errorf("%s: %d %s", body, got.Status, got.Body)
		}
		a.list(a.token, nil).into(t, &listed)
		if len(listed.List) != 1 || string(listed.List[0]) != got.Body {
			t.Errorf("it is listed as %s, the answer was %s", listed.List, got.Body)
		}
	}
	if got := a.business("PUT", "sessions/"+strings.ToUpper(tok.SessionID)+"/subject-display", `{"subject_display":{"name":"Yard 4"}}`); got.Status != 200 {
		t.Errorf("an id in capitals: %d %s", got.Status, got.Body)
	}
	next := a.tokensOf(a.refresh(tok.Refresh))
	if string(next.Display) != `{"name":"Yard 4"}` || next.DisplayStatus != "provided" {
		t.Errorf("a refresh says %s", next.Display)
	}
	const body = `{"subject_display":null}`
	a.business("PUT", "sessions/x/subject-display", body).refused(t, "no UUID", 404, "not_found")
	a.send(request{method: "PUT", path: prefix + "sessions/x/subject-display", body: body}).refused(t, "no UUID before 401", 404, "not_found")
	a.send(request{method: "PUT", path: prefix + path, body: "{"}).refused(t, "401 before the body", 401, "unauthorized")
	a.business("PUT", "sessions/"+unknownID+"/subject-display", body).refused(t, "none", 404, "not_found")
	a.business("POST", "sessions/"+tok.SessionID+"/revoke", "")
	a.business("PUT", path, body).refused(t, "revoked", 409, "session_inactive")

	_, tok = a.login(nil)
	a.Clock.Advance(30 * 24 * time.Hour)
	a.business("PUT", "sessions/"+tok.SessionID+"/subject-display", body).refused(t, "expired", 409, "session_inactive")
}

// Agent §2.16: no approval reaches beyond the client's allowlist later, but the session keeps what it was given: every later surface
// asks both. A client whose allowlist shrinks keeps its sessions.
func TestASessionOutlivesTheClientsAllowlist(t *testing.T) {
	t.Parallel()
	a := open(t)
	_, tok := a.login(nil)
	a.saveDepot(func(c *registry.Client) { c.AllowedRoutes = []string{"yard-ops"} })
	if !a.works(tok.Access) {
		t.Error("the session ended")
	}
}
