package compile_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
)

// family generates operations that combine references, allOf, parameters of the path, nullable and type arrays.
type family struct {
	*rand.Rand
	is30 bool
}

// generateFamily is a document of n operations. The same seed gives the same document.
func generateFamily(version string, seed uint64, n int) []byte {
	f := family{rand.New(rand.NewPCG(seed, 42)), version == "3.0.3"}
	schemas, parameters := map[string]any{}, map[string]any{}
	for i := range 40 {
		schemas[fmt.Sprintf("S%d", i)] = f.schema(i, 2) // refers to earlier ones only
		schemas[fmt.Sprintf("O%d", i)] = f.object(i, 2)
	}
	for i := range 20 {
		parameters[fmt.Sprintf("P%d", i)] = f.parameter(fmt.Sprintf("shared%d", i))
	}
	paths := map[string]any{}
	for i := range n {
		paths[fmt.Sprintf("/x%d/{id}", i)] = f.item(i)
	}
	src, err := json.Marshal(map[string]any{
		"openapi": version, "info": map[string]any{"title": "generated", "version": "1"}, "paths": paths,
		"components": map[string]any{"schemas": schemas, "parameters": parameters},
	})
	if err != nil {
		panic(err)
	}
	return src
}

func (f family) item(i int) map[string]any {
	id := map[string]any{"name": "id", "in": "path", "required": true, "schema": f.schema(40, 0)}
	op := map[string]any{
		"operationId": fmt.Sprintf("op%d", i), "summary": "s", "responses": map[string]any{"200": map[string]any{"description": "ok"}},
		"x-agent-capability": map[string]any{"version": 1, "enabled": true, "scope": "generated"},
	}
	item := map[string]any{}
	if f.IntN(2) == 0 {
		item["parameters"] = append([]any{id}, f.parameters(i)...)
	} else {
		op["parameters"] = append([]any{id}, f.parameters(i)...)
	}
	if item["parameters"] != nil && f.IntN(2) == 0 {
		op["parameters"] = f.parameters(i)
	}
	method := []string{"get", "post", "put", "patch", "delete"}[f.IntN(5)]
	if method != "get" && f.IntN(4) > 0 {
		media := []string{"application/json", "application/merge-patch+json", "application/json; charset=utf-8"}[f.IntN(3)]
		op["requestBody"] = map[string]any{
			"required": f.IntN(2) == 0, "content": map[string]any{media: map[string]any{"schema": f.object(40, 3)}},
		}
	}
	item[method] = op
	return item
}

// parameters are up to three with names that can also stand on the other level.
func (f family) parameters(i int) []any {
	var out []any
	for _, k := range f.Perm(3)[:f.IntN(4)] {
		if f.IntN(3) == 0 {
			out = append(out, map[string]any{"$ref": fmt.Sprintf("#/components/parameters/P%d", (i+k)%20)})
			continue
		}
		out = append(out, map[string]any{
			"name": fmt.Sprintf("own%d", k), "in": "query", "required": f.IntN(2) == 0, "schema": f.schema(40, 1),
		})
	}
	return out
}

func (f family) parameter(name string) map[string]any {
	return map[string]any{
		"name": name, "in": []string{"query", "header"}[f.IntN(2)], "required": f.IntN(2) == 0, "schema": f.schema(0, 1),
	}
}

// schema is a scalar, an array, an object or a combination, which refers to components below the limit.
func (f family) schema(limit, depth int) map[string]any {
	switch k := f.IntN(10); {
	case k < 3 && limit > 0:
		return map[string]any{"$ref": fmt.Sprintf("#/components/schemas/S%d", f.IntN(limit))}
	case k == 3 && depth > 0:
		return map[string]any{"type": "array", "items": f.schema(limit, depth-1)}
	case k == 4 && depth > 0:
		return f.object(limit, depth-1)
	case k == 5 && limit > 0:
		return map[string]any{"allOf": []any{
			map[string]any{"$ref": fmt.Sprintf("#/components/schemas/S%d", f.IntN(limit))}, map[string]any{"description": "with words of its own"},
		}}
	}
	return f.scalar()
}

func (f family) scalar() map[string]any {
	kind := []string{"string", "integer", "number", "boolean"}[f.IntN(4)]
	s := map[string]any{"type": kind}
	switch {
	case f.IntN(4) > 0:
	case f.is30:
		s["nullable"] = f.IntN(4) > 0
	case f.IntN(2) == 0:
		s["type"] = []any{kind, "null"}
	default:
		s["type"] = []any{kind, "object", "array"}[:1+f.IntN(3)]
	}
	return s
}

// object has some of ten properties, some of them required; a part of it may stand in an allOf.
func (f family) object(limit, depth int) map[string]any {
	properties, required := map[string]any{}, []any{}
	for _, k := range f.Perm(10)[:1+f.IntN(5)] {
		name := fmt.Sprintf("p%d_%d", k, f.IntN(1000)) // parts of one allOf must not contradict each other
		properties[name] = f.schema(limit, max(depth-1, 0))
		if f.IntN(3) == 0 {
			required = append(required, name)
		}
	}
	o := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		o["required"] = required
	}
	switch k := f.IntN(4); {
	case depth <= 0 || limit == 0:
		return o
	case k == 0:
		return map[string]any{"$ref": fmt.Sprintf("#/components/schemas/O%d", f.IntN(limit))}
	case k == 1:
		return map[string]any{"allOf": []any{o, f.object(limit, depth-1)}}
	case k == 2:
		o["allOf"] = []any{map[string]any{"$ref": fmt.Sprintf("#/components/schemas/O%d", f.IntN(limit))}}
	}
	return o
}
