package agentsession_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"bailing/shared/agentsession"
	"bailing/shared/awslocal/fault"
	"bailing/shared/registry"
)

// Steps 1 to 5 of agent §2.7, and the same of §2.8: the first rule that breaks decides.
func TestTokenChecksInOrder(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.client(func(c *registry.Client) { c.AppID, c.Enabled = "disabled-agent", false })
	w.client(func(c *registry.Client) { c.AppID, c.AgentAuthorizeURL = "no-page", "" })
	w.client(func(c *registry.Client) { c.AppID, c.AgentAuthorizeURL = "bad-page", "http://erp.example.net/" })
	code := "bhc_" + long(43)
	grants := map[string]members{"code": codeGrant(code), "refresh": refreshGrant("bhr_" + long(43))}
	for name, g := range grants {
		for _, tc := range []struct {
			rule, code string
			body       members
		}{
			{"1: no grant_type", "invalid_request", g.with("grant_type", nil)},
			{"1: grant_type that is no string", "invalid_request", g.with("grant_type", 7)},
			{"2: no client_app_id", "invalid_request", g.with("client_app_id", nil)},
			{"2: client_app_id that is none", "invalid_request", g.with("client_app_id", "Depot").with("grant_type", "password")},
			{"2: client_app_id is not trimmed", "invalid_request", g.with("client_app_id", " depot-agent")},
			{"3: no such client", "invalid_grant", g.with("client_app_id", "nobody").with("x", 1)},
			{"3: a disabled client", "invalid_grant", g.with("client_app_id", "disabled-agent").with("x", 1)},
			{"3: a client without page", "invalid_grant", g.with("client_app_id", "no-page").with("grant_type", "password")},
			{"3: a client with a page that breaks the rule", "invalid_grant", g.with("client_app_id", "bad-page").with("grant_type", "password")},
			{"an unknown grant, after 3", "unsupported_grant_type", g.with("grant_type", "password").with("x", 1)},
			{"an empty grant", "unsupported_grant_type", g.with("grant_type", "")},
			{"4: an unknown member, before 5", "invalid_request", g.with("x", 1).with("code", "short").with("refresh_token", nil)},
			{"6: an unknown token", "invalid_grant", g},
		} {
			_, err := w.Token(t.Context(), tc.body.value(t))
			wantCode(t, name+": "+tc.rule, err, 400, tc.code)
		}
	}
	for _, text := range []string{"[]", "null", `"x"`, "not JSON", "{}"} {
		_, err := w.Token(t.Context(), parsed(text))
		wantCode(t, text, err, 400, "invalid_request")
	}
	_, err := w.Token(t.Context(), codeGrant(code).with("refresh_token", "bhr_"+long(43)).value(t))
	wantCode(t, "4: a member of the other grant", err, 400, "invalid_request")
	for rule, body := range map[string]members{
		"no code":                    codeGrant(code).with("code", nil), // D47
		"a code of 39":               codeGrant("bhc_" + long(35)),
		"an access token for a code": codeGrant("bha_" + long(43)),
		"no redirect_uri":            codeGrant(code).with("redirect_uri", nil),
		"a redirect to localhost":    codeGrant(code).with("redirect_uri", "http://localhost:1/"),
		"no code_verifier":           codeGrant(code).with("code_verifier", nil),
		"a code_verifier of 42":      codeGrant(code).with("code_verifier", long(42)),
		"a code_verifier of 129":     codeGrant(code).with("code_verifier", long(129)),
		"a code_verifier with a +":   codeGrant(code).with("code_verifier", long(42)+"+"),
		"no refresh_token":           refreshGrant("x").with("refresh_token", nil),
		"a refresh_token of 39":      refreshGrant("bhr_" + long(35)),
		"a refresh_token of 40":      refreshGrant("bhr_" + long(36)),
		"a code to refresh with":     refreshGrant(code),
	} {
		_, err := w.Token(t.Context(), body.value(t))
		wantCode(t, "5: "+rule, err, 400, "invalid_grant")
	}
}

// Step 6 of agent §2.7. Whatever fails, the code works afterwards.
func TestAnExchangeNeedsTheWholeProof(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.client(func(c *registry.Client) { c.AppID = "other" })
	code, id := w.approved(approval)
	good := codeGrant(code)
	for rule, body := range map[string]members{
		"another code":           good.with("code", "bhc_"+long(43)),
		"another client":         good.with("client_app_id", "other"),
		"an equivalent redirect": good.with("redirect_uri", loopback+"?"),
		"another port":           good.with("redirect_uri", strings.Replace(loopback, "49733", "49734", 1)),
		"another verifier":       good.with("code_verifier", verifier+"x"),
		"the challenge itself":   good.with("code_verifier", challenge),
	} {
		_, err := w.Token(t.Context(), body.value(t))
		wantCode(t, rule, err, 400, "invalid_grant")
		if got := w.authorization(id).Status; got != agentsession.Approved {
			t.Fatalf("%s: the request is %s", rule, got)
		}
	}
	w.clock.Advance(120*time.Second - time.Millisecond) // the last moment
	tokens, err := w.Token(t.Context(), good.value(t))
	must(t, err)
	a := w.authorization(id)
	if a.Status != agentsession.Consumed || a.SessionID != tokens.SessionID {
		t.Errorf("%+v", a)
	}
	_, err = w.Token(t.Context(), good.value(t))
	wantCode(t, "the same code again", err, 400, "invalid_grant")
	if !w.works(tokens.AccessToken) {
		t.Error("a second use of the code ended the session of the first")
	}
}

func TestACodeExpiresAfter120Seconds(t *testing.T) {
	t.Parallel()
	w := open(t)
	code, id := w.approved(approval)
	w.clock.Advance(120 * time.Second)
	_, err := w.Token(t.Context(), codeGrant(code).value(t))
	wantCode(t, "after 120 s", err, 400, "invalid_grant")
	if got := w.authorization(id).Status; got != agentsession.Approved {
		t.Errorf("the request is %s", got)
	}
}

// A code approved shortly before its request expires lives its own 120 seconds.
func TestACodeOutlivesItsRequest(t *testing.T) {
	t.Parallel()
	w := open(t)
	id := w.asked(request)
	w.clock.Advance(599 * time.Second)
	r, err := w.approve(id, approval)
	must(t, err)
	w.clock.Advance(119 * time.Second)
	if _, err := w.Token(t.Context(), codeGrant(w.codeOf(r)).value(t)); err != nil {
		t.Error(err)
	}
}

func TestTheAnswerOfBothGrants(t *testing.T) {
	t.Parallel()
	w := open(t)
	wantAnswer := func(got agentsession.Tokens, left string) {
		t.Helper()
		b, err := json.Marshal(got)
		must(t, err)
		want := `{"token_type":"Bearer","access_token":"` + got.AccessToken + `","expires_in":900,"refresh_token":"` + got.RefreshToken +
			`","refresh_expires_in":` + left + `,"session_id":"` + got.SessionID + `","client_app_id":"depot-agent",` +
			`"subject_display":{"name":"Yard 2"},"subject_display_status":"provided"}`
		if string(b) != want || len(got.AccessToken) != 47 || !strings.HasPrefix(got.AccessToken, "bha_") || len(got.RefreshToken) != 47 || !strings.HasPrefix(got.RefreshToken, "bhr_") {
			t.Errorf("%s, want %s", b, want)
		}
	}
	first := w.login()
	wantAnswer(first, "2592000")
	w.clock.Advance(5*time.Second + time.Millisecond)
	second, err := w.refresh(t.Context(), first.RefreshToken)
	must(t, err)
	wantAnswer(second, "2591994") // whole seconds
	if second.SessionID != first.SessionID || second.AccessToken == first.AccessToken || second.RefreshToken == first.RefreshToken {
		t.Errorf("%+v after %+v", second, first)
	}
	nameless, _ := w.loginAs(approval.with("subject_display", nil))
	if nameless.SubjectDisplay != nil || nameless.SubjectDisplayStatus != "missing" {
		t.Errorf("%+v", nameless)
	}
}

func TestARefreshReplacesBothTokensAtOnce(t *testing.T) {
	t.Parallel()
	w := open(t)
	tokens := w.login()
	expires := w.session(tokens.SessionID).RefreshExpiresAt
	for range 3 {
		w.clock.Advance(time.Hour) // the access token has expired, which does not matter
		next, err := w.refresh(t.Context(), tokens.RefreshToken)
		must(t, err)
		if w.works(tokens.AccessToken) || !w.works(next.AccessToken) {
			t.Error("the old access token works, or the new one does not")
		}
		if got := w.session(tokens.SessionID).RefreshExpiresAt; !got.Equal(expires) {
			t.Errorf("the session expires at %v now, was %v", got, expires)
		}
		if used := w.token(tokens.RefreshToken); used.State != agentsession.TokenUsed || !used.ExpiresAt.Equal(expires) {
			t.Errorf("%+v", used)
		}
		if fresh := w.token(next.RefreshToken); fresh.State != agentsession.TokenActive || !fresh.ExpiresAt.Equal(expires) {
			t.Errorf("%+v", fresh)
		}
		tokens = next
	}
}

// token is a refresh token as it is stored.
func (w *world) token(token string) *agentsession.RefreshToken {
	w.t.Helper()
	r, err := w.store.Agents().ReadRefreshToken(w.t.Context(), registry.TokenHash(token))
	must(w.t, err)
	return r
}

// state is the state of a refresh token, agent §2.14.
func (w *world) state(token string) agentsession.TokenState {
	w.t.Helper()
	r := w.token(token)
	return r.StateIn(w.session(r.SessionID))
}

func TestARefreshTokenEndsWithItsSession(t *testing.T) {
	t.Parallel()
	w := open(t)
	tokens := w.login()
	w.clock.Advance(agentsession.RefreshLife - time.Second)
	tokens, err := w.refresh(t.Context(), tokens.RefreshToken)
	if err != nil || tokens.RefreshExpiresIn != 1 {
		t.Fatalf("%+v, %v", tokens, err)
	}
	w.clock.Advance(time.Second - time.Millisecond)
	tokens, err = w.refresh(t.Context(), tokens.RefreshToken)
	if err != nil || tokens.RefreshExpiresIn != 0 {
		t.Fatalf("%+v, %v", tokens, err)
	}
	if !w.works(tokens.AccessToken) {
		t.Error("the access token does not work in the last moment")
	}
	w.clock.Advance(time.Millisecond)
	before := w.session(tokens.SessionID)
	_, err = w.refresh(t.Context(), tokens.RefreshToken)
	wantCode(t, "after 30 days", err, 400, "invalid_grant")
	if after := w.session(tokens.SessionID); !after.RevokedAt.IsZero() || !after.ReusedAt.IsZero() || w.token(tokens.RefreshToken).State != agentsession.TokenActive {
		t.Errorf("something changed: %+v, was %+v", after, before)
	}
	if !w.works(tokens.AccessToken) {
		t.Error("the access token has to work until refresh_expires_at >= now fails")
	}
	w.clock.Advance(time.Millisecond)
	if w.works(tokens.AccessToken) {
		t.Error("the access token outlives its session")
	}
}

// Invariant I8.
func TestReuseOfARefreshTokenKillsTheSession(t *testing.T) {
	t.Parallel()
	w := open(t)
	first := w.login()
	second, err := w.refresh(t.Context(), first.RefreshToken)
	must(t, err)
	third, err := w.refresh(t.Context(), second.RefreshToken)
	must(t, err)
	w.clock.Advance(time.Minute)
	at := w.clock.Now()
	for range 2 { // a second time changes nothing more
		_, err = w.refresh(t.Context(), first.RefreshToken)
		wantCode(t, "reuse", err, 400, "invalid_grant")
		if s := w.session(first.SessionID); !s.RevokedAt.Equal(at) || s.StateAt(at) != agentsession.SessionRevoked {
			t.Errorf("%+v", s)
		}
		for token, want := range map[string]agentsession.TokenState{
			first.RefreshToken: agentsession.TokenReplayed, second.RefreshToken: agentsession.TokenRevoked, third.RefreshToken: agentsession.TokenRevoked,
		} {
			if got := w.state(token); got != want {
				t.Errorf("a token is %s, want %s", got, want)
			}
		}
		w.clock.Advance(time.Minute)
	}
	if w.works(third.AccessToken) {
		t.Error("the access token works")
	}
	_, err = w.refresh(t.Context(), third.RefreshToken)
	wantCode(t, "the newest token", err, 400, "invalid_grant")
	if got := w.state(third.RefreshToken); got != agentsession.TokenReplayed {
		t.Errorf("a revoked token that is presented is %s", got)
	}
	if s := w.session(first.SessionID); !s.RevokedAt.Equal(at) {
		t.Errorf("revoked_at moved: %+v", s)
	}
	if !strings.Contains(w.log.String(), "used again") {
		t.Error("no log line tells of it")
	}
}

func TestATokenOfAnotherClientChangesNothing(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.client(func(c *registry.Client) { c.AppID = "other" })
	first := w.login()
	second, err := w.refresh(t.Context(), first.RefreshToken)
	must(t, err)
	for _, token := range []string{first.RefreshToken, second.RefreshToken} { // not even a used one
		_, err := w.Token(t.Context(), refreshGrant(token).with("client_app_id", "other").value(t))
		wantCode(t, "another client", err, 400, "invalid_grant")
	}
	if s := w.session(first.SessionID); !s.RevokedAt.IsZero() || w.state(second.RefreshToken) != agentsession.TokenActive || !w.works(second.AccessToken) {
		t.Errorf("%+v", s)
	}
	w.remove("session#" + first.SessionID)
	_, err = w.refresh(t.Context(), second.RefreshToken)
	wantCode(t, "a token whose session is gone", err, 400, "invalid_grant")
}

func TestWhatAProcessRemembersDecidesNothing(t *testing.T) {
	t.Parallel()
	w := open(t)
	tokens := w.login()
	fresh := w.process()
	next, err := fresh.Token(t.Context(), refreshGrant(tokens.RefreshToken).value(t)) // learned from the rows
	must(t, err)
	if w.works(tokens.AccessToken) || !w.works(next.AccessToken) { // w remembers the old tokens
		t.Error("memory decided about a token")
	}
	_, err = w.refresh(t.Context(), tokens.RefreshToken)
	wantCode(t, "a token that was used elsewhere", err, 400, "invalid_grant")
	if w.works(next.AccessToken) {
		t.Error("the session lives")
	}
}

// A request for a rotation, whose answer is lost, is sent again. That is no second use of the token.
func TestALostAnswerIsNoReuse(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]fault.Kind{"error": fault.ErrorAfterCommit, "no answer": fault.DropAfterCommit, "before": fault.Drop, "conflict": fault.Conflict} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			tokens := w.login()
			lost := 0
			w.env.Server.Faults().Set(func(op fault.Op) fault.Fault {
				if op.Action != "TransactWriteItems" || lost > 0 {
					return fault.Fault{}
				}
				lost++
				return fault.Fault{Kind: kind}
			})
			next, err := w.refresh(t.Context(), tokens.RefreshToken)
			w.env.Server.Faults().Set(nil)
			if err != nil || lost != 1 {
				t.Fatalf("%d lost: %v", lost, err)
			}
			if s := w.session(tokens.SessionID); !s.RevokedAt.IsZero() || !w.works(next.AccessToken) || w.state(next.RefreshToken) != agentsession.TokenActive {
				t.Errorf("%+v", s)
			}
			if _, err := w.refresh(t.Context(), next.RefreshToken); err != nil {
				t.Error(err)
			}
		})
	}
}

// An outage ends a refresh before or after its transaction. Before, the old token still works; after, it was used, and using it again
// ends the session (D26).
func TestAnOutageLeavesARefreshDoneOrUndone(t *testing.T) {
	t.Parallel()
	for kind, done := range map[fault.Kind]bool{fault.ErrorBefore: false, fault.ErrorAfterCommit: true} {
		w := open(t)
		tokens := w.login()
		w.env.Server.Faults().Set(func(op fault.Op) fault.Fault {
			if op.Action != "TransactWriteItems" {
				return fault.Fault{}
			}
			return fault.Fault{Kind: kind}
		})
		_, err := w.refresh(t.Context(), tokens.RefreshToken)
		w.env.Server.Faults().Set(nil)
		wantCode(t, "an outage", err, 503, "agent_auth_unavailable")
		if got := w.state(tokens.RefreshToken); (got == agentsession.TokenUsed) != done {
			t.Errorf("done %v: the token is %s", done, got)
		}
		if w.works(tokens.AccessToken) == done {
			t.Errorf("done %v: the old access token works %v", done, !done)
		}
		_, err = w.refresh(t.Context(), tokens.RefreshToken)
		if !done && err != nil {
			t.Errorf("again: %v", err)
		} else if done {
			wantCode(t, "again", err, 400, "invalid_grant")
		}
	}
}
