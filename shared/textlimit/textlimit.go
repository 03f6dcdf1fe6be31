package textlimit

import (
	"strings"
	"unicode/utf8"
)

// next reads the code point at the start of s: its length in bytes and in UTF-16 units. s is not empty.
func next(s string) (bytes, units int) {
	if s[0] < utf8.RuneSelf {
		return 1, 1
	}
	r, n := utf8.DecodeRuneInString(s)
	switch {
	case r > 0xFFFF:
		return n, 2
	case n == 1 && isSurrogate(s):
		return 3, 1
	}
	return n, 1
}

// isSurrogate reports whether s begins with a surrogate in three-byte form.
func isSurrogate(s string) bool {
	return len(s) >= 3 && s[0] == 0xED && s[1] >= 0xA0 && s[1] <= 0xBF && s[2]&0xC0 == 0x80
}

// Len is the length of s in UTF-16 code units.
func Len(s string) int {
	n := 0
	for len(s) > 0 {
		b, u := next(s)
		s, n = s[b:], n+u
	}
	return n
}

// Fits reports whether Len(s) <= max, without reading further than it must.
func Fits(s string, max int) bool {
	if len(s) <= max { // no unit takes less than a byte
		return true
	}
	return max >= 0 && len(s) <= 3*max && len(Cut(s, max)) == len(s) // none takes more than three
}

// Cut is the longest prefix of s of at most max UTF-16 code units that ends between code points (core Appendix E 8).
func Cut(s string, max int) string {
	if len(s) <= max {
		return s
	}
	i := 0
	for left := max; i < len(s); {
		b, u := next(s[i:])
		if left -= u; left < 0 {
			break
		}
		i += b
	}
	return s[:i]
}

// CutRunes is the prefix of s of at most max code points.
func CutRunes(s string, max int) string {
	if len(s) <= max {
		return s
	}
	i := 0
	for n := 0; n < max && i < len(s); n++ {
		b, _ := next(s[i:])
		i += b
	}
	return s[:i]
}

// isSpace tells ECMAScript's white space and line terminators. It differs from unicode.IsSpace: U+0085 is none, U+FEFF is.
func isSpace(r rune) bool {
	switch r {
	case '\t', '\n', '\v', '\f', '\r', ' ', 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF:
		return true
	}
	return r >= 0x2000 && r <= 0x200A
}

// Trim removes leading and trailing ECMAScript white space and line terminators.
func Trim(s string) string { return strings.TrimFunc(s, isSpace) }

// Blank reports whether s holds nothing but ECMAScript white space: the opposite of the pattern \S (core §1.8).
func Blank(s string) bool {
	for _, r := range s {
		if !isSpace(r) {
			return false
		}
	}
	return true
}
