package compile

import (
	"bytes"
	"slices"

	"bailing/shared/canonical"
)

// node is a resolved piece of a schema. Nodes are immutable and shared: a schema that a hundred operations refer to is
// resolved once.
type node struct {
	leaf    canonical.Value // anything but a schema object or list of schemas, as it stands in the document
	members []member        // of an object
	elems   []*node         // of an array
	kind    nodeKind
	size    int // bytes when written, references expanded; saturates
	height  int // levels of schemas

	readOnly bool // a schema with readOnly: true
}

type nodeKind uint8

const (
	leafNode nodeKind = iota
	objectNode
	arrayNode
)

type member struct {
	key   string
	value *node
}

func newLeaf(v canonical.Value) *node { return &node{leaf: v, size: v.Size()} }

func newObject(members []member) *node {
	n := &node{kind: objectNode, members: members, size: 2}
	for _, m := range members {
		n.grow(m.value, len(m.key)+4)
		if m.key == "readOnly" {
			n.readOnly = m.value.value().Bool()
		}
	}
	return n
}

func newArray(elems []*node) *node {
	n := &node{kind: arrayNode, elems: elems, size: 2}
	for _, e := range elems {
		n.grow(e, 1)
	}
	return n
}

// tooLarge is where sizes stop growing, far beyond what any tool may have.
const tooLarge = 1 << 40

func (n *node) grow(part *node, extra int) {
	n.size = min(n.size+part.size+extra, tooLarge)
	n.height = max(n.height, part.height+1)
}

// get is the member called key, nil when there is none.
func (n *node) get(key string) *node {
	if n == nil {
		return nil
	}
	for _, m := range n.members {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// value is the document's value of a leaf, and Invalid for a schema.
func (n *node) value() canonical.Value {
	if n == nil {
		return canonical.Value{}
	}
	return n.leaf
}

// with is a copy of object n in which key has another value.
func (n *node) with(key string, v *node) *node {
	members := slices.Clone(n.members)
	i := slices.IndexFunc(members, func(m member) bool { return m.key == key })
	if i < 0 {
		members = append(members, member{key, v})
	} else {
		members[i].value = v
	}
	return newObject(members)
}

func (n *node) appendTo(dst []byte) []byte {
	switch n.kind {
	case objectNode:
		dst = append(dst, '{')
		for i, m := range n.members {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(canonical.AppendString(dst, m.key), ':')
			dst = m.value.appendTo(dst)
		}
		return append(dst, '}')
	case arrayNode:
		dst = append(dst, '[')
		for i, e := range n.elems {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = e.appendTo(dst)
		}
		return append(dst, ']')
	}
	return n.leaf.AppendCompact(dst)
}

// same reports whether two nodes are written alike. It costs at most the size of what both have in common.
func same(a, b *node) bool {
	if a == b {
		return true
	}
	if a.size != b.size || a.kind != b.kind || a.size > MaxSchemaBytes {
		return false
	}
	return bytes.Equal(a.appendTo(nil), b.appendTo(nil))
}

// goLeaf is a value that the compiler itself puts into a schema. It is dear: values that the document has are taken from
// there.
func goLeaf(v any) *node {
	leaf, err := canonical.FromGo(v)
	if err != nil {
		return newLeaf(canonical.Value{})
	}
	return newLeaf(leaf)
}
