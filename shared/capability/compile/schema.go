package compile

import (
	"slices"
	"strconv"

	"bailing/shared/canonical"
)

// annotations describe a schema without constraining values: beside a reference, and between the parts of an allOf, the
// outermost one stands.
func isAnnotation(keyword string) bool {
	switch keyword {
	case "title", "description", "default", "example", "examples", "deprecated", "readOnly", "writeOnly",
		"externalDocs", "xml", "discriminator", "$comment", "format", "contentMediaType", "contentEncoding":
		return true
	}
	return len(keyword) > 2 && keyword[:2] == "x-"
}

// schema resolves a schema: references are replaced by their targets, allOf is merged away. The schemas true and false stay
// as they are.
func (d *document) schema(v canonical.Value, depth int) (*node, *fault) {
	switch {
	case v.Kind() == canonical.Bool:
		return newLeaf(v), nil
	case v.Kind() != canonical.Object:
		return nil, faultf(codeInvalidSchema, "Write the schema as an object.", "a schema is not an object but %s", v.Kind())
	case depth > MaxSchemaDepth:
		return nil, limitFault("schemas are nested too deeply")
	}
	if ref, ok := refOf(v); ok {
		return d.referenced(v, ref, depth)
	}
	if ref, ok := v.Get("$ref"); ok {
		return nil, faultf(codeRefUnresolved, "Write the reference as text, such as #/components/schemas/Order.",
			"a reference is not text but %s", ref.Kind()).in("$ref")
	}
	own, parts, f := d.keywords(v, depth)
	if f != nil {
		return nil, f
	}
	return d.finish(own, parts)
}

// referenced resolves a schema that is a reference. OpenAPI 3.1 lets other keywords stand beside it, with the meaning of
// an allOf of both; in 3.0 they are ignored but for annotations, which authors write there all the same.
func (d *document) referenced(v canonical.Value, ref string, depth int) (*node, *fault) {
	target, f := d.target(ref, depth)
	if f != nil {
		return nil, f.in("$ref")
	}
	own, parts, f := d.siblings(v, depth)
	if f != nil || len(own) == 0 && len(parts) == 0 {
		return target, f
	}
	return d.finish(own, append([]*node{target}, parts...))
}

func (d *document) siblings(v canonical.Value, depth int) ([]member, []*node, *fault) {
	if !d.is30 {
		return d.keywords(v, depth)
	}
	var own []member
	for key, m := range v.Members() {
		if isAnnotation(key) && key != "format" {
			own = append(own, member{key, newLeaf(m)})
		}
	}
	return own, nil, nil
}

// target resolves the schema that a reference points to, once. Whether it can be resolved does not depend on who asks,
// but for the limits, which are therefore not remembered.
func (d *document) target(ref string, depth int) (*node, *fault) {
	v, canon, f := d.lookup(ref)
	if f != nil {
		return nil, f
	}
	r := d.schemas[canon]
	if r != nil {
		if !r.done {
			return nil, cycleFault(ref)
		}
		return r.node, r.fault
	}
	r = &resolution{}
	d.schemas[canon] = r
	r.node, r.fault = d.schema(v, depth+1)
	r.fault.under(canon)
	r.done = true
	if r.fault != nil && r.fault.code == codeDocumentLimits {
		delete(d.schemas, canon)
	}
	return r.node, r.fault
}

// keywords resolves the members of a schema object, apart from the parts of its allOf.
func (d *document) keywords(v canonical.Value, depth int) (own []member, parts []*node, f *fault) {
	for key, m := range v.Members() {
		if f := d.spend(1); f != nil {
			return nil, nil, f
		}
		var n *node
		switch key {
		case "$ref", "$defs", "definitions", "$schema", "$id", "$anchor":
			continue
		case "properties", "patternProperties", "dependentSchemas":
			n, f = d.schemaMap(key, m, depth)
		case "items", "additionalProperties", "not", "contains", "propertyNames", "unevaluatedItems",
			"unevaluatedProperties", "if", "then", "else":
			n, f = d.schema(m, depth+1)
		case "oneOf", "anyOf", "prefixItems":
			n, f = d.schemaList(key, m, depth)
		case "allOf":
			if n, f = d.schemaList(key, m, depth); f == nil {
				parts = append(parts, n.elems...)
				continue
			}
		default:
			n = newLeaf(m)
		}
		if f != nil {
			return nil, nil, f.in(key)
		}
		own = append(own, member{key, n})
	}
	return own, parts, nil
}

func (d *document) schemaMap(keyword string, v canonical.Value, depth int) (*node, *fault) {
	if v.Kind() != canonical.Object {
		code := codeInvalidSchema
		if keyword == "properties" {
			code = codeInvalidProperties
		}
		return nil, faultf(code, "Write "+keyword+" as an object of schemas.", "%s is not an object but %s", keyword, v.Kind())
	}
	var members []member
	for name, m := range v.Members() {
		n, f := d.schema(m, depth+1)
		if f != nil {
			return nil, f.in(name)
		}
		members = append(members, member{name, n})
	}
	return newObject(members), d.spend(len(members))
}

func (d *document) schemaList(keyword string, v canonical.Value, depth int) (*node, *fault) {
	if v.Kind() != canonical.Array {
		return nil, faultf(codeInvalidSchema, "Write "+keyword+" as an array of schemas.", "%s is not an array but %s", keyword, v.Kind())
	}
	var elems []*node
	for i, e := range v.Elems() {
		n, f := d.schema(e, depth+1)
		if f != nil {
			return nil, f.in(strconv.Itoa(i))
		}
		elems = append(elems, n)
	}
	return newArray(elems), d.spend(len(elems))
}

// finish makes the node of a schema from its own keywords and the parts it is combined with.
func (d *document) finish(own []member, parts []*node) (*node, *fault) {
	n := newObject(own)
	for _, part := range parts {
		var f *fault
		if n, f = d.merge(n, part, 0); f != nil {
			return nil, f // its place is the schema that combines the parts
		}
	}
	if n.height > 2*MaxSchemaDepth {
		return nil, limitFault("schemas are nested too deeply")
	}
	return d.forRequests(n)
}

// forRequests takes read-only properties out of required: there the keyword is about answers (OpenAPI 3.0.3, Schema Object).
func (d *document) forRequests(n *node) (*node, *fault) {
	properties, required := n.get("properties"), n.get("required").value()
	if properties == nil || required.Len() == 0 {
		return n, nil
	}
	if f := d.spend(len(properties.members)); f != nil {
		return nil, f
	}
	readOnly := make(map[string]bool)
	for _, p := range properties.members {
		if p.value.readOnly {
			readOnly[p.key] = true
		}
	}
	names, ok := stringList(required)
	if !ok || !slices.ContainsFunc(names, func(name string) bool { return readOnly[name] }) {
		return n, nil
	}
	var kept []*node
	for _, name := range required.Elems() {
		if !readOnly[name.Text()] {
			kept = append(kept, newLeaf(name))
		}
	}
	if len(kept) == 0 {
		return newObject(slices.DeleteFunc(slices.Clone(n.members), func(m member) bool { return m.key == "required" })), nil
	}
	return n.with("required", newLeaf(listValue(kept))), nil
}
