package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"time"

	"bailing/shared/clock"
)

const (
	// DefaultTimeout applies to a [Request] that names none.
	DefaultTimeout = 30 * time.Second
	// DefaultMaxResponse applies to a [Request] that names none: 1 MiB, as for tools (decision D13).
	DefaultMaxResponse = 1 << 20
	// MaxResponseHeader bounds the head of an answer, in bytes; a larger one is an error in [PhaseHeaders].
	MaxResponseHeader = 64 << 10

	dialTimeout      = 5 * time.Second // per address
	handshakeTimeout = 10 * time.Second
	idleTimeout      = 30 * time.Second
	maxIdle          = 64
	maxIdlePerHost   = 8
)

// Options configure a [Client]. All fields may be left out.
type Options struct {
	Policy    Policy         // what is permitted beyond public addresses
	Resolver  Resolver       // default: the system's
	Dialer    DialFunc       // default: TCP, 5 s per address
	RootCAs   *x509.CertPool // default: the system's
	Clock     clock.Clock    // default: the system's; measures time limits
	Logger    *slog.Logger   // default: none; told about blocked requests
	UserAgent string         // default: "bailing"
}

// Client sends guarded requests. It is safe for concurrent use.
type Client struct {
	policy    Policy
	resolver  Resolver
	dial      DialFunc
	clock     clock.Clock
	log       *slog.Logger
	userAgent string
	pooled    *http.Transport // keeps idle connections
	single    *http.Transport // a connection per request, never reused
}

// New returns a client that obeys o.
func New(o Options) *Client {
	c := &Client{policy: o.Policy, resolver: o.Resolver, dial: o.Dialer, clock: o.Clock, log: o.Logger, userAgent: o.UserAgent}
	if c.resolver == nil {
		c.resolver = net.DefaultResolver
	}
	if c.dial == nil {
		c.dial = (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	if c.clock == nil {
		c.clock = clock.System()
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	if c.userAgent == "" {
		c.userAgent = "bailing"
	}
	c.pooled = c.transport(o.RootCAs, false)
	c.single = c.transport(o.RootCAs, true)
	return c
}

// transport is HTTP/1.1 only: HTTP/2 repeats requests on its own when a peer refuses a stream.
func (c *Client) transport(roots *x509.CertPool, single bool) *http.Transport {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &http.Transport{
		Proxy:                  nil,
		DialContext:            c.dialChecked,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
		TLSHandshakeTimeout:    handshakeTimeout,
		DisableCompression:     true,
		DisableKeepAlives:      single,
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    maxIdlePerHost,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: MaxResponseHeader,
		Protocols:              &protocols,
	}
}

// CloseIdle closes the connections that wait for reuse.
func (c *Client) CloseIdle() {
	c.pooled.CloseIdleConnections()
	c.single.CloseIdleConnections()
}

// Request is one HTTP request. Its URL's path and query are sent byte for byte.
type Request struct {
	Method string
	URL    string
	// Header is sent as given, with User-Agent added when absent and Accept-Encoding always "identity". Fields that
	// steer the connection (Host, Content-Length, Connection, Expect, …) are refused.
	Header http.Header
	Body   []byte
	// Timeout covers everything from name resolution to the last byte of the body. 0: [DefaultTimeout].
	Timeout time.Duration
	// MaxResponse is how many bytes of the body are kept. 0: [DefaultMaxResponse].
	MaxResponse int64
	// OneSend gives the request a fresh connection, so that it arrives at most once. Set it for everything that
	// may act at the far end.
	OneSend bool
}

// Response is an answer whose status, header and body (up to the limit) arrived. Redirects are answers too.
type Response struct {
	Status    int
	Header    http.Header
	Body      []byte
	Truncated bool // the body went on after MaxResponse bytes, or did not end cleanly after them; the rest is dropped
	Duration  time.Duration
}

// Do sends r once and reads the answer. Every error is an [*Error]; one caused by ctx also matches
// [context.Canceled] or [context.DeadlineExceeded], one caused by r.Timeout matches the latter.
func (c *Client) Do(ctx context.Context, r Request) (*Response, error) {
	start := c.clock.Now()
	t, req, err := c.build(&r)
	if err != nil {
		e := &Error{Phase: PhaseRequest, cause: err}
		if t != nil {
			e.Host = t.hostPort()
		}
		return nil, e
	}

	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel(nil)
	limit := c.clock.After(r.Timeout)
	watch.Go(func() {
		select {
		case <-limit:
			cancel(errTimeout)
		case <-ctx.Done():
		}
	})

	a := &attempt{ctx: ctx, target: t, phase: PhaseRequest}
	transport := c.pooled
	if r.OneSend {
		transport = c.single
	}
	res, err := transport.RoundTrip(req.WithContext(a.traced(ctx)))
	if err != nil {
		return nil, a.fail(err)
	}
	defer res.Body.Close()
	if res.StatusCode == http.StatusSwitchingProtocols {
		return nil, a.fail(errSwitched)
	}
	a.reach(PhaseBody)
	body, truncated, err := readBody(res, r.MaxResponse)
	if err != nil {
		e := a.fail(err)
		e.Status, e.Header, e.Body = res.StatusCode, res.Header, body
		return nil, e
	}
	return &Response{
		Status: res.StatusCode, Header: res.Header, Body: body, Truncated: truncated, Duration: c.clock.Now().Sub(start),
	}, nil
}

// readBody keeps the first max bytes. Only a failure within them is an error: what follows is dropped anyway, with
// the connection, when the caller closes the body.
func readBody(res *http.Response, max int64) (kept []byte, truncated bool, err error) {
	kept, err = io.ReadAll(io.LimitReader(res.Body, max))
	if err != nil || int64(len(kept)) < max {
		return kept, false, err
	}
	if res.ContentLength > max {
		return kept, true, nil
	}
	// Reading the end, when it is there, is also what lets the connection be reused.
	var next [1]byte
	for {
		n, err := res.Body.Read(next[:])
		if n > 0 || err != nil {
			return kept, n > 0 || !errors.Is(err, io.EOF), nil
		}
	}
}

// traced returns ctx with the attempt in it, for the dialer, and the transport's reports bound to the attempt.
func (a *attempt) traced(ctx context.Context) context.Context {
	ctx = context.WithValue(ctx, attemptKey{}, a)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		TLSHandshakeStart: func() { a.reach(PhaseTLS) },
		GotConn:           func(httptrace.GotConnInfo) { a.send() },
		WroteRequest: func(info httptrace.WroteRequestInfo) {
			if info.Err == nil {
				a.reach(PhaseHeaders)
			}
		},
	})
}

// fail turns err into the attempt's final word. An error of the dialer knows its phase better than the trace.
func (a *attempt) fail(err error) *Error {
	e := &Error{Host: a.target.hostPort(), cause: err}
	e.Phase, e.Connected, e.Sent = a.state()
	var inner *Error
	if errors.As(err, &inner) {
		e.Phase, e.Class, e.cause = inner.Phase, inner.Class, inner.cause
		if e.Phase == PhaseBlocked {
			return e
		}
	}
	if ended := context.Cause(a.ctx); ended != nil {
		e.cause = ended
	}
	e.Timeout = isTimeout(e.cause)
	return e
}
