package agentauth_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"bailing/shared/registry"
)

// Agent §2.7, row 7, and §2.8.
func TestTokensOfACode(t *testing.T) {
	t.Parallel()
	a := open(t)
	code := a.approve(a.ask(nil), nil)
	got := a.exchange(code)
	tok := a.tokensOf(got)
	if !strings.HasPrefix(tok.Access, "bha_") || len(tok.Access) != 47 || !strings.HasPrefix(tok.Refresh, "bhr_") || len(tok.Refresh) != 47 {
		t.Error("the tokens have another form")
	}
	got.want(t, 200, fmt.Sprintf(`{"token_type":"Bearer","access_token":%q,"expires_in":900,"refresh_token":%q,"refresh_expires_in":2592000,"session_id":%q,`+
		`"client_app_id":"depot-agent","subject_display":{"name":"Yard 2"},"subject_display_status":"provided"}`, tok.Access, tok.Refresh, tok.SessionID))
	a.exchange(code).refused(t, "a second use", 400, "invalid_grant")
	if !a.works(tok.Access) {
		t.Error("the second use of the code ended the session of the first")
	}
	_, without := a.login(map[string]any{"subject_display": nil})
	if string(without.Display) != "null" || without.DisplayStatus != "missing" {
		t.Errorf("display %s, %s", without.Display, without.DisplayStatus)
	}
}

// Agent §2.7, rows 1 to 5 and the unknown grant, in their order; a missing grant member is invalid_grant (D47).
func TestTokenChecksInOrder(t *testing.T) {
	t.Parallel()
	a := open(t)
	a.SaveClient(registry.Client{AppID: "off-agent", AllowedRoutes: []string{"*"}, AgentAuthorizeURL: authorizeURL})
	a.SaveClient(registry.Client{AppID: "no-agent", AllowedRoutes: []string{"*"}, Enabled: true})
	a.SaveClient(registry.Client{AppID: "bad-agent", AllowedRoutes: []string{"*"}, Enabled: true, AgentAuthorizeURL: "http://erp.example.net/"})
	code := a.approve(a.ask(nil), nil)
	good := exchangeBody(code)
	send := func(body string) answer { t.Helper(); return a.agent("POST", "token", "", body) }
	for _, body := range []string{"", "{}", "[]", `"x"`, "1", "null", "{", "\xff"} {
		send(body).refused(t, fmt.Sprintf("1: the body %q", body), 400, "invalid_request")
	}
	send(strings.TrimSuffix(good, "}")+`,"x":"`+strings.Repeat("x", 1<<20)+`"}`).refused(t, "1: 1 MiB and more", 400, "invalid_request")
	for _, tc := range []struct {
		rule    string
		members map[string]any
		code    string
	}{
		{"1: no grant", map[string]any{"grant_type": nil, "client_app_id": "nobody"}, "invalid_request"},
		{"1: a grant of another type", map[string]any{"grant_type": 1}, "invalid_request"},
		{"2: no client", map[string]any{"client_app_id": nil}, "invalid_request"},
		{"2: a client that is no key", map[string]any{"client_app_id": "Depot"}, "invalid_request"},
		{"2: a client of another type", map[string]any{"client_app_id": 7}, "invalid_request"},
		{"2 before the unknown grant", map[string]any{"client_app_id": "Depot", "grant_type": "password"}, "invalid_request"},
		{"3: an unknown client", map[string]any{"client_app_id": "nobody"}, "invalid_grant"},
		{"3: a disabled client", map[string]any{"client_app_id": "off-agent"}, "invalid_grant"},
		{"3: a client without a page", map[string]any{"client_app_id": "no-agent"}, "invalid_grant"},
		{"3: a client whose page breaks its rule", map[string]any{"client_app_id": "bad-agent"}, "invalid_grant"},
		{"3 before 4", map[string]any{"client_app_id": "nobody", "scope": "x"}, "invalid_grant"},
		{"3 before the unknown grant", map[string]any{"client_app_id": "nobody", "grant_type": "password"}, "invalid_grant"},
		{"the unknown grant", map[string]any{"grant_type": "password"}, "unsupported_grant_type"},
		{"the unknown grant before its fields", map[string]any{"grant_type": "password", "scope": "x"}, "unsupported_grant_type"},
		{"4: another field", map[string]any{"scope": "x"}, "invalid_request"},
		{"4: a field of the other grant", map[string]any{"refresh_token": "bhr_" + strings.Repeat("x", 43)}, "invalid_request"},
		{"4 before 5", map[string]any{"scope": "x", "code": "x"}, "invalid_request"},
		{"5: no code (D47)", map[string]any{"code": nil}, "invalid_grant"},
		{"5: a code of another type", map[string]any{"code": 7}, "invalid_grant"},
		{"5: a code of another kind", map[string]any{"code": "bhr_" + code[4:]}, "invalid_grant"},
		{"5: a code of 39", map[string]any{"code": code[:39]}, "invalid_grant"},
		{"5: no address (D47)", map[string]any{"redirect_uri": nil}, "invalid_grant"},
		{"5: an address that is no loopback", map[string]any{"redirect_uri": "http://localhost:49733/callback"}, "invalid_grant"},
		{"5: no verifier (D47)", map[string]any{"code_verifier": nil}, "invalid_grant"},
		{"5: a verifier of 42", map[string]any{"code_verifier": verifier[:42]}, "invalid_grant"},
		{"5: a verifier of 129", map[string]any{"code_verifier": strings.Repeat("x", 129)}, "invalid_grant"},
		{"5: a verifier with a space", map[string]any{"code_verifier": verifier + " "}, "invalid_grant"},
		{"6: an unknown code", map[string]any{"code": "bhc_" + strings.Repeat("x", 43)}, "invalid_grant"},
		{"6: another client", map[string]any{"client_app_id": "other-agent"}, "invalid_grant"},
		{"6: another address", map[string]any{"redirect_uri": callback + "/"}, "invalid_grant"},
		{"6: the address in other words", map[string]any{"redirect_uri": "http://127.0.0.1:49733/%63allback"}, "invalid_grant"},
		{"6: another verifier", map[string]any{"code_verifier": verifier[1:] + "x"}, "invalid_grant"},
	} {
		send(with(t, good, tc.members)).refused(t, tc.rule, 400, tc.code)
	}
	// None of it cost the code anything.
	a.tokensOf(send(good))
}

// Agent §1.3: a body of 1 MiB is read, a longer one is a body that cannot be read.
func TestTheCapOnBodies(t *testing.T) {
	t.Parallel()
	a := open(t)
	_, tok := a.login(nil)
	for _, tc := range []struct{ path, auth, body string }{
		{"authorizations", "", wish}, {"token", "", exchangeBody(a.approve(a.ask(nil), nil))},
		{"revoke", "", `{"client_app_id":"depot-agent","refresh_token":"` + tok.Refresh + `"}`}, {"authorizations/" + a.ask(nil) + "/approve", a.token, approval},
	} {
		full := tc.body + strings.Repeat(" ", 1<<20-len(tc.body))
		a.agent("POST", tc.path, tc.auth, full+" ").refused(t, tc.path, 400, "invalid_request")
		if got := a.agent("POST", tc.path, tc.auth, full); got.Status >= 300 {
			t.Errorf("%s: 1 MiB: %d %s", tc.path, got.Status, got.Body)
		}
	}
}

// Agent §2.7, row 6: the states and the time of a code.
func TestCodesThatAreWorthNothing(t *testing.T) {
	t.Parallel()
	a := open(t)
	last, over, revoked := a.approve(a.ask(nil), nil), a.approve(a.ask(nil), nil), a.ask(nil)
	taken := a.approve(revoked, nil)
	a.business("POST", "authorizations/"+revoked+"/revoke", "")
	a.exchange(taken).refused(t, "of a revoked authorization", 400, "invalid_grant")
	a.Clock.Advance(120*time.Second - time.Millisecond)
	a.tokensOf(a.exchange(last))
	a.Clock.Advance(time.Millisecond)
	a.exchange(over).refused(t, "after 120 s", 400, "invalid_grant")
}

// Agent §2.8: everything about one refresh token.
func TestRefreshReplacesBothTokens(t *testing.T) {
	t.Parallel()
	a := open(t)
	_, first := a.login(nil)
	a.Clock.Advance(5*time.Second + 700*time.Millisecond)
	second := a.tokensOf(a.refresh(first.Refresh))
	if second.Access == first.Access || second.Refresh == first.Refresh || second.SessionID != first.SessionID {
		t.Error("the tokens are not new, or the session is")
	}
	if second.ExpiresIn != 900 || second.RefreshExpiresIn != 2592000-6 || second.TokenType != "Bearer" || second.ClientAppID != app ||
		string(second.Display) != `{"name":"Yard 2"}` || second.DisplayStatus != "provided" {
		t.Errorf("expires in %d, the session in %d (floor of what is left)", second.ExpiresIn, second.RefreshExpiresIn)
	}
	if a.works(first.Access) || !a.works(second.Access) {
		t.Error("the old access token still works, or the new one does not")
	}
}

// Agent §2.8: the checks before anything is read, and what costs nothing.
func TestRefreshChecksInOrder(t *testing.T) {
	t.Parallel()
	a := open(t)
	a.SaveClient(registry.Client{AppID: "off-agent", AllowedRoutes: []string{"*"}, AgentAuthorizeURL: authorizeURL})
	_, tok := a.login(nil)
	good := refreshBody(tok.Refresh)
	for _, tc := range []struct {
		rule    string
		members map[string]any
		code    string
	}{
		{"a client that is no key", map[string]any{"client_app_id": "x"}, "invalid_request"},
		{"an unknown client before a field", map[string]any{"client_app_id": "nobody", "scope": "x"}, "invalid_grant"},
		{"a disabled client", map[string]any{"client_app_id": "off-agent"}, "invalid_grant"},
		{"another field", map[string]any{"scope": "x"}, "invalid_request"},
		{"a field of the other grant", map[string]any{"code": "x"}, "invalid_request"},
		{"no token (D47)", map[string]any{"refresh_token": nil}, "invalid_grant"},
		{"a token of another type", map[string]any{"refresh_token": 7}, "invalid_grant"},
		{"an access token", map[string]any{"refresh_token": tok.Access}, "invalid_grant"},
		{"a token of 39", map[string]any{"refresh_token": tok.Refresh[:39]}, "invalid_grant"},
		{"an unknown token", map[string]any{"refresh_token": "bhr_" + strings.Repeat("x", 43)}, "invalid_grant"},
		{"another client's session", map[string]any{"client_app_id": "other-agent"}, "invalid_grant"},
	} {
		a.agent("POST", "token", "", with(t, good, tc.members)).refused(t, tc.rule, 400, tc.code)
	}
	if !a.works(tok.Access) {
		t.Error("a refused refresh ended the session")
	}
	a.tokensOf(a.refresh(tok.Refresh))
}

// Agent §2.8, D26, I8: reuse ends the session, whichever old token it is.
func TestReuseOfARefreshTokenKillsTheSession(t *testing.T) {
	t.Parallel()
	a := open(t)
	id, first := a.login(nil)
	second := a.tokensOf(a.refresh(first.Refresh))
	third := a.tokensOf(a.refresh(second.Refresh))
	a.agent("POST", "token", "", with(t, refreshBody(first.Refresh), map[string]any{"client_app_id": "other-agent"})).refused(t, "another client's reuse", 400, "invalid_grant")
	if !a.works(third.Access) {
		t.Fatal("another client ended the session")
	}
	a.refresh(first.Refresh).refused(t, "the reuse", 400, "invalid_grant")
	for _, tok := range []tokens{first, second, third} {
		if a.works(tok.Access) {
			t.Error("an access token works after the reuse")
		}
		a.refresh(tok.Refresh).refused(t, "a token of the dead session", 400, "invalid_grant")
	}
	var view struct {
		Session struct {
			State     string `json:"state"`
			RevokedAt string `json:"revoked_at"`
		} `json:"session"`
	}
	a.business("GET", "authorizations/"+id, "").into(t, &view)
	if view.Session.State != "revoked" || view.Session.RevokedAt == "" {
		t.Errorf("%+v", view)
	}
}

// Agent §2.1, §2.8: 900 seconds of an access token, 30 days of a session, which no refresh prolongs.
func TestTokensExpire(t *testing.T) {
	t.Parallel()
	a := open(t)
	_, tok := a.login(nil)
	a.Clock.Advance(900 * time.Second)
	if !a.works(tok.Access) { // access_expires_at >= now (agent §1.2)
		t.Error("the access token ended before its time was over")
	}
	a.Clock.Advance(time.Millisecond)
	if a.works(tok.Access) {
		t.Error("the access token outlived 900 s")
	}
	session := func(tok tokens) (view struct {
		ExpiresAt, RefreshExpiresAt string
	}) {
		var v struct {
			E string `json:"expires_at"`
			R string `json:"refresh_expires_at"`
		}
		a.agent("GET", "session", tok.Access, "").into(t, &v)
		view.ExpiresAt, view.RefreshExpiresAt = v.E, v.R
		return view
	}
	a.Clock.Advance(30*24*time.Hour - 1000*time.Second - time.Millisecond)
	tok = a.tokensOf(a.refresh(tok.Refresh))
	if tok.RefreshExpiresIn != 100 || tok.ExpiresIn != 900 {
		t.Errorf("the session ends in %d s", tok.RefreshExpiresIn)
	}
	if v := session(tok); v.RefreshExpiresAt != "2099-07-31T12:00:00.000Z" || v.ExpiresAt != "2099-07-31T12:13:20.000Z" {
		t.Errorf("%+v", v)
	}
	a.Clock.Advance(100*time.Second - 500*time.Millisecond)
	tok = a.tokensOf(a.refresh(tok.Refresh))
	if tok.RefreshExpiresIn != 0 || !a.works(tok.Access) {
		t.Errorf("in the last second: %d", tok.RefreshExpiresIn)
	}
	a.Clock.Advance(501 * time.Millisecond)
	if a.works(tok.Access) {
		t.Error("an access token outlived its session")
	}
	a.refresh(tok.Refresh).refused(t, "after 30 days", 400, "invalid_grant")
}
