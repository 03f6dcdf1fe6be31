package business

import (
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"bailing/scripts/demo/business/businesstest"
)

func TestThePageShowsWhoAsksForWhatAndTheAgentGetsItsCode(t *testing.T) {
	c := openCounter(t, origin)
	id, b := c.request(businesstest.Request{}), c.browser()
	w := b.login(id)
	for _, words := range []string{
		"Demo client", "demo-app", "Yard laptop 3", "Dana Meier", "u_42", "north", "Order desk", "orders", "returns", "12:10 UTC", "in 10 minutes",
	} {
		wantPage(t, w, http.StatusOK, words)
	}
	w = b.post(AuthorizePath, b.decision(w, "approve"))
	if w.Code != http.StatusSeeOther || !strings.HasPrefix(w.Header().Get("Location"), listener+"?code=bhc_") ||
		!strings.HasSuffix(w.Header().Get("Location"), "&state=state-of-the-agent") {
		t.Fatalf("%d to %q", w.Code, w.Header().Get("Location"))
	}
	wantHeaders(t, w)
	said := c.hub.Said(id)
	if len(said) != 1 || !said[0].Approved {
		t.Fatalf("said %v", said)
	}
	got, want := said[0].Body, `map[allowed_routes:[orders returns] on_behalf_of:u_42 principal:map[id:u_42 roles:[customer] tenant:north] subject_display:map[name:Dana Meier]]`
	if s := sprint(got); s != want {
		t.Errorf("approved %s, want %s", s, want)
	}
	wantPage(t, b.get(authorizeURL(id)), http.StatusConflict, "already used")
}

func TestAPersonMayNarrowAndNeverWiden(t *testing.T) {
	c := openCounter(t, origin)
	id, b := c.request(businesstest.Request{}), c.browser()
	page := b.login(id)
	f := b.decision(page, "approve")
	f["route"] = nil
	again := b.post(AuthorizePath, f)
	wantPage(t, again, http.StatusUnprocessableEntity, "at least one workspace")
	if strings.Count(page.Body.String(), " checked>") != 2 || strings.Contains(again.Body.String(), " checked>") {
		t.Errorf("the boxes are ticked again: %s", again.Body)
	}
	for _, routes := range [][]string{{"orders", "payroll"}, {"payroll"}, {"orders", "orders"}, {"orders", "*"}, {""}} {
		f["route"] = routes
		wantPage(t, b.post(AuthorizePath, f), http.StatusForbidden, "out of date")
	}
	if said := c.hub.Said(id); len(said) != 0 {
		t.Fatalf("said %v", said)
	}
	f["route"] = []string{"returns"}
	if w := b.post(AuthorizePath, f); w.Code != http.StatusSeeOther {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	if got := sprint(c.hub.Said(id)[0].Body["allowed_routes"]); got != "[returns]" {
		t.Errorf("approved %s", got)
	}
}

func TestDenyTellsTheAgent(t *testing.T) {
	c := openCounter(t, origin)
	id, b := c.request(businesstest.Request{RedirectTo: listener + "?keep=1"}), c.browser()
	w := b.post(AuthorizePath, b.decision(b.login(id), "deny"))
	if got, want := w.Header().Get("Location"), listener+"?error=access_denied&keep=1&state=state-of-the-agent"; w.Code != http.StatusSeeOther || got != want {
		t.Errorf("%d to %q, want %q", w.Code, got, want)
	}
	wantPage(t, b.get(authorizeURL(id)), http.StatusConflict, "was denied")
}

func TestAListenerOnIPv6IsReachedThroughAPageOfItsOwn(t *testing.T) {
	c := openCounter(t, origin)
	id, b := c.request(businesstest.Request{RedirectTo: "http://[::1]:50123/callback"}), c.browser()
	w := b.post(AuthorizePath, b.decision(b.login(id), "deny"))
	wantPage(t, w, http.StatusOK, `href="http://[::1]:50123/callback?error=access_denied&state=state-of-the-agent"`)
	if got, want := w.Header().Get("Refresh"), "0; url=http://[::1]:50123/callback?error=access_denied&state=state-of-the-agent"; got != want {
		t.Errorf("refresh %q, want %q", got, want)
	}
}

func TestWhatBecameOfARequestIsSaidInWords(t *testing.T) {
	for status, want := range map[string]struct {
		code  int
		words string
	}{
		"approved": {409, "already used"}, "consumed": {409, "already used"}, "denied": {409, "was denied"},
		"expired": {410, "expired"}, "revoked": {410, "withdrawn"}, "a_new_one": {502, "hub does not answer"},
	} {
		t.Run(status, func(t *testing.T) {
			c := openCounter(t, origin)
			id, b := c.request(businesstest.Request{}), c.browser()
			page := b.login(id)
			c.hub.Set(id, status)
			wantPage(t, b.get(authorizeURL(id)), want.code, want.words)
			wantPage(t, b.post(AuthorizePath, b.decision(page, "approve")), want.code, want.words)
			if status != "a_new_one" && status != "expired" {
				wantPage(t, b.post(AuthorizePath, b.decision(page, "deny")), want.code, want.words)
			}
			if said := c.hub.Said(id); len(said) != 0 {
				t.Errorf("said %v", said)
			}
		})
	}
}

func TestTimePassesWhileAPersonReads(t *testing.T) {
	c := openCounter(t, origin)
	id, b := c.request(businesstest.Request{}), c.browser()
	page := b.login(id)
	c.clock.Advance(9*time.Minute + 30*time.Second)
	wantPage(t, b.get(authorizeURL(id)), http.StatusOK, "in less than a minute")
	c.clock.Advance(30 * time.Second)
	for _, button := range []string{"approve", "deny"} {
		wantPage(t, b.post(AuthorizePath, b.decision(page, button)), http.StatusGone, "expired")
	}
}

func TestAnUnknownRequestAndAStrangeIDLookTheSame(t *testing.T) {
	c := openCounter(t, origin)
	b := c.browser()
	b.login(c.request(businesstest.Request{}))
	const other = "b2f0c1de-5a77-4c0e-9b61-6b1f2f0a9d10"
	for _, query := range []string{
		"", "?authorization_id=", "?authorization_id=x", "?authorization_id=" + other, "?authorization_id=" + other + "%0a",
		"?authorization_id=" + other + "&authorization_id=" + other, "?authorization_id=../../../admin/api/clients",
	} {
		wantPage(t, b.get(AuthorizePath+query), http.StatusNotFound, "do not know this request")
	}
	wantPage(t, c.browser().get(authorizeURL(other)), http.StatusOK, "Sign in") // before the login nobody learns whether it exists
}

func TestAClientThatLostARouteCannotBeLetIntoIt(t *testing.T) {
	c := openCounter(t, origin)
	id, b := c.request(businesstest.Request{}), c.browser()
	page := b.login(id)
	c.hub.Allow("orders")
	wantPage(t, b.post(AuthorizePath, b.decision(page, "approve")), http.StatusForbidden, "workspace is not allowed")
}

func TestAHubThatDoesNotAnswerIsSaidSo(t *testing.T) {
	answer := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}
	}
	for name, broken := range map[string]http.HandlerFunc{
		"cut":               func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"503":               answer(503, `{"error":"agent_auth_lifecycle_unavailable"}`),
		"503 with a no":     answer(503, `{"error":"not_found"}`),
		"401":               answer(401, `{"error":"unauthorized"}`),
		"429":               answer(429, `{"error":"rate_limited"}`),
		"no JSON":           answer(200, `<html>`),
		"nothing":           answer(200, `{}`),
		"another":           answer(200, `{"authorization_id":"b2f0c1de-5a77-4c0e-9b61-6b1f2f0a9d10","requested_routes":["orders"],"status":"pending"}`),
		"markup for a code": answer(400, `{"error":"<script>"}`),
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusTemporaryRedirect)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := openCounter(t, origin)
			id, b := c.request(businesstest.Request{}), c.browser()
			page := b.login(id)
			c.hub.Break(broken)
			for _, w := range []*httptest.ResponseRecorder{
				b.get(authorizeURL(id)), b.post(AuthorizePath, b.decision(page, "approve")), b.post(AuthorizePath, b.decision(page, "deny")),
			} {
				want := "hub does not answer"
				if name == "nothing" && w.Code == http.StatusBadGateway && strings.Contains(w.Body.String(), "Something is wrong") {
					continue // a decision without an address
				}
				if name == "another" && strings.Contains(w.Body.String(), "Something is wrong") {
					continue
				}
				wantPage(t, w, http.StatusBadGateway, want)
			}
			c.hub.Break(nil)
			wantPage(t, b.get(authorizeURL(id)), http.StatusOK, "Approve")
		})
	}
}

// A hub, or somebody in between, that names another address does not get the browser there.
func TestThePageGoesToTheAgentOnly(t *testing.T) {
	for _, target := range []string{
		"", "/", "//evil.example", "https://evil.example/?code=bhc_1", "http://evil.example:80/", "https://127.0.0.1:1/", "http://localhost:1/",
		"http://127.0.0.1/", "http://127.0.0.1:0/", "http://127.0.0.1:65536/", "http://127.0.0.1:+1/", "http://127.0.0.1:1@evil.example/",
		"http://127.0.0.1:1#@evil.example/", `http://127.0.0.1:1\@evil.example/`, "http://127.0.0.1:1.evil.example/", "http://[::1]/", "http://[::2]:1/",
		"http://127.0.0.1:1/#code=bhc_1", "http://127.0.0.1:1/\r\nSet-Cookie: a=b", "http://127.0.0.1:1/ x", "javascript:alert(1)", "HTTP://127.0.0.1:1/", "http://2130706433:1/",
		"http://0177.0.0.1:1/", "http://127.0.0.1:1/%zz", "http://127.0.0.1:1/é", "http://127.0.0.1:1/?" + strings.Repeat("a", maxTarget),
	} {
		t.Run(target[:min(len(target), 40)], func(t *testing.T) {
			if _, ok := loopback(target); ok {
				t.Error("taken for an agent's address")
			}
			if target == "" {
				t.Parallel() // the hub's own answer would be used
				return
			}
			c := openCounter(t, origin)
			c.hub.SendElsewhere(target)
			for _, button := range []string{"approve", "deny"} {
				id, b := c.request(businesstest.Request{}), c.browser()
				w := b.post(AuthorizePath, b.decision(b.login(id), button))
				if w.Header().Get("Location") != "" || w.Header().Get("Refresh") != "" {
					t.Errorf("sent to %q", w.Header().Get("Location"))
				}
				wantPage(t, w, http.StatusBadGateway, "not one of an agent on your own device")
			}
		})
	}
}

func TestLoopbackAddressesAreAgents(t *testing.T) {
	t.Parallel()
	for target, want := range map[string]string{
		"http://127.0.0.1:1": "127.0.0.1", "http://127.0.0.1:65535/cb?x=1&code=bhc_a": "127.0.0.1", "http://[::1]:8080?code=a": "[::1]",
		"http://127.0.0.1:1/?" + strings.Repeat("a", maxTarget-20): "127.0.0.1",
	} {
		if got, ok := loopback(target); !ok || got != want {
			t.Errorf("%s: %q, %v", target, got, ok)
		}
	}
}

func TestHostileNamesAreText(t *testing.T) {
	const hostile = `"><script>alert(1)</script><img src=x onerror=alert(1)>{{.Token}}`
	c := openCounter(t, origin)
	id, b := c.request(businesstest.Request{
		Device: hostile + "\u202egnp.exe\u200b\x00", ClientName: "' onclick=alert(1) " + hostile, Routes: []string{"orders"},
	}), c.browser()
	w := b.login(id)
	text := w.Body.String()
	for _, bad := range []string{"<script", "<img src=x", "\u202e", "\u200b", "\x00"} {
		if strings.Contains(text, bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	if !strings.Contains(text, html.EscapeString("<script>alert(1)</script>")) || strings.Count(text, "<form") != 2 {
		t.Errorf("the names are not shown as they are: %s", text)
	}
	wantHeaders(t, w)
	f := form(t, w, AuthorizePath) // a form with a hostile id is refused, not shown
	f.Set("authorization_id", hostile)
	if w := b.post(AuthorizePath, f); w.Code != http.StatusNotFound || strings.Contains(w.Body.String(), "script") {
		t.Errorf("%d: %s", w.Code, w.Body)
	}
}

func TestTheAssetsArePlain(t *testing.T) {
	c := openCounter(t, origin)
	b := c.browser()
	for name, kind := range map[string]string{"style.css": "text/css; charset=utf-8", "icon.svg": "image/svg+xml"} {
		w := b.get(assetsPath + name)
		if w.Code != http.StatusOK || w.Header().Get("Content-Type") != kind {
			t.Errorf("%s: %d, %s", name, w.Code, w.Header().Get("Content-Type"))
		}
		wantHeaders(t, w)
	}
	for _, path := range []string{"", "../login.html", "login.html", "%2e%2e/login.html"} {
		if w := b.get(assetsPath + path); w.Code == http.StatusOK {
			t.Errorf("%s is served", path)
		}
	}
}

func TestWithoutAHubThereIsNoPage(t *testing.T) {
	b := setup(t)
	if code, _ := b.send(httptest.NewRequest(http.MethodGet, AuthorizePath, nil)); code != http.StatusNotFound {
		t.Errorf("status %d", code)
	}
}

func FuzzLoopback(f *testing.F) {
	for _, s := range []string{listener, "http://[::1]:1/?a", "http://127.0.0.1:1@evil.example", "https://127.0.0.1:1", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, target string) {
		host, ok := loopback(target)
		if !ok {
			return
		}
		u, err := url.Parse(target)
		if err != nil || u.Scheme != "http" || u.User != nil || u.Fragment != "" || u.Port() == "" ||
			!slices.Contains([]string{"127.0.0.1", "::1"}, u.Hostname()) || !strings.HasPrefix(target, "http://"+host+":") {
			t.Errorf("%q: %v", target, err)
		}
	})
}
