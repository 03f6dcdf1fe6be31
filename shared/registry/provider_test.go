package registry_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"bailing/shared/apierr"
	"bailing/shared/capability"
	"bailing/shared/registry"
	"bailing/shared/registry/registrytest"
)

const provider = `{"name":"ref-biz","base_url":"http://127.0.0.1:19081","secret":"ref-tool-secret-abcdef"}`

// spec is a document with one readable operation that is called name, and one without a scope, which does not compile.
func spec(name string) string {
	return `{"openapi":"3.1.0","info":{"title":"t","version":"1"},"paths":{
		"/items":{"get":{"operationId":"` + name + `","summary":"s","x-agent-capability":{"version":1,"enabled":true,"scope":"ref.item.read"}}},
		"/bad":{"get":{"operationId":"bad","summary":"s","x-agent-capability":{"version":1,"enabled":true}}}}}`
}

func quote(t *testing.T, s string) string {
	t.Helper()
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestProviderRules(t *testing.T) {
	t.Parallel()
	checkRules(t, "provider", provider, nil, []rule{
		{"name", "", "name", "required"},
		{"name", name(65), "name", "2 to 64"},
		{"base_url", "", "base_url", "required"},
		{"base_url", `"/relative"`, "base_url", "absolute"},
		{"base_url", url(2049), "base_url", "too long"},
		{"spec_source", `"inline"`, "", ""},
		{"spec_source", `"url"`, "spec_url", "required"},
		{"spec_source", `"git"`, "spec_source", "one of"},
		{"spec_url", `"https://biz.example/spec"`, "spec_url", "needs spec_source url"},
		{"spec_url", `""`, "", ""},
		{"spec_access_policy", `"signed_required"`, "spec_access_policy", "needs spec_source url"},
		{"spec_access_policy", `""`, "", ""},
		{"spec_json", `""`, "", ""},
		{"spec_json", `5`, "spec_json", "text"},
		{"spec_json", `"{"`, "spec_json", "cannot be used"},
		{"spec_json", `"[]"`, "spec_json", "cannot be used"},
		{"secret", "", "secret", "required"},
		{"secret", name(4096), "", ""},
		{"secret", name(4097), "secret", "4096"},
		{"log_payload", `"no"`, "log_payload", "true or false"},
		{"description", name(10_000), "", ""},
		{"description", name(10_001), "description", "10000"},
		{"timeout_ms", `"5"`, "timeout_ms", "whole number"},
		{"rate_limit_per_min", `0`, "", ""},
		{"rate_limit_per_min", `-1`, "rate_limit_per_min", "from 0"},
		{"auto_refresh_min", `0`, "", ""},
		{"auto_refresh_min", `-5`, "", ""},
		{"auto_refresh_min", `1`, "auto_refresh_min", "needs spec_source url"},
		{"embed_credential", `"c"`, "embed_credential", "not supported"},
		{"embed_model", `"m"`, "embed_model", "not supported"},
		{"embed_dim", `3`, "embed_dim", "not supported"},
		{"has_spec", `true`, "", ""},
		{"authz_probe", `{"status":"pass"}`, "", ""},
		{"mode", `"x"`, "mode", "not a known member"},
	})
}

func TestURLProviderRules(t *testing.T) {
	t.Parallel()
	base := with(t, with(t, provider, "spec_source", `"url"`), "spec_url", `"https://biz.example/spec?v=1"`)
	checkRules(t, "provider", base, nil, []rule{
		{"spec_url", `null`, "spec_url", "required"},
		{"spec_url", `"/spec"`, "spec_url", "absolute"},
		{"spec_url", `"ftp://biz.example/spec"`, "spec_url", "scheme"},
		{"spec_url", `"https://u:p@biz.example/spec"`, "spec_url", "user name"},
		{"spec_url", url(2048), "", ""},
		{"spec_url", url(2049), "spec_url", "too long"},
		{"spec_access_policy", `"public_allowed"`, "", ""},
		{"spec_access_policy", `"signed_required"`, "", ""},
		{"spec_access_policy", `"legacy_unverified"`, "spec_access_policy", "must be signed_required or public_allowed"},
		{"spec_access_policy", `5`, "spec_access_policy", "string"},
		{"spec_json", `""`, "", ""},
		{"spec_json", quote(t, spec("get_item")), "spec_json", "must be left out"},
		{"spec_access_probe", `{"status":"protected"}`, "", ""},
		{"auto_refresh_min", `1440`, "", ""},
	})
	for raw, want := range map[string]int{"0": 0, "-1": 0, "1": 1, "1440": 1440, "1441": 1440, "1e300": 1440} {
		b := setup(t)
		b.must(t, "provider", with(t, base, "auto_refresh_min", raw))
		if got := b.provider(t, "ref-biz").AutoRefreshMin; got != want {
			t.Errorf("auto_refresh_min %s is stored as %d, want %d", raw, got, want)
		}
	}
}

// The default protects; a choice that was made is not undone by leaving the member out.
func TestAccessPolicyIsKeptUnlessNamed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	source := func(policy string) string {
		body := with(t, with(t, provider, "spec_source", `"url"`), "spec_url", `"https://biz.example/spec"`)
		return with(t, body, "spec_access_policy", policy)
	}
	for _, step := range []struct{ policy, want string }{
		{"null", "signed_required"}, {`"public_allowed"`, "public_allowed"}, {"null", "public_allowed"}, {`"signed_required"`, "signed_required"},
	} {
		b.must(t, "provider", source(step.policy))
		if got := b.provider(t, "ref-biz").SpecAccessPolicy; string(got) != step.want {
			t.Fatalf("after %s: %q, want %q", step.policy, got, step.want)
		}
	}
	b.must(t, "provider", source(`"public_allowed"`))
	b.must(t, "provider", provider)
	if got := b.provider(t, "ref-biz").SpecAccessPolicy; got != "" {
		t.Fatalf("an inline provider has policy %q", got)
	}
	b.must(t, "provider", source("null"))
	if got := b.provider(t, "ref-biz").SpecAccessPolicy; got != registry.SignedRequired {
		t.Fatalf("a new URL source has policy %q", got)
	}
}

func TestProviderTimeoutIsClamped(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]int{
		"": 10000, "999": 1000, "1000": 1000, "60000": 60000, "60001": 60000, "-7": 1000, "1e300": 60000,
	} {
		b := setup(t)
		b.must(t, "provider", with(t, provider, "timeout_ms", raw))
		if got := b.provider(t, "ref-biz").TimeoutMS; got != want {
			t.Errorf("timeout_ms %s is stored as %d, want %d", raw, got, want)
		}
	}
}

func (b *bundle) provider(t *testing.T, name string) registry.Provider {
	t.Helper()
	v, err := b.store.Providers().Get(t.Context(), name)
	if err != nil || v == nil {
		t.Fatalf("provider %s: %v, %v", name, v, err)
	}
	return v.Value
}

func (b *bundle) catalog(t *testing.T, p registry.Provider) capability.Catalog {
	t.Helper()
	var c capability.Catalog
	raw, err := b.store.GetValue(t.Context(), p.CatalogHash)
	if err == nil {
		err = json.Unmarshal(raw, &c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestASpecificationIsCompiledAndStored(t *testing.T) {
	t.Parallel()
	yaml := "openapi: 3.1.0\ninfo: {title: t, version: '1'}\npaths:\n  /items:\n    get:\n      operationId: get_item\n      summary: s\n" +
		"      x-agent-capability: {version: 1, enabled: true, scope: ref.item.read}\n"
	for form, raw := range map[string]string{
		"JSON text": quote(t, spec("get_item")), "YAML text": quote(t, yaml), "an object": spec("get_item"),
	} {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.must(t, "provider", with(t, provider, "spec_json", raw))
			p := b.provider(t, "ref-biz")
			if c := b.catalog(t, p); len(c.Tools) != 1 || c.Tools[0].Name != "get_item" {
				t.Fatalf("tools %+v", c.Tools)
			}
			text, err := b.store.GetValue(t.Context(), p.SpecHash)
			if err != nil || !strings.Contains(string(text), "get_item") {
				t.Fatalf("specification %q, %v", text, err)
			}
			if !p.SpecRefreshedAt.Equal(start) {
				t.Fatalf("refreshed at %s, want %s", p.SpecRefreshedAt, start)
			}
		})
	}
}

func TestOneBadOperationIsReportedAndDoesNotBlock(t *testing.T) {
	t.Parallel()
	b := setup(t)
	saved, err := b.SaveProvider(t.Context(), value(t, with(t, provider, "spec_json", spec("get_item"))), change)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, d := range saved.Diagnostics {
		found = found || d.Code == "missing_scope" && d.Severity == capability.SeverityError && d.Path == "GET /bad"
	}
	if !found || saved.Total != len(saved.Diagnostics) {
		t.Fatalf("diagnostics %+v of %d, want missing_scope of GET /bad", saved.Diagnostics, saved.Total)
	}
}

func TestDiagnosticsOfOneAnswerAreBounded(t *testing.T) {
	t.Parallel()
	paths := make([]string, 0, registry.MaxDiagnostics+1)
	for i := range registry.MaxDiagnostics {
		paths = append(paths, fmt.Sprintf(`"/warn%d":{"get":{"operationId":"w%d","x-agent-capability":{"version":1,"enabled":true,"scope":"a.b"}}}`, i, i))
	}
	paths = append(paths, `"/bad":{"get":{"operationId":"bad","summary":"s","x-agent-capability":{"version":1,"enabled":true}}}`)
	b := setup(t)
	saved, err := b.SaveProvider(t.Context(), value(t, with(t, provider, "spec_json", `{"openapi":"3.1.0","paths":{`+strings.Join(paths, ",")+`}}`)), change)
	if err != nil {
		t.Fatal(err)
	}
	if saved.Total != registry.MaxDiagnostics+1 || len(saved.Diagnostics) != registry.MaxDiagnostics {
		t.Fatalf("%d of %d diagnostics", len(saved.Diagnostics), saved.Total)
	}
	if saved.Diagnostics[0].Code != "missing_scope" {
		t.Fatalf("first is %+v, want the error before the warnings", saved.Diagnostics[0])
	}
}

func TestAnUnreadableSpecificationIsRefusedWithDiagnostics(t *testing.T) {
	t.Parallel()
	b := setup(t)
	err := b.save(t, "provider", with(t, provider, "spec_json", `"["`))
	wantInvalid(t, err, "spec_json", "cannot be used")
	ds, _ := apierr.Of(err).Body["diagnostics"].([]capability.Diagnostic)
	if len(ds) != 1 || ds[0].Code != "invalid_spec" || ds[0].Path != "-" {
		t.Fatalf("diagnostics %+v", ds)
	}
	if got, _ := b.store.Providers().Get(t.Context(), "ref-biz"); got != nil {
		t.Fatal("the provider was stored")
	}
}

func TestASpecificationHasASizeLimit(t *testing.T) {
	t.Parallel()
	pad := func(n int) string { // a document of exactly n bytes
		head, tail := `{"openapi":"3.1.0","paths":{},"x-pad":"`, `"}`
		return head + strings.Repeat("x", n-len(head)-len(tail)) + tail
	}
	b := setup(t)
	b.must(t, "provider", with(t, provider, "spec_json", quote(t, pad(registry.MaxInlineSpecBytes))))
	err := b.save(t, "provider", with(t, provider, "spec_json", quote(t, pad(registry.MaxInlineSpecBytes+1))))
	if apierr.CodeOf(err) != apierr.PayloadTooLarge || apierr.Of(err).Body["max_bytes"] != registry.MaxInlineSpecBytes {
		t.Fatalf("err = %v, want payload too large with max_bytes", err)
	}
}

func TestAProviderKeepsItsSecretAndSpecification(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.must(t, "provider", with(t, provider, "spec_json", spec("get_item")))
	before := b.provider(t, "ref-biz")
	b.clock.Advance(time.Hour)
	b.must(t, "provider", `{"name":"ref-biz","base_url":"https://biz.example///","enabled":false,"spec_json":"","secret":"ref-t…cdef"}`)
	after := b.provider(t, "ref-biz")
	if after.Secret != before.Secret || after.SpecHash != before.SpecHash || after.CatalogHash != before.CatalogHash ||
		!after.SpecRefreshedAt.Equal(before.SpecRefreshedAt) {
		t.Fatalf("after %+v, before %+v", after, before)
	}
	if after.BaseURL != "https://biz.example" || after.Enabled {
		t.Fatalf("the other members were not replaced: %+v", after)
	}
	secret, err := registrytest.Sealer{}.Open(t.Context(), after.Secret, registry.ProviderSecretContext("ref-biz"))
	if err != nil || string(secret) != "ref-tool-secret-abcdef" {
		t.Fatalf("secret %q, %v", secret, err)
	}
}

func TestSpecRefreshedAtFollowsTheText(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.must(t, "provider", with(t, provider, "spec_json", spec("get_item")))
	b.clock.Advance(time.Hour)
	b.must(t, "provider", with(t, provider, "spec_json", spec("get_item")))
	if got := b.provider(t, "ref-biz").SpecRefreshedAt; !got.Equal(start) {
		t.Fatalf("the same text moved spec_refreshed_at to %s", got)
	}
	b.must(t, "provider", with(t, provider, "spec_json", spec("get_thing")))
	if got := b.provider(t, "ref-biz").SpecRefreshedAt; !got.Equal(start.Add(time.Hour)) {
		t.Fatalf("a new text left spec_refreshed_at at %s", got)
	}
}

func TestProvidersAreListedWithTheirSecretMasked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.must(t, "provider", with(t, with(t, with(t, provider, "spec_json", spec("get_item")), "timeout_ms", "5000"), "rate_limit_per_min", "0"))
	b.must(t, "provider", `{"name":"empty","base_url":"https://biz.example/prefix","secret":"short","log_payload":false,"description":"d"}`)
	b.must(t, "provider", `{"name":"far","base_url":"https://biz.example","secret":"short","spec_source":"url","spec_url":"https://biz.example/spec","auto_refresh_min":5}`)
	v, err := b.store.Providers().Get(t.Context(), "far")
	if err != nil {
		t.Fatal(err)
	}
	yes := true
	v.Value.SpecAccessProbe = &registry.AccessProbe{Status: registry.AccessProtected, SignedHTTP: 200, UnsignedHTTP: 401, InvalidHTTP: 403, At: "t"}
	v.Value.AuthzProbe = &registry.AuthzProbe{Status: registry.AuthzPass, HTTP: 401, Mode: "dedicated", Tool: "authz_probe", RequiresSubject: &yes, Reason: "r", At: "t"}
	if err := b.store.Providers().Observe(t.Context(), *v, nil); err != nil {
		t.Fatal(err)
	}
	list, err := b.ListProviders(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wantJSON(t, unrevised(t, list), `[
		{"name":"empty","base_url":"https://biz.example/prefix","spec_source":"inline","secret":"…","log_payload":false,"timeout_ms":10000,
		 "rate_limit_per_min":120,"auto_refresh_min":0,"enabled":true,"description":"d","has_spec":false},
		{"name":"far","base_url":"https://biz.example","spec_source":"url","spec_access_policy":"signed_required","spec_url":"https://biz.example/spec",
		 "spec_access_probe":{"status":"protected","signed_http":200,"unsigned_http":401,"invalid_http":403,"at":"t"},
		 "authz_probe":{"status":"pass","http":401,"mode":"dedicated","tool":"authz_probe","requires_subject":true,"reason":"r","at":"t"},
		 "secret":"…","log_payload":true,"timeout_ms":10000,"rate_limit_per_min":120,"auto_refresh_min":5,"enabled":true,"has_spec":false},
		{"name":"ref-biz","base_url":"http://127.0.0.1:19081","spec_source":"inline","spec_refreshed_at":"2026-11-30T15:52:48.906Z","secret":"ref-t…cdef",
		 "log_payload":true,"timeout_ms":5000,"rate_limit_per_min":0,"auto_refresh_min":0,"enabled":true,"has_spec":true}]`)
}

// A list entry that is sent back under another name carries the mask, which nobody knows the business by.
func TestAMaskIsNoSecret(t *testing.T) {
	t.Parallel()
	b := setup(t)
	wantInvalid(t, b.save(t, "provider", with(t, provider, "secret", `"ref-t…cdef"`)), "secret", "masked form")
	b.must(t, "provider", provider)
	before := b.provider(t, "ref-biz")
	b.must(t, "provider", with(t, provider, "secret", `"ref-tool-secret-abcdef"`))
	if after := b.provider(t, "ref-biz"); after.Secret != before.Secret {
		t.Error("the same secret was sealed again")
	}
	b.must(t, "provider", with(t, provider, "secret", `"ref-tXtool-secret-cdef"`)) // the same mask
	if after := b.provider(t, "ref-biz"); after.Secret == before.Secret {
		t.Error("another secret with the same mask was not taken")
	}
}
