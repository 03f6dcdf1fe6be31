package contract_test

import (
	"crypto/rand"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"bailing/shared/canonical"
	compiler "bailing/shared/capability/compile"
	"bailing/shared/contract/contracttest"
	"bailing/shared/outbound"
	"bailing/shared/registry"
	"bailing/shared/registry/registrytest"
)

// whole is every configuration object with every member that a save accepts, in the order in which they can be saved.
var whole = []struct{ kind, config, body string }{
	{"Credential", "credential", `{"name":"demo","kind":"both","base_url":"https://models.example/v1","api_key":"k-0123456789","default_model":"m",
		"enabled":true,"description":"d","expected_revision":"","revision":""}`},
	{"Target", "target", `{"name":"exec","kind":"executor","stateless":true,"needs_project":true,"timeout_ms":1,"enabled":true,"description":"d",
		"expected_revision":"","revision":""}`},
	{"Provider", "tool-provider", `{"name":"orders","base_url":"https://orders.example","spec_source":"url","spec_url":"https://orders.example/spec",
		"spec_access_policy":"public_allowed","secret":"s","log_payload":true,"timeout_ms":10000,"rate_limit_per_min":120,"auto_refresh_min":5,
		"enabled":true,"description":"d","expected_revision":"","revision":""}`},
	{"Route", "route", `{"route_key":"desk","name":"Desk","enabled":true,"target":"llm","target_config":{"credential":"demo"},"project":"p","profile":"x",
		"permission":"full","session_policy":"per_key","session_fixed_id":"f","session_key_field":"k","default_callback_url":"https://crm.example/cb",
		"retry":{"max":1,"backoff_ms":500},"delivery":{"type":"webhook","url":"https://crm.example/results"},
		"tools":{"sources":[{"provider":"orders","allow":["a.*"],"subject_field":"uid"}],"max_calls":5,
			"approval":{"type":"webhook","url":"https://crm.example/approvals","to":["ada"],"expires_in_s":60},
			"agent_direct":{"enabled":true,"write_tools":["pay"],"force_approval_tools":["pay"]}},
		"audience":{"enabled":true,"auto":true,"priority":1,"anonymous":true,"keywords":["k"],"clients":["c"],"channels":["h"],"tenants":["t"],
			"roles":["r"],"principals":["p"],"audiences":["a"]},
		"agent_client":{"enabled":true,"instructions":"i","active_tool_limit":8,
			"system_info":{"name":"n","summary":"s","domains":["d"],"boundaries":["b"]}},
		"description":"d","expected_revision":"","revision":""}`},
	{"Client", "client", `{"app_id":"crm","name":"CRM","allowed_routes":["desk"],"allowed_channels":["web"],"rate_limit_per_min":0,"enabled":true,
		"agent_authorize_url":"https://crm.example/agent","description":"d","rotate_token":false,"token":"","last_used_at":"2026-11-30T15:52:47.000Z",
		"expected_revision":"","revision":""}`},
}

// readable are the members of a list entry that a save reads over, so that an entry can be sent back; Input schemas leave them out.
var readable = []string{"revision", "last_used_at", "token"}

// command are the members of a save that are no part of the object.
var command = []string{"expected_revision", "rotate_token"}

func saveWhole(t *testing.T, s *registry.Service, kind, body string) error {
	t.Helper()
	v, err := canonical.Parse([]byte(body), canonical.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	by := registry.Change{By: "ada", Method: "POST"}
	switch kind {
	case "Credential":
		return s.SaveCredential(t.Context(), v, by)
	case "Target":
		return s.SaveTarget(t.Context(), v, by)
	case "Provider":
		_, err = s.SaveProvider(t.Context(), v, by)
	case "Route":
		_, err = s.SaveRoute(t.Context(), v, by)
	case "Client":
		_, err = s.SaveClient(t.Context(), v, by)
	default:
		t.Fatalf("no kind %s", kind)
	}
	return err
}

// undocumented names the members of a value that its schema does not describe.
func undocumented(doc, schema object, value any, path string) (missing []string) {
	for schema["$ref"] != nil {
		name := strings.TrimPrefix(schema["$ref"].(string), "#/components/schemas/")
		schema = doc["components"].(object)["schemas"].(object)[name].(object)
	}
	switch value := value.(type) {
	case []any:
		items, _ := schema["items"].(object)
		for _, e := range value {
			missing = append(missing, undocumented(doc, items, e, path+"[]")...)
		}
	case object:
		properties, _ := schema["properties"].(object)
		for _, name := range slices.Sorted(maps.Keys(value)) {
			property, ok := properties[name].(object)
			if !ok {
				missing = append(missing, path+"."+name)
				continue
			}
			missing = append(missing, undocumented(doc, property, value[name], path+"."+name)...)
		}
	}
	return missing
}

// without is the object of a body, less some members.
func without(t *testing.T, body string, members ...string) object {
	t.Helper()
	o := object{}
	decode(t, []byte(body), &o)
	for _, name := range members {
		delete(o, name)
	}
	return o
}

func newRegistry() *registry.Service {
	return registry.NewService(registry.Options{
		Store: registrytest.NewStore(), Sealer: registrytest.Sealer{}, Compile: compiler.Compile, CheckURL: outbound.CheckURL, Random: rand.Reader,
	})
}

func TestEveryMemberThatASaveAcceptsIsDescribed(t *testing.T) {
	t.Parallel()
	s := newRegistry()
	doc := openAPI(t)
	for _, tc := range whole {
		if err := saveWhole(t, s, tc.kind, tc.body); err != nil {
			t.Fatalf("%s: %v", tc.kind, err)
		}
		body := without(t, tc.body, readable...)
		if config, ok := body["target_config"].(object); ok {
			clear(config) // the target's own, described by the configuration schema
		}
		for _, missing := range undocumented(doc, object{"$ref": "#/components/schemas/" + tc.kind + "Input"}, body, tc.kind) {
			t.Errorf("%s is accepted and not described in openapi.json", missing)
		}
		config := without(t, tc.body, append(slices.Clone(readable), command...)...)
		if err := compile(t, "schemas/config/"+tc.config+".schema.json").Validate(config); err != nil {
			t.Errorf("%s is accepted and not valid: %v", tc.config, err)
		}
	}
}

// What the description of a body says about a value is what a save does with it.
func TestBodiesAreDescribedAsTheyAreJudged(t *testing.T) {
	t.Parallel()
	s := newRegistry()
	inputs := contracttest.NewCompiler()
	for _, tc := range whole {
		if err := saveWhole(t, s, tc.kind, tc.body); err != nil {
			t.Fatal(err)
		}
	}
	quoted := func(n int) string { return `"` + strings.Repeat("a", n) + `"` }
	source := func(more string) string { return `{"sources":[{"provider":"orders","allow":["a"]` + more + `}]}` }
	for _, tc := range []struct{ kind, member, good, bad string }{
		{"Client", "name", quoted(128), quoted(129)},
		{"Client", "name", quoted(1), quoted(0)},
		{"Client", "rate_limit_per_min", `2147483647`, `2147483648`},
		{"Client", "agent_authorize_url", `"https://crm.example"`, `"` + strings.Repeat("a", 2049) + `"`},
		{"Provider", "description", quoted(10_000), quoted(10_001)},
		{"Provider", "name", quoted(64), quoted(65)},
		{"Route", "name", quoted(128), quoted(129)},
		{"Route", "name", quoted(1), quoted(0)},
		{"Route", "route_key", `"auto-previews"`, `"auto-preview"`},
		{"Route", "tools", source(`,"subject_field":` + quoted(191)), source(`,"subject_field":` + quoted(192))},
		{"Route", "tools", source(``), source(`,"retrieval":{}`)},
		{"Route", "tools", `{"approval":{"type":"webhook","url":"https://x.example"}}`, `{"approval":{"type":"webhook"}}`},
		{"Route", "tools", `{"approval":{"type":"wecom","to":"ada|bob"}}`, `{"approval":{"type":"webhook","url":"https://x.example","more":1}}`},
		{"Route", "agent_client", `{}`, `{"note":1}`},
		{"Route", "agent_client", `{"instructions":` + quoted(20_000) + `}`, `{"instructions":` + quoted(20_001) + `}`},
		{"Route", "audience", `{"keywords":[` + quoted(128) + `]}`, `{"keywords":[` + quoted(129) + `]}`},
		{"Route", "audience", `{"roles":[` + quoted(64) + `]}`, `{"roles":[` + quoted(65) + `]}`},
		{"Route", "retry", `{}`, `{"more":1}`},
		{"Route", "delivery", `{"type":"none"}`, `{"type":"wecom"}`},
	} {
		schema, err := inputs.Compile(contracttest.Base + "openapi.json#/components/schemas/" + tc.kind + "Input")
		if err != nil {
			t.Fatal(err)
		}
		for raw, valid := range map[string]bool{tc.good: true, tc.bad: false} {
			body := without(t, wholeOf(tc.kind), append(slices.Clone(readable), command...)...)
			var value any
			decode(t, []byte(raw), &value)
			body[tc.member] = value
			if err := schema.Validate(body); (err == nil) != valid {
				t.Errorf("%sInput.%s = %.70s: described as valid should be %t: %v", tc.kind, tc.member, raw, valid, err)
			}
			text, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			if err := saveWhole(t, s, tc.kind, string(text)); (err == nil) != valid {
				t.Errorf("%s.%s = %.70s: accepted should be %t: %v", tc.kind, tc.member, raw, valid, err)
			}
		}
	}
}

func wholeOf(kind string) string {
	i := slices.IndexFunc(whole, func(w struct{ kind, config, body string }) bool { return w.kind == kind })
	return whole[i].body
}
