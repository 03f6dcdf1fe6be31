package expr

import "bailing/shared/awslocal/dynamodb/attr"

// operand is something with a value: a path, a literal, or size(…) in conditions. ok is false when it is missing.
type operand interface {
	value(item attr.Map) (v attr.Value, ok bool)
	// String identifies the operand, to find an operator that compares something with itself.
	String() string
}

type literal struct {
	name string
	v    attr.Value
}

func (l literal) value(attr.Map) (attr.Value, bool) { return l.v, true }
func (l literal) String() string                    { return l.name }

func (p path) value(item attr.Map) (attr.Value, bool) { return p.lookup(item) }

// sizeOf is size(operand): bytes of a string or binary, members of a set or document.
type sizeOf struct{ of operand }

func (s sizeOf) value(item attr.Map) (attr.Value, bool) {
	v, ok := s.of.value(item)
	if !ok {
		return nil, false
	}
	n := 0
	switch x := v.(type) {
	case attr.String:
		n = len(x)
	case attr.Binary:
		n = len(x)
	case attr.StringSet:
		n = len(x)
	case attr.NumberSet:
		n = len(x)
	case attr.BinarySet:
		n = len(x)
	case attr.List:
		n = len(x)
	case attr.Map:
		n = len(x)
	default:
		return nil, false
	}
	return attr.NumberFromInt(int64(n)), true
}

func (s sizeOf) String() string { return "size(" + s.of.String() + ")" }
