package accounttest

import (
	"errors"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bailing/shared/account"
	"bailing/shared/permission"
	"bailing/shared/registry"
)

// Now is when the tests begin.
var Now = time.Date(2026, 11, 30, 15, 52, 48, 906_000_000, time.UTC)

var change = registry.Change{At: Now, By: "token", Method: "POST", Path: "admins"}

// Run checks what account.Service relies on, first each method of the store, then what must hold when requests run beside each
// other. open returns a store that is empty.
func Run(t *testing.T, open func(t *testing.T) account.Store) {
	for name, test := range map[string]func(*testing.T, account.Store){
		"an account comes back as it was put":             roundTrip,
		"a write needs the revisions that were read":      revisions,
		"a refused write leaves every row as it was":      refused,
		"a deleted account is gone, also from the list":   deleted,
		"an account made anew is not the earlier one":     madeAnew,
		"a login reads what is there":                     readLogin,
		"a session opens only on the account it was for":  openSession,
		"a rehash comes with its session":                 rehash,
		"a session is extended, never shortened":          extend,
		"a closed session is not revived":                 closed,
		"a password change moves its own session only":    changePassword,
		"one of many writers of the same failures wins":   failures,
		"two first logins create one administrator":       raceBootstrap,
		"no login keeps a password that was changed":      racePassword,
		"a deleted account serves no later request":       raceDelete,
		"two administrators cannot remove each other":     raceRemoval,
		"no number of tries gets more than five guesses":  raceThrottle,
		"a renewal never revives a session that ended":    raceLogout,
		"of many password changes from one session, one":  raceChanges,
		"a rehash and a password change do not undo each": raceRehash,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

func anAccount(name string) account.Account {
	return account.Account{
		Username: name, DisplayName: "Name of " + name, Role: permission.Viewer, Perms: permission.Set{permission.RoutesRead}, Enabled: true,
		PasswordHash: "hash", Epoch: "e1", CreatedAt: Now, UpdatedAt: Now.Add(time.Second),
	}
}

func session(hash, username string) account.Session {
	return account.Session{Hash: hash, Username: username, Epoch: "e1", CreatedAt: Now, ExpiresAt: Now.Add(time.Hour)}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustBeStale(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, account.ErrStale) {
		t.Fatalf("%s: %v, want %v", what, err, account.ErrStale)
	}
}

// put adds an account to the roster, too.
func put(t *testing.T, s account.Store, a account.Account) {
	t.Helper()
	roster, stored, err := s.ReadAccount(t.Context(), a.Username)
	must(t, err)
	if stored == nil {
		stored = &account.Versioned[account.Account]{}
	}
	if roster.Value.Accounts == nil {
		roster.Value.Accounts = map[string]bool{}
	}
	roster.Value.Accounts[a.Username] = false
	must(t, s.PutAccount(t.Context(), account.Versioned[account.Account]{Value: a, Revision: stored.Revision}, &roster, change))
}

func read(t *testing.T, s account.Store, name string) account.Versioned[account.Account] {
	t.Helper()
	_, v, err := s.ReadAccount(t.Context(), name)
	if err != nil || v == nil {
		t.Fatalf("%s: %v, %v", name, v, err)
	}
	return *v
}

func roundTrip(t *testing.T, s account.Store) {
	roster, v, err := s.ReadAccount(t.Context(), "none")
	if err != nil || v != nil || roster.Revision != 0 || len(roster.Value.Accounts) != 0 {
		t.Fatalf("an empty store has %v, %v, %v", roster, v, err)
	}
	put(t, s, anAccount("bob"))
	put(t, s, anAccount("alice"))
	if got := read(t, s, "bob"); got.Revision == 0 || !reflect.DeepEqual(got.Value, anAccount("bob")) {
		t.Fatalf("%+v", got)
	}
	list, err := s.ListAccounts(t.Context())
	if err != nil || len(list) != 2 || list[0].Username != "alice" || !reflect.DeepEqual(list[1], anAccount("bob")) {
		t.Fatalf("%+v, %v", list, err)
	}
	roster, _, err = s.ReadAccount(t.Context(), "bob")
	if err != nil || roster.Revision == 0 || !reflect.DeepEqual(roster.Value.Accounts, map[string]bool{"alice": false, "bob": false}) {
		t.Fatalf("%+v, %v", roster, err)
	}
}

func revisions(t *testing.T, s account.Store) {
	ctx := t.Context()
	v := account.Versioned[account.Account]{Value: anAccount("alice")}
	roster := account.Versioned[account.Roster]{Value: account.Roster{Accounts: map[string]bool{"alice": true}}}
	must(t, s.PutAccount(ctx, v, &roster, change))
	mustBeStale(t, "a second first write", s.PutAccount(ctx, v, nil, change))
	v = read(t, s, "alice")
	mustBeStale(t, "an old roster", s.PutAccount(ctx, v, &roster, change))
	if got := read(t, s, "alice"); got.Revision != v.Revision {
		t.Fatalf("a refused write made revision %d of %d", got.Revision, v.Revision)
	}
	must(t, s.PutAccount(ctx, v, nil, change))
	mustBeStale(t, "an old revision", s.PutAccount(ctx, v, nil, change))
	old, oldRoster := v, rosterOf(t, s)
	v = read(t, s, "alice")
	roster = rosterOf(t, s)
	must(t, s.PutAccount(ctx, v, &roster, change))
	v, roster = read(t, s, "alice"), rosterOf(t, s)
	mustBeStale(t, "an old revision", s.DeleteAccount(ctx, old, roster, change))
	mustBeStale(t, "an old roster", s.DeleteAccount(ctx, v, oldRoster, change))
	must(t, s.DeleteAccount(ctx, v, roster, change))
}

func rosterOf(t *testing.T, s account.Store) account.Versioned[account.Roster] {
	t.Helper()
	roster, _, err := s.ReadAccount(t.Context(), "alice")
	must(t, err)
	return roster
}

func madeAnew(t *testing.T, s account.Store) {
	ctx := t.Context()
	put(t, s, anAccount("alice"))
	earlier := read(t, s, "alice")
	must(t, s.OpenSession(ctx, session("h", "alice"), earlier, false))
	must(t, s.DeleteAccount(ctx, earlier, rosterOf(t, s), change))
	put(t, s, anAccount("alice"))
	mustBeStale(t, "a write", s.PutAccount(ctx, earlier, nil, change))
	mustBeStale(t, "a password", s.ChangePassword(ctx, earlier, session("h", "alice"), change))
	mustBeStale(t, "a session", s.OpenSession(ctx, session("h2", "alice"), earlier, false))
	mustBeStale(t, "a rehash", s.OpenSession(ctx, session("h2", "alice"), earlier, true))
	mustBeStale(t, "a deletion", s.DeleteAccount(ctx, earlier, rosterOf(t, s), change))
}

func refused(t *testing.T, s account.Store) {
	ctx := t.Context()
	put(t, s, anAccount("alice"))
	must(t, s.OpenSession(ctx, session("h", "alice"), read(t, s, "alice"), false))
	changed := read(t, s, "alice")
	changed.Value.Epoch = "e2"
	other := session("h", "alice")
	other.Epoch = "e0"
	mustBeStale(t, "another epoch", s.ChangePassword(ctx, changed, other, change))
	mustBeStale(t, "no session", s.ChangePassword(ctx, changed, session("none", "alice"), change))
	if got := read(t, s, "alice"); got.Revision != changed.Revision || got.Value.Epoch != "e1" {
		t.Fatalf("the account changed: %+v", got)
	}
	if live, _, err := s.ReadSession(ctx, "none", ""); err != nil || live != nil {
		t.Fatalf("a session was made: %v, %v", live, err)
	}
}

func deleted(t *testing.T, s account.Store) {
	ctx := t.Context()
	put(t, s, anAccount("alice"))
	must(t, s.OpenSession(ctx, session("h", "alice"), read(t, s, "alice"), false))
	roster := rosterOf(t, s)
	delete(roster.Value.Accounts, "alice")
	must(t, s.DeleteAccount(ctx, read(t, s, "alice"), roster, change))
	if _, v, err := s.ReadAccount(ctx, "alice"); v != nil || err != nil {
		t.Fatalf("%v, %v", v, err)
	}
	if list, err := s.ListAccounts(ctx); len(list) != 0 || err != nil {
		t.Fatalf("%v, %v", list, err)
	}
	for _, guess := range []string{"", "alice"} {
		if _, a, err := s.ReadSession(ctx, "h", guess); a != nil || err != nil {
			t.Fatalf("its session has an account: %v, %v", a, err)
		}
	}
}

func readLogin(t *testing.T, s account.Store) {
	ctx := t.Context()
	put(t, s, anAccount("alice"))
	if _, won, err := s.WriteFailures(ctx, "k", account.Failures{At: []time.Time{Now}}); !won || err != nil {
		t.Fatalf("%v, %v", won, err)
	}
	rows, err := s.ReadLogin(ctx, "alice", "k")
	if err != nil || rows.Account == nil || !reflect.DeepEqual(rows.Account.Value, anAccount("alice")) || rows.Roster.Revision == 0 ||
		!reflect.DeepEqual(rows.Failures, account.Failures{Revision: 1, At: []time.Time{Now}}) {
		t.Fatalf("%+v, %v", rows, err)
	}
	for _, name := range []string{"", "bob"} {
		if rows, err = s.ReadLogin(ctx, name, "other"); err != nil || rows.Account != nil || rows.Failures.Revision != 0 || rows.Roster.Revision == 0 {
			t.Fatalf("%q: %+v, %v", name, rows, err)
		}
	}
}

func openSession(t *testing.T, s account.Store) {
	ctx := t.Context()
	put(t, s, anAccount("alice"))
	put(t, s, anAccount("bob"))
	a := read(t, s, "alice")
	must(t, s.OpenSession(ctx, session("h", "alice"), a, false))
	mustBeStale(t, "a hash that is taken", s.OpenSession(ctx, session("h", "alice"), a, false))
	put(t, s, anAccount("alice"))
	mustBeStale(t, "an account that has changed", s.OpenSession(ctx, session("h2", "alice"), a, false))
	for _, guess := range []string{"", "alice", "bob", "none"} {
		got, of, err := s.ReadSession(ctx, "h", guess)
		if err != nil || got == nil || *got != session("h", "alice") || of == nil || of.Username != "alice" {
			t.Fatalf("guess %q: %+v, %+v, %v", guess, got, of, err)
		}
	}
	if got, _, err := s.ReadSession(ctx, "h2", "alice"); got != nil || err != nil {
		t.Fatalf("%v, %v", got, err)
	}
}

func rehash(t *testing.T, s account.Store) {
	ctx := t.Context()
	put(t, s, anAccount("alice"))
	a := read(t, s, "alice")
	a.Value.PasswordHash = "better"
	must(t, s.OpenSession(ctx, session("h", "alice"), a, true))
	if got := read(t, s, "alice"); got.Revision == a.Revision || got.Value.PasswordHash != "better" {
		t.Fatalf("%+v", got)
	}
	a.Value.PasswordHash = "worse"
	mustBeStale(t, "an old revision", s.OpenSession(ctx, session("h2", "alice"), a, true))
	if got := read(t, s, "alice"); got.Value.PasswordHash != "better" {
		t.Fatalf("%+v", got)
	}
}

func extend(t *testing.T, s account.Store) {
	ctx := t.Context()
	put(t, s, anAccount("alice"))
	kept := session("h", "alice") // ends an hour from now
	must(t, s.OpenSession(ctx, kept, read(t, s, "alice"), false))
	otherEpoch := kept
	otherEpoch.Epoch = "e2"
	for _, c := range []struct {
		what       string
		s          account.Session
		until, now time.Time
		want       bool
	}{
		{"to an earlier end", kept, kept.ExpiresAt.Add(-time.Millisecond), Now, false},
		{"to the same end", kept, kept.ExpiresAt, Now, true},
		{"of another epoch", otherEpoch, Now.Add(2 * time.Hour), Now, false},
		{"of no session", session("none", "alice"), Now.Add(2 * time.Hour), Now, false},
		{"at its very end", kept, Now.Add(2 * time.Hour), kept.ExpiresAt, false},
		{"one before its end", kept, Now.Add(2 * time.Hour), kept.ExpiresAt.Add(-time.Millisecond), true},
		{"as before", kept, Now.Add(2 * time.Hour), Now, true},
		{"to an end that has passed", kept, Now.Add(time.Hour), Now, false},
	} {
		if got, err := s.ExtendSession(ctx, c.s, c.until, c.now); got != c.want || err != nil {
			t.Fatalf("%s: %v, %v", c.what, got, err)
		}
	}
	got, _, err := s.ReadSession(ctx, "h", "alice")
	if err != nil || !got.ExpiresAt.Equal(Now.Add(2*time.Hour)) || !got.CreatedAt.Equal(Now) {
		t.Fatalf("%+v, %v", got, err)
	}
}

func closed(t *testing.T, s account.Store) {
	ctx := t.Context()
	put(t, s, anAccount("alice"))
	must(t, s.OpenSession(ctx, session("h", "alice"), read(t, s, "alice"), false))
	for range 2 {
		must(t, s.CloseSession(ctx, "h"))
	}
	if extended, err := s.ExtendSession(ctx, session("h", "alice"), Now.Add(2*time.Hour), Now); extended || err != nil {
		t.Fatalf("%v, %v", extended, err)
	}
	if got, _, err := s.ReadSession(ctx, "h", "alice"); got != nil || err != nil {
		t.Fatalf("%v, %v", got, err)
	}
}

func changePassword(t *testing.T, s account.Store) {
	ctx := t.Context()
	put(t, s, anAccount("alice"))
	for _, h := range []string{"mine", "other"} {
		must(t, s.OpenSession(ctx, session(h, "alice"), read(t, s, "alice"), false))
	}
	a := read(t, s, "alice")
	a.Value.Epoch, a.Value.PasswordHash = "e2", "new"
	must(t, s.ChangePassword(ctx, a, session("mine", "alice"), change))
	for h, want := range map[string]string{"mine": "e2", "other": "e1"} {
		got, of, err := s.ReadSession(ctx, h, "alice")
		if err != nil || got.Epoch != want || of.Epoch != "e2" || !got.ExpiresAt.Equal(Now.Add(time.Hour)) {
			t.Fatalf("%s: %+v of %+v, %v", h, got, of, err)
		}
	}
}

func failures(t *testing.T, s account.Store) {
	ctx := t.Context()
	var won atomic.Int32
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			stored, ok, err := s.WriteFailures(ctx, "k", account.Failures{At: []time.Time{Now}})
			if err != nil || stored.Revision != 1 || len(stored.At) != 1 || !stored.At[0].Equal(Now) {
				t.Errorf("%+v, %v", stored, err)
			}
			if ok {
				won.Add(1)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 {
		t.Fatalf("%d writers won", won.Load())
	}
	stored, ok, err := s.WriteFailures(ctx, "k", account.Failures{Revision: 1})
	if err != nil || !ok || stored.Revision != 2 || len(stored.At) != 0 {
		t.Fatalf("%+v, %v, %v", stored, ok, err)
	}
}
