package conformance_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// login opens a session and returns its cookie.
func (h *hub) login(username, password string) string {
	h.t.Helper()
	a := h.do(http.MethodPost, "/admin/login", asJSON(h.t, object{"username": username, "password": password}), "Content-Type", "application/json")
	if a.status != http.StatusOK {
		h.t.Fatalf("login %s: %d %s", username, a.status, cut(a.body))
	}
	cookie, _, _ := strings.Cut(a.header.Get("Set-Cookie"), ";")
	return cookie
}

// Configuration is read, never cached (architecture §3): what is switched off or replaced bites on the next request.
func TestWhatIsSwitchedOffBitesOnTheNextRequest(t *testing.T) {
	t.Parallel()
	h := start(t, "", nil)
	h.withModel()
	b := startBusiness(t, secret)
	provider := object{"name": "shop", "base_url": b.url, "secret": secret, "spec_json": oneReadTool}
	h.save("tool-providers", provider)
	h.route("ask", object{"tools": object{"sources": []object{{"provider": "shop", "allow": []string{"*"}}}}})
	token := h.client("crm", "ask")
	n := 0
	run := func(token string) answer {
		n++
		return h.post("/run", token, asJSON(t, object{
			"request_id": fmt.Sprint("r", n), "route": "ask", "input": `[[tool read_thing {"id":"1"}]][[round]][[say done]]`,
		}))
	}
	want := func(what string, a answer, status int) {
		t.Helper()
		if a.status != status {
			t.Errorf("%s: %d %s, want %d", what, a.status, cut(a.body), status)
		}
	}
	// calls is how many requests reach the business for a job that is run now.
	calls := func() int {
		before := b.total()
		id := run(token).object(t)["job_id"].(string)
		h.await(id, token, terminal)
		return b.total() - before
	}
	if got := calls(); got != 1 {
		t.Fatalf("%d calls of the business", got)
	}

	provider["enabled"] = false
	h.save("tool-providers", provider)
	if got := calls(); got != 0 {
		t.Errorf("a disabled provider was called %d times", got)
	}
	provider["enabled"] = true
	h.save("tool-providers", provider)
	if got := calls(); got != 1 {
		t.Errorf("a provider that is enabled again was called %d times", got)
	}

	h.route("ask", object{"enabled": false})
	if a := run(token); a.status < 400 {
		t.Errorf("a disabled route: %d %s", a.status, cut(a.body))
	}
	h.route("ask", nil)
	want("a route that is enabled again", run(token), http.StatusAccepted)

	client := object{"app_id": "crm", "name": "crm", "allowed_routes": []string{"ask"}, "rate_limit_per_min": 0, "enabled": false}
	h.save("clients", client)
	want("a disabled client", run(token), http.StatusUnauthorized)
	client["enabled"] = true
	h.save("clients", client)
	want("a client that is enabled again", run(token), http.StatusAccepted)
	client["rotate_token"] = true
	rotated := h.save("clients", client)["token"].(string)
	want("a replaced token", run(token), http.StatusUnauthorized)
	want("the new token", run(rotated), http.StatusAccepted)
	if a := h.do(http.MethodDelete, "/admin/api/clients/crm", "", "Authorization", "Bearer "+h.admin); a.status != http.StatusOK {
		t.Errorf("delete: %d %s", a.status, cut(a.body))
	}
	want("a deleted client's token", run(rotated), http.StatusUnauthorized)
}

func TestAnAccountThatIsChangedBitesOnTheNextRequest(t *testing.T) {
	t.Parallel()
	h := start(t, "", nil)
	h.save("admins", object{"username": "in-charge", "role": "admin", "password": "one who stays"})
	account := object{"username": "jo", "role": "admin", "password": "a long password"}
	h.save("admins", account)
	session := h.login("jo", "a long password")
	read := func() int { return h.do(http.MethodGet, "/admin/api/routes", "", "Cookie", session).status }
	if got := read(); got != http.StatusOK {
		t.Fatalf("status %d", got)
	}
	change := func(members object) {
		t.Helper()
		o := object{"username": "jo", "role": "admin"}
		for k, v := range members {
			o[k] = v
		}
		h.save("admins", o)
	}
	change(object{"role": "viewer"})
	if got := read(); got != http.StatusForbidden {
		t.Errorf("a demoted account reads routes: %d", got)
	}
	change(nil)
	if got := read(); got != http.StatusOK {
		t.Errorf("a promoted account reads no routes: %d", got)
	}
	change(object{"password": "another password"})
	if got := read(); got != http.StatusUnauthorized {
		t.Errorf("a session survived a new password: %d", got)
	}
	session = h.login("jo", "another password")
	change(object{"enabled": false})
	if got := read(); got != http.StatusUnauthorized {
		t.Errorf("a session of a disabled account: %d", got)
	}
	change(object{"enabled": true})
	if got := read(); got != http.StatusUnauthorized {
		t.Errorf("a session that ended lives again: %d", got)
	}
	session = h.login("jo", "another password")
	if a := h.do(http.MethodDelete, "/admin/api/admins/jo", "", "Authorization", "Bearer "+h.admin); a.status != http.StatusOK {
		t.Fatalf("delete: %d %s", a.status, cut(a.body))
	}
	if got := read(); got != http.StatusUnauthorized {
		t.Errorf("a session of a deleted account: %d", got)
	}
}
