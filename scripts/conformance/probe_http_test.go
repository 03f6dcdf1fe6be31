package conformance_test

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// probed is a hub with a parked route, on which jobs stay queued, and one client.
type probed struct {
	*hub
	token string
}

func startProbed(t testing.TB) *probed {
	h := start(t, "", nil)
	h.save("targets", object{"name": "parked", "kind": "executor"})
	h.route("park", object{"target": "parked", "target_config": object{}})
	return &probed{hub: h, token: h.client("crm", "park")}
}

// body is a valid submission, padded to a number of bytes.
func (p *probed) body(id string, size int) string {
	const form = `{"request_id":%q,"route":"park","input":"x","metadata":{"pad":"%s"}}`
	empty := fmt.Sprintf(form, id, "")
	return fmt.Sprintf(form, id, strings.Repeat("p", max(0, size-len(empty))))
}

// raw writes bytes to a new connection and returns the status of the first answer, 0 when there is none, and how many answers came.
func (p *probed) raw(request string) (status, answers int) {
	p.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		p.t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		p.t.Fatal(err)
	}
	go func() { // the hub may answer before it has read everything
		io.WriteString(conn, request)
		conn.(*net.TCPConn).CloseWrite()
	}()
	for r := bufio.NewReader(conn); ; answers++ {
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			return status, answers
		}
		io.Copy(io.Discard, res.Body)
		if answers == 0 {
			status = res.StatusCode
		}
	}
}

func TestMalformedRequestsAreRefused(t *testing.T) {
	t.Parallel()
	p := startProbed(t)
	auth := "Host: hub\r\nAuthorization: Bearer " + p.token + "\r\n"
	job := func(id string) string { return p.body(id, 0) }
	sized := func(id string) string { return fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(job(id)), job(id)) }
	cases := []struct {
		name, request string
		status        int // 0 = no answer
	}{
		{"no HTTP", "hello\r\n\r\n", 400},
		{"no host", "POST /run HTTP/1.1\r\n\r\n", 400},
		{"a malformed escape in the path", "GET /jobs/%zz HTTP/1.1\r\n" + auth + "\r\n", 400},
		{"a control character in the path", "GET /jobs/\x01 HTTP/1.1\r\n" + auth + "\r\n", 400},
		{"a header name with a space", "GET /health HTTP/1.1\r\n" + auth + "Bad Name: x\r\n\r\n", 400},
		{"two lengths", "POST /run HTTP/1.1\r\n" + auth + "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400},
		{"a length that is no number", "POST /run HTTP/1.1\r\n" + auth + "Content-Length: two\r\n\r\n{}", 400},
		{"a negative length", "POST /run HTTP/1.1\r\n" + auth + "Content-Length: -2\r\n\r\n{}", 400},
		{"a malformed chunk", "POST /run HTTP/1.1\r\n" + auth + "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n", 400},
		{"a body that ends early", "POST /run HTTP/1.1\r\n" + auth + "Content-Length: 5000\r\n\r\n" + job("early"), 400},
		{"chunks that end early", "POST /run HTTP/1.1\r\n" + auth + "Transfer-Encoding: chunked\r\n\r\n" + strings.TrimSuffix(sized("early"), "0\r\n\r\n"), 400},
		{"an unknown transfer coding", "POST /run HTTP/1.1\r\n" + auth + "Transfer-Encoding: gzip\r\n\r\n" + job("early"), 501},
		{"chunks", "POST /run HTTP/1.1\r\n" + auth + "Transfer-Encoding: chunked\r\n\r\n" + sized("chunked"), 202},
		{"chunks beside a length", "POST /run HTTP/1.1\r\n" + auth + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n" + sized("both"), 202},
		{"a body on a GET", "GET /health HTTP/1.1\r\n" + auth + "Content-Length: 4\r\n\r\nbody", 200},
		{"no body although one is needed", "POST /run HTTP/1.1\r\n" + auth + "\r\n", 400},
	}
	for _, tc := range cases {
		status, answers := p.raw(tc.request)
		if status != tc.status || answers != 1 {
			t.Errorf("%s: status %d in %d answers, want %d in one", tc.name, status, answers, tc.status)
		}
	}
	// Nothing that was cut short became a job.
	if o := p.submit(p.token, object{"request_id": "early", "route": "park", "input": "mine"}); o["session_id"] == nil {
		t.Errorf("a submission that ended early was accepted: %v", o)
	}
}

func TestHeadersAreBounded(t *testing.T) {
	t.Parallel()
	p := startProbed(t)
	for _, tc := range []struct{ size, status int }{
		{8_000, 200}, {10_240, 431}, {64 << 10, 431}, {3 << 20, 431},
	} {
		status, _ := p.raw("GET /health HTTP/1.1\r\nHost: hub\r\nX-Large: " + strings.Repeat("x", tc.size) + "\r\n\r\n")
		if status != tc.status {
			t.Errorf("a header of %d bytes: %d, want %d", tc.size, status, tc.status)
		}
	}
}

// The body decides, not what it calls itself (core §0.1).
func TestContentTypesDoNotMatter(t *testing.T) {
	t.Parallel()
	p := startProbed(t)
	for i, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json; charset=utf-16", "nonsense"} {
		a := p.do(http.MethodPost, "/run", p.body(numbered("kind", i), 0), "Authorization", "Bearer "+p.token, "Content-Type", kind)
		if a.status != http.StatusAccepted {
			t.Errorf("%q: %d %s", kind, a.status, cut(a.body))
		}
	}
	var packed strings.Builder
	z := gzip.NewWriter(&packed)
	io.WriteString(z, p.body("packed", 0))
	z.Close()
	wantError(t, p.do(http.MethodPost, "/run", packed.String(), "Authorization", "Bearer "+p.token, "Content-Encoding", "gzip"), 400, "")
}

func TestUnknownPathsAndMethods(t *testing.T) {
	t.Parallel()
	p := startProbed(t)
	id := p.submit(p.token, object{"request_id": "one", "route": "park", "input": "x"})["job_id"].(string)
	get := []string{
		"/", "//", "/jobs", "/jobs/", "/jobs/..", "/jobs/%2e%2e", "/jobs/%2E%2E%2Fhealth", "/jobs/../health", "/jobs//" + id, "/jobs/" + id + "/", "/jobs/" + id + "/x",
		"/jobs/" + id + "%20", "/jobs/" + id + "%00", "/jobs/" + strings.ReplaceAll(id, "-", ""), "/jobs/%7B" + id + "%7D", "/jobs/urn:uuid:" + id,
		"/jobs/" + id + ";x", "/run", "/run/", "/Run", "/health/", "/HEALTH", "/health/ready/", "/health%2fready", "/health/%72eady/x", "/version/", "/openapi.json/", "/openapi.JSON",
		"/schemas", "/schemas/", "/schemas/%2e%2e/x", "/schemas/../openapi.json", "/schemas/config/%2e%2e/%2e%2e/openapi.json", "/schemas/config/..%2f..%2fopenapi.json",
		"/schemas/config/client.schema.json%00", "/schemas//config/client.schema.json", "/schemas/config/", "/schemas/config/client.schema.json/",
		"/contracts/client-api/v1/", "/contracts/client-api/v1/..%2f..%2fopenapi.json", "/contracts/client-api/v1/%2e%2e", "/contracts/client-api/v2/manifest.json", "/contracts/client-api/v1/NOTICE",
		"/admin", "/admin/", "/admin/api", "/admin/api/none", "/admin/pause", "/favicon.ico", "/metrics", "/.env", "/chat/pub_x/config", "/executor/claim", "/approvals/1/decision",
	}
	for _, path := range get {
		a := p.get(path, p.token)
		if a.status != http.StatusNotFound || a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("GET %s: %d %q %s", path, a.status, a.header.Get("Cache-Control"), cut(a.body))
			continue
		}
		if s, ok := a.object(t)["error"].(string); !ok || s == "" {
			t.Errorf("GET %s: no error member", path)
		}
	}
	for _, method := range []string{"HEAD", "OPTIONS", "PUT", "PATCH", "DELETE", "TRACE", "QUERY", "get"} {
		for _, path := range []string{"/run", "/jobs/" + id, "/health", "/version", "/openapi.json", "/admin/pause", "/admin/api/routes"} {
			want := http.StatusNotFound
			if method == "HEAD" && path == "/health" {
				want = http.StatusOK
			}
			a := p.do(method, path, "", "Authorization", "Bearer "+p.admin)
			if a.status != want {
				t.Errorf("%s %s: %d, want %d", method, path, a.status, want)
			}
			if method == "HEAD" && len(a.body) > 0 {
				t.Errorf("HEAD %s has a body", path)
			}
		}
	}
	if paused := p.get("/health", "").object(t)["paused"]; paused != false {
		t.Errorf("paused %v", paused)
	}
}

// Queries mean nothing on these paths, whatever they hold.
func TestQueriesAreIgnored(t *testing.T) {
	t.Parallel()
	p := startProbed(t)
	id := p.submit(p.token, object{"request_id": "one", "route": "park", "input": "x"})["job_id"].(string)
	for _, query := range []string{"?", "?a=1&a=2&a=1", "?a=%zz", "?a;b=c;d", "?%00=%ff", "?=&&=", "?id=" + strings.Repeat("9", 36), "?token=x&token=" + p.token, "?" + strings.Repeat("a=1&", 1000)} {
		if a := p.get("/jobs/"+id+query, p.token); a.status != http.StatusOK || a.object(t)["job_id"] != id {
			t.Errorf("%.40s: %d %s", query, a.status, cut(a.body))
		}
		wantError(t, p.do(http.MethodGet, "/jobs/"+id+query, ""), 401, "unauthorized")
	}
}

// Identifiers in paths are accepted in any case and shown in lower case (D46).
func TestJobIDsInUpperCase(t *testing.T) {
	t.Parallel()
	p := startProbed(t)
	id := p.submit(p.token, object{"request_id": "one", "route": "park", "input": "x"})["job_id"].(string)
	if o := p.get("/jobs/"+strings.ToUpper(id), p.token).object(t); o["job_id"] != id || o["id"] != id {
		t.Errorf("job %v", o)
	}
	if events := p.audit(strings.ToUpper(id)); len(events) != 1 {
		t.Errorf("%d events", len(events))
	}
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	p := startProbed(t)
	cases := []struct {
		name, authorization string
		ok                  bool
	}{
		{"the scheme", "Bearer " + p.token, true},
		{"the scheme in another case", "bEaReR " + p.token, true},
		{"no scheme", p.token, true},
		{"more blanks", "Bearer    " + p.token + "  ", true},
		{"the server token", "Bearer " + p.admin, true},
		{"nothing", "", false},
		{"only the scheme", "Bearer", false},
		{"only the scheme and a blank", "Bearer ", false},
		{"the scheme twice", "Bearer Bearer " + p.token, false},
		{"another scheme", "Basic " + p.token, false},
		{"one digit less", "Bearer " + p.token[:31], false},
		{"one digit more", "Bearer " + p.token + "0", false},
		{"upper case", "Bearer " + strings.ToUpper(p.token), strings.ToUpper(p.token) == p.token},
		{"a server token with one character less", "Bearer " + p.admin[:len(p.admin)-1], false},
		{"a server token with one character more", "Bearer " + p.admin + "x", false},
		{"two tokens", "Bearer " + p.token + " " + p.token, false},
		{"a comma", "Bearer " + p.token + ",", false},
		{"another token of the form", "Bearer " + strings.Repeat("0", 32), false},
		{"a hash of the token's form", "Bearer " + strings.Repeat("a", 64), false},
		{"a long token", "Bearer " + strings.Repeat("a", 8000), false},
		{"bytes beyond ASCII", "Bearer \xff\xfe\xe9", false},
	}
	for _, tc := range cases {
		a := p.do(http.MethodPost, "/run", p.body("credentials", 0), "Authorization", tc.authorization)
		if tc.ok && a.status != http.StatusAccepted {
			t.Errorf("%s: %d %s", tc.name, a.status, cut(a.body))
		}
		if !tc.ok {
			t.Run(tc.name, func(t *testing.T) { wantError(t, a, 401, "unauthorized") })
		}
	}
	wantError(t, p.do(http.MethodPost, "/run?token="+p.token, p.body("query", 0)), 401, "unauthorized")
	wantError(t, p.do(http.MethodPost, "/run", p.body("cookie", 0), "Cookie", "token="+p.token+"; bz_sess="+p.admin), 401, "unauthorized")
	wantError(t, p.do(http.MethodPost, "/run", p.body("other", 0), "X-Authorization", "Bearer "+p.token), 401, "unauthorized")
	wantError(t, p.get("/admin/api/clients", p.token), 403, "")
	wantError(t, p.post("/admin/pause", p.token, ""), 403, "")
	wantError(t, p.get("/admin/api/clients", strings.Repeat("0", 32)), 401, "unauthorized")
}
