package outbound

import "net/netip"

// Class says what kind of address an IP address is. Only [Public] is dialled without an entry in the [Policy].
type Class string

const (
	Public      Class = "public"
	Loopback    Class = "loopback"
	Private     Class = "private"     // RFC 1918 and fc00::/7
	SharedNAT   Class = "shared_nat"  // 100.64.0.0/10, carrier NAT
	LinkLocal   Class = "link_local"  // 169.254.0.0/16 and fe80::/10
	Metadata    Class = "metadata"    // credentials and settings that a cloud hands to its machines, containers and pods
	Unspecified Class = "unspecified" // 0.0.0.0 and ::
	Multicast   Class = "multicast"
	Broadcast   Class = "broadcast"
	Reserved    Class = "reserved"   // documentation, benchmarks, protocol assignments, unallocated space
	Tunnel      Class = "tunnel"     // 6to4, Teredo, local NAT64, IPv4-compatible, SIIT: the real peer is hidden in the address
	Translated  Class = "translated" // NAT64 (64:ff9b::/96) around an IPv4 address that is not public
	Scoped      Class = "scoped"     // an address with a zone, or no address at all
)

type classRange struct {
	prefix netip.Prefix
	class  Class
}

// specialRanges is read in order: the first match decides. What no row matches is public in IPv4 and reserved in
// IPv6, where only 2000::/3 is allocated for global use. Metadata addresses come first: the range around one may be
// public, or opened by an operator who thinks of something else.
var specialRanges = [...]classRange{
	{netip.MustParsePrefix("169.254.169.254/32"), Metadata}, // AWS, Azure, Google and most others
	{netip.MustParsePrefix("169.254.170.2/32"), Metadata},   // ECS
	{netip.MustParsePrefix("169.254.170.23/32"), Metadata},  // EKS
	{netip.MustParsePrefix("fd00:ec2::254/128"), Metadata},
	{netip.MustParsePrefix("fd00:ec2::23/128"), Metadata},
	{netip.MustParsePrefix("168.63.129.16/32"), Metadata},   // Azure's wire server, within public space
	{netip.MustParsePrefix("fd20:ce::254/128"), Metadata},   // Google
	{netip.MustParsePrefix("100.100.100.200/32"), Metadata}, // Alibaba
	{netip.MustParsePrefix("192.0.0.192/32"), Metadata},     // Oracle
	{netip.MustParsePrefix("169.254.0.23/32"), Metadata},    // Tencent
	{netip.MustParsePrefix("169.254.42.42/32"), Metadata},   // Scaleway
	{netip.MustParsePrefix("fd00:42::42/128"), Metadata},
	{netip.MustParsePrefix("fe80::a9fe:a9fe/128"), Metadata}, // OpenStack
	{netip.MustParsePrefix("0.0.0.0/32"), Unspecified},
	{netip.MustParsePrefix("::/128"), Unspecified},
	{netip.MustParsePrefix("255.255.255.255/32"), Broadcast},

	{netip.MustParsePrefix("127.0.0.0/8"), Loopback},
	{netip.MustParsePrefix("::1/128"), Loopback},
	{netip.MustParsePrefix("10.0.0.0/8"), Private},
	{netip.MustParsePrefix("172.16.0.0/12"), Private},
	{netip.MustParsePrefix("192.168.0.0/16"), Private},
	{netip.MustParsePrefix("fc00::/7"), Private},
	{netip.MustParsePrefix("100.64.0.0/10"), SharedNAT},
	{netip.MustParsePrefix("169.254.0.0/16"), LinkLocal},
	{netip.MustParsePrefix("fe80::/10"), LinkLocal},
	{netip.MustParsePrefix("224.0.0.0/4"), Multicast},
	{netip.MustParsePrefix("ff00::/8"), Multicast},

	{netip.MustParsePrefix("0.0.0.0/8"), Reserved},
	{netip.MustParsePrefix("192.0.0.0/24"), Reserved},
	{netip.MustParsePrefix("192.0.2.0/24"), Reserved},
	{netip.MustParsePrefix("192.88.99.0/24"), Reserved},
	{netip.MustParsePrefix("198.18.0.0/15"), Reserved},
	{netip.MustParsePrefix("198.51.100.0/24"), Reserved},
	{netip.MustParsePrefix("203.0.113.0/24"), Reserved},
	{netip.MustParsePrefix("240.0.0.0/4"), Reserved},

	{netip.MustParsePrefix("::/96"), Tunnel},
	{netip.MustParsePrefix("::ffff:0:0:0/96"), Tunnel},
	{netip.MustParsePrefix("64:ff9b:1::/48"), Tunnel},
	{netip.MustParsePrefix("2001::/32"), Tunnel},
	{netip.MustParsePrefix("2002::/16"), Tunnel},
	{netip.MustParsePrefix("2001::/23"), Reserved},
	{netip.MustParsePrefix("2001:db8::/32"), Reserved},
	{netip.MustParsePrefix("3fff::/20"), Reserved},
	{netip.MustParsePrefix("2000::/3"), Public},
	{netip.MustParsePrefix("::/0"), Reserved},
}

var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// Classify names the class of addr (core §2.8). An IPv4 address mapped into IPv6 counts as the IPv4 address, and
// so does one behind the well-known NAT64 prefix, where anything not public is [Translated].
func Classify(addr netip.Addr) Class {
	if !addr.IsValid() || addr.Zone() != "" {
		return Scoped
	}
	addr = addr.Unmap()
	if nat64.Contains(addr) {
		b := addr.As16()
		if Classify(netip.AddrFrom4([4]byte(b[12:]))) != Public {
			return Translated
		}
		return Public
	}
	for _, r := range specialRanges {
		if r.prefix.Contains(addr) {
			return r.class
		}
	}
	return Public
}
