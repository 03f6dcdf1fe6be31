package storetest

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"

	"bailing/shared/agentsession"
)

func (v visit) rotation(now time.Time) agentsession.Rotation {
	return agentsession.Rotation{
		SessionID: v.s.ID, ClientAppID: v.s.ClientAppID, Old: v.refresh, New: v.refresh + "+", OldAccess: v.s.AccessHash, NewAccess: v.s.AccessHash + "+",
		AccessExpiresAt: now.Add(agentsession.AccessLife), ExpiresAt: v.s.RefreshExpiresAt, Now: now,
	}
}

// unrotated checks that nothing of a rotation happened.
func (b *bundle) unrotated(t *testing.T, v visit, r agentsession.Rotation) {
	t.Helper()
	if got := b.session(t, v.s.ID); got.AccessHash != v.s.AccessHash || !got.AccessExpiresAt.Equal(v.s.AccessExpiresAt) {
		t.Errorf("the session: %+v", got)
	}
	if owner, err := b.agents().ReadAccess(t.Context(), v.s.AccessHash); err != nil || owner == nil {
		t.Errorf("the access token: %+v, %v", owner, err)
	}
	if fresh := b.refreshToken(t, r.New); fresh.SessionID == v.s.ID && r.New != v.refresh {
		t.Errorf("a new token: %+v", fresh)
	}
}

func hashesAreUnique(t *testing.T, b *bundle) {
	v, other := b.loggedIn(t), b.loggedIn(t)
	for name, change := range map[string]func(*agentsession.Rotation){
		"refresh": func(r *agentsession.Rotation) { r.New = other.refresh },
		"access":  func(r *agentsession.Rotation) { r.NewAccess = other.s.AccessHash },
	} {
		r := v.rotation(b.now)
		change(&r)
		if err := b.agents().Rotate(t.Context(), r); err == nil || errors.Is(err, agentsession.ErrMoved) {
			t.Errorf("%s: %v", name, err)
		}
		b.unrotated(t, v, r)
		wantEqual(t, "the old token", b.refreshToken(t, v.refresh).State, agentsession.TokenActive)
	}
	for name, change := range map[string]func(*visit){
		"refresh": func(w *visit) { w.refresh = other.refresh },
		"access":  func(w *visit) { w.s.AccessHash = other.s.AccessHash },
		"session": func(w *visit) { w.s.ID = other.s.ID },
	} {
		w := b.approvedVisit(t)
		change(&w)
		if err := b.agents().Exchange(t.Context(), &w.a, &w.s, w.refresh, b.now); err == nil {
			t.Errorf("%s: two sessions share it", name)
		}
		wantEqual(t, "the request", b.authorization(t, w.a.ID).Status, agentsession.Approved)
	}
}

func rotated(t *testing.T, b *bundle) {
	v := b.loggedIn(t)
	must(t, b.agents().Touch(t.Context(), v.s.ID, v.s.AccessHash, b.now, b.now))
	now := b.now.Add(time.Minute)
	r := v.rotation(now)
	must(t, b.agents().Rotate(t.Context(), r))
	want := v.s
	want.AccessHash, want.AccessExpiresAt, want.LastSeenAt = r.NewAccess, r.AccessExpiresAt, b.now
	wantEqual(t, "the session", b.session(t, v.s.ID), want)
	wantEqual(t, "the old token", b.refreshToken(t, v.refresh), agentsession.RefreshToken{
		Hash: v.refresh, SessionID: v.s.ID, State: agentsession.TokenUsed, ExpiresAt: v.s.RefreshExpiresAt, Successor: r.New,
	})
	wantEqual(t, "the new token", b.refreshToken(t, r.New), agentsession.RefreshToken{
		Hash: r.New, SessionID: v.s.ID, State: agentsession.TokenActive, ExpiresAt: v.s.RefreshExpiresAt,
	})
	for hash, known := range map[string]bool{v.s.AccessHash: false, r.NewAccess: true} {
		if owner, err := b.agents().ReadAccess(t.Context(), hash); err != nil || (owner != nil) != known {
			t.Errorf("%s: %+v, %v", hash, owner, err)
		}
	}
}

func rotationConditions(t *testing.T, b *bundle) {
	v := b.loggedIn(t)
	for name, change := range map[string]func(*agentsession.Rotation){
		"an unknown token":              func(r *agentsession.Rotation) { r.Old = "unknown" },
		"a token of another session":    func(r *agentsession.Rotation) { r.Old = b.loggedIn(t).refresh },
		"another access token":          func(r *agentsession.Rotation) { r.OldAccess = "another" },
		"a session that expires now":    func(r *agentsession.Rotation) { r.Now = v.s.RefreshExpiresAt },
		"a session that does not exist": func(r *agentsession.Rotation) { r.SessionID = uuid.NewString() },
	} {
		r := v.rotation(b.now)
		change(&r)
		if err := b.agents().Rotate(t.Context(), r); !errors.Is(err, agentsession.ErrMoved) {
			t.Errorf("%s: %v", name, err)
		}
		b.unrotated(t, v, r)
	}
	revoked := b.loggedIn(t)
	if found, err := b.agents().Revoke(t.Context(), revoked.s.ID, agentsession.Match{}, b.now); err != nil || !found {
		t.Fatal(found, err)
	}
	wantErr(t, b.agents().Rotate(t.Context(), revoked.rotation(b.now)), agentsession.ErrMoved)
	b.unrotated(t, revoked, revoked.rotation(b.now))
	last := v.rotation(v.s.RefreshExpiresAt.Add(-time.Millisecond))
	must(t, b.agents().Rotate(t.Context(), last))
	second := last
	second.New, second.OldAccess, second.NewAccess = v.refresh+"++", last.NewAccess, v.s.AccessHash+"++"
	wantErr(t, b.agents().Rotate(t.Context(), second), agentsession.ErrMoved) // the token was used
	wantEqual(t, "the successor", b.refreshToken(t, v.refresh).Successor, last.New)
}

func rotatedAgain(t *testing.T, b *bundle) {
	v := b.loggedIn(t)
	r := v.rotation(b.now)
	must(t, b.agents().Rotate(t.Context(), r))
	before := b.session(t, v.s.ID)
	must(t, b.agents().Rotate(t.Context(), r))
	wantEqual(t, "the session", b.session(t, v.s.ID), before)
}

func reusedOnce(t *testing.T, b *bundle) {
	v := b.loggedIn(t)
	r := v.rotation(b.now)
	must(t, b.agents().Rotate(t.Context(), r))
	at := b.now.Add(time.Minute)
	for n := range 2 {
		must(t, b.agents().Reuse(t.Context(), v.refresh, v.s.ID, at.Add(time.Duration(n)*time.Minute)))
		s, old, next := b.session(t, v.s.ID), b.refreshToken(t, v.refresh), b.refreshToken(t, r.New)
		if !s.RevokedAt.Equal(at) || !s.ReusedAt.Equal(at) || old.StateIn(&s) != agentsession.TokenReplayed || next.StateIn(&s) != agentsession.TokenRevoked {
			t.Errorf("%+v, %+v, %+v", s, old, next)
		}
	}
	other := b.loggedIn(t)
	if err := b.agents().Reuse(t.Context(), other.refresh, v.s.ID, at); err == nil {
		t.Error("a token of another session")
	}
	wantEqual(t, "the other token", b.refreshToken(t, other.refresh).State, agentsession.TokenActive)
	earlier := b.loggedIn(t)
	if _, err := b.agents().Revoke(t.Context(), earlier.s.ID, agentsession.Match{}, b.now); err != nil {
		t.Fatal(err)
	}
	must(t, b.agents().Reuse(t.Context(), earlier.refresh, earlier.s.ID, at))
	if s := b.session(t, earlier.s.ID); !s.RevokedAt.Equal(b.now) || !s.ReusedAt.Equal(at) {
		t.Errorf("%+v", s)
	}
}

func revokedOnce(t *testing.T, b *bundle) {
	v := b.loggedIn(t)
	for _, m := range []agentsession.Match{
		{ClientAppID: "another"}, {AccessHash: "another"}, {AuthorizationID: "another"}, {ClientAppID: v.s.ClientAppID, AuthorizationID: "another"},
	} {
		if found, err := b.agents().Revoke(t.Context(), v.s.ID, m, b.now); err != nil || found {
			t.Errorf("%+v: %v, %v", m, found, err)
		}
	}
	if s := b.session(t, v.s.ID); !s.RevokedAt.IsZero() {
		t.Errorf("%+v", s)
	}
	full := agentsession.Match{ClientAppID: v.s.ClientAppID, AccessHash: v.s.AccessHash, AuthorizationID: v.a.ID}
	for n := range 2 {
		found, err := b.agents().Revoke(t.Context(), v.s.ID, full, b.now.Add(time.Duration(n)*time.Minute))
		if err != nil || !found || !b.session(t, v.s.ID).RevokedAt.Equal(b.now) {
			t.Errorf("%v, %v", found, err)
		}
	}
	if found, err := b.agents().Revoke(t.Context(), uuid.NewString(), agentsession.Match{}, b.now); err != nil || found {
		t.Errorf("an unknown one: %v, %v", found, err)
	}
}

func touched(t *testing.T, b *bundle) {
	v := b.loggedIn(t)
	touch := func(hash string, now, since time.Time) time.Time {
		t.Helper()
		must(t, b.agents().Touch(t.Context(), v.s.ID, hash, now, since))
		return b.session(t, v.s.ID).LastSeenAt
	}
	wantEqual(t, "for another token", touch("another", b.now, b.now), time.Time{})
	wantEqual(t, "after the access token's expiry", touch(v.s.AccessHash, v.s.AccessExpiresAt.Add(time.Millisecond), b.now), time.Time{})
	wantEqual(t, "the first time", touch(v.s.AccessHash, b.now, b.now.Add(-time.Minute)), b.now)
	later := b.now.Add(time.Minute)
	wantEqual(t, "too early", touch(v.s.AccessHash, later.Add(-time.Millisecond), b.now.Add(-time.Millisecond)), b.now)
	wantEqual(t, "a minute later", touch(v.s.AccessHash, later, b.now), later)
	if _, err := b.agents().Revoke(t.Context(), v.s.ID, agentsession.Match{}, b.now); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "of a revoked session", touch(v.s.AccessHash, later.Add(time.Hour), later), later)
}

func displaySet(t *testing.T, b *bundle) {
	v := b.loggedIn(t)
	for _, name := range []string{"Bay", "", "Bay 2"} {
		s, active, err := b.agents().SetDisplay(t.Context(), v.s.ID, v.s.ClientAppID, name, v.s.RefreshExpiresAt.Add(-time.Millisecond))
		must(t, err)
		want := v.s
		want.Display = name
		if !active {
			t.Error("not active")
		}
		wantEqual(t, "the session", *s, want)
		wantEqual(t, "the stored session", b.session(t, v.s.ID), want)
	}
	for name, tc := range map[string]struct {
		id, app string
		now     time.Time
		known   bool
	}{
		"another client": {v.s.ID, "another", b.now, false}, "unknown": {uuid.NewString(), v.s.ClientAppID, b.now, false},
		"expired": {v.s.ID, v.s.ClientAppID, v.s.RefreshExpiresAt, true},
	} {
		s, active, err := b.agents().SetDisplay(t.Context(), tc.id, tc.app, "x", tc.now)
		if err != nil || active || (s != nil) != tc.known {
			t.Errorf("%s: %+v, %v, %v", name, s, active, err)
		}
	}
	if _, err := b.agents().Revoke(t.Context(), v.s.ID, agentsession.Match{}, b.now); err != nil {
		t.Fatal(err)
	}
	if s, active, err := b.agents().SetDisplay(t.Context(), v.s.ID, v.s.ClientAppID, "x", b.now); err != nil || active || s == nil || s.Display != "Bay 2" {
		t.Errorf("revoked: %+v, %v, %v", s, active, err)
	}
}

// sessions are the ids of a list, n at a time.
func (b *bundle) sessions(t *testing.T, f agentsession.Filter, n int) (ids []string) {
	t.Helper()
	var at agentsession.Position
	for {
		list, last, more, err := b.agents().ListSessions(t.Context(), f, at, n)
		must(t, err)
		if len(list) > n {
			t.Fatalf("%d sessions, asked for %d", len(list), n)
		}
		for _, s := range list {
			ids = append(ids, s.ID)
		}
		if !more {
			return ids
		}
		at = last
	}
}

func sessionsListed(t *testing.T, b *bundle) {
	app := "app-" + uuid.NewString()
	var all, ofAnn, ofYard, annInYard []string // newest first
	for n := range 6 {
		v := b.visit()
		v.a.ClientAppID, v.s.ClientAppID, v.s.CreatedAt = app, app, b.now.Add(time.Duration(n/2)*time.Second)
		v.s.ID = fmt.Sprintf("%08x%s", n, v.s.ID[8:]) // of one moment: the larger id first
		v.s.OnBehalfOf = []string{"ann", "bob"}[n%2]
		v.s.Principal.ID, v.s.Principal.Tenant = v.s.OnBehalfOf, []string{"yard", "", "yard"}[n/2]
		must(t, b.agents().CreateAuthorization(t.Context(), v.pending()))
		must(t, b.agents().Approve(t.Context(), &v.a, b.now))
		must(t, b.agents().Exchange(t.Context(), &v.a, &v.s, v.refresh, b.now))
		first := func(list *[]string, in bool) {
			if in {
				*list = append([]string{v.s.ID}, *list...)
			}
		}
		ann, yard := v.s.OnBehalfOf == "ann", v.s.Principal.Tenant == "yard"
		first(&all, true)
		first(&ofAnn, ann)
		first(&ofYard, yard)
		first(&annInYard, ann && yard)
	}
	b.loggedIn(t) // another client's
	name := func(s string) *string { return &s }
	for _, n := range []int{1, 2, 4, 6, 100} {
		for _, tc := range []struct {
			what string
			f    agentsession.Filter
			want []string
		}{
			{"all", agentsession.Filter{ClientAppID: app}, all},
			{"on behalf of one", agentsession.Filter{ClientAppID: app, OnBehalfOf: name("ann")}, ofAnn},
			{"of a tenant", agentsession.Filter{ClientAppID: app, Tenant: name("yard")}, ofYard},
			{"of a principal", agentsession.Filter{ClientAppID: app, Tenant: name("yard"), PrincipalID: name("ann")}, annInYard},
			{"of nobody", agentsession.Filter{ClientAppID: app, OnBehalfOf: name("carl")}, nil},
		} {
			wantEqual(t, tc.what+" by "+strconv.Itoa(n), b.sessions(t, tc.f, n), tc.want)
		}
	}
}
