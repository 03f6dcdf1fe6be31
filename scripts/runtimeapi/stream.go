package runtimeapi

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"bailing/scripts/local/invoke"
	"bailing/shared/lambdahttp"
)

// InvokeStream runs one invocation like [Function.Invoke] and passes its answer on to w as it comes. An error may come after a part of
// the answer. What w does with its bytes holds the program back, as a slow client does; it must end some time.
func (f *Function) InvokeStream(ctx context.Context, payload []byte, w io.Writer) error {
	_, err := f.invoke(ctx, payload, w)
	return err
}

// startStream notes that the answer of the invocation id begins, if it is a stream. ok is false when it was refused.
func (p *process) startStream(w http.ResponseWriter, id string) (inv *invocation, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.mayAnswer(w, id) {
		return nil, false
	}
	if p.current.stream == nil {
		return nil, true
	}
	p.state, p.current.passing = streaming, make(chan struct{})
	return p.current, true
}

// passOn takes a stream piece by piece. When the program ends before its stream does, the stream has no end either.
func (p *process) passOn(w http.ResponseWriter, r *http.Request, inv *invocation) {
	defer close(inv.passing)
	err := copyStream(inv.stream, r)
	var lost *lostError
	if errors.As(err, &lost) {
		refuse(w, http.StatusBadRequest, "InvalidRequest", "the response did not arrive whole")
		return
	}
	p.mu.Lock()
	p.state, inv.err = answered, err
	p.mu.Unlock()
	if errors.Is(err, invoke.ErrResponseTooLarge) {
		refuse(w, http.StatusRequestEntityTooLarge, "RequestEntityTooLarge", "the response is larger than the platform returns")
		return
	}
	accept(w)
}

// lostError says that a program stopped sending.
type lostError struct{ cause error }

func (e *lostError) Error() string { return "the response did not arrive whole: " + e.cause.Error() }

func (e *lostError) Unwrap() error { return e.cause }

// copyStream writes the body of r to w, and reads it to its end when w takes no more: the work behind it goes on.
func copyStream(w io.Writer, r *http.Request) error {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != lambdahttp.StreamType {
		return fmt.Errorf("a streamed answer has the content type %s, not %q: is the function run by lambdahttp.Start?", lambdahttp.StreamType, kind)
	}
	piece := make([]byte, 32<<10)
	left := lambdahttp.StreamMax
	for {
		n, err := r.Body.Read(piece)
		if n > left {
			return fmt.Errorf("%w: over %d bytes", invoke.ErrResponseTooLarge, lambdahttp.StreamMax)
		}
		left -= n
		if n > 0 && w != nil {
			if _, err := w.Write(piece[:n]); err != nil {
				w = nil
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return failedLate(r)
		case err != nil:
			return &lostError{err}
		}
	}
}

// failedLate is the error that a program reports behind a body that it made while it was sent, nil for none. The body must have been read.
func failedLate(r *http.Request) error {
	kind := r.Trailer.Get(headerErrorType)
	if kind == "" {
		return nil
	}
	e := &FunctionError{Type: kind, Message: "the response failed while it was sent"}
	var said struct {
		Message string `json:"errorMessage"`
	}
	body, err := base64.StdEncoding.DecodeString(r.Trailer.Get(headerErrorBody))
	if err == nil && json.Unmarshal(body, &said) == nil && said.Message != "" {
		e.Message = said.Message
	}
	return e
}
