package compile

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bailing/shared/canonical"
	"bailing/shared/capability"
	"bailing/shared/textlimit"
)

// inputs are what a tool takes: properties of one object schema, and where each travels (core §4.5).
type inputs struct {
	properties []member
	at         map[string]int // index of each property
	required   []*node        // names, as leaves
	isRequired map[string]bool
	paramIn    map[string]capability.Location
	bodyType   string // when not application/json

	parameters []parameter // for diagnostics, as are:
	origins    []int       // the parameter of each property; -1: the body
	body       requestBody
}

// parameter is a resolved parameter object.
type parameter struct {
	name        string
	in          string
	required    bool
	description canonical.Value
	schema      canonical.Value
	hasSchema   bool
	nameValue   canonical.Value

	value  canonical.Value
	canon  string // pointer to value when a reference led to it; otherwise:
	shared bool   // it stands in the path item
	index  int    // in the list
}

// inputs collects parameters and body, with the last two filters of core §4.4. False: the operation failed.
func (o *operation) inputs() (*inputs, bool) {
	parameters := o.parameters()
	if o.failed {
		return nil, false
	}
	for _, p := range parameters {
		if p.hasSchema && !isLocation(p.in) {
			o.fail(faultf(codeUnsupportedLocation, "Move the value to the query, the path, a header or the body.",
				"parameter %q is in %q", quote(p.name), quote(p.in)).under(o.parameterAt(p, "in")))
			return nil, false
		}
	}
	in := &inputs{
		at: make(map[string]int), isRequired: make(map[string]bool), paramIn: make(map[string]capability.Location),
		parameters: parameters,
	}
	for i, p := range parameters {
		o.addParameter(in, p, i)
	}
	body := o.body()
	if o.failed {
		return nil, false
	}
	if o.method != "GET" && len(parameters) == 0 && !body.isObject() {
		why, at := "declares no inputs", o.at("requestBody")
		switch {
		case body.present && body.mediaType == "":
			why = "its body has no JSON form"
		case body.present:
			why = "its JSON body is not declared as an object"
		}
		o.fail(faultf(codeWriteWithoutSchema, "Declare parameters, or an application/json body with a schema of type object.",
			"the operation writes, and %s", why).under(at))
		return nil, false
	}
	o.addBody(in, body)
	if len(in.properties) > MaxProperties {
		o.fail(tooManyProperties())
	}
	return in, !o.failed
}

func isLocation(in string) bool { return in == "query" || in == "path" || in == "header" }

// parameters are those of the path item and of the operation; the operation's replace the path item's of the same name and
// location (D15).
func (o *operation) parameters() []parameter {
	shared := o.parameterList(o.shared, true)
	list, _ := o.value.Get("parameters")
	own := o.parameterList(list, false)
	if len(shared) == 0 {
		return own
	}
	replaced := make(map[parameterKey]bool, len(own))
	for _, p := range own {
		replaced[p.key()] = true
	}
	merged := slices.DeleteFunc(shared, func(p parameter) bool { return replaced[p.key()] })
	return append(merged, own...)
}

// parameterKey tells parameters apart: an argument may have one name in several locations.
type parameterKey struct{ in, name string }

// key of a header has no case, as its name has none.
func (p parameter) key() parameterKey {
	if p.in == "header" {
		return parameterKey{p.in, strings.ToLower(p.name)}
	}
	return parameterKey{p.in, p.name}
}

// parameterList reads a list of parameters: the path item's shared ones, or the operation's own.
func (o *operation) parameterList(list canonical.Value, shared bool) []parameter {
	owner := o.pointer
	if shared {
		owner = o.item
	}
	if k := list.Kind(); k != canonical.Invalid && k != canonical.Null && k != canonical.Array {
		o.fail(faultf(codeInvalidParamIn, "Write parameters as an array.", "parameters is not an array").under(owner + "/parameters"))
	}
	var out []parameter
	known := make(map[parameterKey]bool)
	for i, v := range list.Elems() {
		v, canon, f := o.doc.object(v)
		if f != nil {
			o.fail(f.in("parameters", strconv.Itoa(i)).under(owner))
			continue
		}
		p := readParameter(v)
		p.canon, p.shared, p.index = canon, shared, i
		if p.name == "" {
			o.fail(faultf(codeInvalidParamIn, "Give every parameter a name and a location.",
				"parameter %d has no name", i+1).under(o.parameterAt(p, "name")))
			continue
		}
		if f := o.doc.spend(len(p.name) / 8); f != nil { // names are compared, hashed and written many times
			o.fail(f)
			return out
		}
		if known[p.key()] {
			f := faultf(codeInvalidParamLocation, "Declare each parameter once.", "parameter %q is declared twice in %q", quote(p.name), quote(p.in))
			o.fail(f.in("parameters", strconv.Itoa(i)).under(owner))
			continue
		}
		if len(out) >= capability.MaxObjectKeys {
			o.fail(limitFault("the operation has too many parameters").in("parameters").under(owner))
			return out
		}
		known[p.key()] = true
		out = append(out, p)
	}
	return out
}

func readParameter(v canonical.Value) parameter {
	p := parameter{value: v}
	for key, m := range v.Members() {
		switch key {
		case "name":
			p.name, p.nameValue = m.Text(), m
		case "in":
			p.in = m.Text()
		case "description":
			p.description = m
		case "schema":
			p.schema, p.hasSchema = m, true
		case "required":
			p.required = m.Bool()
		}
	}
	p.required = p.required || p.in == "path"
	return p
}

// addParameter makes the parameter, the i-th of the operation, an input.
func (o *operation) addParameter(in *inputs, p parameter, i int) {
	if !p.hasSchema {
		const hint = "Give the parameter a schema; content, and type beside name, are not read."
		if p.required && isLocation(p.in) {
			o.fail(faultf(codeParamWithoutSchema, hint, "required parameter %q has no schema", quote(p.name)).under(o.parameterAt(p, "")))
		} else {
			o.warn(faultf(codeParamWithoutSchema, hint, "parameter %q has no schema and is left out",
				quote(p.name)).under(o.parameterAt(p, "")))
		}
		return
	}
	n, f := o.parameterSchema(p)
	if f != nil {
		o.fail(f.under(o.parameterAt(p, "schema")))
		return
	}
	if other, taken := in.paramIn[p.name]; taken {
		o.fail(faultf(codeInvalidParamLocation, "Rename one of them: an argument has one place.",
			"parameter %q is declared in %s and in %s", quote(p.name), other, p.in).under(o.parameterAt(p, "in")))
		return
	}
	if p.in == "header" {
		o.checkHeader(p)
	}
	if !textlimit.Blank(p.description.Text()) {
		n = n.with("description", newLeaf(p.description))
	}
	in.add(p.name, n, capability.Location(p.in), i)
	if p.required {
		in.require(p.nameValue)
	}
}

func (o *operation) parameterSchema(p parameter) (*node, *fault) {
	n, f := o.doc.schema(p.schema, 0)
	if f != nil {
		return nil, f
	}
	if n, f = asProperty(n, p.name); f != nil {
		return nil, f
	}
	if n.size > MaxSchemaBytes {
		return nil, limitFault(fmt.Sprintf("the schema of %q takes more than %d bytes", quote(p.name), MaxSchemaBytes))
	}
	return n, o.doc.spendBytes(n.size)
}

func (o *operation) checkHeader(p parameter) {
	switch {
	case !capability.HeaderName(p.name):
		o.fail(faultf(codeInvalidParamLocation, "Use letters, digits and hyphens in header names.",
			"%q is not a header name", quote(p.name)).under(o.parameterAt(p, "name")))
	case capability.ReservedHeader(p.name):
		o.fail(faultf(codeReservedHeader, "Choose another header, or take the value from the headers that the hub sends.",
			"header %q belongs to HTTP or to the hub", quote(p.name)).under(o.parameterAt(p, "name")))
	}
}

// asProperty is a schema in its object form: `true` is the empty schema.
func asProperty(n *node, name string) (*node, *fault) {
	switch {
	case n.kind == objectNode:
		return n, nil
	case isTrue(n):
		return newObject(nil), nil
	}
	return nil, faultf(codeInvalidSchema, "Write the schema as an object.", "the schema of %q is not an object", quote(name))
}

func (in *inputs) add(name string, schema *node, location capability.Location, origin int) {
	if i, ok := in.at[name]; ok {
		in.properties[i].value, in.origins[i] = schema, origin
	} else {
		in.at[name] = len(in.properties)
		in.properties = append(in.properties, member{name, schema})
		in.origins = append(in.origins, origin)
	}
	in.paramIn[name] = location
}

func (in *inputs) require(name canonical.Value) {
	if text := name.Text(); !in.isRequired[text] {
		in.isRequired[text] = true
		in.required = append(in.required, newLeaf(name))
	}
}

// schema is the tool's input schema, not yet written.
func (in *inputs) schema(objectType *node) *node {
	members := []member{{"type", objectType}, {"properties", newObject(in.properties)}}
	if len(in.required) > 0 {
		members = append(members, member{"required", newArray(in.required)})
	}
	return newObject(members)
}

// checkInputs compares what is required, described and placed with what is declared (core §4.7).
func (o *operation) checkInputs(in *inputs) {
	for i, p := range in.properties {
		if !o.silent() && textlimit.Blank(p.value.get("description").value().Text()) {
			o.warn(faultf(codeParamMissingDescription, "Describe the argument; a model has nothing else to go by.",
				"argument %q has no description", quote(p.key)).under(o.inputAt(in, i)))
		}
	}
	for i, p := range in.properties {
		if at := in.paramIn[p.key]; at != capability.InBody && unsendable(p.value) && !o.silent() {
			o.warn(faultf(codeParamNotSendable, "Declare a parameter for each member, or move the value into the JSON body.",
				"argument %q holds objects, which cannot travel in the %s: calls that set it are refused", quote(p.key), at).under(o.inputAt(in, i)))
		}
	}
	for _, n := range in.required {
		name := n.leaf.Text()
		if _, ok := in.at[name]; !ok && !o.full() {
			o.fail(faultf(codeRequiredParamUndeclared, "Declare the property, or take it out of required.",
				"%q is required and not declared", quote(name)).under(o.requiredAt(in.body, name)))
		}
	}
	names := capability.Placeholders(o.path)
	for _, name := range names {
		if in.paramIn[name] != capability.InPath {
			o.fail(faultf(codePathParamMissing, "Declare a parameter of this name with in: path.",
				"the placeholder {%s} has no path parameter", quote(name)).under(o.at("parameters")))
		}
	}
	inPath := make(map[string]bool, len(names))
	for _, name := range names {
		inPath[name] = true
	}
	for i, p := range in.properties {
		if in.paramIn[p.key] == capability.InPath && !inPath[p.key] {
			o.warn(faultf(codePathParamNotInPath, "Add the placeholder to the path, or remove the parameter.",
				"path parameter %q does not occur in the path and is not sent", quote(p.key)).under(o.inputAt(in, i)))
		}
	}
}

// unsendable reports a schema of objects, or of lists of them: outside the body only texts, numbers, booleans and lists of these
// have a form (core §3.3).
func unsendable(schema *node) bool {
	switch schema.get("type").value().Text() {
	case "object":
		return true
	case "array":
		return schema.get("items").get("type").value().Text() == "object"
	}
	return false
}
