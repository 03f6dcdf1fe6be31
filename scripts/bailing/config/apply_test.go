package config

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// exported is what stub's hub exports.
func exported(t *testing.T) string {
	t.Helper()
	_, s := stub(t)
	s.Want(0, "", "export")
	return s.Stdout.String()
}

func TestWhatIsExportedIsAppliedWithNothingToDo(t *testing.T) {
	t.Parallel()
	h, s := stub(t)
	s.Want(0, "", "export")
	s.Golden("export.yaml")
	s.Want(0, "5 the same", "apply -f "+file(t, s.Stdout.String()))
	s.Want(0, "", "export --json")
	s.Golden("export.json")
	s.Want(0, "5 the same", "apply -f "+file(t, s.Stdout.String()))
	s.Pipe(exported(t))
	s.Want(0, "5 the same", "apply -f -")
	wantWrites(t, h)
}

const changed = `version: 1
targets:
  - {name: warehouse, kind: executor, timeout_ms: 60000}
credentials:
  - name: models
    base_url: https://models.example/v1/
    default_model: large
    api_key: {env: MODEL_KEY}
tool-providers:
  - name: shop
    base_url: https://shop.example
    spec_source: url
    spec_url: https://shop.example/tools.json
    secret: {env: SHOP_SECRET}
    timeout_ms: 20000
routes:
  - route_key: orders
    name: Orders
    target: llm
    target_config: {credential: models}
    session_policy: per_key
    session_key_field: customer
    tools:
      sources: [{provider: shop, allow: ["orders.read", "orders.note"]}]
      max_calls: 8
    retry: {max: 2}
clients:
  - {app_id: crm, name: CRM, allowed_routes: [orders], description: null}
  - {app_id: till, name: Till, allowed_routes: ["*"]}
`

func TestADryRunShowsWhatIsDifferentAndChangesNothing(t *testing.T) {
	t.Parallel()
	h, s := stub(t)
	s.Vars["MODEL_KEY"], s.Vars["SHOP_SECRET"] = "key-of-another-model-0001", "secret-of-the-shop-06789"
	name := file(t, changed)
	s.Want(1, "2 to create, 3 to change, 1 the same", "apply --dry-run -f "+name)
	s.Golden("plan.txt")
	s.Want(1, "", "apply --dry-run --json -f "+name)
	s.Golden("plan.json")
	s.Want(1, "1 to delete", "apply --dry-run --prune -f "+name)
	wantWrites(t, h)
	for _, secret := range []string{"another-model", "of-the-shop"} {
		if strings.Contains(s.Stdout.String()+s.Stderr.String(), secret) {
			t.Errorf("%s is shown", secret)
		}
	}
}

func TestWritesGoInTheOrderOfDependenciesAndExpectWhatWasCompared(t *testing.T) {
	t.Parallel()
	h, s := stub(t)
	s.Vars["MODEL_KEY"], s.Vars["SHOP_SECRET"] = "key-of-another-model-0001", "another-secret-of-the-shop"
	s.Want(0, "2 created, 3 changed, 1 the same", "apply -f "+file(t, changed))
	wantWrites(t, h, "POST /admin/api/targets", "POST /admin/api/credentials", "POST /admin/api/tool-providers",
		"POST /admin/api/tool-providers/shop/refresh", "POST /admin/api/routes", "POST /admin/api/clients")
	for call, want := range map[string]map[string]any{
		"POST /admin/api/targets":        {"expected_revision": "", "name": "warehouse", "timeout_ms": 60000.0, "stateless": false},
		"POST /admin/api/credentials":    {"expected_revision": "c1", "api_key": "key-of-another-model-0001", "kind": "chat", "base_url": "https://models.example/v1"},
		"POST /admin/api/tool-providers": {"expected_revision": "p1", "secret": "another-secret-of-the-shop", "spec_access_policy": "signed_required", "has_spec": nil},
		"POST /admin/api/routes":         {"expected_revision": "r1", "profile": "readonly", "revision": nil},
		"POST /admin/api/clients":        {"expected_revision": "", "app_id": "till", "rate_limit_per_min": 60.0},
	} {
		got := h.Last(t, call)
		for member, value := range want {
			if got[member] != value {
				t.Errorf("%s: %s is %v, want %v", call, member, got[member], value)
			}
		}
	}
}

func TestASecretIsNeededForNewObjectsOnly(t *testing.T) {
	t.Parallel()
	const fresh = "version: 1\ncredentials:\n  - {name: other, base_url: https://models.example/v1, api_key: {env: OTHER_KEY}}\n"
	h, s := stub(t)
	s.Want(2, "credential other needs api_key in OTHER_KEY", "apply -f "+file(t, fresh))
	s.Want(1, "note: credential other needs api_key in OTHER_KEY", "apply --dry-run -f "+file(t, fresh))
	s.Want(2, "credential other needs api_key: {env: NAME}", "apply -f "+file(t, strings.Replace(fresh, ", api_key: {env: OTHER_KEY}", "", 1)))
	wantWrites(t, h)
	s.Vars["OTHER_KEY"] = "key-of-the-other-model"
	s.Want(0, "1 created", "apply -f "+file(t, fresh))

	// The mask that the hub shows tells whether a value is the same; --force sends it all the same.
	own := file(t, exported(t))
	s.Vars["CREDENTIAL_MODELS_API_KEY"] = "key-of-the-model-456789"
	s.Want(0, "5 the same", "apply -f "+own)
	s.Want(0, "api_key: key-o…6789 -> key-o…6789 from CREDENTIAL_MODELS_API_KEY", "apply --force -f "+own)
	s.Vars["CREDENTIAL_MODELS_API_KEY"] = "key-of-the-model-450000"
	s.Want(0, "api_key: key-o…6789 -> key-o…0000 from CREDENTIAL_MODELS_API_KEY", "apply -f "+own)
}

func TestAChangeInBetweenIsRefused(t *testing.T) {
	t.Parallel()
	h, s := stub(t)
	s.Vars["MODEL_KEY"] = "key-of-another-model-0001"
	h.Set("POST /admin/api/routes", 409, `{"error":"the record has changed since it was read","reason":"revision_conflict"}`)
	s.Want(2, "route orders: somebody else changed it meanwhile; it was left as it is (3 of 5 changes are made", "apply -f "+file(t, changed))
	for _, call := range h.Writes() {
		if call == "POST /admin/api/clients" {
			t.Error("the walk went on")
		}
	}
	h, s = stub(t)
	s.Vars["MODEL_KEY"] = "key-of-another-model-0001"
	h.Set("POST /admin/api/routes", 409, `{"error":"the record has changed since it was read","reason":"revision_conflict"}`)
	s.Want(2, "", "apply --json -f "+file(t, changed))
	var out struct {
		Steps []struct {
			Kind string
			Done bool
		}
	}
	if err := json.Unmarshal(s.Stdout.Bytes(), &out); err != nil || len(out.Steps) != 5 || !out.Steps[2].Done || out.Steps[3].Done {
		t.Errorf("%v %s", err, &s.Stdout)
	}
}

func TestASpecificationThatCannotBeRefreshedKeepsNothingElseFromBeingDone(t *testing.T) {
	t.Parallel()
	h, s := stub(t)
	s.Vars["MODEL_KEY"], s.Vars["SHOP_SECRET"] = "key-of-another-model-0001", "another-secret-of-the-shop"
	h.Set("POST /admin/api/tool-providers/shop/refresh", 400, `{"error":"the unsigned read was served"}`)
	s.Want(1, "provider shop: its specification was not refreshed: the unsigned read was served", "apply -f "+file(t, changed))
	if h.Last(t, "POST /admin/api/clients") == nil {
		t.Error("the clients were not saved")
	}
	// What was not read from its present source is refreshed by the next apply.
	for _, tc := range [][2]string{{`"has_spec":true`, `"has_spec":false`}, {`{"status":"protected"}`, `{"status":"public"}`}, {`{"status":"protected"}`, `null`}} {
		h, s := stub(t)
		h.Set("GET /admin/api/tool-providers", 200, strings.Replace(providers, tc[0], tc[1], 1))
		name := file(t, exported(t))
		s.Want(1, "1 to refresh, 4 the same", "apply --dry-run -f "+name)
		s.Want(0, "1 refreshed, 4 the same", "apply -f "+name)
		h.Set("POST /admin/api/tool-providers/shop/refresh", 400, `{"error":"no answer"}`)
		s.Want(1, "not refreshed: no answer 4 the same", "apply -f "+name)
	}
}

// A hub that knows more members than this command could keep another object than the file says. That is looked at, not assumed.
func TestWhatWasWrittenIsReadAgain(t *testing.T) {
	t.Parallel()
	h, s := stub(t)
	s.Vars["MODEL_KEY"] = "key-of-another-model-0001"
	h.Set("POST /admin/api/routes", 201, `{"ok":true}`) // and its list stays as it was
	s.Want(1, "problem: route orders: the hub has it otherwise than the file says: target_config.temperature, session_policy", "apply -f "+file(t, changed))
}

func TestPruneDeletesWhatTheFileDoesNotNameAndAsksFirst(t *testing.T) {
	t.Parallel()
	h, s := stub(t)
	h.Set("DELETE /admin/api/routes/old", 200, `{"ok":true,"warnings":["the client x still lists this route"]}`)
	h.Set("DELETE /admin/api/clients/crm", 200, `{"ok":true}`)
	name := file(t, "version: 1\ntargets: []\nroutes:\n"+yamlRoute+"clients: []\n")
	s.Want(2, "say --yes", "apply --prune -f "+name)
	s.Answer("no")
	s.Want(2, "nothing was done", "apply --prune -f "+name)
	wantWrites(t, h)
	s.Want(0, "still lists this route", "apply --prune --yes -f "+name)
	// The built-in target stays, and so does what the file has no list of.
	wantWrites(t, h, "DELETE /admin/api/clients/crm", "DELETE /admin/api/routes/old")
}

const yamlRoute = `  - route_key: orders
    name: Orders
    target: llm
    target_config: {credential: models, temperature: 0.2}
    session_policy: new
    tools: {sources: [{provider: shop, allow: [orders.*]}]}
`

// An inline specification is sent when it makes other tools than the hub has, and is found beside the file.
func TestAnInlineSpecificationIsComparedByItsTools(t *testing.T) {
	t.Parallel()
	const spec = `{"openapi":"3.1.0","paths":{"/a":{"get":{"operationId":"read_a","summary":"A","x-agent-capability":{"version":1,"enabled":true,"scope":"a.read"}}}}}`
	h, s := stub(t)
	h.Set("GET /admin/api/tool-providers", 200, `[{"name":"shop","base_url":"https://shop.example","spec_source":"inline","secret":"…","log_payload":true,`+
		`"timeout_ms":10000,"rate_limit_per_min":120,"auto_refresh_min":0,"enabled":true,"has_spec":true,"revision":"p1"}]`)
	h.Set("GET /admin/api/tool-providers/shop/tools", 200, `{"tools":[],"diagnostics":[]}`)
	name := file(t, "version: 1\ntool-providers:\n  - {name: shop, base_url: https://shop.example, spec_json: {file: shop.json}}\n")
	s.Want(2, "shop.json", "apply -f "+name)
	if err := os.WriteFile(filepath.Join(filepath.Dir(name), "shop.json"), []byte(spec), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Want(0, "+ read_a  added", "apply -f "+name)
	if got := h.Last(t, "POST /admin/api/tool-providers"); got["spec_json"] != spec {
		t.Errorf("%v", got)
	}
	s.Want(0, "", "export")
	if !strings.Contains(s.Stderr.String(), "provider shop: its specification was sent inline") {
		t.Errorf("%s", &s.Stderr)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(name), "shop.json"), []byte(strings.Replace(spec, `,"scope":"a.read"`, "", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	s.Want(1, "note: provider shop: its specification has 1 error; such operations are no tools", "apply --force --dry-run -f "+name)
	broken := file(t, `{"version":1,"tool-providers":[{"name":"shop","base_url":"https://shop.example","spec_json":"["}]}`)
	s.Want(2, "cannot be compiled", "apply -f "+broken)
}

func TestBudgetsAreAppliedOnce(t *testing.T) {
	t.Parallel()
	h, s := stub(t)
	route := `{"route_key":"orders","name":"Orders","enabled":true,"target":"llm","target_config":{"credential":"models"},"profile":"readonly","session_policy":"new",`
	client := `{"app_id":"crm","name":"CRM","allowed_routes":["orders"],"allowed_channels":[],"rate_limit_per_min":60,"enabled":true,"token":"f9a18…770c",`
	h.Set("GET /admin/api/routes", 200, `[`+route+`"budget":{"enabled":true,"window":"month","hard_cost_usd":12.5,"hard_tokens":9007199254740991},"revision":"`+strings.Repeat("a", 64)+`"}]`)
	h.Set("GET /admin/api/clients", 200, `[`+client+`"budget":{"enabled":true},"revision":"`+strings.Repeat("b", 64)+`"}]`)
	s.Want(0, "", "export")
	s.Want(0, "4 the same", "apply -f "+file(t, s.Stdout.String()))
	wantWrites(t, h)
	short := `version: 1
routes:
  - route_key: orders
    name: Orders
    target: llm
    target_config: {credential: models}
    session_policy: new
    budget: {window: month, window_hours: null, hard_cost_usd: 12.50, hard_tokens: 9007199254740991}
clients:
  - {app_id: crm, name: CRM, allowed_routes: [orders], budget: {}}
`
	s.Want(0, "2 the same", "apply -f "+file(t, short))
	wantWrites(t, h)
	s.Want(1, "budget.hard_tokens: 9007199254740991 -> 5", "apply --dry-run -f "+file(t, strings.Replace(short, "9007199254740991", "5", 1)))
	s.Want(1, "", "apply --dry-run -f "+file(t, strings.Replace(short, ", budget: {}", "", 1)))
}
