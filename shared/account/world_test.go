package account_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"log/slog"
	"testing"

	"bailing/shared/account"
	"bailing/shared/account/accounttest"
	"bailing/shared/apierr"
	"bailing/shared/clock"
	"bailing/shared/registry"
)

type members = map[string]any

// world is a service over a store in memory.
type world struct {
	*testing.T
	*account.Service
	store *accounttest.Store
	clock *clock.Manual
	logs  *bytes.Buffer
}

func setup(t *testing.T, adjust ...func(*account.Options)) *world {
	t.Helper()
	w := &world{T: t, store: accounttest.NewStore(), clock: clock.NewManual(accounttest.Now), logs: &bytes.Buffer{}}
	w.Service = w.service(adjust...)
	return w
}

// service is another process over the same store.
func (w *world) service(adjust ...func(*account.Options)) *account.Service {
	o := account.Options{
		Store: w.store, Random: rand.Reader, Cost: accounttest.Cheap, Clock: w.clock,
		Logger: slog.New(slog.NewTextHandler(w.logs, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, f := range adjust {
		f(&o)
	}
	return account.NewService(o)
}

var change = registry.Change{By: "token", Method: "POST", Path: "admins"}

const address = "192.0.2.1"

// add saves an account as the server token does.
func (w *world) add(m members) account.Saved {
	w.Helper()
	saved, err := w.Save(w.Context(), account.ServerToken(), accounttest.Body(m), change)
	if err != nil {
		w.Fatal(err)
	}
	return saved
}

func (w *world) admin(username string) {
	w.Helper()
	w.add(members{"username": username, "role": "admin", "password": "password of " + username})
}

func (w *world) try(username, password, from string) (account.LoggedIn, error) {
	return w.Login(w.Context(), accounttest.Body(members{"username": username, "password": password}), from)
}

// enter logs somebody in whom admin has made.
func (w *world) enter(username string) string {
	w.Helper()
	in, err := w.try(username, "password of "+username, address)
	if err != nil {
		w.Fatal(err)
	}
	return in.Token
}

// live is what a token authenticates, nil for nothing.
func (w *world) live(token string) *account.Live {
	w.Helper()
	live, err := w.Authenticate(w.Context(), token)
	if err != nil {
		w.Fatal(err)
	}
	return live
}

func (w *world) as(username string) account.Identity {
	w.Helper()
	return w.live(w.enter(username)).Identity
}

func (w *world) wantCode(what string, err error, code apierr.Code) {
	w.Helper()
	if apierr.CodeOf(err) != code {
		w.Errorf("%s: %v, want code %q", what, err, code)
	}
}

func bootstrap(username, password string) func(*account.Options) {
	return func(o *account.Options) {
		o.Bootstrap = &account.Bootstrap{Username: username, Password: func(context.Context) (string, error) { return password, nil }}
	}
}
