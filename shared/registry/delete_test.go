package registry_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"bailing/shared/apierr"
	"bailing/shared/registry"
)

// remove deletes the record of a kind.
func (b *bundle) remove(t *testing.T, kind, name string) error {
	t.Helper()
	c := registry.Change{By: "token", Method: "DELETE", Path: kind + "/" + name}
	switch ctx := t.Context(); kind {
	case "target":
		return b.DeleteTarget(ctx, name, c)
	case "credential":
		return b.DeleteCredential(ctx, name, c)
	case "provider":
		return b.DeleteProvider(ctx, name, c)
	case "route":
		_, err := b.DeleteRoute(ctx, name, c)
		return err
	}
	return b.DeleteClient(t.Context(), name, c)
}

func TestADeletionIsIdempotentAndOnRecord(t *testing.T) {
	t.Parallel()
	for kind, name := range map[string]string{"target": "exec", "credential": "other", "provider": "shop", "route": "desk", "client": "crm"} {
		b := setup(t)
		routed(t, b)
		b.must(t, kind, samples[kind])
		for range 2 {
			before := len(b.store.Changes())
			if err := b.remove(t, kind, name); err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			want := registry.Change{At: start, By: "token", Method: "DELETE", Path: kind + "/" + name}
			if got := b.store.Changes()[before:]; !slices.Equal(got, []registry.Change{want}) {
				t.Errorf("%s: audit records %+v, want %+v", kind, got, want)
			}
		}
		if bytes.Contains(b.store.Dump(), []byte(kind+"#"+name)) {
			t.Errorf("%s is still there:\n%s", kind, b.store.Dump())
		}
	}
}

func TestANameThatNothingCanHaveIsDeleted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, kind := range []string{"target", "credential", "provider", "route", "client"} {
		for _, name := range []string{"x y", "", strings.Repeat("a", 5000)} {
			if err := b.remove(t, kind, name); err != nil || len(b.store.Changes()) != 0 {
				t.Errorf("%s %.10q: %v, %d audit records", kind, name, err, len(b.store.Changes()))
			}
		}
	}
}

func TestWhatARouteRefersToStays(t *testing.T) {
	t.Parallel()
	b := setup(t)
	routed(t, b)
	b.must(t, "route", with(t, with(t, route, "route_key", `"b"`), "tools", `{"sources":[{"provider":"ref-biz","allow":["*"]}]}`))
	b.must(t, "route", with(t, with(t, route, "route_key", `"a"`), "tools", `{"sources":[{"provider":"ref-empty","allow":["*"]},{"provider":"ref-biz","allow":["x"]}]}`))
	b.must(t, "route", with(t, with(t, route, "route_key", `"c"`), "target", `"ref-exec"`))
	for _, tc := range []struct {
		kind, name string
		referrers  []string
	}{
		{"credential", "stub", []string{"a", "b"}},
		{"provider", "ref-biz", []string{"a", "b"}},
		{"provider", "ref-empty", []string{"a"}},
		{"target", "ref-exec", []string{"c"}},
		{"credential", "vectors", nil},
		{"provider", "ref-prefix", nil},
		{"target", "ref-project", nil},
	} {
		before := len(b.store.Changes())
		err := b.remove(t, tc.kind, tc.name)
		if tc.referrers == nil {
			if err != nil {
				t.Errorf("%s %s: %v", tc.kind, tc.name, err)
			}
			continue
		}
		named, _ := apierr.Of(err).Body["referred_by"].([]string)
		if apierr.CodeOf(err) != apierr.Conflict || !slices.Equal(named, tc.referrers) || len(b.store.Changes()) != before {
			t.Errorf("%s %s: %v, referred by %v, want %v", tc.kind, tc.name, err, named, tc.referrers)
		}
	}
	for _, key := range []string{"a", "b", "c"} {
		if err := b.remove(t, "route", key); err != nil {
			t.Fatal(err)
		}
	}
	for kind, name := range map[string]string{"credential": "stub", "provider": "ref-biz", "target": "ref-exec"} {
		if err := b.remove(t, kind, name); err != nil {
			t.Errorf("%s: %v after its routes are gone", kind, err)
		}
	}
}

func TestAtMostTwentyReferrersAreNamed(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]int{20: 20, 21: 20} {
		b := setup(t)
		routed(t, b)
		for i := range n {
			b.must(t, "route", with(t, route, "route_key", fmt.Sprintf(`"r-%02d"`, i)))
		}
		named, _ := apierr.Of(b.remove(t, "credential", "stub")).Body["referred_by"].([]string)
		if len(named) != want || named[0] != "r-00" {
			t.Errorf("%d routes: %d named: %v", n, len(named), named)
		}
	}
}

func TestTheStoredFormOfTheBuiltInTargetCanBeDeleted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	routed(t, b)
	b.must(t, "target", `{"name":"llm","kind":"inhub","timeout_ms":5000}`)
	b.must(t, "route", route)
	if err := b.remove(t, "target", "llm"); err != nil {
		t.Fatal(err)
	}
	if e := b.entry(t, "target", `{"name":"llm"}`); e["timeout_ms"] != float64(registry.DefaultTargetTimeoutMS) {
		t.Fatalf("%v", e)
	}
}

func TestDeletingARouteWarnsOfClientsThatListIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	routed(t, b)
	b.must(t, "route", samples["route"])
	b.must(t, "client", samples["client"])
	b.must(t, "client", `{"app_id":"everything","name":"x","allowed_routes":["*"]}`)
	d, err := b.DeleteRoute(t.Context(), "desk", change)
	if err != nil || len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], "the client crm ") {
		t.Fatalf("%+v, %v", d, err)
	}
}

func TestADeletedClientsTokenIsDead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.client(t, samples["client"])
	if err := b.remove(t, "client", "crm"); err != nil {
		t.Fatal(err)
	}
	second := b.client(t, samples["client"])
	if first.Token == second.Token {
		t.Fatal("the token came back")
	}
	for token, live := range map[string]bool{first.Token: false, second.Token: true} {
		row, err := b.store.Token(t.Context(), registry.TokenHash(token))
		if err != nil || (row != nil) != live {
			t.Errorf("token row %+v, %v; want live %v", row, err, live)
		}
	}
	if bytes.Contains(b.store.Dump(), []byte(hex.EncodeToString([]byte(first.Token)))) {
		t.Error("the sealed token is kept")
	}
}

// A rotation while the client is deleted must not leave a token behind.
func TestADeletionSeesTheTokenOfTheRevisionThatItDeletes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.client(t, samples["client"])
	var rotated registry.ClientSaved
	b.store.BeforePut = func(kind, name string) {
		b.store.BeforePut = nil
		rotated = b.client(t, with(t, samples["client"], "rotate_token", "true"))
	}
	if err := b.remove(t, "client", "crm"); err != nil {
		t.Fatal(err)
	}
	if row, err := b.store.Token(t.Context(), registry.TokenHash(rotated.Token)); err != nil || row != nil {
		t.Fatalf("a token without a client: %+v, %v", row, err)
	}
}

func TestARecreatedProviderStartsFromNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	full := with(t, with(t, provider, "name", `"shop"`), "spec_json", spec("get_item"))
	b.must(t, "provider", full)
	v, err := b.store.Providers().Get(t.Context(), "shop")
	if err != nil {
		t.Fatal(err)
	}
	v.Value.AuthzProbe = &registry.AuthzProbe{Status: registry.AuthzPass, At: "t"}
	v.Value.SpecAccessProbe = &registry.AccessProbe{Status: registry.AccessProtected, At: "t"}
	if err := b.store.Providers().Observe(t.Context(), *v, nil); err != nil {
		t.Fatal(err)
	}
	held, err := b.store.Providers().Get(t.Context(), "shop")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.remove(t, "provider", "shop"); err != nil {
		t.Fatal(err)
	}
	bare := `{"name":"shop","base_url":"https://biz.example"}`
	wantInvalid(t, b.save(t, "provider", bare), "secret", "required")
	b.must(t, "provider", with(t, bare, "secret", `"another-secret-0123456789"`))
	got, err := b.store.Providers().Get(t.Context(), "shop")
	if err != nil {
		t.Fatal(err)
	}
	if p := got.Value; p.SpecHash != "" || p.CatalogHash != "" || p.AuthzProbe != nil || p.SpecAccessProbe != nil || !p.SpecRefreshedAt.IsZero() || p.Secret == v.Value.Secret {
		t.Fatalf("%+v", p)
	}
	if err := b.store.Providers().Observe(t.Context(), *held, nil); !errors.Is(err, registry.ErrStale) {
		t.Fatalf("a reader of the deleted record wrote over the new one: %v", err)
	}
}

func TestARecreatedCredentialNeedsItsKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.must(t, "credential", samples["credential"])
	if err := b.remove(t, "credential", "other"); err != nil {
		t.Fatal(err)
	}
	wantInvalid(t, b.save(t, "credential", with(t, samples["credential"], "api_key", "")), "api_key", "required")
}

// A route is saved while what it refers to is deleted: the one that comes second sees the other.
func TestADeletionAndASaveThatRefersToItNeverBothSucceed(t *testing.T) {
	t.Parallel()
	saves := map[string]string{
		"target":     with(t, with(t, route, "target", `"victim"`), "target_config", ""),
		"credential": with(t, route, "target_config", `{"credential":"victim"}`),
		"provider":   with(t, route, "tools", `{"sources":[{"provider":"victim","allow":["*"]}]}`),
	}
	for kind, save := range saves {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			routed(t, b)
			for round := range 200 {
				b.must(t, kind, with(t, map[string]string{
					"target": `{"kind":"executor"}`, "credential": `{"base_url":"https://m.example","api_key":"k"}`, "provider": `{"base_url":"https://b.example","secret":"s"}`,
				}[kind], "name", `"victim"`))
				var saved, deleted error
				var wg sync.WaitGroup
				wg.Go(func() { _, saved = b.SaveRoute(t.Context(), value(t, save), change) })
				wg.Go(func() { deleted = b.remove(t, kind, "victim") })
				wg.Wait()
				switch {
				case saved == nil && apierr.CodeOf(deleted) == apierr.Conflict:
				case deleted == nil && apierr.CodeOf(saved) == apierr.Invalid && strings.HasPrefix(apierr.Of(saved).Message, "unknown "):
				default:
					t.Fatalf("round %d: save %v, deletion %v", round, saved, deleted)
				}
				if err := b.remove(t, "route", "ref_plain"); err != nil {
					t.Fatal(err)
				}
				if err := b.remove(t, kind, "victim"); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestADeletionThatNeverCatchesUpIsAConflict(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.must(t, "target", samples["target"])
	nested := false
	b.store.BeforePut = func(kind, name string) {
		if !nested {
			nested = true
			b.must(t, "target", samples["target"])
			nested = false
		}
	}
	if err := b.remove(t, "target", "exec"); apierr.CodeOf(err) != apierr.Conflict {
		t.Fatalf("err = %v", err)
	}
}
