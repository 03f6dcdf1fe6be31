package admin_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

const orders = `{"openapi":"3.1.0","info":{"title":"t","version":"1"},"paths":{
	"/orders":{"get":{"operationId":"order_list","summary":"List orders","x-agent-capability":{"version":1,"enabled":true,"scope":"order.read","subject":{"required":true}}}},
	"/pay":{"post":{"operationId":"pay","summary":"Pay","x-agent-capability":{"version":1,"enabled":true,"scope":"order.pay","risk":{"level":"high"}},
		"requestBody":{"content":{"application/json":{"schema":{"type":"object","properties":{"amount":{"type":"number"}}}}}}}},
	"/bad":{"get":{"operationId":"bad","x-agent-capability":{"version":1,"enabled":true}}}}}`

func (h *hub) saveOrders(t *testing.T) {
	t.Helper()
	w := h.admin("POST", "/admin/api/tool-providers", `{"name":"orders","base_url":"https://biz.example","secret":"s3cret-of-the-provider","spec_json":`+orders+`}`)
	if w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
}

func TestASaveAnswersWithItsProbe(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.business.status = http.StatusForbidden
	h.saveOrders(t)
	if len(h.business.requests) != 1 || h.business.requests[0].URL != "https://biz.example/orders" {
		t.Fatalf("%+v", h.business.requests)
	}
	want(t, h.admin("POST", "/admin/api/tool-providers/orders/authz-probe", ""), 200, `{"ok":true,"authz_probe":{"status":"pass","http":403,
		"mode":"tool","tool":"order_list","requires_subject":true,"reason":"the business refused a subject without rights","at":"2026-11-30T15:52:48.906Z"}}`)
}

func TestRefreshAnswersWithWhatChanged(t *testing.T) {
	t.Parallel()
	h := setup(t)
	w := h.admin("POST", "/admin/api/tool-providers", `{"name":"orders","base_url":"https://biz.example","secret":"s3cret-of-the-provider",
		"spec_source":"url","spec_url":"https://biz.example/spec","spec_access_policy":"public_allowed"}`)
	if w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	h.business.status, h.business.body = 200, orders
	want(t, h.admin("POST", "/admin/api/tool-providers/orders/refresh", ""), 200, `{"ok":true,"tools":2,"added":["order_list","pay"],"removed":[],"changed":[],"weakened":[],
		"diagnostics":[],
		"spec_access_probe":{"status":"public","unsigned_http":200,"at":"2026-11-30T15:52:48.906Z"},
		"authz_probe":{"status":"suspect","http":200,"mode":"tool","tool":"order_list","requires_subject":true,
			"reason":"the business served a subject without rights; it must authorize the subject of each call itself","at":"2026-11-30T15:52:48.906Z"}}`,
		"diagnostics")
	h.business.body = strings.Replace(orders, `"high"`, `"low"`, 1)
	want(t, h.admin("POST", "/admin/api/tool-providers/orders/refresh", ""), 200, `{"ok":true,"tools":2,"added":[],"removed":[],"changed":["pay"],"weakened":["pay"],
		"changes":[{"tool":"pay","fields":[{"field":"risk","was":"high","now":"low"}],"weakened":["risk_lowered"]}],"diagnostics":[],
		"spec_access_probe":{},"authz_probe":{}}`, "diagnostics", "spec_access_probe", "authz_probe")
	h.business.status = 500
	want(t, h.admin("POST", "/admin/api/tool-providers/orders/refresh", ""), 400, `{"error":"reading the specification without a signature failed: HTTP 500",
		"spec_access_probe":{"status":"inconclusive","unsigned_http":500,"reason":"reading the specification without a signature failed: HTTP 500","at":"2026-11-30T15:52:48.906Z"}}`)
	h.business.status, h.business.body = 200, "[]"
	if w := h.admin("POST", "/admin/api/tool-providers/orders/refresh", ""); w.Code != 400 || !strings.Contains(w.Body.String(), `"diagnostics":[{`) {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
}

func TestUnknownProviders(t *testing.T) {
	t.Parallel()
	h := setup(t)
	for _, call := range []string{"POST refresh", "POST authz-probe", "GET tools", "POST debug-invoke"} {
		method, what, _ := strings.Cut(call, " ")
		for _, name := range []string{"nope", "Not_A-Name", strings.Repeat("x", 300), "a%2Fb"} {
			want(t, h.admin(method, "/admin/api/tool-providers/"+name+"/"+what, `{"tool":"x"}`), 404, `{"error":"the tool provider does not exist"}`)
		}
	}
	if len(h.store.Changes()) > 0 {
		t.Fatal("something was written")
	}
}

func TestToolsOfAProvider(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.saveOrders(t)
	var got struct {
		Tools       []map[string]any
		Diagnostics []map[string]any
		Skipped     []map[string]any
		Warnings    []map[string]any
		Note        *string
	}
	w := h.admin("GET", "/admin/api/tool-providers/orders/tools", "")
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if len(got.Tools) != 2 || got.Tools[1]["name"] != "pay" || got.Tools[1]["confirm_required"] != false || got.Tools[1]["schema_version"] != "bailing.tool-definition.v1" {
		t.Errorf("tools %v", got.Tools)
	}
	if len(got.Skipped) != 1 || got.Skipped[0]["path"] != "GET /bad" || got.Skipped[0]["code"] != "missing_scope" || got.Skipped[0]["reason"] == "" {
		t.Errorf("skipped %v", got.Skipped)
	}
	if len(got.Warnings) != 1 || got.Warnings[0]["code"] != "param_missing_description" || got.Warnings[0]["suggestion"] == "" {
		t.Errorf("warnings %v", got.Warnings)
	}
	if len(got.Diagnostics) != 2 || got.Note != nil {
		t.Errorf("diagnostics %v, note %v", got.Diagnostics, got.Note)
	}
	h.admin("POST", "/admin/api/tool-providers", `{"name":"bare","base_url":"https://biz.example","secret":"s"}`)
	want(t, h.admin("GET", "/admin/api/tool-providers/bare/tools", ""), 200,
		`{"tools":[],"diagnostics":[],"skipped":[],"warnings":[],"note":"the provider has no specification yet"}`)
}

// A Lambda's answer ends at 6 MB; every tool is listed all the same.
func TestAVeryLargeCatalogueIsListedWithoutSomeParameters(t *testing.T) {
	t.Parallel()
	h := setup(t)
	var paths []string
	const tools = 40
	for i := range tools {
		paths = append(paths, fmt.Sprintf(`"/t%d":{"get":{"operationId":"t%d","summary":"s","x-agent-capability":{"version":1,"enabled":true,"scope":"a"},
			"parameters":[{"name":"q","in":"query","description":"d","schema":{"$ref":"#/components/schemas/Big"}}]}}`, i, i))
	}
	spec := `{"openapi":"3.1.0","components":{"schemas":{"Big":{"type":"string","enum":["` + strings.Repeat("x", 200<<10) + `"]}}},"paths":{` + strings.Join(paths, ",") + `}}`
	if w := h.admin("POST", "/admin/api/tool-providers", `{"name":"orders","base_url":"https://biz.example","secret":"s","spec_json":`+spec+`}`); w.Code != 200 {
		t.Fatalf("%d %.300s", w.Code, w.Body)
	}
	w := h.admin("GET", "/admin/api/tool-providers/orders/tools", "")
	var got struct {
		Tools []any
		Note  string
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || len(got.Tools) != tools || w.Body.Len() > 5<<20 || !strings.Contains(got.Note, "of 30 tools are left out") {
		t.Fatalf("%d tools in %d bytes, note %q", len(got.Tools), w.Body.Len(), got.Note)
	}
}

func TestDebugInvoke(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.saveOrders(t)
	h.business.status, h.business.body = 200, `{"id":"A1"}`
	const invoke = "/admin/api/tool-providers/orders/debug-invoke"
	want(t, h.admin("POST", invoke, `{"tool":"order_list","args":null,"on_behalf_of":"u_1"}`), 200, `{"ok":true,
		"request":{"method":"GET","url":"https://biz.example/orders","path_with_query":"/orders","body":"","on_behalf_of":"u_1","job_id":"",
			"headers":{"x-bailing-timestamp":"1796053968","x-bailing-signature":"sha256=[REDACTED]","x-bailing-job-id":"","x-bailing-client":"admin-debug",
				"x-bailing-on-behalf-of":"u_1","x-bailing-tool-scope":"order.read"},
			"signature_material":{"timestamp":"1796053968","method":"GET","path_with_query":"/orders",
				"body_sha256":"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","on_behalf_of":"u_1","job_id":""}},
		"response":{"status":200,"duration_ms":0,"text":"{\"id\":\"A1\"}","truncated":false}}`)
	w := h.admin("POST", invoke, `{"tool":"pay","args":{"amount":1}}`)
	if w.Code != 200 || !strings.HasPrefix(w.Body.String(), `{"ok":false,"blocked":true,"reason":"`) || len(h.business.requests) != 2 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if w := h.admin("POST", invoke, `{"tool":"pay","args":{"amount":1},"allow_risky":true}`); w.Code != 200 || !strings.HasPrefix(w.Body.String(), `{"ok":true,`) {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	for body, says := range map[string]string{
		`[]`:                                  "must be a JSON object",
		`{}`:                                  "tool is required",
		`{"tool":5}`:                          "tool must be a string",
		`{"tool":"pay","args":[]}`:            "args must be a JSON object",
		`{"tool":"pay","allow_risky":"yes"}`:  "allow_risky must be true or false",
		`{"tool":"pay","job_id":1}`:           "job_id must be a string",
		`{"tool":"pay","on_behalf_of":{}}`:    "on_behalf_of must be a string",
		`{"tool":"pay","Args":{}}`:            "Args is not a known member",
		`{"tool":"pay","args":{"a":1,"a":2}}`: "body",
		`{"tool":"pay","args":{"x":1}}`:       "unknown_arguments:x",
	} {
		w := h.admin("POST", invoke, body)
		if w.Code != 400 || !strings.Contains(w.Body.String(), says) {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
	if len(h.business.requests) != 3 {
		t.Errorf("%d requests", len(h.business.requests))
	}
}

func TestVeryManyDiagnosticsAreCountedAndNotAllListed(t *testing.T) {
	t.Parallel()
	for n, note := range map[int]string{1000: "", 1001: "the first 1000 of 1001 diagnostics are listed"} {
		h := setup(t)
		var paths []string
		for i := range n {
			paths = append(paths, fmt.Sprintf(`"/t%d":{"get":{"operationId":"t%d","x-agent-capability":{"version":1,"enabled":true}}}`, i, i))
		}
		if w := h.admin("POST", "/admin/api/tool-providers", `{"name":"orders","base_url":"https://biz.example","secret":"s","spec_json":{"openapi":"3.1.0","paths":{`+
			strings.Join(paths, ",")+`}}}`); w.Code != 200 {
			t.Fatalf("%d %.300s", w.Code, w.Body)
		}
		var got struct {
			Skipped []struct{ Path string }
			Note    string
		}
		w := h.admin("GET", "/admin/api/tool-providers/orders/tools", "")
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || len(got.Skipped) != 1000 || got.Note != note || got.Skipped[10].Path != "GET /t10" {
			t.Errorf("%d: %d skipped, note %q", n, len(got.Skipped), got.Note)
		}
	}
}

// 5000 tools with long descriptions do not fit into one answer, even without their parameters.
func TestALongListOfToolsGoesOnAtAnOffset(t *testing.T) {
	t.Parallel()
	h := setup(t)
	var paths []string
	const tools = 3000
	for i := range tools {
		paths = append(paths, fmt.Sprintf(`"/t%d":{"get":{"operationId":"t%d","summary":"%s","x-agent-capability":{"version":1,"enabled":true,"scope":"a"}}}`,
			i, i, strings.Repeat("\U0001F600", 400)))
	}
	// A body of 4 MiB cannot bring so many; a specification by URL can.
	h.business.status, h.business.body = 200, `{"openapi":"3.1.0","paths":{`+strings.Join(paths, ",")+`}}`
	h.admin("POST", "/admin/api/tool-providers", `{"name":"orders","base_url":"https://biz.example","secret":"s","spec_source":"url",
		"spec_url":"https://biz.example/spec","spec_access_policy":"public_allowed"}`)
	if w := h.admin("POST", "/admin/api/tool-providers/orders/refresh", ""); w.Code != 200 {
		t.Fatalf("%d %.500s", w.Code, w.Body)
	}
	seen, answers := 0, 0
	for seen < tools && answers < 10 {
		w := h.admin("GET", fmt.Sprintf("/admin/api/tool-providers/orders/tools?offset=%d", seen), "")
		var got struct {
			Tools []struct{ Name string }
			Note  string
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Body.Len() > 5<<20 || len(got.Tools) == 0 || got.Tools[0].Name != fmt.Sprint("t", seen) {
			t.Fatalf("%d bytes, %d tools, %v", w.Body.Len(), len(got.Tools), err)
		}
		seen, answers = seen+len(got.Tools), answers+1
		if w.Header().Get("Link") != "" != (seen < tools) {
			t.Fatalf("after %d tools: Link %q", seen, w.Header().Get("Link"))
		}
		if more := strings.Contains(got.Note, fmt.Sprintf("of 3000 tools; ask again with offset=%d", seen)); more != (seen < tools) {
			t.Fatalf("after %d tools: note %q", seen, got.Note)
		}
	}
	if seen != tools || answers < 2 {
		t.Fatalf("%d tools in %d answers", seen, answers)
	}
	for _, offset := range []string{"-1", "x", "1.5", "4294967296"} {
		if w := h.admin("GET", "/admin/api/tool-providers/orders/tools?offset="+offset, ""); w.Code != 400 {
			t.Errorf("offset %s: %d", offset, w.Code)
		}
	}
	if w := h.admin("GET", "/admin/api/tool-providers/orders/tools?offset=3000", ""); w.Code != 200 || !strings.HasPrefix(w.Body.String(), `{"tools":[],`) {
		t.Errorf("past the end: %d %.200s", w.Code, w.Body)
	}
}
