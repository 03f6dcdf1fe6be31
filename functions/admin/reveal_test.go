package admin_test

import (
	"errors"
	"strings"
	"testing"
)

// The members are those of the recorded exchanges admin-client-reveal and provider-secret (D36).
func TestSecretsAreRevealedAndThatIsOnRecord(t *testing.T) {
	t.Parallel()
	h := setup(t)
	token := h.client(t, `{"app_id":"crm","name":"CRM","allowed_routes":["*"]}`)
	h.admin("POST", "/admin/api/tool-providers", `{"name":"shop","base_url":"https://biz.example","secret":"provider-secret-0123456789"}`)
	for path, answer := range map[string]string{
		"clients/crm/token":          `{"app_id":"crm","token":"` + token + `"}`,
		"tool-providers/shop/secret": `{"name":"shop","secret":"provider-secret-0123456789"}`,
	} {
		want(t, h.admin("GET", "/admin/api/"+path, ""), 200, answer)
		changes := h.store.Changes()
		if c := changes[len(changes)-1]; !strings.HasSuffix(c.Event, "_revealed") || c.Method != "GET" || c.Path != path {
			t.Errorf("%s: audit record %+v", path, c)
		}
	}
	h.store.BeforeNote = func(string) error { return errors.New("the ledger is away") }
	for _, path := range []string{"clients/crm/token", "tool-providers/shop/secret"} {
		if w := h.admin("GET", "/admin/api/"+path, ""); w.Code != 500 || strings.Contains(w.Body.String(), token) || strings.Contains(w.Body.String(), "provider-secret") {
			t.Errorf("%s without a record: %d %s", path, w.Code, w.Body)
		}
	}
	want(t, h.admin("GET", "/admin/api/clients/nobody/token", ""), 404, `{"error":"client_not_found"}`)
	want(t, h.admin("GET", "/admin/api/tool-providers/nobody/secret", ""), 404, `{"error":"the tool provider does not exist"}`)
}
