package contract_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
)

// minimal is the smallest valid form of each configuration object: exactly the required members of core §10.4.
var minimal = map[string]string{
	"client": `{"app_id":"crm","name":"CRM","allowed_routes":["*"],"allowed_channels":[],"rate_limit_per_min":0,"enabled":true}`,
	"route": `{"route_key":"refund.review:2","name":"Refund","enabled":true,"target":"llm","target_config":{"credential":"demo"},
		"profile":"readonly","session_policy":"new"}`,
	"tool-provider": `{"name":"orders","base_url":"https://orders.example","spec_source":"inline","secret":"s","log_payload":true,
		"timeout_ms":10000,"rate_limit_per_min":120,"auto_refresh_min":0,"enabled":true}`,
	"credential": `{"name":"demo","kind":"chat","base_url":"https://models.example/v1","api_key":"k","enabled":true}`,
	"target":     `{"name":"llm","kind":"inhub","stateless":true,"needs_project":false,"timeout_ms":0,"enabled":true}`,
}

func TestConfigObjectsAreClosedAndNeedTheirMembers(t *testing.T) {
	t.Parallel()
	for name, text := range minimal {
		schema := compile(t, "schemas/config/"+name+".schema.json")
		object := map[string]any{}
		decode(t, []byte(text), &object)
		if err := schema.Validate(object); err != nil {
			t.Errorf("%s: minimal form: %v", name, err)
		}
		for member := range object {
			less := maps.Clone(object)
			delete(less, member)
			if schema.Validate(less) == nil {
				t.Errorf("%s without %s is valid", name, member)
			}
		}
		more := maps.Clone(object)
		more["nobody_knows_this"] = true
		if schema.Validate(more) == nil {
			t.Errorf("%s with an unknown member is valid", name)
		}
	}
}

func TestConfigLimits(t *testing.T) {
	t.Parallel()
	quoted := func(n int) string { return `"` + strings.Repeat("a", n) + `"` }
	cases := []struct {
		object, member, good, bad string
	}{
		{"client", "app_id", quoted(64), quoted(65)},
		{"client", "app_id", `"a1"`, `"a"`},
		{"client", "app_id", `"a-_0"`, `"-a"`},
		{"client", "allowed_routes", `["a"]`, `[]`},
		{"client", "allowed_routes", `["a","b"]`, `["a","a"]`},
		{"client", "rate_limit_per_min", `0`, `-1`},
		{"client", "budget", `{"window":"day","hard_tokens":1}`, `{"hard_tokens":0}`},
		{"client", "budget", `{"hard_cost_usd":0.01}`, `{"hard_cost_usd":0}`},
		{"client", "budget", `{}`, `{"max_jobs":1}`},
		{"route", "route_key", quoted(128), quoted(129)},
		{"route", "route_key", `"A"`, `".a"`},
		{"route", "name", quoted(128), quoted(129)},
		{"route", "profile", quoted(64), quoted(65)},
		{"route", "permission", quoted(64), quoted(65)},
		{"route", "project", quoted(128), quoted(129)},
		{"route", "session_policy", `"passthrough"`, `"singleton"`},
		{"route", "session_fixed_id", quoted(191), quoted(192)},
		{"route", "session_key_field", quoted(191), quoted(192)},
		{"route", "retry", `{"max":5,"backoff_ms":500}`, `{"max":6}`},
		{"route", "retry", `{"max":0,"backoff_ms":300000}`, `{"backoff_ms":499}`},
		{"route", "retry", `{}`, `{"backoff_ms":300001}`},
		{"route", "target_config", `{"credential":"demo","temperature":2,"anything":1}`, `{"credential":"demo","temperature":2.1}`},
		{"route", "target_config", `{"credential":"demo","timeout_ms":1000}`, `{"credential":"demo","timeout_ms":999}`},
		{"route", "target_config", `{"credential":"demo","timeout_ms":3600000}`, `{"model":"no credential"}`},
		{"route", "tools", `{"sources":[{"provider":"orders","allow":["a.*"]}],"max_calls":50}`, `{"max_calls":51}`},
		{"route", "tools", `{"max_calls":1,"later":{}}`, `{"max_calls":0}`},
		{"route", "tools", `{"sources":[{"provider":"orders","allow":["a"]}]}`, `{"sources":[]}`},
		{"route", "tools", `{"sources":[{"provider":"orders","allow":["a"]}]}`, `{"sources":[{"provider":"orders","allow":[]}]}`},
		{"route", "tools", `{}`, `{"provider":"orders"}`},
		{"route", "tools", `{"approval":{"type":"webhook","url":"https://x.example"}}`, `{"approval":{"type":"webhook"}}`},
		{"route", "tools", `{"approval":{"type":"none","expires_in_s":60}}`, `{"approval":{"type":"none","expires_in_s":59}}`},
		{"route", "audience", `{"priority":1000,"roles":["*"]}`, `{"priority":1001}`},
		{"route", "memory", `{"recent_messages":50}`, `{"recent_messages":51}`},
		{"route", "knowledge", `{"kb_id":"faq","top_k":20}`, `{"top_k":5}`},
		{"route", "delivery", `{"type":"none","more":1}`, `{}`},
		{"route", "agent_client", `{"instructions":` + quoted(20000) + `}`, `{"instructions":` + quoted(20001) + `}`},
		{"route", "agent_client", `{"active_tool_limit":12}`, `{"active_tool_limit":13}`},
		{"route", "agent_client", `{"artifact_upload":{}}`, `{"nobody_knows_this":1}`},
		{"route", "agent_client", `{"system_info":{"name":` + quoted(120) + `,"summary":` + quoted(400) + `,"domains":[],"boundaries":[]}}`, `{"system_info":{"name":"a","summary":"b","domains":[]}}`},
		{"route", "agent_client", `{"system_info":{"name":"a","summary":"b","domains":[` + quoted(120) + `],"boundaries":[` + quoted(160) + `]}}`,
			`{"system_info":{"name":"a","summary":"b","domains":[` + quoted(121) + `],"boundaries":[]}}`},
		{"route", "tools", `{"agent_direct":{"enabled":false}}`, `{"agent_direct":{}}`},
		{"route", "tools", `{"agent_direct":{"enabled":true,"write_tools":["a"],"unattended_write_tools":["a"]}}`, `{"agent_direct":{"enabled":true,"write_tools":[]}}`},
		{"route", "tools", `{"agent_direct":{"enabled":true,"write_tools":["a","b"],"force_approval_tools":["a"]}}`, `{"agent_direct":{"enabled":true,"write_tools":["a*"]}}`},
		{"tool-provider", "timeout_ms", `1000`, `999`},
		{"tool-provider", "timeout_ms", `60000`, `60001`},
		{"tool-provider", "auto_refresh_min", `1440`, `1441`},
		{"tool-provider", "spec_source", `"inline"`, `"url"`},
		{"tool-provider", "spec_access_policy", `"public_allowed"`, `"legacy_unverified"`},
		{"tool-provider", "embed_dim", `1`, `0`},
		{"tool-provider", "tool_rate_limits", `{"overrides":{"t":{"mode":"custom","count":1000000,"window":"1d"}}}`, `{"default":{"mode":"custom","count":1000001}}`},
		{"credential", "kind", `"both"`, `"vision"`},
		{"target", "kind", `"executor"`, `"remote"`},
		{"target", "timeout_ms", `3600000`, `3600001`},
	}
	for _, tc := range cases {
		schema := compile(t, "schemas/config/"+tc.object+".schema.json")
		object := map[string]any{}
		decode(t, []byte(minimal[tc.object]), &object)
		for text, valid := range map[string]bool{tc.good: true, tc.bad: false} {
			var value any
			if err := json.Unmarshal([]byte(text), &value); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			object[tc.member] = value
			if err := schema.Validate(object); (err == nil) != valid {
				t.Errorf("%s.%s = %.80s: valid should be %v: %v", tc.object, tc.member, text, valid, err)
			}
		}
	}
}
