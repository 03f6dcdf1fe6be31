package business

import (
	"bytes"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"bailing/scripts/demo/business/businesstest"
	"bailing/shared/clock"
)

const (
	origin   = "http://127.0.0.1:4711"
	listener = "http://127.0.0.1:50123/callback"
)

// counter is the page with a hub, and everything that left it.
type counter struct {
	t     *testing.T
	clock *clock.Manual
	hub   *businesstest.Hub
	shop  *Business
	logs  *lockedBuffer
	seen  *lockedBuffer // status lines, headers and bodies of all answers
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func openCounter(t *testing.T, at string) *counter {
	t.Helper()
	t.Parallel()
	c := &counter{t: t, clock: clock.NewManual(time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)), logs: &lockedBuffer{}, seen: &lockedBuffer{}}
	c.hub = businesstest.New(c.clock, "orders", "returns")
	hub := httptest.NewServer(c.hub)
	t.Cleanup(hub.Close)
	c.shop = New(Options{Clock: c.clock, Logger: slog.New(slog.NewTextHandler(c.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	c.shop.OpenConsent(Consent{Hub: hub.URL, Token: businesstest.Token, Origin: at, Workspaces: map[string]string{"orders": "Order desk"}})
	// Whatever a test does, the token of the business and the codes of agents stay where they belong.
	t.Cleanup(func() {
		if s := c.seen.String() + c.logs.String(); strings.Contains(s, businesstest.Token) {
			t.Error("the client token left the server")
		}
		if strings.Contains(c.logs.String(), businesstest.Code) || strings.Contains(c.logs.String(), DemoPassword) {
			t.Error("a code or a password is in the log")
		}
	})
	return c
}

func (c *counter) request(r businesstest.Request) string {
	if r.Device == "" {
		r.Device = "Yard laptop 3"
	}
	if r.Routes == nil {
		r.Routes = []string{"orders", "returns"}
	}
	if r.RedirectTo == "" {
		r.RedirectTo = listener
	}
	r.State = "state-of-the-agent"
	return c.hub.Create(r)
}

// browser holds cookies and sends what browsers send; a field that a test sets replaces it.
type browser struct {
	c       *counter
	cookies map[string]string
	header  http.Header
	address string
}

func (c *counter) browser() *browser {
	return &browser{c: c, cookies: map[string]string{}, header: http.Header{}, address: "192.0.2.1:1000"}
}

func (b *browser) do(r *http.Request) *httptest.ResponseRecorder {
	b.c.t.Helper()
	r.RemoteAddr = b.address
	for name, value := range b.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	for name, values := range b.header {
		r.Header[name] = values
	}
	w := httptest.NewRecorder()
	b.c.shop.ServeHTTP(w, r)
	for _, cookie := range w.Result().Cookies() {
		b.cookies[cookie.Name] = cookie.Value
		if cookie.MaxAge < 0 {
			delete(b.cookies, cookie.Name)
		}
	}
	_ = w.Header().Write(b.c.seen)
	_, _ = b.c.seen.Write(w.Body.Bytes())
	return w
}

func (b *browser) get(path string) *httptest.ResponseRecorder {
	return b.do(httptest.NewRequest(http.MethodGet, path, nil))
}

func (b *browser) post(path string, form url.Values) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", "null")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return b.do(r)
}

var (
	formPattern  = regexp.MustCompile(`(?s)<form method="post" action="([^"]+)".*?</form>`)
	fieldPattern = regexp.MustCompile(`<input type="(?:hidden|checkbox)"[^>]* name="([^"]+)" value="([^"]*)"`)
)

// form is what the page's form to an action would send.
func form(t *testing.T, w *httptest.ResponseRecorder, action string) url.Values {
	t.Helper()
	for _, m := range formPattern.FindAllStringSubmatch(w.Body.String(), -1) {
		if m[1] == action {
			values := url.Values{}
			for _, field := range fieldPattern.FindAllStringSubmatch(m[0], -1) {
				values.Add(field[1], html.UnescapeString(field[2]))
			}
			return values
		}
	}
	t.Fatalf("status %d has no form for %s: %s", w.Code, action, w.Body)
	return nil
}

// login logs in and returns the page of the request.
func (b *browser) login(id string) *httptest.ResponseRecorder {
	t := b.c.t
	t.Helper()
	f := form(t, b.get(authorizeURL(id)), loginPath)
	f.Set("username", DemoUser)
	f.Set("password", DemoPassword)
	w := b.post(loginPath, f)
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != authorizeURL(id) {
		t.Fatalf("login: %d to %q: %s", w.Code, w.Header().Get("Location"), w.Body)
	}
	return b.get(authorizeURL(id))
}

// decision is the form of the page with a button pressed.
func (b *browser) decision(w *httptest.ResponseRecorder, button string) url.Values {
	b.c.t.Helper()
	f := form(b.c.t, w, AuthorizePath)
	f.Set("decision", button)
	return f
}

func wantPage(t *testing.T, w *httptest.ResponseRecorder, status int, words string) {
	t.Helper()
	if w.Code != status || !strings.Contains(html.UnescapeString(w.Body.String()), words) {
		t.Errorf("%d, want %d with %q: %s", w.Code, status, words, w.Body)
	}
	wantHeaders(t, w)
}

func wantHeaders(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	for name, want := range map[string]string{
		"Cache-Control": "no-store", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	csp := w.Header().Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self' http://127.0.0.1:*"} {
		if !strings.Contains(csp, want) {
			t.Errorf("policy %q without %q", csp, want)
		}
	}
	if strings.Contains(csp, "unsafe") || strings.Contains(csp, "script-src") {
		t.Errorf("policy %q", csp)
	}
}

func sprint(v any) string { return fmt.Sprint(v) }
