package outbound

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// guarded is a client in a made-up network: names resolve to lookups in turn, every address leads to one server.
type guarded struct {
	client   *Client
	resolver *answers
	net      *network
	arrivals chan string // the Host of each request that arrived
	log      *bytes.Buffer
}

func newGuarded(t *testing.T, allow string, lookups ...[]string) *guarded {
	t.Helper()
	g := &guarded{resolver: &answers{list: lookups}, arrivals: make(chan string, 16), log: &bytes.Buffer{}}
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { g.arrivals <- r.Host })
	g.net = &network{server: s.Listener.Addr().String(), refuse: map[string]bool{}}
	g.client = New(Options{
		Policy: mustPolicy(t, allow), Resolver: g.resolver, Dialer: g.net.dial, Logger: slog.New(slog.NewTextHandler(g.log, nil)),
	})
	t.Cleanup(g.client.CloseIdle)
	return g
}

func (g *guarded) get(url string) (*Response, error) {
	return g.client.Do(context.Background(), Request{Method: "GET", URL: url, OneSend: true})
}

func TestAddressesAreCheckedBeforeDialling(t *testing.T) {
	t.Parallel()
	cases := []struct {
		rule   string
		allow  string
		url    string
		lookup []string
		want   string // the address dialled, "" for blocked
	}{
		{"a public address is dialled", "", "http://orders.example/", []string{"8.8.8.8"}, "8.8.8.8:80"},
		{"the port of the URL is used", "", "http://orders.example:8080/", []string{"8.8.8.8"}, "8.8.8.8:8080"},
		{"a public IPv6 address is dialled", "", "http://orders.example/", []string{"2606:4700::1"}, "[2606:4700::1]:80"},
		{"a mapped address is dialled as IPv4", "", "http://orders.example/", []string{"::ffff:8.8.8.8"}, "8.8.8.8:80"},
		{"a private address is blocked", "", "http://orders.example/", []string{"10.0.0.1"}, ""},
		{"one private address among public ones blocks", "", "http://orders.example/", []string{"8.8.8.8", "10.0.0.1"}, ""},
		{"a mapped private address is blocked", "", "http://orders.example/", []string{"::ffff:10.0.0.1"}, ""},
		{"the metadata service is blocked", "", "http://169.254.169.254/latest/meta-data/", nil, ""},
		{"the metadata service is blocked under a name", "*.example", "http://orders.example/", []string{"169.254.169.254"}, ""},
		{"the metadata service is blocked in IPv6", "", "http://[fd00:ec2::254]/", nil, ""},
		{"a literal loopback address is blocked", "", "http://127.0.0.1:80/", nil, ""},
		{"a literal IPv6 loopback address is blocked", "", "http://[::1]/", nil, ""},
		{"a literal mapped address is blocked", "", "http://[::ffff:7f00:1]/", nil, ""},
		{"NAT64 around a private address is blocked", "", "http://[64:ff9b::a00:1]/", nil, ""},
		{"6to4 is blocked", "", "http://[2002:a00:1::]/", nil, ""},
		{"localhost is blocked", "", "http://localhost/", []string{"127.0.0.1", "::1"}, ""},
		{"allowlisted by CIDR", "10.0.0.0/8", "http://orders.example/", []string{"10.0.0.1"}, "10.0.0.1:80"},
		{"allowlisted by host", "orders.example", "http://orders.example/", []string{"10.0.0.1"}, "10.0.0.1:80"},
		{"allowlisted by host and port", "orders.example:8080", "http://orders.example:8080/", []string{"10.0.0.1"}, "10.0.0.1:8080"},
		{"allowlisted by host and another port", "orders.example:8080", "http://orders.example/", []string{"10.0.0.1"}, ""},
		{"each address needs its own permission", "10.0.0.0/8", "http://orders.example/", []string{"10.0.0.1", "192.168.0.1"}, ""},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			g := newGuarded(t, c.allow, c.lookup)
			res, err := g.get(c.url)
			if c.want != "" {
				if err != nil {
					t.Fatal(err)
				}
				if got := g.net.dials(); !slices.Equal(got, []string{c.want}) {
					t.Errorf("dialled %v, want only %s", got, c.want)
				}
				return
			}
			e := failure(t, res, err)
			if e.Phase != PhaseBlocked || e.Sent || e.Connected || e.Timeout {
				t.Errorf("error %+v, want phase blocked and nothing sent", e)
			}
			if got := g.net.dials(); len(got) != 0 {
				t.Errorf("dialled %v, want nothing", got)
			}
			if !strings.Contains(g.log.String(), "outbound request blocked") {
				t.Errorf("no log line for the blocked request: %q", g.log)
			}
		})
	}
}

func TestRebindingNameIsDialledOnlyAtTheCheckedAddress(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, "", []string{"8.8.8.8"}, []string{"10.0.0.1"})
	if _, err := g.get("http://rebind.example/"); err != nil {
		t.Fatal(err)
	}
	if got := g.net.dials(); !slices.Equal(got, []string{"8.8.8.8:80"}) {
		t.Errorf("dialled %v, want only the address that was checked", got)
	}
	if n := g.resolver.asked(); n != 1 {
		t.Errorf("resolved %d times for one request, want once", n)
	}
	res, err := g.get("http://rebind.example/")
	if e := failure(t, res, err); e.Phase != PhaseBlocked || e.Class != Private {
		t.Errorf("second request: %+v, want blocked because private", e)
	}
	if got := g.net.dials(); len(got) != 1 {
		t.Errorf("dialled %v, want nothing after the name moved to a private address", got)
	}
}

func TestConnectedPeerMustBeTheCheckedAddress(t *testing.T) {
	t.Parallel()
	for _, peer := range []string{"10.0.0.1:80", "8.8.4.4:80", "8.8.8.8:81"} {
		g := newGuarded(t, "", []string{"8.8.8.8"})
		g.net.peer = peer
		res, err := g.get("http://orders.example/")
		if e := failure(t, res, err); e.Phase != PhaseBlocked || e.Sent {
			t.Errorf("peer %s: %+v, want blocked and nothing sent", peer, e)
		}
		if len(g.arrivals) != 0 {
			t.Errorf("peer %s: the request arrived", peer)
		}
	}
}

func TestNextCheckedAddressIsTriedWhenOneRefuses(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, "", []string{"8.8.8.8", "8.8.4.4", "1.1.1.1"})
	g.net.refuse["8.8.8.8:80"] = true
	if _, err := g.get("http://orders.example/"); err != nil {
		t.Fatal(err)
	}
	if got, want := g.net.dials(), []string{"8.8.8.8:80", "8.8.4.4:80"}; !slices.Equal(got, want) {
		t.Errorf("dialled %v, want %v", got, want)
	}
	if host := <-g.arrivals; host != "orders.example" {
		t.Errorf("Host = %q, want the name of the URL", host)
	}
}

func TestRefusedEverywhereIsADialError(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, "", []string{"8.8.8.8", "8.8.4.4"})
	g.net.refuse["8.8.8.8:80"], g.net.refuse["8.8.4.4:80"] = true, true
	res, err := g.get("http://orders.example/secret-path")
	e := failure(t, res, err)
	if e.Phase != PhaseDial || e.Connected || e.Sent {
		t.Errorf("error %+v, want phase dial, no connection", e)
	}
	if want := "outbound: dial orders.example:80: connection refused"; e.Error() != want {
		t.Errorf("text %q, want %q", e, want)
	}
}

func TestAtMostEightAddressesAreDialled(t *testing.T) {
	t.Parallel()
	many := []string{"1.0.0.1", "1.0.0.2", "1.0.0.3", "1.0.0.4", "1.0.0.5", "1.0.0.6", "1.0.0.7", "1.0.0.8", "1.0.0.9"}
	g := newGuarded(t, "", many)
	for _, a := range many {
		g.net.refuse[a+":80"] = true
	}
	res, err := g.get("http://orders.example/")
	failure(t, res, err)
	if got := g.net.dials(); len(got) != 8 {
		t.Errorf("dialled %d addresses, want 8", len(got))
	}
}

func TestNameWithoutAddressesIsAResolveError(t *testing.T) {
	t.Parallel()
	g := newGuarded(t, "", nil)
	res, err := g.get("http://orders.example/")
	if e := failure(t, res, err); e.Phase != PhaseResolve || e.Sent {
		t.Errorf("error %+v, want phase resolve", e)
	}
}

func TestProxyEnvironmentIsIgnored(t *testing.T) {
	t.Setenv("HTTP_PROXY", "http://8.8.4.4:3128")
	t.Setenv("http_proxy", "http://8.8.4.4:3128")
	g := newGuarded(t, "", []string{"8.8.8.8"})
	if _, err := g.get("http://orders.example/"); err != nil {
		t.Fatal(err)
	}
	if got := g.net.dials(); !slices.Equal(got, []string{"8.8.8.8:80"}) {
		t.Errorf("dialled %v, want the host itself", got)
	}
}

func TestCertificateIsCheckedAgainstTheName(t *testing.T) {
	t.Parallel()
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Server-Name", r.TLS.ServerName)
	}))
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // refused handshakes are the point
	s.StartTLS()
	t.Cleanup(s.Close)
	n := &network{server: s.Listener.Addr().String()}
	roots := s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	c := New(Options{Resolver: &answers{list: [][]string{{"8.8.8.8"}}}, Dialer: n.dial, RootCAs: roots})
	t.Cleanup(c.CloseIdle)
	do := func(url string) (*Response, error) {
		return c.Do(context.Background(), Request{Method: "GET", URL: url})
	}

	res, err := do("https://example.com/") // the name in httptest's certificate
	if err != nil {
		t.Fatal(err)
	}
	if got := res.Header.Get("X-Server-Name"); got != "example.com" {
		t.Errorf("SNI = %q, want the name of the URL", got)
	}
	if got := n.dials(); !slices.Equal(got, []string{"8.8.8.8:443"}) {
		t.Errorf("dialled %v, want port 443 by default", got)
	}
	res, err = do("https://orders.test/")
	e := failure(t, res, err)
	if e.Phase != PhaseTLS || !e.Connected || e.Sent {
		t.Errorf("another name: %+v, want phase tls, connected, nothing sent", e)
	}
}
