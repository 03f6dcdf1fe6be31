package outbound

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
)

// dyingServer answers the first request of each connection and closes it on reading any further one, which is
// what a peer whose keep-alive time has just ended looks like. It counts connections and requests.
func dyingServer(t *testing.T) (url string, connections, requests *atomic.Int32) {
	connections, requests = new(atomic.Int32), new(atomic.Int32)
	url = rawServer(t, func(conn net.Conn, r *bufio.Reader) {
		connections.Add(1)
		for answered := false; ; answered = true {
			req, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			io.Copy(io.Discard, req.Body)
			requests.Add(1)
			if answered {
				return
			}
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}
	})
	return url, connections, requests
}

func TestOneSendUsesAFreshConnection(t *testing.T) {
	t.Parallel()
	url, connections, requests := dyingServer(t)
	c := localClient(t, Options{})
	for _, r := range []Request{
		{Method: "GET"}, {Method: "POST", Body: []byte("{}")}, {Method: "DELETE"},
		{Method: "POST", Body: []byte("{}"), Header: http.Header{"Idempotency-Key": {"k"}}},
	} {
		r.URL, r.OneSend = url, true
		if _, err := c.Do(context.Background(), r); err != nil {
			t.Fatal(err)
		}
	}
	if connections.Load() != 4 || requests.Load() != 4 {
		t.Errorf("%d connections, %d requests; want 4 of each", connections.Load(), requests.Load())
	}
}

// A server that reads a request and closes without answering must see it once, whatever net/http thinks of the
// method or of an idempotency key.
func TestOneSendIsNeverRepeated(t *testing.T) {
	t.Parallel()
	for _, r := range []Request{
		{Method: "GET"}, {Method: "DELETE"}, {Method: "PUT", Body: []byte("{}")}, {Method: "POST", Body: []byte("{}")},
		{Method: "POST", Header: http.Header{"Idempotency-Key": {"k"}}},
		{Method: "POST", Body: []byte("{}"), Header: http.Header{"Idempotency-Key": {"k"}, "X-Idempotency-Key": {"k"}}},
	} {
		var requests atomic.Int32
		r.OneSend = true
		r.URL = rawServer(t, func(conn net.Conn, rd *bufio.Reader) {
			if req, err := http.ReadRequest(rd); err == nil {
				io.Copy(io.Discard, req.Body)
				requests.Add(1)
			}
		})
		res, err := localClient(t, Options{}).Do(context.Background(), r)
		if e := failure(t, res, err); e.Phase != PhaseHeaders || !e.Sent {
			t.Errorf("%s: %+v, want phase headers, sent", r.Method, e)
		}
		if n := requests.Load(); n != 1 {
			t.Errorf("%s arrived %d times, want once", r.Method, n)
		}
	}
}

// The pool may hold a connection that is about to die. A request with a body that was written to it must fail
// instead of being written again.
func TestPooledRequestWithABodyIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, header := range []http.Header{nil, {"Idempotency-Key": {"k"}}} {
		url, connections, requests := dyingServer(t)
		c := localClient(t, Options{})
		r := Request{Method: "POST", URL: url, Body: []byte("{}"), Header: header}
		if _, err := c.Do(context.Background(), r); err != nil {
			t.Fatal(err)
		}
		res, err := c.Do(context.Background(), r)
		if e := failure(t, res, err); !e.Sent || !e.Connected {
			t.Errorf("error %+v, want sent", e)
		}
		if connections.Load() != 1 || requests.Load() != 2 {
			t.Errorf("%d connections, %d requests; want the second request once, on the first connection", connections.Load(), requests.Load())
		}
	}
}

func TestPoolReusesConnections(t *testing.T) {
	t.Parallel()
	var opened atomic.Int32
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "ok") })
	c := localClient(t, Options{Dialer: func(ctx context.Context, network, address string) (net.Conn, error) {
		opened.Add(1)
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}})
	do := func(limit int64) {
		if _, err := c.Do(context.Background(), Request{Method: "GET", URL: s.URL, MaxResponse: limit}); err != nil {
			t.Fatal(err)
		}
	}
	do(2)
	do(2)
	if n := opened.Load(); n != 1 {
		t.Errorf("%d connections for two requests that were read to the end, want 1", n)
	}
	do(1) // reads less than the body, so the connection goes
	do(2)
	if n := opened.Load(); n != 2 {
		t.Errorf("%d connections after a truncated body, want 2", n)
	}
	c.CloseIdle()
	do(2)
	if n := opened.Load(); n != 3 {
		t.Errorf("%d connections after CloseIdle, want 3", n)
	}
}
