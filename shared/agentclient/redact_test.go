package agentclient

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestNothingPrintsTokens(t *testing.T) {
	t.Parallel()
	k := Credentials{Hub: "https://hub.example", ClientAppID: "depot-agent", SessionID: testSession, AccessToken: token("bha_", 47), RefreshToken: token("bhr_", 47)}
	tokens := Tokens{SessionID: testSession, ClientAppID: "depot-agent", Access: token("bha_", 47), Refresh: token("bhr_", 47)}
	var out bytes.Buffer
	logs := slog.New(slog.NewJSONHandler(&out, nil))
	for _, v := range []any{k, &k, tokens, &tokens} {
		fmt.Fprintf(&out, "%v %+v %#v %s\n", v, v, v, v)
		logs.Info("x", "v", v)
	}
	if s := out.String(); strings.Contains(s, "bha_") || strings.Contains(s, "bhr_") || strings.Count(s, testSession) != 4*5 {
		t.Error(s)
	}
}

func TestAStoreInMemoryHandsOutCopies(t *testing.T) {
	t.Parallel()
	var m MemoryStore
	if _, err := m.Load(t.Context()); !is(err, ErrNotLoggedIn) {
		t.Error(err)
	}
	b := setup(t)
	k, now := b.session(), b.clock.Now()
	k.RefreshStarted = &now
	if err := m.Save(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	want := k.AccessToken
	k.AccessToken, now = "", now.Add(1)
	got, err := m.Load(t.Context())
	if err != nil || got.AccessToken != want || !got.RefreshStarted.Before(now) {
		t.Error(err)
	}
	got.AccessToken = ""
	if got, err = m.Load(t.Context()); err != nil || got.AccessToken != want {
		t.Error(err)
	}
	if err := m.Delete(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := m.Load(t.Context()); !is(err, ErrNotLoggedIn) {
		t.Error(err)
	}
}
