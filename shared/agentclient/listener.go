package agentclient

import (
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// listener waits on 127.0.0.1 for the browser. It answers one request: the first that [judge] takes for the redirect. Everything
// else gets 404, also once that one has come.
type listener struct {
	host  string // 127.0.0.1:PORT
	state string
	got   chan outcome
	taken atomic.Bool
	srv   *http.Server
}

// listen opens the listener on a port that the system chooses.
func listen(state string) (*listener, error) {
	socket, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("no listener on this machine for the browser: %w", err)
	}
	l := &listener{host: socket.Addr().String(), state: state, got: make(chan outcome, 1)}
	l.srv = &http.Server{
		Handler: l, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second,
		MaxHeaderBytes: 32 << 10, ErrorLog: log.New(io.Discard, "", 0), // it would quote what strangers send
	}
	l.srv.SetKeepAlivesEnabled(false)
	go l.srv.Serve(socket) // ends with close
	return l, nil
}

// redirectURI is what the hub is told.
func (l *listener) redirectURI() string { return "http://" + l.host + redirectPath }

// wait returns what the browser brings, or the error of ctx. What came in time counts, whatever else has happened.
func (l *listener) wait(ctx context.Context) (outcome, error) {
	select {
	case o := <-l.got:
		return o, nil
	case <-ctx.Done():
	}
	if l.taken.Swap(true) {
		return <-l.got, nil
	}
	return outcome{}, ctx.Err()
}

// close ends the listener and every connection. The answer to the redirect is with the system by then.
func (l *listener) close() { l.srv.Close() }

func (l *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o, ok := judge(r.Method, r.Host, r.RequestURI, l.host, l.state)
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer") // the address of the page has the code
	h.Set("Cache-Control", "no-store")
	if !ok || l.taken.Swap(true) {
		h.Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, "not found\n")
		return
	}
	h.Set("Content-Type", "text/html; charset=utf-8")
	title := "Your answer has arrived"
	if o.err != nil {
		title = "No access was given"
	}
	page := fmt.Sprintf("<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>%s</title>\n<h1>%s</h1>\n"+
		"<p>Close this window, and go back to the program that asked.</p>\n</html>\n", title, title)
	h.Set("Content-Length", strconv.Itoa(len(page)))
	io.WriteString(w, page)
	http.NewResponseController(w).Flush() // whole, before anybody closes the connection
	l.got <- o
}
