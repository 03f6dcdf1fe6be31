package admin_test

import (
	"net/http"
	"strings"
	"testing"

	"bailing/shared/lambdahttp"
)

func TestAutoPreview(t *testing.T) {
	t.Parallel()
	h := setup(t)
	save := func(kind, body string) {
		t.Helper()
		if w := h.admin(http.MethodPost, "/admin/api/"+kind, body); w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", body, w.Code, w.Body)
		}
	}
	save("targets", `{"name":"desk-pc","kind":"executor"}`)
	save("routes", `{"route_key":"depot","name":"Depot","target":"desk-pc","session_policy":"new","audience":{"keywords":["stock"],"roles":["clerk"]}}`)
	save("clients", `{"app_id":"crm","name":"CRM","allowed_routes":["*"]}`)
	changes := len(h.store.Changes())

	const path = "/admin/api/routes/auto-preview"
	w := h.admin(http.MethodPost, path, `{"text":"Is it in STOCK?","metadata":{"uid":7,"role":"clerk"},"client_id":"crm"}`)
	want(t, w, http.StatusOK, `{"mode":"auto","ok":true,"route_key":"depot","candidates":[{"route_key":"depot","score":12,"reasons":["keywords","role"]}],
		"routes":[{"route_key":"depot","name":"Depot","score":12,"reasons":["keywords","role"]}],
		"principal":{"id":"7","roles":["clerk"],"client_app_id":"crm"},"client":{"app_id":"crm","name":"CRM","enabled":true}}`)
	w = h.admin(http.MethodPost, path, `{"input":"Is it in stock?"}`)
	want(t, w, http.StatusOK, `{"mode":"auto","ok":false,"candidates":[],"error":"route_auto_no_match",
		"routes":[{"route_key":"depot","name":"Depot","rejected_reason":"route_requires_principal"}],"principal":null,"client":null}`)

	for body, status := range map[string]int{
		`{`: 400, `{}`: 400, `{"input":"a","input":"b"}`: 400, `{"input":"a","client_id":"nobody"}`: 400,
		strings.Repeat(" ", lambdahttp.DefaultBodyMax+1): 413,
	} {
		if w := h.admin(http.MethodPost, path, body); w.Code != status {
			t.Errorf("%.40s: %d %s, want %d", body, w.Code, w.Body, status)
		}
	}
	if w := h.call(http.MethodPost, path, "", `{"input":"a"}`); w.Code != http.StatusUnauthorized {
		t.Errorf("without a credential: %d", w.Code)
	}
	if got := len(h.store.Changes()); got != changes {
		t.Errorf("%d changes were recorded: a preview reads", got-changes)
	}
}
