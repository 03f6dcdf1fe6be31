package registry_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"bailing/shared/registry"
)

const route = `{"route_key":"ref_plain","name":"Plain","target":"llm","target_config":{"credential":"stub","model":"stub-model"},"session_policy":"new"}`

// routed has what the routes of these tests refer to.
func routed(t *testing.T, b *bundle) {
	t.Helper()
	b.must(t, "credential", `{"name":"stub","base_url":"https://m.example/v1","api_key":"stub-key"}`)
	b.must(t, "credential", `{"name":"vectors","kind":"embedding","base_url":"https://m.example/v1","api_key":"stub-key","default_model":"e"}`)
	b.must(t, "target", `{"name":"ref-exec","kind":"executor"}`)
	b.must(t, "target", `{"name":"ref-project","kind":"executor","needs_project":true}`)
	b.must(t, "provider", with(t, provider, "spec_json", spec("get_item")))
	b.must(t, "provider", with(t, with(t, provider, "name", `"ref-prefix"`), "spec_json", spec("get_item")))
	b.must(t, "provider", with(t, provider, "name", `"ref-empty"`))
}

func TestRouteRules(t *testing.T) {
	t.Parallel()
	checkRules(t, "route", route, routed, []rule{
		{"route_key", "", "route_key", "required"},
		{"route_key", `"x y"`, "route_key", "1 to 128"},
		{"route_key", name(1), "", ""},
		{"route_key", name(128), "", ""},
		{"route_key", name(129), "route_key", "1 to 128"},
		{"route_key", `"auto-preview"`, "route_key", "a command"},
		{"route_key", `"auto-preview-2"`, "", ""},
		{"name", "", "name", "required"},
		{"name", text(128), "", ""},
		{"name", text(129), "name", "at most 128"},
		{"target", "", "target", "required"},
		{"target", `"a b"`, "target", "2 to 64"},
		{"target", `"nope"`, "unknown target:", "nope"},
		{"target", `"ref-exec"`, "", ""},
		{"project", text(128), "", ""},
		{"project", text(129), "project", "at most 128"},
		{"profile", text(64), "", ""},
		{"profile", text(65), "profile", "at most 64"},
		{"permission", text(64), "", ""},
		{"permission", text(65), "permission", "at most 64"},
		{"session_policy", "", "session_policy", "one of"},
		{"session_policy", `"singleton"`, "session_policy", "one of new, fixed, per_key, passthrough"},
		{"session_policy", `"passthrough"`, "", ""},
		{"session_policy", `"fixed"`, "session_fixed_id", "required"},
		{"session_policy", `"per_key"`, "session_key_field", "required"},
		{"session_fixed_id", text(191), "", ""},
		{"session_fixed_id", text(192), "session_fixed_id", "at most 191"},
		{"session_key_field", text(191), "", ""},
		{"session_key_field", text(192), "session_key_field", "at most 191"},
		{"default_callback_url", url(2048), "", ""},
		{"default_callback_url", url(2049), "default_callback_url", "too long"},
		{"default_callback_url", `"https://biz.example/#x"`, "default_callback_url", "fragment"},
		{"retry", `{}`, "", ""},
		{"retry", `{"max":5,"backoff_ms":500}`, "", ""},
		{"retry", `{"max":6}`, "retry.max", "from 0 to 5"},
		{"retry", `{"max":-1}`, "retry.max", "from 0 to 5"},
		{"retry", `{"backoff_ms":499}`, "retry.backoff_ms", "from 500 to 300000"},
		{"retry", `{"backoff_ms":300000}`, "", ""},
		{"retry", `{"backoff_ms":300001}`, "retry.backoff_ms", "from 500 to 300000"},
		{"retry", `{"jitter":1}`, "retry.jitter", "not a known member"},
		{"retry", `3`, "retry", "object"},
		{"delivery", `null`, "", ""},
		{"delivery", `{"type":"none"}`, "", ""},
		{"delivery", `{"type":"none","more":1}`, "", ""},
		{"delivery", `{"type":"webhook","url":"https://biz.example/"}`, "", ""},
		{"delivery", `{"type":"webhook"}`, "delivery.url", "required"},
		{"delivery", `{"type":"webhook","url":""}`, "delivery.url", "required"},
		{"delivery", `{"type":"webhook","url":"ftp://biz.example/"}`, "delivery.url", "not usable"},
		{"delivery", `{"type":"webhook","url":"https://biz.example/","to":"x"}`, "delivery.to", "not a known member"},
		{"delivery", `{"type":"channel","channel":"c","to":"x"}`, "delivery.type", "webhook or none"},
		{"delivery", `{"type":"wecom","to":"x"}`, "delivery.type", "webhook or none"},
		{"delivery", `{}`, "delivery.type", "required"},
		{"knowledge", `{"kb_id":"x"}`, "knowledge", "not supported"},
		{"memory", `{"recent_messages":8}`, "memory", "not supported"},
		{"priority", `1`, "priority", "not a known member"},
	})
}

func TestModelConfigurationRules(t *testing.T) {
	t.Parallel()
	cfg := func(more string) string { return `{"credential":"stub","model":"m"` + more + `}` }
	checkRules(t, "route", route, routed, []rule{
		{"target_config", "", "target_config.credential", "required"},
		{"target_config", `[]`, "target_config", "object"},
		{"target_config", `{"model":"m"}`, "target_config.credential", "required"},
		{"target_config", `{"credential":"nope"}`, "unknown credential:", "nope"},
		{"target_config", cfg(`,"temperature":0`), "", ""},
		{"target_config", cfg(`,"temperature":2`), "", ""},
		{"target_config", cfg(`,"temperature":2.0001`), "target_config.temperature", "from 0 to 2"},
		{"target_config", cfg(`,"temperature":-0.1`), "target_config.temperature", "from 0 to 2"},
		{"target_config", cfg(`,"temperature":"1"`), "target_config.temperature", "number"},
		{"target_config", cfg(`,"timeout_ms":999`), "target_config.timeout_ms", "from 1000 to 3600000"},
		{"target_config", cfg(`,"timeout_ms":1000`), "", ""},
		{"target_config", cfg(`,"timeout_ms":3600000`), "", ""},
		{"target_config", cfg(`,"timeout_ms":3600001`), "target_config.timeout_ms", "from 1000 to 3600000"},
		{"target_config", cfg(`,"streaming":false`), "", ""},
		{"target_config", cfg(`,"streaming":1`), "target_config.streaming", "true or false"},
		{"target_config", cfg(`,"system_prompt":7`), "target_config.system_prompt", "string"},
		{"target_config", cfg(`,"input":{}`), "", ""},
		{"target_config", cfg(`,"input":{"image":{"mode":"off"}}`), "", ""},
		{"target_config", cfg(`,"input":{"image":{"mode":"tool"}}`), "target_config.input.image.mode", "off"},
		{"target_config", cfg(`,"input":{"audio":{"mode":"transcribe"}}`), "target_config.input.audio.mode", "off"},
		{"target_config", cfg(`,"input":{"file":{}}`), "target_config.input.file.mode", "required"},
		{"target_config", cfg(`,"input":{"video":{}}`), "target_config.input.video", "not a known member"},
		{"target_config", cfg(`,"note":{"x":1}`), "", ""},
		{"target_config", cfg(`,"Credential":"other"`), "target_config.Credential", "must be written credential"},
	})
}

func TestExecutorConfigurationIsOpen(t *testing.T) {
	t.Parallel()
	base := with(t, route, "target", `"ref-exec"`)
	checkRules(t, "route", base, routed, []rule{
		{"target_config", "", "", ""},
		{"target_config", `{"input":{"image":{"mode":"tool"}},"temperature":9}`, "", ""},
		{"target_config", `{"timeout_ms":999}`, "target_config.timeout_ms", "from 1000"},
		{"target_config", `"x"`, "target_config", "object"},
	})
}

func TestRouteToolRules(t *testing.T) {
	t.Parallel()
	tools := func(more string) string {
		return `{"sources":[{"provider":"ref-biz","allow":["ref.*"],"subject_field":"operator_uid"}]` + more + `}`
	}
	sources := func(list string) string { return `{"sources":` + list + `}` }
	checkRules(t, "route", route, routed, []rule{
		{"tools", `null`, "", ""},
		{"tools", tools(``), "", ""},
		{"tools", `[]`, "tools", "object"},
		{"tools", `{}`, "", ""},
		{"tools", sources(`[]`), "tools.sources", "at least one"},
		{"tools", sources(`[` + strings.TrimSuffix(strings.Repeat(`{},`, 65), ",") + `]`), "tools.sources", "at most 64"},
		{"tools", sources(`{}`), "tools.sources", "list"},
		{"tools", sources(`[1]`), "tools.sources[0]", "object"},
		{"tools", sources(`[{"allow":["*"]}]`), "tools.sources[0].provider", "required"},
		{"tools", sources(`[{"provider":"nope","allow":["*"]}]`), "unknown tool provider:", "nope"},
		{"tools", sources(`[{"provider":"ref-biz"}]`), "tools.sources[0].allow", "at least one"},
		{"tools", sources(`[{"provider":"ref-biz","allow":[]}]`), "tools.sources[0].allow", "at least one"},
		{"tools", sources(`[{"provider":"ref-biz","allow":["ref.item.read","ref.*"]}]`), "", ""},
		{"tools", sources(`[{"provider":"ref-biz","allow":["ref*"]}]`), "tools.sources[0].allow", "wildcard"},
		{"tools", sources(`[{"provider":"ref-biz","allow":["*.read"]}]`), "tools.sources[0].allow", "wildcard"},
		{"tools", sources(`[{"provider":"ref-biz","allow":[".*"]}]`), "tools.sources[0].allow", "wildcard"},
		{"tools", sources(`[{"provider":"ref-biz","allow":["a"]},{"provider":"ref-biz","allow":["b"]}]`), "tools.sources[1].provider", "twice"},
		{"tools", sources(`[{"provider":"ref-biz","allow":["a"],"retrieval":{"enabled":true}}]`), "tools.sources[0].retrieval", "not supported"},
		{"tools", sources(`[{"provider":"ref-biz","allow":["a"],"deny":["b"]}]`), "tools.sources[0].deny", "not a known member"},
		{"tools", sources(`[{"provider":"ref-biz","allow":["a"],"subject_field":` + text(192) + `}]`), "tools.sources[0].subject_field", "at most 191"},
		{"tools", tools(`,"max_calls":0`), "tools.max_calls", "from 1 to 50"},
		{"tools", tools(`,"max_calls":1`), "", ""},
		{"tools", tools(`,"max_calls":50`), "", ""},
		{"tools", tools(`,"max_calls":51`), "tools.max_calls", "from 1 to 50"},
		{"tools", tools(`,"builtin":{"send_message":{"channels":["*"]}}`), "tools.builtin", "not supported"},
		{"tools", tools(`,"provider":"ref-biz"`), "tools.provider", "older form"},
		{"tools", tools(`,"allow":["*"]`), "tools.allow", "older form"},
		{"tools", tools(`,"subject_field":"x"`), "tools.subject_field", "older form"},
		{"tools", tools(`,"send_channels":["*"]`), "tools.send_channels", "older form"},
		{"tools", tools(`,"approver":"x"`), "tools.approver", "older form"},
		{"tools", tools(`,"source":"x"`), "tools.source", "older form"},
		{"tools", tools(`,"Sources":[]`), "tools.Sources", "must be written sources"},
		{"tools", tools(`,"approval":{"type":"business_webhook","url":"http://127.0.0.1:19081/approvals"}`), "", ""},
		{"tools", tools(`,"approval":{"type":"business_webhook"}`), "tools.approval.url", "required"},
		{"tools", tools(`,"approval":{"type":"approval_webhook"}`), "tools.approval.url", "required"},
		{"tools", tools(`,"approval":{"type":"webhook"}`), "tools.approval.url", "required"},
		{"tools", tools(`,"approval":{"type":"webhook","url":"nope"}`), "tools.approval.url", "absolute"},
		{"tools", tools(`,"approval":{"url":"https://biz.example/"}`), "tools.approval.type", "required"},
		{"tools", tools(`,"approval":{"type":"wecom"}`), "tools.approval.to", "required"},
		{"tools", tools(`,"approval":{"type":"wecom","to":"a|b"}`), "", ""},
		{"tools", tools(`,"approval":{"type":"wecom","to":["a","b"]}`), "", ""},
		{"tools", tools(`,"approval":{"type":"wecom","to":"` + strings.TrimSuffix(strings.Repeat("a|", 1000), "|") + `"}`), "", ""},
		{"tools", tools(`,"approval":{"type":"wecom","to":"` + strings.TrimSuffix(strings.Repeat("a|", 1001), "|") + `"}`), "tools.approval.to", "at most 1000"},
		{"tools", tools(`,"approval":{"type":"We Com","to":"a"}`), "tools.approval.type", "executor"},
		{"tools", tools(`,"approval":{"type":"wecom","to":"a","expires_in_s":60}`), "", ""},
		{"tools", tools(`,"approval":{"type":"wecom","to":"a","expires_in_s":31104000}`), "", ""},
		{"tools", tools(`,"approval":{"type":"wecom","to":"a","expires_in_s":59}`), "tools.approval.expires_in_s", "60"},
		{"tools", tools(`,"approval":{"type":"wecom","to":"a","expires_in_s":31104001}`), "tools.approval.expires_in_s", "31104000"},
		{"tools", tools(`,"approval":{"type":"webhook","url":"https://biz.example/","approvers":2}`), "tools.approval.approvers", "not a known member"},
	})
}

func (b *bundle) route(t *testing.T, body string) []string {
	t.Helper()
	s, err := b.SaveRoute(t.Context(), value(t, body), change)
	if err != nil {
		t.Fatal(err)
	}
	return s.Warnings
}

func TestRouteWarnings(t *testing.T) {
	t.Parallel()
	b := setup(t)
	routed(t, b)
	two := func(first, second, allow string) string {
		return with(t, route, "tools", `{"sources":[{"provider":"`+first+`","allow":["`+allow+`"]},{"provider":"`+second+`","allow":["ref.*"]}]}`)
	}
	for _, c := range []struct{ name, body, says string }{
		{"nothing to warn of", route, ""},
		{"a key with a capital", with(t, route, "route_key", `"Ref"`), "clients cannot call"},
		{"a key of one letter", with(t, route, "route_key", `"r"`), "clients cannot call"},
		{"a key of 65 letters", with(t, route, "route_key", name(65)), "clients cannot call"},
		{"the key auto", with(t, route, "route_key", `"auto"`), "asks the hub to choose"},
		{"no model anywhere", with(t, route, "target_config", `{"credential":"stub"}`), "no model"},
		{"a credential for embeddings", with(t, route, "target_config", `{"credential":"vectors"}`), "embeddings only"},
		{"a target that needs a project", with(t, route, "target", `"ref-project"`), "needs a project"},
		{"a project is named", with(t, with(t, route, "target", `"ref-project"`), "project", `"p"`), ""},
		{"one tool of two providers", two("ref-biz", "ref-prefix", "ref.item.read"), "get_item"},
		{"one tool of two providers, allowed of one", two("ref-biz", "ref-prefix", "other.*"), ""},
		{"a provider without a specification", two("ref-empty", "ref-prefix", "ref.*"), ""},
	} {
		warnings := b.route(t, c.body)
		switch {
		case c.says == "" && len(warnings) > 0:
			t.Errorf("%s: unexpected %q", c.name, warnings)
		case c.says != "" && (len(warnings) != 1 || !strings.Contains(warnings[0], c.says)):
			t.Errorf("%s: warnings %q do not say %q", c.name, warnings, c.says)
		}
	}
}

func TestRoutesAreListedAsTheyWereSaved(t *testing.T) {
	t.Parallel()
	b := setup(t)
	routed(t, b)
	b.route(t, route)
	b.route(t, `{"route_key":"full","name":"Full","enabled":false,"target":"ref-exec","target_config":{"x":[1.50,{"b":1,"a":2}]},
		"project":"p","profile":"demo","permission":"readwrite","session_policy":"per_key","session_key_field":"visitor_uid",
		"default_callback_url":"https://biz.example/cb","delivery":{"type":"webhook","url":"https://biz.example/hook"},"retry":{"max":1},
		"tools":{"sources":[{"provider":"ref-biz","allow":["ref.*"],"subject_field":"operator_uid"}],"note":{"z":1},
		         "approval":{"type":"business_webhook","url":"http://127.0.0.1:19081/approvals"}},"description":"d"}`)
	list, err := b.ListRoutes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wantJSON(t, unrevised(t, list), `[
		{"route_key":"full","name":"Full","enabled":false,"target":"ref-exec","target_config":{"x":[1.5,{"b":1,"a":2}]},
		 "project":"p","profile":"demo","permission":"readwrite","session_policy":"per_key","session_key_field":"visitor_uid",
		 "default_callback_url":"https://biz.example/cb","delivery":{"type":"webhook","url":"https://biz.example/hook"},"retry":{"max":1,"backoff_ms":5000},
		 "tools":{"sources":[{"provider":"ref-biz","allow":["ref.*"],"subject_field":"operator_uid"}],"max_calls":5,"note":{"z":1},
		          "approval":{"type":"business_webhook","url":"http://127.0.0.1:19081/approvals"}},"description":"d"},
		{"route_key":"ref_plain","name":"Plain","enabled":true,"target":"llm","target_config":{"credential":"stub","model":"stub-model"},
		 "profile":"readonly","session_policy":"new"}]`)
}

func TestMayUse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		allowed []string
		route   string
		want    bool
	}{
		{[]string{"*"}, "any", true},
		{[]string{"a", "b"}, "b", true},
		{[]string{"a", "b"}, "c", false},
		{nil, "a", false},
	} {
		if got := (&registry.Client{AllowedRoutes: c.allowed}).MayUse(c.route); got != c.want {
			t.Errorf("%s with %s: %v", strings.Join(c.allowed, ","), c.route, got)
		}
	}
}

// D9: seven days unless the route says otherwise, within the bounds whatever is stored.
func TestApprovalExpiry(t *testing.T) {
	t.Parallel()
	for stored, want := range map[string]time.Duration{
		``:                          7 * 24 * time.Hour,
		`{"type":"x"}`:              7 * 24 * time.Hour,
		`{"expires_in_s":60}`:       time.Minute,
		`{"expires_in_s":31104000}`: 360 * 24 * time.Hour,
		`{"expires_in_s":1}`:        time.Minute,
		`{"expires_in_s":-5}`:       time.Minute,
		`{"expires_in_s":99999999}`: 360 * 24 * time.Hour,
		`{"expires_in_s":"x"}`:      7 * 24 * time.Hour,
	} {
		tools := &registry.RouteTools{Approval: json.RawMessage(stored)}
		if got := tools.ApprovalExpiry(); got != want {
			t.Errorf("%s: %v, want %v", stored, got, want)
		}
	}
	var none *registry.RouteTools
	if got := none.ApprovalExpiry(); got != 7*24*time.Hour {
		t.Errorf("without tools: %v", got)
	}
}
