package invoke

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/google/uuid"

	"bailing/shared/clock"
	"bailing/shared/lambdahttp"
)

// What becomes of an invocation beside an answer. [ErrEventTooLarge] comes before the handler runs; the others, and the
// handler's own error, are what AWS calls a function error.
var (
	ErrEventTooLarge    = errors.New("event larger than a Lambda invocation takes")
	ErrResponseTooLarge = errors.New("response larger than a Lambda invocation returns")
	ErrTimeout          = errors.New("function timed out")
	ErrPanic            = errors.New("function panicked")
)

// Function is one deployed function. Its methods are safe for concurrent use.
type Function struct {
	Name    string
	Handler lambda.Handler
	Timeout time.Duration // what the context's deadline says; positive
	Clock   clock.Clock
	NewID   func() string // ids of invocations; nil means random UUIDs
}

// ARN is the name that the context and event sources use for the function.
func (f Function) ARN() string {
	return "arn:aws:lambda:" + Region + ":" + Account + ":function:" + f.Name
}

// The identity of the local stack in names of resources.
const (
	Region  = "us-east-1"
	Account = "000000000000"
)

// Invoke runs the handler once and waits for it. The context that the handler sees ends with ctx, and with the
// deadline on the function's clock.
func (f Function) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	timed, stop, err := f.begin(ctx, payload)
	if err != nil {
		return nil, err
	}
	defer stop()
	out, err := call(timed, f.Handler, payload)
	switch {
	case errors.Is(timed.Err(), context.DeadlineExceeded):
		return nil, f.timedOut()
	case err != nil:
		return nil, fmt.Errorf("%s: %w", f.Name, err)
	case len(out) > lambdahttp.ResponseMax:
		return nil, fmt.Errorf("%s: %w: %d bytes", f.Name, ErrResponseTooLarge, len(out))
	}
	return out, nil
}

// begin checks the event and makes the context of one invocation; stop must be called.
func (f Function) begin(ctx context.Context, payload []byte) (timed context.Context, stop func(), err error) {
	if len(payload) > lambdahttp.EventMax {
		return nil, nil, fmt.Errorf("%s: %w: %d bytes", f.Name, ErrEventTooLarge, len(payload))
	}
	newID := f.NewID
	if newID == nil {
		newID = uuid.NewString
	}
	ctx = lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{AwsRequestID: newID(), InvokedFunctionArn: f.ARN()})
	timed, stop = WithTimeout(ctx, f.Clock, f.Timeout)
	return timed, stop, nil
}

func (f Function) timedOut() error {
	return fmt.Errorf("%s: %w after %s", f.Name, ErrTimeout, f.Timeout)
}

func call(ctx context.Context, h lambda.Handler, payload []byte) (out []byte, err error) {
	defer func() {
		if v := recover(); v != nil {
			out, err = nil, fmt.Errorf("%w: %v\n%s", ErrPanic, v, debug.Stack())
		}
	}()
	return h.Invoke(ctx, payload)
}
