package capability_test

import (
	"bytes"
	"encoding/json"
	"math/big"
	"slices"
	"strings"
	"unicode/utf16"

	"bailing/shared/canonical"
)

// decode is a JSON value as plain Go: maps, slices, strings, json.Number, bool, nil. It goes by way of the canonical package's
// text, so that both sides see the same digits; ok is false for what that package refuses.
func decode(src string) (v any, parsed canonical.Value, ok bool) {
	parsed, err := parseMaybe(src)
	if err != nil {
		return nil, parsed, false
	}
	dec := json.NewDecoder(bytes.NewReader(parsed.AppendCompact(nil)))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return nil, parsed, false
	}
	return v, parsed, true
}

// plainText reports whether a JSON text has neither escapes nor characters beyond ASCII: encoding/json replaces lone
// surrogates, so that other texts cannot be compared here.
func plainText(src string) bool {
	return !strings.ContainsFunc(src, func(r rune) bool { return r == '\\' || r > 0x7e })
}

func rational(n json.Number) *big.Rat {
	r, ok := new(big.Rat).SetString(string(n))
	if !ok {
		panic("not a number: " + n)
	}
	return r
}

// hugeNumber reports whether a text may hold a number that is dear to write out as a fraction.
func hugeNumber(src string) bool {
	digits := 0
	for i := range len(src) {
		if c := src[i]; '0' <= c && c <= '9' {
			if digits++; digits > 60 {
				return true
			}
		} else {
			digits = 0
		}
	}
	return false
}

func plainEqual(a, b any) bool {
	switch x := a.(type) {
	case json.Number:
		y, ok := b.(json.Number)
		return ok && x == y // both are in canonical form, and that is what the rules and enum compare
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, plainEqual)
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for key, v := range x {
			w, ok := y[key]
			if !ok || !plainEqual(v, w) {
				return false
			}
		}
		return true
	}
	switch b.(type) {
	case json.Number, []any, map[string]any:
		return false
	}
	return a == b
}

func plainKind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

// plainTypes are the declared types of a schema; declared is false when it says nothing about them.
func plainTypes(schema map[string]any) (types []string, declared bool) {
	var list []any
	switch t := schema["type"].(type) {
	case string:
		list = []any{t}
	case []any:
		list = t
	}
	for _, t := range list {
		if name, ok := t.(string); ok {
			types = append(types, name)
		}
	}
	return types, len(types) > 0
}

// typeAllows reports whether a value is of one of the schema's types (core §5.5); untyped schemas allow anything.
func typeAllows(schema map[string]any, v any) bool {
	types, declared := plainTypes(schema)
	if !declared || v == nil && schema["nullable"] == true {
		return true
	}
	n, isNumber := v.(json.Number)
	return slices.Contains(types, plainKind(v)) || isNumber && slices.Contains(types, "integer") && rational(n).IsInt()
}

func utf16Length(s string) int { return len(utf16.Encode([]rune(s))) }
