package capability_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"bailing/shared/canonical"
	"bailing/shared/capability"
)

// FuzzValidate compares the validation of arguments with the table of core §5.5, written down a second time and naively.
func FuzzValidate(f *testing.F) {
	nested := strings.Repeat(`{"a":`, 16) + `1` + strings.Repeat(`}`, 16)
	for _, seed := range [][2]string{
		{`{"type":"object","properties":{"a":{"type":"string","minLength":2,"maxLength":3}},"required":["a"]}`, `{"a":"abcd","b":1}`},
		{`{"properties":{"a":{"type":["integer","null"],"minimum":1.5,"maximum":9}}}`, `{"a":2.0}`},
		{`{"properties":{"a":{"enum":[1,"x",null,{"k":[1]}]}}}`, `{"a":{"k":[1e0]}}`},
		{`{"properties":{"a":{"type":"array","items":{"type":"object","properties":{"x":{"type":"number"}},"required":["x","y"]}}}}`, `{"a":[{"x":1},{"z":2}]}`},
		{`{"properties":{"a":{"type":"object","additionalProperties":{"type":"boolean"}}}}`, `{"a":{"k":true,"l":1}}`},
		{`{"properties":{"a":{"type":"object","additionalProperties":true,"properties":{"x":{"nullable":true,"type":"string"}}}}}`, `{"a":{"x":null,"y":{}}}`},
		{`{"properties":{"a":{"oneOf":[{"properties":{"x":{"type":"string"}}},{"allOf":[{"properties":{"y":{}}}]}],"type":"object"}}}`, `{"a":{"x":1,"y":2,"z":3}}`},
		{`{"properties":{"a":{"type":"object","patternProperties":{"^x":{}}}}}`, `{"a":{"b":1}}`},
		{`{"properties":{"a":{}},"required":["b"]}`, nested},
		{`{"properties":{"a":{"type":"integer","maximum":9007199254740992}}}`, `{"a":9007199254740993}`},
		{`{"properties":{"a":true,"b":false,"c":{"type":"cat"}}}`, `{"a":1,"b":2,"c":3}`},
		{`{"properties":{"a":{"type":"array","items":{"type":"integer"}}}}`, `{"a":[` + strings.Repeat("1,", 1000) + `"x"]}`},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, schema, args string) { checkValidation(t, schema, args) })
}

// checkValidation is the code of both answers, "" for acceptance; they are compared if the texts are JSON.
func checkValidation(t *testing.T, schema, args string) (code string) {
	t.Helper()
	s, _, ok := decode(schema)
	root, isObject := s.(map[string]any)
	_, parsed, argsOK := decode(args)
	if !ok || !isObject || !argsOK || parsed.Kind() != canonical.Object || !plainText(schema+args) || hugeNumber(schema+args) {
		return "skipped"
	}
	tool := &capability.Tool{Name: "t", Method: "POST", Path: "/t", InputSchema: json.RawMessage(schema)}
	tool.Prepare()
	got := ""
	if refusal := tool.ValidateArgs(parsed); refusal != nil {
		got = refusal.Reason
	}
	want := naiveArguments(root, parsed)
	code, _, _ = strings.Cut(want, ":")
	if len(want) > 120 || len(got) > 120 { // longer places are cut
		got, _, _ = strings.Cut(got, ":")
		want = code
	}
	if got != want {
		t.Errorf("%s against %s: %q, want %q", args, schema, got, want)
	}
	return code
}

// orderedMember is a member of an object in its order, which decides what is found first.
type orderedMember struct {
	name  string
	value canonical.Value
}

func membersOf(v canonical.Value) []orderedMember {
	var out []orderedMember
	for name, m := range v.Members() {
		out = append(out, orderedMember{name, m})
	}
	return out
}

func naiveArguments(root map[string]any, args canonical.Value) string {
	declared, _ := declaredMembers(root)
	var unknown, missing []string
	for _, m := range membersOf(args) {
		if _, ok := declared[m.name]; !ok && len(unknown) < 8 {
			unknown = append(unknown, m.name)
		}
	}
	if unknown != nil {
		return "unknown_arguments:" + strings.Join(unknown, ",")
	}
	for _, name := range requiredNames(root) {
		if _, ok := args.Get(name); !ok && len(missing) < 8 {
			missing = append(missing, name)
		}
	}
	if missing != nil {
		return "missing_required:" + strings.Join(missing, ",")
	}
	for _, m := range membersOf(args) {
		if reason := naiveValue(declared[m.name], m.value, m.name, 0); reason != "" {
			return reason
		}
	}
	return ""
}

// declaredMembers are the members that a schema declares, itself or in one of its alternatives, whose schemas are the
// business's to check; open tells whether others are accepted too.
func declaredMembers(schema map[string]any) (members map[string]any, open bool) {
	members = make(map[string]any)
	own, says := schema["properties"]
	more, saysMore := schema["additionalProperties"]
	_, patterns := schema["patternProperties"]
	_, typed := plainTypes(schema)
	_, isObject := more.(map[string]any)
	open = isObject || more == true || patterns || !says && !saysMore && !typed
	properties, _ := own.(map[string]any)
	for name, p := range properties {
		members[name] = p
	}
	var alternatives func(s map[string]any, depth int)
	alternatives = func(s map[string]any, depth int) {
		for _, keyword := range []string{"oneOf", "anyOf", "allOf"} {
			list, _ := s[keyword].([]any)
			for _, alternative := range list {
				a, _ := alternative.(map[string]any)
				if _, isObject := a["additionalProperties"].(map[string]any); isObject || a["additionalProperties"] == true {
					open = true
				}
				properties, _ := a["properties"].(map[string]any)
				for name := range properties {
					if _, ok := members[name]; !ok {
						members[name] = nil
					}
				}
				if depth < 16 {
					alternatives(a, depth+1)
				}
			}
		}
	}
	alternatives(schema, 0)
	return members, open
}

func requiredNames(schema map[string]any) []string {
	list, _ := schema["required"].([]any)
	var out []string
	for _, n := range list {
		name, _ := n.(string)
		out = append(out, name)
	}
	return out
}

func naiveValue(schema any, v canonical.Value, place string, depth int) string {
	if depth > 16 {
		return "argument_too_deep:" + place
	}
	s, _ := schema.(map[string]any) // true, false and what is no schema accept anything
	plain, _, ok := decode(string(v.AppendCompact(nil)))
	if !ok {
		return "undecodable"
	}
	if !typeAllows(s, plain) {
		return "argument_type:" + place
	}
	if enum, ok := s["enum"].([]any); ok && !slices.ContainsFunc(enum, func(m any) bool { return plainEqual(m, plain) }) {
		return "argument_enum:" + place
	}
	switch plain := plain.(type) {
	case string:
		n := big.NewRat(int64(utf16Length(plain)), 1)
		if low, ok := s["minLength"].(json.Number); ok && n.Cmp(rational(low)) < 0 {
			return "argument_min_length:" + place
		}
		if high, ok := s["maxLength"].(json.Number); ok && rational(high).Sign() >= 0 && n.Cmp(rational(high)) > 0 {
			return "argument_max_length:" + place
		}
	case json.Number:
		if low, ok := s["minimum"].(json.Number); ok && rational(plain).Cmp(rational(low)) < 0 {
			return "argument_minimum:" + place
		}
		if high, ok := s["maximum"].(json.Number); ok && rational(plain).Cmp(rational(high)) > 0 {
			return "argument_maximum:" + place
		}
	case []any:
		if len(plain) > capability.MaxArrayItems {
			return "argument_array_too_large:" + place
		}
		for i, e := range v.Elems() {
			if reason := naiveValue(s["items"], e, fmt.Sprintf("%s[%d]", place, i), depth+1); reason != "" {
				return reason
			}
		}
	case map[string]any:
		return naiveObject(s, v, place, depth)
	}
	return ""
}

func naiveObject(s map[string]any, v canonical.Value, place string, depth int) string {
	if v.Len() > capability.MaxObjectKeys {
		return "argument_object_too_large:" + place
	}
	for _, name := range requiredNames(s) {
		if _, ok := v.Get(name); !ok {
			return "missing_required:" + place + "." + name
		}
	}
	declared, open := declaredMembers(s)
	for _, m := range membersOf(v) {
		sub, ok := declared[m.name]
		switch {
		case ok:
		case open:
			sub = s["additionalProperties"]
		default:
			return "unknown_argument:" + place + "." + m.name
		}
		if reason := naiveValue(sub, m.value, place+"."+m.name, depth+1); reason != "" {
			return reason
		}
	}
	return ""
}
