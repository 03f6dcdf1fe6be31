package expr

import (
	"slices"
	"strconv"
	"strings"

	"bailing/shared/awslocal/dynamodb/attr"
)

// element is one step of a document path: a map member, or a list index when name is empty.
type element struct {
	name  string
	index int
}

func (e element) isIndex() bool { return e.name == "" }

// path is a document path; the first element is an attribute name.
type path []element

func (p path) root() string { return p[0].name }

// String is the form that error messages show: [a, b, [3]].
func (p path) String() string {
	parts := make([]string, len(p))
	for i, e := range p {
		parts[i] = e.name
		if e.isIndex() {
			parts[i] = "[" + strconv.Itoa(e.index) + "]"
		}
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// lookup finds the value at p; ok is false when any step is missing or has another type.
func (p path) lookup(item attr.Map) (v attr.Value, ok bool) {
	v = item
	for _, e := range p {
		switch in := v.(type) {
		case attr.Map:
			if v, ok = in[e.name]; !ok || e.isIndex() {
				return nil, false
			}
		case attr.List:
			if !e.isIndex() || e.index >= len(in) {
				return nil, false
			}
			v = in[e.index]
		default:
			return nil, false
		}
	}
	return v, true
}

// tree holds several paths that neither overlap nor contradict each other, each with something to do at its end.
type tree[T any] struct {
	members map[string]*tree[T]
	indexes map[int]*tree[T]
	path    path // set at the end of a path
	leaf    *T
}

// add puts a path into the tree. clash is a path already there that overlaps with p (one is a prefix of the other), or
// conflicts with it (one treats a value as a list, the other as a map).
func (t *tree[T]) add(p path, leaf *T) (clash path, conflict bool) {
	for _, e := range p {
		if t.leaf != nil {
			return t.path, false
		}
		if e.isIndex() {
			if t.members != nil {
				return t.anyPath(), true
			}
			if t.indexes == nil {
				t.indexes = map[int]*tree[T]{}
			}
			if t.indexes[e.index] == nil {
				t.indexes[e.index] = &tree[T]{}
			}
			t = t.indexes[e.index]
			continue
		}
		if t.indexes != nil {
			return t.anyPath(), true
		}
		if t.members == nil {
			t.members = map[string]*tree[T]{}
		}
		if t.members[e.name] == nil {
			t.members[e.name] = &tree[T]{}
		}
		t = t.members[e.name]
	}
	if t.leaf != nil || t.members != nil || t.indexes != nil {
		return t.anyPath(), false
	}
	t.leaf, t.path = leaf, p
	return nil, false
}

// anyPath returns one complete path at or below t.
func (t *tree[T]) anyPath() path {
	for t.leaf == nil {
		for _, child := range t.members {
			t = child
			break
		}
		for _, child := range t.indexes {
			t = child
			break
		}
	}
	return t.path
}

// addPath is add with the error message of expressions.
func addPath[T any](ps *parser, t *tree[T], p path, leaf *T) error {
	clash, conflict := t.add(p, leaf)
	if clash == nil {
		return nil
	}
	kind := "overlap"
	if conflict {
		kind = "conflict"
	}
	return ps.fail("Two document paths %s with each other; must remove or rewrite one of these paths; path one: %v, path two: %v", kind, clash, p)
}

// sortedKeys gives list indexes in order, which decides the order of what is kept and appended.
func sortedKeys[T any](m map[int]T) []int {
	keys := make([]int, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
