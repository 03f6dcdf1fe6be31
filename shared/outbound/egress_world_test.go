package outbound

import (
	"context"
	"crypto/x509"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
)

// world is a network without an outside. Addresses of this machine are dialled for real and reach a listener that
// hears all of them; every other address leads to a stand-in for the rest of the internet. So a spelling that gets
// through is counted whichever way it went, and no test ever knocks at a real metadata service.
type world struct {
	machine  *listener
	outside  *listener
	secured  *listener // the outside, port 443
	roots    *x509.CertPool
	own      map[netip.Addr]bool // addresses of this machine's interfaces, without zones
	refusing map[string]bool     // addresses ("ip:port") where nobody listens

	mu     sync.Mutex
	dialed []string
}

// listener counts the connections that it accepts.
type listener struct {
	net.Listener
	count atomic.Int32
}

func (l *listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		l.count.Add(1)
	}
	return conn, err
}

func (l *listener) port() string {
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// listen serves h on address and counts.
func listen(t *testing.T, address string, secured bool, h http.HandlerFunc) (*listener, *httptest.Server) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	counting := &listener{Listener: l}
	s := httptest.NewUnstartedServer(h)
	s.Listener.Close()
	s.Listener = counting
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // probes hang up without a word
	if secured {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return counting, s
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{own: map[netip.Addr]bool{}, refusing: map[string]bool{}}
	// The unspecified address covers 127.0.0.0/8, ::1 and each address of each interface.
	w.machine, _ = listen(t, ":0", false, func(http.ResponseWriter, *http.Request) {})
	w.outside, _ = listen(t, "127.0.0.1:0", false, misdirect)
	var s *httptest.Server
	w.secured, s = listen(t, "127.0.0.1:0", true, misdirect)
	w.roots = s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	for _, a := range interfaceAddrs(t) {
		w.own[a.WithZone("")] = true
	}
	return w
}

// misdirect answers /redirect?status=…&to=… with that status and every header that names another place to go.
func misdirect(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/redirect" {
		return
	}
	to := r.URL.Query().Get("to")
	w.Header().Set("Location", to)
	w.Header().Set("Content-Location", to)
	w.Header().Set("Refresh", "0; url="+to)
	w.Header().Set("Link", "<"+to+">; rel=preload")
	if _, authority, ok := strings.Cut(to, "://"); ok {
		w.Header().Set("Alt-Svc", `http/1.1="`+authority+`"`)
	}
	status, err := strconv.Atoi(r.URL.Query().Get("status"))
	if err != nil {
		status = http.StatusInternalServerError
	}
	w.WriteHeader(status)
}

// interfaceAddrs are the addresses of this machine, link-local ones with their zone.
func interfaceAddrs(t *testing.T) []netip.Addr {
	t.Helper()
	interfaces, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	var out []netip.Addr
	for _, i := range interfaces {
		addrs, err := i.Addrs()
		if err != nil {
			continue // the interface is gone
		}
		for _, a := range addrs {
			prefix, err := netip.ParsePrefix(a.String())
			if err != nil {
				continue
			}
			addr := prefix.Addr().Unmap()
			if addr.Is6() && addr.IsLinkLocalUnicast() {
				addr = addr.WithZone(i.Name)
			}
			out = append(out, addr)
		}
	}
	return out
}

func (w *world) local(a netip.Addr) bool {
	a = a.WithZone("").Unmap()
	return a.IsLoopback() || a.IsUnspecified() || w.own[a]
}

// dial is a [DialFunc]. All ports of the machine are the listener's, so that port 80 needs no privilege.
func (w *world) dial(ctx context.Context, _, address string) (net.Conn, error) {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	w.dialed = append(w.dialed, address)
	w.mu.Unlock()
	real := w.outside.Addr().String()
	switch {
	case w.refusing[address]:
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	case w.local(to.Addr()):
		real = net.JoinHostPort(to.Addr().String(), w.machine.port())
	case to.Port() == 443:
		real = w.secured.Addr().String()
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", real)
	if err != nil {
		return nil, err
	}
	return &claimedConn{Conn: conn, remote: net.TCPAddrFromAddrPort(to)}, nil
}

// takeDials returns what was dialled since the last call.
func (w *world) takeDials() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	dialed := w.dialed
	w.dialed = nil
	return dialed
}

func (w *world) client(t *testing.T, allow string, r Resolver) *Client {
	t.Helper()
	c := New(Options{Policy: mustPolicy(t, allow), Resolver: r, Dialer: w.dial, RootCAs: w.roots})
	t.Cleanup(c.CloseIdle)
	return c
}

// at puts the listener's port into a URL of a table.
func (w *world) at(url string) string { return strings.ReplaceAll(url, "{port}", w.machine.port()) }

// checkUntouched proves that the machine's listener heard nothing so far: a permitted request is then the first and
// only connection. The kernel hands connections over in their order, so an earlier one cannot be counted later.
func (w *world) checkUntouched(t *testing.T, client *Client) {
	t.Helper()
	res, err := client.Do(context.Background(), Request{Method: "GET", URL: w.at("http://127.0.0.1:{port}/"), OneSend: true})
	if err != nil {
		t.Fatalf("the permitted request failed: %v", err)
	}
	if n := w.machine.count.Load(); res.Status != http.StatusOK || n != 1 {
		t.Errorf("status %d, %d connections to this machine; want 200 and the permitted one only", res.Status, n)
	}
}

// A count of zero means something only where a listener would have heard.
func TestEgressListenerHearsEveryLocalAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	heard := interfaceAddrs(t)
	for _, s := range []string{"127.0.0.1", "127.0.0.2", "127.1.2.3", "127.255.255.254", "0.0.0.0", "::1", "::", "::ffff:127.0.0.1"} {
		heard = append(heard, netip.MustParseAddr(s))
	}
	var want int32
	var missing []string
	for _, a := range heard {
		conn, err := w.dial(context.Background(), "tcp", netip.AddrPortFrom(a, 80).String())
		if err != nil {
			missing = append(missing, a.String()) // not an address of this machine
			continue
		}
		conn.Close()
		want++
	}
	if slices.Contains(missing, "127.0.0.1") {
		t.Fatal("nothing hears 127.0.0.1")
	}
	t.Logf("%d addresses heard, not on this machine: %v", want, missing)

	// One request behind the probes: when it is answered, all of them are counted.
	if _, err := w.client(t, "loopback", nil).Do(context.Background(), Request{Method: "GET", URL: "http://127.0.0.1/"}); err != nil {
		t.Fatal(err)
	}
	if got := w.machine.count.Load(); got != want+1 {
		t.Errorf("%d connections counted, want %d", got, want+1)
	}
}
