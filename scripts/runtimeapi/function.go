package runtimeapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/google/uuid"

	"bailing/scripts/local/invoke"
	"bailing/shared/clock"
	"bailing/shared/lambdahttp"
)

// What becomes of an invocation beside an answer, a [FunctionError], and the errors of package invoke for the platform's limits.
var (
	ErrInit   = errors.New("function does not start")
	ErrExited = errors.New("function exited")
	ErrClosed = errors.New("function is closed")
)

// FunctionError is what a program reports instead of an answer.
type FunctionError struct{ Type, Message string }

func (e *FunctionError) Error() string { return e.Type + ": " + e.Message }

// initMax is how long a program may take from its start to its first poll.
const initMax = 10 * time.Second

// Options of one function. Name, Path, Timeout and Max are required.
type Options struct {
	Name     string            // as deployed
	Path     string            // of the program; it runs in its folder
	Env      map[string]string // what the deployment sets
	Timeout  time.Duration     // of one invocation
	MemoryMB int               // what the program is told; not enforced
	Max      int               // processes at a time
	Output   io.Writer         // both outputs of all processes, one whole line a write; nil = discarded
	Clock    clock.Clock       // nil = the machine's
}

// Function is one deployed function. It is safe for concurrent use.
type Function struct {
	o      Options
	output *sharedOutput
	slots  chan struct{} // one per process that works or starts

	mu     sync.Mutex
	closed bool
	idle   []*process // the one used last is last
	all    map[*process]struct{}
}

var (
	_ lambda.Handler           = (*Function)(nil)
	_ lambdahttp.StreamHandler = (*Function)(nil)
	_ io.Closer                = (*Function)(nil)
)

// New is a function without processes yet.
func New(o Options) (*Function, error) {
	switch {
	case o.Name == "" || o.Path == "":
		return nil, errors.New("runtimeapi: a function needs a name and a program")
	case o.Timeout <= 0 || o.Max < 1:
		return nil, fmt.Errorf("runtimeapi: function %s: timeout %s and %d processes must be positive", o.Name, o.Timeout, o.Max)
	}
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	if o.Output == nil {
		o.Output = io.Discard
	}
	return &Function{
		o: o, output: &sharedOutput{w: o.Output}, slots: make(chan struct{}, o.Max), all: map[*process]struct{}{},
	}, nil
}

// Warm makes sure that a process is idle. It returns how long the one that it started took from its start to its first
// poll, 0 when one was idle already.
func (f *Function) Warm(ctx context.Context) (time.Duration, error) {
	p, started, err := f.acquire(ctx)
	if err != nil {
		return 0, err
	}
	defer f.release(p)
	if !started {
		return 0, nil
	}
	return p.startup(), nil
}

// Invoke runs one invocation in a process of its own. Its id and ARN are those of ctx's Lambda context; its deadline is the
// function's, or that of ctx when it is earlier.
func (f *Function) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	return f.invoke(ctx, payload, nil)
}

func (f *Function) invoke(ctx context.Context, payload []byte, stream io.Writer) ([]byte, error) {
	if len(payload) > lambdahttp.EventMax {
		return nil, fmt.Errorf("%w: %d bytes", invoke.ErrEventTooLarge, len(payload))
	}
	p, _, err := f.acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer f.release(p)
	ctx, stop := invoke.WithTimeout(ctx, f.o.Clock, f.o.Timeout)
	defer stop()
	return p.invoke(ctx, f.invocation(ctx, payload, stream))
}

func (f *Function) invocation(ctx context.Context, payload []byte, stream io.Writer) *invocation {
	deadline, _ := ctx.Deadline() // WithTimeout's contexts have one
	inv := &invocation{event: payload, deadline: deadline, over: make(chan struct{}), stream: stream}
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		inv.id, inv.arn = lc.AwsRequestID, lc.InvokedFunctionArn
	}
	if inv.id == "" {
		inv.id = uuid.NewString()
	}
	if inv.arn == "" {
		inv.arn = invoke.Function{Name: f.o.Name}.ARN()
	}
	return inv
}

// acquire returns a process that polls, an idle one if possible; started is true for a new one. The caller must release it.
func (f *Function) acquire(ctx context.Context) (p *process, started bool, err error) {
	select {
	case f.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, false, ctx.Err()
	}
	defer func() {
		if err != nil {
			f.release(p)
		}
	}()
	if p, started, err = f.take(); err != nil || !started {
		return p, started, err
	}
	return p, true, p.awaitPoll(ctx)
}

// take removes an idle process, or launches one.
func (f *Function) take() (p *process, launched bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, false, ErrClosed
	}
	for n := len(f.idle); n > 0; n = len(f.idle) {
		p, f.idle = f.idle[n-1], f.idle[:n-1]
		if p.alive() {
			return p, false, nil
		}
		delete(f.all, p)
	}
	if p, err = launch(f.o, f.output); err != nil {
		return nil, true, fmt.Errorf("%w: %w", ErrInit, err)
	}
	f.all[p] = struct{}{}
	return p, true, nil
}

// release gives a process back, and its slot. p may be nil, or have ended.
func (f *Function) release(p *process) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case p == nil:
	case p.alive():
		f.idle = append(f.idle, p)
	default:
		delete(f.all, p)
	}
	<-f.slots
}

// Close kills all processes and waits until they are gone. Running invocations fail. Calling it twice is fine.
func (f *Function) Close() error {
	f.mu.Lock()
	f.closed = true
	running := f.all
	f.all, f.idle = map[*process]struct{}{}, nil
	f.mu.Unlock()
	for p := range running {
		p.kill()
	}
	for p := range running {
		<-p.gone
	}
	return nil
}
