package capability

import (
	"strings"
	"unicode/utf8"
)

const upperHex = "0123456789ABCDEF"

// appendPathSegment percent-encodes everything but A-Z a-z 0-9 - _ . ! ~ * ' ( ) (core §3.3, path). It fails for a lone
// surrogate, which no UTF-8 path can carry.
func appendPathSegment(dst []byte, s string) ([]byte, bool) {
	if !utf8.ValidString(s) {
		return dst, false
	}
	for i := 0; i < len(s); i++ {
		if c := s[i]; isAlnum(c) || strings.IndexByte("-_.!~*'()", c) >= 0 {
			dst = append(dst, c)
		} else {
			dst = append(dst, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return dst, true
}

// appendForm is the form encoding of core §3.3 (query): A-Z a-z 0-9 * - . _ stay, a space becomes +, the rest is
// percent-encoded. A lone surrogate becomes U+FFFD, as URL parsers do it.
func appendForm(dst []byte, s string) []byte {
	s = strings.ToValidUTF8(s, "\uFFFD")
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case isAlnum(c) || strings.IndexByte("*-._", c) >= 0:
			dst = append(dst, c)
		case c == ' ':
			dst = append(dst, '+')
		default:
			dst = append(dst, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return dst
}

// appendTemplate copies the literal part of a path template. Octets that a request target cannot hold are percent-encoded
// and existing escapes are kept, so that HTTP stacks send the path exactly as it was signed.
func appendTemplate(dst []byte, s string) []byte {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case isAlnum(c) || strings.IndexByte("-_.!~*'()/:@&=+$,;", c) >= 0:
			dst = append(dst, c)
		case c == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]):
			dst = append(dst, c)
		default:
			dst = append(dst, '%', upperHex[c>>4], upperHex[c&15])
		}
	}
	return dst
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

// templatePart is a stretch of a path template: literal text, or the name of a placeholder.
type templatePart struct {
	text        string
	placeholder bool
}

func templateParts(path string) []templatePart {
	var parts []templatePart
	for path != "" {
		open := strings.IndexByte(path, '{')
		end := -1
		if open >= 0 {
			end = strings.IndexByte(path[open:], '}')
		}
		if end < 0 {
			return append(parts, templatePart{text: path})
		}
		if open > 0 {
			parts = append(parts, templatePart{text: path[:open]})
		}
		parts = append(parts, templatePart{text: path[open+1 : open+end], placeholder: true})
		path = path[open+end+1:]
	}
	return parts
}

// Placeholders are the names in braces of a path template, in order, each once.
func Placeholders(path string) []string {
	var names []string
	seen := make(map[string]bool)
	for _, p := range templateParts(path) {
		if p.placeholder && !seen[p.text] {
			seen[p.text] = true
			names = append(names, p.text)
		}
	}
	return names
}

// dotForms turns what servers and proxies may take for a dot, a slash or the end of a segment into these.
var dotForms = strings.NewReplacer("%2e", ".", "%2f", "/", "%5c", "/", `\`, "/", "%3b", ";")

// DotSegment reports whether a path holds a segment "." or "..", plain, percent-encoded, between encoded slashes or before
// parameters ("..;x"). HTTP stacks and proxies remove such segments, and the path that is served would no longer be the signed one.
func DotSegment(path string) bool {
	for segment := range strings.SplitSeq(dotForms.Replace(strings.ToLower(path)), "/") {
		switch segment, _, _ := strings.Cut(segment, ";"); segment {
		case ".", "..":
			return true
		}
	}
	return false
}
