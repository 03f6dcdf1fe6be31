package canonical

import (
	"cmp"
	"unicode/utf8"
)

// Canonical order is that of UTF-16 code units. Code units written in one to three bytes each, as UTF-8 writes characters,
// have the same order as their bytes. Those bytes are the spelling of a key but for its escapes, and but for the characters
// that take four bytes in UTF-8 and two code units.

// special tells the bytes of a spelled key that do not stand for themselves in canonical order.
func special(c byte) bool { return c == '"' || c == '\\' || c >= 0xF0 }

// compareKeys orders two keys in canonical spelling. Each ends at its closing quotation mark, whatever follows.
func compareKeys[T ~string | ~[]byte](a, b T) int {
	i := 0
	for a[i] == b[i] && a[i] != '"' && a[i] != '\\' { // the same characters, whatever they are
		i++
	}
	switch x, y := a[i], b[i]; {
	case !special(x) && !special(y):
		return cmp.Compare(x, y)
	case x == '"' && y != '"': // a is the beginning of b
		return -1
	case x != '"' && y == '"':
		return 1
	}
	return compareSpecial(string(a[i:]), string(b[i:]))
}

func compareSpecial(a, b string) int {
	left, right := orderReader{text: a}, orderReader{text: b}
	for {
		x, y := left.next(), right.next()
		if x != y || x == 0 {
			return cmp.Compare(x, y)
		}
	}
}

// orderReader reads a spelled key as bytes in canonical order, up to its closing quotation mark.
type orderReader struct {
	text  string
	i     int
	ahead uint64 // what next returns next, the lowest byte first; 0: look at the text
}

// next returns the next byte plus one, and 0 after the last.
func (r *orderReader) next() byte {
	if c := r.text[r.i]; r.ahead == 0 && !special(c) {
		r.i++
		return c + 1 // below F0, so it fits
	}
	return r.nextSpecial()
}

// nextSpecial is next inside or before a character that is special.
func (r *orderReader) nextSpecial() byte {
	if c := r.text[r.i]; r.ahead == 0 && c == '\\' {
		u, n := unescape(r.text[r.i:])
		r.i += n
		r.ahead = orderBytes(u)
	} else if r.ahead == 0 && c != '"' {
		char, n := utf8.DecodeRuneInString(r.text[r.i:])
		r.i += n
		high, low := surrogates(char)
		r.ahead = orderBytes(high) | orderBytes(low)<<24
	}
	b := byte(r.ahead)
	r.ahead >>= 8
	return b
}

// prefix is the next four bytes as a number that has their order.
func (r *orderReader) prefix() uint32 {
	n, p := 4, uint32(0)
	if r.ahead == 0 { // what next does, for what most keys consist of
		for ; n > 0 && !special(r.text[r.i]); n-- {
			p = p<<8 | uint32(r.text[r.i]+1)
			r.i++
		}
		if r.text[r.i] == '"' {
			return p << (8 * n)
		}
	}
	for ; n > 0; n-- {
		p = p<<8 | uint32(r.next())
	}
	return p
}

// orderBytes is the bytes of a code unit that was escaped, a control character, quotation mark, backslash or surrogate, each
// plus one, the first lowest.
func orderBytes(u uint16) uint64 {
	if u < utf8.RuneSelf {
		return uint64(u) + 1
	}
	return (0xED | (0x80|uint64(u>>6&0x3F))<<8 | (0x80|uint64(u&0x3F))<<16) + 0x010101
}
