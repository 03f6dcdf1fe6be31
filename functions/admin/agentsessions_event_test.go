package admin_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"bailing/functions/admin"
	"bailing/shared/agentsession"
	"bailing/shared/awslocal/fault"
	"bailing/shared/canonical"
	"bailing/shared/contract/contracttest"
	"bailing/shared/job/jobtest"
	"bailing/shared/registry"
)

// centre is the wired function over a hub in which agents log in.
type centre struct {
	*desk
	sessions *agentsession.Service
	tokens   map[string]string // of clients
	logins   int
}

func newCentre(t *testing.T, clients ...string) *centre {
	t.Helper()
	return newCentreIn(t, jobtest.New(t), clients...)
}

func newCentreIn(t *testing.T, w *jobtest.World, clients ...string) *centre {
	t.Helper()
	d := &desk{World: w, t: t}
	var err error
	if d.handler, err = admin.New(d.Platform); err != nil {
		t.Fatal(err)
	}
	c := &centre{desk: d, sessions: d.Platform.AgentSessions(d.Store), tokens: map[string]string{}}
	for _, app := range clients {
		c.tokens[app] = c.SaveClient(registry.Client{AppID: app, AllowedRoutes: []string{"*"}, Enabled: true, AgentAuthorizeURL: "https://erp.example/in"})
	}
	return c
}

func parsed(t *testing.T, text string) canonical.Value {
	t.Helper()
	v, err := canonical.Parse([]byte(text), canonical.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// login lets an agent in and returns its session and its access token.
func (c *centre) login(app string) (id, access string) {
	c.t.Helper()
	ctx := c.t.Context()
	c.logins++
	created, err := c.sessions.Create(ctx, parsed(c.t, `{"client_app_id":"`+app+`","redirect_uri":"http://127.0.0.1:1/","state":"12345678","requested_routes":["depot-desk"],`+
		`"device_label":"Yard laptop","code_challenge":"oQXb-Ej-bXjIHtbx5fX-sJOb8v_RsfsKzrqF1OouNlc","code_challenge_method":"S256"}`), fmt.Sprint("192.0.2.", c.logins))
	if err != nil {
		c.t.Fatal(err)
	}
	client, err := c.sessions.Business(ctx, c.tokens[app])
	if err != nil {
		c.t.Fatal(err)
	}
	redirect, err := c.sessions.Approve(ctx, client, created.AuthorizationID, parsed(c.t, `{"principal":{"id":"op-15"},"on_behalf_of":"op-15","allowed_routes":["depot-desk"]}`))
	if err != nil {
		c.t.Fatal(err)
	}
	u, err := url.Parse(redirect.RedirectURI)
	if err != nil {
		c.t.Fatal(err)
	}
	tokens, err := c.sessions.Token(ctx, parsed(c.t, `{"grant_type":"authorization_code","client_app_id":"`+app+`","code":"`+u.Query().Get("code")+
		`","redirect_uri":"http://127.0.0.1:1/","code_verifier":"Zk3rT9-verifier_for.docs~0123456789abcdefghijkL"}`))
	if err != nil {
		c.t.Fatal(err)
	}
	return tokens.SessionID, tokens.AccessToken
}

var asToken = map[string][]string{"Authorization": {"Bearer " + jobtest.ServerToken}}

// admin asks as the server token, and compares the answer with the OpenAPI document.
func (c *centre) admin(method, path string, status int) string {
	c.t.Helper()
	got, body, _ := c.call(asToken, method, path, "")
	if got != status {
		c.t.Fatalf("%s %s: %d %s", method, path, got, body)
	}
	route, _, _ := strings.Cut(path, "?")
	if method == "POST" {
		route = "/admin/api/agent-clients/sessions/{id}/revoke"
	}
	contracttest.Response(c.t, method, route, got, []byte(body))
	return body
}

// Agent §10.4: the list over all clients, its filters, its bounds and its members.
func TestAgentSessionsAreListed(t *testing.T) {
	t.Parallel()
	c := newCentre(t, "depot-agent", "yard-agent", "idle-agent")
	const path = "/admin/api/agent-clients/sessions"
	if got := c.admin("GET", path, 200); got != `{"list":[],"total":0}` {
		t.Error(got)
	}
	var ids []string // newest first
	for _, app := range []string{"depot-agent", "yard-agent", "depot-agent"} {
		id, _ := c.login(app)
		ids = append([]string{id}, ids...)
		c.Clock.Advance(time.Second)
	}
	item := func(id, app, state, at, more string) string {
		return fmt.Sprintf(`{"session_id":%q,"client_app_id":%q,"device_label":"Yard laptop","subject_display":null,"subject_display_status":"missing",`+
			`"principal":{"id":"op-15","roles":[]},"on_behalf_of":"op-15","allowed_routes":["depot-desk"],"state":%q,"created_at":"2099-07-01T12:00:%sZ",`+
			`"access_expires_at":"2099-07-01T12:15:%[4]sZ","refresh_expires_at":"2099-07-31T12:00:%[4]sZ"%s}`, id, app, state, at, more)
	}
	newest, middle, oldest := item(ids[0], "depot-agent", "active", "02.000", ""), item(ids[1], "yard-agent", "active", "01.000", ""), item(ids[2], "depot-agent", "active", "00.000", "")
	all := newest + "," + middle + "," + oldest
	c.admin("POST", path+"/"+strings.ToUpper(ids[1])+"/revoke", 200)
	revoked := item(ids[1], "yard-agent", "revoked", "01.000", `,"revoked_at":"2099-07-01T12:00:03.000Z"`)
	all = strings.Replace(all, middle, revoked, 1)
	for query, want := range map[string]string{
		"": `{"list":[` + all + `],"total":3}`, "?state=all": `{"list":[` + all + `],"total":3}`, "?state=nonsense": `{"list":[` + all + `],"total":3}`,
		"?limit=1": `{"list":[` + newest + `],"total":3}`, "?limit=1&offset=1": `{"list":[` + revoked + `],"total":3}`, "?offset=3": `{"list":[],"total":3}`,
		"?limit=0": `{"list":[` + newest + `],"total":3}`, "?limit=999999&offset=-1": `{"list":[` + all + `],"total":3}`, "?limit=x&offset=x": `{"list":[` + all + `],"total":3}`,
		"?state=active": `{"list":[` + newest + "," + oldest + `],"total":2}`, "?state=revoked": `{"list":[` + revoked + `],"total":1}`, "?state=expired": `{"list":[],"total":0}`,
		"?client_app_id=depot-agent": `{"list":[` + newest + "," + oldest + `],"total":2}`, "?client_app_id=idle-agent": `{"list":[],"total":0}`, "?client_app_id=nobody": `{"list":[],"total":0}`,
	} {
		if got := c.admin("GET", path+query, 200); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	c.Clock.Advance(30 * 24 * time.Hour)
	var page struct{ Total int }
	if err := json.Unmarshal([]byte(c.admin("GET", path+"?state=expired", 200)), &page); err != nil || page.Total != 2 {
		t.Errorf("%+v, %v", page, err)
	}
}

// Agent §10.4: the overview counts sessions by their state.
func TestTheOverviewCountsAgentSessions(t *testing.T) {
	t.Parallel()
	c := newCentre(t, "depot-agent", "yard-agent")
	id, _ := c.login("depot-agent")
	_, access := c.login("yard-agent")
	c.admin("POST", "/admin/api/agent-clients/sessions/"+id+"/revoke", 200)
	var o registry.AgentOverview
	for range 1000 { // the note that a session was seen is written as long as the read beside it takes
		if _, _, err := c.sessions.Authenticate(t.Context(), access); err != nil {
			t.Fatal(err)
		}
		o = registry.AgentOverview{}
		if err := json.Unmarshal([]byte(c.admin("GET", "/admin/api/agent-clients/overview", 200)), &o); err != nil {
			t.Fatal(err)
		}
		if o.Applications[1].LastUsedAt != nil {
			break
		}
	}
	if o.Summary.Sessions != (registry.SessionCounts{Total: 2, Active: 1, Revoked: 1}) {
		t.Errorf("%+v", o.Summary.Sessions)
	}
	if o.Applications[0].LastUsedAt != nil || o.Applications[1].LastUsedAt == nil || *o.Applications[1].LastUsedAt != "2099-07-01T12:00:00.000Z" {
		t.Errorf("%+v", o.Applications)
	}
}

// Agent §10.4: a revocation is on record once, by whoever made it, and bites on the next call.
func TestAnAdministratorRevokesAnAgentSession(t *testing.T) {
	t.Parallel()
	c := newCentre(t, "depot-agent")
	id, access := c.login("depot-agent")
	path := "/admin/api/agent-clients/sessions/" + id + "/revoke"
	if got := c.admin("POST", path, 200); got != `{"ok":true,"session_id":"`+id+`","revoked":true}` {
		t.Error(got)
	}
	if _, _, err := c.sessions.Authenticate(t.Context(), access); err == nil {
		t.Error("the session lives")
	}
	for range 2 {
		if got := c.admin("POST", path, 200); got != `{"ok":true,"session_id":"`+id+`","already_revoked":true}` {
			t.Error(got)
		}
	}
	for _, unknown := range []string{"b2f0c1de-5a77-4c0e-9b61-6b1f2f0a9d10", "x"} {
		c.admin("POST", "/admin/api/agent-clients/sessions/"+unknown+"/revoke", 404)
	}
	if found := c.revocations(); len(found) != 1 || found[0].By != "token" || found[0].Method != http.MethodPost || found[0].Path != "agent-clients/sessions/"+id+"/revoke" {
		t.Errorf("%+v", found)
	}
}

// A revocation whose answer is lost took effect or did not; made again it is on record once.
func TestARevocationOfAnAgentSessionWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]fault.Kind{"refused": fault.ErrorBefore, "dropped": fault.Drop, "took effect": fault.ErrorAfterCommit, "took effect, dropped": fault.DropAfterCommit} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCentreIn(t, jobtest.New(t, jobtest.NoRetries()), "depot-agent")
			id, access := c.login("depot-agent")
			c.Faults().Set(func(op fault.Op) fault.Fault {
				if op.AccessKey == jobtest.AccessKey && op.Action == "TransactWriteItems" {
					return fault.Fault{Kind: kind}
				}
				return fault.Fault{}
			})
			path := "/admin/api/agent-clients/sessions/" + id + "/revoke"
			if got, body, _ := c.call(asToken, "POST", path, ""); got != 200 && got < 500 {
				t.Errorf("%d %s", got, body)
			}
			c.Faults().Set(nil)
			c.admin("POST", path, 200)
			if _, _, err := c.sessions.Authenticate(t.Context(), access); err == nil {
				t.Error("the session lives")
			}
			if n := c.revocations(); len(n) != 1 {
				t.Errorf("%+v", n)
			}
		})
	}
}

// revocations are the records of revoked sessions.
func (c *centre) revocations() (found []registry.Change) {
	c.t.Helper()
	records, err := c.Store.ConfigChanges(c.t.Context(), 100, 0)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, r := range records {
		if r.Event == "agent_session_admin_revoked" {
			found = append(found, r)
		}
	}
	return found
}

func TestTwoAdministratorsRevokeOneSessionOnce(t *testing.T) {
	t.Parallel()
	c := newCentre(t, "depot-agent")
	id, _ := c.login("depot-agent")
	var wg sync.WaitGroup
	answers := make([]string, 8)
	for i := range answers {
		wg.Go(func() {
			_, answers[i], _ = c.call(asToken, "POST", "/admin/api/agent-clients/sessions/"+id+"/revoke", "")
		})
	}
	wg.Wait()
	told := strings.Join(answers, "")
	if now, before := strings.Count(told, `,"revoked":true`), strings.Count(told, `,"already_revoked":true`); now != 1 || before != len(answers)-1 {
		t.Errorf("%v", answers)
	}
}
