package agentauth_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"bailing/shared/registry"
)

func (a *api) create(body, source string) answer {
	a.t.Helper()
	return a.send(request{method: "POST", path: prefix + "authorizations", body: body, source: source})
}

// Agent §2.2, row 6.
func TestCreateAnswersWithThePageOfTheClient(t *testing.T) {
	t.Parallel()
	a := open(t)
	id := a.ask(nil)
	if id != strings.ToLower(id) || len(id) != 36 {
		t.Errorf("id %q", id)
	}
	for _, tc := range []struct{ rule, stored, want string }{
		{"a page without a query", "https://erp.example.net/in", "https://erp.example.net/in?authorization_id=ID"},
		{"other parameters stay", "https://erp.example.net/in?lang=en", "https://erp.example.net/in?lang=en&authorization_id=ID"},
		{"an id that is there is replaced", "https://erp.example.net/in?authorization_id=old&lang=en", "https://erp.example.net/in?authorization_id=ID&lang=en"},
		{"a page of a developer", "http://127.0.0.1:8080/in", "http://127.0.0.1:8080/in?authorization_id=ID"},
	} {
		a.saveDepot(func(c *registry.Client) { c.AgentAuthorizeURL = tc.stored })
		got := a.create(wish, "192.0.2.7")
		var created struct {
			ID string `json:"authorization_id"`
		}
		got.into(t, &created)
		got.want(t, 201, fmt.Sprintf(`{"authorization_id":%q,"authorization_url":%q,"expires_in":600}`, created.ID, strings.Replace(tc.want, "ID", created.ID, 1)))
	}
}

// Agent §2.2, rows 1 and 2.
func TestCreateRefusesWhatBreaksARule(t *testing.T) {
	t.Parallel()
	a := open(t)
	for _, body := range []string{"", "{}", "[]", `"x"`, "1", "null", "{", "nonsense", `{"state":"` + state + `","state":"` + state + `"}`, "\xff"} {
		a.create(body, "").refused(t, fmt.Sprintf("the body %q", body), 400, "invalid_request")
	}
	for name := range map[string]bool{
		"client_app_id": true, "redirect_uri": true, "state": true, "requested_routes": true, "device_label": true, "code_challenge": true, "code_challenge_method": true,
	} {
		a.create(with(t, wish, map[string]any{name: nil}), "").refused(t, "without "+name, 400, "invalid_request")
		for _, v := range []any{7, true, []any{7}, map[string]any{}} {
			a.create(with(t, wish, map[string]any{name: v}), "").refused(t, fmt.Sprintf("%s %v", name, v), 400, "invalid_request")
		}
	}
	a.create(with(t, wish, map[string]any{"scope": "x"}), "").refused(t, "another field", 400, "invalid_request")
	for _, tc := range []struct {
		rule, field string
		value       any
		status      int
	}{
		{"a key of one character", "client_app_id", "d", 400}, {"a capital in the key", "client_app_id", "Depot-agent", 400},
		{"a key with white space around it is trimmed", "client_app_id", " depot-agent\u00a0", 201},
		{"a state of 7 characters", "state", "1234567", 400}, {"a state of 8", "state", "12345678", 201},
		{"a state of 512", "state", strings.Repeat("s", 512), 201}, {"a state of 513", "state", strings.Repeat("s", 513), 400},
		{"UTF-16 units count", "state", strings.Repeat("😀", 257), 400}, {"512 of them", "state", strings.Repeat("😀", 256), 201},
		{"no route", "requested_routes", []string{}, 400}, {"the route auto", "requested_routes", []string{"auto"}, 400},
		{"every route", "requested_routes", []string{"*"}, 400}, {"a route twice", "requested_routes", []string{"depot-desk", "depot-desk"}, 400},
		{"a route twice after trimming", "requested_routes", []string{"depot-desk", " depot-desk "}, 400},
		{"a trimmed route", "requested_routes", []string{" depot-desk "}, 201}, {"a route that is no key", "requested_routes", []string{"Depot"}, 400},
		{"a route of another type", "requested_routes", []any{"depot-desk", 1}, 400}, {"routes that are no list", "requested_routes", "depot-desk", 400},
		{"65 routes", "requested_routes", numbered(65), 400},
		{"no device", "device_label", " \t ", 400}, {"a device of 128", "device_label", strings.Repeat("d", 128), 201},
		{"a device of 129", "device_label", strings.Repeat("d", 129), 400}, {"a device of 128 after trimming", "device_label", " " + strings.Repeat("d", 128) + " ", 201},
		{"a challenge of 42", "code_challenge", challenge[:42], 400}, {"a challenge of 44", "code_challenge", challenge + "A", 400},
		{"a padded challenge", "code_challenge", challenge[:42] + "=", 400}, {"the method plain", "code_challenge_method", "plain", 400},
		{"the method in lower case", "code_challenge_method", "s256", 400},
		{"an address of 2048", "redirect_uri", callback + "?" + strings.Repeat("x", 2048-len(callback)-1), 201},
		{"an address of 2049", "redirect_uri", callback + "?" + strings.Repeat("x", 2049-len(callback)-1), 400},
	} {
		a.asked++
		got := a.create(with(t, wish, map[string]any{tc.field: tc.value}), fmt.Sprintf("198.51.100.%d", a.asked))
		if got.Status != tc.status || tc.status == 400 && got.Body != `{"error":"invalid_request"}` {
			t.Errorf("%s: %d %s", tc.rule, got.Status, got.Body)
		}
	}
}

func numbered(n int) (routes []string) {
	for i := range n {
		routes = append(routes, fmt.Sprintf("route-%d", i))
	}
	return routes
}

// Agent §2.2: the loopback rule is about the raw text.
func TestLoopbackAddresses(t *testing.T) {
	t.Parallel()
	a := open(t)
	for _, tc := range []struct {
		uri     string
		allowed bool
	}{
		{"http://127.0.0.1:1", true}, {"http://127.0.0.1:65535/", true}, {"http://[::1]:8080/a?b=c", true}, {"http://127.0.0.1:8080?x=1", true},
		{"http://localhost:8080/", false}, {"http://127.0.0.1", false}, {"http://127.0.0.1/", false}, {"http://127.0.0.1:/", false},
		{"http://127.0.0.1:0", false}, {"http://127.0.0.1:65536", false}, {"http://127.0.0.1:+80", false}, {"http://127.0.0.1:8o", false},
		{"https://127.0.0.1:1", false}, {"http://user@127.0.0.1:80/", false}, {"http://127.0.0.1:80@evil.example/", false},
		{"http://127.0.0.1:80/#x", false}, {"http://127.0.0.1:80#", false}, {"http://127.0.0.2:80/", false}, {"http://127.1:80/", false},
		{"http://2130706433:80/", false}, {"http://[::1%25lo]:80/", false}, {"http://[0:0:0:0:0:0:0:1]:80/", false}, {"http://127.0.0.1.evil.example:80/", false},
		{" http://127.0.0.1:80/", false}, {"http:\\\\127.0.0.1:80/", false}, {"//127.0.0.1:80/", false}, {"", false},
	} {
		a.asked++
		got := a.create(with(t, wish, map[string]any{"redirect_uri": tc.uri}), fmt.Sprintf("198.51.100.%d", a.asked))
		if got.Status != map[bool]int{true: 201, false: 400}[tc.allowed] {
			t.Errorf("%q: %d %s", tc.uri, got.Status, got.Body)
		}
	}
}

// Agent §2.2, row 3.
func TestCreateForAClientThatLetsNobodyIn(t *testing.T) {
	t.Parallel()
	a := open(t)
	a.SaveClient(registry.Client{AppID: "off-agent", AllowedRoutes: []string{"*"}, AgentAuthorizeURL: authorizeURL})
	a.SaveClient(registry.Client{AppID: "no-agent", AllowedRoutes: []string{"*"}, Enabled: true})
	for _, tc := range []struct {
		rule    string
		members map[string]any
		status  int
	}{
		{"unknown", map[string]any{"client_app_id": "nobody"}, 400},
		{"disabled", map[string]any{"client_app_id": "off-agent"}, 400},
		{"without a page", map[string]any{"client_app_id": "no-agent"}, 400},
		{"a route that it may not use", map[string]any{"requested_routes": []string{"depot-desk", "ledger"}}, 400},
		{"all routes that it may use", map[string]any{"requested_routes": []string{"yard-ops", "depot-desk"}}, 201},
		{"a client that may use every route", map[string]any{"client_app_id": "other-agent", "requested_routes": []string{"anything"}}, 201},
		{"64 routes", map[string]any{"client_app_id": "other-agent", "requested_routes": numbered(64)}, 201},
	} {
		got := a.create(with(t, wish, tc.members), "")
		if got.Status != tc.status || tc.status == 400 && got.Body != `{"error":"invalid_client"}` {
			t.Errorf("%s: %d %s", tc.rule, got.Status, got.Body)
		}
	}
	a.create(with(t, wish, map[string]any{"client_app_id": "nobody", "state": "x"}), "").refused(t, "the fields before the client", 400, "invalid_request")
}

// Agent §2.2, row 4, and D24.
func TestCreateIsLimitedByTheAddressThatTheGatewaySaw(t *testing.T) {
	t.Parallel()
	a := open(t)
	for i := range 20 { // refused before row 4: nothing is charged
		a.create(with(t, wish, map[string]any{"requested_routes": []string{"ledger"}}), "").refused(t, fmt.Sprint(i), 400, "invalid_client")
		a.create("[]", "").refused(t, fmt.Sprint(i), 400, "invalid_request")
	}
	for i := range 10 {
		if got := a.create(wish, ""); got.Status != 201 {
			t.Fatalf("%d: %d %s", i+1, got.Status, got.Body)
		}
	}
	a.create(wish, "").refused(t, "the 11th", 429, "rate_limited")
	forged := request{
		method: "POST", path: prefix + "authorizations", body: wish,
		header: map[string][]string{"X-Forwarded-For": {"203.0.113.9"}, "Forwarded": {"for=203.0.113.9"}, "X-Real-Ip": {"203.0.113.9"}},
	}
	a.send(forged).refused(t, "an address that a header claims", 429, "rate_limited")
	if got := a.create(wish, "192.0.2.8"); got.Status != 201 {
		t.Errorf("another address: %d %s", got.Status, got.Body)
	}
	if got := a.create(with(t, wish, map[string]any{"client_app_id": "other-agent"}), ""); got.Status != 201 {
		t.Errorf("another client: %d %s", got.Status, got.Body)
	}
	a.create(with(t, wish, map[string]any{"requested_routes": []string{"ledger"}}), "").refused(t, "the client before the limit", 400, "invalid_client")
	a.saveDepot(func(c *registry.Client) { c.AgentAuthorizeURL = "ftp://erp.example.net/" })
	a.create(wish, "").refused(t, "the limit before the page", 429, "rate_limited")
	a.create(wish, "192.0.2.8").refused(t, "the page", 503, "agent_authorize_url_invalid")
	a.saveDepot(func(*registry.Client) {})
	a.Clock.Advance(60*time.Second + time.Millisecond)
	if got := a.create(wish, ""); got.Status != 201 {
		t.Errorf("a minute later: %d %s", got.Status, got.Body)
	}
}

// An IPv6 client has a whole /64 to call from.
func TestAnIPv6NetworkIsOneAddress(t *testing.T) {
	t.Parallel()
	a := open(t)
	for i := range 10 {
		if got := a.create(wish, fmt.Sprintf("2001:db8:1:2:%x::1", i)); got.Status != 201 {
			t.Fatalf("%d: %d %s", i+1, got.Status, got.Body)
		}
	}
	a.create(wish, "2001:db8:1:2:ffff:ffff:ffff:ffff").refused(t, "the same /64", 429, "rate_limited")
	if got := a.create(wish, "2001:db8:1:3::1"); got.Status != 201 {
		t.Errorf("the next /64: %d %s", got.Status, got.Body)
	}
	for range 10 {
		a.create(wish, "::ffff:203.0.113.9")
	}
	a.create(wish, "203.0.113.9").refused(t, "the same IPv4 address in another form", 429, "rate_limited")
}

// Agent §2.2, row 5.
func TestCreateWithAPageThatBreaksItsRule(t *testing.T) {
	t.Parallel()
	a := open(t)
	for i, stored := range []string{
		"http://erp.example.net/", "https://user@erp.example.net/", "https://erp.example.net/#x", "http://localhost:80/", "/in",
		"https://erp.example.net/" + strings.Repeat("x", 2048),
	} {
		a.saveDepot(func(c *registry.Client) { c.AgentAuthorizeURL = stored })
		a.create(wish, fmt.Sprintf("192.0.2.%d", i)).refused(t, stored, 503, "agent_authorize_url_invalid")
	}
}
