package lambdahttp

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"bailing/shared/clock"
)

// bundle invokes one handler and keeps what it logged and counted.
type bundle struct {
	t       *testing.T
	logs    bytes.Buffer
	metrics recorder
	clock   *clock.Manual
	max     int
}

func setup(t *testing.T) *bundle {
	t.Helper()
	t.Parallel()
	return &bundle{t: t, clock: clock.NewManual(time.Unix(1_760_000_000, 0))}
}

type recorder struct{ lines []string }

func (r *recorder) Count(name string, v float64, dims ...string) {
	r.lines = append(r.lines, name+" "+strings.Join(dims, ","))
}

func (r *recorder) Duration(name string, d time.Duration, dims ...string) {
	r.lines = append(r.lines, name+" "+d.String()+" "+strings.Join(dims, ","))
}

// event is a GET /jobs/7 as the gateway sends it.
func event() events.APIGatewayProxyRequest {
	return events.APIGatewayProxyRequest{
		Resource: "/jobs/{id}", Path: "/jobs/7", HTTPMethod: http.MethodGet,
		MultiValueHeaders: map[string][]string{"Host": {"hub.example"}},
		RequestContext: events.APIGatewayProxyRequestContext{
			RequestID: "req-1", DomainName: "abc.execute-api.example",
			Identity: events.APIGatewayRequestIdentity{SourceIP: "192.0.2.7"},
		},
		IsBase64Encoded: true,
	}
}

func (b *bundle) invoke(h http.HandlerFunc, e events.APIGatewayProxyRequest) events.APIGatewayProxyResponse {
	b.t.Helper()
	return b.invokeContext(context.Background(), h, e)
}

func (b *bundle) invokeContext(ctx context.Context, h http.HandlerFunc, e events.APIGatewayProxyRequest) events.APIGatewayProxyResponse {
	b.t.Helper()
	payload, err := json.Marshal(e)
	if err != nil {
		b.t.Fatal(err)
	}
	f := Handler(h, Options{
		Logger: slog.New(slog.NewJSONHandler(&b.logs, nil)), Metrics: &b.metrics, Clock: b.clock, MaxResponse: b.max,
	})
	out, err := f.Invoke(ctx, payload)
	if err != nil {
		b.t.Fatalf("the invocation failed: %v", err)
	}
	var r events.APIGatewayProxyResponse
	if err := json.Unmarshal(out, &r); err != nil {
		b.t.Fatal(err)
	}
	return r
}

func (b *bundle) lines() []map[string]any {
	b.t.Helper()
	var lines []map[string]any
	for _, l := range strings.Split(strings.TrimSpace(b.logs.String()), "\n") {
		var m map[string]any
		if err := json.Unmarshal([]byte(l), &m); err != nil {
			b.t.Fatalf("a log line is not JSON: %q", l)
		}
		lines = append(lines, m)
	}
	return lines
}

func encoded(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func wantAnswer(t *testing.T, r events.APIGatewayProxyResponse, status int, body string) {
	t.Helper()
	if r.StatusCode != status || r.Body != body {
		t.Errorf("answer = %d %s, want %d %s", r.StatusCode, r.Body, status, body)
	}
}
