package expr

import (
	"strings"

	"bailing/shared/awslocal/dynamodb/attr"
)

// node is a boolean part of a condition. A missing operand or one of the wrong type makes a comparison false (and
// <> true); it is never an error.
type node interface{ eval(item attr.Map) bool }

type (
	orNode      struct{ left, right node }
	andNode     struct{ left, right node }
	notNode     struct{ of node }
	groupNode   struct{ node } // parentheses
	compareNode struct {
		operator    string
		left, right operand
	}
	betweenNode struct{ of, low, high operand }
	inNode      struct {
		of    operand
		among []operand
	}
	existsNode struct {
		of   path
		want bool
	}
	typeNode struct {
		of   operand
		kind attr.Kind
	}
	beginsNode   struct{ of, prefix operand }
	containsNode struct{ of, element operand }
)

func (n orNode) eval(item attr.Map) bool  { return n.left.eval(item) || n.right.eval(item) }
func (n andNode) eval(item attr.Map) bool { return n.left.eval(item) && n.right.eval(item) }
func (n notNode) eval(item attr.Map) bool { return !n.of.eval(item) }

func (n compareNode) eval(item attr.Map) bool {
	left, lok := n.left.value(item)
	right, rok := n.right.value(item)
	both := lok && rok
	switch n.operator {
	case "=":
		return both && attr.Equal(left, right)
	case "<>":
		return !both || !attr.Equal(left, right)
	}
	if !both {
		return false
	}
	order, ok := attr.Compare(left, right)
	if !ok {
		return false
	}
	switch n.operator {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	}
	return order >= 0
}

func (n betweenNode) eval(item attr.Map) bool {
	return compareNode{">=", n.of, n.low}.eval(item) && compareNode{"<=", n.of, n.high}.eval(item)
}

func (n inNode) eval(item attr.Map) bool {
	for _, o := range n.among {
		if (compareNode{"=", n.of, o}).eval(item) {
			return true
		}
	}
	return false
}

func (n existsNode) eval(item attr.Map) bool {
	_, ok := n.of.lookup(item)
	return ok == n.want
}

func (n typeNode) eval(item attr.Map) bool {
	v, ok := n.of.value(item)
	return ok && v.Kind() == n.kind
}

func (n beginsNode) eval(item attr.Map) bool {
	v, ok := n.of.value(item)
	prefix, pok := n.prefix.value(item)
	if !ok || !pok {
		return false
	}
	switch s := v.(type) {
	case attr.String:
		p, ok := prefix.(attr.String)
		return ok && strings.HasPrefix(string(s), string(p))
	case attr.Binary:
		p, ok := prefix.(attr.Binary)
		return ok && strings.HasPrefix(string(s), string(p))
	}
	return false
}

func (n containsNode) eval(item attr.Map) bool {
	v, ok := n.of.value(item)
	element, eok := n.element.value(item)
	return ok && eok && attr.Contains(v, element)
}
