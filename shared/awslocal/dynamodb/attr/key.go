package attr

// Key encoding. One key attribute becomes bytes whose order is the order of the values, and no encoding is a prefix
// of another, so encodings can be concatenated and still sort by their parts.
//
//	S, B  the bytes, 0x00 written as 0x00 0xFF, then 0x00 0x01
//	N     negative: 0x00, inverted exponent, inverted digits, 0xFF; zero: 0x01; positive: 0x02, exponent, digits, 0x00

// AppendKey appends the encoding of a string, number or binary value. Any other type is a defect of the caller.
func AppendKey(b []byte, v Value) []byte {
	switch x := v.(type) {
	case String:
		return append(appendEscaped(b, string(x)), 0x00, 0x01)
	case Binary:
		return append(appendEscaped(b, string(x)), 0x00, 0x01)
	case Number:
		return appendNumberKey(b, x)
	}
	panic("attr: a value of type " + string(v.Kind()) + " cannot be a key")
}

// AppendKeyPrefix appends what the encodings of all strings (or binaries) that begin with v have in common.
func AppendKeyPrefix(b []byte, v Value) []byte {
	switch x := v.(type) {
	case String:
		return appendEscaped(b, string(x))
	case Binary:
		return appendEscaped(b, string(x))
	}
	panic("attr: a value of type " + string(v.Kind()) + " has no prefixes")
}

func appendEscaped(b []byte, s string) []byte {
	for i := range len(s) {
		b = append(b, s[i])
		if s[i] == 0x00 {
			b = append(b, 0xFF)
		}
	}
	return b
}

func appendNumberKey(b []byte, v Number) []byte {
	if v.digits == "" {
		return append(b, 0x01)
	}
	first, flip, last := byte(0x02), byte(0x00), byte(0x00)
	if v.neg {
		first, flip, last = 0x00, 0xFF, 0xFF
	}
	b = append(b, first, byte(v.exp-minExponent)^flip)
	for i := range len(v.digits) {
		b = append(b, v.digits[i]^flip)
	}
	return append(b, last)
}
