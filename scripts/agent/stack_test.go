package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"bailing/scripts/bailing/clitest"
	"bailing/scripts/local/stack"
	"bailing/shared/agentclient"
)

const consent = `{"principal":{"id":"op-15","tenant":"yard-2","roles":["clerk"]},"on_behalf_of":"yard-2:op-15",` +
	`"allowed_routes":["depot-desk"],"subject_display":{"name":"Yard 2"}}`

// business is a hub, the business whose client depot-agent is, and a person at the command line.
type business struct {
	t      *testing.T
	hub    *stack.Stack
	token  string // of the client
	person *clitest.Session
	// answer is what the business does with an authorization, and its body; set it before a login.
	answer, body string
}

func startBusiness(t *testing.T) *business {
	t.Helper()
	s, err := stack.Start(t.Context(), stack.Options{Addr: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	b := &business{t: t, hub: s, answer: "approve", body: consent}
	b.saveClient(true)
	b.person = person(t, func(page string) (string, error) {
		u, err := url.Parse(page)
		if err != nil {
			return "", err
		}
		var answered struct {
			RedirectURI string `json:"redirect_uri"`
		}
		b.ask(b.token, "POST", "/agent-auth/v1/authorizations/"+u.Query().Get("authorization_id")+"/"+b.answer, b.body, &answered)
		return answered.RedirectURI, nil
	})
	return b
}

func (b *business) saveClient(enabled bool) {
	b.t.Helper()
	body, err := json.Marshal(map[string]any{
		"app_id": "depot-agent", "name": "Depot agent", "allowed_routes": []string{"depot-desk"}, "enabled": enabled,
		"agent_authorize_url": "https://erp.example.net/agent/authorize?lang=en",
	})
	if err != nil {
		b.t.Fatal(err)
	}
	var saved struct {
		Token string `json:"token"`
	}
	if b.ask(b.hub.ServerToken, "POST", "/admin/api/clients", string(body), &saved); saved.Token != "" {
		b.token = saved.Token
	}
}

// ask sends a request that must succeed.
func (b *business) ask(token, method, path, body string, into any) {
	b.t.Helper()
	req, err := http.NewRequest(method, b.hub.URL+path, bytes.NewReader([]byte(body)))
	if err != nil {
		b.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode == http.StatusOK {
		err = json.Unmarshal(text, into)
	}
	if err != nil || res.StatusCode != http.StatusOK {
		b.t.Errorf("%s %s: %d %s %v", method, path, res.StatusCode, text, err)
	}
}

// store is the store of the person's profile, as another process has it.
func (b *business) store() *agentclient.FileStore {
	return agentclient.NewFileStore(profileFile(b.person, "default"))
}

// stored is the person's session.
func (b *business) stored() *agentclient.Credentials {
	b.t.Helper()
	k, err := b.store().Load(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return k
}

func TestAPersonLogsInToAHub(t *testing.T) {
	t.Parallel()
	b := startBusiness(t)
	b.person.Want(0, "Yard 2 is logged in to "+b.hub.URL, loginAt(b.hub.URL))
	b.person.Want(0, "acts for yard-2:op-15", "status")
	b.person.Want(0, "routes depot-desk", "status")
	b.person.Want(2, "or the client may not use one of the routes", loginAt(b.hub.URL)+" --route yard-ops")

	first := b.stored()
	b.person.Want(0, "is logged in", loginAt(b.hub.URL)) // replaces the session
	hub, err := agentclient.NewHub(b.hub.URL, agentclient.HubOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hub.Session(t.Context(), first.AccessToken); err == nil {
		t.Error("the session before still lives")
	}
	b.person.Want(0, "Yard 2 is logged out", "logout")
	b.person.Want(1, "nobody is logged in", "status")

	b.answer, b.body = "deny", `{}`
	b.person.Want(1, "access was denied", loginAt(b.hub.URL))
	b.person.Want(1, "nobody is logged in", "status")
}

func TestABusinessEndsASession(t *testing.T) {
	t.Parallel()
	b := startBusiness(t)
	b.person.Want(0, "", loginAt(b.hub.URL))
	var revoked struct{ Revoked bool }
	b.ask(b.token, "POST", "/agent-auth/v1/sessions/"+b.stored().SessionID+"/revoke", "", &revoked)
	b.person.Want(1, "the session has ended", "status")
	b.person.Want(1, "nobody is logged in", "status")

	b.person.Want(0, "", loginAt(b.hub.URL))
	b.saveClient(false)
	b.person.Want(1, "the session has ended", "status")
	b.person.Want(2, "no enabled client", loginAt(b.hub.URL))
}

// Programs that share a profile refresh once; a refresh token that is used again ends the session, and everybody learns it.
func TestProgramsShareASession(t *testing.T) {
	t.Parallel()
	b := startBusiness(t)
	b.person.Want(0, "", loginAt(b.hub.URL))
	var before *agentclient.Credentials
	for range 5 {
		before = b.stored()
		late := *before
		late.RenewAt = time.Now().Add(-time.Minute)
		unlock, err := b.store().Lock(t.Context())
		if err == nil {
			err = b.store().Save(t.Context(), &late)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := unlock(); err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		got := make([]string, 8)
		for i := range got {
			wg.Go(func() {
				var err error
				c := &agentclient.Client{Store: b.store()}
				if got[i], err = c.AccessToken(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		for _, token := range got {
			if token != got[0] || token == before.AccessToken {
				t.Fatal("two tokens, or the old one")
			}
		}
		if now := b.stored(); now.SessionID != before.SessionID || now.RefreshToken == before.RefreshToken {
			t.Errorf("%+v", now)
		}
		b.person.Want(0, "is logged in", "status")
	}
	hub, err := agentclient.NewHub(b.hub.URL, agentclient.HubOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hub.Refresh(t.Context(), before.ClientAppID, before.RefreshToken); err == nil {
		t.Error("a refresh token was good twice")
	}
	b.person.Want(1, "the session has ended", "status")
}
