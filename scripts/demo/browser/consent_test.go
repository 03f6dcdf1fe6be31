package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"bailing/scripts/demo/business"
)

// login opens the address, logs in and sees the request.
func login(b *tab, address string) {
	b.t.Helper()
	b.do("open", chromedp.Navigate(address))
	b.wantHeading("Sign in")
	b.do("log in", chromedp.SendKeys(chromedp.CSS("#username"), business.DemoUser),
		chromedp.SendKeys(chromedp.CSS("#password"), business.DemoPassword+kb.Enter))
	b.wantHeading("act for you?")
	if got := get(b, chromedp.Location()); got != address {
		b.t.Errorf("after the login at %s, want %s", got, address)
	}
}

func TestAPersonLogsInAndApproves(t *testing.T) {
	onEverySide(t, func(t *testing.T, s *side, b *tab) {
		a := listen(t, "127.0.0.1")
		address := s.request(t, a.redirect, "Yard laptop 3")
		b.do("open", chromedp.Navigate(address))
		b.wantHeading("Sign in")
		b.picture("1-login")
		b.do("a wrong password", chromedp.SendKeys(chromedp.CSS("#username"), business.DemoUser),
			chromedp.SendKeys(chromedp.CSS("#password"), "wrong"+kb.Enter), chromedp.WaitVisible(chromedp.CSS("#alert")))
		b.wantText("#alert", "The name or the password is wrong.")
		b.picture("2-wrong")
		login(b, address)
		b.picture("3-consent")
		b.wantText("h1", "Let Demo client act for you?")
		b.wantText("#device", "Yard laptop 3")
		b.wantText("#account", "Dana Meier u_42")
		b.wantText("#tenant", "north")
		b.wantText("#expires", "minute")
		b.wantText("fieldset", "Order assistant order_assistant")
		b.do("approve", chromedp.Click(chromedp.CSS("#approve")))
		b.wantHeading("The agent heard you")
		got := a.next()
		if !strings.HasPrefix(got.Get("code"), "bhc_") || got.Get("state") != state || got.Get("agent") != "1" || got.Has("error") || len(got) != 3 {
			t.Errorf("the agent received %v", got)
		}
		if !strings.HasPrefix(get(b, chromedp.Location()), a.redirect) {
			t.Errorf("the browser is at %s", get(b, chromedp.Location()))
		}
		if s.exchange != nil {
			s.exchange(t, got.Get("code"), a.redirect)
		}
		b.do("open again", chromedp.Navigate(address))
		b.wantHeading("This request was already used")
		b.picture("4-used")
		a.wantNothing()
		b.wantNoComplaints()
	})
}

func TestAPersonDenies(t *testing.T) {
	onEverySide(t, func(t *testing.T, s *side, b *tab) {
		a := listen(t, "127.0.0.1")
		address := s.request(t, a.redirect, "Yard laptop 3")
		login(b, address)
		b.do("deny", chromedp.Click(chromedp.CSS("#deny")))
		b.wantHeading("The agent heard you")
		if got := a.next(); got.Get("error") != "access_denied" || got.Get("state") != state || got.Has("code") || len(got) != 3 {
			t.Errorf("the agent received %v", got)
		}
		b.do("open again", chromedp.Navigate(address))
		b.wantHeading("This request was denied")
		b.picture("denied")
		b.wantNoComplaints()
	})
}

func TestARequestExpiresWhileAPersonReads(t *testing.T) {
	onEverySide(t, func(t *testing.T, s *side, b *tab) {
		a := listen(t, "127.0.0.1")
		address := s.request(t, a.redirect, "Yard laptop 3")
		login(b, address)
		s.clock.Advance(10 * time.Minute)
		b.do("approve", chromedp.Click(chromedp.CSS("#approve")))
		b.wantHeading("This request has expired")
		b.picture("expired")
		b.do("open again", chromedp.Navigate(address))
		b.wantHeading("This request has expired")
		a.wantNothing()
		b.wantNoComplaints()
	})
}

// The same page in two windows: one approval counts, and the other window says so.
func TestARequestIsUsedOnce(t *testing.T) {
	onEverySide(t, func(t *testing.T, s *side, b *tab) {
		a := listen(t, "127.0.0.1")
		address := s.request(t, a.redirect, "Yard laptop 3")
		login(b, address)
		second := newTab(t, b.ctx)
		second.do("open", chromedp.Navigate(address))
		second.wantHeading("act for you?")
		b.do("approve", chromedp.Click(chromedp.CSS("#approve")))
		b.wantHeading("The agent heard you")
		a.next()
		second.do("deny", chromedp.Click(chromedp.CSS("#deny")))
		second.wantHeading("This request was already used")
		a.wantNothing()
		second.wantNoComplaints()
		b.wantNoComplaints()
	})
}

func TestAPersonSignsOutAndInAgain(t *testing.T) {
	onEverySide(t, func(t *testing.T, s *side, b *tab) {
		a := listen(t, "127.0.0.1")
		address := s.request(t, a.redirect, "Yard laptop 3")
		login(b, address)
		b.do("sign out", chromedp.Click(chromedp.CSS("#logout")))
		b.wantHeading("Sign in")
		login(b, address)
		a.wantNothing()
		b.wantNoComplaints()
	})
}

// A person who presses Enter somewhere in the form lets nobody in.
func TestEnterDenies(t *testing.T) {
	chromium(t)
	s, b, a := standIn(t), openTab(t), listen(t, "127.0.0.1")
	login(b, s.request(t, a.redirect, "Yard laptop 3"))
	b.do("press enter", chromedp.SendKeys(chromedp.CSS("#route-0"), kb.Enter))
	b.wantHeading("The agent heard you")
	if got := a.next(); got.Get("error") != "access_denied" {
		t.Errorf("the agent received %v", got)
	}
}

func TestAPersonUnticksAWorkspace(t *testing.T) {
	chromium(t)
	s, b, a := standIn(t), openTab(t), listen(t, "127.0.0.1")
	login(b, s.request(t, a.redirect, "Yard laptop 3"))
	b.do("untick all", chromedp.Click(chromedp.CSS("label[for=route-0]")), chromedp.Click(chromedp.CSS("label[for=route-1]")),
		chromedp.Click(chromedp.CSS("#approve")), chromedp.WaitVisible(chromedp.CSS("#alert")))
	b.wantText("#alert", "Tick at least one workspace")
	b.picture("none-ticked")
	b.do("tick one", chromedp.Click(chromedp.CSS("label[for=route-1]")), chromedp.Click(chromedp.CSS("#approve")))
	b.wantHeading("The agent heard you")
	a.next()
	b.wantNoComplaints()
}

func TestAnAgentMayListenOnIPv6(t *testing.T) {
	chromium(t)
	a := listen(t, "[::1]")
	s, b := standIn(t), openTab(t)
	login(b, s.request(t, a.redirect, "Yard laptop 3"))
	b.do("approve", chromedp.Click(chromedp.CSS("#approve")))
	b.wantHeading("The agent heard you")
	if got := a.next(); !strings.HasPrefix(got.Get("code"), "bhc_") || got.Get("state") != state {
		t.Errorf("the agent received %v", got)
	}
	b.wantNoComplaints()
}

func TestAHostileDeviceIsText(t *testing.T) {
	onEverySide(t, func(t *testing.T, s *side, b *tab) {
		const name = `</bdi><script>alert(1)</script><img src=x onerror=alert(2)>`
		a := listen(t, "127.0.0.1")
		login(b, s.request(t, a.redirect, name))
		b.wantText("#device", name)
		b.picture("hostile")
		if n := get(b, chromedp.Evaluate[int](`document.querySelectorAll("script, main img").length`)); n != 0 {
			t.Errorf("%d scripts and pictures", n)
		}
		b.wantNoComplaints()
	})
}

// Another site can neither show the page in a frame, nor send its forms, though the person is logged in.
func TestAnotherSiteGetsNowhere(t *testing.T) {
	chromium(t)
	s, b, a := standIn(t), openTab(t), listen(t, "127.0.0.1")
	address := s.request(t, a.redirect, "Yard laptop 3")
	login(b, address)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if r.URL.Path == "/frame" {
			fmt.Fprintf(w, `<!DOCTYPE html><h1>Win a prize</h1><iframe id="f" src=%q></iframe>`, address)
			return
		}
		fmt.Fprintf(w, `<!DOCTYPE html><h1>Win a prize</h1><form method="post" action=%q><input name="authorization_id" value=%q>`+
			`<input name="decision" value="approve"><input name="route" value="order_assistant"><button id="go">Go</button></form>`,
			s.page+business.AuthorizePath, u.Query().Get("authorization_id"))
	}))
	t.Cleanup(evil.Close)
	// By the name the site is another one; by the address it is another origin of the same site, which the cookie does not tell apart.
	for _, base := range []string{strings.Replace(evil.URL, "127.0.0.1", "localhost", 1), evil.URL} {
		b.complaints()
		b.do("open a frame", chromedp.Navigate(base+"/frame"))
		b.wantHeading("Win a prize")
		b.wantComplaint("frame-ancestors")
		b.do("send a form", chromedp.Navigate(base+"/form"), chromedp.Click(chromedp.CSS("#go")))
		b.wantHeading("This form came from elsewhere")
	}
	a.wantNothing()
	b.do("look", chromedp.Navigate(address))
	b.wantHeading("act for you?")
}
