package sim

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"time"
)

// manner is how a server answers.
type manner struct {
	status   int
	header   http.Header
	body     string
	half     bool          // the connection ends in the middle of the body
	reset    bool          // the connection ends without an answer
	wait     time.Duration // before the answer begins
	complete func()        // runs when the whole answer was taken
}

// server is somebody whom the product calls. act is called once for each request that arrived completely, and decides what
// happens; it runs in the schedule.
type server struct {
	name string
	// seen runs when a request has arrived, before anything else happens.
	seen func(by *invocation, r *http.Request, body []byte)
	act  func(by *invocation, r *http.Request, body []byte) manner
}

// network connects the product with its servers, in memory. Addresses are those that the product dials.
type network struct {
	w       *world
	servers map[string]*server
}

// connect opens a connection for one request.
func (n *network) connect(by *invocation, address string) (net.Conn, error) {
	s := n.servers[address]
	if s == nil {
		n.w.dialledNobody(address)
		return nil, errors.New("connection refused")
	}
	peer, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, err
	}
	near, far := net.Pipe()
	go n.serve(s, by, far)
	return conn{near, net.TCPAddrFromAddrPort(peer)}, nil
}

// conn is one end of a connection, with the address of the other one.
type conn struct {
	net.Conn
	remote net.Addr
}

func (c conn) RemoteAddr() net.Addr { return c.remote }

// patience is how long a server waits for somebody who does not read on.
const patience = 20 * time.Minute

// serve answers the one request of a connection.
func (n *network) serve(s *server, by *invocation, c net.Conn) {
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(patience))
	r, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	var m manner
	st := &step{
		kind: toServe, key: fmt.Sprintf("%s gets %s %s", s.name, r.Method, r.RequestURI), by: by,
		choice: func() { m = s.act(by, r, body) },
	}
	if s.seen != nil {
		st.arrived = func() { s.seen(by, r, body) }
	}
	// What has arrived is acted upon, whoever left meanwhile.
	if _, err := n.w.park(context.Background(), st); err != nil {
		return
	}
	select {
	case <-time.After(m.wait):
	case <-n.w.over:
		return
	}
	if m.reset {
		return
	}
	if n.answer(c, m) && m.complete != nil {
		m.complete()
	}
}

func (n *network) answer(c net.Conn, m manner) bool {
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/1.1 %d %s\r\nContent-Length: %d\r\nConnection: close\r\n", m.status, http.StatusText(m.status), len(m.body))
	if m.header.Get("Content-Type") == "" {
		b.WriteString("Content-Type: application/json\r\n")
	}
	_ = m.header.Write(&b)
	b.WriteString("\r\n")
	if m.half {
		b.WriteString(m.body[:len(m.body)/2])
	} else {
		b.WriteString(m.body)
	}
	_, err := io.WriteString(c, b.String())
	return err == nil
}
