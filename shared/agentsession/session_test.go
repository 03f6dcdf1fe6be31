package agentsession_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"bailing/shared/agentsession"
	"bailing/shared/awslocal/fault"
	"bailing/shared/registry"
)

func TestTheSessionAsItsAgentSeesIt(t *testing.T) {
	t.Parallel()
	w := open(t)
	tokens := w.login()
	session, client, err := w.Authenticate(t.Context(), tokens.AccessToken)
	must(t, err)
	if client.AppID != "depot-agent" {
		t.Errorf("client %+v", client)
	}
	b, err := json.Marshal(session.View())
	must(t, err)
	if want := `{"session_id":"` + tokens.SessionID + `","client_app_id":"depot-agent","device_label":"Yard laptop 3",` +
		`"subject_display":{"name":"Yard 2"},"subject_display_status":"provided",` +
		`"principal":{"id":"op-15","tenant":"yard-2","roles":["clerk"]},"on_behalf_of":"yard-2:op-15","allowed_routes":["depot-desk"],` +
		`"created_at":"2026-11-30T08:00:00.000Z","expires_at":"2026-11-30T08:15:00.000Z","refresh_expires_at":"2026-12-30T08:00:00.000Z"}`; string(b) != want {
		t.Errorf("%s, want %s", b, want)
	}
}

// The four points of agent §1.2.
func TestOnlyTheCurrentAccessTokenOfALiveSessionIsAdmitted(t *testing.T) {
	t.Parallel()
	w := open(t)
	tokens := w.login()
	for _, bearer := range []string{"", "bha_", "bha_" + long(43), tokens.RefreshToken, tokens.AccessToken[:39], tokens.AccessToken + "x", token} {
		if w.works(bearer) {
			t.Errorf("%q is admitted", bearer)
		}
	}
	w.clock.Advance(900 * time.Second)
	if !w.works(tokens.AccessToken) {
		t.Error("refused at access_expires_at, which is the last moment")
	}
	w.clock.Advance(time.Millisecond)
	if w.works(tokens.AccessToken) {
		t.Error("admitted after access_expires_at")
	}
}

// Whatever a process remembers, a client is read anew with every call.
func TestAClientThatLetsNobodyInCutsOffEverySession(t *testing.T) {
	t.Parallel()
	w := open(t)
	tokens := w.login()
	for name, change := range map[string]func(*registry.Client){
		"disabled":                      func(c *registry.Client) { c.Enabled = false },
		"without an authorize URL":      func(c *registry.Client) { c.AgentAuthorizeURL = "" },
		"with one that breaks the rule": func(c *registry.Client) { c.AgentAuthorizeURL = "http://erp.example.net/" },
	} {
		w.client(change)
		before := w.session(tokens.SessionID)
		for _, s := range []*agentsession.Service{w.Service, w.process()} {
			_, _, err := s.Authenticate(t.Context(), tokens.AccessToken)
			wantCode(t, name, err, 401, "unauthorized")
		}
		_, err := w.refresh(t.Context(), tokens.RefreshToken)
		wantCode(t, "refresh, "+name, err, 400, "invalid_grant")
		if after := w.session(tokens.SessionID); !after.RevokedAt.Equal(before.RevokedAt) || after.AccessHash != before.AccessHash {
			t.Errorf("%s: %+v", name, after)
		}
	}
	w.client(func(*registry.Client) {})
	if !w.works(tokens.AccessToken) {
		t.Error("the session does not work again")
	}
}

// A store that cannot answer is no refusal: an agent that gets a 401 drops its tokens.
func TestAnOutageIsNoRefusal(t *testing.T) {
	t.Parallel()
	w := open(t)
	tokens, id := w.loginAs(approval)
	client := w.own()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.env.Server.Faults().Set(func(op fault.Op) fault.Fault { return fault.Fault{Kind: fault.ErrorBefore} })
	defer w.env.Server.Faults().Set(nil)
	one := func(_ any, err error) error { return err }
	_, _, unauthenticated := w.Authenticate(ctx, tokens.AccessToken)
	for name, tc := range map[string]struct {
		err  error
		code string
	}{
		"authenticate":         {unauthenticated, "agent_auth_unavailable"},
		"business":             {one(w.Business(ctx, token)), "agent_auth_unavailable"},
		"create":               {one(w.Create(ctx, request.value(t), home)), "agent_auth_unavailable"},
		"context":              {one(w.Context(ctx, client, id)), "agent_auth_lifecycle_unavailable"},
		"approve":              {one(w.Approve(ctx, client, id, approval.value(t))), "agent_auth_unavailable"},
		"deny":                 {one(w.Deny(ctx, client, id, parsed("{}"))), "agent_auth_unavailable"},
		"revoke authorization": {one(w.RevokeAuthorization(ctx, client, id, parsed("{}"))), "agent_auth_lifecycle_unavailable"},
		"exchange":             {one(w.Token(ctx, codeGrant("bhc_"+long(43)).value(t))), "agent_auth_unavailable"},
		"refresh":              {one(w.refresh(ctx, tokens.RefreshToken)), "agent_auth_unavailable"},
		"another grant":        {one(w.Token(ctx, refreshGrant("").with("grant_type", "x").value(t))), "agent_auth_unavailable"},
		"revoke":               {w.Revoke(ctx, tokens.AccessToken, parsed("{}")), "agent_auth_unavailable"},
		"revoke by refresh":    {w.Revoke(ctx, "", refreshGrant(tokens.RefreshToken).with("grant_type", nil).value(t)), "agent_auth_unavailable"},
		"revoke session":       {w.RevokeSession(ctx, client, tokens.SessionID), "agent_auth_unavailable"},
		"list":                 {one(w.List(ctx, client, "")), "agent_auth_lifecycle_unavailable"},
		"display":              {one(w.SetSubjectDisplay(ctx, client, tokens.SessionID, parsed(`{"subject_display":null}`))), "subject_display_unavailable"},
	} {
		wantCode(t, name, tc.err, 503, tc.code)
		if !errors.Is(tc.err, context.Canceled) {
			t.Errorf("%s: the cause is gone: %v", name, tc.err)
		}
	}
}

func TestAnAgentRevokesItsSession(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.client(func(c *registry.Client) { c.AppID = "other" })
	revoked := func(tokens agentsession.Tokens) bool { return !w.session(tokens.SessionID).RevokedAt.IsZero() }
	byRefresh := func(token string) members { return members{"client_app_id": "depot-agent", "refresh_token": token} }

	a := w.login()
	old, err := w.refresh(t.Context(), w.login().RefreshToken)
	must(t, err)
	next, err := w.refresh(t.Context(), old.RefreshToken)
	must(t, err)
	wantCode(t, "a bearer of another kind", w.Revoke(t.Context(), a.RefreshToken, byRefresh(a.RefreshToken).value(t)), 401, "unauthorized")
	must(t, w.Revoke(t.Context(), "bha_unknown", byRefresh(a.RefreshToken).value(t))) // the bearer alone decides
	must(t, w.Revoke(t.Context(), old.AccessToken, parsed("not JSON")))               // no session's current one
	if revoked(a) || revoked(old) {
		t.Error("a session was revoked by a token that is not its own")
	}
	w.clock.Advance(agentsession.AccessLife + time.Second)
	at := w.clock.Now()
	for range 2 {
		must(t, w.Revoke(t.Context(), a.AccessToken, parsed("not JSON"))) // expired, and its session's all the same
		if s := w.session(a.SessionID); !s.RevokedAt.Equal(at) || w.state(a.RefreshToken) != agentsession.TokenRevoked {
			t.Errorf("%+v", s)
		}
		w.clock.Advance(time.Second)
	}

	for _, body := range []members{
		{}, byRefresh(next.RefreshToken).with("client_app_id", nil), byRefresh(next.RefreshToken).with("refresh_token", nil),
		byRefresh(next.RefreshToken).with("x", 1), byRefresh(next.AccessToken), byRefresh(next.RefreshToken).with("client_app_id", "X"),
	} {
		wantCode(t, "a body", w.Revoke(t.Context(), "", body.value(t)), 400, "invalid_request")
	}
	wantCode(t, "no body", w.Revoke(t.Context(), "", parsed("[]")), 400, "invalid_request")
	must(t, w.Revoke(t.Context(), "", byRefresh("bhr_unknown").value(t)))
	must(t, w.Revoke(t.Context(), "", byRefresh(next.RefreshToken).with("client_app_id", "other").value(t)))
	if revoked(next) {
		t.Error("another client revoked the session")
	}
	must(t, w.Revoke(t.Context(), "", byRefresh(next.RefreshToken).value(t)))
	if !revoked(next) {
		t.Error("the session is not revoked")
	}
	_, err = w.refresh(t.Context(), next.RefreshToken)
	wantCode(t, "refresh of a revoked session", err, 400, "invalid_grant")
}

func TestABusinessRevokesASession(t *testing.T) {
	t.Parallel()
	w := open(t)
	other := w.client(func(c *registry.Client) { c.AppID = "other" })
	tokens := w.login()
	for _, id := range []string{"no-uuid", "b2f0c1de-5a77-4c0e-9b61-6b1f2f0a9d10"} {
		wantCode(t, id, w.RevokeSession(t.Context(), w.own(), id), 404, "not_found")
	}
	wantCode(t, "another client's", w.RevokeSession(t.Context(), other, tokens.SessionID), 404, "not_found")
	if !w.works(tokens.AccessToken) {
		t.Error("revoked by another client")
	}
	at := w.clock.Now()
	for range 2 {
		must(t, w.RevokeSession(t.Context(), w.own(), strings.ToUpper(tokens.SessionID)))
		if w.works(tokens.AccessToken) || !w.session(tokens.SessionID).RevokedAt.Equal(at) {
			t.Error("not revoked, or at another time")
		}
		w.clock.Advance(time.Second)
	}
}

func TestSubjectDisplay(t *testing.T) {
	t.Parallel()
	w := open(t)
	other := w.client(func(c *registry.Client) { c.AppID = "other" })
	tokens := w.login()
	set := func(id, body string) (agentsession.SessionItem, error) {
		return w.SetSubjectDisplay(t.Context(), w.own(), id, parsed(body))
	}
	const good = `{"subject_display":{"name":" Bay "}}`
	_, err := set("no-uuid", "[]")
	wantCode(t, "404 before 400", err, 404, "not_found")
	for _, body := range []string{"[]", "{}", "not JSON", `{"subject_display":"x"}`, `{"subject_display":{"name":"x"},"y":1}`, `{"subject_display":{"name":"x","y":1}}`, `{"subject_display":{"name":7}}`} {
		_, err := set("b2f0c1de-5a77-4c0e-9b61-6b1f2f0a9d10", body)
		wantCode(t, "400 before 404: "+body, err, 400, "invalid_request")
	}
	_, err = set("b2f0c1de-5a77-4c0e-9b61-6b1f2f0a9d10", good)
	wantCode(t, "an unknown session", err, 404, "not_found")
	_, err = w.SetSubjectDisplay(t.Context(), other, tokens.SessionID, parsed(good))
	wantCode(t, "another client's", err, 404, "not_found")

	before := w.session(tokens.SessionID)
	item, err := set(strings.ToUpper(tokens.SessionID), good)
	if err != nil || item.SubjectDisplay == nil || item.SubjectDisplay.Name != "Bay" || item.SubjectDisplayStatus != "provided" {
		t.Errorf("%+v, %v", item, err)
	}
	after := w.session(tokens.SessionID)
	before.Display = "Bay"
	if a, b := after.View(), before.View(); a.Principal.ID != b.Principal.ID || a.ExpiresAt != b.ExpiresAt || a.RefreshExpiresAt != b.RefreshExpiresAt || after.AccessHash != before.AccessHash || after.Display != "Bay" {
		t.Errorf("%+v, was %+v", after, before)
	}
	next, err := w.refresh(t.Context(), tokens.RefreshToken)
	if err != nil || next.SubjectDisplay == nil || next.SubjectDisplay.Name != "Bay" {
		t.Errorf("%+v, %v", next, err)
	}
	item, err = set(tokens.SessionID, `{"subject_display":null}`)
	if err != nil || item.SubjectDisplay != nil || item.SubjectDisplayStatus != "missing" {
		t.Errorf("%+v, %v", item, err)
	}
	w.clock.Advance(agentsession.RefreshLife)
	_, err = set(tokens.SessionID, good)
	wantCode(t, "an expired session", err, 409, "session_inactive")
	revoked := w.login()
	must(t, w.RevokeSession(t.Context(), w.own(), revoked.SessionID))
	_, err = set(revoked.SessionID, good)
	wantCode(t, "a revoked session", err, 409, "session_inactive")
	_, err = w.SetSubjectDisplay(t.Context(), other, revoked.SessionID, parsed(good))
	wantCode(t, "another client's, revoked", err, 404, "not_found")
}

// What is stored and breaks the rule reads as missing.
func TestAStoredNameThatBreaksTheRuleIsMissing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", " Bay", "Bay\n2", long(121), "Bay\u2028", "\xff"} {
		s := agentsession.Session{Display: name}
		if v := s.View(); v.SubjectDisplay != nil || v.SubjectDisplayStatus != "missing" {
			t.Errorf("%q: %+v", name, v)
		}
	}
}

// seen authenticates until the write beside it has landed, which one call does not wait for.
func (w *world) seen(s *agentsession.Service, access, sessionID string) time.Time {
	w.t.Helper()
	for range 10_000 {
		_, _, err := s.Authenticate(w.t.Context(), access)
		must(w.t, err)
		if at := w.session(sessionID).LastSeenAt; at.Equal(w.clock.Now()) {
			return at
		}
	}
	w.t.Fatal("the session was never noted as seen")
	return time.Time{}
}

func TestASessionIsNotedAsSeenOnceAMinute(t *testing.T) {
	t.Parallel()
	w := open(t)
	tokens := w.login()
	if !w.session(tokens.SessionID).LastSeenAt.IsZero() {
		t.Error("seen before anybody came")
	}
	at := w.seen(w.Service, tokens.AccessToken, tokens.SessionID)
	w.clock.Advance(time.Minute - time.Millisecond)
	for _, s := range []*agentsession.Service{w.Service, w.process()} {
		for range 20 {
			_, _, err := s.Authenticate(t.Context(), tokens.AccessToken)
			must(t, err)
		}
	}
	if got := w.session(tokens.SessionID).LastSeenAt; !got.Equal(at) {
		t.Errorf("written again within a minute, at %v", got)
	}
	w.clock.Advance(time.Millisecond)
	must(t, w.store.Agents().Touch(t.Context(), tokens.SessionID, registry.TokenHash("bha_another"), w.clock.Now(), w.clock.Now().Add(-time.Minute)))
	if got := w.session(tokens.SessionID).LastSeenAt; !got.Equal(at) {
		t.Error("noted for a token that does not work")
	}
	w.seen(w.process(), tokens.AccessToken, tokens.SessionID)
}

// The write changes one member; whatever else is written beside it stays.
func TestNotingAsSeenLosesNoOtherChange(t *testing.T) {
	t.Parallel()
	w := open(t)
	tokens := w.login()
	stale := w.session(tokens.SessionID)
	next, err := w.refresh(t.Context(), tokens.RefreshToken)
	must(t, err)
	_, err = w.SetSubjectDisplay(t.Context(), w.own(), tokens.SessionID, parsed(`{"subject_display":{"name":"Bay"}}`))
	must(t, err, w.store.Agents().Touch(t.Context(), stale.ID, stale.AccessHash, w.clock.Now(), w.clock.Now()))
	if s := w.session(stale.ID); !s.LastSeenAt.IsZero() || s.Display != "Bay" {
		t.Errorf("%+v", s)
	}
	w.seen(w.Service, next.AccessToken, stale.ID)
	if s := w.session(stale.ID); s.Display != "Bay" || s.AccessHash != registry.TokenHash(next.AccessToken) {
		t.Errorf("%+v", s)
	}
	must(t, w.RevokeSession(t.Context(), w.own(), stale.ID), w.store.Agents().Touch(t.Context(), "b2f0c1de-5a77-4c0e-9b61-6b1f2f0a9d10", "x", w.clock.Now(), w.clock.Now()))
	if s := w.session("b2f0c1de-5a77-4c0e-9b61-6b1f2f0a9d10"); s != nil {
		t.Errorf("noting made a session: %+v", s)
	}
}

// slowTouch is a store whose notes take for ever.
type slowTouch struct {
	agentsession.Store
	ended chan struct{}
}

func (s slowTouch) Touch(ctx context.Context, _, _ string, _, _ time.Time) error {
	<-ctx.Done()
	close(s.ended)
	return ctx.Err()
}

func TestACallDoesNotWaitForTheNote(t *testing.T) {
	t.Parallel()
	w := open(t)
	tokens := w.login()
	slow := slowTouch{w.Store, make(chan struct{})}
	w.Store = slow
	if !w.works(tokens.AccessToken) {
		t.Error("refused")
	}
	select {
	case <-slow.ended:
	default:
		t.Error("the note outlives the call")
	}
}

// failingTouch is a store that cannot write notes.
type failingTouch struct{ agentsession.Store }

func (failingTouch) Touch(context.Context, string, string, time.Time, time.Time) error {
	return errors.New("no room")
}

func TestANoteThatFailsFailsNoCall(t *testing.T) {
	t.Parallel()
	w := open(t)
	tokens := w.login()
	w.Store = failingTouch{w.Store}
	if !w.works(tokens.AccessToken) {
		t.Error("refused")
	}
}
