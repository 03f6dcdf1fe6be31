package agentsession_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"bailing/shared/agentsession"
	"bailing/shared/registry"
)

// Rows 1 and 2 of the order of agent §2.2; nothing of them is charged.
func TestCreateRefusesBodiesThatBreakARule(t *testing.T) {
	t.Parallel()
	w := open(t)
	routes := func(n int) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprintf("r%d-x", i))
		}
		return list
	}
	w.client(func(c *registry.Client) { c.AllowedRoutes = []string{"*"} })
	for name, tc := range map[string]struct {
		body members
		good bool
	}{
		"as it should be":                    {request, true},
		"an unknown member":                  {request.with("x", 1), false},
		"no client_app_id":                   {request.with("client_app_id", nil), false},
		"client_app_id that is trimmed":      {request.with("client_app_id", " depot-agent\u00a0"), true},
		"client_app_id in upper case":        {request.with("client_app_id", "Depot-agent"), false},
		"client_app_id that is a number":     {request.with("client_app_id", 7), false},
		"no redirect_uri":                    {request.with("redirect_uri", nil), false},
		"redirect_uri to localhost":          {request.with("redirect_uri", "http://localhost:49733/callback"), false},
		"redirect_uri of 2048":               {request.with("redirect_uri", loopback+"?"+long(2048-len(loopback)-1)), true},
		"redirect_uri of 2049":               {request.with("redirect_uri", loopback+"?"+long(2049-len(loopback)-1)), false},
		"no state":                           {request.with("state", nil), false},
		"state of 7":                         {request.with("state", long(7)), false},
		"state of 8":                         {request.with("state", long(8)), true},
		"state of 8 units in 4 characters":   {request.with("state", "🦊🦊🦊🦊"), true},
		"state of 512":                       {request.with("state", long(512)), true},
		"state of 513":                       {request.with("state", long(513)), false},
		"no requested_routes":                {request.with("requested_routes", nil), false},
		"requested_routes that is no list":   {request.with("requested_routes", "depot-desk"), false},
		"no route":                           {request.with("requested_routes", []string{}), false},
		"64 routes":                          {request.with("requested_routes", routes(64)), true},
		"65 routes":                          {request.with("requested_routes", routes(65)), false},
		"route auto":                         {request.with("requested_routes", []string{"auto"}), false},
		"route *":                            {request.with("requested_routes", []string{"*"}), false},
		"a route in upper case":              {request.with("requested_routes", []string{"Depot"}), false},
		"a route that is a number":           {request.with("requested_routes", []any{7}), false},
		"a route twice after trimming":       {request.with("requested_routes", []string{"depot-desk", " depot-desk "}), false},
		"no device_label":                    {request.with("device_label", nil), false},
		"a blank device_label":               {request.with("device_label", " \t"), false},
		"device_label of 128 after trimming": {request.with("device_label", " "+long(128)+" "), true},
		"device_label of 129":                {request.with("device_label", long(129)), false},
		"no code_challenge":                  {request.with("code_challenge", nil), false},
		"code_challenge of 42":               {request.with("code_challenge", challenge[1:]), false},
		"code_challenge of 44":               {request.with("code_challenge", challenge+"A"), false},
		"code_challenge with padding":        {request.with("code_challenge", challenge[1:]+"="), false},
		"no code_challenge_method":           {request.with("code_challenge_method", nil), false},
		"code_challenge_method plain":        {request.with("code_challenge_method", "plain"), false},
		"code_challenge_method s256":         {request.with("code_challenge_method", "s256"), false},
	} {
		_, err := w.Create(t.Context(), tc.body.value(t), name)
		switch {
		case tc.good && err != nil:
			t.Errorf("%s: %v", name, err)
		case !tc.good:
			wantCode(t, name, err, 400, "invalid_request")
		}
	}
	for _, text := range []string{"[]", `"x"`, "1", "null", "not JSON", `{"state":"\ud800aaaaaaaa"}`} {
		_, err := w.Create(t.Context(), parsed(text), home)
		wantCode(t, text, err, 400, "invalid_request")
	}
}

// Row 3 of the order of agent §2.2.
func TestCreateRefusesClientsThatLetNobodyIn(t *testing.T) {
	t.Parallel()
	w := open(t)
	for name, change := range map[string]func(*registry.Client){
		"disabled":                   func(c *registry.Client) { c.Enabled = false },
		"without an authorize URL":   func(c *registry.Client) { c.AgentAuthorizeURL = "" },
		"without the route":          func(c *registry.Client) { c.AllowedRoutes = []string{"yard-ops"} },
		"with one of two routes":     func(c *registry.Client) { c.AppID, c.AllowedRoutes = "other", []string{"yard-ops"} },
		"that nobody has registered": nil,
	} {
		body := request
		if change == nil {
			body = body.with("client_app_id", "nobody")
		} else if c := w.client(change); c.AppID == "other" {
			body = body.with("client_app_id", "other").with("requested_routes", []string{"yard-ops", "depot-desk"})
		}
		_, err := w.Create(t.Context(), body.value(t), home)
		wantCode(t, "client "+name, err, 400, "invalid_client")
	}
	w.client(func(c *registry.Client) { c.AllowedRoutes = []string{"*"} })
	if _, err := w.Create(t.Context(), request.value(t), home); err != nil {
		t.Errorf("a client that may use every route: %v", err)
	}
}

// Rows 4 and 5 of the order of agent §2.2: ten requests in any 60 seconds, by client and address, charged only by those that come so far.
func TestCreateIsLimitedByClientAndAddress(t *testing.T) {
	t.Parallel()
	w := open(t)
	w.client(func(c *registry.Client) { c.AppID = "other" })
	create := func(m members, source string) error {
		_, err := w.Create(t.Context(), m.value(t), source)
		return err
	}
	for range 20 { // refused before: not charged
		wantCode(t, "a broken rule", create(request.with("state", "short"), home), 400, "invalid_request")
		wantCode(t, "a foreign route", create(request.with("requested_routes", []string{"foreign"}), home), 400, "invalid_client")
	}
	w.client(func(c *registry.Client) { c.AgentAuthorizeURL = "http://erp.example.net/" })
	wantCode(t, "a broken authorize URL, which is charged", create(request, home), 503, "agent_authorize_url_invalid")
	w.client(func(*registry.Client) {})
	for n := 2; n <= 10; n++ {
		must(t, create(request, home))
	}
	wantCode(t, "the eleventh", create(request, home), 429, "rate_limited")
	must(t, create(request, "203.0.113.8"), create(request.with("client_app_id", "other"), home))
	w.client(func(c *registry.Client) { c.AgentAuthorizeURL = "http://erp.example.net/" })
	wantCode(t, "the limit comes before the authorize URL", create(request, home), 429, "rate_limited")
	w.client(func(*registry.Client) {})
	w.clock.Advance(time.Minute - time.Millisecond)
	wantCode(t, "just before the window has passed", create(request, home), 429, "rate_limited")
	w.clock.Advance(time.Millisecond)
	must(t, create(request, home))
}

// Row 6 of agent §2.2, and what the business reads of it (agent §2.3).
func TestARequestIsStoredAsItCame(t *testing.T) {
	t.Parallel()
	w := open(t)
	created, err := w.Create(t.Context(), request.with("device_label", " Yard laptop 3 ").value(t), home)
	must(t, err)
	if want := page + "&authorization_id=" + created.AuthorizationID; created.AuthorizationURL != want || created.ExpiresIn != 600 {
		t.Errorf("%+v, want %s", created, want)
	}
	a := w.authorization(created.AuthorizationID)
	if a.State != "Zt9fQ2-state" || a.RedirectURI != loopback || a.Challenge != challenge || a.DeviceLabel != "Yard laptop 3" {
		t.Errorf("%+v", a)
	}
	v, err := w.Context(t.Context(), w.own(), strings.ToUpper(created.AuthorizationID))
	must(t, err)
	if v.AuthorizationID != a.ID || v.Client != (agentsession.ClientName{AppID: "depot-agent", Name: "Depot agent"}) || v.Device.Name != "Yard laptop 3" ||
		!slices.Equal(v.RequestedRoutes, []string{"depot-desk"}) || v.Status != agentsession.Pending || v.ExpiresAt != "2026-11-30T08:10:00.000Z" || v.Session != nil {
		t.Errorf("%+v", v)
	}
}

func TestARequestExpiresAfter600Seconds(t *testing.T) {
	t.Parallel()
	w := open(t)
	status := func(id string) agentsession.Status {
		v, err := w.Context(t.Context(), w.own(), id)
		must(t, err)
		return v.Status
	}
	for name, decide := range map[string]func(id string) error{
		"approve": func(id string) error { _, err := w.Approve(t.Context(), w.own(), id, approval.value(t)); return err },
		"deny":    func(id string) error { _, err := w.Deny(t.Context(), w.own(), id, parsed("{}")); return err },
	} {
		inTime, late := w.asked(request), w.asked(request)
		w.clock.Advance(600*time.Second - time.Millisecond)
		if got := status(inTime); got != agentsession.Pending {
			t.Errorf("just before: %s", got)
		}
		if err := decide(inTime); err != nil {
			t.Errorf("%s just before: %v", name, err)
		}
		w.clock.Advance(time.Millisecond)
		if got := status(late); got != agentsession.Expired || w.authorization(late).Status != agentsession.Pending {
			t.Errorf("after 600 s it reads %s, stored %s", got, w.authorization(late).Status)
		}
		for range 2 {
			wantCode(t, name+" after 600 s", decide(late), 410, "expired")
			if got := w.authorization(late).Status; got != agentsession.Expired {
				t.Errorf("%s: stored %s, want expired", name, got)
			}
		}
	}
}

func TestOfABusinessOnlyItsEnabledClientIsKnown(t *testing.T) {
	t.Parallel()
	w := open(t)
	for _, bearer := range []string{"", "unknown", token + "x"} {
		_, err := w.Business(t.Context(), bearer)
		wantCode(t, bearer, err, 401, "unauthorized")
	}
	if c, err := w.Business(t.Context(), token); err != nil || c.AppID != "depot-agent" {
		t.Errorf("%+v, %v", c, err)
	}
	w.client(func(c *registry.Client) { c.Enabled = false })
	_, err := w.Business(t.Context(), token)
	wantCode(t, "disabled", err, 401, "unauthorized")
}

func TestARequestOfAnotherClientIsNotFound(t *testing.T) {
	t.Parallel()
	w := open(t)
	other := w.client(func(c *registry.Client) { c.AppID = "other" })
	id := w.asked(request)
	for _, id := range []string{id, "b2f0c1de-5a77-4c0e-9b61-6b1f2f0a9d10", "no-uuid", ""} {
		_, err := w.Context(t.Context(), other, id)
		wantCode(t, "context", err, 404, "not_found")
		_, err = w.Approve(t.Context(), other, id, approval.value(t))
		wantCode(t, "approve", err, 404, "not_found")
		_, err = w.Deny(t.Context(), other, id, parsed("{}"))
		wantCode(t, "deny", err, 404, "not_found")
		_, err = w.RevokeAuthorization(t.Context(), other, id, parsed("{}"))
		wantCode(t, "revoke", err, 404, "not_found")
	}
	if got := w.authorization(id).Status; got != agentsession.Pending {
		t.Errorf("it is %s now", got)
	}
}
