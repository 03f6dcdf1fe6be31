package conformance_test

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// trap listens on every loopback address and counts who connects.
type trap struct {
	port string
	hits atomic.Int64
}

func setTrap(t *testing.T) *trap {
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	tr := &trap{}
	_, tr.port, _ = net.SplitHostPort(l.Addr().String())
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			tr.hits.Add(1)
			conn.Close()
		}
	}()
	return tr
}

// hidden are addresses that a hub without an exception for them never reaches (core §2.8, I7).
func hidden(port string) []string {
	return []string{
		"http://169.254.169.254/latest", "http://10.0.0.1", "http://192.168.0.1", "http://100.64.0.1", "http://[fd00::1]", "http://[fe80::1]",
		"http://[::1]:" + port, "http://127.0.0.1:" + port, "http://localhost:" + port, "http://0.0.0.0:" + port, "http://[::]:" + port,
		"http://[::ffff:127.0.0.1]:" + port, "http://127.9.9.9:" + port,
	}
}

// A model behind an address that is not permitted ends the job with an error that tells nothing of key or address.
func TestModelsAtHiddenAddresses(t *testing.T) {
	t.Parallel()
	tr := setTrap(t)
	h := start(t, onlyModel, nil)
	h.withModel()
	const key = "sk-do-not-show-this-key-anywhere"
	for i, base := range hidden(tr.port) {
		name := numbered("credential", i)
		h.save("credentials", object{"name": name, "kind": "chat", "base_url": base, "api_key": key, "default_model": "m"})
		h.route(numbered("route", i), object{"target_config": object{"credential": name}, "retry": object{"max": 2, "backoff_ms": 500}})
	}
	h.route("reachable", nil)
	token := h.client("crm", "*")
	var ids []string
	for i := range hidden(tr.port) {
		o := h.submit(token, object{"request_id": numbered("job", i), "route": numbered("route", i), "input": "x"})
		ids = append(ids, o["job_id"].(string))
	}
	for i, base := range hidden(tr.port) {
		job := h.finished(ids[i], token)
		if job["status"] != "error" || job["attempts"] != json.Number("0") {
			t.Errorf("%s: %v after %v attempts", base, job["status"], job["attempts"])
		}
		shown := string(h.get("/jobs/"+ids[i], token).body)
		seen := shown + string(h.get("/admin/api/runs/"+ids[i]+"/audit", h.admin).body)
		if strings.Contains(seen, key) {
			t.Errorf("%s: the key is shown: %s", base, seen)
		}
		if host := strings.TrimPrefix(base, "http://"); strings.Contains(shown, host) {
			t.Errorf("%s: a client is told the address: %s", base, shown)
		}
	}
	if n := tr.hits.Load(); n != 0 {
		t.Errorf("%d connections to addresses that are not permitted", n)
	}
	o := h.submit(token, object{"request_id": "reachable", "route": "reachable", "input": "[[say here]]"})
	if job := h.finished(o["job_id"].(string), token); job["status"] != "done" {
		t.Errorf("the permitted model: %v", job)
	}
}

// A business behind such an address is not called either; the job goes on and says so.
func TestBusinessAtHiddenAddresses(t *testing.T) {
	t.Parallel()
	tr := setTrap(t)
	h := start(t, onlyModel, nil)
	h.withModel()
	token := h.client("crm", "*")
	for i, base := range hidden(tr.port) {
		name := numbered("business", i)
		h.save("tool-providers", object{"name": name, "base_url": base, "secret": secret, "spec_json": oneReadTool})
		h.route(name, object{"tools": object{"sources": []object{{"provider": name, "allow": []string{"*"}}}}})
		o := h.submit(token, object{"request_id": name, "route": name, "input": `[[tool read_thing {"id":"1"}]][[round]][[say told]]`})
		job := h.finished(o["job_id"].(string), token)
		if result, _ := job["result"].(map[string]any); job["status"] != "done" || result["text"] != "told" || result["tool_calls"] != json.Number("1") {
			t.Errorf("%s: %v %v", base, job["status"], job["result"])
		}
	}
	if n := tr.hits.Load(); n != 0 {
		t.Errorf("%d connections to addresses that are not permitted", n)
	}
}

// A redirect is an answer, never followed: neither a key nor a signature reaches the place it names (I7, D14).
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	var hits atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	t.Cleanup(elsewhere.Close)
	h := start(t, "", nil)
	h.withModel()
	token := h.client("crm", "*")
	for _, status := range []int{301, 302, 303, 307, 308} {
		front := httptest.NewServer(http.RedirectHandler(elsewhere.URL, status))
		t.Cleanup(front.Close)
		moved := numbered("moved", status)
		h.save("credentials", object{"name": moved, "kind": "chat", "base_url": front.URL, "api_key": modelKey, "default_model": "m"})
		h.save("tool-providers", object{"name": moved, "base_url": front.URL, "secret": secret, "spec_json": oneReadTool})
		h.route("model-"+moved, object{"target_config": object{"credential": moved}})
		h.route("tool-"+moved, object{"tools": object{"sources": []object{{"provider": moved, "allow": []string{"*"}}}}})
		model := h.submit(token, object{"request_id": "model-" + moved, "route": "model-" + moved, "input": "x"})
		tool := h.submit(token, object{"request_id": "tool-" + moved, "route": "tool-" + moved, "input": `[[tool read_thing {"id":"1"}]][[round]][[say told]]`})
		if job := h.finished(model["job_id"].(string), token); job["status"] != "error" {
			t.Errorf("%d from the model: %v", status, job["status"])
		}
		id := tool["job_id"].(string)
		if job := h.finished(id, token); job["status"] != "done" {
			t.Errorf("%d from the business: %v", status, job["status"])
		}
		rejected := false
		for _, e := range h.audit(id) {
			if d, _ := e["detail"].(map[string]any); e["event"] == "tool_result" {
				rejected = d["governance_state"] == "business_rejected" && d["status"] == float64(status)
			}
		}
		if !rejected {
			t.Errorf("%d from the business is not its refusal", status)
		}
	}
	if n := hits.Load(); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

// What a client puts into metadata can neither add a header to a signed request nor name a person in part: a subject that no
// header can carry is a call that is not made.
func TestSubjectsCannotInjectHeaders(t *testing.T) {
	t.Parallel()
	h := start(t, "", nil)
	h.withModel()
	b := startBusiness(t, secret)
	h.save("tool-providers", object{"name": "shop", "base_url": b.url, "secret": secret, "spec_json": oneReadTool})
	h.route("ask", object{"tools": object{"sources": []object{{"provider": "shop", "allow": []string{"*"}, "subject_field": "operator_uid"}}}})
	token := h.client("crm", "ask")
	for i, tc := range []struct {
		uid, want string
		sent      bool
	}{
		{"u_42", "u_42", true}, {" u_42 ", "u_42", true}, {"日本 é", "日本 é", true}, {"", "", true},
		{"u_42\r\nX-Evil: 1", "", false}, {"u_42\nX-Evil: 1", "", false}, {"u_42\u0000", "", false}, {"\u007f", "", false},
	} {
		o := h.submit(token, object{
			"request_id": numbered("job", i), "route": "ask", "metadata": object{"operator_uid": tc.uid},
			"input": `[[tool read_thing {"id":"1"}]][[round]][[say told]]`,
		})
		id := o["job_id"].(string)
		h.finished(id, token)
		calls := b.of(id)
		if sent := len(calls) == 1; sent != tc.sent || len(calls) > 1 {
			t.Errorf("%q: %d calls", tc.uid, len(calls))
			continue
		}
		for _, c := range calls {
			if got := c.header.Get("X-Bailing-On-Behalf-Of"); got != tc.want || !c.signed || c.header.Get("X-Evil") != "" {
				t.Errorf("%q: on behalf of %q, signed %v, %v", tc.uid, got, c.signed, c.header)
			}
		}
	}
}

// Arguments keep to their place in the request, whatever a model writes into them.
func TestArgumentsCannotLeaveTheirPlace(t *testing.T) {
	t.Parallel()
	h := start(t, "", nil)
	h.withModel()
	b := startBusiness(t, secret)
	h.save("tool-providers", object{"name": "shop", "base_url": b.url + "/prefix", "secret": secret, "spec_json": oneReadTool})
	h.route("ask", object{"tools": object{"sources": []object{{"provider": "shop", "allow": []string{"*"}}}}})
	token := h.client("crm", "ask")
	for i, tc := range []struct{ id, want string }{
		{"a/b", "/prefix/items/a%2Fb"}, {"a?b=c#d", "/prefix/items/a%3Fb%3Dc%23d"}, {"%2e%2e", "/prefix/items/%252e%252e"}, {"../x", ""},
		{"a\r\nX-Evil: 1", "/prefix/items/a%0D%0AX-Evil%3A%201"}, {"..", ""}, {".", ""}, {"", ""},
	} {
		o := h.submit(token, object{
			"request_id": numbered("job", i), "route": "ask",
			"input": `[[tool read_thing ` + asJSON(t, object{"id": tc.id}) + `]][[round]][[say told]]`,
		})
		id := o["job_id"].(string)
		h.finished(id, token)
		got := ""
		for _, c := range b.of(id) {
			got += c.uri
			if c.header.Get("X-Evil") != "" {
				t.Errorf("%q: a header was added", tc.id)
			}
		}
		if got != tc.want {
			t.Errorf("%q: sent to %q, want %q", tc.id, got, tc.want)
		}
	}
}
