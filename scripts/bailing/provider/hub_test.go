package provider

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bailing/shared/outbound"
)

const serverToken = "server-token-0123456789abcdef"

// fakeHub answers one request as a hub would.
func fakeHub(t *testing.T, s *session, method, path string, status int, body string) {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != method || r.URL.Path != path || r.Header.Get("Authorization") != "Bearer "+serverToken {
			t.Errorf("%s %s, token %v", r.Method, r.URL.Path, r.Header.Get("Authorization") == "Bearer "+serverToken)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(srv.Close)
	s.vars["BAILING_URL"], s.vars["BAILING_SERVER_TOKEN"] = srv.URL+"/", serverToken
}

// answerFile is an answer of a hub.
func answerFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "hub", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestWhatHubCommandsShow(t *testing.T) {
	t.Parallel()
	const all, one = "/admin/api/tool-providers", "/admin/api/tool-providers/orders"
	for _, tc := range []struct {
		golden, method, path, answer, args string
		status, code                       int
	}{
		{"tools.txt", "GET", one + "/tools", "tools", "tools orders", 200, 0},
		{"tools.json", "GET", one + "/tools", "tools", "tools --json orders", 200, 0},
		{"refresh.txt", "POST", one + "/refresh", "refresh", "refresh orders", 200, 0},
		{"refresh.json", "POST", one + "/refresh", "refresh", "refresh orders --json", 200, 0},
		{"refresh.refused.txt", "POST", one + "/refresh", "refused", "refresh orders", 400, 1},
		{"refresh.refused.json", "POST", one + "/refresh", "refused", "refresh --json orders", 400, 1},
		{"refresh.same.txt", "POST", one + "/refresh", "same", "refresh orders", 200, 0},
		{"list.txt", "GET", all, "list", "list", 200, 0},
		{"list.json", "GET", all, "list", "list --json", 200, 0},
		{"list.empty.txt", "GET", all, "none", "list", 200, 0},
		{"probe.pass.txt", "POST", one + "/authz-probe", "pass", "probe orders", 200, 0},
		{"probe.suspect.txt", "POST", one + "/authz-probe", "suspect", "probe orders", 200, 1},
		{"probe.suspect.json", "POST", one + "/authz-probe", "suspect", "probe --json orders", 200, 1},
		{"probe.skipped.txt", "POST", one + "/authz-probe", "skipped", "probe orders", 200, 1},
	} {
		s := newSession()
		s.env.Width = 120
		fakeHub(t, s, tc.method, tc.path, tc.status, answerFile(t, tc.answer))
		if code := s.run(t.Context(), strings.Fields(tc.args)...); code != tc.code || s.stderr.Len() > 0 {
			t.Errorf("%s: status %d, stderr %q", tc.golden, code, &s.stderr)
		}
		golden(t, tc.golden, s.stdout.String())
	}
}

func TestANarrowTerminalGetsBlocksInsteadOfATable(t *testing.T) {
	t.Parallel()
	s := newSession()
	s.env.Width = 80
	fakeHub(t, s, "GET", "/admin/api/tool-providers", 200, answerFile(t, "list"))
	s.run(t.Context(), "list")
	for line := range strings.Lines(s.stdout.String()) {
		if len(strings.TrimSpace(line)) > 80 {
			t.Errorf("%q", line)
		}
	}
	golden(t, "list.80.txt", s.stdout.String())
}

func TestAnswersThatAreNoResultSayWhatToDo(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		rule   string
		status int
		body   string
		want   []string
	}{
		{"a wrong token", 401, `{"error":"unauthorized"}`, []string{"does not accept the token", "BAILING_SERVER_TOKEN"}},
		{"a client's token", 403, `{"error":"administrators only"}`, []string{"administrators only", "client's token"}},
		{"no such provider", 404, `{"error":"it does not exist"}`, []string{"orders: it does not exist", "bailing provider list"}},
		{"a failure of the hub", 500, `{"error":"internal error","request_id":"r"}`, []string{"status 500: internal error"}},
		{"paused", 503, `{"status":"paused"}`, []string{"status 503"}},
		{"a page of a proxy", 502, `<html><body>Bad gateway</body></html>`, []string{"status 502", "not with JSON", "a proxy"}},
		{"a login page", 200, `<!doctype html>`, []string{"status 200", "not with JSON"}},
		{"a redirect", 302, ``, []string{"redirect", "final one"}},
		{"JSON of something else", 200, `{"tools":"many"}`, []string{"another form"}},
		{"an error that would steer the terminal", 500, `{"error":"a\u001b[2Jb"}`, []string{`a\u001b[2Jb`}},
	} {
		s := newSession()
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/elsewhere" {
				t.Error("the token went elsewhere")
			}
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(tc.status)
			_, _ = io.WriteString(w, tc.body)
		}))
		s.vars["BAILING_URL"], s.vars["BAILING_SERVER_TOKEN"] = srv.URL, serverToken
		code := s.run(t.Context(), "refresh", "orders")
		srv.Close()
		got := s.stderr.String()
		if code != 2 || s.stdout.Len() > 0 || strings.Contains(got, serverToken) {
			t.Errorf("%s: status %d, stdout %q, stderr %q", tc.rule, code, &s.stdout, got)
		}
		for _, want := range tc.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is not in %q", tc.rule, want, got)
			}
		}
	}
}

// stub is a network that answers everything in the same way.
type stub struct {
	res *outbound.Response
	err error
}

func (s stub) Do(ctx context.Context, _ outbound.Request) (*outbound.Response, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return s.res, s.err
}

func TestAHubThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	slow := &outbound.Error{Phase: outbound.PhaseHeaders, Timeout: true, Sent: true}
	for _, tc := range []struct {
		rule, args string
		net        stub
		want       []string
	}{
		{"refused", "list", stub{err: &outbound.Error{Phase: outbound.PhaseDial, Host: "hub:1"}},
			[]string{"cannot be reached: dial hub:1", "Is the hub running"}},
		{"too slow to read", "list", stub{err: slow}, []string{"did not answer within 30s", "--timeout"}},
		{"too slow, and may have happened", "refresh orders --timeout 5s", stub{err: slow},
			[]string{"did not answer within 5s", "may still do what was asked"}},
		{"a certificate", "list", stub{err: &outbound.Error{Phase: outbound.PhaseTLS, Host: "hub:443"}},
			[]string{"certificate must be valid"}},
		{"an answer without end", "list", stub{res: &outbound.Response{Status: 200, Body: []byte("[]"), Truncated: true}},
			[]string{"larger than 32 MiB"}},
		{"something else", "list", stub{err: errors.New("odd")}, []string{"cannot be reached: odd"}},
	} {
		s := newSession()
		s.env.Net = tc.net
		s.vars["BAILING_URL"], s.vars["BAILING_SERVER_TOKEN"] = "https://hub.example", serverToken
		code := s.run(t.Context(), strings.Fields(tc.args)...)
		for _, want := range tc.want {
			if code != 2 || !strings.Contains(s.stderr.String(), want) {
				t.Errorf("%s: status %d, %q lacks %q", tc.rule, code, &s.stderr, want)
			}
		}
	}
}

func TestAnInterruptedCommandSaysSo(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := newSession()
	s.vars["BAILING_URL"], s.vars["BAILING_SERVER_TOKEN"] = "http://127.0.0.1:1", serverToken
	if code := s.run(ctx, "refresh", "orders"); code != 130 || s.stderr.String() != "bailing: interrupted\n" {
		t.Errorf("%d %q", code, &s.stderr)
	}
}

func TestTheEnvironmentIsChecked(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ url, token, want string }{
		{"", "", "BAILING_URL is not set"}, {"http://127.0.0.1:1", "", "BAILING_SERVER_TOKEN is not set"},
		{"127.0.0.1:8787", serverToken, "BAILING_URL: URL is not an absolute URL"},
		{"http://u:p@hub/", serverToken, "user name or password"},
		{"http://127.0.0.1:1", "two\nlines", "characters that no token has"},
	} {
		s := newSession()
		s.vars["BAILING_URL"], s.vars["BAILING_SERVER_TOKEN"] = tc.url, tc.token
		if code := s.run(t.Context(), "list"); code != 2 || !strings.Contains(s.stderr.String(), tc.want) {
			t.Errorf("%q: status %d, %q", tc.url, code, &s.stderr)
		}
	}
}

func TestATokenInClearTextIsWarnedOf(t *testing.T) {
	t.Parallel()
	for url, warned := range map[string]bool{
		"http://127.0.0.1:8787": false, "http://localhost:8787": false, "http://[::1]:8787": false,
		"https://hub.example": false, "http://hub.example": true, "http://10.0.0.4:8787": true,
	} {
		s := newSession()
		s.env.Net = stub{res: &outbound.Response{Status: 200, Body: []byte("[]")}}
		s.vars["BAILING_URL"], s.vars["BAILING_SERVER_TOKEN"] = url, serverToken
		if code := s.run(t.Context(), "list"); code != 0 || strings.Contains(s.stderr.String(), "not https") != warned {
			t.Errorf("%s: status %d, %q", url, code, &s.stderr)
		}
	}
}

func TestNamesOfProvidersAreCheckedBeforeTheyTravel(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 64)
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"tools"}, "one tool provider"}, {[]string{"tools", "a-1", "b-1"}, "one tool provider"},
		{[]string{"refresh", "a"}, "is no name"}, {[]string{"probe", "Orders"}, "is no name"},
		{[]string{"tools", "../clients"}, "is no name"}, {[]string{"tools", long + "a"}, "is no name"},
		{[]string{"tools", long}, "BAILING_URL is not set"}, {[]string{"list", "x"}, "takes no arguments"},
		{[]string{"list", "--timeout", "0s"}, "more than 0"},
	} {
		s := newSession()
		if code := s.run(t.Context(), tc.args...); code != 2 || !strings.Contains(s.stderr.String(), tc.want) {
			t.Errorf("%q: status %d, %q", tc.args, code, &s.stderr)
		}
	}
}
