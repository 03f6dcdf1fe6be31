package admin_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"bailing/functions/admin"
	"bailing/shared/account"
	"bailing/shared/account/accounttest"
	"bailing/shared/capability/compile"
	"bailing/shared/clock"
	"bailing/shared/lambdahttp"
	"bailing/shared/outbound"
	"bailing/shared/provider"
	"bailing/shared/registry"
	"bailing/shared/registry/registrytest"
	"bailing/shared/topology"
)

const serverToken = "server-token-of-24-chars"

var now = time.Date(2026, 11, 30, 15, 52, 48, 906_000_000, time.UTC)

const job = "fde28e3e-23c0-490e-9b51-ea880b1c3c87"

// hub is the admin function behind the router of the topology.
type hub struct {
	http.Handler
	store    *registrytest.Store
	accounts *accounttest.Store
	clock    *clock.Manual // of accounts and sessions
	audit    *audit
	business *business
}

type audit struct {
	asked   string
	records []json.RawMessage
	err     error
}

func (a *audit) JobAudit(_ context.Context, jobID string) ([]json.RawMessage, error) {
	a.asked = jobID
	return a.records, a.err
}

// business answers every outbound request in the same way.
type business struct {
	mu       sync.Mutex
	status   int
	body     string
	header   http.Header
	requests []outbound.Request
}

func (b *business) Do(_ context.Context, r outbound.Request) (*outbound.Response, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.requests = append(b.requests, r)
	return &outbound.Response{Status: b.status, Header: b.header, Body: []byte(b.body)}, nil
}

func setup(t *testing.T, adjust ...func(*admin.Deps)) *hub {
	t.Helper()
	h := &hub{
		store: registrytest.NewStore(), accounts: accounttest.NewStore(), clock: clock.NewManual(now),
		audit: &audit{}, business: &business{status: http.StatusForbidden},
	}
	d := admin.Deps{
		Registry: registry.NewService(registry.Options{
			Store: h.store, Sealer: registrytest.Sealer{}, Compile: compile.Compile, CheckURL: outbound.CheckURL,
			Random: rand.Reader, Clock: clock.NewManual(now),
		}),
		Providers: &provider.Service{
			Store: h.store, HTTP: h.business, Secrets: registrytest.Sealer{}, Compile: compile.Compile, Clock: clock.NewManual(now),
			Logger: slog.New(slog.DiscardHandler), NewID: func() string { return "id" },
		},
		Accounts: account.NewService(account.Options{Store: h.accounts, Random: rand.Reader, Cost: accounttest.Cheap, Clock: h.clock}),
		Tokens:   h.store, Audit: h.audit, ServerToken: serverToken, AgentSessions: noSessions{},
	}
	for _, f := range adjust {
		f(&d)
	}
	fn, ok := topology.System().FunctionNamed("admin")
	if !ok {
		t.Fatal("the topology has no function admin")
	}
	mux, err := lambdahttp.Mux(fn, admin.NewHandler(d).Handlers())
	if err != nil {
		t.Fatal(err)
	}
	h.Handler = mux
	return h
}

// call sends body, or nothing, with the Authorization header auth.
func (h *hub) call(method, path, auth, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if auth != "" {
		r.Header.Set("Authorization", auth)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func (h *hub) admin(method, path, body string) *httptest.ResponseRecorder {
	return h.call(method, path, "Bearer "+serverToken, body)
}

// want checks the status and the body, as JSON, but for the values of the members at the ignored paths.
func want(t *testing.T, w *httptest.ResponseRecorder, status int, body string, ignored ...string) {
	t.Helper()
	if w.Code != status {
		t.Fatalf("status %d, want %d: %s", w.Code, status, w.Body)
	}
	var got, expected any
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	if err := json.Unmarshal([]byte(body), &expected); err != nil {
		t.Fatal(err)
	}
	for _, path := range ignored {
		blank(got, strings.Split(path, "."))
		blank(expected, strings.Split(path, "."))
	}
	if !reflect.DeepEqual(got, expected) {
		t.Fatalf("body %s, want %s", w.Body, body)
	}
	if got := w.Header().Get("Content-Type") + "; " + w.Header().Get("Cache-Control"); got != "application/json; charset=utf-8; no-store" {
		t.Fatalf("headers %q", got)
	}
}

// blank removes what a path leads to.
func blank(v any, path []string) {
	switch v := v.(type) {
	case map[string]any:
		if len(path) == 1 {
			delete(v, path[0])
			return
		}
		blank(v[path[0]], path[1:])
	case []any:
		for _, e := range v {
			blank(e, path[1:])
		}
	}
}

// client saves a client and returns its token.
func (h *hub) client(t *testing.T, body string) string {
	t.Helper()
	w := h.admin("POST", "/admin/api/clients", body)
	var answer struct {
		OK    bool   `json:"ok"`
		AppID string `json:"app_id"`
		Token string `json:"token"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != 200 || !answer.OK || len(answer.Token) != 32 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return answer.Token
}

func TestOnlyTheServerTokenIsTheAdministrator(t *testing.T) {
	t.Parallel()
	h := setup(t)
	live := h.client(t, `{"app_id":"ref-app","name":"a","allowed_routes":["*"]}`)
	dead := h.client(t, `{"app_id":"ref-off","name":"a","allowed_routes":["*"],"enabled":false}`)
	unauthorized := `{"error":"unauthorized"}`
	for _, c := range []struct {
		name, auth string
		status     int
		body       string
	}{
		{"with Bearer", "Bearer " + serverToken, 200, `[]`},
		{"with the scheme in another case", "bEARER " + serverToken, 200, `[]`},
		{"without a scheme", serverToken, 200, `[]`},
		{"no credential", "", 401, unauthorized},
		{"an empty credential", "Bearer ", 401, unauthorized},
		{"a prefix of the server token", "Bearer " + serverToken[:23], 401, unauthorized},
		{"another scheme", "Basic " + serverToken, 401, unauthorized},
		{"an unknown token in the form of a client's", "Bearer 0123456789abcdef0123456789abcdef", 401, unauthorized},
		{"a live client's token", "Bearer " + live, 403, `{"error":"this interface is for administrators only"}`},
		{"a disabled client's token", "Bearer " + dead, 401, unauthorized},
	} {
		t.Run(c.name, func(t *testing.T) {
			want(t, h.call("GET", "/admin/api/routes", c.auth, ""), c.status, c.body)
		})
	}
	t.Run("the query is no place for a token", func(t *testing.T) {
		want(t, h.call("GET", "/admin/api/routes?token="+serverToken, "", ""), 401, unauthorized)
	})
}

func TestEveryRouteAuthenticates(t *testing.T) {
	t.Parallel()
	h := setup(t)
	fn, _ := topology.System().FunctionNamed("admin")
	for _, r := range fn.Routes {
		if r.Auth == topology.Public {
			continue // login and logout
		}
		w := h.call(r.Method, strings.ReplaceAll(r.Path, "{job}", job), "", "{}")
		if w.Code != 401 {
			t.Errorf("%s %s answers %d without a credential", r.Method, r.Path, w.Code)
		}
	}
	if len(h.store.Changes()) > 0 {
		t.Fatal("a call without a credential wrote something")
	}
}

func TestWithoutAServerTokenNobodyIsAdministrator(t *testing.T) {
	t.Parallel()
	h := setup(t, func(d *admin.Deps) { d.ServerToken = "" })
	for _, auth := range []string{"", "Bearer ", "Bearer", " "} {
		want(t, h.call("GET", "/admin/api/routes", auth, ""), 401, `{"error":"unauthorized"}`)
	}
}

func TestAnUnknownPathIsNotFound(t *testing.T) {
	t.Parallel()
	want(t, setup(t).admin("GET", "/admin/api/none", ""), 404, `{"error":"not found"}`)
}

func TestTheKillSwitch(t *testing.T) {
	t.Parallel()
	h := setup(t)
	want(t, h.admin("POST", "/admin/pause", ""), 200, `{"paused":true}`)
	if !h.store.Paused() {
		t.Fatal("not paused")
	}
	want(t, h.admin("POST", "/admin/resume", ""), 200, `{"paused":false}`)
	if h.store.Paused() {
		t.Fatal("still paused")
	}
}

func TestSuccessfulWritesAreAudited(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.admin("POST", "/admin/pause", "")
	h.admin("POST", "/admin/api/targets", `{"name":"ref-exec","kind":"executor"}`)
	h.admin("POST", "/admin/api/targets", `{"name":"R"}`)
	h.admin("GET", "/admin/api/targets", "")
	wanted := []registry.Change{
		{At: now, By: "token", Method: "POST", Path: "pause"},
		{At: now, By: "token", Method: "POST", Path: "targets"},
	}
	if got := h.store.Changes(); !reflect.DeepEqual(got, wanted) {
		t.Fatalf("audit records %+v, want %+v", got, wanted)
	}
}

func TestJobAudit(t *testing.T) {
	t.Parallel()
	h := setup(t)
	want(t, h.admin("GET", "/admin/api/runs/"+job+"/audit", ""), 200, `[]`)
	h.audit.records = []json.RawMessage{json.RawMessage(`{"event":"received"}`), json.RawMessage(`{"event":"finished"}`)}
	want(t, h.admin("GET", "/admin/api/runs/"+strings.ToUpper(job)+"/audit", ""), 200, `[{"event":"received"},{"event":"finished"}]`)
	if h.audit.asked != job {
		t.Fatalf("asked for %s, want it in lower case", h.audit.asked)
	}
	want(t, h.admin("GET", "/admin/api/runs/nope/audit", ""), 404, `{"error":"not found"}`)
}

func TestInternalErrorsDoNotShow(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.audit.err = errors.New("table jobs-internal-name is on fire")
	want(t, h.admin("GET", "/admin/api/runs/"+job+"/audit", ""), 500, `{"error":"internal_error"}`)
}

func TestBodies(t *testing.T) {
	t.Parallel()
	h := setup(t, func(d *admin.Deps) { d.BodyMax = 64 })
	target := `{"name":"ref-exec","kind":"executor"}`
	pad := func(n int) string { return target + strings.Repeat(" ", n-len(target)) }
	want(t, h.admin("POST", "/admin/api/targets", pad(64)), 200, `{"ok":true}`)
	want(t, h.admin("POST", "/admin/api/targets", pad(65)), 413, `{"error":"payload too large","max_bytes":64}`)
	for _, body := range []string{`{`, `{"name":"a","name":"b"}`, "{\"name\":\"\xff\"}", `[]`, `"x"`} {
		if w := h.admin("POST", "/admin/api/targets", body); w.Code != 400 || !strings.Contains(w.Body.String(), `"error":"`) {
			t.Errorf("body %q answers %d %s", body, w.Code, w.Body)
		}
	}
}

func TestSpecificationBodiesHaveTheirOwnCap(t *testing.T) {
	t.Parallel()
	h := setup(t, func(d *admin.Deps) { d.BodyMax = 64 })
	provider := `{"name":"ref-biz","base_url":"https://biz.example","secret":"s"}`
	pad := func(n int) string { return provider + strings.Repeat(" ", n-len(provider)) }
	want(t, h.admin("POST", "/admin/api/tool-providers", pad(4<<20)), 200,
		`{"ok":true,"authz_probe":{"status":"skipped","reason":"the provider has no specification yet","at":"2026-11-30T15:52:48.906Z"}}`)
	w := h.admin("POST", "/admin/api/tool-providers", pad(4<<20+1))
	var body map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || w.Code != 413 || body["error"] != "payload too large" ||
		body["max_bytes"] != float64(4<<20) || !strings.Contains(body["message"].(string), "specification") {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
}

// The bodies and the answers' member names are those of the recorded exchanges of the reference (D36).
func TestConfigurationRoundTrip(t *testing.T) {
	t.Parallel()
	h := setup(t)
	ok := `{"ok":true}`
	want(t, h.admin("POST", "/admin/api/credentials", `{"name":"stub","kind":"chat","base_url":"http://127.0.0.1:19090/v1","api_key":"stub-key","default_model":"stub-model"}`), 200, ok)
	want(t, h.admin("POST", "/admin/api/targets", `{"name":"ref-exec","kind":"executor","timeout_ms":60000}`), 200, ok)
	spec := `{"openapi":"3.1.0","info":{"title":"t","version":"1.0.0"},"paths":{"/items/{item_id}":{"get":{"operationId":"get_item","summary":"Read one item",
		"x-agent-capability":{"version":1,"enabled":true,"scope":"ref.item.read"},
		"parameters":[{"name":"item_id","in":"path","required":true,"description":"id","schema":{"type":"string"}}],"responses":{"200":{"description":"OK"}}}}}}`
	text, _ := json.Marshal(spec)
	want(t, h.admin("POST", "/admin/api/tool-providers", `{"name":"ref-biz","base_url":"http://127.0.0.1:19081","spec_source":"inline","spec_json":`+string(text)+
		`,"secret":"ref-tool-secret-0123456789abcdef","rate_limit_per_min":0,"timeout_ms":5000}`), 200,
		`{"ok":true,"authz_probe":{"status":"skipped","reason":"the specification names no x-bailing-authz-probe and has no GET tool without required parameters","at":"2026-11-30T15:52:48.906Z"}}`)
	want(t, h.admin("POST", "/admin/api/routes", `{"route_key":"ref_plain","name":"Plain","target":"llm","target_config":{"credential":"stub","model":"stub-model"},"session_policy":"new"}`), 200, ok)
	want(t, h.admin("POST", "/admin/api/routes", `{"route_key":"ref_tools","name":"Route ref_tools","target":"llm","target_config":{"credential":"stub","model":"stub-model"},"session_policy":"new",
		"tools":{"sources":[{"provider":"ref-biz","allow":["ref.*"],"subject_field":"operator_uid"}],"max_calls":5,"approval":{"type":"business_webhook","url":"http://127.0.0.1:19081/approvals"}}}`), 200, ok)
	token := h.client(t, `{"app_id":"ref-app","name":"ref-app","allowed_routes":["ref_plain","ref_missing"],"rate_limit_per_min":0}`)

	want(t, h.admin("GET", "/admin/api/credentials", ""), 200,
		`[{"name":"stub","kind":"chat","base_url":"http://127.0.0.1:19090/v1","api_key":"…","default_model":"stub-model","enabled":true}]`, "*.revision")
	want(t, h.admin("GET", "/admin/api/tool-providers", ""), 200,
		`[{"name":"ref-biz","base_url":"http://127.0.0.1:19081","spec_source":"inline","spec_refreshed_at":"2026-11-30T15:52:48.906Z","secret":"ref-t…cdef",
		   "authz_probe":{"status":"skipped","reason":"the specification names no x-bailing-authz-probe and has no GET tool without required parameters","at":"2026-11-30T15:52:48.906Z"},
		   "log_payload":true,"timeout_ms":5000,"rate_limit_per_min":0,"auto_refresh_min":0,"enabled":true,"has_spec":true}]`, "*.revision")
	want(t, h.admin("GET", "/admin/api/routes", ""), 200,
		`[{"route_key":"ref_plain","name":"Plain","enabled":true,"target":"llm","target_config":{"credential":"stub","model":"stub-model"},"profile":"readonly","session_policy":"new"},
		  {"route_key":"ref_tools","name":"Route ref_tools","enabled":true,"target":"llm","target_config":{"credential":"stub","model":"stub-model"},"profile":"readonly","session_policy":"new",
		   "tools":{"sources":[{"provider":"ref-biz","allow":["ref.*"],"subject_field":"operator_uid"}],"max_calls":5,"approval":{"type":"business_webhook","url":"http://127.0.0.1:19081/approvals"}}}]`, "*.revision")
	want(t, h.admin("GET", "/admin/api/clients", ""), 200,
		`[{"app_id":"ref-app","name":"ref-app","token":"`+token[:5]+"…"+token[28:]+`","allowed_routes":["ref_plain","ref_missing"],"allowed_channels":[],"rate_limit_per_min":0,"enabled":true}]`, "*.revision")
	if w := h.admin("GET", "/admin/api/targets", ""); w.Code != 200 ||
		!strings.Contains(w.Body.String(), `{"name":"ref-exec","kind":"executor","stateless":false,"needs_project":false,"timeout_ms":60000,"enabled":true,"revision":"`) {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
}

func TestWarningsAndDiagnosticsStandBesideOK(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.admin("POST", "/admin/api/targets", `{"name":"ref-exec","kind":"executor"}`)
	w := h.admin("POST", "/admin/api/routes", `{"route_key":"Ref.Plain","name":"n","target":"ref-exec","session_policy":"new"}`)
	var route struct {
		OK       bool     `json:"ok"`
		Warnings []string `json:"warnings"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &route); err != nil || w.Code != 200 || !route.OK || len(route.Warnings) != 1 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	w = h.admin("POST", "/admin/api/tool-providers", `{"name":"ref-biz","base_url":"https://biz.example","secret":"s",
		"spec_json":{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"a","x-agent-capability":{"version":1,"enabled":true}}}}}}`)
	var provider struct {
		OK          bool `json:"ok"`
		Diagnostics []struct{ Severity, Path, Code, Message string }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &provider); err != nil || w.Code != 200 || !provider.OK ||
		len(provider.Diagnostics) == 0 || provider.Diagnostics[0].Code != "missing_scope" || provider.Diagnostics[0].Path != "GET /a" {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	w = h.admin("POST", "/admin/api/tool-providers", `{"name":"ref-bad","base_url":"https://biz.example","secret":"s","spec_json":"["}`)
	if w.Code != 400 || !strings.Contains(w.Body.String(), `"diagnostics":[`) || !strings.Contains(w.Body.String(), "invalid_spec") {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
}

func TestNoListShowsASecret(t *testing.T) {
	t.Parallel()
	h := setup(t)
	token := h.client(t, `{"app_id":"ref-app","name":"a","allowed_routes":["*"]}`)
	h.admin("POST", "/admin/api/credentials", `{"name":"stub","base_url":"https://m.example","api_key":"sk-credential-0123456789"}`)
	h.admin("POST", "/admin/api/tool-providers", `{"name":"ref-biz","base_url":"https://biz.example","secret":"provider-secret-0123456789"}`)
	c, err := h.store.Clients().Get(t.Context(), "ref-app")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"targets", "credentials", "tool-providers", "routes", "clients"} {
		w := h.admin("GET", "/admin/api/"+path, "")
		for _, secret := range []string{token, "sk-credential-0123456789", "provider-secret-0123456789", c.Value.SealedToken, c.Value.TokenHash, "sealed", "hash"} {
			if bytes.Contains(w.Body.Bytes(), []byte(secret)) {
				t.Errorf("%s shows %q", path, secret)
			}
		}
	}
}
