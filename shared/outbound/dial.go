package outbound

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"sync"
)

// Resolver turns a host name into addresses; [net.Resolver] is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// DialFunc connects to address, which is always an IP address and a port.
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// maxDials bounds how many addresses of one host are tried.
const maxDials = 8

// dialChecked is the transports' dial function: hostPort comes from the URL of the request. Its errors are *Error.
func (c *Client) dialChecked(ctx context.Context, network, hostPort string) (net.Conn, error) {
	a := attemptOf(ctx)
	// The transport detaches a dial from the request so that the pool may use the connection later; here the dial
	// ends with the request that wanted it.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(a.ctx, cancel)()

	a.reach(PhaseResolve)
	t := a.target
	addrs, err := c.lookup(ctx, t)
	if err != nil {
		return nil, err
	}
	for _, addr := range addrs {
		if !c.policy.Allows(t.host, t.port, addr) {
			return nil, c.blocked(t, Classify(addr), errBlocked)
		}
	}
	a.reach(PhaseDial)
	if len(addrs) > maxDials {
		addrs = addrs[:maxDials]
	}
	var last error
	for _, addr := range addrs {
		conn, err := c.dialOne(ctx, network, t, netip.AddrPortFrom(addr, t.port))
		if err == nil {
			a.connect()
			return conn, nil
		}
		if e, ok := err.(*Error); ok {
			return nil, e
		}
		last = err
		if ctx.Err() != nil {
			break
		}
	}
	return nil, &Error{Phase: PhaseDial, cause: last}
}

// lookup returns the addresses of t, IPv4 ones unmapped, without duplicates. An address with a zone stays as it is:
// unmapping would drop the zone for which it is refused.
func (c *Client) lookup(ctx context.Context, t *target) ([]netip.Addr, error) {
	if t.addr.IsValid() {
		return []netip.Addr{t.addr.Unmap()}, nil
	}
	found, err := c.resolver.LookupNetIP(ctx, "ip", t.host)
	if err != nil {
		return nil, &Error{Phase: PhaseResolve, cause: err}
	}
	seen := make(map[netip.Addr]bool, len(found))
	addrs := make([]netip.Addr, 0, len(found))
	for _, addr := range found {
		if addr.Zone() == "" {
			addr = addr.Unmap()
		}
		if !seen[addr] {
			seen[addr] = true
			addrs = append(addrs, addr)
		}
	}
	if len(addrs) == 0 {
		return nil, &Error{Phase: PhaseResolve, cause: errNoAddress}
	}
	return addrs, nil
}

// dialOne connects to want and to nothing else. An *Error means that no further address may be tried.
func (c *Client) dialOne(ctx context.Context, network string, t *target, want netip.AddrPort) (net.Conn, error) {
	conn, err := c.dial(ctx, network, want.String())
	if err != nil {
		return nil, err
	}
	got, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil || netip.AddrPortFrom(got.Addr().Unmap(), got.Port()) != want {
		conn.Close()
		return nil, c.blocked(t, Classify(got.Addr()), errPeer)
	}
	return conn, nil
}

func (c *Client) blocked(t *target, class Class, cause error) *Error {
	c.log.Warn("outbound request blocked", slog.String("host", t.hostPort()), slog.String("class", string(class)))
	return &Error{Phase: PhaseBlocked, Class: class, cause: cause}
}

// attempt follows one request through its phases. The transport reports from several goroutines.
type attempt struct {
	ctx    context.Context
	target *target

	mu        sync.Mutex
	phase     Phase
	connected bool
	sent      bool
}

type attemptKey struct{}

func attemptOf(ctx context.Context) *attempt { return ctx.Value(attemptKey{}).(*attempt) }

var phaseOrder = map[Phase]int{
	PhaseRequest: 0, PhaseResolve: 1, PhaseBlocked: 2, PhaseDial: 3, PhaseTLS: 4, PhaseWrite: 5, PhaseHeaders: 6, PhaseBody: 7,
}

// reach never goes back: a second connection that the transport opens beside a used one must not hide what was sent.
func (a *attempt) reach(p Phase) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if phaseOrder[p] > phaseOrder[a.phase] {
		a.phase = p
	}
}

func (a *attempt) connect() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.connected = true
}

// send marks the moment from which bytes of the request may leave.
func (a *attempt) send() {
	a.mu.Lock()
	a.connected, a.sent = true, true
	a.mu.Unlock()
	a.reach(PhaseWrite)
}

func (a *attempt) state() (phase Phase, connected, sent bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.phase, a.connected, a.sent
}
