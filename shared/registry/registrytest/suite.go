package registrytest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"bailing/shared/registry"
)

// TokenStore is a registry.Store that finds tokens, too.
type TokenStore interface {
	registry.Store
	Token(ctx context.Context, hash string) (*registry.Token, error)
}

var at = time.Date(2026, 11, 30, 15, 52, 48, 906_000_000, time.UTC)

func change(path string) registry.Change {
	return registry.Change{At: at, By: "token", Method: "POST", Path: path}
}

// Run checks what registry.Service relies on. open returns a store that is empty.
func Run(t *testing.T, open func(t *testing.T) TokenStore) {
	for name, test := range map[string]func(*testing.T, TokenStore){
		"a record comes back as it was put":                        roundTrip,
		"a list has every record of its kind, by name":             listByName,
		"a first write needs that there is none":                   firstWrite,
		"a later write needs the revision that was read":           laterWrite,
		"of many writers of one revision one wins":                 oneWinner,
		"an outsized record is stored, read and listed":            outsized,
		"a client's token row carries the client":                  tokenRow,
		"a replaced token is gone":                                 replacedToken,
		"a new token must not exist":                               tokenTaken,
		"a refused client write leaves every row as it was":        refusedClient,
		"what is observed follows the revision that was read":      observed,
		"values are found under their address":                     values,
		"the kill switch can be turned, and turned to what it is":  killSwitch,
		"names that are prefixes of kinds or names do not collide": prefixes,
		"a deletion needs the revision that was read":              deletion,
		"a record that is created again has another revision":      rebirth,
		"a deleted client's token is dead":                         deletedClient,
		"a route needs what it refers to":                          referring,
		"every route is listed now, by key":                        listNow,
		"who deletes what a new route refers to looks again":       movedReference,
		"an audit record can be written by itself":                 noted,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

func route(key string) registry.Route {
	return registry.Route{
		RouteKey: key, Name: "Route " + key, Enabled: true, Target: "llm",
		TargetConfig: []byte(`{"credential":"stub","<b>":1.5}`), Profile: "readonly", SessionPolicy: registry.SessionNew,
	}
}

func client(appID, token string) registry.Client {
	return registry.Client{
		AppID: appID, Name: appID, AllowedRoutes: []string{"*"}, AllowedChannels: []string{}, Enabled: true,
		SealedToken: "sealed", TokenMask: registry.Mask(token), TokenHash: registry.TokenHash(token),
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantStale(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, registry.ErrStale) {
		t.Fatalf("err = %v, want ErrStale", err)
	}
}

func get[T any](t *testing.T, r interface {
	Get(context.Context, string) (*registry.Versioned[T], error)
}, name string) *registry.Versioned[T] {
	t.Helper()
	v, err := r.Get(t.Context(), name)
	must(t, err)
	return v
}

func roundTrip(t *testing.T, s TokenStore) {
	p := registry.Provider{Name: "biz", BaseURL: "https://biz.example", SpecRefreshedAt: at, Secret: "sealed", TimeoutMS: 5000}
	if got := get(t, s.Providers(), "biz"); got != nil {
		t.Fatalf("a record that was never put: %+v", got)
	}
	must(t, s.Providers().Put(t.Context(), "biz", registry.Versioned[registry.Provider]{Value: p}, change("tool-providers")))
	got := get(t, s.Providers(), "biz")
	if got == nil || got.Revision == 0 || !reflect.DeepEqual(got.Value, p) {
		t.Fatalf("got %+v, want %+v at a revision", got, p)
	}
	r := route("r")
	r.Tools = &registry.RouteTools{
		Sources: []registry.ToolSource{{Provider: "biz", Allow: []string{"a.*"}}}, MaxCalls: 3,
		Rest: map[string]json.RawMessage{"note": json.RawMessage(`{"x":1}`)},
	}
	must(t, s.Routes().Put(t.Context(), "r", registry.Versioned[registry.Route]{Value: r}, change("routes")))
	if got := get(t, s.Routes(), "r"); !reflect.DeepEqual(got.Value.Tools, r.Tools) {
		t.Fatalf("tools = %+v, want %+v", got.Value.Tools, r.Tools)
	}
}

func listByName(t *testing.T, s TokenStore) {
	if got, err := s.Targets().List(t.Context()); err != nil || len(got) != 0 {
		t.Fatalf("empty list: %v, %v", got, err)
	}
	const n = 230 // more than two batches of 100
	for i := n - 1; i >= 0; i-- {
		name := fmt.Sprintf("t-%03d", i)
		must(t, s.Targets().Put(t.Context(), name, registry.Versioned[registry.Target]{Value: registry.Target{Name: name}}, change("targets")))
	}
	must(t, s.Routes().Put(t.Context(), "t-000", registry.Versioned[registry.Route]{Value: route("t-000")}, change("routes")))
	list, err := s.Targets().List(t.Context())
	must(t, err)
	if len(list) != n {
		t.Fatalf("%d targets, want %d", len(list), n)
	}
	for i, target := range list {
		if want := fmt.Sprintf("t-%03d", i); target.Name != want {
			t.Fatalf("place %d holds %s, want %s", i, target.Name, want)
		}
	}
}

func firstWrite(t *testing.T, s TokenStore) {
	v := registry.Versioned[registry.Route]{Value: route("r")}
	must(t, s.Routes().Put(t.Context(), "r", v, change("routes")))
	v.Value.Name = "second"
	wantStale(t, s.Routes().Put(t.Context(), "r", v, change("routes")))
	if got := get(t, s.Routes(), "r"); got.Value.Name != "Route r" {
		t.Fatalf("a refused write changed the record: %+v", got)
	}
}

func laterWrite(t *testing.T, s TokenStore) {
	put := func(rev int64) error {
		return s.Routes().Put(t.Context(), "r", registry.Versioned[registry.Route]{Value: route("r"), Revision: rev}, change("routes"))
	}
	wantStale(t, put(1))
	must(t, put(0))
	first := get(t, s.Routes(), "r").Revision
	must(t, put(first))
	wantStale(t, put(first))
	wantStale(t, put(first+2))
	must(t, put(first+1))
	if got := get(t, s.Routes(), "r"); got.Revision != first+2 {
		t.Fatalf("revision %d, want %d", got.Revision, first+2)
	}
}

func oneWinner(t *testing.T, s TokenStore) {
	must(t, s.Routes().Put(t.Context(), "r", registry.Versioned[registry.Route]{Value: route("r")}, change("routes")))
	first := get(t, s.Routes(), "r").Revision
	errs := make([]error, 8)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			errs[i] = s.Routes().Put(t.Context(), "r", registry.Versioned[registry.Route]{Value: route("r"), Revision: first}, change("routes"))
		})
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
			continue
		}
		wantStale(t, err)
	}
	if got := get(t, s.Routes(), "r"); won != 1 || got.Revision != first+1 {
		t.Fatalf("%d writers won, revision %d; want 1 and %d", won, got.Revision, first+1)
	}
}

func outsized(t *testing.T, s TokenStore) {
	big := route("big")
	big.Description = strings.Repeat("é", 500_000) // 1 MB, more than an item holds
	must(t, s.Routes().Put(t.Context(), "big", registry.Versioned[registry.Route]{Value: big}, change("routes")))
	must(t, s.Routes().Put(t.Context(), "small", registry.Versioned[registry.Route]{Value: route("small")}, change("routes")))
	if got := get(t, s.Routes(), "big"); got.Value.Description != big.Description {
		t.Fatal("the outsized record came back changed")
	}
	list, err := s.Routes().List(t.Context())
	must(t, err)
	if len(list) != 2 || list[0].Description != big.Description || list[1].Description != "" {
		t.Fatal("the list does not hold both records")
	}
	big.Description = ""
	must(t, s.Routes().Put(t.Context(), "big", registry.Versioned[registry.Route]{Value: big, Revision: get(t, s.Routes(), "big").Revision}, change("routes")))
	if got := get(t, s.Routes(), "big"); got.Value.Description != "" {
		t.Fatal("a record that shrank shows its outsized revision")
	}
	c := client("c-1", "token")
	c.Description = strings.Repeat("x", 1_000_000)
	must(t, s.Clients().Put(t.Context(), registry.Versioned[registry.Client]{Value: c}, "", change("clients")))
	token, err := s.Token(t.Context(), c.TokenHash)
	must(t, err)
	if token == nil || token.Client.Description != c.Description {
		t.Fatal("the token row of an outsized client does not carry it")
	}
}

func wantToken(t *testing.T, s TokenStore, token string, want *registry.Client) {
	t.Helper()
	got, err := s.Token(t.Context(), registry.TokenHash(token))
	must(t, err)
	switch {
	case want == nil && got != nil:
		t.Fatalf("token %s authenticates %+v", token, got)
	case want != nil && (got == nil || got.Hash != registry.TokenHash(token) || !reflect.DeepEqual(got.Client, *want)):
		t.Fatalf("token %s authenticates %+v, want %+v", token, got, want)
	}
}

func tokenRow(t *testing.T, s TokenStore) {
	c := client("c-1", "one")
	wantToken(t, s, "one", nil)
	must(t, s.Clients().Put(t.Context(), registry.Versioned[registry.Client]{Value: c}, "", change("clients")))
	wantToken(t, s, "one", &c)
	c.Enabled = false
	must(t, s.Clients().Put(t.Context(), registry.Versioned[registry.Client]{Value: c, Revision: get(t, s.Clients(), "c-1").Revision}, c.TokenHash, change("clients")))
	wantToken(t, s, "one", &c)
	list, err := s.Clients().List(t.Context())
	must(t, err)
	if len(list) != 1 || list[0].Enabled {
		t.Fatalf("list = %+v, want the one client, disabled", list)
	}
}

func replacedToken(t *testing.T, s TokenStore) {
	c := client("c-1", "one")
	must(t, s.Clients().Put(t.Context(), registry.Versioned[registry.Client]{Value: c}, "", change("clients")))
	next := client("c-1", "two")
	must(t, s.Clients().Put(t.Context(), registry.Versioned[registry.Client]{Value: next, Revision: get(t, s.Clients(), "c-1").Revision}, c.TokenHash, change("clients")))
	wantToken(t, s, "one", nil)
	wantToken(t, s, "two", &next)
}

func tokenTaken(t *testing.T, s TokenStore) {
	c := client("c-1", "one")
	must(t, s.Clients().Put(t.Context(), registry.Versioned[registry.Client]{Value: c}, "", change("clients")))
	wantStale(t, s.Clients().Put(t.Context(), registry.Versioned[registry.Client]{Value: client("c-2", "one")}, "", change("clients")))
	wantToken(t, s, "one", &c)
	if got := get(t, s.Clients(), "c-2"); got != nil {
		t.Fatalf("a client with another one's token was stored: %+v", got)
	}
}

func refusedClient(t *testing.T, s TokenStore) {
	c := client("c-1", "one")
	must(t, s.Clients().Put(t.Context(), registry.Versioned[registry.Client]{Value: c}, "", change("clients")))
	next := client("c-1", "two")
	wantStale(t, s.Clients().Put(t.Context(), registry.Versioned[registry.Client]{Value: next, Revision: 7}, c.TokenHash, change("clients")))
	wantToken(t, s, "one", &c)
	wantToken(t, s, "two", nil)
}

func observed(t *testing.T, s TokenStore) {
	ctx, providers := t.Context(), s.Providers()
	p := registry.Provider{Name: "shop", BaseURL: "https://biz.example"}
	c := change("tool-providers")
	must(t, providers.Put(ctx, "shop", registry.Versioned[registry.Provider]{Value: p}, c))
	event := registry.Event{At: at, Name: "spec_refreshed", Severity: "info", By: "schedule", Summary: "s", Detail: map[string]any{"large": strings.Repeat("x", 500<<10)}}
	first := get(t, providers, "shop").Revision
	p.SpecAccessProbe = &registry.AccessProbe{Status: registry.AccessProtected, SignedHTTP: 200, At: "t"}
	must(t, providers.Observe(ctx, registry.Versioned[registry.Provider]{Value: p, Revision: first}, &c, event, event))
	must(t, providers.Observe(ctx, registry.Versioned[registry.Provider]{Value: p, Revision: first + 1}, nil))
	wantStale(t, providers.Observe(ctx, registry.Versioned[registry.Provider]{Value: p, Revision: first + 1}, nil, event))
	wantStale(t, providers.Observe(ctx, registry.Versioned[registry.Provider]{Value: p}, nil, event))
	must(t, providers.Note(ctx, "shop", &c, event))
	v, err := providers.Get(ctx, "shop")
	must(t, err)
	if v.Revision != first+2 || !reflect.DeepEqual(v.Value, p) {
		t.Fatalf("revision %d, %+v", v.Revision, v.Value)
	}
}

func values(t *testing.T, s TokenStore) {
	address, err := s.PutValue(t.Context(), []byte("abc"))
	must(t, err)
	// SHA-256 of "abc", FIPS 180-4.
	if want := "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"; address != want {
		t.Fatalf("address %s, want %s", address, want)
	}
	got, err := s.GetValue(t.Context(), address)
	must(t, err)
	if string(got) != "abc" {
		t.Fatalf("value %q", got)
	}
	if _, err := s.GetValue(t.Context(), strings.Repeat("0", 64)); err == nil {
		t.Fatal("an address that was never stored has a value")
	}
}

func killSwitch(t *testing.T, s TokenStore) {
	for _, paused := range []bool{true, true, false, false} {
		must(t, s.SetPaused(t.Context(), paused, change("pause")))
	}
}

func prefixes(t *testing.T, s TokenStore) {
	for _, name := range []string{"a", "a.b", "a:b"} {
		must(t, s.Routes().Put(t.Context(), name, registry.Versioned[registry.Route]{Value: route(name)}, change("routes")))
	}
	for _, name := range []string{"a", "a.b", "a:b"} {
		if got := get(t, s.Routes(), name); got == nil || got.Value.RouteKey != name {
			t.Fatalf("%s answers %+v", name, got)
		}
	}
}

func deletion(t *testing.T, s TokenStore) {
	target := registry.Target{Name: "exec"}
	wantStale(t, s.Targets().Delete(t.Context(), "exec", 1, change("targets/exec")))
	must(t, s.Targets().Put(t.Context(), "exec", registry.Versioned[registry.Target]{Value: target}, change("targets")))
	first := get(t, s.Targets(), "exec").Revision
	must(t, s.Targets().Put(t.Context(), "exec", registry.Versioned[registry.Target]{Value: target, Revision: first}, change("targets")))
	wantStale(t, s.Targets().Delete(t.Context(), "exec", first, change("targets/exec")))
	must(t, s.Targets().Delete(t.Context(), "exec", first+1, change("targets/exec")))
	wantStale(t, s.Targets().Delete(t.Context(), "exec", first+1, change("targets/exec")))
	if list, err := s.Targets().List(t.Context()); err != nil || len(list) != 0 || get(t, s.Targets(), "exec") != nil {
		t.Fatalf("a deleted record is listed: %+v, %v", list, err)
	}
}

// A worker that read the record before it was deleted must not write it over the new one.
func rebirth(t *testing.T, s TokenStore) {
	old := registry.Versioned[registry.Provider]{Value: registry.Provider{Name: "shop", Secret: "old"}}
	for range 3 {
		must(t, s.Providers().Put(t.Context(), "shop", registry.Versioned[registry.Provider]{Value: old.Value}, change("tool-providers")))
		held := *get(t, s.Providers(), "shop")
		must(t, s.Providers().Delete(t.Context(), "shop", held.Revision, change("tool-providers/shop")))
		wantStale(t, s.Providers().Observe(t.Context(), held, nil))
		next := registry.Provider{Name: "shop", Secret: "new"}
		must(t, s.Providers().Put(t.Context(), "shop", registry.Versioned[registry.Provider]{Value: next}, change("tool-providers")))
		wantStale(t, s.Providers().Observe(t.Context(), held, nil))
		got := get(t, s.Providers(), "shop")
		if got.Value.Secret != "new" {
			t.Fatalf("the secret of the deleted record came back: %+v", got)
		}
		must(t, s.Providers().Delete(t.Context(), "shop", got.Revision, change("tool-providers/shop")))
	}
}

func deletedClient(t *testing.T, s TokenStore) {
	c := client("c-1", "one")
	must(t, s.Clients().Put(t.Context(), registry.Versioned[registry.Client]{Value: c}, "", change("clients")))
	held := *get(t, s.Clients(), "c-1")
	must(t, s.Clients().Put(t.Context(), held, c.TokenHash, change("clients")))
	wantStale(t, s.Clients().Delete(t.Context(), held, change("clients/c-1")))
	wantToken(t, s, "one", &c)
	must(t, s.Clients().Delete(t.Context(), *get(t, s.Clients(), "c-1"), change("clients/c-1")))
	wantToken(t, s, "one", nil)
	if list, err := s.Clients().List(t.Context()); err != nil || len(list) != 0 {
		t.Fatalf("a deleted client is listed: %+v, %v", list, err)
	}
	next := client("c-1", "two")
	must(t, s.Clients().Put(t.Context(), registry.Versioned[registry.Client]{Value: next}, "", change("clients")))
	wantToken(t, s, "one", nil)
	wantToken(t, s, "two", &next)
}

func referring(t *testing.T, s TokenStore) {
	v := registry.Versioned[registry.Route]{Value: route("r")}
	refs := []registry.Reference{{Kind: registry.KindTarget, Name: "exec"}, {Kind: registry.KindCredential, Name: "stub"}, {Kind: registry.KindProvider, Name: "shop"}}
	put := func() error { return s.Routes().PutReferring(t.Context(), v, refs, change("routes")) }
	wantStale(t, put())
	target, credential := registry.Target{Name: "exec", TimeoutMS: 5}, registry.Credential{Name: "stub", APIKey: "sealed"}
	must(t, s.Targets().Put(t.Context(), "exec", registry.Versioned[registry.Target]{Value: target}, change("targets")))
	must(t, s.Credentials().Put(t.Context(), "stub", registry.Versioned[registry.Credential]{Value: credential}, change("credentials")))
	wantStale(t, put())
	if got := get(t, s.Routes(), "r"); got != nil {
		t.Fatalf("a route that refers to nothing was stored: %+v", got)
	}
	must(t, s.Providers().Put(t.Context(), "shop", registry.Versioned[registry.Provider]{Value: registry.Provider{Name: "shop"}}, change("tool-providers")))
	must(t, put())
	wantStale(t, put())
	if got := get(t, s.Targets(), "exec"); got.Value != target {
		t.Fatalf("a route changed what it refers to: %+v", got)
	}
	if now, err := s.Routes().ListNow(t.Context()); err != nil || len(now) != 1 || now[0].RouteKey != "r" {
		t.Fatalf("routes now %+v, %v", now, err)
	}
	if got := get(t, s.Credentials(), "stub"); got.Value != credential {
		t.Fatalf("a route changed what it refers to: %+v", got)
	}
}

func movedReference(t *testing.T, s TokenStore) {
	must(t, s.Targets().Put(t.Context(), "exec", registry.Versioned[registry.Target]{Value: registry.Target{Name: "exec"}}, change("targets")))
	seen := get(t, s.Targets(), "exec").Revision
	v := registry.Versioned[registry.Route]{Value: route("r")}
	must(t, s.Routes().PutReferring(t.Context(), v, []registry.Reference{{Kind: registry.KindTarget, Name: "exec"}}, change("routes")))
	wantStale(t, s.Targets().Delete(t.Context(), "exec", seen, change("targets/exec")))
	must(t, s.Targets().Delete(t.Context(), "exec", get(t, s.Targets(), "exec").Revision, change("targets/exec")))
}

func noted(t *testing.T, s TokenStore) {
	c := change("clients/c-1/token")
	c.Event = registry.EventTokenRevealed
	must(t, s.Note(t.Context(), c))
}

func listNow(t *testing.T, s TokenStore) {
	keys := func() (keys []string) {
		now, err := s.Routes().ListNow(t.Context())
		must(t, err)
		for _, r := range now {
			keys = append(keys, r.RouteKey)
		}
		return keys
	}
	if got := keys(); len(got) != 0 {
		t.Fatalf("routes of an empty store: %v", got)
	}
	for _, key := range []string{"b", "A.x", "a"} {
		must(t, s.Routes().Put(t.Context(), key, registry.Versioned[registry.Route]{Value: route(key)}, change("routes")))
	}
	must(t, s.Routes().PutReferring(t.Context(), *get(t, s.Routes(), "b"), nil, change("routes")))
	if got := keys(); !slices.Equal(got, []string{"A.x", "a", "b"}) {
		t.Fatalf("routes now %v", got)
	}
	must(t, s.Routes().Delete(t.Context(), "a", get(t, s.Routes(), "a").Revision, change("routes/a")))
	if got := keys(); !slices.Equal(got, []string{"A.x", "b"}) {
		t.Fatalf("routes after a deletion: %v", got)
	}
}
