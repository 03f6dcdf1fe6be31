package compile_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"bailing/shared/capability"
)

// plainDocument is a specification as plain maps. What it says about operations is found out here a second time, naively and
// without the compiler's code, to be compared with what the compiler says.
type plainDocument struct {
	root map[string]any
	is30 bool
}

func newPlainDocument(t *testing.T, src []byte) *plainDocument {
	t.Helper()
	d := &plainDocument{}
	if json.Unmarshal(src, &d.root) != nil {
		if err := yaml.Unmarshal(src, &d.root); err != nil {
			t.Fatal(err)
		}
	}
	version, _ := d.root["openapi"].(string)
	d.is30 = strings.HasPrefix(version, "3.0")
	return d
}

// plainInput is an argument: where it travels and which JSON types it may have, sorted; none means any.
type plainInput struct {
	in    string
	types []string
}

type plainOperation struct {
	method, path string
	inputs       map[string]plainInput
	required     map[string]bool
}

// enabledOperations are those with x-agent-capability and enabled: true, by "METHOD /path".
func (d *plainDocument) enabledOperations() map[string]*plainOperation {
	out := make(map[string]*plainOperation)
	paths, _ := d.root["paths"].(map[string]any)
	for path, item := range paths {
		item, _ := d.follow(item).(map[string]any)
		for method, v := range item {
			op, _ := v.(map[string]any)
			extension, _ := op["x-agent-capability"].(map[string]any)
			if extension["enabled"] != true {
				continue
			}
			o := &plainOperation{
				method: strings.ToUpper(method), path: path,
				inputs: make(map[string]plainInput), required: make(map[string]bool),
			}
			d.addParameters(o, item["parameters"])
			d.addParameters(o, op["parameters"])
			if o.method != "GET" {
				d.addBody(o, d.follow(op["requestBody"]))
			}
			out[o.method+" "+path] = o
		}
	}
	return out
}

func (d *plainDocument) addParameters(o *plainOperation, list any) {
	parameters, _ := list.([]any)
	for _, v := range parameters {
		p, _ := d.follow(v).(map[string]any)
		name, _ := p["name"].(string)
		in, _ := p["in"].(string)
		if _, ok := p["schema"]; !ok {
			continue
		}
		o.inputs[name] = plainInput{in, d.types(p["schema"])}
		o.required[name] = p["required"] == true || in == "path"
	}
}

func (d *plainDocument) addBody(o *plainOperation, body any) {
	b, _ := body.(map[string]any)
	content, _ := b["content"].(map[string]any)
	media, _ := content["application/json"].(map[string]any)
	if media == nil {
		for _, name := range slices.Sorted(maps.Keys(content)) { // no document here has several
			if base, _, _ := strings.Cut(name, ";"); strings.HasSuffix(base, "+json") || strings.TrimSpace(base) == "application/json" {
				media, _ = content[name].(map[string]any)
			}
		}
	}
	readOnly := make(map[string]bool)
	layers := d.layers(media["schema"])
	for _, layer := range layers {
		properties, _ := layer["properties"].(map[string]any)
		for name, p := range properties {
			o.inputs[name] = plainInput{"body", d.propertyTypes(media["schema"], name)}
			for _, inner := range d.layers(p) {
				readOnly[name] = readOnly[name] || inner["readOnly"] == true
			}
		}
	}
	declared := o.names()
	for _, layer := range layers {
		required, _ := layer["required"].([]any)
		for _, name := range required {
			o.required[fmt.Sprint(name)] = o.required[fmt.Sprint(name)] || !readOnly[fmt.Sprint(name)]
		}
		d.addAlternatives(o, layer, declared)
	}
}

// addAlternatives adds the properties that only alternatives declare.
func (d *plainDocument) addAlternatives(o *plainOperation, schema map[string]any, declared map[string]bool) {
	one, _ := schema["oneOf"].([]any)
	anyOf, _ := schema["anyOf"].([]any)
	for _, alternative := range append(append([]any{}, one...), anyOf...) {
		for _, layer := range d.layers(alternative) {
			properties, _ := layer["properties"].(map[string]any)
			for name, p := range properties {
				if !declared[name] && p != false {
					o.addAlternative(name, d.types(p))
				}
			}
			d.addAlternatives(o, layer, declared)
		}
	}
}

// names are the inputs so far.
func (o *plainOperation) names() map[string]bool {
	out := make(map[string]bool)
	for name := range o.inputs {
		out[name] = true
	}
	return out
}

// addAlternative adds a property of one alternative. When several declare it, types are only known if all say the same, but
// for null, which one of them is enough for.
func (o *plainOperation) addAlternative(name string, types []string) {
	isNull := func(t string) bool { return t == "null" }
	if known, ok := o.inputs[name]; ok {
		both := slices.DeleteFunc(slices.Clone(types), isNull)
		switch {
		case !slices.Equal(slices.DeleteFunc(slices.Clone(known.types), isNull), both):
			types = nil
		case len(known.types) > len(types):
			types = known.types
		}
	}
	o.inputs[name] = plainInput{"body", types}
}

// propertyTypes are the types of a property that several parts of an allOf may declare.
func (d *plainDocument) propertyTypes(schema any, name string) []string {
	var parts []any
	for _, layer := range d.layers(schema) {
		properties, _ := layer["properties"].(map[string]any)
		if p, ok := properties[name]; ok {
			parts = append(parts, p)
		}
	}
	return d.types(map[string]any{"allOf": parts})
}

// layers are the schema objects that all apply to a value: the schema, what it refers to, and the parts of its allOf.
func (d *plainDocument) layers(schema any) []map[string]any {
	s, ok := schema.(map[string]any)
	if !ok {
		return nil
	}
	var out []map[string]any
	if ref, ok := s["$ref"].(string); ok {
		if d.is30 {
			return d.layers(d.target(ref))
		}
		out = d.layers(d.target(ref))
	}
	out = append([]map[string]any{s}, out...)
	parts, _ := s["allOf"].([]any)
	for _, part := range parts {
		out = append(out, d.layers(part)...)
	}
	return out
}

func (d *plainDocument) types(schema any) []string {
	var types []string
	typed, nullable := false, false
	for _, layer := range d.layers(schema) {
		nullable = nullable || layer["nullable"] == true
		these := typeList(layer["type"])
		switch {
		case these == nil:
		case !typed:
			types, typed = these, true
		default:
			types = slices.DeleteFunc(types, func(t string) bool {
				return !slices.Contains(these, t) && !(t == "integer" && slices.Contains(these, "number"))
			})
			if slices.Contains(these, "integer") && !slices.Contains(types, "integer") {
				types = append(types, "integer")
			}
		}
	}
	if nullable && len(types) > 0 && !slices.Contains(types, "null") {
		types = append(types, "null")
	}
	slices.Sort(types)
	return types
}

func typeList(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var out []string
		for _, e := range v {
			out = append(out, fmt.Sprint(e))
		}
		return out
	}
	return nil
}

// follow is v, or what it refers to. A reference that leads nowhere, or in a circle, is nil.
func (d *plainDocument) follow(v any) any {
	for range 100 {
		m, _ := v.(map[string]any)
		ref, ok := m["$ref"].(string)
		if !ok {
			return v
		}
		v = d.target(ref)
	}
	return nil
}

func (d *plainDocument) target(ref string) any {
	fragment, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	v := any(d.root)
	for step := range strings.SplitSeq(fragment, "/") {
		step, _ = url.PathUnescape(step)
		step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
		switch at := v.(type) {
		case map[string]any:
			v = at[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(at) {
				return nil
			}
			v = at[i]
		default:
			return nil
		}
	}
	return v
}

// inputsOf is a tool's input schema in the same terms.
func inputsOf(t *testing.T, tool *capability.Tool) *plainOperation {
	t.Helper()
	var schema struct {
		Properties map[string]any
		Required   []string
	}
	if err := json.Unmarshal(tool.InputSchema, &schema); err != nil {
		t.Fatal(err)
	}
	o := &plainOperation{
		method: tool.Method, path: tool.Path, inputs: make(map[string]plainInput), required: make(map[string]bool),
	}
	var whole plainDocument
	for name, p := range schema.Properties {
		o.inputs[name] = plainInput{string(tool.ParamIn[name]), whole.types(p)}
	}
	for _, name := range schema.Required {
		o.required[name] = true
	}
	return o
}

// differences says how two views of an operation differ, one line each, sorted.
func differences(got, want *plainOperation) []string {
	var out []string
	for name, w := range want.inputs {
		g, ok := got.inputs[name]
		switch {
		case !ok:
			out = append(out, fmt.Sprintf("%s %q is lost", w.in, name))
		case g.in != w.in:
			out = append(out, fmt.Sprintf("%q is in %s, not in %s", name, g.in, w.in))
		case !slices.Equal(g.types, w.types):
			out = append(out, fmt.Sprintf("%q is %v, not %v", name, g.types, w.types))
		}
		if got.required[name] != want.required[name] {
			out = append(out, fmt.Sprintf("%q required: %t, not %t", name, got.required[name], want.required[name]))
		}
	}
	for name, g := range got.inputs {
		if _, ok := want.inputs[name]; !ok {
			out = append(out, fmt.Sprintf("%s %q is made up", g.in, name))
		}
	}
	slices.Sort(out)
	return out
}
