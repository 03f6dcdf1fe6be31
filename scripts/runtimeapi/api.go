package runtimeapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"bailing/scripts/local/invoke"
	"bailing/shared/lambdahttp"
)

// Headers and trailers of the Runtime API.
const (
	headerRequestID = "Lambda-Runtime-Aws-Request-Id"
	headerDeadline  = "Lambda-Runtime-Deadline-Ms"
	headerARN       = "Lambda-Runtime-Invoked-Function-Arn"
	headerTrace     = "Lambda-Runtime-Trace-Id"
	headerErrorType = "Lambda-Runtime-Function-Error-Type"
	headerErrorBody = "Lambda-Runtime-Function-Error-Body" // base64 of the error as JSON
	headerMode      = "Lambda-Runtime-Function-Response-Mode"
)

const base = "/2018-06-01/runtime/"

// api is the Runtime API of one process.
func (p *process) api() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+base+"invocation/next", p.next)
	mux.HandleFunc("POST "+base+"invocation/{id}/response", p.respond)
	mux.HandleFunc("POST "+base+"invocation/{id}/error", p.fail)
	mux.HandleFunc("POST "+base+"init/error", p.failInit)
	return mux
}

// next answers with an event as soon as there is one. Until then the process stands still.
func (p *process) next(w http.ResponseWriter, r *http.Request) {
	if !p.poll() {
		refuse(w, http.StatusForbidden, "InvalidStateTransition", "the process may not poll now")
		return
	}
	select {
	case inv := <-p.work:
		h := w.Header()
		h.Set(headerRequestID, inv.id)
		h.Set(headerDeadline, strconv.FormatInt(inv.deadline.UnixMilli(), 10))
		h.Set(headerARN, inv.arn)
		h.Set(headerTrace, p.trace(inv.id))
		h.Set("Content-Type", "application/json")
		h.Set("Content-Length", strconv.Itoa(len(inv.event)))
		_, _ = w.Write(inv.event) // a process that went away is seen as its end
	case <-r.Context().Done():
		p.kill() // it closed its poll: no event can reach it any more
	}
}

// poll notes that the process asks for work, which ends what it did before, and freezes it.
func (p *process) poll() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch p.state {
	case starting:
		p.took = p.clock.Now().Sub(p.began)
		defer close(p.polled)
	case answered:
		defer close(p.current.over)
	default:
		return false
	}
	p.state = polling
	freeze(p.cmd.Process)
	return true
}

// trace is an X-Ray header, not sampled.
func (p *process) trace(id string) string {
	sum := sha256.Sum256([]byte(id))
	return fmt.Sprintf("Root=1-%08x-%s;Parent=%s;Sampled=0", uint32(p.clock.Now().Unix()), hex.EncodeToString(sum[:12]), hex.EncodeToString(sum[12:20]))
}

// respond takes the answer of the running invocation. A program may name the mode of its answer; what is invoked for a stream is passed on
// as it comes in either case.
func (p *process) respond(w http.ResponseWriter, r *http.Request) {
	if mode := r.Header.Get(headerMode); mode != "" && mode != "streaming" {
		refuse(w, http.StatusBadRequest, "InvalidFunctionResponseMode", "there is no such mode of an answer")
		return
	}
	inv, ok := p.startStream(w, r.PathValue("id"))
	if !ok {
		return
	}
	if inv != nil {
		p.passOn(w, r, inv)
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, lambdahttp.ResponseMax+1))
	if err != nil {
		refuse(w, http.StatusBadRequest, "InvalidRequest", "the response did not arrive whole")
		return
	}
	if len(body) > lambdahttp.ResponseMax {
		tooLarge := fmt.Errorf("%w: over %d bytes", invoke.ErrResponseTooLarge, lambdahttp.ResponseMax)
		if p.finish(w, r.PathValue("id"), nil, tooLarge) {
			refuse(w, http.StatusRequestEntityTooLarge, "RequestEntityTooLarge", "the response is larger than the platform returns")
		}
		return
	}
	failure := failedLate(r)
	if failure != nil {
		body = nil
	}
	if p.finish(w, r.PathValue("id"), body, failure) {
		accept(w)
	}
}

// fail takes the error of the running invocation.
func (p *process) fail(w http.ResponseWriter, r *http.Request) {
	if p.finish(w, r.PathValue("id"), nil, reported(r)) {
		accept(w)
	}
}

// finish records the first result of the invocation id, and refuses any other.
func (p *process) finish(w http.ResponseWriter, id string, response []byte, err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.mayAnswer(w, id) {
		return false
	}
	p.state, p.current.response, p.current.err = answered, response, err
	return true
}

// mayAnswer refuses an answer that is not the first one of the invocation id. The mutex must be held.
func (p *process) mayAnswer(w http.ResponseWriter, id string) bool {
	switch {
	case p.current == nil || p.current.id != id:
		refuse(w, http.StatusBadRequest, "InvalidRequestID", "there is no such invocation")
		return false
	case p.state != running:
		refuse(w, http.StatusForbidden, "InvalidStateTransition", "the invocation has its answer")
		return false
	}
	return true
}

// failInit takes the reason why the program cannot start.
func (p *process) failInit(w http.ResponseWriter, r *http.Request) {
	err := reported(r)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != starting || p.initErr != nil {
		refuse(w, http.StatusForbidden, "InvalidStateTransition", "the process has started")
		return
	}
	p.initErr = err
	accept(w)
	close(p.refused)
}

// errorMax is how much of a reported error is read, in bytes.
const errorMax = 256 << 10

// reported is the error in a request's body, or what its header says when the body says nothing.
func reported(r *http.Request) error {
	var e struct {
		Type    string `json:"errorType"`
		Message string `json:"errorMessage"`
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, errorMax))
	if err != nil || json.Unmarshal(bytes.TrimSpace(body), &e) != nil || e.Type == "" {
		e.Type = r.Header.Get(headerErrorType)
	}
	if e.Type == "" {
		e.Type = "Unknown"
	}
	return &FunctionError{Type: e.Type, Message: e.Message}
}

func accept(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	_, _ = io.WriteString(w, `{"status":"OK"}`) // a process that went away needs no answer
}

func refuse(w http.ResponseWriter, status int, kind, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"errorType": kind, "errorMessage": message}) // likewise
}
