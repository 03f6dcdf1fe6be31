package compile

import (
	"slices"

	"bailing/shared/canonical"
	"bailing/shared/textlimit"
)

// merge is a schema that accepts what both a and b accept, as far as JSON Schema can say that in one object (D15). Where it
// cannot, two keywords contradict each other or would have to stand twice, and the fault says which.
func (d *document) merge(a, b *node, depth int) (*node, *fault) {
	if f := d.spend(len(a.members) + len(b.members) + 1); f != nil {
		return nil, f
	}
	if depth > MaxSchemaDepth {
		return nil, limitFault("schemas are nested too deeply")
	}
	switch {
	case a == b, isTrue(b):
		return a, nil
	case isTrue(a):
		return b, nil
	case a.kind != objectNode || b.kind != objectNode:
		if same(a, b) {
			return a, nil
		}
		return nil, conflict("allOf")
	}
	merged := slices.Clone(a.members)
	at := indexMembers(merged)
	for _, m := range b.members {
		i, ok := at[m.key]
		if !ok {
			at[m.key] = len(merged)
			merged = append(merged, m)
			continue
		}
		v, f := d.mergeKeyword(m.key, merged[i].value, m.value, depth)
		if f != nil {
			return nil, f
		}
		merged[i].value = v
	}
	if f := settleBounds(merged, at, a, b); f != nil {
		return nil, f
	}
	return newObject(merged), nil
}

func isTrue(n *node) bool { return n.kind == leafNode && n.leaf.Bool() }

func indexMembers(members []member) map[string]int {
	at := make(map[string]int, len(members))
	for i, m := range members {
		at[m.key] = i
	}
	return at
}

func conflict(keyword string) *fault {
	return faultf(codeSchemaConflict, "Make the parts of allOf agree, or write the combined schema out.",
		"the parts of allOf contradict each other in %q", textlimit.Cut(keyword, 200))
}

func (d *document) mergeKeyword(keyword string, a, b *node, depth int) (*node, *fault) {
	switch keyword {
	case "properties", "patternProperties":
		return d.mergeMaps(a, b, depth)
	case "items":
		return d.merge(a, b, depth+1)
	case "additionalProperties":
		if isFalse(a) {
			return a, nil
		}
		if isFalse(b) {
			return b, nil
		}
		return d.merge(a, b, depth+1)
	}
	if isAnnotation(keyword) || keyword == "nullable" {
		return a, nil // the outer schema, or the first part, knows best
	}
	if f := d.spend(1 + (a.size+b.size)/2); f != nil { // lists are compared element by element
		return nil, f
	}
	if v, ok := mergeValues(keyword, a.value(), b.value()); ok {
		return v, nil
	}
	if same(a, b) {
		return a, nil
	}
	return nil, conflict(keyword)
}

func isFalse(n *node) bool {
	return n.kind == leafNode && n.leaf.Kind() == canonical.Bool && !n.leaf.Bool()
}

// mergeMaps merges properties: one that both parts declare must satisfy both.
func (d *document) mergeMaps(a, b *node, depth int) (*node, *fault) {
	if a.kind != objectNode || b.kind != objectNode {
		return nil, conflict("properties")
	}
	if f := d.spend(len(a.members) + len(b.members)); f != nil {
		return nil, f
	}
	merged := slices.Clone(a.members)
	at := indexMembers(merged)
	for _, m := range b.members {
		i, ok := at[m.key]
		if !ok {
			merged = append(merged, m)
			continue
		}
		n, f := d.merge(merged[i].value, m.value, depth+1)
		if f != nil {
			if f.code == codeSchemaConflict {
				return nil, conflict(m.key)
			}
			return nil, f
		}
		merged[i].value = n
	}
	return newObject(merged), nil
}

// mergeValues merges keywords whose values are plain; false when the keyword has no such rule or the values no common ground.
func mergeValues(keyword string, a, b canonical.Value) (*node, bool) {
	switch keyword {
	case "required":
		return bothLists(a, b), a.Kind() == canonical.Array && b.Kind() == canonical.Array
	case "type":
		return mergeTypes(a, b)
	case "enum":
		return intersection(a, b)
	case "minimum", "minLength", "minItems", "minProperties", "exclusiveMinimum":
		if isFlag(keyword, a, b) {
			return newLeaf(a), true
		}
		if a.Kind() == canonical.Number && b.Kind() == canonical.Number {
			return newLeaf(larger(a, b)), true
		}
	case "maximum", "maxLength", "maxItems", "maxProperties", "exclusiveMaximum":
		if isFlag(keyword, a, b) {
			return newLeaf(a), true
		}
		if a.Kind() == canonical.Number && b.Kind() == canonical.Number {
			return newLeaf(smaller(a, b)), true
		}
	case "uniqueItems":
		return goLeaf(a.Bool() || b.Bool()), true
	}
	return nil, false
}

func bothLists(a, b canonical.Value) *node {
	var elems []*node
	seen := make(map[string]bool)
	for _, list := range [...]canonical.Value{a, b} {
		for _, e := range list.Elems() {
			if key := string(e.Canonical()); !seen[key] {
				seen[key] = true
				elems = append(elems, newLeaf(e))
			}
		}
	}
	return newLeaf(listValue(elems))
}

func intersection(a, b canonical.Value) (*node, bool) {
	inB := make(map[string]bool)
	for _, e := range b.Elems() {
		inB[string(e.Canonical())] = true
	}
	var elems []*node
	for _, e := range a.Elems() {
		if inB[string(e.Canonical())] {
			elems = append(elems, newLeaf(e))
		}
	}
	return newLeaf(listValue(elems)), len(elems) > 0
}

// listValue is a JSON array as a plain value, so that merged keywords can be merged again.
func listValue(elems []*node) canonical.Value {
	v, err := canonical.Parse(newArray(elems).appendTo(nil), canonical.Limits{})
	if err != nil {
		return canonical.Value{}
	}
	return v
}

// mergeTypes intersects two type keywords; an integer is also a number.
func mergeTypes(a, b canonical.Value) (*node, bool) {
	ta, tb := typeNames(a), typeNames(b)
	var common []string
	add := func(t string) {
		if !slices.Contains(common, t) {
			common = append(common, t)
		}
	}
	for _, t := range ta {
		switch {
		case slices.Contains(tb, t):
			add(t)
		case t == "number" && slices.Contains(tb, "integer"):
			add("integer")
		case t == "integer" && slices.Contains(tb, "number"):
			add("integer")
		}
	}
	switch len(common) {
	case 0:
		return nil, false
	case 1:
		return goLeaf(common[0]), true
	}
	return goLeaf(common), true
}

// typeNames are the types that a type keyword allows; none when it is absent or malformed.
func typeNames(v canonical.Value) []string {
	if v.Kind() == canonical.String {
		return []string{v.Text()}
	}
	var names []string
	for _, e := range v.Elems() {
		if e.Kind() == canonical.String {
			names = append(names, e.Text())
		}
	}
	return names
}
