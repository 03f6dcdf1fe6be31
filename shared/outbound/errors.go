package outbound

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
)

// Phase is the step at which an attempt ended.
type Phase string

const (
	PhaseRequest Phase = "request" // the request itself is not acceptable; nothing was tried
	PhaseResolve Phase = "resolve"
	PhaseBlocked Phase = "blocked" // an address is not permitted; nothing was written to it
	PhaseDial    Phase = "dial"
	PhaseTLS     Phase = "tls"
	PhaseWrite   Phase = "write"
	PhaseHeaders Phase = "headers" // the request was written; no complete answer head came
	PhaseBody    Phase = "body"    // the answer's head came; its body ended early
)

// Error is every failure of [Client.Do].
type Error struct {
	Phase     Phase
	Timeout   bool   // time ran out: the request's own limit, the context's deadline, or the network's
	Connected bool   // a connection to the peer was made
	Sent      bool   // a byte of the request may have left; TLS handshakes do not count
	Host      string // host:port; empty when the URL is unusable
	Class     Class  // what a blocked address is

	// What had arrived when the body failed; zero in other phases.
	Status int
	Header http.Header
	Body   []byte

	cause error
}

// Error names phase, host and reason. It holds no path, header or body, so it may be logged.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("outbound: " + string(e.Phase))
	if e.Host != "" {
		b.WriteString(" " + e.Host)
	}
	b.WriteString(": " + e.reason())
	return b.String()
}

// Unwrap is the cause. Its text may repeat bytes of the peer; prefer [Error.Error] for logs.
func (e *Error) Unwrap() error { return e.cause }

var (
	errTimeout   = fmt.Errorf("the request's time limit passed: %w", context.DeadlineExceeded)
	errPeer      = errors.New("connected to another address than the one dialled")
	errNoAddress = errors.New("the host has no address")
	errSwitched  = errors.New("the peer switched protocols unasked")
	errBlocked   = errors.New("address not permitted")
)

func (e *Error) reason() string {
	var (
		urlErr  *URLError
		reqErr  *requestError
		dnsErr  *net.DNSError
		certErr *tls.CertificateVerificationError
		opErr   *net.OpError
	)
	switch err := e.cause; {
	case e.Timeout:
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case e.Phase == PhaseBlocked && e.Class != "":
		return fmt.Sprintf("%v (%s)", errBlocked, e.Class)
	case errors.As(err, &urlErr):
		return urlErr.Error()
	case errors.As(err, &reqErr):
		return reqErr.Error()
	case errors.As(err, &dnsErr):
		if dnsErr.IsNotFound {
			return "host not found"
		}
		return "name resolution failed"
	case errors.As(err, &certErr):
		return "certificate not accepted"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "connection reset"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "connection closed early"
	case errors.Is(err, errPeer), errors.Is(err, errNoAddress), errors.Is(err, errSwitched):
		return err.Error()
	case errors.As(err, &opErr):
		return "network error"
	case e.Phase == PhaseHeaders:
		return "no valid answer"
	default:
		return "failed"
	}
}

// requestError says which part of a [Request] is not acceptable, without repeating its value.
type requestError struct{ what string }

func (e *requestError) Error() string { return e.what }

// isTimeout reports whether err means that time ran out.
func isTimeout(err error) bool {
	var ne net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &ne) && ne.Timeout()
}
