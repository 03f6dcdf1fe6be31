package admin_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"bailing/functions/admin"
	"bailing/shared/job/jobtest"
	"bailing/shared/topology"
)

// I10, over the wired function: every route, good and bad calls, their answers, logs, metrics and audit records. What the contract asks
// for is shown by the call that it asks for, and by no other one.
func TestNoSecretShowsOverAWholeRun(t *testing.T) {
	t.Parallel()
	const bootPassword, newPassword = "canary-bootstrap-password", "canary-new-password"
	const apiKey, secret = "canary-api-key-0123456789", "canary-provider-secret-0123456789"
	w := jobtest.New(t)
	w.Platform.Config.BootstrapUsername, w.Platform.Config.BootstrapPassword = "root", bootPassword
	h, err := admin.New(w.Platform)
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	call := func(headers map[string][]string, method, path, body string, shows ...string) (int, map[string]any, string) {
		t.Helper()
		r := invoke(t, h, "/v1", method, path, "192.0.2.1", body, headers)
		shown := r.Body
		for _, s := range shows {
			if !strings.Contains(shown, s) {
				t.Errorf("%s %s does not show what it is for: %d %s", method, path, r.StatusCode, r.Body)
			}
			shown = strings.ReplaceAll(shown, s, "")
		}
		fmt.Fprintf(&said, "%s %s: %d %s\n", method, path, r.StatusCode, shown)
		var members map[string]any
		_ = json.Unmarshal([]byte(r.Body), &members)
		return r.StatusCode, members, strings.Join(r.MultiValueHeaders["Set-Cookie"], "\n")
	}
	login := func(name, password string) (int, map[string][]string, string) {
		t.Helper()
		b, _ := json.Marshal(map[string]string{"username": name, "password": password})
		status, _, set := call(nil, "POST", "/admin/login", string(b))
		pair, _, _ := strings.Cut(set, ";")
		return status, map[string][]string{"Cookie": {pair}, "Origin": {"https://abc.execute-api.eu-central-1.amazonaws.com"}}, strings.TrimPrefix(pair, "bz_sess=")
	}
	for _, bad := range [][2]string{{"root", "canary-wrong"}, {"canary-name", "x"}, {"canary name", "x"}, {"root", strings.Repeat("canary", 100)}} {
		if status, _, _ := login(bad[0], bad[1]); status != http.StatusUnauthorized {
			t.Errorf("%v: %d", bad, status)
		}
	}
	status, me, token := login("root", bootPassword)
	if status != 200 {
		t.Fatal(status)
	}
	_, other, otherToken := login("root", bootPassword)
	must := func(method, path, body string, shows ...string) map[string]any {
		t.Helper()
		status, members, _ := call(me, method, path, body, shows...)
		if status != 200 {
			t.Fatalf("%s %s: %d %v", method, path, status, members)
		}
		return members
	}
	hidden := []string{"canary", token, otherToken, jobtest.ServerToken, "argon2"}
	_, made, _ := call(me, "POST", "/admin/api/clients", `{"app_id":"crm","name":"CRM","allowed_routes":["*"]}`)
	clientToken, _ := made["token"].(string)
	_, made, _ = call(me, "POST", "/admin/api/admins", `{"username":"made","role":"viewer"}`)
	generated, _ := made["password"].(string)
	if len(clientToken) != 32 || len(generated) != 26 {
		t.Fatalf("%q, %q", clientToken, generated)
	}
	earlier := said.String()
	said.Reset()
	said.WriteString(strings.NewReplacer(clientToken, "", generated, "").Replace(earlier)) // shown by these two, this once
	hidden = append(hidden, clientToken, generated)

	must("POST", "/admin/api/clients", `{"app_id":"crm","name":"CRM","allowed_routes":["*"]}`, clientToken)
	must("POST", "/admin/api/admins", `{"username":"chosen","role":"viewer","password":"canary-chosen"}`)
	must("POST", "/admin/api/targets", `{"name":"llm","kind":"inhub"}`)
	must("POST", "/admin/api/credentials", `{"name":"stub","base_url":"https://m.example","api_key":"`+apiKey+`"}`)
	must("POST", "/admin/api/tool-providers", `{"name":"shop","base_url":"https://biz.example","secret":"`+secret+`"}`)
	must("POST", "/admin/api/routes", `{"route_key":"desk","name":"Desk","target":"llm","target_config":{"credential":"stub"},"session_policy":"new"}`)
	must("GET", "/admin/api/clients/crm/token", "", clientToken)
	must("GET", "/admin/api/tool-providers/shop/secret", "", secret)

	broken := []string{
		`{"unknown":"canary"}`, `{"username":"x1","role":"canary","password":"canary-pass"}`, `{"username":"x1","role":"viewer","password":["canary"]}`,
		`{"username":"x1","role":"viewer","password":"canary"}`, `{"password":"canary-cut`, `canary`, `["canary"]`, `"canary"`,
		`{"old_password":"canary-old","new_password":"canary1"}`, `{"old_password":"canary-old","new_password":"12345678"}`,
		`{"old_password":{"a":"canary"},"new_password":"12345678"}`, `{"old_password":"a","old_password":"canary"}`,
		`{"name":"stub","base_url":"https://u:canary@m.example","api_key":"canary-key"}`, `{"name":"stub","base_url":"https://m.example","api_key":{"a":"canary"}}`,
		`{"name":"stub","base_url":"ftp://m.example","api_key":"canary-\u0000"}`, `{"name":"stub","kind":"none","base_url":"https://m.example","api_key":"canary-key"}`,
		`{"name":"shop","base_url":"https://biz.example","secret":"canary"}`, `{"name":"shop","base_url":"nowhere","secret":"canary-secret-0123456789"}`,
		`{"app_id":"crm","name":"CRM","allowed_routes":[],"token":"canary-0123456789"}`,
	}
	f, _ := topology.System().FunctionNamed("admin")
	names := strings.NewReplacer("{name}", "shop", "{app_id}", "crm", "{route_key}", "desk", "{job}", job, "{username}", "nobody", "{id}", "no-letter")
	for _, r := range f.Routes {
		path := names.Replace(r.Path)
		reveals := slices.Contains([]string{"RevealToken", "RevealSecret"}, r.Handler)
		if r.Method == http.MethodGet && !reveals {
			call(me, r.Method, path, "")
		}
		call(map[string][]string{"Authorization": {"Bearer canary-no-token"}}, r.Method, path, "")
		call(map[string][]string{"Authorization": {"Bearer " + clientToken}}, r.Method, path, "")
		call(map[string][]string{"Cookie": {"bz_sess=" + strings.Repeat("0", 48) + "; canary=canary"}}, r.Method, path, "")
		if r.Method == http.MethodPost || r.Method == http.MethodPut {
			if r.Handler == "Logout" || r.Handler == "Login" {
				continue
			}
			for _, b := range broken {
				if r.Handler == "ChangePassword" {
					w.Clock.Advance(11 * time.Minute) // no throttling here
				}
				call(me, r.Method, path, b)
			}
		}
	}
	w.Clock.Advance(11 * time.Minute)
	must("POST", "/admin/api/password", `{"old_password":"`+bootPassword+`","new_password":"`+newPassword+`"}`)
	if status, _, _ := call(other, "GET", "/admin/api/me", ""); status != http.StatusUnauthorized {
		t.Errorf("the other session: %d", status)
	}
	must("GET", "/admin/api/config-audit", "")
	must("DELETE", "/admin/api/admins/chosen", "")
	for _, list := range []string{"admins", "clients", "credentials", "tool-providers", "routes", "config-diagnostics"} {
		must("GET", "/admin/api/"+list, "")
	}
	must("POST", "/admin/logout", "")

	if logs := w.Logs.String(); !strings.Contains(logs, "login refused") || !strings.Contains(logs, "password changed") {
		t.Error("the logs are not those of this run")
	}
	for place, text := range map[string]string{"an answer": said.String(), "the logs": w.Logs.String()} {
		for _, s := range hidden {
			if i := strings.Index(text, s); i >= 0 {
				t.Errorf("%.12s… in %s: …%q…", s, place, text[max(0, i-200):min(len(text), i+100)])
			}
		}
	}
}
