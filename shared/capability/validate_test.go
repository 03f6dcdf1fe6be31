package capability_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"bailing/shared/capability"
)

func TestValidateArgs(t *testing.T) {
	t.Parallel()
	nest := func(n int) string { return strings.Repeat(`[`, n) + strings.Repeat(`]`, n) }
	items := func(n int) string { return `[` + strings.TrimSuffix(strings.Repeat("1,", n), ",") + `]` }
	keys := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"k%d":1,`, i)
		}
		return `{` + strings.TrimSuffix(b.String(), ",") + `}`
	}
	cases := []struct {
		rule, properties, required, args string
		reason                           string // "": accepted
	}{
		{"nothing declared, nothing given", `{}`, `[]`, `{}`, ""},
		{"undeclared arguments, at most eight", `{}`, `[]`, `{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1}`,
			"unknown_arguments:a,b,c,d,e,f,g,h"},
		{"unknown comes before missing", `{"r":{}}`, `["r"]`, `{"z":1}`, "unknown_arguments:z"},
		{"required arguments that are absent", `{"a":{},"b":{},"c":{}}`, `["a","b","c"]`, `{"b":1}`, "missing_required:a,c"},
		{"missing comes before types", `{"a":{"type":"string"},"b":{}}`, `["b"]`, `{"a":1}`, "missing_required:b"},
		{"null counts as present and then has no type", `{"a":{"type":"string"}}`, `["a"]`, `{"a":null}`, "argument_type:a"},
		{"null by nullable", `{"a":{"type":"string","nullable":true}}`, `["a"]`, `{"a":null}`, ""},
		{"null by type", `{"a":{"type":["string","null"]}}`, `["a"]`, `{"a":null}`, ""},
		{"null in an enumeration must be listed", `{"a":{"type":"string","nullable":true,"enum":["x"]}}`, `[]`, `{"a":null}`, "argument_enum:a"},
		{"untyped accepts anything", `{"a":{}}`, `[]`, `{"a":{"x":[1,null,{"y":true}]}}`, ""},
		{"strings are not numbers", `{"a":{"type":"number"}}`, `[]`, `{"a":"1"}`, "argument_type:a"},
		{"numbers are not strings", `{"a":{"type":"string"}}`, `[]`, `{"a":1}`, "argument_type:a"},
		{"strings are not booleans", `{"a":{"type":"boolean"}}`, `[]`, `{"a":"true"}`, "argument_type:a"},
		{"arrays are not objects", `{"a":{"type":"object"}}`, `[]`, `{"a":[]}`, "argument_type:a"},
		{"objects are not arrays", `{"a":{"type":"array"}}`, `[]`, `{"a":{}}`, "argument_type:a"},
		{"an integer is a number", `{"a":{"type":"number"}}`, `[]`, `{"a":1}`, ""},
		{"1.0 is an integer", `{"a":{"type":"integer"}}`, `[]`, `{"a":1.0}`, ""},
		{"1.5 is not", `{"a":{"type":"integer"}}`, `[]`, `{"a":1.5}`, "argument_type:a"},
		{"one of several types", `{"a":{"type":["integer","string"]}}`, `[]`, `{"a":true}`, "argument_type:a"},
		{"a type that JSON does not have accepts nothing", `{"a":{"type":"file"}}`, `[]`, `{"a":"x"}`, "argument_type:a"},
		{"enumerations compare canonically", `{"a":{"enum":[{"x":1,"y":2}]}}`, `[]`, `{"a":{"y":2.0,"x":1}}`, ""},
		{"enumerations do not convert", `{"a":{"enum":[1]}}`, `[]`, `{"a":"1"}`, "argument_enum:a"},
		{"type comes before enumeration", `{"a":{"type":"string","enum":["x"]}}`, `[]`, `{"a":1}`, "argument_type:a"},
		{"minLength at the limit, in UTF-16 units", `{"a":{"minLength":2}}`, `[]`, `{"a":"😀"}`, ""},
		{"minLength below", `{"a":{"minLength":3}}`, `[]`, `{"a":"😀"}`, "argument_min_length:a"},
		{"maxLength at the limit", `{"a":{"maxLength":2}}`, `[]`, `{"a":"😀"}`, ""},
		{"maxLength past it", `{"a":{"maxLength":1}}`, `[]`, `{"a":"😀"}`, "argument_max_length:a"},
		{"maxLength zero", `{"a":{"maxLength":0}}`, `[]`, `{"a":"x"}`, "argument_max_length:a"},
		{"minimum is inclusive", `{"a":{"minimum":1.5}}`, `[]`, `{"a":1.5}`, ""},
		{"below minimum", `{"a":{"minimum":1.5}}`, `[]`, `{"a":1.4}`, "argument_minimum:a"},
		{"maximum is inclusive", `{"a":{"maximum":-1}}`, `[]`, `{"a":-1}`, ""},
		{"past maximum", `{"a":{"maximum":-1}}`, `[]`, `{"a":0}`, "argument_maximum:a"},
		{"bounds beyond 2^53 are exact", `{"a":{"maximum":9007199254740992}}`, `[]`, `{"a":9007199254740993}`, "argument_maximum:a"},
		{"bounds beyond 2^64 are exact", `{"a":{"minimum":36893488147419103233}}`, `[]`, `{"a":36893488147419103232}`, "argument_minimum:a"},
		{"1000 items", `{"a":{"type":"array"}}`, `[]`, `{"a":` + items(1000) + `}`, ""},
		{"1001 items", `{"a":{"type":"array"}}`, `[]`, `{"a":` + items(1001) + `}`, "argument_array_too_large:a"},
		{"items are checked by index", `{"a":{"items":{"type":"string"}}}`, `[]`, `{"a":["x",1]}`, "argument_type:a[1]"},
		{"256 keys", `{"a":{}}`, `[]`, `{"a":` + keys(256) + `}`, ""},
		{"257 keys", `{"a":{}}`, `[]`, `{"a":` + keys(257) + `}`, "argument_object_too_large:a"},
		{"nested required, the first only", `{"a":{"type":"object","properties":{"x":{},"y":{}},"required":["x","y"]}}`, `[]`, `{"a":{}}`,
			"missing_required:a.x"},
		{"nested undeclared", `{"a":{"type":"object","properties":{"x":{}}}}`, `[]`, `{"a":{"x":1,"z":1}}`, "unknown_argument:a.z"},
		{"an object type without properties declares none", `{"a":{"type":"object"}}`, `[]`, `{"a":{"z":1}}`, "unknown_argument:a.z"},
		{"additionalProperties true", `{"a":{"type":"object","additionalProperties":true}}`, `[]`, `{"a":{"z":{"y":1}}}`, ""},
		{"additionalProperties false", `{"a":{"additionalProperties":false}}`, `[]`, `{"a":{"z":1}}`, "unknown_argument:a.z"},
		{"additionalProperties as a schema validates", `{"a":{"type":"object","additionalProperties":{"type":"string"}}}`, `[]`,
			`{"a":{"z":1}}`, "argument_type:a.z"},
		{"members that only alternatives declare are known", `{"a":{"type":"object","oneOf":[{"properties":{"x":{}}},{"properties":{"y":{}}}]}}`, `[]`,
			`{"a":{"y":1}}`, ""},
		{"deep places are named", `{"a":{"properties":{"b":{"items":{"properties":{"c":{"type":"string"}}}}}}}`, `[]`,
			`{"a":{"b":[{},{"c":1}]}}`, "argument_type:a.b[1].c"},
		{"16 levels inside an argument", `{"a":{}}`, `[]`, `{"a":` + nest(17) + `}`, ""},
		{"17 levels", `{"a":{}}`, `[]`, `{"a":` + nest(18) + `}`, "argument_too_deep:a" + strings.Repeat("[0]", 17)},
		{"format and pattern are the business's to check", `{"a":{"type":"string","format":"uuid","pattern":"^x$"}}`, `[]`, `{"a":"y"}`, ""},
		{"additionalProperties of the whole do not admit arguments", `{"a":{}}`, `[]`, `{"b":1}`, "unknown_arguments:b"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			got := ""
			if r := tool(c.properties, c.required).ValidateArgs(parse(t, c.args)); r != nil {
				got = r.Reason
			}
			if got != c.reason {
				t.Errorf("got %q, want %q", got, c.reason)
			}
		})
	}
}

func TestValidateArgsRefusesWhatIsNoCall(t *testing.T) {
	t.Parallel()
	if r := tool(`{}`, `[]`).ValidateArgs(parse(t, `"{}"`)); r == nil || r.Reason != "tool_args_not_json_object" {
		t.Errorf("text with JSON in it: %v", r)
	}
	broken := &capability.Tool{InputSchema: json.RawMessage(`{"type":`)}
	if r := broken.ValidateArgs(parse(t, `{}`)); r == nil || r.Reason != "invalid_input_schema" {
		t.Errorf("a tool without a readable schema: %v", r)
	}
}

// A declared reserved header refuses every call, after all other checks.
func TestValidateArgsReservedHeader(t *testing.T) {
	t.Parallel()
	h := tool(`{"COOKIE":{"type":"string"},"a":{"type":"string"}}`, `[]`)
	h.ParamIn["COOKIE"] = capability.InHeader
	if r := h.ValidateArgs(parse(t, `{}`)); r == nil || r.Reason != "reserved_header:COOKIE" {
		t.Errorf("got %v", r)
	}
	if r := h.ValidateArgs(parse(t, `{"a":1}`)); r == nil || r.Reason != "argument_type:a" {
		t.Errorf("got %v", r)
	}
}

func TestDeclaredByLocationAloneIsKnownAndUntyped(t *testing.T) {
	t.Parallel()
	l := tool(`{}`, `[]`)
	l.ParamIn["q"] = capability.InQuery
	if r := l.ValidateArgs(parse(t, `{"q":[1]}`)); r != nil {
		t.Errorf("got %v", r)
	}
}

func TestReasonsAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("k", 100_000)
	r := tool(`{"a":{"type":"object"}}`, `[]`).ValidateArgs(parse(t, `{"a":{"`+long+`":1}}`))
	if r == nil || len(r.Reason) > 700 || r.Code() != capability.CodeUnknownArgument {
		t.Errorf("got %v", r)
	}
	r = tool(`{}`, `[]`).ValidateArgs(parse(t, `{"`+long+`":1}`))
	if r == nil || len(r.Reason) > 700 || r.Code() != capability.CodeUnknownArguments {
		t.Errorf("got %v", r)
	}
}

func TestToolsAreSafeForConcurrentCalls(t *testing.T) {
	t.Parallel()
	shared := tool(`{"a":{"type":"string"}}`, `["a"]`)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if r := shared.ValidateArgs(parse(t, `{"a":"x"}`)); r != nil {
				t.Errorf("got %v", r)
			}
		})
	}
	wg.Wait()
}

func FuzzValidateArgs(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"string","enum":["x"]}}}`, `{"a":"x"}`)
	f.Add(`{"properties":{"a":{"oneOf":[{"properties":{"b":{}}}],"minimum":1e308}},"required":["a"]}`, `{"a":{"b":[[[]]]}}`)
	f.Add(`{"properties":[],"required":{"a":1},"additionalProperties":7}`, `{}`)
	f.Fuzz(func(t *testing.T, schema, args string) {
		v, err := parseMaybe(args)
		if err != nil {
			t.Skip()
		}
		one := &capability.Tool{InputSchema: json.RawMessage(schema), ParamIn: map[string]capability.Location{}}
		first := one.ValidateArgs(v)
		if again := one.ValidateArgs(v); (first == nil) != (again == nil) || first != nil && first.Reason != again.Reason {
			t.Errorf("%v, then %v", first, again)
		}
	})
}
