package storetest

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/uuid"

	"bailing/shared/agentsession"
	"bailing/shared/limit"
	"bailing/shared/topology"
)

var agentLogins = []promise{
	{"a request of an agent comes back as it was stored, and as it was approved", requestKept},
	{"a request is approved while it is pending and has not expired", approvedInTime},
	{"a request ends only from the states that allow it", requestEnds},
	{"a code belongs to one request", codesAreUnique},
	{"an exchange stores session, tokens and lists, once", exchanged},
	{"an exchange needs the request's code, before that expires", exchangeConditions},
	{"hashes of tokens are unique", hashesAreUnique},
	{"a rotation replaces both tokens", rotated},
	{"a rotation needs an active token of a session that lives", rotationConditions},
	{"a rotation that is asked for again is the same one", rotatedAgain},
	{"reuse revokes the session and marks the token, once", reusedOnce},
	{"a session is revoked by whom it matches, at the first time", revokedOnce},
	{"a session is noted as seen for its token and not too often", touched},
	{"the display name of an active session is replaced", displaySet},
	{"the sessions of a client are listed newest first, page by page", sessionsListed},
	{"what is unknown is nothing", nothingKnown},
	{"the limits of agents' requests are kept apart from all others", agentBuckets},
	{"rows of agents' logins expire long after they mean anything", agentExpiry},
	{"agents' rows of a newer release are refused", newerAgentRows},
}

// visit is one login: a request, and the session that comes of it.
type visit struct {
	a agentsession.Authorization
	s agentsession.Session
	// hashes
	refresh string
}

func (b *bundle) agents() agentsession.Store { return b.Store.Agents() }

// visit is a login that is not stored yet.
func (b *bundle) visit() visit {
	g := agentsession.Grant{
		Principal:  agentsession.Principal{ID: "op", Tenant: "yard", Roles: []string{"clerk"}, Audience: "staff", Channel: "web"},
		OnBehalfOf: "yard:op", Routes: []string{"desk"}, Display: "Yard 2",
	}
	app := "app-" + uuid.NewString()
	a := agentsession.Authorization{
		ID: uuid.NewString(), ClientAppID: app, RedirectURI: "http://127.0.0.1:1/é", State: "state&", RequestedRoutes: []string{"desk", "yard"},
		DeviceLabel: "laptop", Challenge: "challenge", Status: agentsession.Approved, CreatedAt: b.now, ExpiresAt: b.now.Add(agentsession.AuthorizationLife),
		Grant: g, CodeHash: "code-" + uuid.NewString(), CodeExpiresAt: b.now.Add(agentsession.CodeLife),
	}
	s := agentsession.Session{
		ID: uuid.NewString(), AuthorizationID: a.ID, ClientAppID: app, DeviceLabel: "laptop", Principal: g.Principal, OnBehalfOf: g.OnBehalfOf,
		AllowedRoutes: g.Routes, Display: g.Display, CreatedAt: b.now, RefreshExpiresAt: b.now.Add(agentsession.RefreshLife),
		AccessHash: "access-" + uuid.NewString(), AccessExpiresAt: b.now.Add(agentsession.AccessLife),
	}
	return visit{a, s, "refresh-" + uuid.NewString()}
}

// pending is the request before it was approved.
func (v visit) pending() *agentsession.Authorization {
	a := v.a
	a.Status, a.Grant, a.CodeHash, a.CodeExpiresAt = agentsession.Pending, agentsession.Grant{}, "", time.Time{}
	return &a
}

func (b *bundle) requested(t *testing.T) visit {
	t.Helper()
	v := b.visit()
	must(t, b.agents().CreateAuthorization(t.Context(), v.pending()))
	return v
}

func (b *bundle) approvedVisit(t *testing.T) visit {
	t.Helper()
	v := b.requested(t)
	must(t, b.agents().Approve(t.Context(), &v.a, b.now))
	return v
}

func (b *bundle) loggedIn(t *testing.T) visit {
	t.Helper()
	v := b.approvedVisit(t)
	must(t, b.agents().Exchange(t.Context(), &v.a, &v.s, v.refresh, b.now))
	return v
}

func (b *bundle) authorization(t *testing.T, id string) agentsession.Authorization {
	t.Helper()
	a, err := b.agents().ReadAuthorization(t.Context(), id)
	must(t, err)
	if a == nil {
		t.Fatal("the request is gone")
	}
	return *a
}

func (b *bundle) session(t *testing.T, id string) agentsession.Session {
	t.Helper()
	s, client, err := b.agents().ReadSession(t.Context(), id, "")
	must(t, err)
	if s == nil || client != nil {
		t.Fatalf("%+v, %+v", s, client)
	}
	return *s
}

func (b *bundle) refreshToken(t *testing.T, hash string) agentsession.RefreshToken {
	t.Helper()
	r, err := b.agents().ReadRefreshToken(t.Context(), hash)
	must(t, err)
	if r == nil {
		return agentsession.RefreshToken{}
	}
	return *r
}

// wantMoved checks that a change was refused, and what the request is.
func wantMoved(t *testing.T, err error, status agentsession.Status) {
	t.Helper()
	var moved *agentsession.Moved
	if !errors.As(err, &moved) || moved.Now == nil && status != "" || moved.Now != nil && moved.Now.Status != status {
		t.Fatalf("err = %v, want it moved to %q", err, status)
	}
}

func requestKept(t *testing.T, b *bundle) {
	v := b.requested(t)
	wantEqual(t, "the pending request", b.authorization(t, v.a.ID), *v.pending())
	if err := b.agents().CreateAuthorization(t.Context(), v.pending()); err == nil {
		t.Error("stored twice")
	}
	must(t, b.agents().Approve(t.Context(), &v.a, b.now))
	wantEqual(t, "the approved request", b.authorization(t, v.a.ID), v.a)
	client, a, err := b.agents().ReadCode(t.Context(), v.a.ClientAppID, v.a.CodeHash)
	must(t, err)
	if client != nil {
		t.Errorf("client %+v", client)
	}
	wantEqual(t, "the request of the code", *a, v.a)
	bare := b.visit()
	bare.a.Grant = agentsession.Grant{Principal: agentsession.Principal{ID: "op", Roles: []string{}}, OnBehalfOf: "op", Routes: []string{"desk"}}
	must(t, b.agents().CreateAuthorization(t.Context(), bare.pending()))
	must(t, b.agents().Approve(t.Context(), &bare.a, b.now))
	wantEqual(t, "a grant without what is optional", b.authorization(t, bare.a.ID), bare.a)
}

func approvedInTime(t *testing.T, b *bundle) {
	v := b.requested(t)
	wantMoved(t, b.agents().Approve(t.Context(), &v.a, v.a.ExpiresAt), agentsession.Pending)
	if _, a, err := b.agents().ReadCode(t.Context(), v.a.ClientAppID, v.a.CodeHash); err != nil || a != nil {
		t.Errorf("the code of an approval that was refused: %+v, %v", a, err)
	}
	must(t, b.agents().Approve(t.Context(), &v.a, v.a.ExpiresAt.Add(-time.Millisecond)))
	again := v.a
	again.CodeHash = "code-" + uuid.NewString()
	wantMoved(t, b.agents().Approve(t.Context(), &again, b.now), agentsession.Approved)
	wantEqual(t, "the request", b.authorization(t, v.a.ID), v.a)
	unknown := b.visit()
	wantMoved(t, b.agents().Approve(t.Context(), &unknown.a, b.now), "")
}

func requestEnds(t *testing.T, b *bundle) {
	const (
		pending, approved, consumed = agentsession.Pending, agentsession.Approved, agentsession.Consumed
		denied, expired, revoked    = agentsession.Denied, agentsession.Expired, agentsession.Revoked
	)
	in := func(status agentsession.Status) visit {
		switch status {
		case approved:
			return b.approvedVisit(t)
		case consumed:
			return b.loggedIn(t)
		}
		v := b.requested(t)
		switch status {
		case denied, revoked:
			must(t, b.agents().End(t.Context(), v.a.ID, status, b.now))
		case expired:
			must(t, b.agents().End(t.Context(), v.a.ID, status, v.a.ExpiresAt))
		}
		return v
	}
	early, late := time.Duration(0), agentsession.AuthorizationLife
	for _, tc := range []struct {
		from, to agentsession.Status
		after    time.Duration
		allowed  bool
	}{
		{pending, denied, early, true}, {pending, denied, late - time.Millisecond, true}, {pending, denied, late, false},
		{pending, expired, late - time.Millisecond, false}, {pending, expired, late, true}, {pending, revoked, early, true}, {pending, revoked, late, true},
		{approved, denied, early, false}, {approved, expired, late, false}, {approved, revoked, early, true},
		{consumed, denied, early, false}, {consumed, expired, late, false}, {consumed, revoked, early, false},
		{denied, denied, early, false}, {denied, expired, late, false}, {denied, revoked, early, false},
		{expired, denied, early, false}, {expired, revoked, early, false}, {revoked, denied, early, false}, {revoked, revoked, early, false},
	} {
		v := in(tc.from)
		before := b.authorization(t, v.a.ID)
		err := b.agents().End(t.Context(), v.a.ID, tc.to, b.now.Add(tc.after))
		now := b.authorization(t, v.a.ID)
		if !tc.allowed {
			wantMoved(t, err, tc.from)
			wantEqual(t, fmt.Sprintf("%s after it was not %s", tc.from, tc.to), now, before)
			continue
		}
		if err != nil || now.Status != tc.to || now.CodeHash != "" || !now.CodeExpiresAt.IsZero() {
			t.Errorf("%s to %s after %v: %+v, %v", tc.from, tc.to, tc.after, now, err)
		}
	}
	wantMoved(t, b.agents().End(t.Context(), uuid.NewString(), denied, b.now), "")
}

func codesAreUnique(t *testing.T, b *bundle) {
	v, w := b.approvedVisit(t), b.requested(t)
	w.a.CodeHash = v.a.CodeHash
	if err := b.agents().Approve(t.Context(), &w.a, b.now); err == nil {
		t.Error("two requests have one code")
	}
	wantEqual(t, "the other request", b.authorization(t, w.a.ID), *w.pending())
}

func exchanged(t *testing.T, b *bundle) {
	v := b.loggedIn(t)
	want := v.a
	want.Status, want.SessionID = agentsession.Consumed, v.s.ID
	wantEqual(t, "the request", b.authorization(t, v.a.ID), want)
	wantEqual(t, "the session", b.session(t, v.s.ID), v.s)
	wantEqual(t, "the refresh token", b.refreshToken(t, v.refresh), agentsession.RefreshToken{
		Hash: v.refresh, SessionID: v.s.ID, State: agentsession.TokenActive, ExpiresAt: v.s.RefreshExpiresAt,
	})
	owner, err := b.agents().ReadAccess(t.Context(), v.s.AccessHash)
	must(t, err)
	wantEqual(t, "the owner", *owner, agentsession.Owner{SessionID: v.s.ID, ClientAppID: v.s.ClientAppID})
	for _, guess := range []string{"", v.s.ID, "another"} {
		rows, err := b.agents().ReadRefresh(t.Context(), v.s.ClientAppID, v.refresh, guess)
		must(t, err)
		if rows.Client != nil || rows.Token == nil || rows.Token.Hash != v.refresh || rows.Session == nil || rows.Session.ID != v.s.ID {
			t.Errorf("with %q: %+v", guess, rows)
		}
	}
	other := b.visit()
	other.s.AuthorizationID, other.s.ClientAppID = v.a.ID, v.a.ClientAppID
	wantMoved(t, b.agents().Exchange(t.Context(), &v.a, &other.s, other.refresh, b.now), agentsession.Consumed)
	if s, _, err := b.agents().ReadSession(t.Context(), other.s.ID, ""); err != nil || s != nil {
		t.Errorf("a second session: %+v, %v", s, err)
	}
	wantEqual(t, "sessions", len(b.sessions(t, agentsession.Filter{ClientAppID: v.s.ClientAppID}, 10)), 1)
}

func exchangeConditions(t *testing.T, b *bundle) {
	exchange := func(v visit, code string, now time.Time) error {
		a := v.a
		a.CodeHash = code
		return b.agents().Exchange(t.Context(), &a, &v.s, v.refresh, now)
	}
	pending, v := b.requested(t), b.approvedVisit(t)
	wantMoved(t, exchange(pending, pending.a.CodeHash, b.now), agentsession.Pending)
	wantMoved(t, exchange(v, "another", b.now), agentsession.Approved)
	wantMoved(t, exchange(v, v.a.CodeHash, v.a.CodeExpiresAt), agentsession.Approved)
	revoked := b.approvedVisit(t)
	must(t, b.agents().End(t.Context(), revoked.a.ID, agentsession.Revoked, b.now))
	wantMoved(t, exchange(revoked, revoked.a.CodeHash, b.now), agentsession.Revoked)
	must(t, exchange(v, v.a.CodeHash, v.a.CodeExpiresAt.Add(-time.Millisecond)))
}

func nothingKnown(t *testing.T, b *bundle) {
	a := b.agents()
	if v, err := a.ReadAuthorization(t.Context(), uuid.NewString()); err != nil || v != nil {
		t.Errorf("%+v, %v", v, err)
	}
	if client, v, err := a.ReadCode(t.Context(), "nobody", "x"); err != nil || v != nil || client != nil {
		t.Errorf("%+v, %+v, %v", client, v, err)
	}
	for _, hash := range []string{"", "x"} {
		if rows, err := a.ReadRefresh(t.Context(), "nobody", hash, uuid.NewString()); err != nil || rows != (agentsession.RefreshRows{}) {
			t.Errorf("%+v, %v", rows, err)
		}
	}
	if v, err := a.ReadAccess(t.Context(), "x"); err != nil || v != nil {
		t.Errorf("%+v, %v", v, err)
	}
	if s, client, err := a.ReadSession(t.Context(), uuid.NewString(), "nobody"); err != nil || s != nil || client != nil {
		t.Errorf("%+v, %+v, %v", s, client, err)
	}
	if v, err := a.Token(t.Context(), "x"); err != nil || v != nil {
		t.Errorf("%+v, %v", v, err)
	}
}

func agentBuckets(t *testing.T, b *bundle) {
	name := "k-" + uuid.NewString()
	_, row, err := b.agents().ReadCreate(t.Context(), "nobody", name)
	must(t, err)
	wantEqual(t, "a new bucket", row, limit.Row{Key: name})
	won, ok, err := b.agents().WriteBucket(t.Context(), b.charged(t, row))
	must(t, err)
	if !ok || won.Version != 1 {
		t.Errorf("%+v, %v", won, ok)
	}
	_, row, err = b.agents().ReadCreate(t.Context(), "nobody", name)
	must(t, err)
	wantEqual(t, "the bucket", row, won)
	if now, ok, err := b.agents().WriteBucket(t.Context(), limit.Row{Key: name}); err != nil || ok || now.Version != 1 {
		t.Errorf("a lost race: %+v, %v, %v", now, ok, err)
	}
	if it := b.item(t, topology.TableJobs, "limit#"+name, "limit"); it != nil {
		t.Errorf("in the jobs table: %v", it)
	}
}

func agentExpiry(t *testing.T, b *bundle) {
	v := b.approvedVisit(t)
	ttl := func(pk string) time.Time {
		n, ok := b.item(t, topology.TableAgents, pk, "record")["ttl"].(*types.AttributeValueMemberN)
		if !ok {
			t.Fatalf("%s never expires", pk)
		}
		at, err := strconv.ParseInt(n.Value, 10, 64)
		must(t, err)
		return time.Unix(at, 0)
	}
	if at := ttl("authz#" + v.a.ID); at.Before(v.a.ExpiresAt.Add(24*time.Hour)) || at.After(b.now.Add(30*24*time.Hour)) {
		t.Errorf("a request that came to nothing goes at %v", at)
	}
	if at := ttl("code#" + v.a.CodeHash); at.Before(v.a.CodeExpiresAt) {
		t.Errorf("a code goes at %v", at)
	}
	must(t, b.agents().Exchange(t.Context(), &v.a, &v.s, v.refresh, b.now))
	r := v.rotation(b.now)
	must(t, b.agents().Rotate(t.Context(), r))
	for _, pk := range []string{"authz#" + v.a.ID, "session#" + v.s.ID, "access#" + r.NewAccess, "refresh#" + v.refresh, "refresh#" + r.New} {
		if at := ttl(pk); at.Before(v.s.RefreshExpiresAt.Add(24 * time.Hour)) {
			t.Errorf("%s goes at %v", pk, at)
		}
	}
}

func newerAgentRows(t *testing.T, b *bundle) {
	v := b.loggedIn(t)
	a := b.agents()
	one := func(_ any, err error) error { return err }
	for _, pk := range []string{"authz#" + v.a.ID, "session#" + v.s.ID, "access#" + v.s.AccessHash, "refresh#" + v.refresh} {
		b.outdate(t, topology.TableAgents, pk, "record")
	}
	_, _, session := a.ReadSession(t.Context(), v.s.ID, "")
	_, _, display := a.SetDisplay(t.Context(), v.s.ID, "another", "x", b.now)
	_, _, _, list := a.ListSessions(t.Context(), agentsession.Filter{ClientAppID: v.s.ClientAppID}, agentsession.Position{}, 10)
	for name, err := range map[string]error{
		"ReadAuthorization": one(a.ReadAuthorization(t.Context(), v.a.ID)), "ReadSession": session, "ListSessions": list,
		"ReadAccess":       one(a.ReadAccess(t.Context(), v.s.AccessHash)),
		"ReadRefreshToken": one(a.ReadRefreshToken(t.Context(), v.refresh)),
		"ReadRefresh":      one(a.ReadRefresh(t.Context(), v.s.ClientAppID, v.refresh, "")),
		"SetDisplay":       display, "End": a.End(t.Context(), v.a.ID, agentsession.Denied, b.now),
	} {
		var moved *agentsession.Moved
		if err == nil || errors.As(err, &moved) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
