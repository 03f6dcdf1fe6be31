package compile

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// propertiesOf is the input schema of a document's only tool, as JSON with sorted members.
func propertiesOf(t *testing.T, src []byte) string {
	t.Helper()
	return canonicalJSON(t, only(t, src).InputSchema)
}

func TestResolvedInputs(t *testing.T) {
	t.Parallel()
	object := func(properties string) string { return `{"properties":{` + properties + `},"type":"object"}` }
	cases := []struct {
		rule, version, item, components, want string
	}{
		{"a parameter by reference", "3.0.3", get(`[{"$ref":"#/components/parameters/P"}]`),
			`{"parameters":{"P":{"name":"p","in":"query","description":"d","schema":{"type":"string"}}}}`,
			object(`"p":{"description":"d","type":"string"}`)},
		{"a schema by reference, by reference", "3.0.3", post(`{"$ref":"#/components/schemas/A"}`),
			`{"schemas":{"A":{"$ref":"#/components/schemas/B"},"B":{"type":"object","properties":{"x":{"$ref":"#/components/schemas/X"}}},"X":{"type":"string"}}}`,
			object(`"x":{"type":"string"}`)},
		{"a body by reference", "3.0.3", `{"post":{"operationId":"a","summary":"s","requestBody":{"$ref":"#/components/requestBodies/B"},` + enabled + `}}`,
			`{"requestBodies":{"B":{"content":{"application/json":{"schema":{"type":"object","properties":{"x":{"type":"string"}}}}}}}}`,
			object(`"x":{"type":"string"}`)},
		{"escaped steps", "3.0.3", get(`[{"name":"p","in":"query","schema":{"$ref":"#/components/schemas/a~1b~0c%20d"}}]`),
			`{"schemas":{"a/b~c d":{"type":"string"}}}`, object(`"p":{"type":"string"}`)},
		{"references in items, additionalProperties and alternatives", "3.0.3",
			post(`{"type":"object","properties":{"l":{"type":"array","items":{"$ref":"#/components/schemas/X"}},"m":{"type":"object","additionalProperties":{"$ref":"#/components/schemas/X"}},"o":{"oneOf":[{"$ref":"#/components/schemas/X"}]}}}`),
			`{"schemas":{"X":{"type":"string"}}}`,
			object(`"l":{"items":{"type":"string"},"type":"array"},"m":{"additionalProperties":{"type":"string"},"type":"object"},"o":{"oneOf":[{"type":"string"}]}`)},
		{"a reference in a value is data", "3.0.3", post(`{"type":"object","properties":{"x":{"type":"object","default":{"$ref":"#/none"},"enum":[{"$ref":"#/none"}]}}}`), "",
			object(`"x":{"default":{"$ref":"#/none"},"enum":[{"$ref":"#/none"}],"type":"object"}`)},
		{"a property may be called $ref", "3.0.3", post(`{"type":"object","properties":{"$ref":{"type":"string"}}}`), "",
			object(`"$ref":{"type":"string"}`)},
		{"3.1: keywords beside a reference count", "3.1.0", get(`[{"name":"p","in":"query","schema":{"$ref":"#/components/schemas/X","maxLength":3,"description":"here"}}]`),
			`{"schemas":{"X":{"type":"string","maxLength":5,"description":"there"}}}`, object(`"p":{"description":"here","maxLength":3,"type":"string"}`)},
		{"3.0: only annotations do", "3.0.3", get(`[{"name":"p","in":"query","schema":{"$ref":"#/components/schemas/X","maxLength":3,"description":"here"}}]`),
			`{"schemas":{"X":{"type":"string","maxLength":5,"description":"there"}}}`, object(`"p":{"description":"here","maxLength":5,"type":"string"}`)},
		{"allOf: properties and required add up", "3.0.3",
			post(`{"allOf":[{"$ref":"#/components/schemas/A"},{"type":"object","properties":{"y":{"type":"integer"}},"required":["y","x"]}]}`),
			`{"schemas":{"A":{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]}}}`,
			`{"properties":{"x":{"type":"string"},"y":{"type":"integer"}},"required":["x","y"],"type":"object"}`},
		{"allOf: bounds tighten", "3.0.3",
			get(`[{"name":"p","in":"query","schema":{"allOf":[{"type":"number","minimum":1,"maximum":9,"enum":[1,2,3]},{"type":"integer","minimum":2,"maximum":8,"enum":[2,3,4]}]}}]`), "",
			object(`"p":{"enum":[2,3],"maximum":8,"minimum":2,"type":"integer"}`)},
		{"allOf: the outer schema's own words stand", "3.0.3",
			get(`[{"name":"p","in":"query","schema":{"description":"outer","nullable":true,"allOf":[{"type":"string","description":"inner"}]}}]`), "",
			object(`"p":{"description":"outer","nullable":true,"type":"string"}`)},
		{"allOf: a property of both parts satisfies both", "3.0.3",
			post(`{"allOf":[{"type":"object","properties":{"x":{"type":"string","minLength":1}}},{"type":"object","properties":{"x":{"maxLength":2}}}]}`), "",
			object(`"x":{"maxLength":2,"minLength":1,"type":"string"}`)},
		{"3.1: null among the types", "3.1.0", post(`{"type":["object","null"],"properties":{"x":{"type":["string","null"]}}}`), "",
			object(`"x":{"type":["string","null"]}`)},
		{"3.1: true is any value", "3.1.0", post(`{"type":"object","properties":{"x":true}}`), "", object(`"x":{}`)},
		{"a body of alternatives declares what any of them does", "3.0.3",
			post(`{"oneOf":[{"type":"object","properties":{"k":{"enum":["a"]},"x":{"type":"string"}},"required":["x"]},{"type":"object","properties":{"k":{"enum":["b"]},"y":{"type":"string"}}}]}`), "",
			object(`"k":{"anyOf":[{"enum":["a"]},{"enum":["b"]}]},"x":{"type":"string"},"y":{"type":"string"}`)},
		{"the operation's parameter replaces the path's", "3.0.3",
			`{"parameters":[{"name":"p","in":"query","required":true,"schema":{"type":"string"}},{"name":"q","in":"query","schema":{"type":"string"}}],` + strings.TrimPrefix(get(`[{"name":"p","in":"query","schema":{"type":"integer"}}]`), "{"), "",
			object(`"p":{"type":"integer"},"q":{"type":"string"}`)},
		{"a +json body", "3.0.3", `{"patch":{"operationId":"a","summary":"s","requestBody":{"content":{"text/plain":{},"application/merge-patch+json":{"schema":{"type":"object","properties":{"x":{"type":"string"}}}}}},` + enabled + `}}`, "",
			object(`"x":{"type":"string"}`)},
		{"application/json with parameters", "3.0.3", `{"post":{"operationId":"a","summary":"s","requestBody":{"content":{"application/x+json":{},"Application/JSON; charset=utf-8":{"schema":{"type":"object","properties":{"x":{"type":"string"}}}}}},` + enabled + `}}`, "",
			object(`"x":{"type":"string"}`)},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			if got := propertiesOf(t, spec(c.version, "/x", c.item, c.components)); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestInputsThatCannotBeCompiled(t *testing.T) {
	t.Parallel()
	body := func(content string) string {
		return `{"post":{"operationId":"a","summary":"s","parameters":[{"name":"p","in":"query","schema":{}}],"requestBody":{"required":true,"content":` + content + `},` + enabled + `}}`
	}
	cases := []struct {
		rule, item, components string
		want                   []string
	}{
		{"a reference without target", post(`{"$ref":"#/components/schemas/None"}`), "", []string{"ref_unresolved"}},
		{"a reference out of the document", post(`{"$ref":"other.yaml#/X"}`), "", []string{"ref_unresolved"}},
		{"a reference to an anchor", post(`{"$ref":"#x"}`), "", []string{"ref_unresolved"}},
		{"a schema that contains itself", post(`{"$ref":"#/components/schemas/N"}`),
			`{"schemas":{"N":{"type":"object","properties":{"next":{"$ref":"#/components/schemas/N"}}}}}`, []string{"ref_cycle"}},
		{"a parameter that is itself", get(`[{"$ref":"#/components/parameters/P"}]`),
			`{"parameters":{"P":{"$ref":"#/components/parameters/Q"},"Q":{"$ref":"#/components/parameters/P"}}}`, []string{"ref_cycle"}},
		{"allOf with types that exclude each other", get(`[{"name":"p","in":"query","schema":{"allOf":[{"type":"string"},{"type":"integer"}]}}]`), "",
			[]string{"schema_conflict"}},
		{"allOf with different patterns", get(`[{"name":"p","in":"query","schema":{"allOf":[{"pattern":"a"},{"pattern":"b"}]}}]`), "",
			[]string{"schema_conflict"}},
		{"a required body that is a form", body(`{"multipart/form-data":{}}`), "", []string{"unsupported_body"}},
		{"a required body that is an array", body(`{"application/json":{"schema":{"type":"array"}}}`), "", []string{"unsupported_body"}},
		{"a wildcard names no form", body(`{"*/*":{"schema":{"type":"object"}}}`), "", []string{"unsupported_body"}},
		{"a required body of a GET", `{"get":{"operationId":"a","summary":"s","requestBody":{"required":true,"content":{"application/json":{"schema":{"type":"object"}}}},` + enabled + `}}`, "",
			[]string{"unsupported_body"}},
		{"a required parameter without schema", get(`[{"name":"p","in":"query","required":true}]`), "", []string{"param_location_without_schema"}},
		{"one name in two places", get(`[{"name":"p","in":"query","schema":{}},{"name":"p","in":"header","schema":{}}]`), "", []string{"invalid_param_location"}},
		{"one parameter twice", get(`[{"name":"X-A","in":"header","schema":{}},{"name":"x-a","in":"header","schema":{}}]`), "", []string{"invalid_param_location"}},
		{"a parameter without name", get(`[{"in":"query","schema":{}}]`), "", []string{"invalid_param_in"}},
		{"parameters that are no array", get(`{}`), "", []string{"invalid_param_in"}},
		{"a reserved header", get(`[{"name":"Authorization","in":"header","schema":{}}]`), "", []string{"reserved_header"}},
		{"a governance header of the future", get(`[{"name":"x-bailing-tool","in":"header","schema":{}}]`), "", []string{"reserved_header"}},
		{"a header name that HTTP forbids", get(`[{"name":"a b","in":"header","schema":{}}]`), "", []string{"invalid_param_location"}},
		{"a schema that is none", get(`[{"name":"p","in":"query","schema":7}]`), "", []string{"invalid_input_schema"}},
		{"properties that are no object", post(`{"type":"object","properties":[]}`), "", []string{"invalid_input_schema_properties"}},
		{"required that is no list", post(`{"type":"object","properties":{},"required":true}`), "", []string{"invalid_input_schema_required"}},
		{"schemas nested too deeply", post(strings.Repeat(`{"type":"object","properties":{"x":`, 63) + `{}` + strings.Repeat(`}}`, 63)), "", []string{"document_limits"}},
		{"a schema too large", post(`{"type":"object","properties":{"x":{"type":"string","description":"` + strings.Repeat("x", MaxSchemaBytes) + `"}}}`), "", []string{"document_limits"}},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			fails(t, spec("3.0.3", "/x", c.item, c.components), c.want...)
		})
	}
}

func TestInputsLeftOutAreReported(t *testing.T) {
	t.Parallel()
	body := `{"post":{"operationId":"a","summary":"s","parameters":[{"name":"p","in":"query","schema":{}}],"requestBody":{"content":{"text/csv":{}}},` + enabled + `}}`
	cases := []struct{ rule, item, want string }{
		{"an optional body without JSON form", body, "unsupported_body"},
		{"an optional parameter without schema", get(`[{"name":"p","in":"query","content":{"application/json":{"schema":{}}}}]`), "param_location_without_schema"},
		{"a path parameter that the path lacks", get(`[{"name":"p","in":"path","schema":{}}]`), "path_param_not_in_path"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			got := Compile(spec("3.0.3", "/x", c.item, ""))
			if len(got.Tools) != 1 || !slices.Equal(warningsOf(got), []string{c.want}) {
				t.Errorf("%d tools, %v", len(got.Tools), got.Diagnostics)
			}
		})
	}
}

func TestPathItemByReference(t *testing.T) {
	t.Parallel()
	components := `{"pathItems":{"P":` + get(`[]`) + `}}`
	if tool := only(t, spec("3.1.0", "/y", `{"$ref":"#/components/pathItems/P"}`, components)); tool.Path != "/y" {
		t.Errorf("%+v", tool)
	}
	got := Compile(spec("3.1.0", "/y", `{"$ref":"#/components/pathItems/None"}`, components))
	if len(got.Tools) != 0 || !slices.Equal(warningsOf(got), []string{"ref_unresolved"}) {
		t.Errorf("%v", got.Diagnostics)
	}
}

// References can describe more than any memory holds; what is written out is bounded instead.
func TestReferencesThatMultiply(t *testing.T) {
	t.Parallel()
	var schemas []string
	for i := range 40 {
		ref := fmt.Sprintf(`{"$ref":"#/components/schemas/S%d"}`, i+1)
		schemas = append(schemas, fmt.Sprintf(`"S%d":{"type":"object","properties":{"x":%s,"y":%s}}`, i, ref, ref))
	}
	schemas = append(schemas, `"S40":{"type":"string"}`)
	fails(t, spec("3.0.3", "/x", post(`{"$ref":"#/components/schemas/S0"}`), `{"schemas":{`+strings.Join(schemas, ",")+`}}`), "document_limits")
}

func TestArgumentsOfOneTool(t *testing.T) {
	t.Parallel()
	body := func(n int) []byte {
		var properties []string
		for i := range n {
			properties = append(properties, fmt.Sprintf(`"p%d":{"type":"string"}`, i))
		}
		return spec("3.0.3", "/x", post(`{"type":"object","properties":{`+strings.Join(properties, ",")+`}}`), "")
	}
	if tool := only(t, body(MaxProperties)); len(tool.ParamIn) != MaxProperties {
		t.Errorf("%d arguments", len(tool.ParamIn))
	}
	fails(t, body(MaxProperties+1), "document_limits")
}

func TestToolsOfOneDocument(t *testing.T) {
	t.Parallel()
	var paths []string
	for i := range MaxTools + 1 {
		paths = append(paths, fmt.Sprintf(`"/p%d":{"get":{"operationId":"t%d","summary":"s",%s}}`, i, i, enabled))
	}
	got := Compile([]byte(`{"paths":{` + strings.Join(paths, ",") + `}}`))
	if len(got.Tools) != MaxTools || !slices.Equal(codes(got), []string{"error:document_limits"}) {
		t.Errorf("%d tools, %v", len(got.Tools), got.Diagnostics)
	}
}

// A body that many operations share is paid for by each; a document that makes this dear is cut off.
func TestSharedPathItemsAreBounded(t *testing.T) {
	t.Parallel()
	var properties, paths []string
	for i := range 1000 {
		properties = append(properties, fmt.Sprintf(`"p%d":{"type":"string"}`, i))
	}
	for i := range 5000 {
		paths = append(paths, fmt.Sprintf(`"/p%d":{"$ref":"#/components/pathItems/P"}`, i))
	}
	src := `{"openapi":"3.1.0","paths":{` + strings.Join(paths, ",") + `},"components":{"pathItems":{"P":` +
		post(`{"type":"object","properties":{`+strings.Join(properties, ",")+`}}`) + `}}}`
	got := Compile([]byte(src))
	if len(got.Tools) != 0 || !slices.Contains(codes(got), "error:document_limits") {
		t.Errorf("%d tools, %d diagnostics", len(got.Tools), len(got.Diagnostics))
	}
	if len(got.Diagnostics) > MaxDiagnostics+1 {
		t.Errorf("%d diagnostics", len(got.Diagnostics))
	}
}
