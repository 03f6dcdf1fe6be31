package lambdahttp

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"bailing/shared/apierr"
	"bailing/shared/clock"
)

// Times of a streamed answer (architecture §3).
const (
	// Heartbeat is both how long an answer may take before it is committed, and the pause between two bytes of white space.
	Heartbeat = 15 * time.Second
	// SendMargin is how much earlier than the invocation the context of its endpoint ends: the time to send what came of the work.
	SendMargin = 5 * time.Second
)

// whiteSpace is the byte that is sent while a client waits: a line feed, which JSON allows before a document and which whatever
// passes answers on by lines does not keep back.
const whiteSpace = '\n'

// Limits of the platform for a streamed answer, in bytes.
const (
	StreamMax  = 209_715_200 // prelude and body together
	PreludeMax = 16_384      // within which the prelude and the zero bytes behind it end
)

// StreamType is the content type of a streamed answer between function and gateway.
const StreamType = "application/vnd.awslambda.http-integration-response"

// StreamHandler is a Lambda handler that hands out its answer as it comes: a JSON prelude with status and headers, eight zero bytes,
// and the body. Invoke returns the same bytes in one piece.
type StreamHandler interface {
	lambda.Handler
	// InvokeStream writes the answer of one invocation to w, one piece a write, and returns when the invocation is over. It does so
	// also when w fails: then the rest of the answer is lost, the work is not.
	InvokeStream(ctx context.Context, payload []byte, w io.Writer) error
}

// Streaming makes h a Lambda handler for a streaming function ([topology.Function.Streaming]); what [Handler] promises holds here
// too. [Options.MaxResponse] bounds the body. A bootstrap runs it with [Start]. See the package documentation for what happens
// when.
func Streaming(h http.Handler, o Options) StreamHandler {
	return &streaming{function: Handler(h, o).(*function)}
}

// Start serves the invocations of one function, and does not return. lambda.Start streams only what a plain function returns; what
// has an Invoke method it asks for one piece.
func Start(h lambda.Handler) {
	if s, ok := h.(*streaming); ok {
		lambda.Start(s.respond)
	}
	lambda.Start(h)
}

type streaming struct{ *function }

// Invoke returns the whole stream at once.
func (f *streaming) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	var whole bytes.Buffer
	err := f.InvokeStream(ctx, payload, &whole)
	return whole.Bytes(), err
}

// InvokeStream implements [StreamHandler].
func (f *streaming) InvokeStream(ctx context.Context, payload []byte, w io.Writer) error {
	response, err := f.respond(ctx, payload)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, response)
	_ = response.Close() // waits for the work when w failed
	return err
}

// respond starts the work of one event and returns when the status of its answer is known. Its error means that the payload is no
// event of API Gateway.
func (f *streaming) respond(ctx context.Context, payload json.RawMessage) (*events.APIGatewayProxyStreamingResponse, error) {
	start := f.o.Clock.Now()
	ctx, event, err := f.begin(ctx, payload)
	if err != nil {
		return nil, err
	}
	c := &call{passed: make(chan struct{}), done: make(chan struct{})}
	due := f.o.Clock.After(Heartbeat)
	go f.work(ctx, c, event, start)
	select {
	case <-c.done:
	case <-c.passed:
		select {
		case <-c.done:
		case <-due:
		}
	}
	if !c.commit() {
		<-c.done
		return c.answer.stream(), nil
	}
	return &events.APIGatewayProxyStreamingResponse{
		StatusCode: http.StatusOK,
		MultiValueHeaders: map[string][]string{
			"Content-Type": {"application/json; charset=utf-8"}, "Cache-Control": {"no-store"},
		},
		Body: newCommitted(ctx, f.o.Clock, c),
	}, nil
}

// work runs the endpoint. The access line is written before the answer can end, and with it the invocation.
func (f *streaming) work(ctx context.Context, c *call, event events.APIGatewayProxyRequest, start time.Time) {
	// What an endpoint that ends its goroutine leaves behind.
	c.answer = failed(ctx, apierr.New(apierr.Internal, "internal_error"))
	defer func() {
		if v := recover(); v != nil {
			logPanic(ctx, v)
			c.answer = failed(ctx, apierr.Wrap(apierr.Internal, "internal_error", fmt.Errorf("panic: %v", v)))
		}
		sent, late := c.answer.status, c.finish()
		if late {
			sent = http.StatusOK
		}
		f.record(ctx, event, sent, f.o.Clock.Now().Sub(start), slog.Bool("committed", late), slog.Int("answer_status", c.answer.status))
		close(c.done)
	}()
	if deadline, ok := ctx.Deadline(); ok {
		var stop func()
		ctx, stop = clock.WithTimeout(ctx, f.o.Clock, deadline.Sub(f.o.Clock.Now())-SendMargin)
		defer stop()
	}
	response, err := f.function.answer(context.WithValue(ctx, callKey{}, c), event)
	if err == nil {
		var a answer
		if a, err = read(response); err == nil {
			c.answer = a
			return
		}
	}
	c.answer = failed(ctx, apierr.Wrap(apierr.Internal, "internal_error", err))
}

// answer is what an endpoint answered.
type answer struct {
	status int
	header map[string][]string
	body   []byte
}

func (a answer) stream() *events.APIGatewayProxyStreamingResponse {
	return &events.APIGatewayProxyStreamingResponse{StatusCode: a.status, MultiValueHeaders: a.header, Body: bytes.NewReader(a.body)}
}

func read(r events.APIGatewayProxyResponse) (answer, error) {
	a := answer{status: r.StatusCode, header: r.MultiValueHeaders, body: []byte(r.Body)}
	if r.IsBase64Encoded {
		var err error
		if a.body, err = base64.StdEncoding.DecodeString(r.Body); err != nil {
			return answer{}, fmt.Errorf("body of the answer: %w", err)
		}
	}
	return a, nil
}

// failed is err as an answer.
func failed(ctx context.Context, err error) answer {
	r, encodeErr := errorResponse(ctx, err)
	a, readErr := read(r)
	if encodeErr != nil || readErr != nil {
		return answer{status: http.StatusInternalServerError, body: []byte(`{"error":"internal_error"}`)}
	}
	return a
}
