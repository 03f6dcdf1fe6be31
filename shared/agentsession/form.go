package agentsession

import (
	"strings"
	"unicode/utf8"
)

// pair is one parameter of a query.
type pair struct{ name, value string }

// parseQuery reads a query as browsers do (application/x-www-form-urlencoded): nothing is an error, and order is kept, which the
// standard library's map loses.
func parseQuery(q string) (pairs []pair) {
	for part := range strings.SplitSeq(q, "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		pairs = append(pairs, pair{unescape(name), unescape(value)})
	}
	return pairs
}

// unescape reads + as a space and %XX as a byte; a % that begins no escape stands for itself. What is no UTF-8 becomes U+FFFD.
func unescape(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '+':
			b = append(b, ' ')
		case s[i] == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
			b = append(b, unhex(s[i+1])<<4|unhex(s[i+2]))
			i += 2
		default:
			b = append(b, s[i])
		}
	}
	return strings.ToValidUTF8(string(b), string(utf8.RuneError))
}

func isHex(c byte) bool { return unhex(c) < 16 }

func unhex(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	}
	return 0xFF
}

const upperHex = "0123456789ABCDEF"

// formatQuery writes pairs as browsers do.
func formatQuery(pairs []pair) string {
	var b strings.Builder
	for i, p := range pairs {
		if i > 0 {
			b.WriteByte('&')
		}
		escapeTo(&b, p.name)
		b.WriteByte('=')
		escapeTo(&b, p.value)
	}
	return b.String()
}

func escapeTo(b *strings.Builder, s string) {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("*-._", c) >= 0:
			b.WriteByte(c)
		case c == ' ':
			b.WriteByte('+')
		default:
			escapeByte(b, c)
		}
	}
}

func escapeByte(b *strings.Builder, c byte) {
	b.WriteByte('%')
	b.WriteByte(upperHex[c>>4])
	b.WriteByte(upperHex[c&15])
}

// setParam gives the first parameter called name the value and drops the others of that name; without one it comes last.
func setParam(pairs []pair, name, value string) []pair {
	kept, found := pairs[:0], false
	for _, p := range pairs {
		if p.name == name {
			if found {
				continue
			}
			p.value, found = value, true
		}
		kept = append(kept, p)
	}
	if !found {
		kept = append(kept, pair{name, value})
	}
	return kept
}

// dropParam is pairs without those called name.
func dropParam(pairs []pair, name string) []pair {
	kept := pairs[:0]
	for _, p := range pairs {
		if p.name != name {
			kept = append(kept, p)
		}
	}
	return kept
}
