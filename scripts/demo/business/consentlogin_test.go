package business

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bailing/scripts/demo/business/businesstest"
)

const cookieName = "business_session"

// try sends the login form of a request with a name and a password.
func (b *browser) try(id, name, password string) *httptest.ResponseRecorder {
	f := form(b.c.t, b.get(authorizeURL(id)), loginPath)
	f.Set("username", name)
	f.Set("password", password)
	return b.post(loginPath, f)
}

func TestOnlyAPersonWithAnAccountSeesTheRequest(t *testing.T) {
	c := openCounter(t, origin)
	id, b := c.request(businesstest.Request{}), c.browser()
	for _, tc := range [][2]string{{DemoUser, "wrong"}, {DemoUser, ""}, {"nobody", DemoPassword}, {"", ""}, {DemoUser, DemoPassword + "\n"}} {
		w := b.try(id, tc[0], tc[1])
		wantPage(t, w, http.StatusForbidden, "The name or the password is wrong.")
		if strings.Contains(w.Body.String(), "Yard laptop") {
			t.Error("the request is shown")
		}
	}
	wantPage(t, b.get(authorizeURL(id)), http.StatusOK, "Sign in")
	if len(c.hub.Tokens()) != 0 {
		t.Error("the hub was asked for a stranger")
	}
	if w := b.try(id, " Noor ", DemoPassword); w.Code != http.StatusSeeOther {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	wantPage(t, b.get(authorizeURL(id)), http.StatusOK, "Noor Haddad")
}

func TestLoginsAreThrottledByName(t *testing.T) {
	c := openCounter(t, origin)
	id, b := c.request(businesstest.Request{}), c.browser()
	for range triesPerName {
		wantPage(t, b.try(id, DemoUser, "wrong"), http.StatusForbidden, "wrong")
	}
	elsewhere := c.browser()
	elsewhere.address = "198.51.100.9:1"
	w := elsewhere.try(id, DemoUser, DemoPassword)
	wantPage(t, w, http.StatusTooManyRequests, "Too many attempts")
	if w.Header().Get("Retry-After") != "901" {
		t.Errorf("retry after %q", w.Header().Get("Retry-After"))
	}
	c.clock.Advance(loginWindow - time.Second)
	wantPage(t, c.browser().try(id, DemoUser, DemoPassword), http.StatusTooManyRequests, "Too many attempts")
	c.clock.Advance(time.Second)
	if w := c.browser().try(id, DemoUser, DemoPassword); w.Code != http.StatusSeeOther {
		t.Errorf("after the window: %d", w.Code)
	}
}

func TestLoginsAreThrottledByAddress(t *testing.T) {
	t.Parallel()
	d, now := newDoors(), time.Unix(1_760_000_000, 0)
	for i := range triesPerPlace {
		// Names may share a slot, so each has its own counter here.
		d.names = [4096]slot{}
		if wait := d.knock(fmt.Sprint("name", i), "192.0.2.1", now); wait != 0 {
			t.Fatalf("attempt %d waits %s", i+1, wait)
		}
	}
	d.names = [4096]slot{}
	if wait := d.knock("one-more", "192.0.2.1", now.Add(time.Minute)); wait != loginWindow-time.Minute {
		t.Errorf("one past the limit waits %s", wait)
	}
	other := "198.51.100.0"
	for i := 1; d.sharePlace(other, "192.0.2.1"); i++ {
		other = fmt.Sprint("198.51.100.", i)
	}
	if wait := d.knock("one-more", other, now.Add(time.Minute)); wait != 0 {
		t.Errorf("another address waits %s", wait)
	}
	if wait := d.knock("one-more", "192.0.2.1", now.Add(loginWindow)); wait != 0 {
		t.Errorf("after the window: %s", wait)
	}
}

func (d *doors) sharePlace(a, b string) bool {
	_, one := d.slots("", a)
	_, two := d.slots("", b)
	return one == two
}

func TestALoginThatSucceedsDoesNotCount(t *testing.T) {
	t.Parallel()
	d, now := newDoors(), time.Unix(1_760_000_000, 0)
	for i := range 3 * triesPerPlace {
		if wait := d.knock(DemoUser, "192.0.2.1", now); wait != 0 {
			t.Fatalf("login %d waits %s", i+1, wait)
		}
		d.enter(DemoUser, "192.0.2.1")
	}
}

func TestParallelGuessesDoNotSlipThrough(t *testing.T) {
	t.Parallel()
	d, now := newDoors(), time.Unix(1_760_000_000, 0)
	var in atomic.Int32
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if d.knock(DemoUser, "192.0.2.1", now) == 0 {
				in.Add(1)
			}
		})
	}
	all.Wait()
	if in.Load() != triesPerName {
		t.Errorf("%d attempts", in.Load())
	}
}

// Whoever planted a cookie in a browser does not share the session that starts there.
func TestALoginChangesTheCookie(t *testing.T) {
	c := openCounter(t, origin)
	id, attacker, victim := c.request(businesstest.Request{}), c.browser(), c.browser()
	attacker.get(authorizeURL(id))
	planted := attacker.cookies[cookieName]
	victim.cookies[cookieName] = planted
	victim.login(id)
	if victim.cookies[cookieName] == planted {
		t.Fatal("the cookie stayed")
	}
	wantPage(t, attacker.get(authorizeURL(id)), http.StatusOK, "Sign in")
}

func TestALoginEndsTheSessionOfTheOldCookie(t *testing.T) {
	t.Parallel()
	s, now := newSessions(), time.Unix(1_760_000_000, 0)
	first := s.open(user{ID: "u_42"}, "", now)
	second := s.open(user{ID: "u_7"}, first, now)
	_, old := s.find(first, now)
	if found, ok := s.find(second, now); old || !ok || found.user.ID != "u_7" {
		t.Errorf("the old one lives: %v; the new one: %v, %v", old, found, ok)
	}
}

func TestTheCookieIsForThisPageAlone(t *testing.T) {
	for at, want := range map[string]string{
		origin:                 "business_session=V; Path=/agent/; HttpOnly; SameSite=Lax",
		"https://shop.example": "__Host-business_session=V; Path=/; HttpOnly; Secure; SameSite=Lax",
	} {
		t.Run(at, func(t *testing.T) {
			c := openCounter(t, at)
			id, b := c.request(businesstest.Request{}), c.browser()
			for _, w := range []*httptest.ResponseRecorder{b.get(authorizeURL(id)), b.try(id, DemoUser, DemoPassword)} {
				cookies := w.Result().Cookies()
				if len(cookies) != 1 {
					t.Fatalf("%d cookies", len(cookies))
				}
				if got := strings.Replace(w.Header().Get("Set-Cookie"), cookies[0].Value, "V", 1); got != want {
					t.Errorf("%s, want %s", got, want)
				}
				if hsts := w.Header().Get("Strict-Transport-Security"); (hsts != "") != strings.HasPrefix(at, "https") {
					t.Errorf("strict transport security %q", hsts)
				}
			}
		})
	}
}

func TestASessionEnds(t *testing.T) {
	c := openCounter(t, origin)
	b := c.browser()
	b.login(c.request(businesstest.Request{}))
	c.clock.Advance(sessionLife - time.Second)
	id := c.request(businesstest.Request{})
	page := b.get(authorizeURL(id))
	wantPage(t, page, http.StatusOK, "Approve")
	c.clock.Advance(time.Second)
	wantPage(t, b.post(AuthorizePath, b.decision(page, "approve")), http.StatusForbidden, "not signed in")
	wantPage(t, b.get(authorizeURL(id)), http.StatusOK, "Sign in")
	if said := c.hub.Said(id); len(said) != 0 {
		t.Errorf("said %v", said)
	}
}

func TestAfterALogoutTheOldFormAndTheOldCookieAreWorthNothing(t *testing.T) {
	c := openCounter(t, origin)
	id, b := c.request(businesstest.Request{}), c.browser()
	page := b.login(id)
	decision, cookie := b.decision(page, "approve"), b.cookies[cookieName]
	w := b.post(logoutPath, form(t, page, logoutPath))
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != authorizeURL(id) || b.cookies[cookieName] != "" {
		t.Fatalf("%d to %q, cookie %q", w.Code, w.Header().Get("Location"), b.cookies[cookieName])
	}
	wantPage(t, b.post(AuthorizePath, decision), http.StatusForbidden, "not signed in")
	b.cookies[cookieName] = cookie
	wantPage(t, b.post(AuthorizePath, decision), http.StatusForbidden, "not signed in")
	delete(b.cookies, cookieName)
	b.login(id) // as the same person, in a new session
	wantPage(t, b.post(AuthorizePath, decision), http.StatusForbidden, "out of date")
	if said := c.hub.Said(id); len(said) != 0 {
		t.Errorf("said %v", said)
	}
}

// A form counts with its token only, in the browser, for the purpose and for the request that it was made for.
func TestAFormWithoutItsTokenDoesNothing(t *testing.T) {
	c := openCounter(t, origin)
	id, other, b, mallory := c.request(businesstest.Request{}), c.request(businesstest.Request{}), c.browser(), c.browser()
	page := b.login(id)
	own, logout := form(t, page, AuthorizePath), form(t, page, logoutPath)
	foreign, elsewhere := form(t, mallory.login(id), AuthorizePath), form(t, b.get(authorizeURL(other)), AuthorizePath)
	for name, tokens := range map[string][]string{
		"missing": nil, "empty": {""}, "of another session": foreign["form_token"], "of another request": elsewhere["form_token"],
		"of another form": logout["form_token"], "twice": {own.Get("form_token"), own.Get("form_token")}, "cut": {own.Get("form_token")[1:]},
	} {
		for _, button := range []string{"approve", "deny"} {
			f := b.decision(page, button)
			f["form_token"] = tokens
			if w := b.post(AuthorizePath, f); w.Code != http.StatusForbidden {
				t.Errorf("token %s, %s: %d", name, button, w.Code)
			}
		}
		f := form(t, page, logoutPath)
		f["form_token"] = tokens
		if name != "of another form" {
			wantPage(t, b.post(logoutPath, f), http.StatusForbidden, "out of date")
		}
		f = form(t, c.browser().get(authorizeURL(id)), loginPath)
		f["form_token"] = tokens
		wantPage(t, b.post(loginPath, f), http.StatusForbidden, "out of date")
	}
	query := b.do(httptest.NewRequest(http.MethodPost, AuthorizePath+"?"+b.decision(page, "approve").Encode(), nil))
	if query.Code == http.StatusSeeOther {
		t.Error("a decision in the query was taken")
	}
	for _, button := range []string{"", "APPROVE", "approve deny"} {
		wantPage(t, b.post(AuthorizePath, b.decision(page, button)), http.StatusForbidden, "out of date")
	}
	if said := append(c.hub.Said(id), c.hub.Said(other)...); len(said) != 0 {
		t.Errorf("said %v", said)
	}
}

func TestAFormOfAnotherSiteIsRefusedEvenWithItsToken(t *testing.T) {
	for name, tc := range map[string]struct {
		site, origin string
		taken        bool
	}{
		"own, no referrer":          {"same-origin", "null", true},
		"own":                       {"same-origin", origin, true},
		"own, old browser":          {"", origin, true},
		"own, no origin":            {"same-origin", "", true},
		"another site":              {"cross-site", "https://evil.example", false},
		"another host of the site":  {"same-site", "http://127.0.0.1:9", false},
		"typed":                     {"none", "", false},
		"sandboxed frame":           {"cross-site", "null", false},
		"sandboxed, old browser":    {"", "null", false},
		"nothing":                   {"", "", false},
		"origin of a longer name":   {"", origin + ".evil.example", false},
		"origin of another port":    {"", "http://127.0.0.1:4712", false},
		"one lies":                  {"same-origin", "https://evil.example", false},
		"the other lies":            {"cross-site", origin, false},
		"own, by another spelling":  {"", strings.ToUpper(origin), false},
		"own, scheme of the future": {"", strings.Replace(origin, "http:", "https:", 1), false},
	} {
		t.Run(name, func(t *testing.T) {
			c := openCounter(t, origin)
			id, b := c.request(businesstest.Request{}), c.browser()
			page := b.login(id)
			b.header = http.Header{"Sec-Fetch-Site": {tc.site}, "Origin": {tc.origin}}
			w := b.post(AuthorizePath, b.decision(page, "deny"))
			if (w.Code == http.StatusSeeOther) != tc.taken || len(c.hub.Said(id)) == 1 != tc.taken {
				t.Errorf("%d, said %v: %s", w.Code, c.hub.Said(id), w.Body)
			}
			for _, path := range []string{loginPath, logoutPath} {
				if w := b.post(path, url.Values{}); !tc.taken {
					wantPage(t, w, http.StatusForbidden, "came from elsewhere")
				}
			}
		})
	}
}

func TestAFormThatIsTooLargeOrNoFormIsRefused(t *testing.T) {
	c := openCounter(t, origin)
	id, b := c.request(businesstest.Request{}), c.browser()
	f := b.decision(b.login(id), "deny")
	f.Set("filler", "")
	f.Set("filler", strings.Repeat("a", maxForm+1-len(f.Encode())))
	wantPage(t, b.post(AuthorizePath, f), http.StatusForbidden, "out of date")
	f.Set("filler", f.Get("filler")[1:])
	if w := b.post(AuthorizePath, f); w.Code != http.StatusSeeOther {
		t.Errorf("at the limit: %d: %s", w.Code, w.Body)
	}
}

func TestTwoCookiesOfOneNameAreNone(t *testing.T) {
	c := openCounter(t, origin)
	id, b := c.request(businesstest.Request{}), c.browser()
	b.login(id)
	own, planted := b.cookies[cookieName], newCookie()
	for _, values := range [][]string{{own, planted}, {planted, own}} {
		r := httptest.NewRequest(http.MethodGet, authorizeURL(id), nil)
		for _, value := range values {
			r.AddCookie(&http.Cookie{Name: cookieName, Value: value})
		}
		wantPage(t, c.browser().do(r), http.StatusOK, "Sign in")
	}
}

func TestTheOldestSessionGivesWay(t *testing.T) {
	t.Parallel()
	s, now := newSessions(), time.Unix(1_760_000_000, 0)
	first := s.open(user{ID: "first"}, "", now)
	for i := range maxSessions - 1 {
		s.open(user{}, "", now.Add(time.Duration(i+1)*time.Millisecond))
	}
	if _, ok := s.find(first, now); !ok {
		t.Fatal("the first went at the limit")
	}
	last := s.open(user{ID: "last"}, "", now.Add(time.Minute))
	if _, ok := s.find(first, now); ok || len(s.byHash) != maxSessions {
		t.Errorf("%d sessions, the first is there: %v", len(s.byHash), ok)
	}
	s.open(user{}, "", now.Add(sessionLife+30*time.Second))
	if _, ok := s.find(last, now.Add(sessionLife+30*time.Second)); !ok || len(s.byHash) != 2 {
		t.Errorf("%d sessions after all others had ended", len(s.byHash))
	}
}
