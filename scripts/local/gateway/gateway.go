package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/google/uuid"

	"bailing/scripts/local/invoke"
	"bailing/shared/clock"
	"bailing/shared/lambdahttp"
	"bailing/shared/lambdahttp/routetree"
	"bailing/shared/topology"
)

// Options of [New]. The zero value has no stage prefix, the system clock, random ids and no log.
type Options struct {
	Stage  string // path prefix without slashes, as in the default URL of a deployment; "" for none
	Clock  clock.Clock
	Logger *slog.Logger
	NewID  func() string // request and invocation ids; nil means random UUIDs
}

// Gateway is an http.Handler over the functions of one topology. Call [Gateway.Shutdown] at the end.
type Gateway struct {
	o     Options
	wait  time.Duration // for a client to take a piece of a stream
	tree  routetree.Tree[target]
	ctx   context.Context // of all invocations
	abort context.CancelFunc

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

// target is what a route leads to.
type target struct {
	invoke.Function
	streaming bool
}

// New builds the gateway of t. functions holds the handlers by function name; it must have every function with routes, and may have
// others.
func New(t topology.Topology, functions map[string]lambda.Handler, o Options) (*Gateway, error) {
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.NewID == nil {
		o.NewID = uuid.NewString
	}
	g := &Gateway{o: o, wait: defaultWait}
	var errs []error
	for _, f := range t.Functions {
		if len(f.Routes) == 0 {
			continue
		}
		h := functions[f.Name]
		_, streams := h.(lambdahttp.StreamHandler)
		switch {
		case h == nil:
			errs = append(errs, fmt.Errorf("function %s has routes and no handler", f.Name))
		case f.Streaming && !streams:
			errs = append(errs, fmt.Errorf("function %s: %w", f.Name, invoke.ErrNotStreaming))
		}
		fn := target{
			Function:  invoke.Function{Name: f.Name, Handler: h, Timeout: f.Timeout, Clock: o.Clock, NewID: o.NewID},
			streaming: f.Streaming,
		}
		for _, r := range f.Routes {
			if err := g.tree.Add(r.Method, r.Path, fn); err != nil {
				errs = append(errs, fmt.Errorf("function %s: %w", f.Name, err))
			}
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	g.ctx, g.abort = context.WithCancel(context.Background())
	return g, nil
}

// ServeHTTP answers one request.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, ok := g.withoutStage(r.URL.EscapedPath())
	if !ok {
		refuse(w, http.StatusForbidden, "Forbidden")
		return
	}
	if headerBytes(r) > lambdahttp.HeadersMax {
		refuse(w, http.StatusRequestHeaderFieldsTooLarge, "Request Header Fields Too Large")
		return
	}
	route, ok := g.tree.Match(r.Method, matchPath(path))
	if !ok {
		notFound(w)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, lambdahttp.GatewayMax+1))
	if err != nil {
		refuse(w, http.StatusBadRequest, "Bad Request") // cut short, or malformed chunks
		return
	}
	if len(body) > lambdahttp.GatewayMax {
		refuse(w, http.StatusRequestEntityTooLarge, "Request Too Long")
		return
	}
	id := g.o.NewID()
	w.Header().Set("X-Amzn-Requestid", id)
	payload, err := g.event(r, id, path, route, body)
	if err != nil {
		g.o.Logger.Error("event not encoded", "request_id", id, "error", err)
		refuse(w, http.StatusInternalServerError, "Internal server error")
		return
	}
	if route.Value.streaming {
		g.stream(w, id, route.Value.Function, payload)
		return
	}
	g.serve(w, id, route.Value.Function, payload)
}

type result struct {
	payload []byte
	err     error
}

// serve invokes the function and answers with what it returns, unless the gateway's time is over first. It does not end with
// the request's context: that ends when a client merely closes its sending half, and a handler that returns without an
// answer would tell such a client 200.
func (g *Gateway) serve(w http.ResponseWriter, id string, f invoke.Function, payload []byte) {
	done := make(chan result, 1)
	timeout := g.o.Clock.After(topology.GatewayTimeout)
	if !g.start(func() {
		out, err := f.Invoke(g.ctx, payload)
		if err != nil {
			g.o.Logger.Error("function error", "function", f.Name, "request_id", id, "error", err)
		}
		done <- result{out, err}
	}) {
		refuse(w, http.StatusServiceUnavailable, "Service Unavailable")
		return
	}
	select {
	case res := <-done:
		switch {
		case errors.Is(res.err, invoke.ErrEventTooLarge):
			refuse(w, http.StatusRequestEntityTooLarge, "Request Too Long")
		case res.err != nil:
			refuse(w, http.StatusBadGateway, "Internal server error")
		default:
			if err := answer(w, res.payload); err != nil {
				g.o.Logger.Error("malformed proxy response", "function", f.Name, "request_id", id, "error", err)
				refuse(w, http.StatusBadGateway, "Internal server error")
			}
		}
	case <-timeout:
		refuse(w, http.StatusGatewayTimeout, "Endpoint request timed out")
	}
}

// start runs work in a goroutine that Shutdown waits for; false after Shutdown.
func (g *Gateway) start(work func()) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.running.Go(work)
	return true
}

// Shutdown refuses further requests and waits for running invocations. When ctx ends first it cancels their contexts
// and returns ctx's error; they then end by themselves.
func (g *Gateway) Shutdown(ctx context.Context) error {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	defer g.abort()
	idle := make(chan struct{})
	go func() {
		g.running.Wait()
		close(idle)
	}()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *Gateway) withoutStage(path string) (string, bool) {
	if g.o.Stage == "" {
		return path, true
	}
	rest, ok := strings.CutPrefix(path, "/"+g.o.Stage)
	if rest == "" {
		return "/", ok
	}
	return rest, ok && rest[0] == '/'
}

// matchPath is the path that selects the resource: a trailing slash does not count there, though the event keeps it.
func matchPath(path string) string {
	if len(path) > 1 {
		return strings.TrimSuffix(path, "/")
	}
	return path
}

// headerBytes is what the service limits: the request line and all header values.
func headerBytes(r *http.Request) int {
	n := len(r.Method) + len(r.RequestURI) + len(r.Proto) + len("  ") + len(r.Host)
	for _, values := range r.Header {
		for _, v := range values {
			n += len(v)
		}
	}
	return n
}
