package gateway

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"bailing/scripts/local/invoke"
	"bailing/shared/clock"
	"bailing/shared/lambdahttp"
	"bailing/shared/topology"
)

type function func(ctx context.Context, payload []byte) ([]byte, error)

func (f function) Invoke(ctx context.Context, payload []byte) ([]byte, error) { return f(ctx, payload) }

// bundle is a gateway behind a real server, with one function that keeps the events it gets.
type bundle struct {
	t      *testing.T
	clock  *clock.Manual
	server *httptest.Server
	got    chan events.APIGatewayProxyRequest
	reply  function // what the function does after keeping the event; nil answers 200 {}
}

func routes(paths ...string) topology.Topology {
	f := topology.Function{Name: "f", Timeout: topology.GatewayTimeout}
	for _, p := range paths {
		method, path, _ := strings.Cut(p, " ")
		f.Routes = append(f.Routes, topology.Route{Method: method, Path: path, Handler: "H"})
	}
	return topology.Topology{Functions: []topology.Function{f, {Name: "worker", Queue: "q"}}}
}

func setup(t *testing.T, o Options) *bundle {
	t.Helper()
	t.Parallel()
	b := &bundle{t: t, clock: clock.NewManual(time.Unix(1_760_000_000, 0)), got: make(chan events.APIGatewayProxyRequest, 1)}
	o.Clock = b.clock
	o.NewID = func() string { return "id-1" }
	g, err := New(routes("POST /run", "GET /run", "GET /jobs/{id}", "GET /schemas/{proxy+}", "GET /schemas/list", "HEAD /health"),
		map[string]lambda.Handler{"f": function(b.handle)}, o)
	if err != nil {
		t.Fatal(err)
	}
	b.server = httptest.NewServer(g)
	t.Cleanup(func() {
		b.server.Close()
		if err := g.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return b
}

func (b *bundle) handle(ctx context.Context, payload []byte) ([]byte, error) {
	var e events.APIGatewayProxyRequest
	if err := json.Unmarshal(payload, &e); err != nil {
		b.t.Errorf("event: %v", err)
	}
	b.got <- e
	if b.reply != nil {
		return b.reply(ctx, payload)
	}
	return []byte(`{"statusCode":200,"body":"{}"}`), nil
}

// raw sends a request byte for byte and returns the answer with its body.
func (b *bundle) raw(request string) (*http.Response, string) {
	b.t.Helper()
	conn, err := net.Dial("tcp", b.server.Listener.Addr().String())
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	go func() { _, _ = io.WriteString(conn, request) }()
	method, _, _ := strings.Cut(request, " ")
	res, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		b.t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return res, string(body)
}

func (b *bundle) get(path string) (*http.Response, string) {
	b.t.Helper()
	return b.raw("GET " + path + " HTTP/1.1\r\nHost: hub.example\r\n\r\n")
}

func (b *bundle) post(body string) (*http.Response, string) {
	b.t.Helper()
	res, err := http.Post(b.server.URL+"/run", "application/json", strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	out, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return res, string(out)
}

func wantAnswer(t *testing.T, res *http.Response, body string, status int, want string) {
	t.Helper()
	if res.StatusCode != status || body != want {
		t.Errorf("answer = %d %s, want %d %s", res.StatusCode, body, status, want)
	}
}

func TestNewWantsEveryFunctionWithRoutes(t *testing.T) {
	t.Parallel()
	if _, err := New(routes("GET /a"), nil, Options{}); err == nil || !strings.Contains(err.Error(), "function f has routes and no handler") {
		t.Errorf("err = %v", err)
	}
	streaming := routes("GET /a")
	streaming.Functions[0].Streaming = true
	if _, err := New(streaming, map[string]lambda.Handler{"f": function(nil)}, Options{}); err == nil || !errors.Is(err, invoke.ErrNotStreaming) {
		t.Errorf("err = %v", err)
	}
}

func TestTheSystemHasAGateway(t *testing.T) {
	t.Parallel()
	handlers := map[string]lambda.Handler{}
	for _, f := range topology.System().Functions {
		handlers[f.Name] = function(nil)
	}
	if _, err := New(topology.System(), handlers, Options{}); err != nil {
		t.Error(err)
	}
}

func TestUnmappedResourcesAndMethods(t *testing.T) {
	cases := []struct{ name, method, path string }{
		{"an unknown path", "GET", "/nope"},
		{"an unknown method", "DELETE", "/run"},
		{"GET does not imply HEAD", "HEAD", "/run"},
		{"a path above a resource", "GET", "/jobs"},
		{"an empty segment", "GET", "//run"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			b := setup(t, Options{})
			res, body := b.raw(tc.method + " " + tc.path + " HTTP/1.1\r\nHost: h\r\n\r\n")
			want := `{"error":"not found"}`
			if tc.method == "HEAD" {
				want = ""
			}
			wantAnswer(t, res, body, 404, want)
			if res.Header.Get("Content-Type") != "application/json" || res.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("headers %v", res.Header)
			}
		})
	}
}

func TestTheGatewaysLimits(t *testing.T) {
	// An event is the body in base64 and everything around it; how much that is, an event with an empty body shows.
	around := func(t *testing.T, b *bundle) int {
		t.Helper()
		sizes := make(chan int, 1)
		b.reply = func(_ context.Context, payload []byte) ([]byte, error) {
			sizes <- len(payload)
			return []byte(`{"statusCode":204}`), nil
		}
		b.post("xxx")
		<-b.got
		return <-sizes - len("eHh4") + 2*(len("4700000")-len("3")) // Content-Length, in both forms of the headers
	}
	t.Run("an event at Lambda's limit", func(t *testing.T) {
		b := setup(t, Options{})
		n := (lambdahttp.EventMax - around(t, b)) / 4 * 3
		b.reply = nil
		res, body := b.post(strings.Repeat("x", n))
		wantAnswer(t, res, body, 200, "{}")
	})
	t.Run("an event past it", func(t *testing.T) {
		b := setup(t, Options{})
		n := (lambdahttp.EventMax-around(t, b))/4*3 + 3
		res, body := b.post(strings.Repeat("x", n))
		wantAnswer(t, res, body, 413, `{"message":"Request Too Long"}`)
	})
	t.Run("a body past the gateway's", func(t *testing.T) {
		b := setup(t, Options{})
		w := httptest.NewRecorder()
		r := httptest.NewRequest("POST", "/run", strings.NewReader(strings.Repeat("x", lambdahttp.GatewayMax+1)))
		b.server.Config.Handler.ServeHTTP(w, r)
		wantAnswer(t, w.Result(), w.Body.String(), 413, `{"message":"Request Too Long"}`)
	})
	for _, over := range []int{0, 1} {
		t.Run("request line and header values, over by "+string(rune('0'+over)), func(t *testing.T) {
			b := setup(t, Options{})
			n := lambdahttp.HeadersMax - len("GET /run HTTP/1.1") - len("h") + over
			res, body := b.raw("GET /run HTTP/1.1\r\nHost: h\r\nX-A: " + strings.Repeat("x", n) + "\r\n\r\n")
			if over == 0 {
				wantAnswer(t, res, body, 200, "{}")
			} else {
				wantAnswer(t, res, body, 431, `{"message":"Request Header Fields Too Large"}`)
			}
		})
	}
}

func TestA504LeavesTheFunctionRunning(t *testing.T) {
	b := setup(t, Options{})
	release, ended := make(chan struct{}), make(chan error, 1)
	b.reply = func(context.Context, []byte) ([]byte, error) {
		b.clock.Advance(topology.GatewayTimeout)
		<-release
		ended <- nil
		return nil, nil
	}
	res, body := b.get("/run")
	wantAnswer(t, res, body, 504, `{"message":"Endpoint request timed out"}`)
	close(release)
	<-ended
}

func TestTheInvocationOutlivesTheClient(t *testing.T) {
	b := setup(t, Options{})
	gone, ended := make(chan struct{}), make(chan error, 1)
	b.reply = func(ctx context.Context, _ []byte) ([]byte, error) {
		<-gone
		ended <- ctx.Err()
		return nil, nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		r := httptest.NewRequestWithContext(ctx, "GET", "/run", nil)
		b.server.Config.Handler.ServeHTTP(httptest.NewRecorder(), r)
	}()
	<-b.got
	cancel()
	close(gone)
	if err := <-ended; err != nil {
		t.Errorf("the invocation's context ended: %v", err)
	}
	<-returned
}

func TestWhatFunctionsDoWrongIsABadGateway(t *testing.T) {
	reply := func(s string) function {
		return func(context.Context, []byte) ([]byte, error) { return []byte(s), nil }
	}
	cases := []struct {
		name  string
		reply function
	}{
		{"an error", func(context.Context, []byte) ([]byte, error) { return nil, errors.New("no") }},
		{"a panic", func(context.Context, []byte) ([]byte, error) { panic("no") }},
		{"an answer that is not JSON", reply(`no`)},
		{"an answer without status", reply(`{"body":"x"}`)},
		{"an impossible status", reply(`{"statusCode":600}`)},
		{"a body that is not base64", reply(`{"statusCode":200,"body":"!","isBase64Encoded":true}`)},
		{"an answer past Lambda's limit", reply(`{"statusCode":200,"body":"` + strings.Repeat("x", lambdahttp.ResponseMax) + `"}`)},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			b := setup(t, Options{})
			b.reply = tc.reply
			res, body := b.get("/run")
			wantAnswer(t, res, body, 502, `{"message":"Internal server error"}`)
		})
	}
}

func TestAnswers(t *testing.T) {
	cases := []struct {
		name, reply, body string
		status            int
		headers           map[string]string // values joined with "|"
	}{
		{"text", `{"statusCode":201,"headers":{"content-type":"text/plain"},"body":"hé"}`, "hé", 201, map[string]string{"Content-Type": "text/plain"}},
		{"the default content type", `{"statusCode":200,"body":"{}"}`, "{}", 200, map[string]string{"Content-Type": "application/json"}},
		{"bytes", `{"statusCode":200,"isBase64Encoded":true,"body":"` + base64.StdEncoding.EncodeToString([]byte("\xff\x00")) + `"}`, "\xff\x00", 200, nil},
		{"many values of a header", `{"statusCode":200,"multiValueHeaders":{"Set-Cookie":["a=1","b=2"]},"headers":{"set-cookie":"old"}}`, "", 200, map[string]string{"Set-Cookie": "a=1|b=2"}},
		{"no body for 204", `{"statusCode":204,"body":"x"}`, "", 204, nil},
		{"headers that the service keeps for itself", `{"statusCode":401,"headers":{"WWW-Authenticate":"Bearer","Server":"s","Transfer-Encoding":"chunked"}}`, "", 401,
			map[string]string{"Www-Authenticate": "", "X-Amzn-Remapped-Www-Authenticate": "Bearer", "Server": "", "X-Amzn-Remapped-Server": "s"}},
		{"the request id", `{"statusCode":200}`, "", 200, map[string]string{"X-Amzn-Requestid": "id-1"}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			b := setup(t, Options{})
			b.reply = func(context.Context, []byte) ([]byte, error) { return []byte(tc.reply), nil }
			res, body := b.get("/run")
			wantAnswer(t, res, body, tc.status, tc.body)
			for name, want := range tc.headers {
				if got := strings.Join(res.Header.Values(name), "|"); got != want {
					t.Errorf("%s = %q, want %q", name, got, want)
				}
			}
		})
	}
}

func TestShutdownWaitsThenAborts(t *testing.T) {
	t.Parallel()
	started, ended := make(chan struct{}), make(chan error, 1)
	g, err := New(routes("GET /run"), map[string]lambda.Handler{"f": function(func(ctx context.Context, _ []byte) ([]byte, error) {
		close(started)
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	})}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan int)
	go func() {
		w := httptest.NewRecorder()
		g.ServeHTTP(w, httptest.NewRequest("GET", "/run", nil))
		answered <- w.Code
	}()
	<-started
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := g.Shutdown(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Shutdown = %v", err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the invocation ended with %v", err)
	}
	if code := <-answered; code != 502 {
		t.Errorf("answer %d", code)
	}
	if err := g.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	w := httptest.NewRecorder()
	g.ServeHTTP(w, httptest.NewRequest("GET", "/run", nil))
	if w.Code != 503 {
		t.Errorf("after Shutdown: %d", w.Code)
	}
}
