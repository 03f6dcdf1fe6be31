package attr

import (
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"
)

// MaxNameBytes is the longest attribute name.
const MaxNameBytes = 65535

// ItemFromWire reads an item or a key: a JSON object of attribute values, as encoding/json decodes it into an any.
func ItemFromWire(v any) (Map, error) {
	object, ok := v.(map[string]any)
	if !ok {
		return nil, invalid("An item must be a JSON object of attribute values")
	}
	return mapFromWire(object, 0)
}

// FromWire reads one attribute value: a JSON object with exactly one member, named after the type.
func FromWire(v any) (Value, error) { return fromWire(v, 1) }

func fromWire(v any, level int) (Value, error) {
	if level > MaxDepth {
		return nil, errDepth()
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, invalid("An attribute value must be a JSON object that names its type")
	}
	if len(object) != 1 {
		return nil, invalid("Supplied AttributeValue has %d datatypes set, must contain exactly one of the supported datatypes", len(object))
	}
	for kind, content := range object {
		return contentFromWire(Kind(kind), content, level)
	}
	panic("unreachable: the object has one member")
}

func contentFromWire(kind Kind, content any, level int) (Value, error) {
	switch kind {
	case KindString, KindNumber, KindBinary:
		s, ok := content.(string)
		if !ok {
			return nil, invalid("The content of type %s must be a JSON string", kind)
		}
		return scalarFromWire(kind, s)
	case KindBool:
		b, ok := content.(bool)
		if !ok {
			return nil, invalid("The content of type BOOL must be true or false")
		}
		return Bool(b), nil
	case KindNull:
		if b, ok := content.(bool); !ok || !b {
			return nil, invalid("One or more parameter values were invalid: Null attribute value types must have the value of true")
		}
		return Null{}, nil
	case KindStringSet, KindNumberSet, KindBinarySet:
		return setFromWire(kind, content)
	case KindList:
		elements, ok := content.([]any)
		if !ok {
			return nil, invalid("The content of type L must be a JSON array")
		}
		list := make(List, len(elements))
		for i, e := range elements {
			var err error
			if list[i], err = fromWire(e, level+1); err != nil {
				return nil, err
			}
		}
		return list, nil
	case KindMap:
		object, ok := content.(map[string]any)
		if !ok {
			return nil, invalid("The content of type M must be a JSON object")
		}
		return mapFromWire(object, level)
	}
	return nil, invalid("Supplied AttributeValue has an unknown datatype: %s", clip(string(kind)))
}

func mapFromWire(object map[string]any, level int) (Map, error) {
	m := make(Map, len(object))
	for name, e := range object {
		if name == "" || len(name) > MaxNameBytes {
			return nil, invalid("One or more parameter values were invalid: an attribute name must have 1 to %d bytes", MaxNameBytes)
		}
		v, err := fromWire(e, level+1)
		if err != nil {
			return nil, err
		}
		m[name] = v
	}
	return m, nil
}

func scalarFromWire(kind Kind, s string) (Value, error) {
	switch kind {
	case KindNumber:
		return ParseNumber(s)
	case KindBinary:
		raw, err := base64.StdEncoding.DecodeString(s)
		if err != nil {
			return nil, invalid("The content of type B is not base64: %v", err)
		}
		return Binary(raw), nil
	}
	return String(s), nil
}

func setFromWire(kind Kind, content any) (Value, error) {
	elements, ok := content.([]any)
	if !ok {
		return nil, invalid("The content of type %s must be a JSON array", kind)
	}
	if len(elements) == 0 {
		return nil, invalid("One or more parameter values were invalid: An %s set may not be empty", kind)
	}
	member := map[Kind]Kind{KindStringSet: KindString, KindNumberSet: KindNumber, KindBinarySet: KindBinary}[kind]
	seen := make(map[Value]struct{}, len(elements))
	var strs StringSet
	var nums NumberSet
	var bins BinarySet
	for _, e := range elements {
		s, ok := e.(string)
		if !ok {
			return nil, invalid("One or more parameter values were invalid: a member of an %s set must be a JSON string", kind)
		}
		v, err := scalarFromWire(member, s)
		if err != nil {
			return nil, err
		}
		if _, dup := seen[v]; dup {
			return nil, invalid("One or more parameter values were invalid: Input collection contains duplicates")
		}
		seen[v] = struct{}{}
		switch m := v.(type) {
		case String:
			strs = append(strs, string(m))
		case Number:
			nums = append(nums, m)
		case Binary:
			bins = append(bins, m)
		}
	}
	switch kind {
	case KindStringSet:
		return strs, nil
	case KindNumberSet:
		return nums, nil
	}
	return bins, nil
}

// AppendItem appends an item's JSON: {"name":{"S":"…"},…} with the names sorted.
func AppendItem(b []byte, item Map) []byte {
	b = append(b, '{')
	for i, name := range slices.Sorted(maps.Keys(item)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(AppendJSONString(b, name), ':')
		b = AppendWire(b, item[name])
	}
	return append(b, '}')
}

// AppendWire appends a value's JSON, for example {"N":"1.5"}.
func AppendWire(b []byte, v Value) []byte {
	b = append(append(append(b, `{"`...), v.Kind()...), `":`...)
	switch x := v.(type) {
	case String:
		b = AppendJSONString(b, string(x))
	case Number:
		b = AppendJSONString(b, x.String())
	case Binary:
		b = appendBase64(b, x)
	case Bool:
		b = strconv.AppendBool(b, bool(x))
	case Null:
		b = append(b, "true"...)
	case StringSet:
		b = appendArray(b, x, AppendJSONString)
	case NumberSet:
		b = appendArray(b, x, func(b []byte, n Number) []byte { return AppendJSONString(b, n.String()) })
	case BinarySet:
		b = appendArray(b, x, appendBase64)
	case List:
		b = appendArray(b, x, AppendWire)
	case Map:
		b = AppendItem(b, x)
	}
	return append(b, '}')
}

func appendArray[T any](b []byte, elements []T, one func([]byte, T) []byte) []byte {
	b = append(b, '[')
	for i, e := range elements {
		if i > 0 {
			b = append(b, ',')
		}
		b = one(b, e)
	}
	return append(b, ']')
}

func appendBase64(b []byte, v Binary) []byte {
	b = append(b, '"')
	b = base64.StdEncoding.AppendEncode(b, []byte(v))
	return append(b, '"')
}

// AppendJSONString appends s as a JSON string. Bytes that are not UTF-8 become U+FFFD.
func AppendJSONString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	for i, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r < 0x20:
			b = append(b, '\\', 'u', '0', '0', hex[r>>4], hex[r&15])
		case r < utf8.RuneSelf:
			b = append(b, s[i])
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}
