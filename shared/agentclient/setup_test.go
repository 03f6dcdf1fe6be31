package agentclient

import (
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bailing/shared/agentclient/agentclienttest"
	"bailing/shared/clock"
)

// bench is a hub, and a client of it.
type bench struct {
	hub    *agentclienttest.Hub
	client *Client
	store  *FileStore
	clock  *clock.Manual
}

func setup(t *testing.T) *bench {
	t.Helper()
	b := &bench{hub: agentclienttest.Start(t), clock: clock.NewManual(time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC))}
	b.store = NewFileStore(filepath.Join(t.TempDir(), "agent", "default.json"))
	b.client = &Client{Store: b.store, Clock: b.clock}
	return b
}

// loggedIn is a bench with a session.
func loggedIn(t *testing.T) *bench {
	t.Helper()
	b := setup(t)
	b.save(t, b.session())
	return b
}

// session opens a session at the hub, without a browser.
func (b *bench) session() *Credentials {
	id, access, refresh := b.hub.NewSession()
	now := b.clock.Now()
	return &Credentials{
		Hub: b.hub.URL, ClientAppID: agentclienttest.ClientAppID, SessionID: id, DeviceLabel: "Yard laptop 3", AccessToken: access, RefreshToken: refresh,
		AccessExpiresAt: now.Add(15 * time.Minute), RenewAt: now.Add(14 * time.Minute), RefreshExpiresAt: now.Add(30 * 24 * time.Hour),
	}
}

func (b *bench) save(t *testing.T, k *Credentials) {
	t.Helper()
	if err := b.client.locked(t.Context(), func() error { return b.store.Save(t.Context(), k) }); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) stored(t *testing.T) *Credentials {
	t.Helper()
	k, err := b.store.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// options are those of a login whose person is at a page: page gets the address, and returns where the browser goes.
func (b *bench) options(t *testing.T, page func(string) (string, error)) LoginOptions {
	return LoginOptions{
		Hub: b.hub.URL, ClientAppID: agentclienttest.ClientAppID, Routes: []string{agentclienttest.Route}, DeviceLabel: "Yard laptop 3",
		Show: func(a Authorization) error {
			target, err := page(a.URL)
			if err != nil || target == "" {
				return err
			}
			go browse(t, target)
			return nil
		},
	}
}

// browse is a browser that is sent to a target; it returns the page.
func browse(t *testing.T, target string) (status int, header http.Header, page string) {
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := c.Get(target)
	if err != nil {
		t.Errorf("the browser: %v", err)
		return 0, nil, ""
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Errorf("the browser: %v", err)
	}
	return res.StatusCode, res.Header, string(b)
}

// wantNoSecret fails when an error quotes a token or a code.
func wantNoSecret(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	for _, prefix := range []string{accessPrefix, refreshPrefix, codePrefix} {
		if _, after, found := strings.Cut(err.Error(), prefix); found && !strings.HasPrefix(after, " ") {
			t.Errorf("the error has a secret: %v", err)
		}
	}
}

func is(err, target error) bool { return errors.Is(err, target) }
