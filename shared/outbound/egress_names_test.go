package outbound

// Names: what counts is where they lead.

// localNames lead to this machine or its network.
var localNames = []egressCase{
	{"localhost", "http://localhost:{port}/", []string{"127.0.0.1"}, blocked(Loopback)},
	{"localhost, both families", "http://localhost:{port}/", []string{"::1", "127.0.0.1"}, blocked(Loopback)},
	{"localhost, upper case", "http://LOCALHOST:{port}/", []string{"127.0.0.1"}, blocked(Loopback)},
	{"localhost, mixed case", "HtTp://LocalHost:{port}/", []string{"127.0.0.1"}, blocked(Loopback)},
	{"localhost, final dot", "http://localhost.:{port}/", []string{"127.0.0.1"}, blocked(Loopback)},
	{"localhost, default port", "http://localhost/", []string{"127.0.0.1"}, blocked(Loopback)},
	{"localhost, https", "https://localhost/", []string{"127.0.0.1"}, blocked(Loopback)},
	{"localhost, two final dots", "http://localhost..:{port}/", []string{"127.0.0.1"}, refused(URLHost)},
	{"localhost with a domain", "http://localhost.localdomain:{port}/", []string{"127.0.0.1"}, blocked(Loopback)},
	{"below localhost", "http://orders.localhost:{port}/", []string{"127.0.0.1"}, blocked(Loopback)},
	{"IPv6 alias", "http://ip6-localhost:{port}/", []string{"::1"}, blocked(Loopback)},
	{"IPv6 loopback alias", "http://ip6-loopback:{port}/", []string{"::1"}, blocked(Loopback)},
	{"all nodes alias", "http://ip6-allnodes:{port}/", []string{"ff02::1"}, blocked(Multicast)},
	{"broadcast alias", "http://broadcasthost:{port}/", []string{"255.255.255.255"}, blocked(Broadcast)},
	{"name of this machine", "http://my-machine:{port}/", []string{"127.0.1.1"}, blocked(Loopback)},
	{"host of a container", "http://host.docker.internal:{port}/", []string{"192.168.65.254"}, blocked(Private)},
	{"service of a cluster", "http://kubernetes.default.svc/", []string{"10.96.0.1"}, blocked(Private)},
	{"address written in a name", "http://127.0.0.1.nip.example:{port}/", []string{"127.0.0.1"}, blocked(Loopback)},
	{"address written in a name, hexadecimal", "http://7f000001.nip.example:{port}/", []string{"127.0.0.1"}, blocked(Loopback)},
	{"octal prefix that is no number", "http://127.0.0.0o1:{port}/", []string{"127.0.0.1"}, blocked(Loopback)},
	{"public name with a loopback address", "http://orders.example:{port}/", []string{"127.1.2.3"}, blocked(Loopback)},
	{"public name with an unspecified address", "http://orders.example:{port}/", []string{"0.0.0.0"}, blocked(Unspecified)},
	{"public name, IPv6 unspecified", "http://orders.example:{port}/", []string{"::"}, blocked(Unspecified)},
	{"public name, IPv6 loopback", "https://orders.example:{port}/", []string{"::1"}, blocked(Loopback)},
	{"public name, mapped loopback", "http://orders.example:{port}/", []string{"::ffff:127.0.0.1"}, blocked(Loopback)},
	{"public name, compatible loopback", "http://orders.example:{port}/", []string{"::127.0.0.1"}, blocked(Tunnel)},
	{"public name, NAT64 loopback", "http://orders.example:{port}/", []string{"64:ff9b::7f00:1"}, blocked(Translated)},
	{"public name, 6to4 loopback", "http://orders.example:{port}/", []string{"2002:7f00:1::"}, blocked(Tunnel)},
	{"public name, Teredo", "http://orders.example:{port}/", []string{"2001:0:7f00:1::"}, blocked(Tunnel)},
	{"public name, private address", "http://orders.example/", []string{"10.0.0.1"}, blocked(Private)},
	{"public name, unique local address", "http://orders.example/", []string{"fd00::7"}, blocked(Private)},
	{"public name, carrier NAT", "http://orders.example/", []string{"100.64.0.1"}, blocked(SharedNAT)},
	{"public name, link-local with a zone", "http://orders.example:{port}/", []string{"fe80::1%lo"}, blocked(Scoped)},
	{"public name, loopback with a zone", "http://orders.example:{port}/", []string{"::1%lo"}, blocked(Scoped)},
	{"public name, mapped with a zone", "http://orders.example:{port}/", []string{"::ffff:8.8.8.8%lo"}, blocked(Scoped)},
	{"name in Punycode", "http://xn--lcalhost-54a.example:{port}/", []string{"127.0.0.1"}, blocked(Loopback)},
	{"name with an underscore", "http://_local.example:{port}/", []string{"127.0.0.1"}, blocked(Loopback)},
	{"name without an address", "http://nowhere.example:{port}/", []string{}, outcome{phase: PhaseResolve}},
}

// metadataNames are what clouds call their metadata services.
var metadataNames = []egressCase{
	{"GCP", "http://metadata.google.internal/computeMetadata/v1/", []string{"169.254.169.254"}, blocked(Metadata)},
	{"GCP, final dot", "http://metadata.google.internal./", []string{"169.254.169.254"}, blocked(Metadata)},
	{"GCP, upper case", "http://METADATA.GOOGLE.INTERNAL/", []string{"169.254.169.254"}, blocked(Metadata)},
	{"GCP, short", "http://metadata/", []string{"169.254.169.254"}, blocked(Metadata)},
	{"GCP, public suffix", "http://metadata.goog/", []string{"169.254.169.254"}, blocked(Metadata)},
	{"GCP, IPv6", "http://metadata.google.internal/", []string{"fd20:ce::254"}, blocked(Metadata)},
	{"AWS", "http://instance-data/latest/meta-data/", []string{"169.254.169.254"}, blocked(Metadata)},
	{"AWS with a domain", "http://instance-data.ec2.internal/", []string{"169.254.169.254"}, blocked(Metadata)},
	{"AWS, IPv6", "http://instance-data.ec2.internal/", []string{"fd00:ec2::254"}, blocked(Metadata)},
	{"Azure", "http://metadata.azure.internal/metadata/instance", []string{"169.254.169.254"}, blocked(Metadata)},
	{"Azure, wire server behind a name", "http://wire.example/", []string{"168.63.129.16"}, blocked(Metadata)},
	{"Alibaba behind a name", "http://metadata.aliyun.example/", []string{"100.100.100.200"}, blocked(Metadata)},
	{"Tencent", "http://metadata.tencentyun.com/latest/", []string{"169.254.0.23"}, blocked(Metadata)},
	{"OpenStack behind a name, mapped", "http://openstack.example/", []string{"::ffff:169.254.169.254"}, blocked(Metadata)},
}

// mixedAnswers hold one address that may be reached; the other refuses all of them.
var mixedAnswers = []egressCase{
	{"public, then loopback", "http://mixed.example:{port}/", []string{"8.8.8.8", "127.0.0.1"}, blocked(Loopback)},
	{"loopback, then public", "http://mixed.example:{port}/", []string{"127.0.0.1", "8.8.8.8"}, blocked(Loopback)},
	{"public IPv4, IPv6 loopback", "http://mixed.example:{port}/", []string{"8.8.8.8", "::1"}, blocked(Loopback)},
	{"public IPv6, private IPv4", "http://mixed.example/", []string{"2606:4700::1", "10.0.0.1"}, blocked(Private)},
	{"public, then metadata", "http://mixed.example/", []string{"1.1.1.1", "169.254.169.254"}, blocked(Metadata)},
	{"public, then mapped", "http://mixed.example:{port}/", []string{"8.8.8.8", "::ffff:7f00:1"}, blocked(Loopback)},
	{"public, then NAT64", "http://mixed.example:{port}/", []string{"64:ff9b::808:808", "64:ff9b::7f00:1"}, blocked(Translated)},
	{"public, then unspecified", "http://mixed.example:{port}/", []string{"8.8.8.8", "0.0.0.0"}, blocked(Unspecified)},
	{"eight public, then loopback", "http://mixed.example:{port}/",
		[]string{"1.0.0.1", "1.0.0.2", "1.0.0.3", "1.0.0.4", "1.0.0.5", "1.0.0.6", "1.0.0.7", "1.0.0.8", "127.0.0.1"}, blocked(Loopback)},
}

// aliases are names whose answer is another name.
var aliases = []egressCase{
	{"alias of a private host", "http://alias.example/", []string{"CNAME inner.corp.example", "10.0.0.1"}, blocked(Private)},
	{"alias of localhost", "http://alias.example:{port}/", []string{"CNAME localhost", "127.0.0.1"}, blocked(Loopback)},
	{"alias of localhost, IPv6", "http://alias.example:{port}/", []string{"CNAME localhost", "::1"}, blocked(Loopback)},
	{"alias of a metadata service", "http://alias.example/", []string{"CNAME metadata.google.internal", "169.254.169.254"}, blocked(Metadata)},
	{"chain of aliases", "http://alias.example:{port}/",
		[]string{"CNAME a.example", "CNAME b.example", "CNAME c.example", "127.1.2.3"}, blocked(Loopback)},
	{"alias with mixed addresses", "http://alias.example:{port}/", []string{"CNAME a.example", "8.8.8.8", "127.0.0.1"}, blocked(Loopback)},
	{"alias with mixed families", "http://alias.example:{port}/", []string{"CNAME a.example", "8.8.8.8", "::1"}, blocked(Loopback)},
	{"alias of a number", "http://alias.example:{port}/", []string{"CNAME 2130706433", "127.0.0.1"}, blocked(Loopback)},
	{"alias of a mapped address", "http://alias.example:{port}/", []string{"CNAME a.example", "::ffff:127.0.0.1"}, blocked(Loopback)},
	{"alias of a NAT64 address", "http://alias.example:{port}/", []string{"CNAME a.example", "64:ff9b::7f00:1"}, blocked(Translated)},
	{"alias of nothing", "http://alias.example:{port}/", []string{"CNAME a.example"}, outcome{phase: PhaseResolve}},
	{"alias of a public host", "http://alias.example/", []string{"CNAME a.example", "8.8.8.8"}, goesTo("8.8.8.8:80")},
}

// lookalikes name a private place outside of the host. They go where the host says, and nowhere else.
var lookalikes = []egressCase{
	{"at sign in the query", "http://orders.example?@127.0.0.1:{port}/", []string{"8.8.8.8"}, goesTo("8.8.8.8:80")},
	{"at sign in the path", "http://orders.example/@127.0.0.1:{port}/", []string{"8.8.8.8"}, goesTo("8.8.8.8:80")},
	{"host in the path", "http://orders.example//127.0.0.1:{port}/", []string{"8.8.8.8"}, goesTo("8.8.8.8:80")},
	{"URL in the path", "http://orders.example/http://127.0.0.1:{port}/", []string{"8.8.8.8"}, goesTo("8.8.8.8:80")},
	{"dots before a host in the path", "http://orders.example/..//127.0.0.1:{port}/", []string{"8.8.8.8"}, goesTo("8.8.8.8:80")},
	{"encoded fragment", "http://orders.example/%23@127.0.0.1:{port}/", []string{"8.8.8.8"}, goesTo("8.8.8.8:80")},
	{"encoded backslash", "http://orders.example/%5c@127.0.0.1:{port}/", []string{"8.8.8.8"}, goesTo("8.8.8.8:80")},
	{"encoded second request", "http://orders.example/%0d%0aHost:%20127.0.0.1", []string{"8.8.8.8"}, goesTo("8.8.8.8:80")},
	{"colon in the path", "http://orders.example/:{port}", []string{"8.8.8.8"}, goesTo("8.8.8.8:80")},
	{"mapped public address", "http://[::ffff:8.8.8.8]/", nil, goesTo("8.8.8.8:80")},
	{"NAT64 public address", "http://[64:ff9b::8.8.8.8]:8080/", nil, goesTo("[64:ff9b::808:808]:8080")},
	{"beside 10/8", "http://9.255.255.255/", nil, goesTo("9.255.255.255:80")},
	{"beside 172.16/12", "http://172.32.0.0/", nil, goesTo("172.32.0.0:80")},
	{"beside the wire server of Azure", "http://168.63.129.17/", nil, goesTo("168.63.129.17:80")},
}

const (
	redirectBy  = "http://orders.example/redirect?status="
	downgradeBy = "https://example.com/redirect?status=" // the name in httptest's certificate
)

// redirects are answers, whatever they point to.
var redirects = []egressCase{
	{"300", redirectBy + "300&to=http://127.0.0.1:{port}/", []string{"8.8.8.8"}, redirected(300, "8.8.8.8:80")},
	{"301", redirectBy + "301&to=http://127.0.0.1:{port}/", []string{"8.8.8.8"}, redirected(301, "8.8.8.8:80")},
	{"302", redirectBy + "302&to=http://127.0.0.1:{port}/", []string{"8.8.8.8"}, redirected(302, "8.8.8.8:80")},
	{"303", redirectBy + "303&to=http://127.0.0.1:{port}/", []string{"8.8.8.8"}, redirected(303, "8.8.8.8:80")},
	{"305, use a proxy", redirectBy + "305&to=http://127.0.0.1:{port}/", []string{"8.8.8.8"}, redirected(305, "8.8.8.8:80")},
	{"307", redirectBy + "307&to=http://127.0.0.1:{port}/", []string{"8.8.8.8"}, redirected(307, "8.8.8.8:80")},
	{"308", redirectBy + "308&to=http://127.0.0.1:{port}/", []string{"8.8.8.8"}, redirected(308, "8.8.8.8:80")},
	{"200 with a location", redirectBy + "200&to=http://127.0.0.1:{port}/", []string{"8.8.8.8"}, redirected(200, "8.8.8.8:80")},
	{"201 with a location", redirectBy + "201&to=http://127.0.0.1:{port}/", []string{"8.8.8.8"}, redirected(201, "8.8.8.8:80")},
	{"421 with an alternative", redirectBy + "421&to=http://127.0.0.1:{port}/", []string{"8.8.8.8"}, redirected(421, "8.8.8.8:80")},
	{"503 with a location", redirectBy + "503&to=http://127.0.0.1:{port}/", []string{"8.8.8.8"}, redirected(503, "8.8.8.8:80")},
	{"to IPv6 loopback", redirectBy + "302&to=http://[::1]:{port}/", []string{"8.8.8.8"}, redirected(302, "8.8.8.8:80")},
	{"to metadata", redirectBy + "307&to=http://169.254.169.254/", []string{"8.8.8.8"}, redirected(307, "8.8.8.8:80")},
	{"to a decimal address", redirectBy + "302&to=http://2130706433:{port}/", []string{"8.8.8.8"}, redirected(302, "8.8.8.8:80")},
	{"to itself", redirectBy + "302&to=/redirect", []string{"8.8.8.8"}, redirected(302, "8.8.8.8:80")},
	{"to a host alone", redirectBy + "302&to=//127.0.0.1:{port}/", []string{"8.8.8.8"}, redirected(302, "8.8.8.8:80")},
	{"to a file", redirectBy + "302&to=file:///etc/passwd", []string{"8.8.8.8"}, redirected(302, "8.8.8.8:80")},
	{"301 from https to http", downgradeBy + "301&to=http://127.0.0.1:{port}/", []string{"8.8.8.8"}, redirected(301, "8.8.8.8:443")},
	{"302 from https to http", downgradeBy + "302&to=http://example.com/", []string{"8.8.8.8"}, redirected(302, "8.8.8.8:443")},
	{"307 from https to http", downgradeBy + "307&to=http://127.0.0.1:{port}/", []string{"8.8.8.8"}, redirected(307, "8.8.8.8:443")},
	{"308 from https to http", downgradeBy + "308&to=http://[::1]:{port}/", []string{"8.8.8.8"}, redirected(308, "8.8.8.8:443")},
}
