package admin_test

import (
	"strings"
	"testing"
	"time"

	"bailing/functions/admin"
	"bailing/shared/job/jobtest"
)

// On the wire somebody may answer for our name without TLS; what such a page sends to the real hub is not ours.
func TestAPageWithoutTLSDoesNotWriteToAHubWithTLS(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.account(t, "alice", "admin")
	cookie := h.enter(t, "alice")
	for _, c := range []struct {
		proto, header, page string
		status              int
	}{
		{"https", "Origin", "https://example.com", 200},
		{"https", "Origin", "http://example.com", 403},
		{"https", "Origin", "http://example.com:80", 403},
		{"https", "Referer", "http://example.com/admin", 403},
		{"http", "Origin", "http://example.com", 200},
		{"http", "Origin", "https://example.com", 200}, // something before the hub ends TLS
	} {
		w := h.send("POST", "/admin/pause", "", "Cookie", cookie, "X-Forwarded-Proto", c.proto, c.header, c.page)
		if w.Code != c.status {
			t.Errorf("%s %s over %s: %d, want %d", c.header, c.page, c.proto, w.Code, c.status)
		}
	}
	w := h.send("POST", "/admin/login", `{"username":"alice","password":"password of alice"}`, "X-Forwarded-Proto", "https", "Origin", "http://example.com")
	if w.Code != 403 || len(cookies(w)) != 0 {
		t.Errorf("login: %d %v", w.Code, cookies(w))
	}
}

// Each of these is another host to a browser, or none; what no browser sends is refused as well.
func TestNoSpellingOfAHostIsAnother(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.account(t, "alice", "admin")
	cookie := h.enter(t, "alice")
	for _, c := range []struct {
		host, origin string
		status       int
	}{
		{"example.com.", "https://example.com.", 200},
		{"example.com", "https://example.com.", 403},
		{"example.com.", "https://example.com", 403},
		{"EXAMPLE.com", "https://example.COM", 200},
		{"[2001:db8::1]:443", "https://[2001:DB8:0::1]", 200},
		{"[2001:db8::1]", "https://[2001:db8::2]", 403},
		{"[::ffff:192.0.2.1]", "https://192.0.2.1", 403},
		{"192.0.2.1", "https://3221225985", 403},
		{"", "https://", 403},
		{"", "null", 403},
		{"example.com", "https://example.com:", 200},
		{"example.com", "https://example.com:0443", 403},
		{"example.com", "https://example.com:443@evil.example", 403},
		{"example.com", `https://example.com\@evil.example`, 403},
		{"example.com", "https://example.com, https://evil.example", 403},
		{"example.com", "https://evil.example#example.com", 403},
		{"example.com", "https://example.com%2eevil.example", 403},
		{"example.com", "https://example。com", 403},
		{"example.com", "https:example.com", 403},
		{"example.com", "blob:https://example.com/x", 403},
		{"example.com", "file://example.com", 403},
		{"example.com", "chrome-extension://example.com", 403},
		{"example.com", " https://example.com", 403},
	} {
		w := h.send("POST", "/admin/pause", "", "Host", c.host, "Cookie", cookie, "Origin", c.origin)
		if w.Code != c.status {
			t.Errorf("%q from %q: %d, want %d", c.host, c.origin, w.Code, c.status)
		}
	}
}

// A cookie under two paths would outlive its logout in the browser, and reach other stages.
func TestARenewedCookieStaysUnderItsStage(t *testing.T) {
	t.Parallel()
	w := jobtest.New(t)
	w.Platform.Config.BootstrapUsername, w.Platform.Config.BootstrapPassword = "root", "password of root"
	h, err := admin.New(w.Platform)
	if err != nil {
		t.Fatal(err)
	}
	r := invoke(t, h, "/v1", "POST", "/admin/login", "192.0.2.1", `{"username":"root","password":"password of root"}`, nil)
	cookie, _, _ := strings.Cut(strings.Join(r.MultiValueHeaders["Set-Cookie"], "\n"), ";")
	for _, path := range []string{"/admin/api/me", "/admin/api/runs/a%20b", "/admin/api/runs/a%2Fb", "/admin/api/runs/%C3%A4", "/admin/api/runs/ä"} {
		w.Clock.Advance(2 * time.Hour)
		r := invoke(t, h, "/v1", "GET", path, "192.0.2.1", "", map[string][]string{"Cookie": {cookie}})
		if set := strings.Join(r.MultiValueHeaders["Set-Cookie"], "\n"); !strings.Contains(set, "; Path=/v1; ") {
			t.Errorf("%s: %d, path %q", path, r.StatusCode, set[min(len(set), strings.Index(set, ";")+1):])
		}
	}
}

// What a browser or an attacker may send as cookies never authenticates more than one live token, and never fails the hub.
func TestCookiesThatAreNotOne(t *testing.T) {
	t.Parallel()
	h := setup(t)
	h.account(t, "alice", "admin")
	live := strings.TrimPrefix(h.enter(t, "alice"), "bz_sess=")
	dead := strings.Repeat("0", 48)
	for _, c := range []struct {
		what    string
		headers []string
		status  int
	}{
		{"alone", []string{"bz_sess=" + live}, 200},
		{"in quotes", []string{`bz_sess="` + live + `"`}, 200},
		{"twice", []string{"bz_sess=" + live + "; bz_sess=" + live}, 200},
		{"before a dead one", []string{"bz_sess=" + live + "; bz_sess=" + dead}, 200},
		{"after a dead one", []string{"bz_sess=" + dead + "; bz_sess=" + live}, 401},
		{"in the second header", []string{"bz_sess=" + dead, "bz_sess=" + live}, 401},
		{"in upper case", []string{"bz_sess=" + strings.ToUpper(live)}, 401},
		{"under another name's case", []string{"BZ_SESS=" + live}, 401},
		{"percent-encoded", []string{"bz_sess=%" + live[1:]}, 401},
		{"encoded", []string{"bz_sess=%" + "3" + live}, 401},
		{"with a comma", []string{"bz_sess=" + live + ",x"}, 401},
		{"with one character more", []string{"bz_sess=" + live + "0"}, 401},
		{"with one character less", []string{"bz_sess=" + live[1:]}, 401},
		{"with a zero byte", []string{"bz_sess=" + live + "\x00"}, 401},
		{"very long", []string{"bz_sess=" + strings.Repeat(live, 200)}, 401},
		{"empty", []string{"bz_sess="}, 401},
		{"many", []string{strings.Repeat("bz_sess="+dead+"; ", 2000)}, 401},
	} {
		var headers []string
		for _, cookie := range c.headers {
			headers = append(headers, "Cookie", cookie)
		}
		if w := h.send("GET", "/admin/api/me", "", headers...); w.Code != c.status {
			t.Errorf("%s: %d, want %d", c.what, w.Code, c.status)
		}
	}
}
