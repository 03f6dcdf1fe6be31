package lambdahttp

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"bailing/shared/apierr"
)

func TestTheRequestIsWhatTheCallerSent(t *testing.T) {
	b := setup(t)
	e := event()
	e.HTTPMethod, e.Path, e.Resource = http.MethodPost, "/jobs/a%2Fb%20c", "/jobs/{id}"
	e.MultiValueHeaders["X-Many"] = []string{"1", "2"}
	e.MultiValueHeaders["X-Forwarded-For"] = []string{"203.0.113.1"}
	e.MultiValueQueryStringParameters = map[string][]string{"z": {"1", "a&b"}, "a": {"ü"}}
	raw := "{\"a\": 1}\r\n\x00\xff"
	e.Body = encoded(raw)
	b.invoke(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || string(body) != raw {
			t.Errorf("body = %q, %v", body, err)
		}
		for _, c := range [][2]string{
			{r.Method, "POST"}, {r.URL.Path, "/jobs/a/b c"}, {r.URL.EscapedPath(), "/jobs/a%2Fb%20c"},
			{r.URL.RawQuery, "a=%C3%BC&z=1&z=a%26b"}, {r.RequestURI, "/jobs/a%2Fb%20c?a=%C3%BC&z=1&z=a%26b"},
			{r.Host, "hub.example"}, {r.URL.Host, ""}, {r.Header.Get("Host"), ""},
			{strings.Join(r.Header["X-Many"], ","), "1,2"}, {r.RemoteAddr, "192.0.2.7"},
		} {
			if c[0] != c[1] {
				t.Errorf("got %q, want %q", c[0], c[1])
			}
		}
		if r.ContentLength != int64(len(raw)) {
			t.Errorf("content length = %d", r.ContentLength)
		}
	}, e)
}

func TestABodyThatIsNotEncodedIsTakenAsItIs(t *testing.T) {
	b := setup(t)
	e := event()
	e.Body, e.IsBase64Encoded = "eyJ9", false
	b.invoke(func(_ http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); string(body) != "eyJ9" {
			t.Errorf("body = %q", body)
		}
	}, e)
}

func TestWithoutAHostHeaderTheDomainIsTheHost(t *testing.T) {
	b := setup(t)
	e := event()
	e.MultiValueHeaders = nil
	e.Headers = map[string]string{"X-One": "1"}
	b.invoke(func(_ http.ResponseWriter, r *http.Request) {
		if r.Host != "abc.execute-api.example" || r.Header.Get("X-One") != "1" {
			t.Errorf("host %q, header %q", r.Host, r.Header.Get("X-One"))
		}
	}, e)
}

func TestEventsThatCannotBeDecodedAreBadRequests(t *testing.T) {
	cases := []struct {
		name string
		mend func(*events.APIGatewayProxyRequest)
		want string
	}{
		{"a malformed escape in the path", func(e *events.APIGatewayProxyRequest) { e.Path = "/jobs/%zz" }, "malformed path"},
		{"an escape cut short", func(e *events.APIGatewayProxyRequest) { e.Path = "/jobs/%4" }, "malformed path"},
		{"a path that is not UTF-8", func(e *events.APIGatewayProxyRequest) { e.Path = "/jobs/%ff" }, "malformed path"},
		{"a query inside the path", func(e *events.APIGatewayProxyRequest) { e.Path = "/jobs/7?admin=1" }, "malformed path"},
		{"a fragment inside the path", func(e *events.APIGatewayProxyRequest) { e.Path = "/jobs/7#x" }, "malformed path"},
		{"a control character in the path", func(e *events.APIGatewayProxyRequest) { e.Path = "/jobs/\n7" }, "malformed request"},
		{"a body that is not base64", func(e *events.APIGatewayProxyRequest) { e.Body = "{}" }, "malformed body encoding"},
		{"a method that is no token", func(e *events.APIGatewayProxyRequest) { e.HTTPMethod = "GE T" }, "malformed request"},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			b := setup(t)
			e := event()
			tc.mend(&e)
			r := b.invoke(func(http.ResponseWriter, *http.Request) { t.Error("the handler was called") }, e)
			wantAnswer(t, r, 400, `{"error":"`+tc.want+`"}`)
			if got := http.Header(r.MultiValueHeaders).Get("Content-Type"); got != "application/json; charset=utf-8" {
				t.Errorf("content type %q", got)
			}
			if lines := b.lines(); len(lines) != 1 || lines[0]["status"] != 400.0 {
				t.Errorf("logged %v", lines)
			}
		})
	}
}

func TestAPayloadThatIsNoEventIsAnError(t *testing.T) {
	t.Parallel()
	f := Handler(http.NotFoundHandler(), Options{})
	if _, err := f.Invoke(context.Background(), []byte(`[1]`)); err == nil {
		t.Error("no error")
	}
}

func TestResponsesFollowNetHTTP(t *testing.T) {
	cases := []struct {
		name    string
		method  string
		handler http.HandlerFunc
		status  int
		body    string
		header  string // X-A
	}{
		{"a handler that writes nothing answers 200", "GET", func(http.ResponseWriter, *http.Request) {}, 200, "", ""},
		{"only the first WriteHeader counts", "GET", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(201)
			w.WriteHeader(500)
		}, 201, "", ""},
		{"a write sends 200", "GET", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "x")
			w.WriteHeader(500)
		}, 200, "x", ""},
		{"headers freeze at the first WriteHeader", "GET", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-A", "before")
			w.WriteHeader(202)
			w.Header().Set("X-A", "after")
		}, 202, "", "before"},
		{"informational answers are left out", "GET", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(404)
		}, 404, "", ""},
		{"HEAD has no body", "HEAD", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-A", "1")
			if n, err := io.WriteString(w, "body"); n != 4 || err != nil {
				t.Errorf("write = %d, %v", n, err)
			}
		}, 200, "", "1"},
		{"204 has no body", "GET", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(204)
			if _, err := io.WriteString(w, "x"); !errors.Is(err, http.ErrBodyNotAllowed) {
				t.Errorf("err = %v", err)
			}
		}, 204, "", ""},
		{"an impossible status is a panic", "GET", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(42) },
			500, `{"error":"internal_error","request_id":"req-1"}`, ""},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			b := setup(t)
			e := event()
			e.HTTPMethod = tc.method
			r := b.invoke(tc.handler, e)
			wantAnswer(t, r, tc.status, tc.body)
			if got := http.Header(r.MultiValueHeaders).Get("X-A"); got != tc.header {
				t.Errorf("X-A = %q, want %q", got, tc.header)
			}
		})
	}
}

func TestBinaryAnswersTravelEncoded(t *testing.T) {
	b := setup(t)
	r := b.invoke(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte{0xff, 0, 1}) }, event())
	if !r.IsBase64Encoded || r.Body != base64.StdEncoding.EncodeToString([]byte{0xff, 0, 1}) {
		t.Errorf("answer %+v", r)
	}
}

func TestAPanicIsAnInternalErrorAndNothingElse(t *testing.T) {
	b := setup(t)
	r := b.invoke(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Half", "done")
		w.WriteHeader(200)
		_, _ = io.WriteString(w, "half an ans")
		panic("secret detail")
	}, event())
	wantAnswer(t, r, 500, `{"error":"internal_error","request_id":"req-1"}`)
	h := http.Header(r.MultiValueHeaders)
	if h.Get("X-Half") != "" || h.Get("X-Request-Id") != "req-1" {
		t.Errorf("headers %v", h)
	}
	lines := b.lines()
	if len(lines) != 2 || lines[0]["msg"] != "panic" || lines[0]["request_id"] != "req-1" {
		t.Fatalf("logged %v", lines)
	}
	if stack, _ := lines[0]["stack"].(string); !strings.Contains(stack, "handler_test.go") {
		t.Errorf("the stack does not lead to the handler: %s", stack)
	}
}

func TestTheAccessLine(t *testing.T) {
	b := setup(t)
	e := event()
	e.MultiValueQueryStringParameters = map[string][]string{"q": {"topsecret"}}
	e.Body = encoded("topsecret")
	e.MultiValueHeaders["Authorization"] = []string{"Bearer topsecret"}
	e.MultiValueHeaders["x-amzn-trace-id"] = []string{"Root=1-68e7a1b2-0123456789abcdef01234567;Sampled=1"}
	b.invoke(func(w http.ResponseWriter, r *http.Request) {
		if RequestID(r.Context()) != "req-1" || TraceID(r.Context()) != "1-68e7a1b2-0123456789abcdef01234567" {
			t.Errorf("ids %q %q", RequestID(r.Context()), TraceID(r.Context()))
		}
		b.clock.Advance(1500 * time.Microsecond)
		w.WriteHeader(202)
	}, e)
	lines := b.lines()
	if len(lines) != 1 {
		t.Fatalf("%d lines", len(lines))
	}
	delete(lines[0], "time")
	want := map[string]any{
		"level": "INFO", "msg": "request", "request_id": "req-1", "trace_id": "1-68e7a1b2-0123456789abcdef01234567",
		"method": "GET", "route": "/jobs/{id}", "status": 202.0, "duration_ms": 1.5,
	}
	if len(lines[0]) != len(want) {
		t.Errorf("line %v", lines[0])
	}
	for k, v := range want {
		if lines[0][k] != v {
			t.Errorf("%s = %v, want %v", k, lines[0][k], v)
		}
	}
	if bytes.Contains(b.logs.Bytes(), []byte("topsecret")) {
		t.Error("a value of the request was logged")
	}
	if got := strings.Join(b.metrics.lines, "; "); got != "http_requests route,/jobs/{id},status,2xx; http_duration 1.5ms route,/jobs/{id}" {
		t.Errorf("metrics %s", got)
	}
}

func TestIDsFallBack(t *testing.T) {
	b := setup(t)
	e := event()
	e.RequestContext.RequestID = ""
	e.MultiValueHeaders["X-Amzn-Trace-Id"] = []string{"Root=made up\nby the caller"}
	ctx := lambdacontext.NewContext(context.Background(), &lambdacontext.LambdaContext{AwsRequestID: "invocation-1"})
	b.invokeContext(ctx, func(_ http.ResponseWriter, r *http.Request) {
		if RequestID(r.Context()) != "invocation-1" || TraceID(r.Context()) != "invocation-1" {
			t.Errorf("ids %q %q", RequestID(r.Context()), TraceID(r.Context()))
		}
	}, e)
	if RequestID(context.Background()) != "" || TraceID(context.Background()) != "" {
		t.Error("ids outside a request")
	}
}

func TestWriteErrorLogsOnlyWhatIsOurFault(t *testing.T) {
	b := setup(t)
	cause := errors.New("table is gone")
	r := b.invoke(func(w http.ResponseWriter, r *http.Request) {
		WriteError(w, r, apierr.Wrap(apierr.Internal, "internal_error", cause))
	}, event())
	wantAnswer(t, r, 500, `{"error":"internal_error","request_id":"req-1"}`)
	if lines := b.lines(); len(lines) != 2 || !strings.Contains(lines[0]["error"].(string), "table is gone") {
		t.Errorf("logged %v", lines)
	}
	b.logs.Reset()
	r = b.invoke(func(w http.ResponseWriter, r *http.Request) { WriteError(w, r, apierr.New(apierr.Invalid, "bad")) }, event())
	wantAnswer(t, r, 400, `{"error":"bad"}`)
	if len(b.lines()) != 1 {
		t.Errorf("a caller's mistake was logged: %s", b.logs.String())
	}
}

func TestTheResponseLimit(t *testing.T) {
	write := func(n int, unit string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = io.WriteString(w, strings.Repeat(unit, n))
		}
	}
	size := func(t *testing.T, body string) int {
		t.Helper()
		out, err := marshal(events.APIGatewayProxyResponse{
			StatusCode: 200, MultiValueHeaders: map[string][]string{"Content-Type": {"text/plain"}}, Body: body,
		})
		if err != nil {
			t.Fatal(err)
		}
		return len(out)
	}
	t.Run("a response at the limit is sent", func(t *testing.T) {
		b := setup(t)
		b.max = size(t, strings.Repeat("x", 500))
		if r := b.invoke(write(500, "x"), event()); r.StatusCode != 200 || len(r.Body) != 500 {
			t.Errorf("answer %d with %d bytes", r.StatusCode, len(r.Body))
		}
	})
	t.Run("one byte more is a 500", func(t *testing.T) {
		b := setup(t)
		b.max = size(t, strings.Repeat("x", 500))
		wantAnswer(t, b.invoke(write(501, "x"), event()), 500, `{"error":"internal_error","request_id":"req-1"}`)
		if lines := b.lines(); lines[0]["msg"] != "response too large" {
			t.Errorf("logged %v", lines)
		}
	})
	t.Run("text that doubles in JSON travels as base64", func(t *testing.T) {
		b := setup(t)
		b.max = size(t, strings.Repeat("x", 800))
		r := b.invoke(write(500, `"`), event())
		body, _ := base64.StdEncoding.DecodeString(r.Body)
		if r.StatusCode != 200 || !r.IsBase64Encoded || len(body) != 500 {
			t.Errorf("answer %d with %d bytes", r.StatusCode, len(body))
		}
	})
	t.Run("a handler cannot fill the memory", func(t *testing.T) {
		b := setup(t)
		b.max = 1000
		r := b.invoke(func(w http.ResponseWriter, _ *http.Request) {
			for range 20 {
				if _, err := w.Write(make([]byte, 100)); err != nil {
					return
				}
			}
			t.Error("no write failed")
		}, event())
		wantAnswer(t, r, 500, `{"error":"internal_error","request_id":"req-1"}`)
	})
}

func FuzzHandler(f *testing.F) {
	for _, s := range []string{`{}`, `{"path":"/%","httpMethod":"GET"}`, `{"body":"!","isBase64Encoded":true}`, `{"path":"//h/../x","httpMethod":"get"}`} {
		f.Add([]byte(s))
	}
	h := Handler(http.NotFoundHandler(), Options{})
	f.Fuzz(func(t *testing.T, payload []byte) {
		out, err := h.Invoke(context.Background(), payload)
		if err == nil && !bytes.Contains(out, []byte(`"statusCode":4`)) {
			t.Errorf("answer %s", out)
		}
	})
}
