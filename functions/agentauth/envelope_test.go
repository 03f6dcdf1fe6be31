package agentauth_test

import (
	"strings"
	"testing"

	"bailing/shared/awslocal/fault"
	"bailing/shared/job/jobtest"
	"bailing/shared/topology"
)

// Agent §2.1: what is not there is 404, another method of what is there is 405, before anybody is asked who they are.
func TestPathsAndMethods(t *testing.T) {
	t.Parallel()
	a := open(t)
	_, tok := a.login(nil)
	id := tok.SessionID
	for _, tc := range []struct {
		method, path string
		status       int
	}{
		{"PUT", "authorizations/" + id, 405}, {"POST", "authorizations/" + id, 405}, {"HEAD", "authorizations/" + id, 405}, {"DELETE", "authorizations/" + strings.ToUpper(id), 405},
		{"GET", "authorizations/" + id + "/approve", 405}, {"PUT", "authorizations/" + id + "/deny", 405}, {"GET", "authorizations/" + id + "/revoke", 405},
		{"POST", "sessions", 405}, {"DELETE", "sessions", 405}, {"GET", "sessions/" + id + "/revoke", 405},
		{"GET", "sessions/" + id + "/subject-display", 405}, {"POST", "sessions/" + id + "/subject-display", 405}, {"PATCH", "sessions/" + id + "/subject-display", 405},
		{"OPTIONS", "sessions", 405}, {"BREW", "sessions", 405},
		{"PUT", "authorizations/x", 404}, {"GET", "authorizations/x", 404}, {"GET", "authorizations/" + strings.Repeat("-", 36), 404}, {"PUT", "authorizations/" + strings.Repeat("a", 36), 404},
		{"POST", "authorizations/" + id[:35] + "/approve", 404}, {"POST", "authorizations/" + id[:14] + "6" + id[15:] + "/approve", 404}, {"POST", "authorizations/" + id + "/reject", 404},
		{"POST", "authorizations/" + id + "/approve/x", 404}, {"GET", "sessions/" + id, 404}, {"GET", "sessions/x/revoke", 404}, {"GET", "sessions/x/subject-display", 404},
		{"GET", "authorizations", 404}, {"GET", "token", 404}, {"PUT", "token", 404}, {"POST", "session", 404}, {"GET", "revoke", 404}, {"OPTIONS", "token", 404},
		{"GET", "", 404}, {"GET", "nope", 404}, {"POST", "a/b/c/d", 404}, {"GET", "sessions/", 404}, {"GET", "../v2/sessions", 404}, {"GET", "/sessions", 404}, {"GET", "Session", 404},
	} {
		code := map[int]string{404: "not_found", 405: "method_not_allowed"}[tc.status]
		got := a.send(request{method: tc.method, path: prefix + tc.path})
		if tc.method == "HEAD" {
			got.want(t, tc.status, "")
			continue
		}
		got.refused(t, tc.method+" "+tc.path, tc.status, code)
	}
}

// A request of the samples is one that a hub answers, though it knows none of their ids and tokens.
func TestSampleEvents(t *testing.T) {
	t.Parallel()
	a := open(t)
	a.SaveClientWith(depot(), "0123456789abcdef0123456789abcdef")
	for name, want := range map[string]struct {
		status int
		body   string
	}{
		"agentauth-authorization.json": {201, `"expires_in":600`}, "agentauth-approve.json": {404, `{"error":"not_found"}`}, "agentauth-token.json": {400, `{"error":"invalid_grant"}`},
	} {
		if got := a.invoke(sample(t, name)); got.Status != want.status || !strings.Contains(got.Body, want.body) {
			t.Errorf("%s: %d %s", name, got.Status, got.Body)
		}
	}
}

// Every store failure is 503 with the code of its section: no agent takes one for the end of its session (agent §2.3 to §2.13).
func TestAStoreThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	a := open(t, jobtest.NoRetries())
	id, tok := a.login(nil)
	pending := a.ask(nil)
	const unavailable, lifecycle = "agent_auth_unavailable", "agent_auth_lifecycle_unavailable"
	calls := []struct {
		method, path, auth, body string
		code                     string
	}{
		{"POST", "authorizations", "", wish, unavailable}, {"GET", "authorizations/" + id, a.token, "", lifecycle}, {"POST", "authorizations/" + pending + "/approve", a.token, approval, unavailable},
		{"POST", "authorizations/" + pending + "/deny", a.token, "", unavailable}, {"POST", "authorizations/" + pending + "/revoke", a.token, "", lifecycle},
		{"POST", "token", "", exchangeBody("bhc_" + strings.Repeat("x", 43)), unavailable}, {"POST", "token", "", refreshBody(tok.Refresh), unavailable},
		{"GET", "session", tok.Access, "", unavailable}, {"POST", "revoke", tok.Access, "", unavailable},
		{"POST", "revoke", "", `{"client_app_id":"depot-agent","refresh_token":"` + tok.Refresh + `"}`, unavailable},
		{"GET", "sessions", a.token, "", lifecycle}, {"POST", "sessions/" + tok.SessionID + "/revoke", a.token, "", unavailable},
		{"PUT", "sessions/" + tok.SessionID + "/subject-display", a.token, `{"subject_display":null}`, "subject_display_unavailable"},
	}
	for _, everything := range []bool{true, false} {
		a.Faults().Set(func(op fault.Op) fault.Fault {
			if op.AccessKey == jobtest.AccessKey && (everything || op.Resource == jobtest.Prefix+topology.TableAgents) {
				return fault.Fault{Kind: fault.ErrorBefore}
			}
			return fault.Fault{}
		})
		for _, c := range calls {
			got := a.agent(c.method, c.path, c.auth, c.body)
			if everything { // who calls is not known either, which is no section's own failure
				c.code = strings.TrimSuffix(strings.TrimPrefix(got.Body, `{"error":"`), `"}`)
			}
			got.refused(t, c.method+" "+c.path, 503, c.code)
		}
	}
	a.Faults().Set(nil)
	if !a.works(tok.Access) {
		t.Error("the session ended")
	}
	a.tokensOf(a.refresh(tok.Refresh))
}
