package compile_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"bailing/shared/capability/compile"
)

// accepts says what JSON Schema says about a value, as far as the keywords go that combine makes; flags are the boolean
// exclusive bounds of OpenAPI 3.0.
func accepts(schema map[string]any, v any) bool {
	for _, part := range listOf(schema["allOf"]) {
		if !accepts(part.(map[string]any), v) {
			return false
		}
	}
	kind := map[bool]string{true: "null"}[v == nil]
	number, isNumber := v.(float64)
	text, isText := v.(string)
	object, isObject := v.(map[string]any)
	array, isArray := v.([]any)
	switch {
	case isNumber && number == float64(int(number)):
		kind = "integer"
	case isNumber:
		kind = "number"
	case isText:
		kind = "string"
	case isObject:
		kind = "object"
	case isArray:
		kind = "array"
	case v != nil:
		kind = "boolean"
	}
	types := typeList(schema["type"])
	if types != nil && !slices.Contains(types, kind) && !(kind == "integer" && slices.Contains(types, "number")) {
		return false
	}
	if enum := listOf(schema["enum"]); enum != nil && !slices.ContainsFunc(enum, func(m any) bool { return reflect.DeepEqual(m, v) }) {
		return false
	}
	within := func(x float64, low, high string) bool {
		l, hasLow := schema[low].(float64)
		h, hasHigh := schema[high].(float64)
		return (!hasLow || x >= l) && (!hasHigh || x <= h)
	}
	switch {
	case isNumber:
		if !within(number, "minimum", "maximum") ||
			schema["exclusiveMinimum"] == true && number == schema["minimum"] || schema["exclusiveMaximum"] == true && number == schema["maximum"] {
			return false
		}
	case isText:
		return within(float64(len(text)), "minLength", "maxLength")
	case isArray:
		items, _ := schema["items"].(map[string]any)
		return within(float64(len(array)), "minItems", "maxItems") &&
			!slices.ContainsFunc(array, func(e any) bool { return !accepts(items, e) })
	case isObject:
		for _, name := range listOf(schema["required"]) {
			if _, ok := object[name.(string)]; !ok {
				return false
			}
		}
		properties, _ := schema["properties"].(map[string]any)
		for name, m := range object {
			if p, ok := properties[name].(map[string]any); ok && !accepts(p, m) {
				return false
			}
		}
	}
	return true
}

func listOf(v any) []any {
	list, _ := v.([]any)
	return list
}

// combine is a schema with an allOf. Only with nested may an object's properties or an array's items be said something about.
func combine(r *rand.Rand, depth int, nested bool) map[string]any {
	s := map[string]any{}
	some := func(keyword string, of ...any) {
		if r.IntN(4) == 0 {
			s[keyword] = of[r.IntN(len(of))]
		}
	}
	some("type", "string", "integer", "number", []any{"string", "integer"}, []any{"number", "null"}, "boolean", "array", "object")
	some("enum", []any{1.0, 2.0, "a"}, []any{2.0, "ab", nil}, []any{"a", true, 2.5, 3.0})
	some("minimum", 0.0, 1.0, 2.0, 2.5)
	some("maximum", 1.0, 2.0, 3.0)
	some("minLength", 0.0, 1.0, 2.0)
	some("maxLength", 1.0, 2.0)
	some("minItems", 0.0, 1.0)
	some("maxItems", 0.0, 1.0, 2.0)
	if s["minimum"] != nil {
		some("exclusiveMinimum", true, false)
	}
	if s["maximum"] != nil {
		some("exclusiveMaximum", true, false)
	}
	if nested {
		some("required", []any{"a"}, []any{"b", "a"})
		some("properties", map[string]any{"a": combine(r, 0, false)}, map[string]any{"a": combine(r, 0, false), "b": combine(r, 0, false)})
		some("items", combine(r, 0, false))
	}
	if depth > 0 {
		parts := []any{combine(r, depth-1, nested), combine(r, depth-1, nested), combine(r, 0, nested)}
		s["allOf"] = parts[:1+r.IntN(3)]
	}
	return s
}

// A merged schema accepts exactly what the schema and all parts of its allOf accept.
func TestPropertyMergedSchemasAcceptWhatAllPartsAccept(t *testing.T) {
	t.Parallel()
	values := []any{nil, true, -1.0, 0.0, 1.0, 2.0, 2.5, 3.0, 4.0, "", "a", "ab", "abc", []any{}, []any{1.0}, []any{"a", 2.0}, []any{1.0, 2.0, 3.0},
		map[string]any{}, map[string]any{"a": 1.0}, map[string]any{"a": "ab", "b": 2.0}, map[string]any{"b": nil, "c": 1.0}}
	r := rand.New(rand.NewPCG(11, 13))
	paths, originals := map[string]any{}, map[string]map[string]any{}
	for i := range 1500 {
		name := fmt.Sprintf("t%d", i)
		originals[name] = combine(r, 2, i%2 == 0)
		paths["/"+name] = map[string]any{"get": map[string]any{
			"operationId": name, "summary": "s", "x-agent-capability": map[string]any{"version": 1, "enabled": true, "scope": "s"},
			"parameters": []any{map[string]any{"name": "p", "in": "query", "description": "d", "schema": originals[name]}},
		}}
	}
	src, err := json.Marshal(map[string]any{"openapi": "3.0.3", "paths": paths})
	if err != nil {
		t.Fatal(err)
	}
	catalog := compile.Compile(src)
	accepted, refused := 0, 0
	for i := range catalog.Tools {
		tool := &catalog.Tools[i]
		var schema struct{ Properties struct{ P map[string]any } }
		if err := json.Unmarshal(tool.InputSchema, &schema); err != nil {
			t.Fatal(err)
		}
		for _, v := range values {
			got, want := accepts(schema.Properties.P, v), accepts(originals[tool.Name], v)
			if got != want {
				original, _ := json.Marshal(originals[tool.Name])
				t.Fatalf("%v: %t, want %t\nmerged %s\nof %s", v, got, want, tool.InputSchema, original)
			}
			if got {
				accepted++
			} else {
				refused++
			}
		}
	}
	if len(catalog.Tools) < 300 || accepted < 500 || refused < 500 {
		t.Errorf("%d tools, %d values accepted, %d refused: too little was compared", len(catalog.Tools), accepted, refused)
	}
	for _, d := range catalog.Diagnostics {
		if d.Code != "schema_conflict" && d.Code != "param_not_sendable" {
			t.Errorf("%+v", d)
		}
	}
}
