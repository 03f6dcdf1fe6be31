package admin_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// configured has a route that agents can use, and what it refers to.
func configured(t *testing.T) *hub {
	t.Helper()
	h := setup(t)
	for path, body := range map[string]string{
		"targets":        `{"name":"exec","kind":"executor"}`,
		"tool-providers": `{"name":"shop","base_url":"https://biz.example","secret":"provider-secret-0123456789"}`,
		"clients":        `{"app_id":"crm","name":"CRM","allowed_routes":["desk"],"agent_authorize_url":"https://crm.example/agent"}`,
	} {
		if w := h.admin("POST", "/admin/api/"+path, body); w.Code != 200 {
			t.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	w := h.admin("POST", "/admin/api/routes", `{"route_key":"desk","name":"Desk","target":"exec","session_policy":"new","permission":"full",
		"tools":{"sources":[{"provider":"shop","allow":["a.*"]}],"max_calls":9}}`)
	if w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return h
}

// revision reads the revision of a setup.
func (h *hub) revision(t *testing.T, path string) string {
	t.Helper()
	var setup struct{ Revision string }
	w := h.admin("GET", path, "")
	if err := json.Unmarshal(w.Body.Bytes(), &setup); err != nil || w.Code != 200 || len(setup.Revision) != 64 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return setup.Revision
}

func TestARouteSetupIsReadAndWritten(t *testing.T) {
	t.Parallel()
	h := configured(t)
	const path = "/admin/api/routes/desk/agent-setup"
	want(t, h.admin("GET", path, ""), 200, `{"route_key":"desk","name":"Desk","enabled":true,"permission":"full","revision":"",
		"agent_client":null,"tool_sources":[{"provider":"shop","allow":["a.*"]}],"agent_direct":null}`, "revision")
	revision := h.revision(t, path)
	body := `{"expected_revision":"` + revision + `","agent_client":{"enabled":true},"tool_sources":[],"agent_direct":{"enabled":true,"write_tools":["pay"]}}`
	saved := h.admin("PUT", path, body)
	want(t, saved, 200, `{"route_key":"desk","name":"Desk","enabled":true,"permission":"full","revision":"",
		"agent_client":{"enabled":true},"tool_sources":[],"agent_direct":{"enabled":true,"write_tools":["pay"]}}`, "revision")
	if got := h.admin("GET", path, "").Body.String(); got != saved.Body.String() {
		t.Fatalf("the answer %s is not what is read, %s", saved.Body, got)
	}
	want(t, h.admin("PUT", path, body), 409, `{"error":"agent_setup_conflict","message":""}`, "message")
	changes := h.store.Changes()
	if c := changes[len(changes)-1]; c.Method != "PUT" || c.Path != "routes/desk/agent-setup" {
		t.Fatalf("audit record %+v", c)
	}
}

func TestAClientSetupIsReadAndWritten(t *testing.T) {
	t.Parallel()
	h := configured(t)
	const path = "/admin/api/clients/crm/agent-setup"
	want(t, h.admin("GET", path, ""), 200, `{"app_id":"crm","name":"CRM","enabled":true,"agent_authorize_url":"https://crm.example/agent","allowed_routes":["desk"],"revision":""}`, "revision")
	body := `{"expected_revision":"` + h.revision(t, path) + `","enabled":false,"agent_authorize_url":null,"allowed_routes":["*"]}`
	want(t, h.admin("PUT", path, body), 200, `{"app_id":"crm","name":"CRM","enabled":false,"agent_authorize_url":null,"allowed_routes":["*"],"revision":""}`, "revision")
	want(t, h.admin("PUT", path, body), 409, `{"error":"agent_setup_conflict","message":""}`, "message")
}

func TestWhatExistsIsSaidBeforeTheBodyIsRead(t *testing.T) {
	t.Parallel()
	h := configured(t)
	for path, answer := range map[string]string{
		"/admin/api/routes/none/agent-setup":    `{"error":"route_not_found"}`,
		"/admin/api/routes/x%20y/agent-setup":   `{"error":"invalid_request","message":"the route key is malformed"}`,
		"/admin/api/clients/nobody/agent-setup": `{"error":"client_not_found"}`,
	} {
		status := 404
		if strings.Contains(answer, "invalid") {
			status = 400
		}
		want(t, h.admin("GET", path, ""), status, answer)
		want(t, h.admin("PUT", path, `{`), status, answer)
		want(t, h.admin("PUT", path, strings.Repeat(" ", 300<<10)), status, answer)
	}
}

func TestTheBodyOfASetup(t *testing.T) {
	t.Parallel()
	h := configured(t)
	for path, tc := range map[string]struct {
		max  int
		code string
	}{
		"/admin/api/routes/desk/agent-setup": {256 << 10, "invalid_request"},
		"/admin/api/clients/crm/agent-setup": {32 << 10, "invalid_agent_setup"},
	} {
		for _, body := range []string{``, `{`, `null`, `"x"`, `{"expected_revision":1,"expected_revision":2}`, strings.Repeat(" ", tc.max-2) + "{}"} {
			want(t, h.admin("PUT", path, body), 400, `{"error":"`+tc.code+`","message":""}`, "message")
		}
		w := h.admin("PUT", path, strings.Repeat(" ", tc.max-1)+"{}")
		var answer struct {
			Error string
			Max   int `json:"max_bytes"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != 413 || answer.Error != "payload too large" || answer.Max != tc.max {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

func TestOtherMethodsOfASetupAreNotFound(t *testing.T) {
	t.Parallel()
	h := configured(t)
	for _, method := range []string{"POST", "DELETE", "PATCH"} {
		for _, path := range []string{"/admin/api/routes/desk/agent-setup", "/admin/api/clients/crm/agent-setup"} {
			if w := h.admin(method, path, `{}`); w.Code != 404 {
				t.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
			}
		}
	}
}

func TestTheOverviewTakesItsDaysFromTheQuery(t *testing.T) {
	t.Parallel()
	h := configured(t)
	for query, days := range map[string]float64{"": 30, "?days=7": 7, "?days=0": 1, "?days=91": 90, "?days=": 30, "?days=week": 30, "?days=99999999999999999999": 30} {
		var answer map[string]any
		w := h.admin("GET", "/admin/api/agent-clients/overview"+query, "")
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != 200 || answer["days"] != days {
			t.Errorf("%q: %d %s", query, w.Code, w.Body)
		}
	}
}
