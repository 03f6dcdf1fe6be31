package attr

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
)

// ErrCorrupt means bytes that [AppendBinary] did not write.
var ErrCorrupt = errors.New("attr: corrupt binary value")

// Tags of the binary form. They are stored on disk: never renumber.
const (
	tagString byte = iota + 1
	tagNumber
	tagBinary
	tagFalse
	tagTrue
	tagNull
	tagStringSet
	tagNumberSet
	tagBinarySet
	tagList
	tagMap
)

// AppendBinary appends v's journal form: a tag, then length-prefixed content, map members sorted by name.
func AppendBinary(b []byte, v Value) []byte {
	switch x := v.(type) {
	case String:
		b = AppendText(append(b, tagString), string(x))
	case Number:
		b = AppendText(append(b, tagNumber), x.String())
	case Binary:
		b = AppendText(append(b, tagBinary), string(x))
	case Bool:
		if x {
			return append(b, tagTrue)
		}
		return append(b, tagFalse)
	case Null:
		b = append(b, tagNull)
	case StringSet:
		b = binary.AppendUvarint(append(b, tagStringSet), uint64(len(x)))
		for _, m := range x {
			b = AppendText(b, m)
		}
	case NumberSet:
		b = binary.AppendUvarint(append(b, tagNumberSet), uint64(len(x)))
		for _, m := range x {
			b = AppendText(b, m.String())
		}
	case BinarySet:
		b = binary.AppendUvarint(append(b, tagBinarySet), uint64(len(x)))
		for _, m := range x {
			b = AppendText(b, string(m))
		}
	case List:
		b = binary.AppendUvarint(append(b, tagList), uint64(len(x)))
		for _, e := range x {
			b = AppendBinary(b, e)
		}
	case Map:
		b = binary.AppendUvarint(append(b, tagMap), uint64(len(x)))
		for _, k := range slices.Sorted(maps.Keys(x)) {
			b = AppendBinary(AppendText(b, k), x[k])
		}
	}
	return b
}

// AppendText appends a length-prefixed string.
func AppendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// DecodeText reads what [AppendText] wrote and returns the rest.
func DecodeText(b []byte) (string, []byte, error) {
	n, rest, err := decodeCount(b)
	if err != nil {
		return "", nil, err
	}
	return string(rest[:n]), rest[n:], nil
}

// decodeCount reads a length that cannot exceed the bytes that follow it, so corrupt input cannot ask for much memory.
func decodeCount(b []byte) (int, []byte, error) {
	n, w := binary.Uvarint(b)
	if w <= 0 || n > uint64(len(b)-w) {
		return 0, nil, ErrCorrupt
	}
	return int(n), b[w:], nil
}

// DecodeBinary reads one value and returns the rest.
func DecodeBinary(b []byte) (Value, []byte, error) { return decodeBinary(b, 0) }

func decodeBinary(b []byte, level int) (Value, []byte, error) {
	// An item is a map whose attributes are level 1.
	if len(b) == 0 || level > MaxDepth {
		return nil, nil, ErrCorrupt
	}
	tag, b := b[0], b[1:]
	switch tag {
	case tagFalse:
		return Bool(false), b, nil
	case tagTrue:
		return Bool(true), b, nil
	case tagNull:
		return Null{}, b, nil
	case tagString, tagNumber, tagBinary:
		s, rest, err := DecodeText(b)
		if err != nil {
			return nil, nil, err
		}
		v, err := scalarFromText(tag, s)
		return v, rest, err
	case tagStringSet, tagNumberSet, tagBinarySet:
		return decodeSet(tag, b)
	case tagList:
		return decodeList(b, level)
	case tagMap:
		return decodeMap(b, level)
	}
	return nil, nil, ErrCorrupt
}

func scalarFromText(tag byte, s string) (Value, error) {
	switch tag {
	case tagString:
		return String(s), nil
	case tagBinary:
		return Binary(s), nil
	}
	n, err := ParseNumber(s)
	if err != nil {
		return nil, errors.Join(ErrCorrupt, err)
	}
	return n, nil
}

func decodeSet(tag byte, b []byte) (Value, []byte, error) {
	n, b, err := decodeCount(b)
	if err != nil {
		return nil, nil, err
	}
	texts := make([]string, n)
	for i := range texts {
		if texts[i], b, err = DecodeText(b); err != nil {
			return nil, nil, err
		}
	}
	switch tag {
	case tagStringSet:
		return StringSet(texts), b, nil
	case tagBinarySet:
		set := make(BinarySet, n)
		for i, t := range texts {
			set[i] = Binary(t)
		}
		return set, b, nil
	}
	set := make(NumberSet, n)
	for i, t := range texts {
		if set[i], err = ParseNumber(t); err != nil {
			return nil, nil, errors.Join(ErrCorrupt, err)
		}
	}
	return set, b, nil
}

func decodeList(b []byte, level int) (Value, []byte, error) {
	n, b, err := decodeCount(b)
	if err != nil {
		return nil, nil, err
	}
	list := make(List, n)
	for i := range list {
		if list[i], b, err = decodeBinary(b, level+1); err != nil {
			return nil, nil, err
		}
	}
	return list, b, nil
}

func decodeMap(b []byte, level int) (Value, []byte, error) {
	n, b, err := decodeCount(b)
	if err != nil {
		return nil, nil, err
	}
	m := make(Map, n)
	for range n {
		var name string
		if name, b, err = DecodeText(b); err != nil {
			return nil, nil, err
		}
		if m[name], b, err = decodeBinary(b, level+1); err != nil {
			return nil, nil, err
		}
	}
	return m, b, nil
}
