package outbound

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Policy is the operator's list of exceptions to the denied ranges of [Classify]. The zero value has none.
//
// An entry for addresses (IP, CIDR, "loopback") opens what it covers, with these limits: unspecified, multicast
// and broadcast addresses are never opened; a metadata address only by an entry that is exactly this address, and
// so is one that hides another ([Tunnel], [Translated]), because a range of them contains a spelling of every IPv4
// address; link-local ones only by an entry inside the link-local range, so that 0.0.0.0/0 does not include them.
//
// An entry for a host name opens loopback, private and carrier-NAT addresses that this name resolves to. It is
// trust in whoever controls the name, so it stops short of everything else.
type Policy struct {
	addresses []addressEntry
	hosts     []hostEntry
}

type addressEntry struct {
	prefix netip.Prefix
	port   uint16 // 0: any
}

type hostEntry struct {
	name   string // lower case, no trailing dot
	suffix bool   // matches names that end in "."+name, not name itself
	port   uint16 // 0: any
}

// PolicyError names the entry of an allowlist that cannot be understood.
type PolicyError struct {
	Entry  string // as written, without surrounding white space
	Index  int    // position in the list, from 1
	Reason string
}

// Error is fit for an operator's screen.
func (e *PolicyError) Error() string {
	return fmt.Sprintf("egress allowlist, entry %d (%q): %s", e.Index, e.Entry, e.Reason)
}

// ParsePolicy reads BAILING_EGRESS_ALLOW: entries separated by commas, white space around them ignored, empty
// text for no exceptions. An entry is a CIDR, an IP address, a host name, "*." and a suffix, or the word
// "loopback" (127.0.0.0/8 and ::1). All but CIDR and "loopback" may end in ":port", with an IPv6 address in
// brackets. Errors are [*PolicyError].
func ParsePolicy(allow string) (Policy, error) {
	var p Policy
	if strings.TrimSpace(allow) == "" {
		return p, nil
	}
	for i, part := range strings.Split(allow, ",") {
		entry := strings.TrimSpace(part)
		if reason := p.add(entry); reason != "" {
			return Policy{}, &PolicyError{Entry: entry, Index: i + 1, Reason: reason}
		}
	}
	return p, nil
}

// add returns why entry is wrong, or "".
func (p *Policy) add(entry string) string {
	switch {
	case entry == "":
		return "is empty"
	case strings.EqualFold(entry, "loopback"):
		p.addresses = append(p.addresses,
			addressEntry{prefix: netip.MustParsePrefix("127.0.0.0/8")}, addressEntry{prefix: netip.MustParsePrefix("::1/128")})
		return ""
	case strings.Contains(entry, "/"):
		return p.addPrefix(entry)
	}
	if addr, err := netip.ParseAddr(entry); err == nil {
		return p.addAddr(addr, 0)
	}
	host, port, reason := splitPort(entry)
	if reason != "" {
		return reason
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		addr, err := netip.ParseAddr(strings.TrimSuffix(inner, "]"))
		if err != nil || !strings.HasSuffix(inner, "]") || !addr.Is6() {
			return "is not an IPv6 address in brackets"
		}
		return p.addAddr(addr, port)
	}
	if addr, err := netip.ParseAddr(host); err == nil && addr.Is4() {
		return p.addAddr(addr, port)
	}
	return p.addHost(host, port)
}

func (p *Policy) addPrefix(entry string) string {
	prefix, err := netip.ParsePrefix(entry)
	switch {
	case err != nil:
		return "is not a CIDR"
	case prefix.Addr().Is4In6():
		return "write IPv4 ranges in IPv4 form"
	case prefix != prefix.Masked():
		return "has address bits below its prefix length; did you mean " + prefix.Masked().String() + "?"
	}
	p.addresses = append(p.addresses, addressEntry{prefix: prefix})
	return ""
}

func (p *Policy) addAddr(addr netip.Addr, port uint16) string {
	switch {
	case addr.Zone() != "":
		return "an address with a zone cannot be allowed"
	case addr.Is4In6():
		return "write IPv4 addresses in IPv4 form"
	}
	p.addresses = append(p.addresses, addressEntry{prefix: netip.PrefixFrom(addr, addr.BitLen()), port: port})
	return ""
}

func (p *Policy) addHost(host string, port uint16) string {
	name, suffix := strings.CutPrefix(host, "*.")
	name = normalHost(name)
	if name == "loopback" {
		return `"loopback" takes no port and no wildcard`
	}
	if reason := checkHostName(name); reason != "" {
		return string(reason)
	}
	p.hosts = append(p.hosts, hostEntry{name: name, suffix: suffix, port: port})
	return ""
}

// splitPort cuts ":port" off entry; port 0 means there is none.
func splitPort(entry string) (host string, port uint16, reason string) {
	i := strings.LastIndexByte(entry, ':')
	if i < 0 || strings.HasSuffix(entry, "]") {
		return entry, 0, ""
	}
	n, ok := parsePort(entry[i+1:])
	if !ok {
		return "", 0, "has no port from 1 to 65535 after the colon"
	}
	return entry[:i], n, ""
}

// parsePort accepts 1 to 65535 in plain decimal digits.
func parsePort(s string) (uint16, bool) {
	if s == "" || s[0] < '1' || s[0] > '9' {
		return 0, false
	}
	n, err := strconv.ParseUint(s, 10, 16)
	return uint16(n), err == nil
}

// Allows reports whether a connection for host and port may go to addr, one of the addresses of host.
func (p Policy) Allows(host string, port uint16, addr netip.Addr) bool {
	class := Classify(addr)
	switch class {
	case Public:
		return true
	case Scoped, Unspecified, Multicast, Broadcast:
		return false
	}
	addr = addr.Unmap()
	for _, e := range p.addresses {
		if (e.port == 0 || e.port == port) && e.prefix.Contains(addr) && e.opens(class) {
			return true
		}
	}
	if class != Loopback && class != Private && class != SharedNAT {
		return false
	}
	host = normalHost(host)
	for _, e := range p.hosts {
		if (e.port == 0 || e.port == port) && e.matches(host) {
			return true
		}
	}
	return false
}

var linkLocal4, linkLocal6 = netip.MustParsePrefix("169.254.0.0/16"), netip.MustParsePrefix("fe80::/10")

// opens reports whether the entry is narrow enough for the class.
func (e addressEntry) opens(class Class) bool {
	switch class {
	case Metadata, Tunnel, Translated:
		return e.prefix.IsSingleIP()
	case LinkLocal:
		own := linkLocal6
		if e.prefix.Addr().Is4() {
			own = linkLocal4
		}
		return e.prefix.Bits() >= own.Bits()
	default:
		return true
	}
}

func (e hostEntry) matches(host string) bool {
	if e.suffix {
		return strings.HasSuffix(host, "."+e.name)
	}
	return host == e.name
}
