package admin_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"bailing/functions/admin"
	"bailing/shared/account"
	"bailing/shared/permission"
	"bailing/shared/topology"
)

// send makes a call with headers, as pairs of name and value; a name may come twice.
func (h *hub) send(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body)) // to the host example.com, from 192.0.2.1
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
			continue
		}
		r.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

const ours = "https://example.com"

// account saves an account with a password and perms, "" for those of the role.
func (h *hub) account(t *testing.T, username string, role permission.Role, perms ...permission.Permission) {
	t.Helper()
	m := map[string]any{"username": username, "role": role, "password": "password of " + username}
	if len(perms) > 0 {
		m["perms"] = perms
	}
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	want(t, h.admin("POST", "/admin/api/admins", string(b)), 200, `{"ok":true,"username":"`+username+`"}`)
}

func cookies(w *httptest.ResponseRecorder) []*http.Cookie { return w.Result().Cookies() }

// enter logs an account in and returns its cookie as a request sends it.
func (h *hub) enter(t *testing.T, username string) string {
	t.Helper()
	w := h.send("POST", "/admin/login", `{"username":"`+username+`","password":"password of `+username+`"}`)
	if c := cookies(w); w.Code == 200 && len(c) == 1 {
		return c[0].Name + "=" + c[0].Value
	}
	t.Fatalf("%d %s, cookies %v", w.Code, w.Body, cookies(w))
	return ""
}

const unauthorized = `{"error":"unauthorized"}`

// The shapes are those of the recorded exchanges admin-login…, admin-me… and admin-logout (D36).
func TestFromLoginToLogout(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.account(t, "alice", "admin")
	w := h.send("POST", "/admin/login", `{"username":"alice","password":"password of alice"}`)
	want(t, w, 200, `{"ok":true,"username":"alice","display_name":"alice"}`)
	c := cookies(w)
	if len(c) != 1 || c[0].Name != "bz_sess" || len(c[0].Value) != 48 || c[0].Path != "/" || !c[0].HttpOnly || c[0].Secure ||
		c[0].SameSite != http.SameSiteLaxMode || c[0].MaxAge != 604800 || c[0].Domain != "" {
		t.Fatalf("cookies %v", c)
	}
	cookie := "bz_sess=" + c[0].Value
	want(t, h.send("GET", "/admin/api/me", "", "Cookie", cookie), 200,
		`{"username":"alice","via":"session","role":"admin","perms":["*"],"capabilities":{}}`, "capabilities")
	want(t, h.send("GET", "/admin/api/me", "", "Cookie", "theme=dark; "+cookie+"; other=1"), 200,
		`{"username":"alice","via":"session","role":"admin","perms":["*"],"capabilities":{}}`, "capabilities")
	want(t, h.admin("GET", "/admin/api/me", ""), 200,
		`{"username":"(token)","via":"token","role":"admin","perms":["*"],"capabilities":{}}`, "capabilities")
	want(t, h.send("GET", "/admin/api/me", ""), 401, unauthorized)

	w = h.send("POST", "/admin/logout", "", "Cookie", cookie)
	want(t, w, 200, `{"ok":true}`)
	if got := w.Header().Get("Set-Cookie"); got != "bz_sess=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax" {
		t.Errorf("cookie %q", got)
	}
	want(t, h.send("GET", "/admin/api/me", "", "Cookie", cookie), 401, unauthorized)
	want(t, h.send("POST", "/admin/logout", "", "Cookie", cookie), 200, `{"ok":true}`)
	want(t, h.send("POST", "/admin/logout", ""), 200, `{"ok":true}`)
}

func TestFailedLogins(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.account(t, "alice", "admin")
	for _, body := range []string{`{}`, ``, `{"username":"alice"}`, `{"password":"x"}`, `{"username":1,"password":"x"}`, `[]`, `{`} {
		if w := h.send("POST", "/admin/login", body); w.Code != 400 || len(cookies(w)) > 0 {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
	for range account.MaxFailures {
		w := h.send("POST", "/admin/login", `{"username":"alice","password":"wrong"}`)
		want(t, w, 401, `{"error":"wrong user name or password"}`)
		if len(cookies(w)) > 0 {
			t.Errorf("cookies %v", cookies(w))
		}
	}
	w := h.send("POST", "/admin/login", `{"username":"alice","password":"password of alice"}`,
		"X-Forwarded-For", "203.0.113.9") // says nothing about where it came from (D24)
	want(t, w, 429, `{"error":"too many failed logins; try again later","retry_after_ms":600000}`)
}

func TestTheCookieIsSecureWhenTheGatewaySaysSo(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.account(t, "alice", "admin")
	for _, c := range []struct {
		headers []string
		want    bool
	}{
		{nil, false},
		{[]string{"X-Forwarded-Proto", "http"}, false},
		{[]string{"X-Forwarded-Proto", "https"}, true},
		{[]string{"X-Forwarded-Proto", "HTTPS"}, true},
		{[]string{"X-Forwarded-Proto", "https, http"}, false},
		{[]string{"X-Forwarded-Proto", "https", "X-Forwarded-Proto", "http"}, false},
		{[]string{"X-Forwarded-Proto", "http, https"}, true},
		{[]string{"Forwarded", "proto=https"}, false},
	} {
		w := h.send("POST", "/admin/login", `{"username":"alice","password":"password of alice"}`, c.headers...)
		if got := cookies(w); len(got) != 1 || got[0].Secure != c.want {
			t.Errorf("%v: %v, want secure %v", c.headers, got, c.want)
		}
	}
}

// Core §0.2, and the recorded exchange admin-csrf.
func TestAWriteByCookieComesFromOurselves(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.account(t, "alice", "admin")
	cookie := h.enter(t, "alice")
	for _, c := range []struct {
		what    string
		headers []string
		allowed bool
	}{
		{"neither header", nil, false},
		{"our origin", []string{"Origin", "http://example.com"}, true},
		{"our origin over TLS", []string{"Origin", ours}, true},
		{"in another case", []string{"Origin", "HTTP://Example.COM"}, true},
		{"with the standard port", []string{"Origin", "https://example.com:443"}, true},
		{"with the port in the host", []string{"Host", "example.com:8787", "Origin", "http://example.com:8787"}, true},
		{"the standard port in the host", []string{"Host", "example.com:443", "Origin", ours}, true},
		{"another port", []string{"Origin", "https://example.com:8443"}, false},
		{"no port where the host has one", []string{"Host", "example.com:8787", "Origin", "http://example.com"}, false},
		{"the standard port of the other scheme", []string{"Origin", "https://example.com:80"}, false},
		{"IPv6", []string{"Host", "[::1]:8787", "Origin", "http://[::1]:8787"}, true},
		{"IPv6 in another spelling", []string{"Host", "[0:0:0:0:0:0:0:1]", "Origin", "http://[::1]"}, true},
		{"another IPv6", []string{"Host", "[::1]", "Origin", "http://[::2]"}, false},
		{"a foreign origin", []string{"Origin", "http://evil.example"}, false},
		{"our name below theirs", []string{"Origin", "https://example.com.evil.example"}, false},
		{"their name before ours", []string{"Origin", "https://evilexample.com"}, false},
		{"our name as their user", []string{"Origin", "https://example.com@evil.example"}, false},
		{"a user at our name", []string{"Origin", "https://evil@example.com"}, false},
		{"the opaque origin", []string{"Origin", "null"}, false},
		{"an empty origin", []string{"Origin", ""}, false},
		{"another scheme", []string{"Origin", "ftp://example.com"}, false},
		{"no scheme", []string{"Origin", "//example.com"}, false},
		{"no host", []string{"Origin", "https:///x"}, false},
		{"two origins", []string{"Origin", ours, "Origin", ours}, false},
		{"our referer", []string{"Referer", "https://example.com/console/routes?x=1"}, true},
		{"a foreign referer", []string{"Referer", "https://evil.example/https://example.com/"}, false},
		{"a foreign origin with our referer", []string{"Origin", "null", "Referer", ours + "/"}, false},
		{"our origin with a foreign referer", []string{"Origin", ours, "Referer", "https://evil.example/"}, true},
	} {
		before := len(h.store.Changes())
		w := h.send("POST", "/admin/pause", "", append(c.headers, "Cookie", cookie)...)
		if c.allowed {
			want(t, w, 200, `{"paused":true}`)
			continue
		}
		if w.Code != 403 || !strings.Contains(w.Body.String(), `{"error":"cross-site`) || len(h.store.Changes()) != before {
			t.Errorf("%s: %d %s", c.what, w.Code, w.Body)
		}
		if w := h.send("GET", "/admin/api/routes", "", append(c.headers, "Cookie", cookie)...); w.Code != 200 {
			t.Errorf("%s: reading answers %d", c.what, w.Code)
		}
	}
	for _, origin := range []string{"http://evil.example", "null"} {
		want(t, h.send("POST", "/admin/pause", "", "Authorization", "Bearer "+serverToken, "Origin", origin), 200, `{"paused":true}`)
	}
}

func TestAForeignPageLogsNobodyInOrOut(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.account(t, "alice", "admin")
	cookie := h.enter(t, "alice")
	for _, from := range []string{"http://evil.example", "null"} {
		for _, path := range []string{"/admin/login", "/admin/logout"} {
			w := h.send("POST", path, `{"username":"alice","password":"password of alice"}`, "Cookie", cookie, "Origin", from)
			if w.Code != 403 || w.Header().Get("Set-Cookie") != "" {
				t.Errorf("%s from %s: %d %v", path, from, w.Code, w.Header())
			}
		}
	}
	want(t, h.send("GET", "/admin/api/routes", "", "Cookie", cookie), 200, `[]`)
	want(t, h.send("POST", "/admin/logout", "", "Cookie", cookie, "Origin", ours), 200, `{"ok":true}`)
	want(t, h.send("GET", "/admin/api/routes", "", "Cookie", cookie), 401, unauthorized)
}

// Core §0.2: the cookie first, then the server token, then the tokens of clients.
func TestTheOrderOfIdentities(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.account(t, "viewer", "viewer")
	live := h.enter(t, "viewer")
	dead := "bz_sess=" + strings.Repeat("0", 48)
	client := h.client(t, `{"app_id":"ref-app","name":"a","allowed_routes":["*"]}`)
	onlyAdmins := `{"error":"this interface is for administrators only"}`
	for _, c := range []struct {
		what, cookie, token string
		status              int
		who                 string
	}{
		{"a live cookie goes before the server token", live, serverToken, 200, `"viewer"`},
		{"a live cookie goes before a client's token", live, client, 200, `"viewer"`},
		{"a dead cookie is as none", dead, serverToken, 200, `"(token)"`},
		{"what is no token is as none", "bz_sess=x", serverToken, 200, `"(token)"`},
		{"a dead cookie with a client's token", dead, client, 403, onlyAdmins},
		{"a dead cookie alone", dead, "", 401, unauthorized},
		{"another cookie", "session=" + live[8:], "", 401, unauthorized},
		{"a session's token as a bearer", "", live[8:], 401, unauthorized},
		{"the server token as a cookie", "bz_sess=" + serverToken, "", 401, unauthorized},
	} {
		headers := []string{"Authorization", "Bearer " + c.token}
		if c.cookie != "" {
			headers = append(headers, "Cookie", c.cookie)
		}
		w := h.send("GET", "/admin/api/me", "", headers...)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.who) {
			t.Errorf("%s: %d %s", c.what, w.Code, w.Body)
		}
	}
	w := h.send("POST", "/admin/pause", "", "Cookie", live, "Authorization", "Bearer "+serverToken, "Origin", ours)
	want(t, w, 403, `{"error":"this call needs the permission system:write"}`)
}

// Each role, and each permission alone, is refused everywhere but in its own rows; nothing is done before that.
func TestTheGateOfEveryRoute(t *testing.T) {
	t.Parallel()
	h := setup(t)
	sets := map[string][]permission.Permission{"kb-editor": permission.KBEditor.Permissions(), "viewer": permission.Viewer.Permissions()}
	h.account(t, "kb-editor", permission.KBEditor)
	h.account(t, "viewer", permission.Viewer)
	for _, p := range permission.Vocabulary() {
		if p != permission.All {
			name := strings.ReplaceAll(string(p), ":", "-")
			sets[name] = []permission.Permission{p}
			h.account(t, name, permission.Admin, p)
		}
	}
	fn, _ := topology.System().FunctionNamed("admin")
	before := len(h.store.Changes()) + len(h.accounts.Changes())
	for name, perms := range sets {
		cookie := h.enter(t, name)
		refused, admitted := 0, 0
		for _, r := range fn.Routes {
			if r.Auth == topology.Public {
				continue
			}
			below, _ := permission.Below(r.Path)
			need, _ := permission.Required(r.Method, below)
			if permission.Set(perms).Has(need...) {
				admitted++
				continue
			}
			refused++
			w := h.send(r.Method, strings.NewReplacer("{job}", job, "{", "", "}", "").Replace(r.Path), "{}", "Cookie", cookie, "Origin", ours)
			var answer map[string]string
			if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != 403 || len(answer) != 1 || !strings.Contains(answer["error"], "permission") {
				t.Errorf("%s: %s %s answers %d %s", name, r.Method, r.Path, w.Code, w.Body)
			}
		}
		if refused == 0 || admitted < 3 { // me, capabilities, password
			t.Errorf("%s: %d refused, %d admitted", name, refused, admitted)
		}
	}
	if n := len(h.store.Changes()) + len(h.accounts.Changes()); n != before {
		t.Errorf("%d changes were made", n-before)
	}
}

func TestWhatARoleAdmits(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.account(t, "clerk", "viewer", "routes:read", "system:write")
	cookie := h.enter(t, "clerk")
	want(t, h.send("GET", "/admin/api/routes", "", "Cookie", cookie), 200, `[]`)
	want(t, h.send("POST", "/admin/pause", "", "Cookie", cookie, "Origin", ours), 200, `{"paused":true}`)
	want(t, h.send("GET", "/admin/api/clients", "", "Cookie", cookie), 403, `{"error":"this call needs the permission clients:read"}`)
	want(t, h.send("GET", "/admin/api/me", "", "Cookie", cookie), 200,
		`{"username":"clerk","via":"session","role":"viewer","perms":["routes:read","system:write"],"capabilities":{}}`, "capabilities")
	want(t, h.send("GET", "/admin/api/none", "", "Cookie", cookie), 404, `{"error":"not found"}`)
	want(t, h.send("GET", "/admin/api/none", ""), 404, `{"error":"not found"}`)
}

func TestAuditRecordsNameTheUser(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.account(t, "alice", "admin")
	cookie := h.enter(t, "alice")
	h.send("POST", "/admin/pause", "", "Cookie", cookie, "Origin", ours)
	h.send("POST", "/admin/api/targets", `{"name":"ref-exec","kind":"executor"}`, "Cookie", cookie, "Origin", ours)
	h.send("POST", "/admin/api/admins", `{"username":"bob","role":"viewer"}`, "Cookie", cookie, "Origin", ours)
	h.send("DELETE", "/admin/api/admins/BOB", "", "Cookie", cookie, "Origin", ours)
	h.send("POST", "/admin/api/password", `{"old_password":"password of alice","new_password":"new password"}`, "Cookie", cookie, "Origin", ours)
	var got []string
	for _, c := range append(h.store.Changes(), h.accounts.Changes()...) {
		got = append(got, c.By+" "+c.Method+" "+c.Path)
	}
	wanted := "alice POST pause, alice POST targets, token POST admins, alice POST admins, alice DELETE admins/BOB, alice POST password"
	if s := strings.Join(got, ", "); s != wanted {
		t.Errorf("%s\nwant %s", s, wanted)
	}
}

func TestTheAccountsOfAdministrators(t *testing.T) {
	t.Parallel()
	h := setup(t)
	want(t, h.admin("GET", "/admin/api/admins", ""), 200, `[]`)
	w := h.admin("POST", "/admin/api/admins", `{"username":"Alice","role":"admin","display_name":"Alice A."}`)
	want(t, w, 200, `{"ok":true,"username":"alice"}`, "password")
	var saved struct{ Password string }
	if err := json.Unmarshal(w.Body.Bytes(), &saved); err != nil || len(saved.Password) < 20 {
		t.Fatalf("%s: %v", w.Body, err)
	}
	login := h.send("POST", "/admin/login", `{"username":"alice","password":"`+saved.Password+`"}`)
	want(t, login, 200, `{"ok":true,"username":"alice","display_name":"Alice A."}`)
	h.account(t, "bob", "viewer", "runs:read", "runs:write")
	at := `"created_at":"2026-11-30T15:52:48.906Z","updated_at":"2026-11-30T15:52:48.906Z"`
	want(t, h.admin("GET", "/admin/api/admins", ""), 200,
		`[{"username":"alice","display_name":"Alice A.","role":"admin","enabled":true,`+at+`},
		  {"username":"bob","display_name":"bob","role":"viewer","perms":["runs:read","runs:write"],"enabled":true,`+at+`}]`)
	for range 2 {
		want(t, h.admin("DELETE", "/admin/api/admins/BOB", ""), 200, `{"ok":true}`)
	}
	for call, status := range map[string]int{
		"DELETE /admin/api/admins/alice": 409, "DELETE /admin/api/admins/a": 400, "PUT /admin/api/admins/alice": 404, "GET /admin/api/admins/alice": 404,
	} {
		method, path, _ := strings.Cut(call, " ")
		if w := h.admin(method, path, ""); w.Code != status || !strings.Contains(w.Body.String(), `"error":"`) {
			t.Errorf("%s: %d %s, want %d", call, w.Code, w.Body, status)
		}
	}
	if w := h.admin("POST", "/admin/api/admins", `{"username":"bob","role":"owner"}`); w.Code != 400 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestWhoHasAPassword(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.account(t, "alice", "viewer")
	mine, other := h.enter(t, "alice"), h.enter(t, "alice")
	change := func(body string, headers ...string) *httptest.ResponseRecorder {
		return h.send("POST", "/admin/api/password", body, headers...)
	}
	good := `{"old_password":"password of alice","new_password":"new password"}`
	if w := change(good, "Authorization", "Bearer "+serverToken); w.Code != 403 {
		t.Errorf("the server token: %d %s", w.Code, w.Body)
	}
	want(t, change(`{"old_password":"wrong","new_password":"new password"}`, "Cookie", mine, "Origin", ours), 401, `{"error":"the old password is wrong"}`)
	want(t, change(good, "Cookie", mine, "Origin", ours), 200, `{"ok":true}`)
	if w := h.send("GET", "/admin/api/me", "", "Cookie", mine); w.Code != 200 {
		t.Errorf("the session that changed it: %d", w.Code)
	}
	want(t, h.send("GET", "/admin/api/me", "", "Cookie", other), 401, unauthorized)
}

func TestAnExtendedSessionGetsItsCookieAnew(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.account(t, "alice", "admin")
	cookie := h.enter(t, "alice")
	if w := h.send("GET", "/admin/api/routes", "", "Cookie", cookie); len(cookies(w)) != 0 {
		t.Errorf("cookies %v", cookies(w))
	}
	h.clock.Advance(6 * 24 * time.Hour)
	if w := h.send("POST", "/admin/pause", "", "Cookie", cookie, "Origin", "null"); w.Code != 403 || len(cookies(w)) != 0 {
		t.Errorf("%d, cookies %v", w.Code, cookies(w))
	}
	h.clock.Advance(2 * time.Hour)
	w := h.send("GET", "/admin/api/routes", "", "Cookie", cookie)
	if c := cookies(w); len(c) != 1 || "bz_sess="+c[0].Value != cookie || c[0].MaxAge != 604800 || !c[0].HttpOnly {
		t.Errorf("cookies %v", c)
	}
}

func TestCapabilitiesNameWhatExists(t *testing.T) {
	t.Parallel()
	h := setup(t)
	w := h.admin("GET", "/admin/api/capabilities", "")
	var got struct {
		Edition, Console string
		Modules          []string
		Limits           map[string]any
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got.Edition != "oss" || got.Console != "single" || got.Limits == nil {
		t.Fatalf("%s: %v", w.Body, err)
	}
	has := " " + strings.Join(got.Modules, " ") + " "
	for module, there := range map[string]bool{
		"routes": true, "clients": true, "targets": true, "tools": true, "credentials": true, "runs": true, "system": true, "accounts": true, "approvals": true,
		"chat": false, "channels": false, "kb": false, "storage": false, "projects": false, "executors": false, "cost": true, "settings": false,
	} {
		if strings.Contains(has, " "+module+" ") != there {
			t.Errorf("modules %v, %s: want %v", got.Modules, module, there)
		}
	}
}

// Without a server token administrators still get in.
func TestSessionsNeedNoServerToken(t *testing.T) {
	t.Parallel()
	h := setup(t, func(d *admin.Deps) {
		h := setup(t)
		h.account(t, "alice", "admin")
		d.ServerToken = ""
		d.Accounts = account.NewService(account.Options{Store: h.accounts, Clock: h.clock, Random: strings.NewReader(strings.Repeat("r", 1<<10))})
	})
	cookie := h.enter(t, "alice")
	want(t, h.send("GET", "/admin/api/routes", "", "Cookie", cookie), 200, `[]`)
}
