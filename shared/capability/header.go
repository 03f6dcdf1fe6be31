package capability

import "strings"

// isReserved knows the names that no operation may declare as a parameter: the list of core §3.2, and the headers
// by which HTTP itself is steered. Every x-bailing-* name is reserved too.
func isReserved(lower string) bool {
	switch lower {
	case "authorization", "cookie", "host", "content-length", "connection", "transfer-encoding",
		"proxy-authorization", "proxy-connection", "keep-alive", "te", "trailer", "upgrade", "expect":
		return true
	}
	return strings.HasPrefix(lower, "x-bailing-")
}

// ReservedHeader reports whether a header name, in any case, belongs to HTTP or to the hub and cannot be a declared
// parameter (core §3.2).
func ReservedHeader(name string) bool { return isReserved(strings.ToLower(name)) }

// HeaderName reports whether name is a token that HTTP allows as a field name (RFC 9110).
func HeaderName(name string) bool {
	for i := 0; i < len(name); i++ {
		c := name[i]
		if !isAlnum(c) && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return name != ""
}

// headerValue is s as a field value: surrounding white space means nothing in HTTP and goes. It fails for what a header
// cannot carry, or what stacks disagree about: control characters and everything beyond ASCII.
func headerValue(s string) (string, bool) {
	s = strings.Trim(s, " \t")
	for i := 0; i < len(s); i++ {
		if c := s[i]; (c < 0x20 && c != '\t') || c > 0x7e {
			return "", false
		}
	}
	return s, true
}

func isAlnum(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
