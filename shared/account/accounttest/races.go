package accounttest

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bailing/shared/account"
	"bailing/shared/apierr"
	"bailing/shared/canonical"
	"bailing/shared/clock"
)

// rounds is how often each race is run.
const rounds = 20

// Cheap is a cost of hashing for tests.
var Cheap = account.Cost{Memory: 8, Passes: 1, Threads: 1}

// Body is a request's body.
func Body(v any) canonical.Value {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	value, err := canonical.Parse(b, canonical.Limits{})
	if err != nil {
		panic(err)
	}
	return value
}

type members = map[string]any

// world is a store with a clock, over which services stand as over one database.
type world struct {
	*testing.T
	store account.Store
	clock *clock.Manual
}

func newWorld(t *testing.T, s account.Store) *world { return &world{t, s, clock.NewManual(Now)} }

func (w *world) service(adjust ...func(*account.Options)) *account.Service {
	o := account.Options{Store: w.store, Random: rand.Reader, Cost: Cheap, Clock: w.clock}
	for _, f := range adjust {
		f(&o)
	}
	return account.NewService(o)
}

func (w *world) save(username, role, password string) {
	w.Helper()
	_, err := w.service().Save(w.Context(), account.ServerToken(), Body(members{"username": username, "role": role, "password": password}), change)
	must(w.T, err)
}

func (w *world) login(s *account.Service, username, password, address string) (string, error) {
	in, err := s.Login(w.Context(), Body(members{"username": username, "password": password}), address)
	return in.Token, err
}

// enter is a login that must succeed.
func (w *world) enter(username, password string) string {
	w.Helper()
	token, err := w.login(w.service(), username, password, "192.0.2.1")
	must(w.T, err)
	return token
}

func (w *world) identity(token string) account.Identity {
	w.Helper()
	live, err := w.service().Authenticate(w.Context(), token)
	if err != nil || live == nil {
		w.Fatalf("the session is dead: %v", err)
	}
	return live.Identity
}

func (w *world) mustBeDead(what, token string) {
	w.Helper()
	if live, err := w.service().Authenticate(w.Context(), token); live != nil || err != nil {
		w.Fatalf("%s: %+v, %v", what, live, err)
	}
}

// together runs all at once and returns when all are done.
func together(all ...func()) {
	var running sync.WaitGroup
	start := make(chan struct{})
	for _, f := range all {
		running.Go(func() { <-start; f() })
	}
	close(start)
	running.Wait()
}

// empty removes every account.
func (w *world) empty() {
	w.Helper()
	list, err := w.store.ListAccounts(w.Context())
	must(w.T, err)
	for _, a := range list {
		roster, v, err := w.store.ReadAccount(w.Context(), a.Username)
		must(w.T, err)
		delete(roster.Value.Accounts, a.Username)
		must(w.T, w.store.DeleteAccount(w.Context(), *v, roster, change))
	}
}

func raceBootstrap(t *testing.T, s account.Store) {
	w := newWorld(t, s)
	boot := func(o *account.Options) {
		o.Bootstrap = &account.Bootstrap{Username: "first", Password: func(context.Context) (string, error) { return "first password", nil }}
	}
	for round := range rounds {
		var tokens [2]string
		var errs [2]error
		enter := func(i int) func() {
			return func() {
				tokens[i], errs[i] = w.login(w.service(boot), "first", "first password", fmt.Sprintf("192.0.2.%d", round))
			}
		}
		together(enter(0), enter(1))
		for i, err := range errs {
			if err != nil {
				t.Fatalf("round %d: login %d: %v", round, i, err)
			}
			if got := w.identity(tokens[i]); got.Username != "first" || !got.Perms.Has("*") {
				t.Fatalf("round %d: %+v", round, got)
			}
		}
		if list, err := s.ListAccounts(t.Context()); err != nil || len(list) != 1 {
			t.Fatalf("round %d: %d accounts, %v", round, len(list), err)
		}
		w.empty()
		w.mustBeDead("after its account", tokens[0])
	}
}

func racePassword(t *testing.T, s account.Store) {
	w := newWorld(t, s)
	for round := range rounds {
		name := fmt.Sprintf("alice-%d", round)
		w.save(name, "viewer", "old password")
		mine := w.enter(name, "old password")
		me := w.identity(mine)
		var late string
		var loginErr, changeErr error
		together(
			func() { late, loginErr = w.login(w.service(), name, "old password", "192.0.2.2") },
			func() {
				changeErr = w.service().ChangePassword(t.Context(), me, Body(members{"old_password": "old password", "new_password": "new password"}), "192.0.2.1", change)
			},
		)
		if changeErr != nil || (loginErr != nil && apierr.CodeOf(loginErr) != apierr.Unauthorized) {
			t.Fatalf("round %d: change %v, login %v", round, changeErr, loginErr)
		}
		if loginErr == nil {
			w.mustBeDead("a session of the old password", late)
		}
		w.identity(mine)
		w.enter(name, "new password")
		if _, err := w.login(w.service(), name, "old password", "192.0.2.3"); apierr.CodeOf(err) != apierr.Unauthorized {
			t.Fatalf("round %d: the old password: %v", round, err)
		}
	}
}

func raceDelete(t *testing.T, s account.Store) {
	w := newWorld(t, s)
	for round := range rounds {
		name := fmt.Sprintf("bob-%d", round)
		w.save(name, "viewer", "bobs password")
		token := w.enter(name, "bobs password")
		warm := w.service()
		var late string
		together(
			func() {
				if err := w.service().Delete(t.Context(), account.ServerToken(), name, change); err != nil {
					t.Error(err)
				}
			},
			func() {
				if _, err := warm.Authenticate(t.Context(), token); err != nil {
					t.Error(err)
				}
			},
			func() { late, _ = w.login(w.service(), name, "bobs password", "192.0.2.2") },
		)
		for _, dead := range []string{token, late} {
			if live, err := warm.Authenticate(t.Context(), dead); live != nil || err != nil {
				t.Fatalf("round %d: %+v, %v", round, live, err)
			}
		}
		w.save(name, "admin", "bobs password")
		w.mustBeDead("a session of an account of the same name", token)
	}
}

func raceRemoval(t *testing.T, s account.Store) {
	w := newWorld(t, s)
	w.save("alice", "admin", "alices password")
	w.save("bob", "admin", "bobs password")
	for round := range rounds {
		alice, bob := w.identity(w.enter("alice", "alices password")), w.identity(w.enter("bob", "bobs password"))
		var errs [2]error
		together(
			func() { errs[0] = w.service().Delete(t.Context(), alice, "bob", change) },
			func() {
				_, errs[1] = w.service().Save(t.Context(), bob, Body(members{"username": "alice", "role": "viewer"}), change)
			},
		)
		done := 0
		for _, err := range errs {
			switch apierr.CodeOf(err) {
			case "":
				done++
			case apierr.Unauthorized, apierr.Forbidden: // removed before it decided
			default:
				t.Fatalf("round %d: %v", round, err)
			}
		}
		roster, _, err := s.ReadAccount(t.Context(), "alice")
		if err != nil || done != 1 || roster.Value.Accounts["alice"] == roster.Value.Accounts["bob"] {
			t.Fatalf("round %d: %d succeeded, roster %v, %v", round, done, roster.Value, err)
		}
		w.save("alice", "admin", "alices password")
		w.save("bob", "admin", "bobs password")
	}
}

func raceThrottle(t *testing.T, s account.Store) {
	w := newWorld(t, s)
	w.save("alice", "viewer", "alices password")
	for round := range rounds {
		var refused, throttled atomic.Int32
		var tries []func()
		for range 4 * account.MaxFailures {
			tries = append(tries, func() {
				switch _, err := w.login(w.service(), "alice", "wrong password", "192.0.2.1"); apierr.CodeOf(err) {
				case apierr.Unauthorized:
					refused.Add(1)
				case apierr.RateLimited:
					throttled.Add(1)
				default:
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		together(tries...)
		if refused.Load() != account.MaxFailures || throttled.Load() != 3*account.MaxFailures {
			t.Fatalf("round %d: %d guesses, %d throttled", round, refused.Load(), throttled.Load())
		}
		w.clock.Advance(account.FailureWindow)
	}
	w.enter("alice", "alices password")
}

func raceLogout(t *testing.T, s account.Store) {
	w := newWorld(t, s)
	w.save("alice", "viewer", "alices password")
	for range rounds {
		token := w.enter("alice", "alices password")
		w.clock.Advance(2 * time.Hour)
		renew := func() {
			if _, err := w.service().Authenticate(t.Context(), token); err != nil {
				t.Error(err)
			}
		}
		leave := func() {
			if err := w.service().Logout(t.Context(), token); err != nil {
				t.Error(err)
			}
		}
		together(renew, renew, leave, renew)
		w.mustBeDead("after the logout", token)
	}
}

func raceChanges(t *testing.T, s account.Store) {
	w := newWorld(t, s)
	for round := range rounds {
		name := fmt.Sprintf("carol-%d", round)
		w.save(name, "viewer", "password 0")
		token := w.enter(name, "password 0")
		me := w.identity(token)
		var winner atomic.Int32
		var wins atomic.Int32
		var all []func()
		for i := range account.MaxFailures {
			all = append(all, func() {
				b := Body(members{"old_password": "password 0", "new_password": fmt.Sprintf("password %d", i+1)})
				switch err := w.service().ChangePassword(t.Context(), me, b, "192.0.2.1", change); apierr.CodeOf(err) {
				case "":
					winner.Store(int32(i + 1))
					wins.Add(1)
				case apierr.Unauthorized:
				default:
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		together(all...)
		if wins.Load() != 1 {
			t.Fatalf("round %d: %d succeeded", round, wins.Load())
		}
		w.identity(token)
		if _, err := w.login(w.service(), name, fmt.Sprintf("password %d", winner.Load()), "192.0.2.9"); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
}

func raceRehash(t *testing.T, s account.Store) {
	w := newWorld(t, s)
	dearer := func(o *account.Options) { o.Cost.Passes = 2 }
	for round := range rounds {
		name := fmt.Sprintf("dave-%d", round)
		w.save(name, "viewer", "old password")
		me := w.identity(w.enter(name, "old password"))
		var changeErr error
		together(
			func() { _, _ = w.login(w.service(dearer), name, "old password", "192.0.2.2") },
			func() { _, _ = w.login(w.service(dearer), name, "old password", "192.0.2.3") },
			func() {
				b := Body(members{"old_password": "old password", "new_password": "new password"})
				changeErr = w.service(dearer).ChangePassword(t.Context(), me, b, "192.0.2.1", change)
			},
		)
		if changeErr != nil {
			t.Fatalf("round %d: %v", round, changeErr)
		}
		w.enter(name, "new password")
		if _, err := w.login(w.service(), name, "old password", "192.0.2.4"); apierr.CodeOf(err) != apierr.Unauthorized {
			t.Fatalf("round %d: the old password: %v", round, err)
		}
	}
}
