package config

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"

	"bailing/shared/canonical"
)

// Object is a configuration object: its members in the order in which they came. The zero Object has none.
type Object struct {
	names  []string
	values map[string]canonical.Value
}

// objectOf takes a JSON object apart.
func objectOf(v canonical.Value) Object {
	var o Object
	for name, m := range v.Members() {
		o.set(name, m)
	}
	return o
}

func (o *Object) set(name string, v canonical.Value) {
	if o.values == nil {
		o.values = map[string]canonical.Value{}
	}
	if _, there := o.values[name]; !there {
		o.names = append(o.names, name)
	}
	o.values[name] = v
}

func (o *Object) drop(name string) {
	delete(o.values, name)
	o.names = slices.DeleteFunc(o.names, func(n string) bool { return n == name })
}

// get is a member, and for "a.b" the member b of the object a; Invalid when it is not there.
func (o Object) get(name string) canonical.Value {
	first, rest, nested := strings.Cut(name, ".")
	v := o.values[first]
	if nested {
		v, _ = v.Get(rest)
	}
	return v
}

func (o Object) text(name string) string { return o.get(name).Text() }

// value is the object as one JSON value.
func (o Object) value() canonical.Value { return mustParse(o.appendJSON(nil)) }

func (o Object) appendJSON(dst []byte) []byte {
	dst = append(dst, '{')
	for i, name := range o.names {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(canonical.AppendString(dst, name), ':')
		dst = o.values[name].AppendCompact(dst)
	}
	return append(dst, '}')
}

// MarshalJSON writes the members in their order.
func (o Object) MarshalJSON() ([]byte, error) { return o.appendJSON(nil), nil }

var limits = canonical.Limits{MaxBytes: 32 << 20}

// mustParse is for JSON that was put together here, of values that were read within limits: it may be somewhat larger and deeper.
func mustParse(b []byte) canonical.Value {
	most := canonical.Limits{MaxBytes: canonical.MaxMaxBytes, MaxDepth: canonical.MaxMaxDepth, MaxNodes: math.MaxInt32}
	v, err := canonical.Parse(b, most)
	if err != nil {
		panic(err)
	}
	return v
}

func textValue(s string) canonical.Value { return mustParse(canonical.AppendString(nil, s)) }

// normal is what the hub keeps of an object: nothing that it computes, defaults in place of what is left out, and no empty texts.
// The secret is left out, too.
func (k *Kind) normal(o Object) Object {
	var n Object
	for _, name := range o.names {
		v := o.values[name]
		if k.computed(name) || name == k.Secret || empty(v) || name == "delivery" && noDelivery(v) {
			continue
		}
		switch name {
		case "base_url":
			v = textValue(strings.TrimRight(v.Text(), "/"))
		case "audience", "agent_client", "retry", "budget":
			v = withoutEmpty(v)
		}
		n.set(name, v)
	}
	for _, name := range slices.Sorted(maps.Keys(k.Defaults)) {
		n.fill(name, mustParse([]byte(k.Defaults[name])))
	}
	if k.Path == "tool-providers" && n.text("spec_source") == "url" {
		n.fill("spec_access_policy", textValue("signed_required"))
	}
	return n
}

// empty is what saves take for a member that is left out.
func empty(v canonical.Value) bool {
	return v.Kind() == canonical.Null || v.Kind() == canonical.String && v.Text() == ""
}

// withoutEmpty leaves out what is empty in an object.
func withoutEmpty(v canonical.Value) canonical.Value {
	if v.Kind() != canonical.Object {
		return v
	}
	var o Object
	for name, m := range v.Members() {
		if !empty(m) {
			o.set(name, m)
		}
	}
	return o.value()
}

func noDelivery(v canonical.Value) bool {
	kind, _ := v.Get("type")
	return kind.Text() == "none"
}

// fill sets a member that is not there. "a.b" is set only when there is an object a.
func (o *Object) fill(name string, v canonical.Value) {
	outer, inner, nested := strings.Cut(name, ".")
	if !nested {
		if _, there := o.values[name]; !there {
			o.set(name, v)
		}
		return
	}
	if o.values[outer].Kind() != canonical.Object {
		return
	}
	child := objectOf(o.values[outer])
	if present, there := child.values[inner]; there && present.Kind() != canonical.Null {
		return
	}
	child.set(inner, v)
	o.set(outer, child.value())
}

// Difference is a member that is not the same.
type Difference struct {
	Member string          `json:"member"` // "a.b" for the member b of a
	Was    canonical.Value `json:"was,omitzero"`
	Now    canonical.Value `json:"now,omitzero"` // Invalid: not there
}

// differences compares objects member by member. Lists are compared as a whole.
func differences(was, now Object, prefix string) (all []Difference) {
	names := slices.Clone(now.names)
	for _, name := range was.names {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		a, b := was.values[name], now.values[name]
		switch {
		case same(a, b):
		case nested(a, b) || nested(b, a):
			all = append(all, differences(objectOf(a), objectOf(b), prefix+name+".")...)
		default:
			all = append(all, Difference{prefix + name, a, b})
		}
	}
	return all
}

// nested reports whether a is an object whose members say more than a as a whole: b is one, too, or is not there.
func nested(a, b canonical.Value) bool {
	return a.Kind() == canonical.Object && (b.Kind() == canonical.Object || b.Kind() == canonical.Invalid && a.Len() > 0)
}

func same(a, b canonical.Value) bool {
	return a.Kind() == b.Kind() && bytes.Equal(a.Canonical(), b.Canonical())
}

// indented is the object as JSON that people read.
func (o Object) indented() ([]byte, error) {
	var b bytes.Buffer
	err := json.Indent(&b, o.appendJSON(nil), "", "  ")
	return b.Bytes(), err
}
