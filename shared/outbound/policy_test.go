package outbound

import (
	"errors"
	"net/netip"
	"strings"
	"testing"
)

func TestPolicyOpensWhatItNames(t *testing.T) {
	t.Parallel()
	const anyHost = "host.example"
	cases := []struct {
		rule  string
		allow string
		host  string
		port  uint16
		addr  string
		want  bool
	}{
		{"public needs no entry", "", anyHost, 443, "8.8.8.8", true},
		{"private is closed without an entry", "", anyHost, 443, "10.0.0.1", false},
		{"loopback word, IPv4", "loopback", anyHost, 8080, "127.9.9.9", true},
		{"loopback word, IPv6", "Loopback", anyHost, 8080, "::1", true},
		{"loopback word opens nothing else", "loopback", anyHost, 8080, "10.0.0.1", false},
		{"CIDR covers", "10.1.0.0/16", anyHost, 80, "10.1.255.255", true},
		{"CIDR ends", "10.1.0.0/16", anyHost, 80, "10.2.0.0", false},
		{"CIDR of IPv4 covers the mapped form", "10.1.0.0/16", anyHost, 80, "::ffff:10.1.0.1", true},
		{"CIDR of IPv6", "fd12::/16", anyHost, 80, "fd12::5", true},
		{"address", "10.1.2.3", anyHost, 80, "10.1.2.3", true},
		{"address, another one", "10.1.2.3", anyHost, 80, "10.1.2.4", false},
		{"address with port", "10.1.2.3:8443", anyHost, 8443, "10.1.2.3", true},
		{"address with port, another port", "10.1.2.3:8443", anyHost, 443, "10.1.2.3", false},
		{"IPv6 address with port", "[fd00::7]:8443", anyHost, 8443, "fd00::7", true},
		{"IPv6 address with port, another port", "[fd00::7]:8443", anyHost, 8444, "fd00::7", false},
		{"host", "erp.corp", "erp.corp", 80, "10.9.9.9", true},
		{"host, case and final dot", "ERP.corp.", "erp.CORP.", 80, "10.9.9.9", true},
		{"host does not cover a subdomain", "erp.corp", "a.erp.corp", 80, "10.9.9.9", false},
		{"host with port", "erp.corp:8080", "erp.corp", 8080, "10.9.9.9", true},
		{"host with port, another port", "erp.corp:8080", "erp.corp", 80, "10.9.9.9", false},
		{"suffix covers subdomains", "*.corp", "a.erp.corp", 80, "10.9.9.9", true},
		{"suffix does not cover the name itself", "*.corp", "corp", 80, "10.9.9.9", false},
		{"suffix ends at a label", "*.corp", "evilcorp", 80, "10.9.9.9", false},
		{"host opens loopback", "localhost", "localhost", 80, "127.0.0.1", true},
		{"host does not open link-local", "erp.corp", "erp.corp", 80, "169.254.1.1", false},
		{"host does not open metadata", "erp.corp", "erp.corp", 80, "169.254.169.254", false},
		{"host does not open NAT64 around a private address", "erp.corp", "erp.corp", 80, "64:ff9b::10.0.0.1", false},
		{"everything leaves metadata closed", "0.0.0.0/0,::/0", anyHost, 80, "169.254.169.254", false},
		{"everything leaves link-local closed", "0.0.0.0/0,::/0", anyHost, 80, "169.254.1.1", false},
		{"everything leaves IPv6 link-local closed", "0.0.0.0/0,::/0", anyHost, 80, "fe80::1", false},
		{"everything leaves multicast closed", "0.0.0.0/0,::/0", anyHost, 80, "224.0.0.1", false},
		{"everything leaves unspecified closed", "0.0.0.0/0,::/0", anyHost, 80, "0.0.0.0", false},
		{"everything opens private", "0.0.0.0/0,::/0", anyHost, 80, "192.168.0.1", true},
		{"link-local by its own range", "169.254.0.0/16", anyHost, 80, "169.254.1.1", true},
		{"link-local range leaves metadata closed", "169.254.0.0/16", anyHost, 80, "169.254.169.254", false},
		{"everything leaves addresses behind NAT64 closed", "0.0.0.0/0,::/0", anyHost, 80, "64:ff9b::a9fe:a9fe", false},
		{"everything leaves tunnels closed", "0.0.0.0/0,::/0", anyHost, 80, "2002:a9fe:a9fe::", false},
		{"a range of tunnels opens none of them", "2002::/16", anyHost, 80, "2002:a00:1::", false},
		{"tunnel by exactly its address", "2002:a00:1::", anyHost, 80, "2002:a00:1::", true},
		{"NAT64 by exactly its address", "64:ff9b::a00:1", anyHost, 80, "64:ff9b::10.0.0.1", true},
		{"carrier NAT leaves metadata closed", "100.64.0.0/10", anyHost, 80, "100.100.100.200", false},
		{"metadata in public space is closed", "", anyHost, 80, "168.63.129.16", false},
		{"metadata by exactly its address", "169.254.169.254", anyHost, 80, "169.254.169.254", true},
		{"unspecified cannot be opened", "0.0.0.0", anyHost, 80, "0.0.0.0", false},
		{"a zone is never allowed", "::/0", anyHost, 80, "fd00::1%eth0", false},
		{"several entries, white space", " 10.0.0.0/8 ,\terp.corp ", "erp.corp", 80, "192.168.1.1", true},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			p, err := ParsePolicy(c.allow)
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Allows(c.host, c.port, netip.MustParseAddr(c.addr)); got != c.want {
				t.Errorf("policy %q: %s:%d at %s allowed = %v, want %v", c.allow, c.host, c.port, c.addr, got, c.want)
			}
		})
	}
}

func TestParsePolicyNamesTheBadEntry(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"", "10.0.0.0/33", "10.0.0.1/8", "::ffff:10.0.0.0/104", "::ffff:10.0.0.1", "fe80::1%eth0", "host:0", "host:65536", "host:",
		"host:+80", "host:080", "10.0.0.1:x", "[::1", "[10.0.0.1]:80", "[::1]x:80", "*", "*.", "*host", "a.*.b", "loopback:80", "*.loopback", "ho st",
		"http://host", "user@host", "-host", "host-", "a..b", "höst", "2130706433", "0177.0.0.1", "127.1", "0x7f.0.0.1",
		strings.Repeat("a", 64), strings.Repeat("abc.", 64) + "de",
	} {
		_, err := ParsePolicy("10.0.0.0/8, " + bad + " ,host")
		var pe *PolicyError
		if !errors.As(err, &pe) {
			t.Errorf("entry %q: err = %v, want a PolicyError", bad, err)
			continue
		}
		if pe.Entry != bad || pe.Index != 2 || pe.Reason == "" {
			t.Errorf("entry %q: named %q at %d: %q", bad, pe.Entry, pe.Index, pe.Reason)
		}
	}
	for _, empty := range []string{"", "  "} {
		if _, err := ParsePolicy(empty); err != nil {
			t.Errorf("ParsePolicy(%q) = %v, want no exceptions", empty, err)
		}
	}
}

func FuzzParsePolicy(f *testing.F) {
	for _, s := range []string{"loopback", "10.0.0.0/8,erp.corp:80", "*.corp", "[::1]:80", "0.0.0.0/0,::/0", "169.254.169.254", "a,,b"} {
		f.Add(s)
	}
	never := []string{"0.0.0.0", "::", "224.0.0.1", "ff02::1", "255.255.255.255", "fe80::1%1"}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParsePolicy(s)
		if err != nil {
			var pe *PolicyError
			if !errors.As(err, &pe) || !strings.Contains(s, pe.Entry) {
				t.Fatalf("error %v does not name an entry of %q", err, s)
			}
		}
		for _, a := range never {
			if p.Allows("erp.corp", 80, netip.MustParseAddr(a)) {
				t.Errorf("%q opens %s", s, a)
			}
		}
		if p.Allows("erp.corp", 80, netip.MustParseAddr("169.254.169.254")) && !strings.Contains(s, "169.254.169.254") {
			t.Errorf("%q opens the metadata address without naming it", s)
		}
	})
}
