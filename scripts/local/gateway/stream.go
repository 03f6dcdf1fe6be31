package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"bailing/scripts/local/invoke"
	"bailing/shared/lambdahttp"
)

// Times of a streamed answer: the service's, and how long a client may take for one piece.
const (
	streamTimeout = 15 * time.Minute
	idleTimeout   = 5 * time.Minute
	defaultWait   = 30 * time.Second
)

// pieces hands an answer from the invocation to the request, one piece at a time, until the request is over. Then it drops the rest.
type pieces struct {
	next  chan []byte
	taken chan struct{}
	over  chan struct{}
}

// Write returns when p is no longer needed. It never fails: an invocation does not learn that its client has left.
func (s *pieces) Write(p []byte) (int, error) {
	select {
	case s.next <- p:
		select {
		case <-s.taken:
		case <-s.over:
		}
	case <-s.over:
	}
	return len(p), nil
}

// stream invokes a streaming function and passes its answer on as it comes. The invocation goes on when this returns early.
func (g *Gateway) stream(w http.ResponseWriter, id string, f invoke.Function, payload []byte) {
	s := &pieces{next: make(chan []byte), taken: make(chan struct{}), over: make(chan struct{})}
	defer close(s.over)
	done := make(chan error, 1)
	total, idle := g.o.Clock.After(streamTimeout), g.o.Clock.After(idleTimeout)
	if !g.start(func() {
		err := f.InvokeStream(g.ctx, payload, s)
		if err != nil {
			g.o.Logger.Error("function error", "function", f.Name, "request_id", id, "error", err)
		}
		done <- err
	}) {
		refuse(w, http.StatusServiceUnavailable, "Service Unavailable")
		return
	}
	out := &streamed{w: w, control: http.NewResponseController(w), wait: g.wait}
	for {
		select {
		case p := <-s.next:
			if err := out.write(p); err != nil {
				g.o.Logger.Warn("stream ended early", "function", f.Name, "request_id", id, "error", err)
				out.fail(http.StatusBadGateway, "Internal server error")
				return
			}
			idle = g.o.Clock.After(idleTimeout)
			s.taken <- struct{}{}
		case err := <-done:
			switch {
			case err == nil && out.sent:
			case errors.Is(err, invoke.ErrEventTooLarge):
				out.fail(http.StatusRequestEntityTooLarge, "Request Too Long")
			default:
				out.fail(http.StatusBadGateway, "Internal server error")
			}
			return
		case <-idle:
			out.fail(http.StatusGatewayTimeout, "Endpoint request timed out")
			return
		case <-total:
			out.fail(http.StatusGatewayTimeout, "Endpoint request timed out")
			return
		}
	}
}

// streamed is the answer to one client.
type streamed struct {
	w       http.ResponseWriter
	control *http.ResponseController
	wait    time.Duration
	head    []byte // until it is whole
	sent    bool   // the head
}

// delimiter stands between head and body.
var delimiter = make([]byte, 8)

func (o *streamed) write(p []byte) error {
	if o.sent {
		return o.send(p)
	}
	o.head = append(o.head, p...)
	end := bytes.Index(o.head, delimiter)
	if end < 0 && len(o.head) < lambdahttp.PreludeMax {
		return nil
	}
	if end < 0 || end+len(delimiter) > lambdahttp.PreludeMax {
		return fmt.Errorf("no head within %d bytes", lambdahttp.PreludeMax)
	}
	var head struct {
		StatusCode        int
		Headers           map[string]string
		MultiValueHeaders map[string][]string
		Cookies           []string
	}
	if err := json.Unmarshal(o.head[:end], &head); err != nil {
		return fmt.Errorf("head of the answer: %w", err)
	}
	if head.StatusCode < 200 || head.StatusCode > 599 {
		return fmt.Errorf("status code %d", head.StatusCode)
	}
	for _, c := range head.Cookies {
		if head.MultiValueHeaders == nil {
			head.MultiValueHeaders = map[string][]string{}
		}
		head.MultiValueHeaders["Set-Cookie"] = append(head.MultiValueHeaders["Set-Cookie"], c)
	}
	body := o.head[end+len(delimiter):]
	o.head, o.sent = nil, true
	o.limitTime()
	writeHead(o.w, head.StatusCode, head.Headers, head.MultiValueHeaders)
	return o.send(body)
}

// send passes a piece on, and returns an error when the client is gone or does not take it.
func (o *streamed) send(p []byte) error {
	o.limitTime()
	if _, err := o.w.Write(p); err != nil && !errors.Is(err, http.ErrBodyNotAllowed) {
		return err
	}
	if err := o.control.Flush(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}

// limitTime bounds the next write. The limit of the last one also covers what the server sends after it, and ends with the request.
func (o *streamed) limitTime() {
	_ = o.control.SetWriteDeadline(time.Now().Add(o.wait)) // a recorder in a test has no deadlines
}

// fail answers in the gateway's own voice, or cuts an answer that has begun.
func (o *streamed) fail(status int, message string) {
	if o.sent {
		panic(http.ErrAbortHandler)
	}
	refuse(o.w, status, message)
}
