package outbound

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

// egressCase is one spelling of a destination that must not be reached.
type egressCase struct {
	rule    string
	url     string   // {port} is the port of the listener on this machine's addresses
	answers []string // what the resolver says about any name; a chain of "CNAME name" may come first
	want    outcome
}

// outcome is how a request ends. Beyond what it names, nothing is dialled and nothing sent.
type outcome struct {
	phase  Phase
	reason URLReason // of PhaseRequest
	class  Class     // of PhaseBlocked
	dialed string    // for a request that goes where its URL says, although it looks like another place
	status int       // of its answer
}

func refused(r URLReason) outcome { return outcome{phase: PhaseRequest, reason: r} }
func blocked(c Class) outcome     { return outcome{phase: PhaseBlocked, class: c} }
func goesTo(a string) outcome     { return redirected(200, a) }

func redirected(status int, by string) outcome { return outcome{dialed: by, status: status} }

func (c egressCase) resolver() Resolver {
	if len(c.answers) > 0 && strings.HasPrefix(c.answers[0], "CNAME ") {
		return zoneResolver(c.answers)
	}
	return &answers{list: [][]string{c.answers}}
}

// run sends one request and compares everything that can be seen of it.
func (c egressCase) run(t *testing.T, w *world, allow string, oneSend bool) {
	t.Helper()
	client := w.client(t, allow, c.resolver())
	defer client.CloseIdle()
	url := w.at(c.url)
	res, err := client.Do(context.Background(), Request{Method: "GET", URL: url, OneSend: oneSend})
	dials := w.takeDials()
	if c.want.dialed != "" {
		if err != nil {
			t.Fatalf("%q: %v", url, err)
		}
		if res.Status != c.want.status || !slices.Equal(dials, []string{c.want.dialed}) {
			t.Errorf("%q: status %d, dialled %v; want %d from %s alone", url, res.Status, dials, c.want.status, c.want.dialed)
		}
		return
	}
	if err == nil {
		t.Fatalf("%q got through: status %d, dialled %v", url, res.Status, dials)
	}
	e := failure(t, res, err)
	if e.Phase != c.want.phase || e.Class != c.want.class || e.Connected || e.Sent || len(dials) != 0 {
		t.Errorf("%q: phase %s, class %q, connected %v, sent %v, dialled %v; want phase %s, class %q and nothing else",
			url, e.Phase, e.Class, e.Connected, e.Sent, dials, c.want.phase, c.want.class)
	}
	var ue *URLError
	if errors.As(err, &ue) && ue.Reason != c.want.reason || c.want.reason != "" && ue == nil {
		t.Errorf("%q: %v, want a URL that %s", url, err, c.want.reason)
	}
	// What is refused when it is sent for its form alone is refused when it is saved, and nothing else is.
	if saved := CheckURL(url, 0); (saved != nil) != (c.want.phase == PhaseRequest) {
		t.Errorf("%q: saving it says %v, sending it ends in phase %s", url, saved, c.want.phase)
	}
}

// ownAddresses are the addresses that this machine happens to have, each spelled as a literal and behind a name.
func ownAddresses(t *testing.T) []egressCase {
	t.Helper()
	var cases []egressCase
	for _, addr := range interfaceAddrs(t) {
		class := Classify(addr.WithZone(""))
		if class == Public {
			continue // reachable by anybody
		}
		literal := addr.WithZone("").String()
		if addr.Is6() {
			literal = "[" + literal + "]"
		}
		cases = append(cases,
			egressCase{"own address", "http://" + literal + ":{port}/", nil, blocked(class)},
			egressCase{"own address behind a name", "http://own.example:{port}/", []string{addr.WithZone("").String()}, blocked(class)},
		)
		if addr.Zone() != "" {
			cases = append(cases,
				egressCase{"own address with its zone", "http://own.example:{port}/", []string{addr.String()}, blocked(Scoped)})
		}
	}
	return cases
}

func hostileSpellings() []egressCase {
	return slices.Concat(numericHosts, foreignCharacters, authorityTricks, otherSchemes, localLiterals, embeddedIPv4,
		specialLiterals, metadataAddresses, localNames, metadataNames, mixedAnswers, aliases, lookalikes, redirects)
}

// TestHostileEgressTable is invariant I7 spelled out (core §2.8): with nothing opened by the operator, no spelling
// reaches this machine or a denied address.
func TestHostileEgressTable(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spellings := hostileSpellings()
	distinct := map[string]bool{}
	for _, c := range spellings {
		distinct[c.url+"\n"+strings.Join(c.answers, "\n")] = true
	}
	if len(distinct) < 150 || len(distinct) != len(spellings) {
		t.Errorf("%d distinct spellings in %d rows, want no row twice and at least 150", len(distinct), len(spellings))
	}
	for _, c := range append(spellings, ownAddresses(t)...) {
		t.Run(c.rule, func(t *testing.T) {
			c.run(t, w, "", true)
			c.run(t, w, "", false)
		})
	}
	w.checkUntouched(t, w.client(t, "loopback", nil))
	t.Logf("%d spellings", len(distinct))
}

// An exception opens what it names, and no wider spelling of it opens the places that hold credentials.
func TestHostileEgressTableUnderExceptions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for allow, cases := range beyondExceptions {
		for _, c := range cases {
			t.Run(allow+": "+c.rule, func(t *testing.T) {
				c.run(t, w, allow, true)
				c.run(t, w, allow, false)
			})
		}
	}
	w.checkUntouched(t, w.client(t, "loopback", nil))
}

// TestHostileSpellingsOnTheRealNetwork injects nothing: the system's resolver and dialer, as the product has them.
// It takes the spellings that name this machine or nothing at all.
func TestHostileSpellingsOnTheRealNetwork(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client := New(Options{})
	t.Cleanup(client.CloseIdle)
	for _, c := range append(hostileSpellings(), ownAddresses(t)...) {
		local := c.want.class == Loopback || c.want.class == Unspecified
		if c.answers != nil || !local && c.want.phase != PhaseRequest {
			continue
		}
		url := w.at(c.url)
		res, err := client.Do(context.Background(), Request{Method: "GET", URL: url, OneSend: true})
		if e := failure(t, res, err); e.Phase != c.want.phase || e.Class != c.want.class || e.Connected || e.Sent {
			t.Errorf("%s: %q: %+v, want phase %s", c.rule, url, e, c.want.phase)
		}
	}
	w.checkUntouched(t, New(Options{Policy: mustPolicy(t, "loopback")}))
}

// A name that changes its mind between the check and the connection gains nothing: there is no second look-up.
func TestRebindingBetweenCheckAndDial(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cases := []struct {
		rule   string
		first  []string
		dialed []string
		phase  Phase // "" = answered
	}{
		{"the checked address answers", []string{"8.8.8.8"}, []string{"8.8.8.8:80"}, ""},
		{"the checked address refuses", []string{"8.8.4.4"}, []string{"8.8.4.4:80"}, PhaseDial},
		{"the first of two refuses", []string{"8.8.4.4", "8.8.8.8"}, []string{"8.8.4.4:80", "8.8.8.8:80"}, ""},
		{"all refuse", []string{"8.8.4.4", "9.9.9.9"}, []string{"8.8.4.4:80", "9.9.9.9:80"}, PhaseDial},
		{"mapped and plain are one address", []string{"::ffff:8.8.4.4", "8.8.4.4"}, []string{"8.8.4.4:80"}, PhaseDial},
	}
	w.refusing["8.8.4.4:80"], w.refusing["9.9.9.9:80"] = true, true
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			r := &answers{list: [][]string{c.first, {"127.0.0.1"}}}
			client := w.client(t, "", r)
			get := func() (*Response, error) {
				return client.Do(context.Background(), Request{Method: "GET", URL: "http://rebind.example/", OneSend: true})
			}
			res, err := get()
			if c.phase == "" && err != nil || c.phase != "" && failure(t, res, err).Phase != c.phase {
				t.Errorf("first request: %v, want phase %q", err, c.phase)
			}
			if got := w.takeDials(); !slices.Equal(got, c.dialed) || r.asked() != 1 {
				t.Errorf("dialled %v after %d look-ups, want %v after one", got, r.asked(), c.dialed)
			}
			res, err = get()
			if e := failure(t, res, err); e.Phase != PhaseBlocked || e.Class != Loopback || len(w.takeDials()) != 0 {
				t.Errorf("second request: %+v, want blocked", e)
			}
		})
	}
	w.checkUntouched(t, w.client(t, "loopback", nil))
}

// net/http may repeat a request without a body when a kept connection turns out to be dead. The new connection is
// checked like any other.
func TestRebindingWhileAConnectionIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url, connections, _ := dyingServer(t)
	n := &network{server: strings.TrimPrefix(url, "http://")}
	r := &answers{list: [][]string{{"8.8.8.8"}, {"127.0.0.1"}}}
	client := New(Options{Resolver: r, Dialer: n.dial})
	t.Cleanup(client.CloseIdle)
	get := func() (*Response, error) {
		return client.Do(context.Background(), Request{Method: "GET", URL: w.at("http://rebind.example:{port}/")})
	}
	if _, err := get(); err != nil {
		t.Fatal(err)
	}
	res, err := get()
	if e := failure(t, res, err); e.Phase != PhaseBlocked || e.Class != Loopback {
		t.Errorf("second request: %+v, want the new connection blocked", e)
	}
	if got := n.dials(); len(got) != 1 || connections.Load() != 1 || r.asked() != 2 {
		t.Errorf("dialled %v, %d connections, %d look-ups; want one, one and two", got, connections.Load(), r.asked())
	}
	w.checkUntouched(t, w.client(t, "loopback", nil))
}
