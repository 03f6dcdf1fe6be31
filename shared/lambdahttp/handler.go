package lambdahttp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/awslabs/aws-lambda-go-api-proxy/core"
	"github.com/awslabs/aws-lambda-go-api-proxy/httpadapter"

	"bailing/shared/apierr"
	"bailing/shared/clock"
	"bailing/shared/plainjson"
)

// Limits of the platform in bytes. An event is the whole JSON document: a body travels in
// it as base64, so about 4.7 MB of body fit.
const (
	EventMax    = 6_291_456  // event of one synchronous invocation
	ResponseMax = 6_291_556  // encoded response of one synchronous invocation
	GatewayMax  = 10_485_760 // request body that API Gateway accepts
	HeadersMax  = 10_240     // request line and header values together that API Gateway accepts
)

// Metrics receives what a request is counted as. Dimensions alternate name and value.
type Metrics interface {
	Count(name string, v float64, dims ...string)
	Duration(name string, d time.Duration, dims ...string)
}

// Options of [Handler]. The zero value discards logs and metrics and uses the system clock.
type Options struct {
	Logger      *slog.Logger
	Metrics     Metrics // http_requests by route and status class ("2xx"), http_duration by route
	Clock       clock.Clock
	MaxResponse int // bytes of the encoded response; 0 means [ResponseMax]
}

// Handler makes h a Lambda handler for the proxy events of a REST API whose binary media types are */*. It answers
// every event that is a JSON object; see the package documentation for what it promises.
func Handler(h http.Handler, o Options) lambda.Handler {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	if o.MaxResponse <= 0 {
		o.MaxResponse = ResponseMax
	}
	return &function{o: o, adapter: httpadapter.New(buffered(h, o.MaxResponse))}
}

type function struct {
	o       Options
	adapter *httpadapter.HandlerAdapter
}

// Invoke answers one event. Its error means that the payload is no event of API Gateway.
func (f *function) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	start := f.o.Clock.Now()
	ctx, event, err := f.begin(ctx, payload)
	if err != nil {
		return nil, err
	}
	response, err := f.answer(ctx, event)
	if err != nil {
		return nil, err
	}
	encoded, status, err := f.encode(ctx, response)
	if err != nil {
		return nil, err
	}
	f.record(ctx, event, status, f.o.Clock.Now().Sub(start))
	return encoded, nil
}

// begin reads the event and gives the context what a request carries.
func (f *function) begin(ctx context.Context, payload []byte) (context.Context, events.APIGatewayProxyRequest, error) {
	var event events.APIGatewayProxyRequest
	if err := json.Unmarshal(payload, &event); err != nil {
		return nil, event, fmt.Errorf("payload is not an event of API Gateway: %w", err)
	}
	s := scope{requestID: requestID(ctx, event), logger: f.o.Logger}
	s.traceID = traceID(ctx, event, s.requestID)
	s.logger = s.logger.With("request_id", s.requestID, "trace_id", s.traceID)
	return context.WithValue(ctx, scopeKey{}, s), event, nil
}

func (f *function) answer(ctx context.Context, event events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
	if err := decode(&event); err != nil {
		return errorResponse(ctx, err)
	}
	response, err := f.adapter.ProxyWithContext(ctx, event)
	if err != nil {
		return errorResponse(ctx, apierr.Wrap(apierr.Invalid, "malformed request", err))
	}
	return response, nil
}

// decode checks what the adapter would fail on, and replaces the body by its bytes.
func decode(event *events.APIGatewayProxyRequest) error {
	if event.IsBase64Encoded {
		body, err := base64.StdEncoding.DecodeString(event.Body)
		if err != nil {
			return apierr.Wrap(apierr.Invalid, "malformed body encoding", err)
		}
		event.Body, event.IsBase64Encoded = string(body), false
	}
	path, err := url.PathUnescape(event.Path)
	if err != nil || !utf8.ValidString(path) || strings.ContainsAny(event.Path, "?#") {
		return apierr.Wrap(apierr.Invalid, "malformed path", err)
	}
	if !strings.HasPrefix(event.Path, "/") {
		event.Path = "/" + event.Path
	}
	if _, err := http.NewRequest(event.HTTPMethod, "https://"+event.RequestContext.DomainName+event.Path, nil); err != nil {
		return apierr.Wrap(apierr.Invalid, "malformed request", err)
	}
	return nil
}

// errorResponse is the answer to a request that never reached the handler.
func errorResponse(ctx context.Context, err error) (events.APIGatewayProxyResponse, error) {
	w := core.NewProxyResponseWriter()
	apierr.Write(w, err, RequestID(ctx))
	return w.GetProxyResponse()
}

// encode is the response as Lambda sends it. Text travels as a JSON string, in which quotes and control characters
// grow; where only base64 fits, base64 is used.
func (f *function) encode(ctx context.Context, response events.APIGatewayProxyResponse) ([]byte, int, error) {
	encoded, err := marshal(response)
	if err == nil && len(encoded) > f.o.MaxResponse && !response.IsBase64Encoded {
		response.Body, response.IsBase64Encoded = base64.StdEncoding.EncodeToString([]byte(response.Body)), true
		encoded, err = marshal(response)
	}
	if err == nil && len(encoded) > f.o.MaxResponse {
		Logger(ctx).LogAttrs(ctx, slog.LevelError, "response too large",
			slog.Int("bytes", len(encoded)), slog.Int("max_bytes", f.o.MaxResponse))
		if response, err = errorResponse(ctx, apierr.New(apierr.Internal, "internal_error")); err == nil {
			encoded, err = marshal(response)
		}
	}
	return encoded, response.StatusCode, err
}

func marshal(response events.APIGatewayProxyResponse) ([]byte, error) {
	b, err := plainjson.Marshal(response)
	if err != nil {
		return nil, fmt.Errorf("encode response: %w", err)
	}
	return b, nil
}

// record writes the access line and the metrics of one request.
func (f *function) record(ctx context.Context, event events.APIGatewayProxyRequest, status int, took time.Duration, more ...slog.Attr) {
	route := event.Resource
	if route == "" {
		route = "unknown"
	}
	level := slog.LevelInfo
	if status >= http.StatusInternalServerError {
		level = slog.LevelError
	}
	attrs := append([]slog.Attr{
		slog.String("method", event.HTTPMethod), slog.String("route", route), slog.Int("status", status),
		slog.Float64("duration_ms", float64(took.Microseconds())/1000),
	}, more...)
	Logger(ctx).LogAttrs(ctx, level, "request", attrs...)
	if f.o.Metrics != nil {
		f.o.Metrics.Count("http_requests", 1, "route", route, "status", strconv.Itoa(status/100)+"xx")
		f.o.Metrics.Duration("http_duration", took, "route", route)
	}
}

func requestID(ctx context.Context, event events.APIGatewayProxyRequest) string {
	if id := event.RequestContext.RequestID; id != "" {
		return id
	}
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		return lc.AwsRequestID
	}
	return ""
}

var xrayRoot = regexp.MustCompile(`(?:^|;)Root=(1-[0-9a-f]{8}-[0-9a-f]{24})(?:;|$)`)

// traceID prefers what Lambda says over the header, which a caller may have sent.
func traceID(ctx context.Context, event events.APIGatewayProxyRequest, fallback string) string {
	fromLambda, _ := ctx.Value("x-amzn-trace-id").(string)
	candidates := []string{fromLambda}
	for name, values := range event.MultiValueHeaders {
		if strings.EqualFold(name, "X-Amzn-Trace-Id") {
			candidates = append(candidates, values...)
		}
	}
	for _, c := range candidates {
		if m := xrayRoot.FindStringSubmatch(c); m != nil {
			return m[1]
		}
	}
	return fallback
}
