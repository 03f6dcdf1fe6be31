package canonical

import (
	"math"
	"strconv"
	"unicode/utf8"
)

// plain tells the bytes that end a run of ordinary characters inside a string.
func plain(c byte) bool { return c >= ' ' && c != '"' && c != '\\' }

// string reads the string that opens at i and brings its escapes into canonical spelling. escaped tells whether it
// had any.
func (p *parser) string(i int) (escaped bool, next int, err error) {
	src := p.src
	for i++; ; i++ {
		for i < len(src) && plain(src[i]) {
			i++
		}
		if i >= len(src) {
			return false, 0, p.fail(i, "")
		}
		switch src[i] {
		case '"':
			return escaped, i + 1, nil
		case '\\':
			escaped = true
			if i, err = p.escape(i); err != nil {
				return false, 0, err
			}
		default:
			return false, 0, p.fail(i, "unescaped control character in a string")
		}
	}
}

// escape reads the escape at i and returns the offset of its last byte.
func (p *parser) escape(i int) (int, error) {
	if i+1 >= len(p.src) {
		return 0, p.fail(i+1, "")
	}
	switch p.src[i+1] {
	case '"', '\\', 'b', 'f', 'n', 'r', 't':
		return i + 1, nil
	case '/':
		p.replace(i, i+2, '/')
		return i + 1, nil
	case 'u':
	default:
		return 0, p.fail(i+1, "unknown escape")
	}
	u, ok := hex4(p.src, i+2)
	if !ok {
		return 0, p.fail(i+1, "malformed escape")
	}
	end := i + 6
	r := rune(u)
	if u >= 0xD800 && u < 0xDC00 && end+1 < len(p.src) && p.src[end] == '\\' && p.src[end+1] == 'u' {
		if low, ok := hex4(p.src, end+2); ok && low >= 0xDC00 && low < 0xE000 {
			r = 0x10000 + rune(u-0xD800)<<10 + rune(low-0xDC00)
			end += 6
		}
	}
	var buf [8]byte
	with := appendRune(buf[:0], r)
	if string(with) != string(p.src[i:end]) {
		p.replace(i, end, with...)
	}
	return end - 1, nil
}

func hex4(src []byte, i int) (uint16, bool) {
	if i+4 > len(src) {
		return 0, false
	}
	u := uint16(0)
	for _, c := range src[i : i+4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		u = u<<4 | uint16(c)
	}
	return u, true
}

const hexDigits = "0123456789abcdef"

// appendRune appends one character of a string in canonical spelling; a surrogate becomes its escape.
func appendRune(dst []byte, r rune) []byte {
	switch {
	case r == '"' || r == '\\':
		return append(dst, '\\', byte(r))
	case r < ' ':
		if c := "\x00\x00\x00\x00\x00\x00\x00\x00btn\x00fr"; int(r) < len(c) && c[r] != 0 {
			return append(dst, '\\', c[r])
		}
		return append(dst, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&15])
	case r >= 0xD800 && r < 0xE000:
		return append(dst, '\\', 'u', 'd', hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
	}
	return utf8.AppendRune(dst, r)
}

// number reads the number at i. An integer literal keeps its digits, whatever its size (D16; up to 2^53 that is the
// ECMAScript form anyway); all others take the shortest form of their double.
func (p *parser) number(i int) (int, error) {
	src, start := p.src, i
	if src[i] == '-' {
		i++
	}
	first := i
	if i = digits(src, i); i == first {
		return 0, p.fail(i, "malformed number")
	}
	if src[first] == '0' && i > first+1 {
		return 0, p.fail(first+1, "number with a leading zero")
	}
	point, whole := i, true
	if i < len(src) && src[i] == '.' {
		whole = false
		if i = digits(src, i+1); i == point+1 {
			return 0, p.fail(i, "malformed number")
		}
	}
	exponent := i < len(src) && src[i]|0x20 == 'e'
	if exponent {
		whole = false
		if i++; i < len(src) && (src[i] == '+' || src[i] == '-') {
			i++
		}
		from := i
		if i = digits(src, i); i == from {
			return 0, p.fail(i, "malformed number")
		}
	}
	if whole {
		if src[start] == '-' && src[first] == '0' {
			p.replace(start, i, '0')
		}
		return i, nil
	}
	if n := shortest(src[first:i], point-first); n > 0 && !exponent {
		switch end := first + n; {
		case n == 1 && src[first] == '0':
			p.replace(start, i, '0')
		case end < i:
			p.replace(end, i)
		}
		return i, nil
	}
	f, err := strconv.ParseFloat(string(src[start:i]), 64)
	if err != nil {
		return 0, p.fail(start, "number out of range")
	}
	var buf [32]byte
	if with := AppendFloat(buf[:0], f); string(with) != string(src[start:i]) {
		p.replace(start, i, with...)
	}
	return i, nil
}

func digits(src []byte, i int) int {
	for i < len(src) && src[i]-'0' <= 9 {
		i++
	}
	return i
}

// shortest recognises decimal fractions that need no conversion: the shortest form of the double is the first n bytes of lit,
// whose point is at the given place. It is 0 where that is not certain. Doubles tell all decimals of 15 digits apart, so without
// the zeros at its end such a fraction is as short as can be; below 1e-6 the exponent form would be used.
func shortest(lit []byte, point int) (n int) {
	if n = len(lit); n > 16 {
		return 0
	}
	for lit[n-1] == '0' {
		n--
	}
	if n == point+1 {
		return point
	}
	if lit[0] != '0' {
		return n
	}
	for _, c := range lit[point+1 : min(n, point+7)] {
		if c != '0' {
			return n
		}
	}
	return 0
}

// AppendFloat appends a finite f in ECMAScript's shortest form; -0 is 0. NaN and infinities append null, as
// JSON.stringify does.
func AppendFloat(dst []byte, f float64) []byte {
	abs := math.Abs(f)
	switch {
	case f == 0:
		return append(dst, '0')
	case abs > math.MaxFloat64 || f != f:
		return append(dst, "null"...)
	case abs >= 1e-6 && abs < 1e21:
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	if n := len(dst); dst[n-2] == '0' && dst[n-4] == 'e' { // e-07 is written e-7
		dst = append(dst[:n-2], dst[n-1])
	}
	return dst
}
