package outbound

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
)

// URLReason says what is wrong with a URL.
type URLReason string

const (
	URLTooLong     URLReason = "is too long"
	URLNotAbsolute URLReason = "is not an absolute URL"
	URLScheme      URLReason = "has a scheme other than http and https"
	URLCharacters  URLReason = "contains white space, a control character, a backslash or a non-ASCII character; percent-encode it"
	URLUserInfo    URLReason = "contains a user name or password"
	URLFragment    URLReason = "has a fragment"
	URLHost        URLReason = "has no valid host name"
	URLNumericHost URLReason = "has a host that looks like an IPv4 address in an unusual form"
	URLZone        URLReason = "has an IPv6 address with a zone"
	URLPort        URLReason = "has no port from 1 to 65535 after the host's colon"
	URLEscape      URLReason = "has an invalid percent escape or a path that cannot be sent as given"
)

// URLError is the refusal of a URL. It does not repeat the URL, which may contain a secret.
type URLError struct{ Reason URLReason }

// Error completes a sentence that begins with the name of the field.
func (e *URLError) Error() string { return "URL " + string(e.Reason) }

// CheckURL decides when a URL is saved whether [Client.Do] could ever use it: absolute, http or https, an
// ordinary host, no user information, no fragment, ASCII, and at most max UTF-16 units (0: no limit; one unit is
// one byte here, as only ASCII passes). It resolves nothing, because addresses are checked when a connection is made.
// Errors are [*URLError].
func CheckURL(raw string, max int) error {
	for i := 0; i < len(raw); i++ {
		if raw[i] >= 0x80 {
			return &URLError{URLCharacters}
		}
	}
	if max > 0 && len(raw) > max {
		return &URLError{URLTooLong}
	}
	_, err := parseTarget(raw)
	return err
}

// target is a URL taken apart without losing a byte.
type target struct {
	scheme string     // "http" or "https"
	host   string     // name or address literal as written, without brackets
	addr   netip.Addr // valid when host is an address literal
	port   uint16
	url    *url.URL // its RequestURI is the path and query exactly as given
}

func parseTarget(raw string) (*target, error) {
	for i := 0; i < len(raw); i++ {
		if c := raw[i]; c <= ' ' || c >= 0x7f || c == '\\' {
			return nil, &URLError{URLCharacters}
		}
	}
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return nil, &URLError{URLNotAbsolute}
	}
	scheme = strings.ToLower(scheme)
	if scheme != "http" && scheme != "https" {
		return nil, &URLError{URLScheme}
	}
	if strings.Contains(rest, "#") {
		return nil, &URLError{URLFragment}
	}
	authority, path := rest, ""
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		authority, path = rest[:i], rest[i:]
	}
	if strings.Contains(authority, "@") {
		return nil, &URLError{URLUserInfo}
	}
	t := &target{scheme: scheme}
	if reason := t.setAuthority(authority); reason != "" {
		return nil, &URLError{reason}
	}
	if reason := t.setURL(authority, path); reason != "" {
		return nil, &URLError{reason}
	}
	return t, nil
}

func (t *target) setAuthority(authority string) URLReason {
	host, port := authority, ""
	if i := strings.LastIndexByte(authority, ':'); i >= 0 && !strings.HasSuffix(authority, "]") {
		host, port = authority[:i], authority[i+1:]
		if _, ok := parsePort(port); !ok {
			return URLPort
		}
	}
	switch {
	case port != "":
		t.port, _ = parsePort(port)
	case t.scheme == "https":
		t.port = 443
	default:
		t.port = 80
	}
	if inner, ok := strings.CutPrefix(host, "["); ok {
		inner, closed := strings.CutSuffix(inner, "]")
		addr, err := netip.ParseAddr(inner)
		switch {
		case err != nil || !closed || !addr.Is6():
			return URLHost
		case addr.Zone() != "":
			return URLZone
		}
		t.host, t.addr = inner, addr
		return ""
	}
	if addr, err := netip.ParseAddr(host); err == nil && addr.Is4() {
		t.host, t.addr = host, addr
		return ""
	}
	t.host = host
	return checkHostName(normalHost(host))
}

// setURL keeps path as given. url.URL re-encodes some paths when it prints them; those are passed as opaque, and
// the result is compared with what was asked, so that a signed path can never differ from the one sent.
func (t *target) setURL(authority, path string) URLReason {
	rawPath, query, hasQuery := strings.Cut(path, "?")
	unescaped, err := url.PathUnescape(rawPath)
	if err != nil {
		return URLEscape
	}
	u := &url.URL{Scheme: t.scheme, Host: authority, Path: unescaped, RawPath: rawPath, RawQuery: query, ForceQuery: hasQuery}
	want := path
	if rawPath == "" {
		want = "/" + path
	}
	if u.RequestURI() != want {
		u.Opaque = rawPath
	}
	if u.RequestURI() != want {
		return URLEscape
	}
	t.url = u
	return ""
}

// normalHost is the form in which host names are compared.
func normalHost(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

// checkHostName accepts DNS names of letters, digits, hyphens and underscores. A name whose last label is a number
// is refused: some resolvers read 2130706433, 0177.0.0.1, 0x7f.1 and 127.1 as 127.0.0.1.
func checkHostName(name string) URLReason {
	if name == "" || len(name) > 253 {
		return URLHost
	}
	labels := strings.Split(name, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return URLHost
		}
		for i := 0; i < len(label); i++ {
			if c := label[i]; !isAlnum(c) && c != '-' && c != '_' {
				return URLHost
			}
		}
	}
	if isNumber(labels[len(labels)-1]) {
		return URLNumericHost
	}
	return ""
}

func isAlnum(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// isNumber reports whether an IPv4 parser of the inet_aton kind could read label.
func isNumber(label string) bool {
	digits, hex := label, false
	if len(label) >= 2 && label[0] == '0' && (label[1] == 'x' || label[1] == 'X') {
		digits, hex = label[2:], true
	}
	for i := 0; i < len(digits); i++ {
		c := digits[i] | 0x20
		if digits[i] >= '0' && digits[i] <= '9' || hex && c >= 'a' && c <= 'f' {
			continue
		}
		return false
	}
	return true
}

// hostPort is "host:port" for messages and policies.
func (t *target) hostPort() string {
	if t.addr.Is6() {
		return fmt.Sprintf("[%s]:%d", t.host, t.port)
	}
	return fmt.Sprintf("%s:%d", t.host, t.port)
}

// RequestPath is the path and query that [Client.Do] sends for raw, which is what a signature over the request covers. Errors
// are [*URLError].
func RequestPath(raw string) (string, error) {
	t, err := parseTarget(raw)
	if err != nil {
		return "", err
	}
	return t.url.RequestURI(), nil
}
