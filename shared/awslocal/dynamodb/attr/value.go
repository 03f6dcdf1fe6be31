package attr

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// MaxDepth is how deep lists and maps may nest; the attribute itself is level 1.
const MaxDepth = 32

// Error is a value that DynamoDB refuses. Its text is fit for a ValidationException.
type Error struct{ Reason string }

func (e *Error) Error() string { return e.Reason }

func invalid(format string, a ...any) error { return &Error{fmt.Sprintf(format, a...)} }

// Kind is a value's type, spelled as on the wire.
type Kind string

// The types of attribute values.
const (
	KindString    Kind = "S"
	KindNumber    Kind = "N"
	KindBinary    Kind = "B"
	KindBool      Kind = "BOOL"
	KindNull      Kind = "NULL"
	KindStringSet Kind = "SS"
	KindNumberSet Kind = "NS"
	KindBinarySet Kind = "BS"
	KindList      Kind = "L"
	KindMap       Kind = "M"
)

// ValidKind reports whether k names one of the ten types.
func ValidKind(k Kind) bool {
	switch k {
	case KindString, KindNumber, KindBinary, KindBool, KindNull, KindStringSet, KindNumberSet, KindBinarySet, KindList, KindMap:
		return true
	}
	return false
}

// Value is one attribute value: [String], [Number], [Binary], [Bool], [Null], [StringSet], [NumberSet], [BinarySet],
// [List] or [Map].
type Value interface {
	Kind() Kind
	// Size is the number of bytes that DynamoDB counts for the value without its name.
	Size() int
}

type (
	// String is UTF-8 text; it may be empty unless it is a key.
	String string
	// Binary holds raw bytes in a string, which makes it comparable and immutable.
	Binary string
	// Bool is true or false.
	Bool bool
	// Null is the value NULL.
	Null struct{}
	// StringSet holds distinct strings in the order they were given.
	StringSet []string
	// NumberSet holds numbers that differ by value.
	NumberSet []Number
	// BinarySet holds distinct byte strings.
	BinarySet []Binary
	// List is an ordered sequence of values of any type.
	List []Value
	// Map is a document, and also a whole item.
	Map map[string]Value
)

func (String) Kind() Kind    { return KindString }
func (Number) Kind() Kind    { return KindNumber }
func (Binary) Kind() Kind    { return KindBinary }
func (Bool) Kind() Kind      { return KindBool }
func (Null) Kind() Kind      { return KindNull }
func (StringSet) Kind() Kind { return KindStringSet }
func (NumberSet) Kind() Kind { return KindNumberSet }
func (BinarySet) Kind() Kind { return KindBinarySet }
func (List) Kind() Kind      { return KindList }
func (Map) Kind() Kind       { return KindMap }

// Equal compares by type and value: numbers by value, sets without regard to order, documents in depth.
func Equal(a, b Value) bool {
	switch x := a.(type) {
	case String, Bool, Null, Binary, Number:
		return a == b
	case StringSet:
		y, ok := b.(StringSet)
		return ok && sameMembers(x, y)
	case NumberSet:
		y, ok := b.(NumberSet)
		return ok && sameMembers(x, y)
	case BinarySet:
		y, ok := b.(BinarySet)
		return ok && sameMembers(x, y)
	case List:
		y, ok := b.(List)
		return ok && slices.EqualFunc(x, y, Equal)
	case Map:
		y, ok := b.(Map)
		if !ok || len(x) != len(y) {
			return false
		}
		for k, v := range x {
			if w, ok := y[k]; !ok || !Equal(v, w) {
				return false
			}
		}
		return true
	}
	return false
}

// sameMembers relies on set members being distinct.
func sameMembers[T comparable](a, b []T) bool {
	if len(a) != len(b) {
		return false
	}
	in := members(a)
	for _, m := range b {
		if _, ok := in[m]; !ok {
			return false
		}
	}
	return true
}

// Compare orders two values of one scalar type (string and binary by unsigned bytes, numbers by value). ok is false
// when the types differ or have no order.
func Compare(a, b Value) (order int, ok bool) {
	switch x := a.(type) {
	case String:
		if y, ok := b.(String); ok {
			return cmp.Compare(x, y), true
		}
	case Binary:
		if y, ok := b.(Binary); ok {
			return cmp.Compare(x, y), true
		}
	case Number:
		if y, ok := b.(Number); ok {
			return x.Cmp(y), true
		}
	}
	return 0, false
}

// Contains reports whether container holds element: a substring of a string or binary, a member of a set, or an
// element of a list.
func Contains(container, element Value) bool {
	switch c := container.(type) {
	case String:
		e, ok := element.(String)
		return ok && strings.Contains(string(c), string(e))
	case Binary:
		e, ok := element.(Binary)
		return ok && strings.Contains(string(c), string(e))
	case StringSet:
		e, ok := element.(String)
		return ok && slices.Contains(c, string(e))
	case NumberSet:
		e, ok := element.(Number)
		return ok && slices.Contains(c, e)
	case BinarySet:
		e, ok := element.(Binary)
		return ok && slices.Contains(c, e)
	case List:
		return slices.ContainsFunc(c, func(v Value) bool { return Equal(v, element) })
	}
	return false
}

// Union adds b's members to set a. ok is false when they are not sets of one type.
func Union(a, b Value) (union Value, ok bool) {
	switch x := a.(type) {
	case StringSet:
		if y, ok := b.(StringSet); ok {
			return StringSet(unite(x, y)), true
		}
	case NumberSet:
		if y, ok := b.(NumberSet); ok {
			return NumberSet(unite(x, y)), true
		}
	case BinarySet:
		if y, ok := b.(BinarySet); ok {
			return BinarySet(unite(x, y)), true
		}
	}
	return nil, false
}

// Difference takes b's members out of set a; an empty result is nil, because a set cannot be empty. ok is false
// when they are not sets of one type.
func Difference(a, b Value) (rest Value, ok bool) {
	switch x := a.(type) {
	case StringSet:
		if y, ok := b.(StringSet); ok {
			if r := without(x, y); len(r) > 0 {
				return StringSet(r), true
			}
			return nil, true
		}
	case NumberSet:
		if y, ok := b.(NumberSet); ok {
			if r := without(x, y); len(r) > 0 {
				return NumberSet(r), true
			}
			return nil, true
		}
	case BinarySet:
		if y, ok := b.(BinarySet); ok {
			if r := without(x, y); len(r) > 0 {
				return BinarySet(r), true
			}
			return nil, true
		}
	}
	return nil, false
}

func members[T comparable](s []T) map[T]struct{} {
	in := make(map[T]struct{}, len(s))
	for _, m := range s {
		in[m] = struct{}{}
	}
	return in
}

func unite[T comparable](a, b []T) []T {
	in, out := members(a), slices.Clone(a)
	for _, m := range b {
		if _, dup := in[m]; !dup {
			out = append(out, m)
		}
	}
	return out
}

func without[T comparable](a, b []T) []T {
	drop := members(b)
	var out []T
	for _, m := range a {
		if _, gone := drop[m]; !gone {
			out = append(out, m)
		}
	}
	return out
}

// IsSet reports whether v is one of the three set types.
func IsSet(v Value) bool {
	switch v.(type) {
	case StringSet, NumberSet, BinarySet:
		return true
	}
	return false
}

// CheckDepth refuses an item that nests deeper than [MaxDepth].
func CheckDepth(item Map) error {
	for _, v := range item {
		if depth(v) > MaxDepth {
			return errDepth()
		}
	}
	return nil
}

func errDepth() error {
	return invalid("Nesting Levels have exceeded supported limits: at most %d levels", MaxDepth)
}

func depth(v Value) int {
	deepest := 0
	switch x := v.(type) {
	case List:
		for _, e := range x {
			deepest = max(deepest, depth(e))
		}
	case Map:
		for _, e := range x {
			deepest = max(deepest, depth(e))
		}
	}
	return deepest + 1
}
