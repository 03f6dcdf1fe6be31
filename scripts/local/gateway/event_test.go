package gateway

import (
	"encoding/base64"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/lambda"

	"bailing/shared/clock"
	"bailing/shared/lambdahttp"
)

func TestTheEventIsTheServices(t *testing.T) {
	b := setup(t, Options{})
	body := "{\"a\": \"\xff\"}"
	res, _ := b.raw("POST /run?a=1&a=%C3%BC+x&b&c=%zz HTTP/1.1\r\nHost: hub.example:8787\r\nX-Many: 1\r\nX-Many: 2\r\n" +
		"User-Agent: ua\r\nX-Forwarded-For: 203.0.113.9\r\nX-Forwarded-Proto: gopher\r\nConnection: x-hop\r\nX-Hop: 1\r\nTE: trailers\r\n" +
		"Content-Length: 10\r\n\r\n" + body)
	if res.StatusCode != 200 {
		t.Fatalf("answer %d", res.StatusCode)
	}
	e := <-b.got
	for _, c := range [][3]string{
		{"resource", e.Resource, "/run"}, {"path", e.Path, "/run"}, {"method", e.HTTPMethod, "POST"},
		{"body", e.Body, base64.StdEncoding.EncodeToString([]byte(body))},
		{"host", e.Headers["Host"], "hub.example:8787"}, {"last header value", e.Headers["X-Many"], "2"},
		{"header values", strings.Join(e.MultiValueHeaders["X-Many"], "|"), "1|2"},
		{"forwarded for", e.Headers["X-Forwarded-For"], "203.0.113.9, 127.0.0.1"},
		{"forwarded proto", e.Headers["X-Forwarded-Proto"], "http"}, {"forwarded port", e.Headers["X-Forwarded-Port"], "8787"},
		{"hop by hop", e.Headers["X-Hop"] + e.Headers["Te"] + e.Headers["Connection"], ""},
		{"last query value", e.QueryStringParameters["a"], "ü x"},
		{"query values", strings.Join(e.MultiValueQueryStringParameters["a"], "|"), "1|ü x"},
		{"a query that cannot be decoded", e.QueryStringParameters["c"], "%zz"},
		{"request id", e.RequestContext.RequestID, "id-1"}, {"stage", e.RequestContext.Stage, "local"},
		{"domain", e.RequestContext.DomainName, "hub.example"}, {"source", e.RequestContext.Identity.SourceIP, "127.0.0.1"},
		{"user agent", e.RequestContext.Identity.UserAgent, "ua"}, {"context path", e.RequestContext.Path, "/run"},
		{"time", e.RequestContext.RequestTime, "09/Oct/2025:08:53:20 +0000"},
	} {
		if c[1] != c[2] {
			t.Errorf("%s = %q, want %q", c[0], c[1], c[2])
		}
	}
	if !e.IsBase64Encoded || e.RequestContext.RequestTimeEpoch != 1_760_000_000_000 {
		t.Errorf("encoded %v, epoch %d", e.IsBase64Encoded, e.RequestContext.RequestTimeEpoch)
	}
	if v, ok := e.QueryStringParameters["b"]; !ok || v != "" {
		t.Errorf("a name without value = %q, %v", v, ok)
	}
	if !strings.HasPrefix(e.Headers["X-Amzn-Trace-Id"], "Root=1-68e77800-") {
		t.Errorf("trace id %q", e.Headers["X-Amzn-Trace-Id"])
	}
}

func TestPathsInEvents(t *testing.T) {
	cases := []struct {
		name, stage, sent, resource, path, contextPath string
		params                                         map[string]string
	}{
		{"a parameter is decoded, the path is not", "", "/jobs/a%2Fb%20c", "/jobs/{id}", "/jobs/a%2Fb%20c", "/jobs/a%2Fb%20c", map[string]string{"id": "a/b c"}},
		{"the greedy parameter", "", "/schemas/a/b%2B", "/schemas/{proxy+}", "/schemas/a/b%2B", "/schemas/a/b%2B", map[string]string{"proxy": "a/b+"}},
		{"a literal before the greedy parameter", "", "/schemas/list", "/schemas/list", "/schemas/list", "/schemas/list", nil},
		{"a trailing slash selects the same resource", "", "/jobs/7/", "/jobs/{id}", "/jobs/7/", "/jobs/7/", map[string]string{"id": "7"}},
		{"the stage shows only in the context", "v1", "/v1/jobs/7", "/jobs/{id}", "/jobs/7", "/v1/jobs/7", map[string]string{"id": "7"}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			b := setup(t, Options{Stage: tc.stage})
			if res, body := b.get(tc.sent); res.StatusCode != 200 {
				t.Fatalf("answer %d %s", res.StatusCode, body)
			}
			e := <-b.got
			if e.Resource != tc.resource || e.Path != tc.path || e.RequestContext.Path != tc.contextPath || !maps.Equal(e.PathParameters, tc.params) {
				t.Errorf("resource %q, path %q, context %q, parameters %v", e.Resource, e.Path, e.RequestContext.Path, e.PathParameters)
			}
			if e.Body != "" || e.IsBase64Encoded {
				t.Errorf("a body without one: %q", e.Body)
			}
		})
	}
}

func TestPathsOutsideTheStageAreForbidden(t *testing.T) {
	for _, path := range []string{"/run", "/v1x/run", "/"} {
		t.Run(path, func(t *testing.T) {
			b := setup(t, Options{Stage: "v1"})
			res, body := b.get(path)
			wantAnswer(t, res, body, 403, `{"message":"Forbidden"}`)
		})
	}
}

func TestParseQuery(t *testing.T) {
	t.Parallel()
	got := parseQuery("a=1;b=2&&=x&a=3")
	if len(got) != 3 || !slices.Equal(got["a"], []string{"1", "3"}) || !slices.Equal(got["b"], []string{"2"}) || !slices.Equal(got[""], []string{"x"}) {
		t.Errorf("query %v", got)
	}
	if parseQuery("") != nil {
		t.Error("no query is not nil")
	}
}

// A request through the gateway and a function's adapter arrives as it was sent, and so does the answer.
func TestARoundTripThroughALambdaHandler(t *testing.T) {
	t.Parallel()
	handler := lambdahttp.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Saw", strings.Join([]string{r.Method, r.RequestURI, r.Host, r.RemoteAddr}, " "))
		w.WriteHeader(202)
		_, _ = w.Write(body)
	}), lambdahttp.Options{Clock: clock.System()})
	g, err := New(routes("POST /jobs/{id}"), map[string]lambda.Handler{"f": handler}, Options{Stage: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest("POST", "http://hub.example/v1/jobs/a%2Fb?q=1%262", strings.NewReader("\x00\xff"))
	r.RemoteAddr = "192.0.2.1:5000"
	w := httptest.NewRecorder()
	g.ServeHTTP(w, r)
	if w.Code != 202 || w.Body.String() != "\x00\xff" || w.Header().Get("X-Saw") != "POST /jobs/a%2Fb?q=1%262 hub.example 192.0.2.1" {
		t.Errorf("answer %d %q %v", w.Code, w.Body.String(), w.Header())
	}
}
