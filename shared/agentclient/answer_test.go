package agentclient

import (
	"errors"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"bailing/shared/plainjson"
)

const testSession = "6f1c2f5e-8c3b-4c5a-9d7e-0a1b2c3d4e5f"

// change is a member of an answer with another value; drop leaves it out.
type change struct {
	member string
	value  any
	says   string // "" when the answer is good
}

type dropped struct{}

var drop dropped

// changed is an object with one other member, as JSON.
func changed(t *testing.T, of map[string]any, c change) []byte {
	t.Helper()
	of = maps.Clone(of)
	of[c.member] = c.value
	if c.value == drop {
		delete(of, c.member)
	}
	b, err := plainjson.Marshal(of)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// wantRules reads each changed answer, which breaks the rule that the change says.
func wantRules(t *testing.T, read func([]byte) error, good map[string]any, changes []change) {
	t.Helper()
	for _, c := range changes {
		body := changed(t, good, c)
		err := read(body)
		var broken *RuleError
		switch {
		case c.says == "" && err != nil:
			t.Errorf("%.200s: %v", body, err)
		case c.says != "" && (!errors.As(err, &broken) || !strings.Contains(broken.Rule, c.says) || !strings.Contains(broken.Rule, strings.TrimSuffix(c.member, "_status"))):
			t.Errorf("%s = %.80v: %v, want %q", c.member, c.value, err, c.says)
		case c.says != "" && (strings.Contains(err.Error(), testCode[4:]) || strings.Contains(err.Error(), strings.Repeat("x", 40))):
			t.Errorf("the error quotes a value: %.200v", err)
		}
	}
}

func token(prefix string, n int) string { return prefix + strings.Repeat("x", n-len(prefix)) }

func TestRulesOfAnAuthorization(t *testing.T) {
	t.Parallel()
	good := map[string]any{
		"authorization_id": testSession, "authorization_url": "https://erp.example.net/agent?authorization_id=" + testSession, "expires_in": 600,
	}
	read := func(b []byte) error { _, err := readAuthorization("c", 201, b); return err }
	wantRules(t, read, good, []change{
		{"expires_in", 600, ""}, {"expires_in", 1, ""}, {"expires_in", 3600, ""}, {"later", "a member of a newer hub", ""},
		{"expires_in", 0, "from 1 to 3600"}, {"expires_in", 3601, "from 1 to 3600"}, {"expires_in", 1.5, "whole number"},
		{"expires_in", "600", "kind number"}, {"expires_in", nil, "kind number"}, {"expires_in", drop, "kind number"},
		{"authorization_id", drop, "kind string"}, {"authorization_id", "x", "UUID"}, {"authorization_id", 7, "kind string"},
		{"authorization_url", drop, "kind string"}, {"authorization_url", "http://erp.example.net/", "is https"},
		{"authorization_url", "https://me@erp.example.net/", "user info"},
		{"authorization_url", "https://erp.example.net/" + strings.Repeat("x", 4096), "4096"},
	})
	a, err := readAuthorization("c", 201, changed(t, good, change{"expires_in", 90, ""}))
	if err != nil || a.ID != testSession || a.ExpiresIn != 90*time.Second || a.URL != good["authorization_url"] {
		t.Errorf("%+v %v", a, err)
	}
}

// tokens is a good answer of the token endpoint.
var goodTokens = map[string]any{
	"token_type": "Bearer", "access_token": token("bha_", 47), "expires_in": 900, "refresh_token": token("bhr_", 47),
	"refresh_expires_in": 2591995, "session_id": testSession, "client_app_id": "depot-agent",
	"subject_display": map[string]any{"name": "Yard 2"}, "subject_display_status": "provided",
}

func TestRulesOfTokens(t *testing.T) {
	t.Parallel()
	read := func(b []byte) error { _, err := readTokens("c", 200, b); return err }
	wantRules(t, read, goodTokens, []change{
		{"token_type", "Bearer", ""}, {"token_type", "bearer", `exactly "Bearer"`}, {"token_type", drop, "kind string"},
		{"access_token", token("bha_", 40), ""}, {"access_token", token("bha_", 39), "40 to 8192"},
		{"access_token", token("bha_", 8192), ""}, {"access_token", token("bha_", 8193), "40 to 8192"},
		{"access_token", token("bhr_", 47), "begins with bha_"}, {"access_token", token("bha_", 46) + "\n", "visible"},
		{"access_token", token("bha_", 44) + "é", "visible"}, {"access_token", nil, "kind string"}, {"access_token", drop, "kind string"},
		{"refresh_token", token("bhr_", 40), ""}, {"refresh_token", token("bhr_", 39), "40 to 8192"},
		{"refresh_token", token("bhr_", 8192), ""}, {"refresh_token", token("bhr_", 8193), "40 to 8192"},
		{"refresh_token", token("bha_", 47), "begins with bhr_"}, {"refresh_token", drop, "kind string"},
		{"expires_in", 1, ""}, {"expires_in", 0, "from 1 to 2678400"}, {"expires_in", -1, "from 1"},
		{"expires_in", 2678400, ""}, {"expires_in", 2678401, "from 1 to 2678400"}, {"expires_in", "900", "kind number"}, {"expires_in", 0.5, "whole"},
		{"refresh_expires_in", 1, ""}, {"refresh_expires_in", 0, "from 1 to 31622400"},
		{"refresh_expires_in", 31622400, ""}, {"refresh_expires_in", 31622401, "from 1 to 31622400"}, {"refresh_expires_in", drop, "kind number"},
		{"session_id", "7", "UUID"}, {"session_id", drop, "kind string"},
		{"client_app_id", "Depot", "id of a client"}, {"client_app_id", drop, "kind string"},
		{"subject_display", nil, "subject_display"}, {"subject_display", "Yard 2", "subject_display"},
		{"subject_display", map[string]any{"name": "Yard 2", "id": 1}, "subject_display"},
		{"subject_display", map[string]any{"name": ""}, "1 to 120"}, {"subject_display", map[string]any{"name": "a\x1b[0m"}, "control"},
		{"subject_display", map[string]any{"name": strings.Repeat("é", 120)}, ""}, {"subject_display", map[string]any{"name": strings.Repeat("é", 121)}, "1 to 120"},
		{"subject_display_status", "missing", "subject_display"}, {"subject_display_status", drop, "subject_display"},
		{"later", []int{1}, ""},
	})
	got, err := readTokens("c", 200, changed(t, goodTokens, change{"later", 1, ""}))
	want := Tokens{token("bha_", 47), token("bhr_", 47), 900 * time.Second, 2591995 * time.Second, testSession, "depot-agent", "Yard 2"}
	if err != nil || got != want {
		t.Errorf("%+v %v", got, err)
	}
}

// A hub of an earlier version names nobody (agent §0); one of this version says so.
func TestAPersonNeedNotBeNamed(t *testing.T) {
	t.Parallel()
	for _, status := range []any{drop, "missing"} {
		without := maps.Clone(goodTokens)
		without["subject_display"] = nil
		if status == drop {
			delete(without, "subject_display")
		}
		got, err := readTokens("c", 200, changed(t, without, change{"subject_display_status", status, ""}))
		if err != nil || got.SubjectDisplay != "" {
			t.Errorf("%v: %+v %v", status, got, err)
		}
	}
}

func TestRulesOfASession(t *testing.T) {
	t.Parallel()
	good := map[string]any{
		"session_id": testSession, "client_app_id": "depot-agent", "device_label": "Yard laptop 3", "subject_display": nil,
		"subject_display_status": "missing", "principal": map[string]any{"id": "op-15", "tenant": "yard-2", "roles": []string{"clerk"}},
		"on_behalf_of": "yard-2:op-15", "allowed_routes": []string{"depot-desk"}, "created_at": "2026-11-30T08:00:00.000Z",
		"expires_at": "2026-11-30T08:15:00.000Z", "refresh_expires_at": "2026-12-30T08:00:00Z",
	}
	read := func(b []byte) error { _, err := readSession("c", 200, b); return err }
	wantRules(t, read, good, []change{
		{"session_id", "x", "UUID"}, {"client_app_id", "", "id of a client"}, {"device_label", "", "1 to 128"}, {"device_label", drop, "kind string"},
		{"device_label", strings.Repeat("é", 128), ""}, {"device_label", strings.Repeat("é", 129), "1 to 128"},
		{"on_behalf_of", strings.Repeat("é", 256), ""}, {"on_behalf_of", strings.Repeat("é", 257), "1 to 256"}, {"on_behalf_of", "", "1 to 256"},
		{"allowed_routes", []string{}, "not empty"}, {"allowed_routes", drop, "kind array"}, {"allowed_routes", "depot-desk", "kind array"},
		{"allowed_routes", []any{"a", 1}, "1 to 64"}, {"allowed_routes", []string{""}, "1 to 64"},
		{"allowed_routes", []string{strings.Repeat("r", 64)}, ""}, {"allowed_routes", []string{strings.Repeat("r", 65)}, "1 to 64"},
		{"created_at", "yesterday", "ISO 8601"}, {"created_at", 7, "kind string"}, {"expires_at", drop, "kind string"}, {"expires_at", "", "ISO 8601"},
		{"refresh_expires_at", "2026-13-30T08:00:00Z", "ISO 8601"}, {"refresh_expires_at", nil, "kind string"},
		{"principal", nil, "kind object"}, {"principal", map[string]any{}, "id"}, {"principal", map[string]any{"id": "op-15"}, ""},
		{"principal", map[string]any{"id": 15}, "id"}, {"principal", map[string]any{"id": "op", "roles": []any{1}}, "roles"},
		{"principal", map[string]any{"id": "op", "tenant": 1}, "tenant"}, {"principal", map[string]any{"id": "op", "later": 1}, ""},
		{"subject_display", 1, "subject_display"},
	})
	v, err := readSession("c", 200, changed(t, good, change{"later", 1, ""}))
	if err != nil || v.Principal.ID != "op-15" || v.Principal.Tenant != "yard-2" || v.Principal.Roles[0] != "clerk" || v.AllowedRoutes[0] != "depot-desk" ||
		v.DeviceLabel != "Yard laptop 3" || !v.RefreshExpiresAt.Equal(time.Date(2026, 12, 30, 8, 0, 0, 0, time.UTC)) || v.OnBehalfOf != "yard-2:op-15" {
		t.Errorf("%+v %v", v, err)
	}
}

func TestRulesOfBodies(t *testing.T) {
	t.Parallel()
	for body, says := range map[string]string{
		"": "JSON", "<html>": "JSON", "[]": "object", "null": "object", `"x"`: "object", `{"revoked":true}x`: "JSON",
		`{"revoked":true,"revoked":true}`: "JSON", "{\"revoked\":\"\xff\"}": "JSON", `{"revoked":false}`: "revoked is true", `{"revoked":"true"}`: "kind boolean",
		`{}`: "kind boolean", strings.Repeat("[", 1000): "JSON",
	} {
		var broken *RuleError
		if err := readRevoked("c", 200, []byte(body)); !errors.As(err, &broken) || !strings.Contains(broken.Rule, says) {
			t.Errorf("%.40q: %v, want %q", body, err, says)
		}
	}
	for body, says := range map[string]string{
		`{"error":"invalid_grant"}`: "", `{"error":"invalid_grant","message":"x"}`: "", `{"error":7}`: "kind string", `{"error":"a b"}`: "code of letters",
		`{"message":"Forbidden"}`: "kind string", `{"error":""}`: "code of letters", "<html>": "JSON", `{"error":"` + strings.Repeat("x", 65) + `"}`: "code of letters",
	} {
		err := readRefusal("c", 400, []byte(body))
		var refused *RefusedError
		var broken *RuleError
		if says == "" && !errors.As(err, &refused) || says != "" && (!errors.As(err, &broken) || !strings.Contains(broken.Rule, says)) {
			t.Errorf("%.40q: %v, want %q", body, err, says)
		}
	}
}

// What an answer is read as keeps the rules, whatever the answer is.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte(`{"token_type":"Bearer","access_token":"` + token("bha_", 47) + `","expires_in":900,"refresh_token":"` + token("bhr_", 47) +
		`","refresh_expires_in":1,"session_id":"` + testSession + `","client_app_id":"depot-agent","subject_display":{"name":"Yard"},"subject_display_status":"provided"}`))
	f.Add([]byte(`{"authorization_id":"` + testSession + `","authorization_url":"https://erp.example.net/?a=b","expires_in":600}`))
	f.Add([]byte(`{"session_id":"` + testSession + `","client_app_id":"depot-agent","device_label":"x","principal":{"id":"x","roles":["\ud800"]},
"on_behalf_of":"x","allowed_routes":["a"],"created_at":"2026-11-30T08:00:00Z","expires_at":"2026-11-30T08:00:00Z","refresh_expires_at":"2026-11-30T08:00:00Z"}`))
	f.Add([]byte(`{"error":"invalid_grant"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if r, err := readTokens("c", 200, body); err == nil && (!credential(r.Access, accessPrefix) || !credential(r.Refresh, refreshPrefix) ||
			r.AccessLife < time.Second || r.RefreshLife < time.Second || r.AccessLife > maxAccessLife*time.Second || r.RefreshLife > maxRefreshLife*time.Second) {
			t.Errorf("%+v", r)
		}
		if r, err := readAuthorization("c", 201, body); err == nil && (checkAuthorizationURL(r.URL) != nil || r.ExpiresIn < time.Second || r.ExpiresIn > time.Hour) {
			t.Errorf("%+v", r)
		}
		if r, err := readSession("c", 200, body); err == nil && (r.OnBehalfOf == "" || len(r.AllowedRoutes) == 0 || r.Principal.ID == "") {
			t.Errorf("%+v", r)
		}
		if r := new(RefusedError); errors.As(readRefusal("c", 400, body), &r) && !errorCode(r.Code) {
			t.Errorf("%s", strconv.Quote(r.Code))
		}
		readRevoked("c", 200, body)
	})
}
