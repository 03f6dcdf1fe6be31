package store_test

import (
	"log/slog"
	"net/url"
	"testing"

	"bailing/shared/agentsession"
	"bailing/shared/clock"
	"bailing/shared/platform"
	"bailing/shared/registry"
)

// agentProcess is the service of one process, whose trips are counted.
func agentProcess(p *platform.Platform, c clock.Clock) *agentsession.Service {
	s := p.AgentSessions(p.Store())
	s.Clock, s.Logger = c, slog.New(slog.DiscardHandler)
	return s
}

// Authentication takes one trip when the process knows whose the token is, and two when it does not; a refresh two and three. The note that
// a session was seen is written beside the read, at most once a minute.
func TestTripsOfAgentSessionsAreThoseOfTheArchitecture(t *testing.T) {
	t.Parallel()
	s := open(t)
	agentClient(s, t)
	c := newTrips(t, s.Server)
	p := s.platform(c)
	manual := clock.NewManual(start)
	process := func() *agentsession.Service { return agentProcess(p, manual) }
	client := &registry.Client{AppID: "depot", AllowedRoutes: []string{"*"}, Enabled: true, AgentAuthorizeURL: "https://erp.example/"}
	const verifier = "Zk3rT9-verifier_for.docs~0123456789abcdefghijkL"
	grant := func(service *agentsession.Service, to *agentsession.Tokens, format string, args ...any) func(*testing.T) {
		body := parsed(t, format, args...)
		return func(t *testing.T) {
			var err error
			if *to, err = service.Token(t.Context(), body); err != nil {
				t.Error(err)
			}
		}
	}
	const refresh = `{"grant_type":"refresh_token","client_app_id":"depot","refresh_token":%q}`

	warm := process()
	var created agentsession.Created
	ask := parsed(t, `{"client_app_id":"depot","redirect_uri":"http://127.0.0.1:1/","state":"state-of","requested_routes":["desk"],"device_label":"laptop","code_challenge":"oQXb-Ej-bXjIHtbx5fX-sJOb8v_RsfsKzrqF1OouNlc","code_challenge_method":"S256"}`)
	wantTrips(t, "create", c.count(t, func(t *testing.T) {
		var err error
		if created, err = warm.Create(t.Context(), ask, "203.0.113.7"); err != nil {
			t.Error(err)
		}
	}), read, []string{"PutItem"}, write)
	var redirect agentsession.Redirect
	approve := parsed(t, `{"principal":{"id":"op"},"on_behalf_of":"op","allowed_routes":["desk"]}`)
	wantTrips(t, "approve", c.count(t, func(t *testing.T) {
		var err error
		if redirect, err = warm.Approve(t.Context(), client, created.AuthorizationID, approve); err != nil {
			t.Error(err)
		}
	}), read, write)
	u, err := url.Parse(redirect.RedirectURI)
	arranged(t, err)
	var tokens agentsession.Tokens
	wantTrips(t, "exchange", c.count(t, grant(warm, &tokens, `{"grant_type":"authorization_code","client_app_id":"depot","code":%q,"redirect_uri":"http://127.0.0.1:1/","code_verifier":%q}`,
		u.Query().Get("code"), verifier)), read, read, write)

	authenticate := func(service *agentsession.Service) func(*testing.T) {
		return func(t *testing.T) {
			if _, _, err := service.Authenticate(t.Context(), tokens.AccessToken); err != nil {
				t.Error(err)
			}
		}
	}
	noted := []string{"BatchGetItem", "UpdateItem"}
	cold := process()
	wantTrips(t, "authentication, cold", c.count(t, authenticate(cold)), read, noted)
	wantTrips(t, "authentication, warm, with the note", c.count(t, authenticate(warm)), noted)
	var got [][]string
	for range 1000 { // the note gets the time of the read; when that is not enough, the next call tries again
		if got = c.count(t, authenticate(warm)); len(got) == 1 && len(got[0]) == 1 {
			break
		}
		wantTrips(t, "authentication, warm, with the note again", got, noted)
	}
	wantTrips(t, "authentication, warm", got, read)

	wantTrips(t, "refresh, warm", c.count(t, grant(warm, &tokens, refresh, tokens.RefreshToken)), read, write)
	wantTrips(t, "refresh, cold", c.count(t, grant(process(), &tokens, refresh, tokens.RefreshToken)), read, read, write)
	wantTrips(t, "refresh, elsewhere", c.count(t, grant(warm, &tokens, refresh, tokens.RefreshToken)), read, read, write)
	wantTrips(t, "refresh, warm again", c.count(t, grant(warm, &tokens, refresh, tokens.RefreshToken)), read, write)

	business := func(what string, act func(t *testing.T) error, want ...[]string) {
		t.Helper()
		wantTrips(t, what, c.count(t, func(t *testing.T) {
			if err := act(t); err != nil {
				t.Error(err)
			}
		}), want...)
	}
	change := []string{"UpdateItem"}
	wantTrips(t, "business", c.count(t, func(t *testing.T) { _, _ = warm.Business(t.Context(), "x") }), read)
	business("context", func(t *testing.T) error {
		_, err := warm.Context(t.Context(), client, created.AuthorizationID)
		return err
	}, read, read)
	business("list", func(t *testing.T) error { _, err := warm.List(t.Context(), client, "tenant="); return err }, []string{"Query"}, read)
	name := parsed(t, `{"subject_display":{"name":"Bay"}}`)
	business("subject display", func(t *testing.T) error {
		_, err := warm.SetSubjectDisplay(t.Context(), client, tokens.SessionID, name)
		return err
	}, change)
	business("revoke a session", func(t *testing.T) error { return warm.RevokeSession(t.Context(), client, tokens.SessionID) }, change)
	empty := parsed(t, "{}")
	business("revoke an authorization", func(t *testing.T) error {
		_, err := warm.RevokeAuthorization(t.Context(), client, created.AuthorizationID, empty)
		return err
	}, read, change)
}
