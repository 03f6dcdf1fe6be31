package canonical

import (
	"strings"
	"unicode/utf8"
)

// surrogateAt reports the surrogate whose three-byte form (ED A0..BF 80..BF) is at s[i:].
func surrogateAt(s string, i int) (uint16, bool) {
	if i+2 >= len(s) || s[i] != 0xED || s[i+1] < 0xA0 || s[i+1] > 0xBF || s[i+2]&0xC0 != 0x80 {
		return 0, false
	}
	return 0xD000 | uint16(s[i+1]&0x3F)<<6 | uint16(s[i+2]&0x3F), true
}

// appendSurrogate appends the three-byte form of a surrogate.
func appendSurrogate(dst []byte, u uint16) []byte {
	return append(dst, 0xED, 0x80|byte(u>>6&0x3F), 0x80|byte(u&0x3F))
}

// surrogates is the pair of code units of a character beyond U+FFFF.
func surrogates(r rune) (high, low uint16) {
	r -= 0x10000
	return uint16(0xD800 + r>>10), uint16(0xDC00 + r&0x3FF)
}

// AppendString appends s as a JSON string in canonical spelling: only the quotation mark, the backslash and U+0000 to
// U+001F are escaped. A surrogate in WTF-8 form is written as its escape, a pair of them as the character it means; any
// other byte that is not UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if i++; plain(c) {
				continue
			}
			dst = appendRune(append(dst, s[from:i-1]...), rune(c))
			from = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r != utf8.RuneError || n > 1 {
			i += n
			continue
		}
		dst = append(dst, s[from:i]...)
		r, n = surrogateRune(s, i)
		dst = appendRune(dst, r)
		i += n
		from = i
	}
	return append(append(dst, s[from:]...), '"')
}

// surrogateRune reads what is at s[i:], which is not UTF-8: a surrogate pair, a lone surrogate, or a stray byte.
func surrogateRune(s string, i int) (rune, int) {
	high, ok := surrogateAt(s, i)
	if !ok {
		return utf8.RuneError, 1
	}
	if low, ok := surrogateAt(s, i+3); ok && high < 0xDC00 && low >= 0xDC00 {
		return 0x10000 + rune(high-0xD800)<<10 + rune(low-0xDC00), 6
	}
	return rune(high), 3
}

// decode is the content of a string from its canonical spelling, without quotation marks. Lone surrogates take
// their three-byte form.
func decode(s string) string {
	i := strings.IndexByte(s, '\\')
	if i < 0 {
		return s
	}
	dst := make([]byte, 0, len(s))
	for ; i >= 0; i = strings.IndexByte(s, '\\') {
		dst = append(dst, s[:i]...)
		u, n := unescape(s[i:])
		if u < utf8.RuneSelf {
			dst = append(dst, byte(u))
		} else {
			dst = appendSurrogate(dst, u)
		}
		s = s[i+n:]
	}
	return string(append(dst, s...))
}

// unescape is the code unit of the escape that s begins with, in canonical spelling, and the length of the escape.
func unescape(s string) (u uint16, n int) {
	switch c := s[1]; c {
	case 'b':
		return '\b', 2
	case 't':
		return '\t', 2
	case 'n':
		return '\n', 2
	case 'f':
		return '\f', 2
	case 'r':
		return '\r', 2
	case 'u':
		u, _ = hex4([]byte(s[2:6]), 0)
		return u, 6
	default:
		return uint16(c), 2
	}
}
