package catalog_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"bailing/shared/catalog"
)

func TestSchemasShowWhatHelpsToWriteArguments(t *testing.T) {
	t.Parallel()
	const none = `{"type":"object","properties":{}}`
	for rule, tc := range map[string]struct{ in, want string }{
		"every keyword that is shown": {
			`{"type":"object","properties":{"a":{"type":["string","null"],"description":"d","enum":["x",null],"const":{"example":1},"nullable":true,
			  "format":"date","pattern":"^x$","minLength":1,"maxLength":2,"minimum":1.5,"maximum":9007199254740993,"exclusiveMinimum":true,
			  "exclusiveMaximum":3,"minItems":0,"maxItems":4}},"required":["a"],"additionalProperties":false}`,
			`{"type":"object","properties":{"a":{"type":["string","null"],"description":"d","enum":["x",null],"const":{"example":1},"nullable":true,` +
				`"format":"date","pattern":"^x$","minLength":1,"maxLength":2,"minimum":1.5,"maximum":9007199254740993,"exclusiveMinimum":true,` +
				`"exclusiveMaximum":3,"minItems":0,"maxItems":4}},"required":["a"],"additionalProperties":false}`,
		},
		"nothing else": {
			`{"title":"t","type":"object","default":{},"example":1,"examples":[1],"$ref":"#/x","$defs":{"a":{}},"x-internal":1,"deprecated":true,
			  "properties":{"title":{"type":"string","title":"t","default":"d","readOnly":true,"x-y":1}},"patternProperties":{"a":{}},"not":{},"if":{}}`,
			`{"type":"object","properties":{"title":{"type":"string"}}}`,
		},
		"nested schemas are cleaned, too": {
			`{"type":"object","properties":{"a":{"type":"array","title":"t","items":{"type":"object","example":1,"properties":{"b":{"example":2}}}}},
			  "oneOf":[{"title":"t","required":["a"]}],"anyOf":[{"example":1}],"allOf":[{"x":1,"type":"object"}],"additionalProperties":{"title":"t","type":"string"}}`,
			`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{"b":{}}}}},` +
				`"oneOf":[{"required":["a"]}],"anyOf":[{}],"allOf":[{"type":"object"}],"additionalProperties":{"type":"string"}}`,
		},
		"a list of items":              {`{"properties":{"a":{"items":[{"title":"t","type":"string"},true]}}}`, `{"type":"object","properties":{"a":{"items":[{"type":"string"},true]}}}`},
		"schemas true and false":       {`{"properties":{"a":true,"b":false}}`, `{"type":"object","properties":{"a":true,"b":false}}`},
		"what is no schema":            {`{"properties":{"a":7,"b":[1],"c":null}}`, `{"type":"object","properties":{"a":{},"b":{},"c":{}}}`},
		"no lists where lists belong":  {`{"properties":{"a":{"oneOf":{"a":1},"properties":[1]}},"anyOf":7}`, `{"type":"object","properties":{"a":{}}}`},
		"the root is an object":        {`{"required":["a"],"type":"array"}`, `{"type":"object","required":["a"],"properties":{}}`},
		"with properties":              {`{"properties":[1],"type":["object","null"]}`, none},
		"a property of any name":       {`{"properties":{"$ref":{},"\u2028":{},"\"":{}}}`, "{\"type\":\"object\",\"properties\":{\"$ref\":{},\"\u2028\":{},\"\\\"\":{}}}"},
		"mark-up is not escaped":       {`{"properties":{"a":{"pattern":"<&>"}}}`, `{"type":"object","properties":{"a":{"pattern":"<&>"}}}`},
		"an empty schema":              {`{}`, none},
		"a schema that is none":        {`[1]`, none},
		"a schema that cannot be read": {`{"a":`, none},
		"no schema":                    {``, none},
	} {
		got := string(catalog.PublicSchema(json.RawMessage(tc.in)))
		if got != tc.want || !json.Valid([]byte(got)) {
			t.Errorf("%s:\n%s\nwant\n%s", rule, got, tc.want)
		}
	}
}

// The root is level 0; what would be level 17 is any object.
func TestSchemasEndSixteenLevelsBelowTheRoot(t *testing.T) {
	t.Parallel()
	nested := func(levels int, innermost string) string {
		return strings.Repeat(`{"type":"object","properties":{"a":`, levels) + innermost + strings.Repeat(`}}`, levels)
	}
	for levels, want := range map[int]string{16: `{"type":"string"}`, 17: `{"type":"object","properties":{}}`} {
		if got := string(catalog.PublicSchema(json.RawMessage(nested(levels, `{"type":"string"}`)))); got != nested(levels, want) {
			t.Errorf("%d levels: %s", levels, got)
		}
	}
	for _, keyword := range []string{`"items":%s`, `"additionalProperties":%s`, `"oneOf":[%s]`, `"anyOf":[%s]`, `"allOf":[%s]`, `"items":[%s]`} {
		wrap := func(levels int, innermost string) string {
			open, end, _ := strings.Cut(keyword, "%s")
			return strings.Repeat(`{`+open, levels) + innermost + strings.Repeat(end+`}`, levels)
		}
		for levels, want := range map[int]string{15: `{"type":"string"}`, 16: `{"type":"object","properties":{}}`} {
			in := `{"type":"object","properties":{"a":%s}}`
			got := string(catalog.PublicSchema(json.RawMessage(fmt.Sprintf(in, wrap(levels, `{"type":"string"}`)))))
			if got != fmt.Sprintf(in, wrap(levels, want)) {
				t.Errorf("%s, %d levels: %s", keyword, levels, got)
			}
		}
	}
}

func TestTheFirstTwentyAlternativesAreShown(t *testing.T) {
	t.Parallel()
	list := func(n int) string { return "[" + strings.Repeat(`{"type":"string"},`, n-1) + `{"type":"string"}]` }
	for _, keyword := range []string{"oneOf", "anyOf", "allOf"} {
		for n, want := range map[int]int{19: 19, 20: 20, 21: 20} {
			got := string(catalog.PublicSchema(json.RawMessage(`{"properties":{"a":{"` + keyword + `":` + list(n) + `}}}`)))
			if got != `{"type":"object","properties":{"a":{"`+keyword+`":`+list(want)+`}}}` {
				t.Errorf("%s of %d: %s", keyword, n, got)
			}
		}
	}
	if got := string(catalog.PublicSchema(json.RawMessage(`{"properties":{"a":{"enum":` + list(30) + `}}}`))); strings.Count(got, "string") != 30 {
		t.Errorf("values are no alternatives: %s", got)
	}
}
