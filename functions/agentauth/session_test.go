package agentauth_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"bailing/shared/registry"
)

// Agent §2.9.
func TestSessionAsItsAgentSeesIt(t *testing.T) {
	t.Parallel()
	a := open(t)
	a.Clock.Advance(90 * time.Second)
	_, tok := a.login(map[string]any{
		"principal": map[string]any{"id": " op-15 ", "tenant": "", "roles": []string{"clerk", " packer ", "clerk"}, "audience": "staff", "channel": ""}, "subject_display": nil,
	})
	a.agent("GET", "session", tok.Access, "").want(t, 200, `{"session_id":"`+tok.SessionID+`","client_app_id":"depot-agent","device_label":"Yard laptop 3",`+
		`"subject_display":null,"subject_display_status":"missing","principal":{"id":"op-15","roles":["clerk","packer"],"audience":"staff"},`+
		`"on_behalf_of":"yard-2:op-15","allowed_routes":["depot-desk"],"created_at":"2099-07-01T12:01:30.000Z","expires_at":"2099-07-01T12:16:30.000Z",`+
		`"refresh_expires_at":"2099-07-31T12:01:30.000Z"}`)
}

// Agent §1.2: exactly one space, one run of other characters, any case of the scheme, and the header alone.
func TestBearerParsing(t *testing.T) {
	t.Parallel()
	a := open(t)
	_, tok := a.login(nil)
	for _, tc := range []struct {
		rule   string
		values []string
		works  bool
	}{
		{"as it should be", []string{"Bearer " + tok.Access}, true}, {"another case", []string{"bEARER " + tok.Access}, true},
		{"no header", nil, false}, {"an empty header", []string{""}, false}, {"no scheme", []string{tok.Access}, false}, {"the scheme alone", []string{"Bearer"}, false},
		{"two spaces", []string{"Bearer  " + tok.Access}, false}, {"a tab", []string{"Bearer\t" + tok.Access}, false},
		{"something after it", []string{"Bearer " + tok.Access + " x"}, false}, {"a comma after it", []string{"Bearer " + tok.Access + ","}, false},
		{"another scheme", []string{"Basic " + tok.Access}, false}, {"two headers", []string{"Bearer " + tok.Access, "Bearer " + tok.Access}, false},
		{"a refresh token", []string{"Bearer " + tok.Refresh}, false}, {"a client token", []string{"Bearer " + a.token}, false},
		{"39 characters", []string{"Bearer " + tok.Access[:39]}, false}, {"one character less", []string{"Bearer " + tok.Access[:46]}, false},
		{"one character more", []string{"Bearer " + tok.Access + "A"}, false},
	} {
		got := a.send(request{method: "GET", path: prefix + "session", auth: tc.values})
		if tc.works != (got.Status == 200) || !tc.works && got.Body != `{"error":"unauthorized"}` {
			t.Errorf("%s: %d %s", tc.rule, got.Status, got.Body)
		}
	}
	// No credential is taken from anywhere else.
	for _, name := range []string{"token", "access_token", "bearer"} {
		got := a.send(request{method: "GET", path: prefix + "session", query: map[string][]string{name: {tok.Access}}})
		got.refused(t, "the query "+name, 401, "unauthorized")
	}
	got := a.send(request{method: "GET", path: prefix + "session", header: map[string][]string{"Cookie": {"token=" + tok.Access}}})
	got.refused(t, "a cookie", 401, "unauthorized")
}

// Agent §1.2, point 4: what happens to the client bites on the next call, and the sessions stay.
func TestTheClientDecidesAboutEverySession(t *testing.T) {
	t.Parallel()
	a := open(t)
	_, one := a.login(nil)
	_, two := a.login(nil)
	for rule, change := range map[string]func(*registry.Client){
		"disabled":                 func(c *registry.Client) { c.Enabled = false },
		"without a page":           func(c *registry.Client) { c.AgentAuthorizeURL = "" },
		"a page that breaks rules": func(c *registry.Client) { c.AgentAuthorizeURL = "http://erp.example.net/" },
	} {
		a.saveDepot(change)
		if a.works(one.Access) || a.works(two.Access) {
			t.Errorf("%s: an access token works", rule)
		}
		a.refresh(one.Refresh).refused(t, rule, 400, "invalid_grant")
		a.saveDepot(func(*registry.Client) {})
		if !a.works(one.Access) || !a.works(two.Access) {
			t.Errorf("after %s: the sessions are gone", rule)
		}
	}
	a.tokensOf(a.refresh(one.Refresh))
}

// Agent §2.10.
func TestRevokeByAccessToken(t *testing.T) {
	t.Parallel()
	a := open(t)
	_, tok := a.login(nil)
	_, other := a.login(nil)
	const done = `{"revoked":true}`
	for _, rule := range []string{a.token, tok.Refresh, "x"} {
		a.agent("POST", "revoke", rule, `{"client_app_id":"depot-agent","refresh_token":"`+tok.Refresh+`"}`).refused(t, "the header decides alone", 401, "unauthorized")
	}
	a.agent("POST", "revoke", "bha_"+strings.Repeat("x", 43), "{").want(t, 200, done)
	if !a.works(tok.Access) {
		t.Error("the session ended")
	}
	for _, body := range []string{`{"client_app_id":"depot-agent","refresh_token":"` + other.Refresh + `"}`, "{", "[]"} {
		a.agent("POST", "revoke", tok.Access, body).want(t, 200, done)
	}
	if a.works(tok.Access) || !a.works(other.Access) {
		t.Error("the header's session lives, or the body's does not")
	}
	a.refresh(tok.Refresh).refused(t, "after the revocation", 400, "invalid_grant")

	// Its time may be over, and the client may be disabled: who has the token may end the session.
	_, old := a.login(nil)
	a.Clock.Advance(901 * time.Second)
	a.saveDepot(func(c *registry.Client) { c.Enabled = false })
	a.agent("POST", "revoke", old.Access, "").want(t, 200, done)
	a.saveDepot(func(*registry.Client) {})
	a.refresh(old.Refresh).refused(t, "revoked by an access token whose time was over", 400, "invalid_grant")
}

// Agent §2.10.
func TestRevokeByRefreshToken(t *testing.T) {
	t.Parallel()
	a := open(t)
	_, tok := a.login(nil)
	body := `{"client_app_id":"depot-agent","refresh_token":"` + tok.Refresh + `"}`
	for _, b := range []string{"", "{}", "[]", "null", "{", "\xff"} {
		a.agent("POST", "revoke", "", b).refused(t, fmt.Sprintf("the body %q", b), 400, "invalid_request")
	}
	for rule, members := range map[string]map[string]any{
		"another field": {"x": 1}, "no client": {"client_app_id": nil}, "a client that is no key": {"client_app_id": "X"}, "no token": {"refresh_token": nil},
		"a token of another kind": {"refresh_token": tok.Access}, "a token of another type": {"refresh_token": 1},
	} {
		a.agent("POST", "revoke", "", with(t, body, members)).refused(t, rule, 400, "invalid_request")
	}
	const done = `{"revoked":true}`
	for rule, members := range map[string]map[string]any{
		"an unknown token": {"refresh_token": "bhr_" + strings.Repeat("x", 43)}, "another client": {"client_app_id": "other-agent"}, "an unknown client": {"client_app_id": "nobody"},
	} {
		got := a.agent("POST", "revoke", "", with(t, body, members))
		got.want(t, 200, done)
		if !a.works(tok.Access) {
			t.Fatalf("%s ended the session", rule)
		}
	}
	// A header that is no bearer is none (agent §1.2).
	a.send(request{method: "POST", path: prefix + "revoke", body: body, auth: []string{"Basic eDp5"}}).want(t, 200, done)
	if a.works(tok.Access) {
		t.Error("the session lives")
	}
	a.agent("POST", "revoke", "", body).want(t, 200, done)
}
