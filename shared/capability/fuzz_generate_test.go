package capability_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
)

// maker makes schemas, and values that meet them more often than not. Equal seeds make equal ones.
type maker struct{ *rand.Rand }

func (m maker) one(of ...any) any { return of[m.IntN(len(of))] }

// number is one of those at which floats, integers and their notations part.
func (m maker) number() any {
	return json.RawMessage([]string{"0", "-0", "1", "1.0", "1e0", "2", "2.5", "-3", "9007199254740992", "9007199254740993", "1e21",
		"1000000000000000000000", "1e23", "100000000000000000000000", "0.1", "1e-7", "123456789012345678901234567890"}[m.IntN(17)])
}

func (m maker) name() string { return string(rune('a' + m.IntN(4))) }

// any is a value of any kind.
func (m maker) any(depth int) any {
	switch k := m.IntN(8); {
	case k == 0 && depth > 0:
		return []any{m.any(depth - 1), m.any(depth - 1)}[:m.IntN(3)]
	case k == 1 && depth > 0:
		return map[string]any{m.name(): m.any(depth - 1), m.name(): m.any(depth - 1)}
	case k < 4:
		return m.number()
	}
	return m.one(nil, true, false, "", "a", "abc", "abcd")
}

func (m maker) schema(depth int) any {
	kinds := []any{"string", "integer", "number", "boolean", "array", "object", "null", "cat"}
	s := map[string]any{}
	switch m.IntN(8) {
	case 0:
	case 1:
		s["type"] = []any{m.one(kinds...), m.one(kinds...)}
	case 2:
		return m.one(true, map[string]any{})
	default:
		s["type"] = m.one(kinds[:6]...)
	}
	some := func(keyword string, v func() any) {
		if m.IntN(5) == 0 {
			s[keyword] = v()
		}
	}
	some("nullable", func() any { return m.IntN(3) > 0 })
	some("enum", func() any { return []any{m.any(1), m.any(1), m.any(1)} })
	some("minimum", m.number)
	some("maximum", m.number)
	some("minLength", func() any { return m.IntN(4) })
	some("maxLength", func() any { return m.IntN(4) })
	if depth == 0 {
		return s
	}
	if m.IntN(2) == 0 {
		s["properties"] = map[string]any{m.name(): m.schema(depth - 1), m.name(): m.schema(depth - 1)}
	}
	some("required", func() any { return []any{m.name(), m.name()}[:1+m.IntN(2)] })
	some("items", func() any { return m.schema(depth - 1) })
	some("additionalProperties", func() any { return m.one(true, false, m.schema(depth-1)) })
	some("patternProperties", func() any { return map[string]any{"^x": m.schema(0)} })
	some([]string{"oneOf", "anyOf", "allOf"}[m.IntN(3)], func() any { return []any{m.schema(depth - 1), m.schema(depth - 1)} })
	return s
}

// value tends to meet the schema.
func (m maker) value(schema any, depth int) any {
	s, ok := schema.(map[string]any)
	if !ok || m.IntN(12) == 0 || depth == 0 {
		return m.any(max(depth, 0))
	}
	if enum, ok := s["enum"].([]any); ok && m.IntN(3) > 0 {
		return enum[m.IntN(len(enum))]
	}
	switch kind := s["type"]; {
	case kind == "string":
		return m.one("", "a", "abc", "abcd")
	case kind == "integer", kind == "number":
		return m.number()
	case kind == "array":
		return []any{m.value(s["items"], depth-1), m.value(s["items"], depth-1)}[:m.IntN(3)]
	case kind == "object", s["properties"] != nil:
		return m.object(s, depth)
	}
	return m.any(depth)
}

func (m maker) object(s map[string]any, depth int) map[string]any {
	out := map[string]any{}
	properties, _ := s["properties"].(map[string]any)
	for _, name := range []string{"a", "b", "c", "d"} {
		if p, ok := properties[name]; ok && m.IntN(5) > 0 {
			out[name] = m.value(p, depth-1)
		}
	}
	if m.IntN(4) == 0 {
		out[m.name()] = m.any(1)
	}
	required, _ := s["required"].([]any)
	for _, name := range required {
		if _, ok := out[name.(string)]; !ok && m.IntN(4) > 0 {
			out[name.(string)] = m.any(1)
		}
	}
	return out
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestPropertyValidationAgainstANaiveValidator(t *testing.T) {
	t.Parallel()
	m := maker{rand.New(rand.NewPCG(3, 5))}
	seen := map[string]int{}
	for range 3_000 {
		properties := map[string]any{"a": m.schema(2), "b": m.schema(2), "c": m.schema(1)}
		root := map[string]any{"type": "object", "properties": properties}
		seen[checkValidation(t, text(root), text(m.object(root, 3)))]++
		if t.Failed() {
			return
		}
	}
	for _, code := range []string{"", "unknown_arguments", "argument_type", "argument_enum", "argument_min_length", "argument_max_length",
		"argument_minimum", "argument_maximum", "missing_required", "unknown_argument"} {
		if seen[code] < 20 {
			t.Errorf("%q occurred %d times: too little was compared", code, seen[code])
		}
	}
}

func TestPropertyRulesOnGeneratedSchemasAgainstANaiveEvaluator(t *testing.T) {
	t.Parallel()
	m := maker{rand.New(rand.NewPCG(7, 9))}
	seen := map[string]int{}
	for range 4_000 {
		properties := map[string]any{"a": m.schema(2), "b": m.schema(1), "c": m.schema(0)}
		args := m.object(map[string]any{"properties": properties}, 3)
		param := []string{"a", "b", "c", "a.a", "a.b", "b.a", "a.b.c"}[m.IntN(7)]
		op := ruleOperators[m.IntN(len(ruleOperators))]
		value := m.any(1)
		if v, ok := args[param]; ok && m.IntN(2) == 0 {
			value = v
		}
		if op[0] == '<' || op[0] == '>' {
			value = m.one(value, m.number(), m.number())
		}
		if op == "in" && m.IntN(4) > 0 {
			value = []any{m.any(0), value, m.any(0)}
		}
		outcome := checkRule(t, text(properties), param, op, text(value), text(args))
		if seen[outcome+op]++; t.Failed() {
			return
		}
	}
	for _, op := range ruleOperators {
		for _, outcome := range []string{"hit", "miss", "confirm_when_missing_schema", "confirm_when_untyped_schema"} {
			if seen[outcome+op] == 0 {
				t.Errorf("%s never came to %s", op, outcome)
			}
		}
	}
}
