package outbound

import (
	"net/netip"
	"testing"
)

func TestClassify(t *testing.T) {
	t.Parallel()
	cases := map[string]Class{
		"8.8.8.8":              Public,
		"1.1.1.1":              Public,
		"172.15.255.255":       Public,
		"172.32.0.0":           Public,
		"100.63.255.255":       Public,
		"100.128.0.0":          Public,
		"223.255.255.255":      Public,
		"2606:4700:4700::1111": Public,
		"127.0.0.1":            Loopback,
		"127.255.255.255":      Loopback,
		"::1":                  Loopback,
		"10.0.0.0":             Private,
		"172.16.0.1":           Private,
		"172.31.255.255":       Private,
		"192.168.1.1":          Private,
		"fc00::1":              Private,
		"fdff::1":              Private,
		"100.64.0.1":           SharedNAT,
		"100.127.255.255":      SharedNAT,
		"169.254.0.1":          LinkLocal,
		"fe80::1":              LinkLocal,
		"febf::1":              LinkLocal,
		"169.254.169.254":      Metadata,
		"169.254.170.2":        Metadata,
		"fd00:ec2::254":        Metadata,
		"168.63.129.15":        Public,
		"168.63.129.16":        Metadata,
		"100.100.100.200":      Metadata,
		"192.0.0.192":          Metadata,
		"169.254.0.23":         Metadata,
		"169.254.42.42":        Metadata,
		"fd20:ce::254":         Metadata,
		"fd00:42::42":          Metadata,
		"fe80::a9fe:a9fe":      Metadata,
		"0.0.0.0":              Unspecified,
		"::":                   Unspecified,
		"224.0.0.1":            Multicast,
		"239.255.255.255":      Multicast,
		"ff02::1":              Multicast,
		"255.255.255.255":      Broadcast,
		"0.1.2.3":              Reserved,
		"192.0.0.8":            Reserved,
		"192.0.2.1":            Reserved,
		"198.18.0.1":           Reserved,
		"198.19.255.255":       Reserved,
		"198.51.100.7":         Reserved,
		"203.0.113.7":          Reserved,
		"240.0.0.1":            Reserved,
		"2001:db8::1":          Reserved,
		"3fff::1":              Reserved,
		"100::1":               Reserved,
		"fec0::1":              Reserved,
		"4000::1":              Reserved,

		// An IPv4 address inside an IPv6 one.
		"::ffff:8.8.8.8":            Public,
		"::ffff:127.0.0.1":          Loopback,
		"::ffff:10.1.2.3":           Private,
		"::ffff:169.254.169.254":    Metadata,
		"::ffff:0.0.0.0":            Unspecified,
		"64:ff9b::8.8.8.8":          Public,
		"64:ff9b::10.0.0.1":         Translated,
		"64:ff9b::169.254.169.254":  Translated,
		"64:ff9b:1::8.8.8.8":        Tunnel,
		"2002:7f00:1::":             Tunnel,
		"2001:0:4136:e378:8000::":   Tunnel,
		"::127.0.0.1":               Tunnel,
		"::ffff:0:127.0.0.1":        Tunnel,
		"::ffff:168.63.129.16":      Metadata,
		"64:ff9b::168.63.129.16":    Translated,
		"fe80::1%eth0":              Scoped,
		"2606:4700:4700::1111%eth0": Scoped,
	}
	for text, want := range cases {
		if got := Classify(netip.MustParseAddr(text)); got != want {
			t.Errorf("Classify(%s) = %s, want %s", text, got, want)
		}
	}
	if got := Classify(netip.Addr{}); got != Scoped {
		t.Errorf("Classify(no address) = %s, want %s", got, Scoped)
	}
}

// denied is core §2.8 written down a second time, as plain prefixes.
var denied = []string{
	"127.0.0.0/8", "::1/128", "169.254.0.0/16", "fe80::/10", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7",
	"100.64.0.0/10", "224.0.0.0/4", "ff00::/8", "0.0.0.0/8", "::/128", "240.0.0.0/4",
}

func FuzzClassify(f *testing.F) {
	for _, p := range denied {
		f.Add(netip.MustParsePrefix(p).Addr().AsSlice())
	}
	f.Add(netip.MustParseAddr("64:ff9b::7f00:1").AsSlice())
	f.Add(netip.MustParseAddr("8.8.8.8").AsSlice())
	f.Fuzz(func(t *testing.T, raw []byte) {
		addr, ok := netip.AddrFromSlice(raw)
		if !ok {
			return
		}
		class := Classify(addr)
		for _, p := range denied {
			if netip.MustParsePrefix(p).Contains(addr.Unmap()) && class == Public {
				t.Errorf("%s lies in %s and is public", addr, p)
			}
		}
		if !(Policy{}).Allows("host.example", 443, addr) != (class != Public) {
			t.Errorf("the empty policy and class %s disagree on %s", class, addr)
		}
		if !addr.Is4() {
			return
		}
		if mapped := Classify(netip.AddrFrom16(addr.As16())); mapped != class {
			t.Errorf("%s is %s, mapped into IPv6 %s", addr, class, mapped)
		}
		through := nat64.Addr().As16()
		copy(through[12:], addr.AsSlice())
		if got := Classify(netip.AddrFrom16(through)); (got == Public) != (class == Public) {
			t.Errorf("%s is %s, behind NAT64 %s", addr, class, got)
		}
	})
}
