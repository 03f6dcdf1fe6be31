package compile

import (
	"slices"
	"strconv"

	"bailing/shared/canonical"
)

// at is the pointer to a member of the operation, or to the innermost member on the way to it that exists.
func (o *operation) at(steps ...string) string {
	v := o.value
	for i, step := range steps {
		m, ok := v.Get(step)
		if !ok {
			return o.pointer + stepsOf(steps[:i])
		}
		v = m
	}
	return o.pointer + stepsOf(steps)
}

// capability is the pointer to a member of x-agent-capability.
func (o *operation) capability(steps ...string) string {
	return o.at(append([]string{extensionName}, steps...)...)
}

// parameterAt is the pointer to a parameter object, or to one of its members if it exists.
func (o *operation) parameterAt(p parameter, member string) string {
	at := clip(p.canon)
	if at == "" {
		owner := o.pointer
		if p.shared {
			owner = o.item
		}
		at = owner + "/parameters/" + strconv.Itoa(p.index)
	}
	if _, ok := p.value.Get(member); ok {
		at += stepsOf([]string{member})
	}
	return at
}

// bodyAt is the pointer to the request body, or to one of its members if it exists.
func (o *operation) bodyAt(b requestBody, steps ...string) string {
	at := clip(b.canon)
	if at == "" {
		at = o.pointer + "/requestBody"
	}
	v := b.value
	for i, step := range steps {
		m, ok := v.Get(step)
		if !ok {
			return at + stepsOf(steps[:i])
		}
		v = m
	}
	return at + stepsOf(steps)
}

// schemaAt is the pointer to the schema of the body's JSON form.
func (o *operation) schemaAt(b requestBody) string {
	return o.bodyAt(b, "content", b.mediaKey, "schema")
}

// inputAt is the pointer to what declares the input at index i.
func (o *operation) inputAt(in *inputs, i int) string {
	if p := in.origins[i]; p >= 0 {
		return o.parameterAt(in.parameters[p], "")
	}
	return o.propertyAt(in.body, in.properties[i].key)
}

// propertyAt is the pointer to the first declaration of a body's property.
func (o *operation) propertyAt(b requestBody, name string) string {
	return o.search(b, func(schema canonical.Value, at string) string {
		properties, _ := schema.Get("properties")
		if properties.Kind() != canonical.Object {
			return ""
		}
		if m, _ := o.doc.child(properties, at+"/properties", name); m.Kind() == canonical.Invalid {
			return ""
		}
		return at + stepsOf([]string{"properties", name})
	})
}

// keywordAt is the pointer to the first occurrence of a keyword in a body's schema whose value is wrong.
func (o *operation) keywordAt(b requestBody, keyword string, wrong func(canonical.Value) bool) string {
	return o.search(b, func(schema canonical.Value, at string) string {
		if v, ok := schema.Get(keyword); ok && wrong(v) {
			return at + stepsOf([]string{keyword})
		}
		return ""
	})
}

// requiredAt is the pointer to the first entry of a required list that names an input.
func (o *operation) requiredAt(b requestBody, name string) string {
	return o.search(b, func(schema canonical.Value, at string) string {
		list, _ := schema.Get("required")
		o.doc.looked += list.Size() / 16
		names, _ := stringList(list)
		if i := slices.Index(names, name); i >= 0 {
			return at + "/required/" + strconv.Itoa(i)
		}
		return ""
	})
}

// search walks a body's schema and what it is combined from, and answers with the first pointer that found gives. Without one,
// or when the document's budget for searches is used up, it is the schema itself.
func (o *operation) search(b requestBody, found func(schema canonical.Value, at string) string) string {
	at := o.schemaAt(b)
	media, _ := b.content().Get(b.mediaKey)
	schema, _ := media.Get("schema")
	if p := o.doc.search(schema, at, 0, found); p != "" {
		return p
	}
	return at
}

func (d *document) search(v canonical.Value, at string, depth int, found func(canonical.Value, string) string) string {
	if d.looked += 1 + (v.Size()+len(at))/256; d.looked > maxSearches || depth > MaxSchemaDepth || v.Kind() != canonical.Object {
		return ""
	}
	if p := found(v, at); p != "" {
		return p
	}
	if ref, ok := refOf(v); ok {
		target, canon, f := d.lookup(ref)
		if f != nil {
			return ""
		}
		if p := d.search(target, canon, depth+1, found); p != "" {
			return p
		}
	}
	for _, keyword := range [...]string{"allOf", "oneOf", "anyOf"} {
		list, _ := v.Get(keyword)
		for i, part := range list.Elems() {
			if p := d.search(part, at+"/"+keyword+"/"+strconv.Itoa(i), depth+1, found); p != "" {
				return p
			}
		}
	}
	return ""
}
