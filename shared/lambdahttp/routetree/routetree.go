package routetree

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Tree maps methods and resource patterns to values. The zero Tree is empty and ready. Once built it is safe for
// concurrent matching.
type Tree[T any] struct{ root node[T] }

type node[T any] struct {
	literal  map[string]*node[T]
	variable *node[T]
	greedy   *node[T]
	name     string // parameter that this node binds
	resource string // pattern that ends here; "" for none
	methods  map[string]T
}

// Match is the outcome of [Tree.Match].
type Match[T any] struct {
	Value    T
	Resource string            // the pattern, as it was added
	Params   map[string]string // decoded values by name; nil without variables
}

// Any is the method under which a pattern takes every method that it has no value for.
const Any = "ANY"

// Add enters value under method and pattern: an absolute path of literals, {name} and a final {name+}. It fails for a
// malformed pattern, a second variable name at one level, and a method and pattern that are there already.
func (t *Tree[T]) Add(method, pattern string, value T) error {
	segments, err := split(pattern)
	if err != nil {
		return fmt.Errorf("pattern %q: %w", pattern, err)
	}
	n := &t.root
	for i, s := range segments {
		if n, err = n.child(s, i == len(segments)-1); err != nil {
			return fmt.Errorf("pattern %q: %w", pattern, err)
		}
	}
	if _, taken := n.methods[method]; taken {
		return fmt.Errorf("%s %s is there already", method, pattern)
	}
	if n.methods == nil {
		n.methods, n.resource = map[string]T{}, pattern
	}
	n.methods[method] = value
	return nil
}

func (n *node[T]) child(segment string, last bool) (*node[T], error) {
	name, braced := strings.CutPrefix(segment, "{")
	if !braced {
		if segment == "" || strings.ContainsAny(segment, "{}") {
			return nil, errors.New("a segment is a literal or one variable")
		}
		if n.literal == nil {
			n.literal = map[string]*node[T]{}
		}
		if n.literal[segment] == nil {
			n.literal[segment] = &node[T]{}
		}
		return n.literal[segment], nil
	}
	name, closed := strings.CutSuffix(name, "}")
	name, greedy := strings.CutSuffix(name, "+")
	if !closed || name == "" || strings.ContainsAny(name, "{}+") {
		return nil, errors.New("a segment is a literal or one variable")
	}
	slot := &n.variable
	if greedy {
		if !last {
			return nil, errors.New("a greedy variable ends its pattern")
		}
		slot = &n.greedy
	}
	if *slot == nil {
		*slot = &node[T]{name: name}
	}
	if (*slot).name != name {
		return nil, fmt.Errorf("a level has one variable, here {%s}", (*slot).name)
	}
	return *slot, nil
}

// Match finds the value for method and a percent-encoded path. Segments are split before they are decoded, so %2F
// stays inside its parameter. A greedy variable matches one segment or more. A pattern wins by its path alone: when
// the best one has neither the method nor [Any], nothing matches, as in API Gateway. A path with a malformed escape, an
// empty segment or a trailing slash matches nothing.
func (t *Tree[T]) Match(method, path string) (m Match[T], ok bool) {
	segments, err := split(path)
	if err != nil {
		return m, false
	}
	for i, s := range segments {
		if segments[i], err = url.PathUnescape(s); err != nil || s == "" {
			return m, false
		}
	}
	n, values := t.root.find(segments)
	if n == nil {
		return m, false
	}
	if m.Value, ok = n.methods[method]; !ok {
		m.Value, ok = n.methods[Any]
	}
	if !ok {
		return m, false
	}
	m.Resource = n.resource
	for name, value := range values {
		if m.Params == nil {
			m.Params = map[string]string{}
		}
		m.Params[name] = value
	}
	return m, true
}

// find walks depth first, so that a literal that leads nowhere gives way to the variable beside it.
func (n *node[T]) find(segments []string) (*node[T], map[string]string) {
	if len(segments) == 0 {
		if n.methods == nil {
			return nil, nil
		}
		return n, map[string]string{}
	}
	if next := n.literal[segments[0]]; next != nil {
		if found, values := next.find(segments[1:]); found != nil {
			return found, values
		}
	}
	if n.variable != nil {
		if found, values := n.variable.find(segments[1:]); found != nil {
			values[n.variable.name] = segments[0]
			return found, values
		}
	}
	if n.greedy != nil {
		return n.greedy, map[string]string{n.greedy.name: strings.Join(segments, "/")}
	}
	return nil, nil
}

func split(path string) ([]string, error) {
	rest, ok := strings.CutPrefix(path, "/")
	if !ok {
		return nil, errors.New("a path starts with /")
	}
	if rest == "" {
		return nil, nil
	}
	return strings.Split(rest, "/"), nil
}
