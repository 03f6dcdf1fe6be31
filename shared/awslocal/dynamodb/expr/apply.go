package expr

import (
	"maps"
	"slices"

	"bailing/shared/awslocal/dynamodb/attr"
)

// Apply returns the item after the update. All values are computed from item as it was; item itself is not changed.
// A nil item is one that does not exist, from which anything may be removed.
func (u *Update) Apply(item attr.Map) (attr.Map, error) {
	if item == nil && !u.creates {
		return nil, nil
	}
	v, err := applyTo(u.root, item, item)
	if err != nil {
		return nil, err
	}
	return v.(attr.Map), nil
}

// applyTo returns old with everything below t done; nil means that the value is gone.
func applyTo(t *tree[action], old attr.Value, item attr.Map) (attr.Value, error) {
	if t.leaf != nil {
		return t.leaf.apply(old, item)
	}
	switch in := old.(type) {
	case attr.Map:
		if t.members == nil {
			return nil, errPath
		}
		return applyToMap(t, in, item)
	case attr.List:
		if t.indexes == nil {
			return nil, errPath
		}
		return applyToList(t, in, item)
	}
	return nil, errPath
}

func applyToMap(t *tree[action], old attr.Map, item attr.Map) (attr.Value, error) {
	out := maps.Clone(old)
	if out == nil {
		out = attr.Map{}
	}
	for name, child := range t.members {
		var before attr.Value
		if v, ok := old[name]; ok {
			before = v
		}
		after, err := applyTo(child, before, item)
		if err != nil {
			return nil, err
		}
		if after == nil {
			delete(out, name)
		} else {
			out[name] = after
		}
	}
	return out, nil
}

// applyToList treats every index as a position in the list as it was: what is set beyond its end is appended in the
// order of the indexes, and what is removed leaves only after everything was set.
func applyToList(t *tree[action], old attr.List, item attr.Map) (attr.Value, error) {
	out := slices.Clone(old)
	removed := false
	for _, i := range sortedKeys(t.indexes) {
		var before attr.Value
		if i < len(old) {
			before = old[i]
		}
		after, err := applyTo(t.indexes[i], before, item)
		if err != nil {
			return nil, err
		}
		switch {
		case i < len(old):
			out[i] = after
			removed = removed || after == nil
		case after != nil:
			out = append(out, after)
		}
	}
	if removed {
		out = slices.DeleteFunc(out, func(v attr.Value) bool { return v == nil })
	}
	if out == nil {
		out = attr.List{}
	}
	return out, nil
}

func (a *action) apply(old attr.Value, item attr.Map) (attr.Value, error) {
	switch a.clause {
	case "SET":
		return a.set.compute(item)
	case "REMOVE":
		return nil, nil
	case "ADD":
		if old == nil {
			return a.value.v, nil
		}
		if n, ok := old.(attr.Number); ok {
			if d, ok := a.value.v.(attr.Number); ok {
				return result(n.Add(d))
			}
		}
		if union, ok := attr.Union(old, a.value.v); ok {
			return union, nil
		}
		return nil, errOperand
	}
	if old == nil {
		return nil, nil
	}
	rest, ok := attr.Difference(old, a.value.v)
	if !ok {
		return nil, errOperand
	}
	return rest, nil
}

// result keeps a failed sum from becoming a non-nil value.
func result(n attr.Number, err error) (attr.Value, error) {
	if err != nil {
		return nil, err
	}
	return n, nil
}

// setValue is the right side of a SET.
type setValue interface {
	compute(item attr.Map) (attr.Value, error)
}

type (
	plain struct{ operand }
	sum   struct {
		left, right setValue
		minus       bool
	}
	ifNotExists struct {
		of   path
		then setValue
	}
	appended struct{ head, tail setValue }
)

func (v plain) compute(item attr.Map) (attr.Value, error) {
	if got, ok := v.value(item); ok {
		return got, nil
	}
	return nil, errMissing
}

func (v sum) compute(item attr.Map) (attr.Value, error) {
	left, right, err := computeBoth[attr.Number](v.left, v.right, item)
	if err != nil {
		return nil, err
	}
	if v.minus {
		return result(left.Sub(right))
	}
	return result(left.Add(right))
}

func (v ifNotExists) compute(item attr.Map) (attr.Value, error) {
	if got, ok := v.of.lookup(item); ok {
		return got, nil
	}
	return v.then.compute(item)
}

func (v appended) compute(item attr.Map) (attr.Value, error) {
	head, tail, err := computeBoth[attr.List](v.head, v.tail, item)
	if err != nil {
		return nil, err
	}
	return slices.Concat(attr.List{}, head, tail), nil
}

// computeBoth computes two operands that must have one type.
func computeBoth[T attr.Value](a, b setValue, item attr.Map) (left, right T, err error) {
	l, err := a.compute(item)
	if err != nil {
		return left, right, err
	}
	r, err := b.compute(item)
	if err != nil {
		return left, right, err
	}
	left, lok := l.(T)
	right, rok := r.(T)
	if !lok || !rok {
		return left, right, errOperand
	}
	return left, right, nil
}
