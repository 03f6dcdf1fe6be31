package agentsession_test

import (
	"encoding/json"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"bailing/shared/agentsession"
	"bailing/shared/canonical"
	"bailing/shared/registry"
)

func (w *world) approve(id string, m members) (agentsession.Redirect, error) {
	return w.Approve(w.t.Context(), w.own(), id, m.value(w.t))
}

func (w *world) deny(id string) (agentsession.Redirect, error) {
	return w.Deny(w.t.Context(), w.own(), id, parsed("{}"))
}

func (w *world) revokeAuthorization(id string) (agentsession.AuthorizationRevoked, error) {
	return w.RevokeAuthorization(w.t.Context(), w.own(), id, parsed("{}"))
}

// The 400s of the order of agent §2.4. They come before the request is looked for.
func TestApproveRefusesBodiesThatBreakARule(t *testing.T) {
	t.Parallel()
	w := open(t)
	who := func(name string, v any) members { return approval.with("principal", principal.with(name, v)) }
	roles := func(n int) (list []string) {
		for range n {
			list = append(list, "r"+long(len(list)%60)+"-"+string(rune('a'+len(list)/60)))
		}
		return list
	}
	named := func(name string) members { return approval.with("subject_display", members{"name": name}) }
	for name, tc := range map[string]struct {
		body members
		good bool
	}{
		"as it should be":                    {approval, true},
		"an unknown member":                  {approval.with("x", 1), false},
		"no principal":                       {approval.with("principal", nil), false},
		"a principal that is no object":      {approval.with("principal", "op-15"), false},
		"a principal with an unknown member": {who("name", "Ann"), false},
		"a principal without id":             {who("id", nil), false},
		"a blank id":                         {who("id", "  "), false},
		"an id of 128 after trimming":        {who("id", " "+long(128)), true},
		"an id of 129":                       {who("id", long(129)), false},
		"no tenant":                          {who("tenant", nil), true},
		"an empty tenant":                    {who("tenant", ""), true},
		"a tenant of 128":                    {who("tenant", long(128)), true},
		"a tenant of 129":                    {who("tenant", long(129)), false},
		"a tenant that is a number":          {who("tenant", 7), false},
		"no roles":                           {who("roles", nil), true},
		"roles that are no list":             {who("roles", "clerk"), true},
		"64 roles":                           {who("roles", roles(64)), true},
		"65 roles":                           {who("roles", roles(65)), false},
		"a blank role":                       {who("roles", []string{"clerk", " "}), false}, // D47
		"a role of 64":                       {who("roles", []string{long(64)}), true},
		"a role of 65":                       {who("roles", []string{long(65)}), false},
		"a role that is a number":            {who("roles", []any{7}), false},
		"an audience of 64":                  {who("audience", long(64)), true},
		"an audience of 65":                  {who("audience", long(65)), false},
		"a channel of 128":                   {who("channel", long(128)), true},
		"a channel of 129":                   {who("channel", long(129)), false},
		"no on_behalf_of":                    {approval.with("on_behalf_of", nil), false},
		"a blank on_behalf_of":               {approval.with("on_behalf_of", " "), false},
		"an on_behalf_of of 191":             {approval.with("on_behalf_of", long(191)), true},
		"an on_behalf_of of 192":             {approval.with("on_behalf_of", long(192)), false},
		"no allowed_routes":                  {approval.with("allowed_routes", nil), false},
		"empty allowed_routes":               {approval.with("allowed_routes", []string{}), false},
		"route auto":                         {approval.with("allowed_routes", []string{"auto"}), false},
		"a route twice":                      {approval.with("allowed_routes", []string{"depot-desk", "depot-desk "}), false},
		"no subject_display":                 {approval.with("subject_display", nil), true},
		"subject_display null":               {approval.with("subject_display", json.RawMessage("null")), true},
		"subject_display that is a string":   {approval.with("subject_display", "Yard"), false},
		"subject_display without name":       {approval.with("subject_display", members{}), false},
		"subject_display with more":          {approval.with("subject_display", members{"name": "Yard", "x": 1}), false},
		"a blank name":                       {named("  "), false},
		"a name of 120 after trimming":       {named(" " + long(120) + " "), true},
		"a name of 121":                      {named(long(121)), false},
		"a name of 120 units":                {named(strings.Repeat("🦊", 60)), true},
		"a name of 122 units":                {named(strings.Repeat("🦊", 61)), false},
		"a name with a tab":                  {named("Yard\t2"), false},
		"a name with a tab at its end":       {named("Yard\t"), false},
		"a name with DEL":                    {named("Yard\u007f2"), false},
		"a name with U+009F":                 {named("Yard\u009f2"), false},
		"a name with U+00A0":                 {named("Yard\u00a02"), true},
		"a name with U+2028":                 {named("Yard\u20282"), false},
		"a name with U+2029":                 {named("Yard\u20292"), false},
	} {
		id := w.asked(request)
		_, err := w.approve(id, tc.body)
		if tc.good {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		wantCode(t, name, err, 400, "invalid_request")
		_, err = w.approve("b2f0c1de-5a77-4c0e-9b61-6b1f2f0a9d10", tc.body)
		wantCode(t, name+", of no request", err, 400, "invalid_request")
		if got := w.authorization(id).Status; got != agentsession.Pending {
			t.Errorf("%s: it is %s now", name, got)
		}
	}
	for _, body := range []canonical.Value{{}, parsed("[]"), parsed("{}"), parsed(`{"principal":{"id":"a"},"on_behalf_of":"a","allowed_routes":["depot-desk"],"subject_display":{"name":"\ud800"}}`)} {
		_, err := w.Approve(t.Context(), w.own(), w.asked(request), body)
		wantCode(t, "a body", err, 400, "invalid_request")
	}
}

// The rest of the order of agent §2.4: 404, 403, 410, 409.
func TestApproveChecksInOrder(t *testing.T) {
	t.Parallel()
	w := open(t)
	wide := request.with("requested_routes", []string{"depot-desk", "yard-ops"})
	foreign := approval.with("allowed_routes", []string{"depot-desk", "foreign"})
	_, err := w.approve("b2f0c1de-5a77-4c0e-9b61-6b1f2f0a9d10", foreign)
	wantCode(t, "404 before 403", err, 404, "not_found")
	id := w.asked(request)
	_, err = w.approve(id, approval.with("allowed_routes", []string{"yard-ops"}))
	wantCode(t, "a route that was not requested", err, 403, "route_not_allowed")
	narrowed := w.asked(wide)
	w.client(func(c *registry.Client) { c.AllowedRoutes = []string{"depot-desk"} })
	_, err = w.approve(narrowed, approval.with("allowed_routes", []string{"depot-desk", "yard-ops"}))
	wantCode(t, "a route that the client lost meanwhile", err, 403, "route_not_allowed")
	if _, err := w.approve(narrowed, approval); err != nil {
		t.Errorf("fewer routes than requested: %v", err)
	}
	_, err = w.approve(narrowed, foreign)
	wantCode(t, "403 before 409", err, 403, "route_not_allowed")
	_, err = w.approve(narrowed, approval)
	wantCode(t, "approved already", err, 409, "invalid_state")
	w.clock.Advance(agentsession.AuthorizationLife)
	_, err = w.approve(id, foreign)
	wantCode(t, "403 before 410", err, 403, "route_not_allowed")
	_, err = w.approve(narrowed, approval)
	wantCode(t, "410 before 409, of an old approved request", err, 410, "expired")
	if got := w.authorization(narrowed).Status; got != agentsession.Approved {
		t.Errorf("an approved request is %s after its expiry, only pending ones are stored as expired", got)
	}
	if v, err := w.Context(t.Context(), w.own(), narrowed); err != nil || v.Status != agentsession.Approved {
		t.Errorf("it reads %s, %v", v.Status, err)
	}
}

func TestADecidedRequestIsDecidedForGood(t *testing.T) {
	t.Parallel()
	w := open(t)
	decided := map[agentsession.Status]string{}
	_, decided[agentsession.Approved] = w.approved(approval)
	_, decided[agentsession.Consumed] = w.loginAs(approval)
	for status, end := range map[agentsession.Status]func(id string) error{
		agentsession.Denied:  func(id string) error { _, err := w.deny(id); return err },
		agentsession.Revoked: func(id string) error { _, err := w.revokeAuthorization(id); return err },
	} {
		decided[status] = w.asked(request)
		must(t, end(decided[status]))
	}
	for status, id := range decided {
		before := w.authorization(id)
		_, err := w.approve(id, approval)
		wantCode(t, "approve "+string(status), err, 409, "invalid_state")
		_, err = w.deny(id)
		wantCode(t, "deny "+string(status), err, 409, "invalid_state")
		if after := w.authorization(id); after.Status != status || !reflect.DeepEqual(before, after) {
			t.Errorf("%s: %+v", status, after)
		}
	}
}

// The body of a denial, agent §2.5.
func TestDenyTakesWhatIsNoObjectForAnEmptyOne(t *testing.T) {
	t.Parallel()
	w := open(t)
	id := w.asked(request)
	_, err := w.Deny(t.Context(), w.own(), id, parsed(`{"reason":"no"}`))
	wantCode(t, "a member", err, 400, "invalid_request")
	for _, text := range []string{"{}", "[1]", "null", "not JSON"} {
		r, err := w.Deny(t.Context(), w.own(), w.asked(request), parsed(text))
		if want := loopback + "?error=access_denied&state=Zt9fQ2-state"; err != nil || r.RedirectURI != want {
			t.Errorf("%s: %q, %v, want %q", text, r.RedirectURI, err, want)
		}
	}
}

func TestTheRedirectCarriesTheOnlyCopyOfTheCode(t *testing.T) {
	t.Parallel()
	w := open(t)
	id := w.asked(request.with("redirect_uri", loopback+"?code=old&keep=a+b&error=old").with("state", "a b&c=d/é"))
	r, err := w.approve(id, approval)
	must(t, err)
	u, err := url.Parse(r.RedirectURI)
	must(t, err)
	code := u.Query().Get("code")
	if len(code) != 47 || !strings.HasPrefix(code, "bhc_") {
		t.Errorf("code %q", code)
	}
	if want := loopback + "?keep=a+b&code=" + code + "&state=a+b%26c%3Dd%2F%C3%A9"; r.RedirectURI != want {
		t.Errorf("%s, want %s", r.RedirectURI, want)
	}
	a := w.authorization(id)
	if a.Status != agentsession.Approved || a.CodeHash != registry.TokenHash(code) || a.CodeExpiresAt != start.Add(120*time.Second) {
		t.Errorf("%+v", a)
	}
	if want := (agentsession.Grant{
		Principal: agentsession.Principal{ID: "op-15", Tenant: "yard-2", Roles: []string{"clerk"}}, OnBehalfOf: "yard-2:op-15",
		Routes: []string{"depot-desk"}, Display: "Yard 2",
	}); !reflect.DeepEqual(a.Grant, want) {
		t.Errorf("%+v", a.Grant)
	}
}

func TestAPrincipalIsNormalised(t *testing.T) {
	t.Parallel()
	w := open(t)
	_, id := w.approved(approval.with("principal", members{
		"id": " op-15 ", "tenant": " ", "roles": []string{"b", " a ", "b", "a"}, "audience": "", "channel": " web ",
	}).with("on_behalf_of", " op ").with("subject_display", members{"name": " Yard 2 "}))
	g := w.authorization(id).Grant
	if want := (agentsession.Principal{ID: "op-15", Roles: []string{"b", "a"}, Channel: "web"}); !reflect.DeepEqual(g.Principal, want) || g.OnBehalfOf != "op" || g.Display != "Yard 2" {
		t.Errorf("%+v", g)
	}
	_, id = w.approved(approval.with("principal", members{"id": "op", "roles": "clerk"}))
	if got := w.authorization(id).Grant.Principal; !reflect.DeepEqual(got, agentsession.Principal{ID: "op", Roles: []string{}}) {
		t.Errorf("%+v", got)
	}
}

// Every row of agent §2.6.
func TestRevokingAnAuthorization(t *testing.T) {
	t.Parallel()
	w := open(t)
	pending := w.asked(request)
	for _, text := range []string{`{"x":1}`, "[]", "null", "not JSON"} {
		_, err := w.RevokeAuthorization(t.Context(), w.own(), pending, parsed(text))
		wantCode(t, text, err, 400, "invalid_request")
	}
	code, approved := w.approved(approval)
	denied := w.asked(request)
	_, err := w.deny(denied)
	must(t, err)
	for _, id := range []string{pending, approved, strings.ToUpper(pending), denied} {
		for range 2 {
			r, err := w.revokeAuthorization(id)
			if want := (agentsession.AuthorizationRevoked{AuthorizationID: strings.ToLower(id), Revoked: true}); err != nil || r != want {
				t.Errorf("%+v, %v", r, err)
			}
		}
	}
	for id, want := range map[string]agentsession.Status{pending: agentsession.Revoked, approved: agentsession.Revoked, denied: agentsession.Denied} {
		if a := w.authorization(id); a.Status != want || a.CodeHash != "" || !a.CodeExpiresAt.IsZero() {
			t.Errorf("%+v, want %s", a, want)
		}
	}
	_, err = w.Token(t.Context(), codeGrant(code).value(t))
	wantCode(t, "the code of a revoked request", err, 400, "invalid_grant")

	late := w.asked(request)
	w.clock.Advance(agentsession.AuthorizationLife)
	_, err = w.approve(late, approval)
	wantCode(t, "too late", err, 410, "expired")
	if r, err := w.revokeAuthorization(late); err != nil || !r.Revoked || w.authorization(late).Status != agentsession.Expired {
		t.Errorf("an expired one: %+v, %v", r, err)
	}

	tokens, consumed := w.loginAs(approval)
	first := w.clock.Now()
	for range 2 {
		r, err := w.revokeAuthorization(consumed)
		if want := (agentsession.AuthorizationRevoked{AuthorizationID: consumed, Revoked: true, SessionID: tokens.SessionID}); err != nil || r != want {
			t.Errorf("%+v, %v", r, err)
		}
		if s := w.session(tokens.SessionID); !s.RevokedAt.Equal(first) || w.authorization(consumed).Status != agentsession.Consumed || w.works(tokens.AccessToken) {
			t.Errorf("%+v", s)
		}
		w.clock.Advance(time.Minute)
	}
	_, err = w.refresh(t.Context(), tokens.RefreshToken)
	wantCode(t, "a refresh token of the session", err, 400, "invalid_grant")
}

func TestAConsumedRequestShowsItsSession(t *testing.T) {
	t.Parallel()
	w := open(t)
	tokens, id := w.loginAs(approval)
	shown := func() string {
		v, err := w.Context(t.Context(), w.own(), id)
		must(t, err)
		b, err := json.Marshal(v)
		must(t, err)
		return string(b)
	}
	head := `{"authorization_id":"` + id + `","client":{"app_id":"depot-agent","name":"Depot agent"},"device":{"name":"Yard laptop 3"},` +
		`"requested_routes":["depot-desk"],"status":"consumed","expires_at":"2026-11-30T08:10:00.000Z","session":`
	session := func(state, more string) string {
		return head + `{"session_id":"` + tokens.SessionID + `","state":"` + state + `","expires_at":"2026-12-30T08:00:00.000Z",` +
			`"subject_display":{"name":"Yard 2"},"subject_display_status":"provided"` + more + `}}`
	}
	if got := shown(); got != session("active", "") {
		t.Errorf("%s", got)
	}
	w.clock.Advance(agentsession.RefreshLife - time.Millisecond)
	if got := shown(); got != session("active", "") {
		t.Errorf("%s", got)
	}
	w.clock.Advance(time.Millisecond)
	if got := shown(); got != session("expired", "") {
		t.Errorf("%s", got)
	}
	must(t, w.RevokeSession(t.Context(), w.own(), tokens.SessionID))
	if got := shown(); got != session("revoked", `,"revoked_at":"2026-12-30T08:00:00.000Z"`) {
		t.Errorf("%s", got)
	}
	w.remove("session#" + tokens.SessionID)
	if got := shown(); got != head+`null}` {
		t.Errorf("%s", got)
	}
	_, err := w.revokeAuthorization(id)
	wantCode(t, "revoking what led to a session that is gone", err, 404, "not_found")
}
