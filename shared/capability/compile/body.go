package compile

import (
	"fmt"
	"slices"
	"strings"

	"bailing/shared/canonical"
	"bailing/shared/capability"
)

// requestBody is the JSON form of an operation's body, if it has one.
type requestBody struct {
	present   bool // the operation declares a body
	required  bool
	mediaType string // of the JSON form; "" when there is none
	mediaKey  string // as the document spells it
	schema    *node  // resolved
	value     canonical.Value
	canon     string // pointer to value when a reference led to it
}

// isObject reports whether the JSON body is declared to be an object: the only kind that arguments can fill.
func (b requestBody) isObject() bool { return b.schema != nil && b.schema.isObject() }

// isObject reports whether a schema is of type object, itself or in every alternative.
func (n *node) isObject() bool {
	if declared := n.get("type"); declared != nil {
		return slices.Contains(typeNames(declared.value()), "object")
	}
	for _, keyword := range [...]string{"oneOf", "anyOf"} {
		list := n.get(keyword)
		if list != nil && len(list.elems) > 0 && !slices.ContainsFunc(list.elems, func(e *node) bool { return !e.isObject() }) {
			return true
		}
	}
	return false
}

func (o *operation) body() requestBody {
	v, present := o.value.Get("requestBody")
	if !present {
		return requestBody{}
	}
	v, canon, f := o.doc.object(v)
	if f != nil {
		o.fail(f.in("requestBody"))
		return requestBody{}
	}
	required, _ := v.Get("required")
	b := requestBody{present: true, required: required.Bool(), value: v, canon: canon}
	media := b.chooseJSON()
	if schema, ok := media.Get("schema"); ok {
		if b.schema, f = o.doc.schema(schema, 0); f == nil && b.schema.size > MaxSchemaBytes {
			f = limitFault(fmt.Sprintf("the body's schema takes more than %d bytes", MaxSchemaBytes))
		}
		if f != nil {
			o.fail(f.under(o.schemaAt(b)))
		}
	}
	return b
}

func (b requestBody) content() canonical.Value {
	content, _ := b.value.Get("content")
	return content
}

// chooseJSON settles the media type that arguments are sent as (D38), and returns its declaration: application/json, with or
// without parameters, else the first +json type. Wildcards name no form to send.
func (b *requestBody) chooseJSON() (chosen canonical.Value) {
	for name, media := range b.content().Members() {
		base, _, _ := strings.Cut(name, ";")
		base = strings.ToLower(strings.TrimSpace(base))
		switch {
		case base == "application/json":
			b.mediaType, b.mediaKey = base, name
			return media
		case b.mediaType == "" && strings.HasSuffix(base, "+json") && isMediaType(base):
			chosen, b.mediaType, b.mediaKey = media, base, name
		}
	}
	return chosen
}

// isMediaType keeps what is sent as a content type to the form type/subtype in plain characters.
func isMediaType(s string) bool {
	kind, sub, ok := strings.Cut(s, "/")
	return ok && capability.HeaderName(kind) && capability.HeaderName(sub) && !strings.Contains(s, "*")
}

// addBody turns the properties of the body into arguments. What cannot become arguments is an error when the body is required
// and a warning otherwise: nothing that the operation takes is left out in silence.
func (o *operation) addBody(in *inputs, b requestBody) {
	if !b.present {
		return
	}
	switch {
	case o.method == "GET":
		o.unusableBody(b, "a GET request is sent without a body")
	case b.mediaType == "":
		o.unusableBody(b, "the body has no JSON form")
	case b.schema == nil || b.schema.kind != objectNode || !b.isObject() && b.schema.get("properties") == nil:
		o.unusableBody(b, "the JSON body is not an object")
	default:
		o.addProperties(in, b)
	}
}

func (o *operation) unusableBody(b requestBody, why string) {
	const hint = "Declare an application/json body with a schema of type object, or enable another operation."
	at := o.bodyAt(b)
	if b.mediaType != "" {
		at = o.schemaAt(b)
	}
	if b.required {
		o.fail(faultf(codeUnsupportedBody, hint, "%s, and it is required", why).under(at))
	} else {
		o.warn(faultf(codeUnsupportedBody, hint, "%s; its content is left out", why).under(at))
	}
}

func (o *operation) addProperties(in *inputs, b requestBody) {
	properties := b.schema.get("properties")
	if f := o.affordable(b.schema, properties); f != nil {
		o.fail(f.under(o.schemaAt(b)))
		return
	}
	in.body = b
	if b.mediaType != "application/json" {
		in.bodyType = b.mediaType
	}
	if properties != nil {
		for _, p := range properties.members {
			n, f := asProperty(p.value, p.key)
			if f != nil {
				o.fail(f.under(o.propertyAt(b, p.key)))
				continue
			}
			in.add(p.key, n, capability.InBody, -1)
		}
	}
	o.addAlternatives(in, b.schema)
	if rest := b.schema.get("additionalProperties"); rest != nil && len(rest.members) > 0 {
		declared := func(canonical.Value) bool { return true }
		o.warn(faultf(codeUnsupportedBody, "Declare the members that tools need as properties.",
			"members that the body's schema does not name are left out").under(o.keywordAt(b, "additionalProperties", declared)))
	}
	required := b.schema.get("required")
	if required == nil {
		return
	}
	if _, ok := stringList(required.value()); !ok {
		isNone := func(v canonical.Value) bool { _, ok := stringList(v); return !ok }
		o.fail(faultf(codeInvalidRequired, "Write required as an array of property names.",
			"required is not an array of strings").under(o.keywordAt(b, "required", isNone)))
		return
	}
	for _, name := range required.value().Elems() {
		in.require(name)
	}
}

// affordable refuses a body that would be too many arguments before work is spent on each of them.
func (o *operation) affordable(schema, properties *node) *fault {
	if properties != nil {
		if len(properties.members) > MaxProperties {
			return tooManyProperties()
		}
		if f := o.doc.spend(16 * len(properties.members)); f != nil {
			return f
		}
	}
	if f := o.doc.spend(4 * schema.get("required").value().Len()); f != nil {
		return f
	}
	return o.doc.spendBytes(schema.size)
}

func tooManyProperties() *fault {
	return limitFault(fmt.Sprintf("the operation takes more than %d arguments", MaxProperties))
}

// stringList is an array of strings.
func stringList(v canonical.Value) ([]string, bool) {
	if v.Kind() != canonical.Array {
		return nil, false
	}
	var out []string
	for _, e := range v.Elems() {
		if e.Kind() != canonical.String {
			return nil, false
		}
		out = append(out, e.Text())
	}
	return out, true
}
