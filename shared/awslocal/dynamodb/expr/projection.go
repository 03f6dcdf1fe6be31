package expr

import "bailing/shared/awslocal/dynamodb/attr"

// Projection is a set of document paths to keep.
type Projection struct {
	root  *tree[struct{}]
	paths []path
}

// Projection parses a ProjectionExpression.
func (p *Params) Projection(src string) (*Projection, error) {
	ps, err := p.parser("ProjectionExpression", src)
	if err != nil {
		return nil, err
	}
	out := &Projection{root: &tree[struct{}]{}}
	for {
		path, err := ps.path()
		if err != nil {
			return nil, err
		}
		if err := addPath(ps, out.root, path, &struct{}{}); err != nil {
			return nil, err
		}
		out.paths = append(out.paths, path)
		if !ps.accept(",") {
			return out, ps.end()
		}
	}
}

// Attributes lists the top-level attributes that the projection names, with repetitions.
func (p *Projection) Attributes() []string {
	names := make([]string, len(p.paths))
	for i, path := range p.paths {
		names[i] = path.root()
	}
	return names
}

// Apply returns the part of item at the paths. Kept list elements close up.
func (p *Projection) Apply(item attr.Map) attr.Map {
	v, _ := keep(p.root, item)
	m, _ := v.(attr.Map)
	if m == nil {
		return attr.Map{}
	}
	return m
}

// keep returns the part of v below t; ok is false when nothing is left.
func keep[T any](t *tree[T], v attr.Value) (part attr.Value, ok bool) {
	if t.leaf != nil {
		return v, true
	}
	switch in := v.(type) {
	case attr.Map:
		out := attr.Map{}
		for name, child := range t.members {
			if e, exists := in[name]; exists {
				if kept, ok := keep(child, e); ok {
					out[name] = kept
				}
			}
		}
		return out, len(out) > 0
	case attr.List:
		var out attr.List
		for _, i := range sortedKeys(t.indexes) {
			if i < len(in) {
				if kept, ok := keep(t.indexes[i], in[i]); ok {
					out = append(out, kept)
				}
			}
		}
		return out, len(out) > 0
	}
	return nil, false
}
