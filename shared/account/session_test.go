package account_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"bailing/shared/account"
	"bailing/shared/account/accounttest"
	"bailing/shared/apierr"
)

func TestASessionLivesSevenDaysFromItsLastUse(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.admin("alice")
	token := w.enter("alice")
	w.clock.Advance(account.SessionLife - time.Millisecond)
	if live := w.live(token); live == nil || !live.Renewed {
		t.Fatalf("in its last millisecond: %+v", live)
	}
	w.clock.Advance(account.SessionLife - time.Millisecond)
	if w.live(token) == nil {
		t.Fatal("the use did not extend it")
	}
	w.clock.Advance(account.SessionLife)
	if live := w.live(token); live != nil {
		t.Fatalf("at its end: %+v", live)
	}
}

func TestASessionIsExtendedOnceAnHour(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.admin("alice")
	token := w.enter("alice")
	for _, c := range []struct {
		after time.Duration
		want  bool
	}{{time.Hour - time.Millisecond, false}, {time.Millisecond, true}, {0, false}, {time.Hour - time.Millisecond, false}, {time.Hour, true}} {
		w.clock.Advance(c.after)
		if live := w.live(token); live == nil || live.Renewed != c.want {
			t.Errorf("%v later: %+v, want renewed %v", c.after, live, c.want)
		}
	}
}

func TestWhatIsNoTokenReadsNothing(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.admin("alice")
	token := w.enter("alice")
	before := w.store.Reads()
	for _, bad := range []string{"", token[1:], token + "0", strings.ToUpper(token[:47]) + "A", strings.Repeat("g", 48), strings.Repeat("0", 47) + "\x00"} {
		if w.live(bad) != nil {
			t.Errorf("%q is a session", bad)
		}
		if err := w.Logout(t.Context(), bad); err != nil {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if n := w.store.Reads(); n != before {
		t.Errorf("%d reads", n-before)
	}
	if w.live(strings.Repeat("0", 48)) != nil {
		t.Error("an unknown token is a session")
	}
}

func TestLogoutEndsOneSession(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.admin("alice")
	mine, other := w.enter("alice"), w.enter("alice")
	for range 2 {
		if err := w.Logout(t.Context(), mine); err != nil {
			t.Fatal(err)
		}
	}
	if w.live(mine) != nil || w.live(other) == nil {
		t.Error("not the one session")
	}
}

// What is done to an account bites on the next request, also in a process that has seen the session.
func TestWhatEndsASession(t *testing.T) {
	t.Parallel()
	save := func(m members) func(*world) {
		return func(w *world) { m["username"] = "alice"; w.add(m) }
	}
	for what, c := range map[string]struct {
		do    func(*world)
		lives bool
	}{
		"another display name":    {save(members{"role": "admin", "display_name": "A"}), true},
		"disabling":               {save(members{"role": "admin", "enabled": false}), false},
		"another password":        {save(members{"role": "admin", "password": "another password"}), false},
		"the same password again": {save(members{"role": "admin", "password": "password of alice"}), false},
		"disabling and enabling": {func(w *world) {
			w.add(members{"username": "alice", "role": "admin", "enabled": false})
			w.add(members{"username": "alice", "role": "admin"})
		}, false},
		"deleting": {func(w *world) {
			if err := w.Delete(w.Context(), account.ServerToken(), "alice", change); err != nil {
				w.Fatal(err)
			}
		}, false},
		"deleting and making anew": {func(w *world) {
			if err := w.Delete(w.Context(), account.ServerToken(), "alice", change); err != nil {
				w.Fatal(err)
			}
			w.admin("alice")
		}, false},
	} {
		w := setup(t)
		w.admin("other")
		w.admin("alice")
		token := w.enter("alice")
		if w.live(token) == nil {
			t.Fatal("no session")
		}
		c.do(w)
		if got := w.live(token) != nil; got != c.lives {
			t.Errorf("%s: lives %v", what, got)
		}
	}
}

func TestADemotionBitesOnTheNextRequest(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.admin("other")
	w.admin("alice")
	token := w.enter("alice")
	w.add(members{"username": "alice", "role": "admin", "perms": []string{"runs:read", "routes:write"}})
	if live := w.live(token); live == nil || live.Perms.Has("admins:manage") || !live.Perms.Has("runs:read", "routes:write") {
		t.Errorf("%+v", live)
	}
}

func TestAPasswordChangeEndsTheOtherSessions(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.admin("alice")
	mine, other := w.enter("alice"), w.enter("alice")
	i := w.live(mine).Identity
	body := accounttest.Body(members{"old_password": "password of alice", "new_password": "12345678"})
	if err := w.ChangePassword(t.Context(), i, body, address, change); err != nil {
		t.Fatal(err)
	}
	if w.live(mine) == nil || w.live(other) != nil {
		t.Error("not exactly the other session has ended")
	}
	if _, err := w.try("alice", "12345678", address); err != nil {
		t.Error(err)
	}
	_, err := w.try("alice", "password of alice", address)
	w.wantCode("the old password", err, apierr.Unauthorized)
	w.wantCode("the change again", w.ChangePassword(t.Context(), w.live(mine).Identity, body, address, change), apierr.Unauthorized)
	if c := w.store.Changes(); len(c) != 2 || !c[1].At.Equal(accounttest.Now) {
		t.Errorf("audit records %+v", c)
	}
}

func TestWhoMayChangeAPassword(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.admin("alice")
	i := w.as("alice")
	do := func(i account.Identity, m members) error {
		return w.ChangePassword(t.Context(), i, accounttest.Body(m), address, change)
	}
	good := members{"old_password": "password of alice", "new_password": "new password"}
	w.wantCode("the server token", do(account.ServerToken(), good), apierr.Forbidden)
	w.wantCode("nobody", do(account.Identity{}, good), apierr.Forbidden)
	for what, m := range map[string]members{
		"nothing":               {},
		"no old one":            {"new_password": "new password"},
		"seven characters":      {"old_password": "password of alice", "new_password": "1234567"},
		"1025 characters":       {"old_password": "password of alice", "new_password": strings.Repeat("p", 1025)},
		"513 outside the plane": {"old_password": "password of alice", "new_password": strings.Repeat("\U0001F600", 513)},
		"another member":        {"old_password": "password of alice", "new_password": "new password", "username": "bob"},
	} {
		w.wantCode(what, do(i, m), apierr.Invalid)
	}
	for n := range account.MaxFailures {
		w.wantCode("a wrong old password", do(i, members{"old_password": fmt.Sprint("guess ", n), "new_password": "new password"}), apierr.Unauthorized)
	}
	w.wantCode("one guess more", do(i, good), apierr.RateLimited)
	_, err := w.try("alice", "password of alice", address)
	w.wantCode("and no login from there", err, apierr.RateLimited)
	w.clock.Advance(account.FailureWindow)
	good["new_password"] = strings.Repeat("p", 1024)
	if err := do(i, good); err != nil {
		t.Errorf("1024 characters: %v", err)
	}
	if n := len(w.store.Changes()); n != 2 {
		t.Errorf("%d audit records, want those of the account and of one change", n)
	}
}

func TestADeadSessionChangesNoPassword(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.admin("alice")
	token := w.enter("alice")
	i := w.live(token).Identity
	if err := w.Logout(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	body := accounttest.Body(members{"old_password": "password of alice", "new_password": "new password"})
	if err := w.ChangePassword(t.Context(), i, body, address, change); err == nil {
		t.Error("changed")
	}
	w.enter("alice")
}

// I10, over everything that the package says, stores and records.
func TestNothingHoldsAPasswordOrAToken(t *testing.T) {
	t.Parallel()
	w := setup(t, bootstrap("root", "canary-bootstrap"))
	in, err := w.try("root", "canary-bootstrap", address)
	if err != nil {
		t.Fatal(err)
	}
	i := w.live(in.Token).Identity
	generated := w.add(members{"username": "made", "role": "viewer"}).Password
	w.add(members{"username": "chosen", "role": "viewer", "password": "canary-chosen"})
	var said []string
	note := func(err error) { said = append(said, fmt.Sprint(err)) }
	_, err = w.try("canary-name-field", "canary-tried", address)
	note(err)
	_, err = w.Login(t.Context(), accounttest.Body(members{"username": "root", "password": members{"canary-object": 1}}), address)
	note(err)
	note(w.ChangePassword(t.Context(), i, accounttest.Body(members{"old_password": "canary-old", "new_password": "canary-new"}), address, change))
	note(w.ChangePassword(t.Context(), i, accounttest.Body(members{"old_password": "canary-bootstrap", "new_password": "canary-new"}), address, change))
	list, err := w.List(t.Context())
	if err != nil || len(list) != 3 {
		t.Fatal(list, err)
	}
	said = append(said, fmt.Sprintf("%+v", list), w.logs.String(), string(w.store.Dump()), fmt.Sprint(w.store.Changes()))
	all := strings.Join(said, "\n")
	for _, secret := range []string{"canary", in.Token, generated} {
		if i := strings.Index(all, secret); i >= 0 {
			t.Errorf("%q in …%s…", secret, all[max(0, i-80):min(len(all), i+80)])
		}
	}
	shown := fmt.Sprintf("%+v\n%s", list, w.logs)
	if strings.Contains(shown, "argon2") || strings.Contains(shown, w.hash("root")) {
		t.Error("a list or a log holds a hash")
	}
}
