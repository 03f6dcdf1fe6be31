package capability

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"sync"

	"bailing/shared/canonical"
)

// kinds is a set of JSON Schema types.
type kinds uint8

const (
	kindNull kinds = 1 << iota
	kindBoolean
	kindInteger
	kindNumber
	kindString
	kindArray
	kindObject
	kindOther // a type name that JSON does not have: matches nothing, but the schema is typed
)

var kindNames = map[string]kinds{
	"null": kindNull, "boolean": kindBoolean, "integer": kindInteger, "number": kindNumber,
	"string": kindString, "array": kindArray, "object": kindObject,
}

// has reports whether v is of one of the kinds. An integer is a number without a fraction, however it is written.
func (k kinds) has(v canonical.Value) bool {
	switch v.Kind() {
	case canonical.Null:
		return k&kindNull != 0
	case canonical.Bool:
		return k&kindBoolean != 0
	case canonical.Number:
		return k&kindNumber != 0 || k&kindInteger != 0 && v.IsInteger()
	case canonical.String:
		return k&kindString != 0
	case canonical.Array:
		return k&kindArray != 0
	case canonical.Object:
		return k&kindObject != 0
	}
	return false
}

// schema is the evaluated part of a JSON schema (core §5.5). A nil *schema accepts anything. It is laid out so that accepting
// an object takes one walk over its members; what a refusal must say is found out when there is one.
type schema struct {
	types      kinds // 0: untyped
	nullable   bool
	enum       map[string]struct{} // canonical forms; nil: any
	minLength  int
	maxLength  int // -1: none
	minimum    *bound
	maximum    *bound
	items      *schema
	properties map[string]property // every member that something is said about
	required   []string
	distinct   int     // names in required, each counted once
	additional *schema // for undeclared members, when open
	open       bool    // undeclared members are accepted
}

// property is what a schema says about the member of one name.
type property struct {
	schema   *schema // nil if only an alternative declares it
	declared bool
	required bool
}

// bound is a limit. Its exact value is kept too, so that integers beyond 2^53 compare exactly (D16).
type bound struct {
	value canonical.Value
	whole int64
	isInt bool // whole is the value
}

// maxStoredDepth is deeper than any tool that the compiler makes: references can nest what documents cannot.
const maxStoredDepth = 1024

// preparation is a tool's compiled input schema, made at first use and shared by copies of the tool.
type preparation struct {
	once     sync.Once
	root     *schema
	reserved string // a declared header parameter with a reserved name
	rules    []preparedRule
	err      error
}

// Prepare makes the tool compile its schema once instead of at every call. Tools that come from JSON or from the compiler
// are prepared; call it after building a Tool by hand or changing its schema or the places of its arguments, before the tool
// is shared.
func (t *Tool) Prepare() { t.prepared = new(preparation) }

func (t *Tool) compiled() (*preparation, error) {
	p := t.prepared
	if p == nil {
		p = new(preparation)
	}
	p.once.Do(func() { p.err = p.build(t) })
	return p, p.err
}

func (p *preparation) build(t *Tool) error {
	v, err := canonical.Parse(t.InputSchema, canonical.Limits{MaxDepth: maxStoredDepth})
	if err != nil {
		return fmt.Errorf("input schema of tool %q: %w", t.Name, err)
	}
	if v.Kind() != canonical.Object {
		return fmt.Errorf("input schema of tool %q is not an object", t.Name)
	}
	p.root = newSchema(v)
	p.root.open, p.root.additional = false, nil // arguments are declared, whatever the schema says about others
	for name, in := range t.ParamIn {
		if !p.root.properties[name].declared {
			p.root.declare(name, nil)
		}
		if in == InHeader && ReservedHeader(name) && (p.reserved == "" || name < p.reserved) {
			p.reserved = name
		}
	}
	p.rules, err = prepareRules(t)
	return err
}

// newSchema reads the keywords that core §5.5 evaluates and ignores the rest. What is not a schema, and the schema `true`,
// accept anything; the compiler refuses what would be a mistake.
func newSchema(v canonical.Value) *schema {
	if v.Kind() != canonical.Object {
		return nil
	}
	s := &schema{maxLength: -1, properties: make(map[string]property)}
	said := false // something about members
	for key, m := range v.Members() {
		switch key {
		case "type":
			s.types = typeSet(m)
		case "nullable":
			s.nullable = m.Bool()
		case "enum":
			s.enum = enumSet(m)
		case "minLength":
			s.minLength = length(m, 0)
		case "maxLength":
			s.maxLength = length(m, -1)
		case "minimum":
			s.minimum = newBound(m)
		case "maximum":
			s.maximum = newBound(m)
		case "items":
			s.items = newSchema(m)
		case "required":
			s.require(m)
		case "properties":
			said = true
			for name, p := range m.Members() {
				s.declare(name, newSchema(p))
			}
		case "additionalProperties":
			said = true
			s.open = s.open || m.Kind() == canonical.Object || m.Bool()
			s.additional = newSchema(m)
		case "patternProperties":
			s.open = true // declared by patterns, which are the business's to check
		}
	}
	if !said && s.types == 0 {
		s.open = true // untyped accepts anything
	}
	s.declareAlternatives(v, 0)
	return s
}

func (s *schema) declare(name string, p *schema) {
	known := s.properties[name]
	s.properties[name] = property{schema: p, declared: true, required: known.required}
}

func (s *schema) require(names canonical.Value) {
	for _, n := range names.Elems() {
		name := n.Text()
		s.required = append(s.required, name)
		if known := s.properties[name]; !known.required {
			known.required = true
			s.properties[name] = known
			s.distinct++
		}
	}
}

// declareAlternatives adds the members that only oneOf, anyOf or allOf declare. They are known but not
// evaluated: which alternative applies is for the business to say.
func (s *schema) declareAlternatives(v canonical.Value, depth int) {
	if depth > MaxArgumentDepth {
		return
	}
	for _, keyword := range [...]string{"oneOf", "anyOf", "allOf"} {
		list, _ := v.Get(keyword)
		for _, alternative := range list.Elems() {
			if more, ok := alternative.Get("additionalProperties"); ok && (more.Kind() == canonical.Object || more.Bool()) {
				s.open = true
			}
			properties, _ := alternative.Get("properties")
			for name := range properties.Members() {
				if !s.properties[name].declared {
					s.declare(name, nil)
				}
			}
			s.declareAlternatives(alternative, depth+1)
		}
	}
}

func typeSet(v canonical.Value) kinds {
	if v.Kind() == canonical.String {
		if k, ok := kindNames[v.Text()]; ok {
			return k
		}
		return kindOther
	}
	var set kinds
	for _, name := range v.Elems() {
		set |= typeSet(name)
	}
	return set
}

func enumSet(v canonical.Value) map[string]struct{} {
	if v.Kind() != canonical.Array {
		return nil
	}
	set := make(map[string]struct{})
	for _, member := range v.Elems() {
		set[string(member.Canonical())] = struct{}{}
	}
	return set
}

// length reads a length keyword. One that no string reaches is no limit at all, or one that nothing meets.
func length(v canonical.Value, absent int) int {
	f := math.Ceil(v.Float())
	if v.Kind() != canonical.Number || f < 0 {
		return absent
	}
	return int(min(f, math.MaxInt32))
}

func newBound(v canonical.Value) *bound {
	if v.Kind() != canonical.Number {
		return nil
	}
	b := &bound{value: v}
	b.whole, b.isInt = v.Int64()
	return b
}

// compare is negative, zero or positive as v is below, at or above the bound.
func (b *bound) compare(v canonical.Value) int {
	if b.isInt {
		if x, ok := v.Int64(); ok {
			return cmp.Compare(x, b.whole)
		}
	}
	if c := cmp.Compare(v.Float(), b.value.Float()); c != 0 {
		return c
	}
	x, okX := new(big.Rat).SetString(v.Number())
	y, okY := new(big.Rat).SetString(b.value.Number())
	if !okX || !okY {
		return 0
	}
	return x.Cmp(y)
}

// missing yields the required members that object v lacks, in the order of the schema, at most limit of them.
func (s *schema) missing(v canonical.Value, limit int) []string {
	present := make(map[string]bool)
	for name := range v.Members() {
		present[name] = true
	}
	var names []string
	for _, name := range s.required {
		if !present[name] && len(names) < limit {
			names = append(names, name)
		}
	}
	return names
}

// undeclared yields the first members of object v that the schema does not declare, at most limit of them.
func (s *schema) undeclared(v canonical.Value, limit int) []string {
	var names []string
	for name := range v.Members() {
		if !s.properties[name].declared && len(names) < limit {
			names = append(names, name)
		}
	}
	return names
}
