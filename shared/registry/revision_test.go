package registry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"bailing/shared/apierr"
	"bailing/shared/registry"
	"bailing/shared/textlimit"
)

// rows is a list as it is answered.
func rows(t *testing.T, list any, err error) []map[string]any {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	var all []map[string]any
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// unrevised is a list without the revisions, which every entry has.
func unrevised(t *testing.T, list any) []map[string]any {
	t.Helper()
	all := rows(t, list, nil)
	for _, e := range all {
		if r, ok := e["revision"].(string); !ok || !textlimit.Hex64(r) && e["name"] != registry.TargetLLM {
			t.Fatalf("an entry without a revision: %v", e)
		}
		delete(e, "revision")
	}
	return all
}

// listed is the list of a kind.
func (b *bundle) listed(t *testing.T, kind string) []map[string]any {
	t.Helper()
	switch ctx := t.Context(); kind {
	case "target":
		list, err := b.ListTargets(ctx)
		return rows(t, list, err)
	case "credential":
		list, err := b.ListCredentials(ctx)
		return rows(t, list, err)
	case "provider":
		list, err := b.ListProviders(ctx)
		return rows(t, list, err)
	case "route":
		list, err := b.ListRoutes(ctx)
		return rows(t, list, err)
	}
	list, err := b.ListClients(t.Context())
	return rows(t, list, err)
}

// samples are one record of every kind, with most of its members.
var samples = map[string]string{
	"target":     `{"name":"exec","kind":"executor","timeout_ms":60000}`,
	"credential": `{"name":"other","base_url":"https://m.example/v1","api_key":"sk-credential-0123456789","default_model":"m"}`,
	"provider": `{"name":"shop","base_url":"https://biz.example","secret":"provider-secret-0123456789","rate_limit_per_min":7,
		"tool_rate_limits":{"default":{"mode":"inherit"},"overrides":{"pay":{"mode":"custom","count":1,"window":"1h"},"look":{"mode":"disabled"}}}}`,
	"route": `{"route_key":"desk","name":"Desk","target":"llm","target_config":{"credential":"stub","model":"m"},"session_policy":"new","permission":"full",
		"tools":{"sources":[{"provider":"ref-biz","allow":["ref.*"]}],"agent_direct":{"enabled":true,"write_tools":["pay"],"force_approval_tools":["pay"]},"note":{"z":1}},
		"agent_client":{"enabled":false,"instructions":"Be brief.\nAlways.","active_tool_limit":12,
			"system_info":{"name":" Desk ","summary":"Tickets.","domains":["a"],"boundaries":[]}}}`,
	"client": `{"app_id":"crm","name":"CRM","allowed_routes":["desk"],"agent_authorize_url":"https://crm.example/agent?x=1"}`,
}

// identity is the member that names a record of a kind.
func identity(kind string) string {
	return map[string]string{"route": "route_key", "client": "app_id"}[kind]
}

func (b *bundle) entry(t *testing.T, kind, body string) map[string]any {
	t.Helper()
	var named map[string]any
	if err := json.Unmarshal([]byte(body), &named); err != nil {
		t.Fatal(err)
	}
	member := identity(kind)
	if member == "" {
		member = "name"
	}
	for _, e := range b.listed(t, kind) {
		if e[member] == named[member] {
			return e
		}
	}
	t.Fatalf("no %s in the list of %s", body, kind)
	return nil
}

func body(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestAnEntryOfAListCanBeSentBackAndChangesNothing(t *testing.T) {
	t.Parallel()
	for kind, sample := range samples {
		b := setup(t)
		routed(t, b)
		b.must(t, kind, sample)
		before := b.entry(t, kind, sample)
		b.must(t, kind, body(t, before))
		if after := b.entry(t, kind, sample); body(t, after) != body(t, before) {
			t.Errorf("%s: %s became %s", kind, body(t, before), body(t, after))
		}
	}
}

func wantConflict(t *testing.T, err error, says string) {
	t.Helper()
	e := apierr.Of(err)
	if e.Code != apierr.Conflict || e.Body["reason"] != registry.CodeRevisionConflict || !strings.Contains(e.Message, says) {
		t.Fatalf("err = %v, want a conflict that says %q", err, says)
	}
}

func TestASaveReplacesOnlyTheRevisionThatItNames(t *testing.T) {
	t.Parallel()
	for kind, sample := range samples {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			routed(t, b)
			never := `"` + strings.Repeat("0", 64) + `"`
			wantConflict(t, b.save(t, kind, with(t, sample, "expected_revision", never)), "does not exist")
			b.must(t, kind, with(t, sample, "expected_revision", `""`))
			wantConflict(t, b.save(t, kind, with(t, sample, "expected_revision", `""`)), "exists already")
			first := body(t, b.entry(t, kind, sample)["revision"])
			b.must(t, kind, with(t, with(t, sample, "description", `"one"`), "expected_revision", first))
			changes := len(b.store.Changes())
			wantConflict(t, b.save(t, kind, with(t, with(t, sample, "description", `"two"`), "expected_revision", first)), "has changed")
			if got := b.entry(t, kind, sample); got["description"] != "one" || len(b.store.Changes()) != changes {
				t.Fatalf("a refused save wrote: %v", got)
			}
			b.must(t, kind, with(t, sample, "description", `"two"`))
			b.must(t, kind, with(t, sample, "expected_revision", `null`))
		})
	}
}

func TestTheFormOfAnExpectedRevision(t *testing.T) {
	t.Parallel()
	var rules []rule
	for _, wrong := range []string{`1`, `true`, `"x"`, `"` + strings.Repeat("A", 64) + `"`, `"` + strings.Repeat("a", 63) + `"`, `"` + strings.Repeat("a", 65) + `"`, `{}`} {
		rules = append(rules, rule{"expected_revision", wrong, "expected_revision", "revision that a list showed"})
	}
	checkRules(t, "target", samples["target"], nil, rules)
}

func TestTheBuiltInTargetIsNew(t *testing.T) {
	t.Parallel()
	b := setup(t)
	llm := `{"name":"llm","kind":"inhub","timeout_ms":5000}`
	if r := b.entry(t, "target", llm)["revision"]; r != "" {
		t.Fatalf("revision %v of a target that is not stored", r)
	}
	b.must(t, "target", with(t, llm, "expected_revision", `""`))
	wantConflict(t, b.save(t, "target", with(t, llm, "expected_revision", `""`)), "exists already")
}

func TestWhatTheHubFindsOutIsNoConflict(t *testing.T) {
	t.Parallel()
	b := setup(t)
	far := `{"name":"far","base_url":"https://biz.example","spec_source":"url","spec_url":"https://biz.example/spec","secret":"s"}`
	b.must(t, "provider", far)
	first := body(t, b.entry(t, "provider", far)["revision"])
	v, err := b.store.Providers().Get(t.Context(), "far")
	if err != nil {
		t.Fatal(err)
	}
	v.Value.SpecAccessProbe = &registry.AccessProbe{Status: registry.AccessProtected, At: "t"}
	v.Value.SpecHash, v.Value.CatalogHash, v.Value.SpecRefreshedAt, v.Value.RefreshTriedAt = "h", "c", start, start
	if err := b.store.Providers().Observe(t.Context(), *v, nil); err != nil {
		t.Fatal(err)
	}
	b.must(t, "provider", with(t, far, "expected_revision", first))
	if v, _ := b.store.Providers().Get(t.Context(), "far"); v.Value.SpecHash != "h" {
		t.Fatal("the specification that was read is lost")
	}
}

// 200 rounds: two administrators save what they changed of the revision that both read.
func TestOfTwoSavesOfOneRevisionOneWins(t *testing.T) {
	t.Parallel()
	b := setup(t)
	routed(t, b)
	b.must(t, "route", route)
	stop := make(chan struct{})
	reader := make(chan error, 1)
	go func() { reader <- readWhole(b, stop) }()
	for round := range 200 {
		revision := body(t, b.entry(t, "route", route)["revision"])
		errs := make([]error, 2)
		var wg sync.WaitGroup
		for i := range errs {
			text := fmt.Sprintf(`"%d/%d"`, round, i)
			saved := with(t, with(t, with(t, route, "name", text), "description", text), "expected_revision", revision)
			wg.Go(func() { _, errs[i] = b.SaveRoute(t.Context(), value(t, saved), change) })
		}
		wg.Wait()
		won := 0
		if errs[0] != nil {
			won = 1
		}
		if errs[won] != nil {
			t.Fatalf("round %d: both lost: %v", round, errs)
		}
		wantConflict(t, errs[1-won], "has changed")
		if got, want := b.entry(t, "route", route)["name"], fmt.Sprintf("%d/%d", round, won); got != want {
			t.Fatalf("round %d: %v is stored, want %v", round, got, want)
		}
	}
	close(stop)
	if err := <-reader; err != nil {
		t.Fatal(err)
	}
}

// readWhole reads until stop, and looks for halves of two saves.
func readWhole(b *bundle, stop <-chan struct{}) error {
	for {
		select {
		case <-stop:
			return nil
		default:
		}
		v, err := b.store.Routes().Get(context.Background(), "ref_plain")
		if err != nil {
			return err
		}
		if v.Value.Description != "" && v.Value.Name != v.Value.Description {
			return fmt.Errorf("half a change: %s and %s", v.Value.Name, v.Value.Description)
		}
	}
}
