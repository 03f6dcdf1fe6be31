package canonical

import (
	"iter"
	"strconv"
)

// Kind is the JSON type of a [Value].
type Kind uint8

// The kinds. Invalid is the kind of the zero Value and of members and elements that are not there.
const (
	Invalid Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

// String is the JSON Schema name of the kind ("null", "boolean", "number", ...), and "invalid" for Invalid.
func (k Kind) String() string {
	switch k {
	case Null:
		return "null"
	case Bool:
		return "boolean"
	case Number:
		return "number"
	case String:
		return "string"
	case Array:
		return "array"
	case Object:
		return "object"
	}
	return "invalid"
}

// Value is an immutable view of one value of a parsed document. It is small, meant to be passed by value, and safe
// for concurrent use. The zero Value is [Invalid]: every accessor answers with its zero result.
//
// A Value keeps the text of its whole document in memory. Do not compare Values with ==; use [Equal].
type Value struct {
	doc *document
	pos uint32 // where its text begins
	tab uint32 // its entry if it is a container that is not empty, else the first entry after it
}

// Kind is the JSON type of v.
func (v Value) Kind() Kind {
	if v.doc == nil {
		return Invalid
	}
	switch v.doc.text[v.pos] {
	case '{':
		return Object
	case '[':
		return Array
	case '"':
		return String
	case 't', 'f':
		return Bool
	case 'n':
		return Null
	}
	return Number
}

// text is the compact text of v, members in source order.
func (v Value) text() string {
	if v.doc == nil {
		return ""
	}
	end, _ := v.doc.skip(v.pos, v.tab)
	return v.doc.text[v.pos:end]
}

// flags tells which orders the text of v is in.
func (v Value) flags() uint32 {
	if c := v.doc.text[v.pos]; c != '{' && c != '[' || v.doc.empty(v.pos) {
		return flagCompact | flagCanonical
	}
	return v.doc.tab[v.tab].span
}

// Bool is the value of a boolean; false for any other kind.
func (v Value) Bool() bool { return v.doc != nil && v.doc.text[v.pos] == 't' }

// Text is the decoded content of a string; "" for any other kind. A lone surrogate, which JSON can express and UTF-8
// cannot, comes in its three-byte generalised form (WTF-8), which package textlimit counts correctly and
// [AppendString] writes back as the escape it was.
func (v Value) Text() string {
	if v.Kind() != String {
		return ""
	}
	t := v.text()
	return decode(t[1 : len(t)-1])
}

// Number is the canonical text of a number (core §5.7, D16); "" for any other kind.
func (v Value) Number() string {
	if v.Kind() != Number {
		return ""
	}
	return v.text()
}

// Float is the double nearest to a number; 0 for any other kind. An integer literal beyond the range of a double
// answers an infinity.
func (v Value) Float() float64 {
	f, _ := strconv.ParseFloat(v.Number(), 64) // out of range: the infinity is the answer
	return f
}

// IsInteger reports whether v is a number without a fractional part: 1, 1.0 and 1e21 are integers.
func (v Value) IsInteger() bool {
	n := v.Number()
	whole := n != ""
	for i := range len(n) {
		switch n[i] {
		case 'e':
			return n[i+1] == '+' // from 1e21 on, where doubles are whole; below 1e-6 otherwise
		case '.':
			whole = false
		}
	}
	return whole
}

// Int64 is the exact value of an integer; false for other kinds, fractions, and integers outside int64.
func (v Value) Int64() (int64, bool) {
	n, err := strconv.ParseInt(v.Number(), 10, 64)
	return n, err == nil
}

// Len is the number of elements of an array or members of an object; 0 for any other kind. It walks the direct
// children: call it once, not per step of a loop.
func (v Value) Len() int {
	n := 0
	switch v.Kind() {
	case Array:
		for range v.Elems() {
			n++
		}
	case Object:
		for range v.sourceMembers() {
			n++
		}
	}
	return n
}

// Elem is element i of an array, counted from 0, or the Invalid value. It walks from the first element; loop with
// [Value.Elems].
func (v Value) Elem(i int) Value {
	for k, e := range v.Elems() {
		if k == i {
			return e
		}
	}
	return Value{}
}

// Elems yields the elements of an array in order, and nothing for any other kind.
func (v Value) Elems() iter.Seq2[int, Value] {
	return func(yield func(int, Value) bool) {
		if v.Kind() != Array || v.doc.empty(v.pos) {
			return
		}
		pos, tab := v.pos+1, v.tab+1
		for i := 0; yield(i, Value{v.doc, pos, tab}); i++ {
			if pos, tab = v.doc.skip(pos, tab); v.doc.text[pos] != ',' {
				return
			}
			pos++
		}
	}
}

// sourceMembers yields the members of an object as they came, keys in their canonical spelling.
func (v Value) sourceMembers() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if v.Kind() != Object || v.doc.empty(v.pos) {
			return
		}
		pos, tab := v.pos+1, v.tab+1
		for more := true; more; {
			var m member
			m, pos, tab, more = v.doc.member(pos, tab)
			if !yield(v.doc.text[m.key+1:m.val-2], Value{v.doc, m.val, m.tab}) {
				return
			}
		}
	}
}

// Members yields the members of an object in ECMAScript property order: integer-like keys (0 to 4294967294) ascending,
// then the others as they came. Nothing for any other kind. Keys are decoded as by [Value.Text].
func (v Value) Members() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if v.Kind() != Object {
			return
		}
		if v.flags()&flagCompact != 0 {
			for key, m := range v.sourceMembers() {
				if !yield(decode(key), m) {
					return
				}
			}
			return
		}
		refs := v.doc.gather(nil, v.pos, v.tab)
		v.doc.sortProperties(refs)
		for _, r := range refs {
			if !yield(decode(v.doc.key(r.key)), v.doc.value(r)) {
				return
			}
		}
	}
}

// Get is the member named key; false if v is not an object or has no such member. It walks the members: to look up
// many keys of a large object, range over [Value.Members] once.
func (v Value) Get(key string) (Value, bool) {
	spelled := key
	for i := range len(key) {
		if c := key[i]; !plain(c) || c == 0xED { // ED begins the surrogates
			b := AppendString(nil, key)
			spelled = string(b[1 : len(b)-1])
			break
		}
	}
	for k, m := range v.sourceMembers() {
		if k == spelled {
			return m, true
		}
	}
	return Value{}, false
}
