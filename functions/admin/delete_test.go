package admin_test

import (
	"strings"
	"testing"
)

func TestObjectsAreDeletedInTheOrderOfTheirReferences(t *testing.T) {
	t.Parallel()
	h := configured(t)
	refused := `{"error":"","referred_by":["desk"]}`
	want(t, h.admin("DELETE", "/admin/api/targets/exec", ""), 409, refused, "error")
	want(t, h.admin("DELETE", "/admin/api/tool-providers/shop", ""), 409, refused, "error")
	if w := h.admin("DELETE", "/admin/api/routes/desk", ""); w.Code != 200 || !strings.Contains(w.Body.String(), `"warnings":["the client crm `) {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	for _, path := range []string{"targets/exec", "tool-providers/shop", "clients/crm", "routes/desk", "credentials/none", "targets/X%20Y"} {
		for range 2 {
			want(t, h.admin("DELETE", "/admin/api/"+path, ""), 200, `{"ok":true}`)
		}
	}
	for _, kind := range []string{"tool-providers", "routes", "clients", "credentials"} {
		want(t, h.admin("GET", "/admin/api/"+kind, ""), 200, `[]`)
	}
	changes := h.store.Changes()
	if c := changes[len(changes)-1]; c.Event != "" || c.Method != "DELETE" || c.Path != "credentials/none" {
		t.Fatalf("audit record %+v", c)
	}
}

func TestADeletedClientIsRefusedWithTheNextRequest(t *testing.T) {
	t.Parallel()
	h := setup(t)
	token := h.client(t, `{"app_id":"crm","name":"CRM","allowed_routes":["*"]}`)
	if w := h.call("GET", "/admin/api/routes", "Bearer "+token, ""); w.Code != 403 {
		t.Fatalf("a live client: %d", w.Code)
	}
	h.admin("DELETE", "/admin/api/clients/crm", "")
	if w := h.call("GET", "/admin/api/routes", "Bearer "+token, ""); w.Code != 401 {
		t.Fatalf("a deleted client: %d %s", w.Code, w.Body)
	}
}

func TestASaveOfAnotherRevisionIsAConflict(t *testing.T) {
	t.Parallel()
	h := configured(t)
	const target = `{"name":"exec","kind":"executor","timeout_ms":7,"expected_revision":`
	want(t, h.admin("POST", "/admin/api/targets", target+`""}`), 409, `{"error":"","reason":"revision_conflict"}`, "error")
	want(t, h.admin("POST", "/admin/api/targets", target+`"`+strings.Repeat("0", 64)+`"}`), 409, `{"error":"","reason":"revision_conflict"}`, "error")
	want(t, h.admin("POST", "/admin/api/targets", target+`null}`), 200, `{"ok":true}`)
}
