package admin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"bailing/functions/admin"
	"bailing/shared/capability"
	"bailing/shared/clock"
	"bailing/shared/registry"
)

// config is a configuration that is ready, for tests to break.
type config struct {
	targets     []registry.Target
	credentials []registry.Credential
	providers   []registry.Provider
	routes      []registry.Route
	clients     []registry.Client
	tools       map[string][]capability.Tool       // of providers, by name
	left        map[string][]capability.Diagnostic // of their specifications
	events      map[string][]json.RawMessage
	paused      bool
}

func ready() *config {
	return &config{
		credentials: []registry.Credential{{Name: "main", Kind: "chat", DefaultModel: "m", Enabled: true}},
		providers: []registry.Provider{
			{Name: "shop", Enabled: true, SpecSource: registry.SpecURLSource, SpecAccessPolicy: registry.SignedRequired},
			{Name: "depot", Enabled: true, SpecSource: registry.SpecInline},
		},
		tools: map[string][]capability.Tool{
			"shop":  {{Name: "order_get", Scope: "orders.read"}, {Name: "ship", Scope: "orders.write"}},
			"depot": {{Name: "stock_get", Scope: "stock.read"}},
		},
		routes: []registry.Route{{
			RouteKey: "orders", Enabled: true, Target: registry.TargetLLM, TargetConfig: json.RawMessage(`{"credential":"main"}`),
			Tools: &registry.RouteTools{Sources: []registry.ToolSource{{Provider: "shop", Allow: []string{"orders.*"}}, {Provider: "depot", Allow: []string{"*"}}}},
		}},
		clients: []registry.Client{{AppID: "crm", Enabled: true, AllowedRoutes: []string{"orders"}}},
		left:    map[string][]capability.Diagnostic{}, events: map[string][]json.RawMessage{},
	}
}

// hub stores the configuration in a hub.
func (c *config) hub(t *testing.T) *hub {
	t.Helper()
	r := &runs{paused: c.paused}
	h := setup(t, func(d *admin.Deps) {
		d.Runs, d.Ledger, d.Config, d.Clock = r, &ledger{events: c.events}, d.Tokens.(registry.Store), clock.NewManual(now)
	})
	put := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	for _, v := range c.targets {
		put(h.store.Targets().Put(ctx, v.Name, registry.Versioned[registry.Target]{Value: v}, registry.Change{}))
	}
	for _, v := range c.credentials {
		put(h.store.Credentials().Put(ctx, v.Name, registry.Versioned[registry.Credential]{Value: v}, registry.Change{}))
	}
	for _, v := range c.providers {
		if tools, ok := c.tools[v.Name]; ok {
			b, err := json.Marshal(capability.Catalog{Tools: tools, Diagnostics: c.left[v.Name]})
			put(err)
			v.CatalogHash, err = h.store.PutValue(ctx, b)
			put(err)
		}
		put(h.store.Providers().Put(ctx, v.Name, registry.Versioned[registry.Provider]{Value: v}, registry.Change{}))
	}
	for _, v := range c.routes {
		put(h.store.Routes().Put(ctx, v.RouteKey, registry.Versioned[registry.Route]{Value: v}, registry.Change{}))
	}
	for i, v := range c.clients {
		v.TokenHash = fmt.Sprint(i)
		put(h.store.Clients().Put(ctx, registry.Versioned[registry.Client]{Value: v}, "", registry.Change{}))
	}
	return h
}

type finding struct{ Severity, Kind, Name, Code, Message, Suggestion string }

func (c *config) diagnose(t *testing.T) []finding {
	t.Helper()
	w := c.hub(t).admin("GET", "/admin/api/config-diagnostics", "")
	var out []finding
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != 200 {
		t.Fatalf("%d, %v: %s", w.Code, err, w.Body)
	}
	for _, f := range out {
		if f.Message == "" || f.Suggestion == "" {
			t.Errorf("%+v does not say what to do", f)
		}
	}
	return out
}

func TestWhatIsReadyHasNoFindings(t *testing.T) {
	t.Parallel()
	want(t, ready().hub(t).admin("GET", "/admin/api/config-diagnostics", ""), 200, `[]`)
}

func refreshes(events ...string) []json.RawMessage {
	var out []json.RawMessage
	for _, e := range events {
		out = append(out, json.RawMessage(`{"event":"`+e+`","summary":"status 500 for jo@shop.example"}`))
	}
	return out
}

func probed(status registry.AccessStatus) *registry.AccessProbe {
	return &registry.AccessProbe{Status: status, Reason: "status 503"}
}

func authz(status registry.AuthzStatus) *registry.AuthzProbe {
	return &registry.AuthzProbe{Status: status, Reason: "status 503"}
}

// Each case breaks one thing; what is found is "severity kind/name code: part of the message".
func TestEachFindingNamesItsRule(t *testing.T) {
	t.Parallel()
	executor := registry.Target{Name: "robot", Kind: registry.Executor, Enabled: true}
	for rule, c := range map[string]struct {
		breaks func(*config)
		want   []string
	}{
		"hub_paused": {func(c *config) { c.paused = true }, []string{"warning system/hub hub_paused: paused"}},
		"no_routes and no_clients": {func(c *config) { c.routes, c.clients = nil, nil }, []string{
			"info system/hub no_clients: no client", "info system/hub no_routes: no route"}},
		"default_target_disabled": {func(c *config) {
			c.targets = []registry.Target{{Name: "llm", Kind: registry.InHub}, executor}
			c.routes[0].Enabled, c.clients[0].AllowedRoutes = false, []string{"*"}
		}, []string{"warning target/llm default_target_disabled: disabled"}},
		"target_missing": {func(c *config) { c.routes[0].Target = "none" }, []string{"error route/orders target_missing: none"}},
		"target_disabled": {func(c *config) {
			c.targets = []registry.Target{{Name: "robot", Kind: registry.Executor}}
			c.routes[0].Target = "robot"
		},
			[]string{"error route/orders target_disabled: robot"}},
		"target_without_executor": {func(c *config) { c.targets = []registry.Target{executor}; c.routes[0].Target = "robot" },
			[]string{"warning route/orders target_without_executor: robot"}},
		"target_config_unreadable": {func(c *config) { c.routes[0].TargetConfig = json.RawMessage(`[]`) }, []string{"error route/orders target_config_unreadable: target_config"}},
		"credential_missing":       {func(c *config) { c.credentials = nil }, []string{"error route/orders credential_missing: main"}},
		"credential_disabled":      {func(c *config) { c.credentials[0].Enabled = false }, []string{"error route/orders credential_disabled: main"}},
		"credential_kind":          {func(c *config) { c.credentials[0].Kind = "embedding" }, []string{"warning route/orders credential_kind: embeddings"}},
		"model_missing":            {func(c *config) { c.credentials[0].DefaultModel = "" }, []string{"error route/orders model_missing: names a model"}},
		"a model of the route is enough": {func(c *config) {
			c.credentials[0].DefaultModel, c.routes[0].TargetConfig = "", json.RawMessage(`{"credential":"main","model":"m"}`)
		}, nil},
		"provider_missing":  {func(c *config) { c.providers = c.providers[:1] }, []string{"error route/orders provider_missing: depot"}},
		"provider_disabled": {func(c *config) { c.providers[1].Enabled = false }, []string{"warning route/orders provider_disabled: depot"}},
		"spec_missing":      {func(c *config) { delete(c.tools, "depot") }, []string{"error provider/depot spec_missing: no specification"}},
		"no_tools": {func(c *config) { c.tools["depot"] = nil }, []string{
			"warning provider/depot no_tools: no tools", "warning route/orders source_without_tools: depot"}},
		"source_without_tools": {func(c *config) { c.routes[0].Tools.Sources[1].Allow = []string{"none.*"} }, []string{"warning route/orders source_without_tools: depot"}},
		"tool_name_clash":      {func(c *config) { c.tools["depot"][0].Name = "ship" }, []string{"error route/orders tool_name_clash: ship (shop, depot)"}},
		"no clash of what is not allowed": {func(c *config) {
			c.tools["depot"][0].Name, c.routes[0].Tools.Sources[0].Allow = "ship", []string{"orders.read"}
		}, nil},
		"tool_name_reserved": {func(c *config) { c.tools["depot"][0].Name = "find_tools" }, []string{"warning route/orders tool_name_reserved: find_tools"}},
		"tools_left_out": {func(c *config) {
			c.left["depot"] = []capability.Diagnostic{
				{Severity: capability.SeverityWarning, Path: "GET /w", Message: "w"}, {Severity: capability.SeverityError, Path: "GET /a", Message: "bad a"},
				{Severity: capability.SeverityError, Path: "GET /b", Message: "bad b"}}
		}, []string{"warning provider/depot tools_left_out: 2 operations did not become tools, the first is GET /a: bad a"}},
		"spec_refresh_failing": {func(c *config) {
			c.events["shop"] = refreshes("tool_debug_invoke", "spec_refresh_failed", "spec_refreshed")
		},
			[]string{"error provider/shop spec_refresh_failing: status 500 for [REDACTED_EMAIL]"}},
		"a refresh that works again":               {func(c *config) { c.events["shop"] = refreshes("spec_refreshed", "spec_refresh_failed") }, nil},
		"an inline specification is not refreshed": {func(c *config) { c.events["depot"] = refreshes("spec_refresh_failed") }, nil},
		"spec_public": {func(c *config) { c.providers[0].SpecAccessProbe = probed(registry.AccessPublic) }, []string{"error provider/shop spec_public: without a valid signature"}},
		"a public one that may be so": {func(c *config) {
			c.providers[0].SpecAccessProbe, c.providers[0].SpecAccessPolicy = probed(registry.AccessPublic), registry.PublicAllowed
		}, nil},
		"spec_access_inconclusive": {func(c *config) { c.providers[0].SpecAccessProbe = probed(registry.AccessInconclusive) }, []string{"warning provider/shop spec_access_inconclusive: status 503"}},
		"authz_suspect":            {func(c *config) { c.providers[0].AuthzProbe = authz(registry.AuthzSuspect) }, []string{"error provider/shop authz_suspect: without rights"}},
		"authz_inconclusive":       {func(c *config) { c.providers[0].AuthzProbe = authz(registry.AuthzInconclusive) }, []string{"info provider/shop authz_inconclusive: status 503"}},
		"authz that is fine": {func(c *config) {
			c.providers[0].AuthzProbe, c.providers[1].AuthzProbe = authz(registry.AuthzPass), authz(registry.AuthzSkipped)
		}, nil},
		"allowed_route_missing": {func(c *config) { c.clients[0].AllowedRoutes = []string{"orders", "z", "a"} }, []string{"warning client/crm allowed_route_missing: a, z"}},
		"client_without_routes": {func(c *config) { c.clients[0].AllowedRoutes = []string{"none"} }, []string{
			"error client/crm client_without_routes: none of its 1", "warning client/crm allowed_route_missing: none"}},
		"allowed_route_disabled": {func(c *config) { c.routes[0].Enabled = false }, []string{
			"error client/crm client_without_routes: none of its 1", "info client/crm allowed_route_disabled: orders"}},
		"disabled objects are nobody's concern": {func(c *config) {
			c.routes[0].Enabled, c.clients[0].Enabled, c.providers[0].Enabled, c.credentials = false, false, false, nil
			c.providers[0].AuthzProbe = authz(registry.AuthzSuspect)
		}, nil},
		"a client of every route": {func(c *config) { c.clients[0].AllowedRoutes = []string{"*"} }, nil},
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			cfg := ready()
			c.breaks(cfg)
			found := cfg.diagnose(t)
			if len(found) != len(c.want) {
				t.Fatalf("found %+v, want %q", found, c.want)
			}
			for i, f := range found {
				head, part, _ := strings.Cut(c.want[i], ": ")
				if got := f.Severity + " " + f.Kind + "/" + f.Name + " " + f.Code; got != head || !strings.Contains(f.Message, part) {
					t.Errorf("found %+v, want %q", f, c.want[i])
				}
			}
		})
	}
}

// An unreadable catalogue is a finding, and hides no other.
func TestACatalogueThatCannotBeReadIsAFinding(t *testing.T) {
	t.Parallel()
	c := ready()
	delete(c.tools, "depot")
	c.providers[1].CatalogHash = strings.Repeat("0", 64)
	found := c.diagnose(t)
	if len(found) != 1 || found[0].Code != "catalog_unreadable" || found[0].Name != "depot" {
		t.Errorf("%+v", found)
	}
}

func TestFindingsAreOrderedAndBounded(t *testing.T) {
	t.Parallel()
	for n, truncated := range map[int]bool{500: false, 501: true} {
		c := ready()
		c.paused = true
		for i := range n - 1 {
			c.routes = append(c.routes, registry.Route{RouteKey: fmt.Sprintf("r%03d", n-i), Enabled: true, Target: "none"})
		}
		found := c.diagnose(t)
		last := found[len(found)-1]
		if truncated {
			if len(found) != 501 || last.Code != "truncated" || !strings.HasPrefix(last.Message, "1 further") {
				t.Errorf("%d findings, the last %+v", len(found), last)
			}
			found = found[:500]
		} else if len(found) != 500 || last.Code != "hub_paused" {
			t.Errorf("%d findings, the last %+v", len(found), last)
		}
		for i := 1; i < 499; i++ {
			if found[i-1].Name >= found[i].Name {
				t.Fatalf("%s before %s", found[i-1].Name, found[i].Name)
			}
		}
	}
}

func TestCataloguesOfABoundedNumberOfProvidersAreRead(t *testing.T) {
	t.Parallel()
	for n, unchecked := range map[int]bool{50: false, 51: true} {
		c := ready()
		for i := range n - 2 {
			name := fmt.Sprintf("a%02d", i)
			c.providers = append(c.providers, registry.Provider{Name: name, Enabled: true, SpecSource: registry.SpecInline})
			c.tools[name] = []capability.Tool{{Name: "t"}}
		}
		found := c.diagnose(t)
		if (len(found) == 1 && found[0].Code == "not_checked" && strings.Contains(found[0].Message, "1 tool providers")) != unchecked || !unchecked && len(found) != 0 {
			t.Errorf("%d providers: %+v", n, found)
		}
	}
}

// ending is a context whose deadline is on the hub's clock.
type ending struct {
	context.Context
	at time.Time
}

func (e ending) Deadline() (time.Time, bool) { return e.at, true }

func TestADiagnosisEndsWithTheInvocation(t *testing.T) {
	t.Parallel()
	for left, unchecked := range map[time.Duration]bool{10 * time.Second: false, 10*time.Second - time.Millisecond: true} {
		r := httptest.NewRequest("GET", "/admin/api/config-diagnostics", nil)
		r.Header.Set("Authorization", "Bearer "+serverToken)
		w := httptest.NewRecorder()
		ready().hub(t).ServeHTTP(w, r.WithContext(ending{t.Context(), now.Add(left)}))
		if w.Code != 200 || strings.Contains(w.Body.String(), `"code":"not_checked"`) != unchecked {
			t.Errorf("%s left: %d %s", left, w.Code, w.Body)
		}
	}
}

// What fails to be read fails the answer, without its reason.
func TestADiagnosisThatCannotBeMadeIsAnError(t *testing.T) {
	t.Parallel()
	r := &runs{err: context.DeadlineExceeded}
	h := setup(t, func(d *admin.Deps) { d.Runs, d.Ledger, d.Config = r, &ledger{}, d.Tokens.(registry.Store) })
	if w := h.admin("GET", "/admin/api/config-diagnostics", ""); w.Code < 500 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
