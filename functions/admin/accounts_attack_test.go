package admin_test

import (
	"crypto/rand"
	"net/http"
	"strings"
	"testing"
	"time"

	"bailing/functions/admin"
	"bailing/shared/account"
	"bailing/shared/account/accounttest"
	"bailing/shared/topology"
)

// A login takes a new session, whatever the browser held before.
func TestALoginFixesNoSession(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.account(t, "alice", "admin")
	h.account(t, "mallory", "viewer")
	for _, planted := range []string{h.enter(t, "mallory"), "bz_sess=" + strings.Repeat("a", 48)} {
		w := h.send("POST", "/admin/login", `{"username":"alice","password":"password of alice"}`, "Cookie", planted)
		if c := cookies(w); w.Code != 200 || len(c) != 1 || "bz_sess="+c[0].Value == planted {
			t.Fatalf("%d %v", w.Code, c)
		}
		if w := h.send("GET", "/admin/api/me", "", "Cookie", planted); strings.Contains(w.Body.String(), "alice") {
			t.Errorf("the planted token is %s", w.Body)
		}
	}
}

func TestNoHeaderChangesHostAddressOrMethod(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.account(t, "viewer", "viewer")
	h.account(t, "alice", "admin")
	cookie, viewer := h.enter(t, "alice"), h.enter(t, "viewer")
	for _, name := range []string{"X-Forwarded-Host", "X-Host", "X-Original-Host", "Forwarded", "X-Http-Host-Override"} {
		value := "evil.example"
		if name == "Forwarded" {
			value = "host=evil.example"
		}
		if w := h.send("POST", "/admin/pause", "", "Cookie", cookie, "Origin", "https://evil.example", name, value); w.Code != 403 {
			t.Errorf("%s: %d", name, w.Code)
		}
	}
	for _, name := range []string{"X-Http-Method-Override", "X-Method-Override", "X-Http-Method"} {
		for _, send := range [][2]string{{"GET", "DELETE"}, {"POST", "GET"}} {
			w := h.send(send[0], "/admin/api/routes/x?_method="+send[1], `{}`, "Cookie", viewer, "Origin", ours, name, send[1])
			if w.Code != 404 {
				t.Errorf("%s as %s by %s: %d", send[0], send[1], name, w.Code)
			}
		}
	}
	for i, name := range []string{"X-Forwarded-For", "X-Real-Ip", "True-Client-Ip", "Cf-Connecting-Ip", "Forwarded", "Client-Ip"} {
		w := h.send("POST", "/admin/login", `{"username":"alice","password":"wrong password"}`, name, "203.0.113.9")
		if throttled := w.Code == 429; throttled != (i >= account.MaxFailures) {
			t.Errorf("%s: try %d answers %d", name, i+1, w.Code)
		}
	}
}

// The router has decided what is asked for before anything looks at permissions.
func TestNoSpellingOfAPathChoosesAnotherPermission(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.account(t, "viewer", "viewer")
	h.account(t, "reader", "viewer", "clients:read", "tools:read", "routes:read")
	h.client(t, `{"app_id":"crm","name":"CRM","allowed_routes":["*"]}`)
	h.admin("POST", "/admin/api/tool-providers", `{"name":"shop","base_url":"https://biz.example","secret":"provider-secret-0123456789"}`)
	viewer, reader := h.enter(t, "viewer"), h.enter(t, "reader")
	before := len(h.store.Changes())
	for _, path := range []string{
		"/admin/api/clients/crm/token", "/admin/api/clients/crm/token/", "/admin/api/clients/crm%2Ftoken", "/admin/api/clients/crm//token",
		"/admin/api/clients//crm/token", "/admin/api/runs/../clients/crm/token", "/admin/api/runs/%2e%2e/clients/crm/token",
		"/admin//api/clients/crm/token", "/admin/api/clients/crm/%74oken", "/admin/api/%63lients/crm/token", "/ADMIN/api/clients/crm/token",
		"/admin/api/clients/crm/token;x", "/admin/api/clients/crm/token%00", "/admin/api/clients/crm/token%2F", "/admin/api/clients/./crm/token",
		"/admin/api/tool-providers/shop/secret", "/admin/api/tool-providers/shop/secret/", "/admin/api/tool-providers/shop/%73ecret",
		"/admin/api/config-audit", "/admin/api/config-audit/", "/admin/api/runs/..%2Fconfig-audit", "/admin/api/admins", "/admin/api/admins/",
	} {
		for name, cookie := range map[string]string{"viewer": viewer, "reader": reader} {
			for _, method := range []string{"GET", "HEAD", "OPTIONS", "TRACE", "get"} {
				w := h.send(method, path, "", "Cookie", cookie, "Origin", ours)
				if w.Code != 403 && w.Code != 404 && w.Code != 400 || strings.Contains(w.Body.String(), "provider-secret") {
					t.Errorf("%s: %s %s answers %d %s", name, method, path, w.Code, w.Body)
				}
			}
		}
	}
	if n := len(h.store.Changes()); n != before {
		t.Errorf("%d changes or reveals are on record", n-before)
	}
}

// DynamoDB deletes a row up to days after its time; until then it is there.
func TestARowThatOutlivesItsTimeIsDead(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.account(t, "alice", "admin")
	cookie := h.enter(t, "alice")
	h.clock.Advance(account.SessionLife)
	for range 3 {
		w := h.send("GET", "/admin/api/me", "", "Cookie", cookie)
		if w.Code != http.StatusUnauthorized || len(cookies(w)) != 0 {
			t.Fatalf("%d %v", w.Code, cookies(w))
		}
	}
	h.clock.Advance(-time.Millisecond) // the clock of another instance
	if w := h.send("GET", "/admin/api/me", "", "Cookie", cookie); w.Code != 200 {
		t.Errorf("one millisecond before its end: %d", w.Code)
	}
}

// A failed login says the same whoever is meant, but for the time and the request's id.
func TestEveryFailedLoginLooksTheSame(t *testing.T) {
	t.Parallel()
	h := setup(t, func(d *admin.Deps) {
		d.Accounts = account.NewService(account.Options{Store: accounttest.NewStore(), Random: rand.Reader, Cost: accounttest.Cheap})
	})
	h.account(t, "alice", "admin")
	h.account(t, "gone", "viewer")
	want(t, h.admin("POST", "/admin/api/admins", `{"username":"gone","role":"viewer","enabled":false}`), 200, `{"ok":true,"username":"gone"}`)
	first := ""
	for _, name := range []string{"alice", "ALICE", "gone", "nobody", " alice", "alice ", "a", "älice", strings.Repeat("x", 5000), "token", `a\u0000`} {
		var got string
		for range account.MaxFailures + 1 {
			w := h.send("POST", "/admin/login", `{"username":"`+name+`","password":"wrong password"}`)
			got += w.Result().Status + " " + strings.Join(w.Result().Header["Content-Type"], "") + w.Header().Get("Set-Cookie")
			if w.Code == 401 {
				got += w.Body.String()
			}
		}
		if name == "ALICE" { // of one throttle with alice
			continue
		}
		if first == "" {
			first = got
		}
		if got != first {
			t.Errorf("%.20q: %s\nwant %s", name, got, first)
		}
	}
}

// Everything of the administration but the way in and out asks who calls.
func TestOnlyLoginAndLogoutArePublic(t *testing.T) {
	t.Parallel()
	var public []string
	for _, f := range topology.System().Functions {
		for _, r := range f.Routes {
			if r.Auth != topology.Admin && strings.HasPrefix(r.Path, "/admin") {
				public = append(public, r.Method+" "+r.Path)
			}
		}
	}
	if got := strings.Join(public, ", "); got != "POST /admin/login, POST /admin/logout" {
		t.Error(got)
	}
}
