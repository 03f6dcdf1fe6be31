package catalog

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// lower is String.prototype.toLowerCase of ECMAScript, without regard to a language: each character becomes its lower-case
// mapping, and two differ from the simple mapping of package unicode. U+0130 (capital I with a dot) becomes two characters,
// and U+03A3 (capital sigma) is a final sigma at the end of a word. The result is valid UTF-8: what is not becomes U+FFFD.
func lower(s string) string {
	if !strings.Contains(s, "\u0130") && !strings.Contains(s, "\u03A3") {
		return strings.ToLower(s)
	}
	var b strings.Builder
	b.Grow(len(s) + 8)
	for i, r := range s {
		switch {
		case r == '\u0130':
			b.WriteString("i\u0307")
		case r == '\u03A3' && endsWord(s[:i], s[i+utf8.RuneLen(r):]):
			b.WriteRune('\u03C2')
		default:
			b.WriteRune(unicode.ToLower(r))
		}
	}
	return b.String()
}

// endsWord is the condition Final_Sigma of the Unicode standard (3.13): a cased letter stands before, none after, and
// characters that case ignores between them do not count.
func endsWord(before, after string) bool {
	cased := false
	for before != "" && !cased {
		r, n := utf8.DecodeLastRuneInString(before)
		if before = before[:len(before)-n]; !ignoresCase(r) {
			if cased = isCased(r); !cased {
				return false
			}
		}
	}
	for _, r := range after {
		if !ignoresCase(r) {
			return cased && !isCased(r)
		}
	}
	return cased
}

func isCased(r rune) bool {
	return unicode.In(r, unicode.Lu, unicode.Ll, unicode.Lt, unicode.Other_Lowercase, unicode.Other_Uppercase)
}

// ignoresCase is the property Case_Ignorable: marks, formats, modifiers, and punctuation inside words.
func ignoresCase(r rune) bool {
	switch r {
	case '\'', '.', ':', 0xB7, 0x387, 0x55F, 0x5F4, 0x2018, 0x2019, 0x2024, 0x2027, 0xFE13, 0xFE52, 0xFE55, 0xFF07, 0xFF0E, 0xFF1A:
		return true
	}
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk)
}
