package stack

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// What an agent and its business send in the trace of agent, Appendix A.
const (
	agentWish     = `{"client_app_id":"depot-agent","redirect_uri":"http://127.0.0.1:49733/callback","state":"Zt9fQ2-state","requested_routes":["depot-desk"],"device_label":"Yard laptop 3","code_challenge":"oQXb-Ej-bXjIHtbx5fX-sJOb8v_RsfsKzrqF1OouNlc","code_challenge_method":"S256"}`
	agentApproval = `{"principal":{"id":"op-15","tenant":"yard-2","roles":["clerk"]},"on_behalf_of":"yard-2:op-15","allowed_routes":["depot-desk"],"subject_display":{"name":"Yard 2"}}`
	agentVerifier = "Zk3rT9-verifier_for.docs~0123456789abcdefghijkL"
)

// agents speaks to a running stack as a local agent and as the business of the client depot-agent.
type agents struct {
	*crashWorld
	token string // of the client
}

func newAgents(w *crashWorld) *agents {
	w.t.Helper()
	var saved struct {
		Token string `json:"token"`
	}
	w.request(http.MethodPost, "/admin/api/clients", `{"app_id":"depot-agent","name":"Depot agent","allowed_routes":["*"],`+
		`"agent_authorize_url":"https://erp.example.net/agent/authorize"}`, http.StatusOK, &saved)
	return &agents{w, saved.Token}
}

// send makes one request below /agent-auth/v1 and decodes the answer, which must have the status.
func (a *agents) send(method, path, token, body string, want int) (got struct {
	ID          string          `json:"authorization_id"`
	URL         string          `json:"authorization_url"`
	RedirectURI string          `json:"redirect_uri"`
	Access      string          `json:"access_token"`
	Refresh     string          `json:"refresh_token"`
	SessionID   string          `json:"session_id"`
	Status      string          `json:"status"`
	List        json.RawMessage `json:"list"`
	Error       string          `json:"error"`
}) {
	a.t.Helper()
	req, err := http.NewRequest(method, a.s.URL+"/agent-auth/v1/"+path, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != want {
		a.t.Fatalf("%s %s: %d %s %v, want %d", method, path, res.StatusCode, text, err, want)
	}
	if res.Header.Get("Cache-Control") != "no-store" || (path == "token") != (res.Header.Get("Pragma") == "no-cache") {
		a.t.Errorf("%s %s: headers %v", method, path, res.Header)
	}
	if err := json.Unmarshal(text, &got); err != nil {
		a.t.Fatal(err)
	}
	return got
}

// refused is a request that must fail with the code.
func (a *agents) refused(method, path, token, body string, status int, code string) {
	a.t.Helper()
	if got := a.send(method, path, token, body, status); got.Error != code {
		a.t.Errorf("%s %s: %s, want %s", method, path, got.Error, code)
	}
}

func agentExchange(code string) string {
	return `{"grant_type":"authorization_code","client_app_id":"depot-agent","code":"` + code + `","redirect_uri":"http://127.0.0.1:49733/callback","code_verifier":"` + agentVerifier + `"}`
}

func agentRefresh(token string) string {
	return `{"grant_type":"refresh_token","client_app_id":"depot-agent","refresh_token":"` + token + `"}`
}

// Agent, Appendix A: A1 to A4 against a running stack.
func TestTheTraceOfALogin(t *testing.T) {
	t.Parallel()
	a := newAgents(emptyCrashWorld(t))

	created := a.send("POST", "authorizations", "", agentWish, 201) // A1
	if created.URL != "https://erp.example.net/agent/authorize?authorization_id="+created.ID {
		t.Errorf("%+v", created)
	}
	one := "authorizations/" + created.ID
	if got := a.send("GET", one, a.token, "", 200); got.Status != "pending" {
		t.Errorf("%+v", got)
	}
	u, err := url.Parse(a.send("POST", one+"/approve", a.token, agentApproval, 200).RedirectURI) // A2
	if err != nil || u.Host != "127.0.0.1:49733" || u.Path != "/callback" || u.Query().Get("state") != "Zt9fQ2-state" {
		t.Fatalf("%v, %v", u, err)
	}
	code := u.Query().Get("code")
	a.refused("POST", one+"/approve", a.token, agentApproval, 409, "invalid_state")

	first := a.send("POST", "token", "", agentExchange(code), 200) // A3
	a.refused("POST", "token", "", agentExchange(code), 400, "invalid_grant")
	if got := a.send("GET", "session", first.Access, "", 200); got.SessionID != first.SessionID {
		t.Errorf("%+v", got)
	}

	second := a.send("POST", "token", "", agentRefresh(first.Refresh), 200) // A4
	a.refused("GET", "session", first.Access, "", 401, "unauthorized")
	a.send("GET", "session", second.Access, "", 200)
	a.refused("POST", "token", "", agentRefresh(first.Refresh), 400, "invalid_grant")
	a.refused("POST", "token", "", agentRefresh(second.Refresh), 400, "invalid_grant")
	a.refused("GET", "session", second.Access, "", 401, "unauthorized")
	if got := a.send("GET", one, a.token, "", 200); got.Status != "consumed" {
		t.Errorf("%+v", got)
	}
	a.clock.Advance(10 * time.Minute)
	a.refused("POST", one+"/approve", a.token, agentApproval, 410, "expired")
}

// What the function refuses, the gateway lets it refuse: the surface has one form (agent §1.8, §2.1).
func TestTheGatewayLeavesRefusalsOfAgentAuthToTheFunction(t *testing.T) {
	t.Parallel()
	a := newAgents(emptyCrashWorld(t))
	const id = "b2f0c1de-5a77-4c0e-9b61-6b1f2f0a9d10"
	for _, tc := range []struct {
		method, path string
		status       int
		code         string
	}{
		{"PUT", "authorizations/" + id, 405, "method_not_allowed"}, {"GET", "authorizations/" + id + "/approve", 405, "method_not_allowed"},
		{"POST", "sessions", 405, "method_not_allowed"}, {"GET", "sessions/" + id + "/subject-display", 405, "method_not_allowed"},
		{"GET", "token", 404, "not_found"}, {"GET", "authorizations", 404, "not_found"}, {"GET", "authorizations/x", 404, "not_found"},
		{"GET", "sessions/" + id, 404, "not_found"}, {"GET", "sessions/", 404, "not_found"}, {"POST", "a/b", 404, "not_found"},
	} {
		a.refused(tc.method, tc.path, "", "", tc.status, tc.code)
	}
}

// everyCall makes every call of an agent and its business.
func (a *agents) everyCall() {
	a.t.Helper()
	login := func() (id, session, access, refresh string) {
		a.t.Helper()
		id = a.send("POST", "authorizations", "", agentWish, 201).ID
		a.send("GET", "authorizations/"+id, a.token, "", 200)
		u, err := url.Parse(a.send("POST", "authorizations/"+id+"/approve", a.token, agentApproval, 200).RedirectURI)
		if err != nil {
			a.t.Fatal(err)
		}
		got := a.send("POST", "token", "", agentExchange(u.Query().Get("code")), 200)
		a.send("GET", "session", got.Access, "", 200)
		return id, got.SessionID, got.Access, got.Refresh
	}
	_, session, access, refresh := login()
	got := a.send("POST", "token", "", agentRefresh(refresh), 200)
	a.refused("GET", "session", access, "", 401, "unauthorized")
	a.send("PUT", "sessions/"+session+"/subject-display", a.token, `{"subject_display":null}`, 200)
	a.send("GET", "sessions?state=active&limit=1", a.token, "", 200)
	a.send("POST", "revoke", got.Access, "", 200)
	_, _, _, refresh = login()
	a.send("POST", "revoke", "", `{"client_app_id":"depot-agent","refresh_token":"`+refresh+`"}`, 200)
	_, session, _, _ = login()
	a.send("POST", "sessions/"+session+"/revoke", a.token, "", 200)
	_, session, _, _ = login()
	a.request(http.MethodPost, "/admin/api/agent-clients/sessions/"+session+"/revoke", "", http.StatusOK, &struct{}{})
	for _, path := range []string{"sessions", "overview"} {
		a.request(http.MethodGet, "/admin/api/agent-clients/"+path, "", http.StatusOK, &struct{}{})
	}
	id, _, _, refresh := login()
	a.send("POST", "token", "", agentRefresh(refresh), 200)
	a.refused("POST", "token", "", agentRefresh(refresh), 400, "invalid_grant")
	a.send("POST", "authorizations/"+id+"/revoke", a.token, "", 200)
	id = a.send("POST", "authorizations", "", agentWish, 201).ID
	a.send("POST", "authorizations/"+id+"/deny", a.token, "", 200)
}
