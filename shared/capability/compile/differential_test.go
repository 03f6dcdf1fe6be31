package compile_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"bailing/shared/capability"
	"bailing/shared/capability/compile"
)

// explained are the differences between kin-openapi's reading of a document and the compiler's, each with the reason why ours
// stays. One that no longer occurs fails the test.
var explained = map[string]string{
	`allof_nullable.yaml a: "forbidden" is [string], not [null string]`: "kin-openapi does not tell nullable: false from none; the outer part forbids null",
}

// unread are the documents with tools that kin-openapi cannot load, and why that does not matter.
var unread = map[string]string{
	"allof_degenerate.yaml":                            "one operation's allOf is no array: only that operation is refused",
	"deprecated_variants.yaml":                         "deprecated is text: not a boolean, so not deprecated (core 4.4)",
	"names_made_from_paths.yaml":                       "an operationId is a number: a name is made from the path",
	"parameters_written_wrong.yaml":                    "the operations written wrong are refused, the others are not",
	"ref_in_examples_is_data.yaml":                     "a reference to an example has no target: no tool reads examples",
	"ref_into_array.yaml":                              "operations with references past an array are refused, the others are not",
	"ref_path_item.yaml":                               "one path item is not found: only that path is reported",
	"ref_recursion_in_responses_is_not_looked_at.yaml": "a response is not found: no tool reads responses",
	"ref_unresolved.yaml":                              "operations with references that lead nowhere are refused, the others are not",
	"yaml_document_markers.yaml":                       "the parser of YAML that kin-openapi shares refuses the directive of YAML 1.2",
	"yaml_keys_that_are_no_text.yaml":                  "a key is null: here it is the text",
}

// Parameters, places, required sets and types of every tool are what an independent reader of OpenAPI finds in the document.
func TestDifferential(t *testing.T) {
	t.Parallel()
	documents := goldenDocuments(t)
	for version, seed := range map[string]uint64{"3.0.3": 1, "3.1.0": 2} {
		documents["generated "+version] = generateFamily(version, seed, 150)
	}
	if real, ok := readRealDocuments(t); ok {
		maps.Copy(documents, real)
	}
	used, compared := make(map[string]bool), 0
	for _, name := range slices.Sorted(maps.Keys(documents)) {
		catalog := compile.Compile(documents[name])
		if len(catalog.Tools) == 0 {
			continue
		}
		doc, err := openapi3.NewLoader().LoadFromData(documents[name])
		if err != nil {
			used[name] = true
			if unread[name] == "" {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		for i := range catalog.Tools {
			compared++
			for _, d := range differences(inputsOf(t, &catalog.Tools[i]), readByKin(doc, &catalog.Tools[i])) {
				line := name + " " + catalog.Tools[i].Name + ": " + d
				used[line] = true
				if explained[line] == "" {
					t.Errorf("%s", line)
				}
			}
		}
	}
	for line := range explained {
		if !used[line] {
			t.Errorf("no longer a difference: %s", line)
		}
	}
	for name := range unread {
		if !used[name] {
			t.Errorf("kin-openapi reads %s by now", name)
		}
	}
	t.Logf("%d documents, %d operations compared", len(documents), compared)
}

// readRealDocuments are the public documents with every operation enabled; false when they are not beside the repository.
func readRealDocuments(t *testing.T) (map[string][]byte, bool) {
	t.Helper()
	out := make(map[string][]byte)
	for name := range realDocuments {
		src, ok := readRealDocument(t, name)
		if !ok {
			return nil, false
		}
		out[name] = enableAll(t, name, src)
	}
	return out, true
}

// readByKin is the operation of a tool as kin-openapi sees it.
func readByKin(doc *openapi3.T, tool *capability.Tool) *plainOperation {
	o := &plainOperation{
		method: tool.Method, path: tool.Path, inputs: make(map[string]plainInput), required: make(map[string]bool),
	}
	item := doc.Paths.Value(tool.Path)
	if item == nil || item.GetOperation(tool.Method) == nil {
		return o
	}
	op := item.GetOperation(tool.Method)
	for _, list := range []openapi3.Parameters{item.Parameters, op.Parameters} {
		for _, p := range list {
			if p.Value.Schema == nil {
				continue
			}
			// A header's name has no case, so that the operation's replaces the path's.
			for known, in := range o.inputs {
				if p.Value.In == "header" && in.in == "header" && strings.EqualFold(known, p.Value.Name) {
					delete(o.inputs, known)
					delete(o.required, known)
				}
			}
			o.inputs[p.Value.Name] = plainInput{p.Value.In, typesByKin(p.Value.Schema)}
			o.required[p.Value.Name] = p.Value.Required || p.Value.In == "path"
		}
	}
	if op.RequestBody != nil && tool.Method != "GET" {
		bodyByKin(o, op.RequestBody.Value.Content, tool.BodyType)
	}
	return o
}

// bodyByKin reads the content that the tool sends; which +json type stands first is lost in kin-openapi's map.
func bodyByKin(o *plainOperation, content openapi3.Content, bodyType string) {
	if bodyType == "" {
		bodyType = "application/json"
	}
	var media *openapi3.MediaType
	for name, m := range content {
		if base, _, _ := strings.Cut(strings.ToLower(name), ";"); base == bodyType {
			media = m
		}
	}
	if media == nil || media.Schema == nil {
		return
	}
	layers := layersByKin(media.Schema)
	readOnly := make(map[string]bool)
	for _, layer := range layers {
		for name := range layer.Properties {
			var parts openapi3.SchemaRefs
			for _, other := range layers {
				if p := other.Properties[name]; p != nil {
					parts = append(parts, p)
					readOnly[name] = readOnly[name] || p.Value.ReadOnly
				}
			}
			o.inputs[name] = plainInput{"body", typesByKin(&openapi3.SchemaRef{Value: &openapi3.Schema{AllOf: parts}})}
		}
	}
	declared := o.names()
	for _, layer := range layers {
		for _, name := range layer.Required {
			o.required[name] = o.required[name] || !readOnly[name]
		}
		for _, alternative := range slices.Concat(layer.OneOf, layer.AnyOf) {
			alternativesByKin(o, alternative, declared)
		}
	}
}

// alternativesByKin adds what only alternatives declare. Of several different declarations the types are only said if all agree.
func alternativesByKin(o *plainOperation, schema *openapi3.SchemaRef, declared map[string]bool) {
	for _, layer := range layersByKin(schema) {
		for name, p := range layer.Properties {
			if !declared[name] && (p.Value.Always == nil || *p.Value.Always) {
				o.addAlternative(name, typesByKin(p))
			}
		}
		for _, alternative := range slices.Concat(layer.OneOf, layer.AnyOf) {
			alternativesByKin(o, alternative, declared)
		}
	}
}

func layersByKin(schema *openapi3.SchemaRef) []*openapi3.Schema {
	if schema == nil || schema.Value == nil {
		return nil
	}
	out := []*openapi3.Schema{schema.Value}
	for _, part := range schema.Value.AllOf {
		out = append(out, layersByKin(part)...)
	}
	return out
}

func typesByKin(schema *openapi3.SchemaRef) []string {
	var allOf []any
	for _, layer := range layersByKin(schema) {
		plain := map[string]any{"nullable": layer.Nullable}
		if layer.Type != nil {
			var types []any
			for _, kind := range layer.Type.Slice() {
				types = append(types, kind)
			}
			plain["type"] = types
		}
		allOf = append(allOf, plain)
	}
	var d plainDocument
	return d.types(map[string]any{"allOf": allOf})
}
