package outbound

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bailing/shared/clock"
)

func TestRequestLineIsTheURLByteForByte(t *testing.T) {
	t.Parallel()
	lines := make(chan string, 1)
	base := rawServer(t, func(conn net.Conn, r *bufio.Reader) {
		line, _ := r.ReadString('\n')
		lines <- strings.TrimSpace(line)
		io.WriteString(conn, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
	})
	c := localClient(t, Options{})
	for given, want := range map[string]string{
		"/orders/A%2FB%20C?q=a%7Eb*c":   "/orders/A%2FB%20C?q=a%7Eb*c",
		"/orders/A%2fB~!'()*?x=%7e&y+z": "/orders/A%2fB~!'()*?x=%7e&y+z",
		"/a/../b/./c//d":                "/a/../b/./c//d",
		"/a|b{c}?d={e}":                 "/a|b{c}?d={e}",
		"/a?":                           "/a?",
		"?q=1":                          "/?q=1",
		"":                              "/",
	} {
		if _, err := c.Do(context.Background(), Request{Method: "GET", URL: base + given}); err != nil {
			t.Errorf("%q: %v", given, err)
			continue
		}
		if got := <-lines; got != "GET "+want+" HTTP/1.1" {
			t.Errorf("%q was sent as %q", given, got)
		}
	}
}

func TestRequestArrivesAsGiven(t *testing.T) {
	t.Parallel()
	c := localClient(t, Options{UserAgent: "hub/1"})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s|%s|%s|%s|%s|%s|%d", r.Method, body, r.Header.Get("X-Signature"), r.Header.Get("User-Agent"),
			r.Header.Get("Accept-Encoding"), r.Header.Get("Cookie"), r.ContentLength)
	})
	for _, one := range []bool{false, true} {
		res, err := c.Do(context.Background(), Request{
			Method: "DELETE", URL: s.URL, Body: []byte("{}"), OneSend: one,
			Header: http.Header{"x-signature": {"sha256=ab"}, "Accept-Encoding": {"gzip"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := string(res.Body), "DELETE|{}|sha256=ab|hub/1|identity||2"; got != want {
			t.Errorf("arrived as %q, want %q", got, want)
		}
	}
}

func TestUnacceptableRequestsAreRefusedUnsent(t *testing.T) {
	t.Parallel()
	var arrived atomic.Int32
	s := serve(t, func(http.ResponseWriter, *http.Request) { arrived.Add(1) })
	c := localClient(t, Options{})
	header := func(k, v string) http.Header { return http.Header{k: {v}} }
	for rule, r := range map[string]Request{
		"no method":               {URL: s.URL},
		"lower-case method":       {Method: "get", URL: s.URL},
		"CONNECT":                 {Method: "CONNECT", URL: s.URL},
		"TRACE":                   {Method: "TRACE", URL: s.URL},
		"method with white space": {Method: "GET /x HTTP/1.1\r\n", URL: s.URL},
		"scheme":                  {Method: "GET", URL: "ftp://127.0.0.1/"},
		"user information":        {Method: "GET", URL: strings.Replace(s.URL, "://", "://u:p@", 1)},
		"decimal host":            {Method: "GET", URL: "http://2130706433/"},
		"octal host":              {Method: "GET", URL: "http://0177.0.0.1/"},
		"hexadecimal host":        {Method: "GET", URL: "http://0x7f000001/"},
		"negative timeout":        {Method: "GET", URL: s.URL, Timeout: -1},
		"negative limit":          {Method: "GET", URL: s.URL, MaxResponse: -1},
		"header name":             {Method: "GET", URL: s.URL, Header: header("a b", "c")},
		"empty header name":       {Method: "GET", URL: s.URL, Header: header("", "c")},
		"header value":            {Method: "GET", URL: s.URL, Header: header("A", "b\r\nC: d")},
		"Host":                    {Method: "GET", URL: s.URL, Header: header("host", "evil.example")},
		"Content-Length":          {Method: "GET", URL: s.URL, Header: header("content-length", "5")},
		"Transfer-Encoding":       {Method: "GET", URL: s.URL, Header: header("transfer-encoding", "chunked")},
		"Expect":                  {Method: "GET", URL: s.URL, Header: header("Expect", "100-continue")},
		"Upgrade":                 {Method: "GET", URL: s.URL, Header: header("Upgrade", "websocket")},
	} {
		res, err := c.Do(context.Background(), r)
		if e := failure(t, res, err); e.Phase != PhaseRequest || e.Sent || e.Connected {
			t.Errorf("%s: %+v, want phase request", rule, e)
		}
	}
	if n := arrived.Load(); n != 0 {
		t.Errorf("%d requests arrived, want none", n)
	}
}

func TestRedirectIsAnAnswer(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 303, 307, 308} {
		var arrived atomic.Int32
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			arrived.Add(1)
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
		})
		res, err := localClient(t, Options{}).Do(context.Background(), Request{Method: "POST", URL: s.URL, Body: []byte("x")})
		if err != nil {
			t.Fatal(err)
		}
		if res.Status != status || res.Header.Get("Location") != "/elsewhere" || arrived.Load() != 1 {
			t.Errorf("status %d after %d requests, want %d after 1", res.Status, arrived.Load(), status)
		}
	}
}

func TestCookiesAreNotKept(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.Header.Get("Cookie"))
		http.SetCookie(w, &http.Cookie{Name: "a", Value: "b"})
	})
	c := localClient(t, Options{})
	for range 2 {
		res, err := c.Do(context.Background(), Request{Method: "GET", URL: s.URL})
		if err != nil || len(res.Body) != 0 {
			t.Fatalf("response %+v, error %v; want no cookie sent", res, err)
		}
	}
}

func TestBodyLimit(t *testing.T) {
	t.Parallel()
	const limit = 1000
	for _, c := range []struct {
		rule      string
		length    int
		chunked   bool
		truncated bool
	}{
		{"empty", 0, false, false},
		{"at the limit, length known", limit, false, false},
		{"at the limit, chunked", limit, true, false},
		{"one past the limit, length known", limit + 1, false, true},
		{"one past the limit, chunked", limit + 1, true, true},
		{"far past the limit, chunked", 1 << 20, true, true},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if c.chunked {
					w.(http.Flusher).Flush()
				} else {
					w.Header().Set("Content-Length", fmt.Sprint(c.length))
				}
				io.WriteString(w, strings.Repeat("x", c.length))
			})
			res, err := localClient(t, Options{}).Do(context.Background(), Request{Method: "GET", URL: s.URL, MaxResponse: limit})
			if err != nil {
				t.Fatal(err)
			}
			if len(res.Body) != min(c.length, limit) || res.Truncated != c.truncated {
				t.Errorf("kept %d bytes, truncated %v; want %d, %v", len(res.Body), res.Truncated, min(c.length, limit), c.truncated)
			}
		})
	}
}

func TestDefaultBodyLimitIsOneMiB(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, strings.Repeat("x", 1<<20+1)) })
	res, err := localClient(t, Options{}).Do(context.Background(), Request{Method: "GET", URL: s.URL})
	if err != nil || len(res.Body) != 1<<20 || !res.Truncated {
		t.Fatalf("err %v, response of %d bytes; want 1048576 bytes and truncated", err, len(res.Body))
	}
}

// Decision D13: within the limit a broken body is a failure with the head as evidence, past it the status decides.
func TestBodyThatEndsEarly(t *testing.T) {
	t.Parallel()
	const limit = 4
	for _, c := range []struct {
		rule   string
		answer string
		ok     bool
		kept   string
	}{
		{"length promised, closed within the limit", "HTTP/1.1 201 Created\r\nX-A: b\r\nContent-Length: 10\r\n\r\nabc", false, "abc"},
		{"length promised, nothing came", "HTTP/1.1 201 Created\r\nX-A: b\r\nContent-Length: 10\r\n\r\n", false, ""},
		{"chunked, closed within the limit", "HTTP/1.1 201 Created\r\nX-A: b\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", false, "abc"},
		{"chunked, garbage within the limit", "HTTP/1.1 201 Created\r\nX-A: b\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n", false, "abc"},
		{"length promised, closed past the limit", "HTTP/1.1 201 Created\r\nX-A: b\r\nContent-Length: 10\r\n\r\nabcdefg", true, "abcd"},
		{"chunked, closed at the limit", "HTTP/1.1 201 Created\r\nX-A: b\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n", true, "abcd"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			url := rawServer(t, replying(c.answer))
			res, err := localClient(t, Options{}).Do(context.Background(), Request{Method: "GET", URL: url, MaxResponse: limit})
			if c.ok {
				if err != nil || res.Status != 201 || string(res.Body) != c.kept || !res.Truncated {
					t.Fatalf("response %+v, error %v; want 201, %q, truncated", res, err, c.kept)
				}
				return
			}
			e := failure(t, res, err)
			if e.Phase != PhaseBody || !e.Sent || e.Timeout {
				t.Errorf("error %+v, want phase body, sent", e)
			}
			if e.Status != 201 || e.Header.Get("X-A") != "b" || string(e.Body) != c.kept {
				t.Errorf("evidence: status %d, header %v, body %q", e.Status, e.Header, e.Body)
			}
		})
	}
}

func TestAnswerHeadFailures(t *testing.T) {
	t.Parallel()
	big := func(n int) string {
		return "HTTP/1.1 200 OK\r\nX-Big: " + strings.Repeat("x", n) + "\r\nContent-Length: 0\r\n\r\n"
	}
	for rule, answer := range map[string]string{
		"closed without an answer": "",
		"closed within the head":   "HTTP/1.1 200 OK\r\nX-A: b\r\n",
		"not HTTP":                 "SSH-2.0-token-in-here\r\n\r\n",
		"head past its limit":      big(MaxResponseHeader + 1),
		"switched protocols":       "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
	} {
		t.Run(rule, func(t *testing.T) {
			t.Parallel()
			res, err := localClient(t, Options{}).Do(context.Background(), Request{Method: "GET", URL: rawServer(t, replying(answer))})
			e := failure(t, res, err)
			if e.Phase != PhaseHeaders || !e.Connected || !e.Sent || e.Timeout || e.Status != 0 {
				t.Errorf("error %+v, want phase headers, sent", e)
			}
			if strings.Contains(e.Error(), "token-in-here") {
				t.Errorf("text %q repeats what the peer sent", e)
			}
		})
	}
	url := rawServer(t, replying(big(MaxResponseHeader-1024)))
	if _, err := localClient(t, Options{}).Do(context.Background(), Request{Method: "GET", URL: url}); err != nil {
		t.Errorf("a head within the limit: %v", err)
	}
}

func TestTimeLimitCoversTheHead(t *testing.T) {
	t.Parallel()
	manual := clock.NewManual(time.Unix(0, 0))
	release := make(chan struct{})
	defer close(release)
	url := rawServer(t, func(conn net.Conn, r *bufio.Reader) {
		http.ReadRequest(r)
		manual.Advance(10 * time.Second)
		<-release
	})
	res, err := localClient(t, Options{Clock: manual}).Do(context.Background(), Request{Method: "GET", URL: url, Timeout: 10 * time.Second})
	e := failure(t, res, err)
	// The peer may have the whole request before the transport reports that it is written.
	if !e.Timeout || !e.Sent || e.Phase != PhaseHeaders && e.Phase != PhaseWrite || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %+v, want a timeout in phase headers", e)
	}
}

func TestTimeLimitCoversTheBody(t *testing.T) {
	t.Parallel()
	manual := clock.NewManual(time.Unix(0, 0))
	release := make(chan struct{})
	defer close(release)
	url := rawServer(t, func(conn net.Conn, r *bufio.Reader) {
		replying("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")(conn, r)
		<-release
	})
	// Head and first bytes come with the first read; a second one is made for the rest of the body.
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return &readHook{Conn: conn, second: func() { manual.Advance(10 * time.Second) }}, err
	}
	c := localClient(t, Options{Clock: manual, Dialer: dial})
	res, err := c.Do(context.Background(), Request{Method: "GET", URL: url, Timeout: 10 * time.Second})
	e := failure(t, res, err)
	if !e.Timeout || !e.Sent || e.Phase != PhaseBody || e.Status != 200 || string(e.Body) != "abc" {
		t.Errorf("error %+v, want a timeout in phase body with status 200 and what came", e)
	}
}

func TestCancelledContextIsNotATimeout(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	release := make(chan struct{})
	defer close(release)
	url := rawServer(t, func(conn net.Conn, r *bufio.Reader) {
		http.ReadRequest(r)
		cancel()
		<-release
	})
	res, err := localClient(t, Options{}).Do(ctx, Request{Method: "GET", URL: url})
	e := failure(t, res, err)
	if e.Timeout || !e.Sent || !errors.Is(err, context.Canceled) {
		t.Errorf("error %+v, want cancelled and no timeout", e)
	}
}

func TestSlowResolverIsATimeoutInResolve(t *testing.T) {
	t.Parallel()
	manual := clock.NewManual(time.Unix(0, 0))
	c := New(Options{Clock: manual, Resolver: stuckResolver{func() { manual.Advance(time.Second) }}})
	res, err := c.Do(context.Background(), Request{Method: "GET", URL: "http://orders.example/", Timeout: time.Second})
	if e := failure(t, res, err); e.Phase != PhaseResolve || !e.Timeout || e.Sent || e.Connected {
		t.Errorf("error %+v, want a timeout in phase resolve", e)
	}
}
