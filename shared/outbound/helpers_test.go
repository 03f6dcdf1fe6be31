package outbound

import (
	"bufio"
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

func mustPolicy(t *testing.T, allow string) Policy {
	t.Helper()
	p, err := ParsePolicy(allow)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// localClient may talk to the servers of httptest.
func localClient(t *testing.T, o Options) *Client {
	t.Helper()
	o.Policy = mustPolicy(t, "loopback")
	c := New(o)
	t.Cleanup(c.CloseIdle)
	return c
}

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

// answers is a resolver that gives its answers in turn and repeats the last one.
type answers struct {
	mu   sync.Mutex
	list [][]string
	n    int
}

func (a *answers) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	answer := a.list[min(a.n, len(a.list)-1)]
	a.n++
	var out []netip.Addr
	for _, s := range answer {
		out = append(out, netip.MustParseAddr(s))
	}
	return out, nil
}

func (a *answers) asked() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.n
}

// network is a dialer whose addresses all lead to one local server, except those that refuse.
type network struct {
	server string          // host:port of the real listener
	refuse map[string]bool // "ip:port"
	peer   string          // when set, the remote address that every connection claims

	mu     sync.Mutex
	dialed []string
}

func (n *network) dial(ctx context.Context, _, address string) (net.Conn, error) {
	n.mu.Lock()
	n.dialed = append(n.dialed, address)
	n.mu.Unlock()
	if n.refuse[address] {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", n.server)
	if err != nil {
		return nil, err
	}
	peer := address
	if n.peer != "" {
		peer = n.peer
	}
	return &claimedConn{Conn: conn, remote: net.TCPAddrFromAddrPort(netip.MustParseAddrPort(peer))}, nil
}

func (n *network) dials() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]string(nil), n.dialed...)
}

type claimedConn struct {
	net.Conn
	remote net.Addr
}

func (c *claimedConn) RemoteAddr() net.Addr { return c.remote }

// rawServer runs handle on every accepted connection, with a reader that has the request still in it.
func rawServer(t *testing.T, handle func(conn net.Conn, r *bufio.Reader)) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	t.Cleanup(func() { l.Close(); wg.Wait() })
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer conn.Close()
				handle(conn, bufio.NewReader(conn))
			})
		}
	})
	return "http://" + l.Addr().String()
}

// replying is a connection handler that reads one request and writes text.
func replying(text string) func(net.Conn, *bufio.Reader) {
	return func(conn net.Conn, r *bufio.Reader) {
		if _, err := http.ReadRequest(r); err == nil {
			conn.Write([]byte(text))
		}
	}
}

func failure(t *testing.T, res *Response, err error) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("got response %+v, error %v; want an *Error", res, err)
	}
	return e
}

// stuckResolver answers only when its context ends.
type stuckResolver struct{ asked func() }

func (s stuckResolver) LookupNetIP(ctx context.Context, _, _ string) ([]netip.Addr, error) {
	s.asked()
	<-ctx.Done()
	return nil, ctx.Err()
}

// readHook calls second just before the connection is read for the second time.
type readHook struct {
	net.Conn
	second func()
	reads  atomic.Int32
}

func (c *readHook) Read(p []byte) (int, error) {
	if c.reads.Add(1) == 2 {
		c.second()
	}
	return c.Conn.Read(p)
}
