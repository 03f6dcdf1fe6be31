package conformance_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// Whoever may read a public specification may read it without a signature: none is ever sent, least of all as a second try.
func TestPublicSpecificationsAreNeverReadWithASignature(t *testing.T) {
	t.Parallel()
	s := startShop(t)
	s.saved(object{"spec_access_policy": "public_allowed"})
	for _, unsigned := range []int{200, 301, 400, 401, 403, 404, 500} {
		s.b.take()
		s.b.publish("", access{unsigned, 200, 200, ""})
		a, want, status := s.call("refresh", ""), "inconclusive", http.StatusBadRequest
		if unsigned == 200 {
			want, status = "public", http.StatusOK
		}
		if p := s.access(); a.status != status || p["status"] != want || p["unsigned_http"] != float64(unsigned) || p["signed_http"] != nil {
			t.Errorf("%d: %d %v", unsigned, a.status, p)
		}
		reads := 0
		for _, c := range s.b.take() {
			if c.uri == probePath {
				continue
			}
			if reads++; c.header.Get("X-Bailing-Signature") != "" || c.header.Get("X-Bailing-Timestamp") != "" {
				t.Errorf("%d: signed %v", unsigned, c.header)
			}
		}
		if reads != 1 {
			t.Errorf("%d: %d reads", unsigned, reads)
		}
	}
}

// The signature covers the whole path and query of the URL, byte for byte (core §3.5).
func TestReadsAreSignedOverTheWholeURL(t *testing.T) {
	t.Parallel()
	s := startShop(t)
	var seen atomic.Value
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := r.Header
		if h.Get("X-Bailing-Signature") != signature(secret, h.Get("X-Bailing-Timestamp"), "GET", r.RequestURI, "", "", "") {
			reply(w, http.StatusUnauthorized, "{}")
			return
		}
		seen.Store(r.RequestURI)
		reply(w, http.StatusOK, shopSpec)
	}))
	t.Cleanup(front.Close)
	for _, tail := range []string{
		"", "/", "?v=1", "/?v=1", "/a/b.json", "//a//b", "/a%2Fb", "/a%2fb/%7Etools", "/a?x=%20&y=a+b&&=", "/a?", "/a;v=1?q=/?", "/%E2%82%AC",
		"/tools.json?next=https://shop.example/?a=b", "/a/./b/../c", "/!$&'()*+,;=:@-._~",
	} {
		s.saved(object{"spec_url": front.URL + tail})
		want := tail
		if !strings.HasPrefix(want, "/") {
			want = "/" + want
		}
		if a := s.call("refresh", ""); a.status != http.StatusOK || seen.Load() != want {
			t.Errorf("%q: %d, read %v, want %q %s", tail, a.status, seen.Load(), want, cut(a.body))
		}
	}
}

func TestRedirectsOfSpecificationsAreNotFollowed(t *testing.T) {
	t.Parallel()
	s := startShop(t)
	var hits atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		hits.Add(1)
		reply(w, http.StatusOK, shopSpec)
	}))
	t.Cleanup(elsewhere.Close)
	for _, policy := range []string{"signed_required", "public_allowed"} {
		for _, status := range []int{300, 301, 302, 303, 305, 307, 308} {
			front := httptest.NewServer(http.RedirectHandler(elsewhere.URL+specPath, status))
			t.Cleanup(front.Close)
			s.saved(object{"spec_url": front.URL, "spec_access_policy": policy})
			if a := s.call("refresh", ""); a.status != http.StatusBadRequest || !strings.Contains(string(a.body), "redirect") {
				t.Errorf("%s %d: %d %s", policy, status, a.status, cut(a.body))
			}
			if p := s.access(); p["status"] != "inconclusive" || p["reason"] == nil {
				t.Errorf("%s %d: %v", policy, status, p)
			}
		}
	}
	// Nor are those of the probe.
	moved := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	t.Cleanup(moved.Close)
	a := s.saved(object{"spec_source": "inline", "spec_url": nil, "spec_json": shopSpec, "base_url": moved.URL})
	if probe := a["authz_probe"].(map[string]any); probe["status"] != "inconclusive" || probe["http"] != json.Number("307") {
		t.Errorf("probe %v", probe)
	}
	if n := hits.Load(); n > 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

// A specification has up to 5 MiB (core §4.2), and up to 3 MiB when it is sent along (D32).
func TestSpecificationSizes(t *testing.T) {
	t.Parallel()
	s := startShop(t)
	sized := func(n int) string { return shopSpec + strings.Repeat(" ", n-len(shopSpec)) }
	const limit = 5 << 20
	for _, policy := range []string{"signed_required", "public_allowed"} {
		s.saved(object{"spec_access_policy": policy})
		open := protected
		if policy == "public_allowed" {
			open = public
		}
		s.b.publish(sized(limit), open)
		if a := s.call("refresh", ""); a.status != http.StatusOK {
			t.Fatalf("%s, 5 MiB: %d %s", policy, a.status, cut(a.body))
		}
		s.b.publish(sized(limit+1), open)
		a := s.call("refresh", "")
		if a.status != http.StatusBadRequest || !strings.Contains(string(a.body), fmt.Sprint(limit)) || s.access()["status"] != "inconclusive" {
			t.Errorf("%s, one byte more: %d %s", policy, a.status, cut(a.body))
		}
		if n := s.tools(); n != shopTools {
			t.Errorf("%s: %d tools are kept", policy, n)
		}
	}
	const inline = 3 << 20
	for _, tc := range []struct{ size, status int }{{inline, 200}, {inline + 1, 413}} {
		a := s.provider(object{"spec_source": "inline", "spec_url": nil, "spec_json": sized(tc.size)})
		if a.status != tc.status {
			t.Errorf("%d bytes inline: %d %s", tc.size, a.status, cut(a.body))
		}
	}
}

func TestTextsThatAreNoSpecification(t *testing.T) {
	t.Parallel()
	s := startShop(t)
	s.saved(nil)
	for _, text := range []string{shopSpec, "\ufeff" + shopSpec, " \n" + shopSpec + "\r\n", "openapi: 3.1.0\nx-note: no tools\npaths: {}\n"} {
		s.b.publish("", access{401, 401, 200, text})
		if a := s.call("refresh", ""); a.status != http.StatusOK {
			t.Errorf("%.30q: %d %s", text, a.status, cut(a.body))
		}
	}
	s.b.publish("", protected)
	s.call("refresh", "")
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for i := range 12 {
		bomb += fmt.Sprintf("%[1]c: &%[1]c [*%[2]c%[3]s]\n", 'b'+i, 'a'+i, strings.Repeat(fmt.Sprintf(",*%c", 'a'+i), 9))
	}
	for _, text := range []string{
		"null", "[]", `"text"`, "7", "{", "<html></html>", "- a\n- b\n", " ", "\x00", "\xff\xfe{\x00}\x00", "{} {}", `{"paths":{},"paths":{}}`,
		strings.Repeat("[", 100_000), strings.Repeat(`{"a":`, 100_000), strings.Repeat("a: {", 100_000), bomb, "\x1f\x8b\x08 packed",
	} {
		s.b.publish("", access{401, 401, 200, text})
		a := s.call("refresh", "")
		if a.status != http.StatusBadRequest {
			t.Errorf("%.30q: %d %s", text, a.status, cut(a.body))
			continue
		}
		if o := a.object(t); o["error"] == "" || o["diagnostics"] == nil || s.access()["status"] != "protected" {
			t.Errorf("%.30q: %v", text, o)
		}
	}
	if n := s.tools(); n != shopTools {
		t.Errorf("%d tools are left", n)
	}
}

// A private address that nobody permitted is not read; the answer says so, and so does the record.
func TestSpecificationsAtHiddenAddresses(t *testing.T) {
	t.Parallel()
	tr := setTrap(t)
	s := &shop{start(t, onlyModel, nil), startBusiness(t, secret)}
	for _, policy := range []string{"signed_required", "public_allowed"} {
		for _, base := range append(hidden(tr.port), "http://[fe80::1%25eth0]/", "http://2130706433:"+tr.port, "http://0x7f.1:"+tr.port) {
			a := s.provider(object{"spec_url": base, "spec_access_policy": policy})
			if a.status == http.StatusBadRequest { // no URL that could ever be used
				continue
			}
			a = s.call("refresh", "")
			if a.status != http.StatusBadRequest || s.access()["status"] != "inconclusive" {
				t.Errorf("%s %s: %d %s", policy, base, a.status, cut(a.body))
				continue
			}
			text, _ := a.object(t)["error"].(string)
			if reason, _ := s.access()["reason"].(string); !strings.Contains(text, "not permitted") || reason == "" {
				t.Errorf("%s %s: error %q, reason %q", policy, base, text, reason)
			}
		}
	}
	a := s.saved(object{"spec_source": "inline", "spec_url": nil, "spec_access_policy": nil, "spec_json": shopSpec})
	if probe := a["authz_probe"].(map[string]any); probe["status"] != "inconclusive" || probe["http"] != nil {
		t.Errorf("probe %v", probe)
	}
	if n := tr.hits.Load() + int64(len(s.b.take())); n > 0 {
		t.Errorf("%d connections to addresses that are not permitted", n)
	}
}

// Half an answer is none, however good what came looks; and what only looks unusual is read.
func TestAnswersThatAreNotWhole(t *testing.T) {
	t.Parallel()
	s := startShop(t)
	var answer string
	var mu sync.Mutex
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if sent := r.Header.Get("X-Bailing-Signature"); sent == "" || sent == noSignature {
			reply(w, http.StatusUnauthorized, "")
			return
		}
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		mu.Lock()
		defer mu.Unlock()
		io.WriteString(conn, answer) // the hub may hang up before it has read everything
	}))
	t.Cleanup(front.Close)
	s.saved(object{"spec_url": front.URL})
	length := func(more int) string { return fmt.Sprintf("Content-Length: %d\r\n", len(shopSpec)+more) }
	chunk := fmt.Sprintf("%x\r\n%s\r\n", len(shopSpec), shopSpec)
	for _, tc := range []struct {
		name, answer string
		status       int
	}{
		{"a length", "HTTP/1.1 200 OK\r\n" + length(0) + "\r\n" + shopSpec, 200},
		{"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk + "0\r\n\r\n", 200},
		{"an end without a length", "HTTP/1.0 200 OK\r\n\r\n" + shopSpec, 200},
		{"hints before it", strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", 3) + "HTTP/1.1 200 OK\r\n" + length(0) + "\r\n" + shopSpec, 200},
		{"ten bytes less than its length", "HTTP/1.1 200 OK\r\n" + length(10) + "\r\n" + shopSpec, 400},
		{"no last chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk, 400},
		{"two lengths", "HTTP/1.1 200 OK\r\n" + length(0) + length(1) + "\r\n" + shopSpec, 400},
		{"large headers", "HTTP/1.1 200 OK\r\nX-Pad: " + strings.Repeat("x", 12<<20) + "\r\n" + length(0) + "\r\n" + shopSpec, 400},
		{"too much without a length", "HTTP/1.1 200 OK\r\n\r\n" + shopSpec + strings.Repeat(" ", 20<<20), 400},
		{"no HTTP", "SSH-2.0-OpenSSH_9.9\r\n", 400},
		{"nothing", "", 400},
	} {
		mu.Lock()
		answer = tc.answer
		mu.Unlock()
		a := s.call("refresh", "")
		if a.status != tc.status {
			t.Errorf("%s: %d, want %d: %s", tc.name, a.status, tc.status, cut(a.body))
		}
		want := map[int]string{200: "protected", 400: "inconclusive"}[tc.status]
		if p := s.access(); p["status"] != want {
			t.Errorf("%s: %v", tc.name, p)
		}
	}
	if n := s.tools(); n != shopTools {
		t.Errorf("%d tools are left", n)
	}
}
