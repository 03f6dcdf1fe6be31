package compile

import (
	"bailing/shared/capability"
)

// addAlternatives makes the properties that only oneOf or anyOf of the body declare known arguments, none of them
// required. Models and validation take one flat object; which combination is right is for the business to say. Properties
// that alternatives declare differently accept what either does.
func (o *operation) addAlternatives(in *inputs, schema *node) {
	if schema.get("oneOf") == nil && schema.get("anyOf") == nil {
		return
	}
	if f := o.doc.spend(schema.size / 3); f != nil {
		o.fail(f.under(o.schemaAt(in.body)))
		return
	}
	found := alternatives{schemas: make(map[string][]*node), seen: make(map[string]bool)}
	found.collect(schema)
	for _, name := range found.names {
		switch where, known := in.paramIn[name]; {
		case !known:
			in.add(name, union(found.schemas[name]), capability.InBody, -1)
		case where != capability.InBody:
			o.warn(faultf(codeInvalidParamLocation, "Rename one of them: an argument has one place.",
				"%q is a parameter in %s; the body's property of this name is left out", quote(name), where).under(o.schemaAt(in.body)))
		}
	}
}

// alternatives are the properties that alternatives declare, in their order, with each different schema once.
type alternatives struct {
	names   []string
	schemas map[string][]*node
	seen    map[string]bool
}

// collect walks alternatives of alternatives too. It visits no more than what is written out, which is bounded.
func (a *alternatives) collect(schema *node) {
	for _, keyword := range [...]string{"oneOf", "anyOf"} {
		list := schema.get(keyword)
		if list == nil {
			continue
		}
		for _, alternative := range list.elems {
			if properties := alternative.get("properties"); properties != nil {
				for _, p := range properties.members {
					a.add(p)
				}
			}
			a.collect(alternative)
		}
	}
}

func (a *alternatives) add(p member) {
	n, f := asProperty(p.value, p.key)
	if f != nil {
		return // false: the alternative forbids it
	}
	key := p.key + "\x00" + string(n.appendTo(nil))
	if a.seen[key] {
		return
	}
	a.seen[key] = true
	if a.schemas[p.key] == nil {
		a.names = append(a.names, p.key)
	}
	a.schemas[p.key] = append(a.schemas[p.key], n)
}

// union accepts what any of the schemas accepts. A type that all have, with null if one of them takes it, and the first
// description stand outside, where rules and models look for them.
func union(schemas []*node) *node {
	if len(schemas) == 1 {
		return schemas[0]
	}
	var description, nullable *node
	kind := schemas[0].get("type")
	for _, s := range schemas {
		if description == nil {
			description = s.get("description")
		}
		if n := s.get("nullable"); n.value().Bool() {
			nullable = n
		}
		if t := s.get("type"); kind != nil && (t == nil || !same(kind, t)) {
			kind = nil
		}
	}
	var members []member
	if description != nil {
		members = append(members, member{"description", description})
	}
	if kind != nil {
		members = append(members, member{"type", kind})
		if nullable != nil {
			members = append(members, member{"nullable", nullable})
		}
	}
	return newObject(append(members, member{"anyOf", newArray(schemas)}))
}
