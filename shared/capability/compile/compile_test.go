package compile

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"bailing/shared/capability"
)

func TestDocumentsThatAreRefusedWhole(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`[`, MaxDocumentDepth+1) + strings.Repeat(`]`, MaxDocumentDepth+1)
	cases := []struct{ rule, src, code string }{
		{"nothing", "", "invalid_spec"},
		{"only a comment", "# nothing\n", "invalid_spec"},
		{"a scalar", "42", "invalid_spec"},
		{"paths of the wrong type", `{"paths":[]}`, "invalid_spec"},
		{"a duplicate key in JSON", `{"paths":{},"paths":{}}`, "invalid_spec"},
		{"a duplicate key in YAML", "paths: {}\npaths: {}\n", "invalid_spec"},
		{"a duplicate key in a merged mapping", "a: &a {x: 1, x: 2}\nb: {<<: *a}\n", "invalid_spec"},
		{"two YAML documents", "a: 1\n---\nb: 2\n", "invalid_spec"},
		{"a YAML key that is no scalar", "? [a]\n: 1\n", "invalid_spec"},
		{"a number that JSON cannot hold", "a: .inf\n", "invalid_spec"},
		{"invalid UTF-8", "{\"a\":\"\xff\"}", "invalid_spec"},
		{"an anchor in itself", "a: &a [*a]\n", "document_limits"},
		{"JSON nested too deeply", `{"a":` + deep + `}`, "document_limits"},
		{"YAML nested too deeply", "a: " + deep + "\n", "document_limits"},
		{"a byte too many", `{"a":"` + strings.Repeat("x", MaxDocumentBytes-7) + `"}`, "document_limits"},
		{"an alias too many", "a: &a 1\nb: [" + strings.Repeat("*a, ", MaxAliasUses) + "*a]\n", "document_limits"},
		{"aliases that multiply", bomb(), "document_limits"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			got := Compile([]byte(c.src))
			if !got.Failed() || len(got.Tools) != 0 || len(got.Diagnostics) != 1 || got.Diagnostics[0].Code != c.code {
				t.Errorf("got %v", got.Diagnostics)
			}
		})
	}
}

func bomb() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 10; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 10), ", "))
	}
	return b.String()
}

func TestDocumentsAtTheLimitAreAccepted(t *testing.T) {
	t.Parallel()
	nested := strings.Repeat(`[`, MaxDocumentDepth-1) + strings.Repeat(`]`, MaxDocumentDepth-1)
	cases := []struct{ rule, src string }{
		{"bytes", `{"a":"` + strings.Repeat("x", MaxDocumentBytes-8) + `"}`},
		{"depth", `{"a":` + nested + `}`},
		{"aliases", "a: &a 1\nb: [" + strings.Repeat("*a, ", MaxAliasUses-1) + "*a]\n"},
		{"an empty object", `{}`},
		{"a byte order mark", "\xEF\xBB\xBF{}"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			if got := Compile([]byte(c.src)); got.Failed() {
				t.Errorf("got %v", got.Diagnostics)
			}
		})
	}
}

func TestToJSON(t *testing.T) {
	t.Parallel()
	cases := []struct{ rule, src, want string }{
		{"JSON becomes compact and keeps its order", `{ "b" : 1.0, "a" : [ ] }`, `{"b":1,"a":[]}`},
		{"YAML scalars", "s: text\nq: '1'\ni: 0x1F\nf: 1.50\nt: true\nn: ~\ny: yes\nd: 2024-01-02\nbig: 12345678901234567890123\n",
			`{"s":"text","q":"1","i":31,"f":1.5,"t":true,"n":null,"y":"yes","d":"2024-01-02","big":12345678901234567890123}`},
		{"YAML keys are text", "200: ok\ntrue: x\n", `{"200":"ok","true":"x"}`},
		{"aliases are copies", "a: &a {x: [1]}\nb: *a\n", `{"a":{"x":[1]},"b":{"x":[1]}}`},
		{"merged mappings yield to what is there", "a: &a {x: 1, y: 2}\nb:\n  <<: *a\n  x: 3\n", `{"a":{"x":1,"y":2},"b":{"x":3,"y":2}}`},
		{"several merged mappings, the first wins", "a: &a {x: 1}\nb: &b {x: 2, z: 4}\nc:\n  <<: [*a, *b]\n",
			`{"a":{"x":1},"b":{"x":2,"z":4},"c":{"x":1,"z":4}}`},
		{"block text", "a: |\n  one\n  two\n", `{"a":"one\ntwo\n"}`},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			got, err := ToJSON([]byte(c.src))
			if err != nil || string(got) != c.want {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
	if _, err := ToJSON([]byte("[]")); err == nil {
		t.Error("an array is no specification")
	}
}

func TestJSONAndYAMLCompileAlike(t *testing.T) {
	t.Parallel()
	fromYAML := Compile([]byte(`
openapi: 3.1.0
paths:
  /orders/{no}:
    parameters:
      - {name: no, in: path, required: true, description: number, schema: {type: string}}
    get:
      operationId: order_get
      summary: One order
      x-agent-capability: {version: 1, enabled: true, scope: order.read}
`))
	fromJSON := Compile([]byte(`{"openapi":"3.1.0","paths":{"/orders/{no}":{"parameters":[{"name":"no","in":"path","required":true,` +
		`"description":"number","schema":{"type":"string"}}],"get":{"operationId":"order_get","summary":"One order",` +
		`"x-agent-capability":{"version":1,"enabled":true,"scope":"order.read"}}}}}`))
	if len(fromJSON.Tools) != 1 || canonicalJSON(t, fromYAML.Tools) != canonicalJSON(t, fromJSON.Tools) {
		t.Errorf("%v\n%v", fromYAML, fromJSON)
	}
	if fromYAML.Hash == fromJSON.Hash {
		t.Error("the hash is of the source's bytes")
	}
}

func TestHashIsOfTheSource(t *testing.T) {
	t.Parallel()
	src := []byte(`{"paths":{}}`)
	sum := sha256.Sum256(src)
	if got := Compile(src).Hash; got != hex.EncodeToString(sum[:]) {
		t.Errorf("got %s", got)
	}
}

func TestGate(t *testing.T) {
	t.Parallel()
	op := func(members, extension string) []byte {
		return spec("3.0.3", "/x", `{"get":{"operationId":"a","summary":"s"`+members+`,"x-agent-capability":`+extension+`}}`, "")
	}
	cases := []struct {
		rule string
		src  []byte
		want []string
	}{
		{"a version that is text", op("", `{"version":"1","enabled":true,"scope":"a"}`), []string{"unsupported_version"}},
		{"no version", op("", `{"enabled":true,"scope":"a"}`), []string{"unsupported_version"}},
		{"deprecation comes before version and scope", op(`,"deprecated":true`, `{"version":2,"enabled":true}`), []string{"deprecated"}},
		{"a disabled operation is not looked at", op(`,"deprecated":true,"parameters":[{"$ref":"#/none"}]`, `{"enabled":false}`), nil},
		{"a scope that is no text", op("", `{"version":1,"enabled":true,"scope":7}`), []string{"invalid_scope"}},
		{"a scope that no header carries", op("", `{"version":1,"enabled":true,"scope":"a\nb"}`), []string{"invalid_scope"}},
		{"a scope of 201 characters", op("", `{"version":1,"enabled":true,"scope":"`+strings.Repeat("s", 201)+`"}`), []string{"invalid_scope"}},
		{"a governing section that is no object", op("", `{"version":1,"enabled":true,"scope":"a","approval":true}`), []string{"invalid_agent_capability"}},
		{"a flag that is no boolean", op("", `{"version":1,"enabled":true,"scope":"a","approval":{"required":"yes"}}`), []string{"invalid_boolean"}},
		{"a method that is none", spec("3.0.3", "/x", `{"fetch":{"operationId":"a","summary":"s","parameters":[{"name":"p","in":"query","schema":{}}],`+enabled+`}}`, ""),
			[]string{"invalid_method"}},
		{"a path with a query", spec("3.0.3", "/x?y=1", get(`[]`), ""), []string{"invalid_path"}},
		{"a path with a dot segment", spec("3.0.3", "/x/%2E%2e/y", get(`[]`), ""), []string{"invalid_path"}},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			fails(t, c.src, c.want...)
		})
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	named := func(id string) []byte {
		return spec("3.0.3", "/x", `{"get":{"operationId":"`+id+`","summary":"s",`+enabled+`}}`, "")
	}
	if got := only(t, named(strings.Repeat("a", 64))).Name; len(got) != 64 {
		t.Errorf("64 characters became %q", got)
	}
	fails(t, named(strings.Repeat("a", 65)), "name_too_long")
	fails(t, named("1a"), "invalid_name")
	fails(t, named("名"), "invalid_name")
	for path, want := range map[string]string{
		"/orders/list-all.json": "get_orders_list_all_json", "/": "get", "/A//b..": "get_A_b", "/订单/x": "get_x",
	} {
		c := Compile(spec("3.0.3", path, `{"get":{"summary":"s",`+enabled+`}}`, ""))
		if len(c.Tools) != 1 || c.Tools[0].Name != want || !slices.Equal(warningsOf(c), []string{"missing_operation_id"}) {
			t.Errorf("%s: %v %v", path, c.Tools, c.Diagnostics)
		}
	}
}

// Of operations with one name none becomes a tool: the order of the document must not decide what a call does.
func TestDuplicateNames(t *testing.T) {
	t.Parallel()
	op := func(id string) string { return `{"get":{"operationId":"` + id + `","summary":"s",` + enabled + `}}` }
	c := Compile([]byte(`{"paths":{"/x":` + op("a") + `,"/y":` + op("b") + `,"/z":` + op("a") + `}}`))
	if len(c.Tools) != 1 || c.Tools[0].Name != "b" || !slices.Equal(errorsOf(c), []string{"duplicate_name", "duplicate_name"}) {
		t.Errorf("%v %v", c.Tools, c.Diagnostics)
	}
	if c.Diagnostics[0].Path != "GET /x" || c.Diagnostics[1].Path != "GET /z" || c.Diagnostics[0].Pointer != "/paths/~1x/get/operationId" {
		t.Errorf("%v", c.Diagnostics)
	}
}

func TestFlags(t *testing.T) {
	t.Parallel()
	cases := []struct {
		rule, members string
		check         func(*capability.Tool) bool
	}{
		{"timeout at the limit", `"execution":{"timeout_ms":600000}`, func(t *capability.Tool) bool { return t.TimeoutMs == 600000 }},
		{"a limit by the second", `"execution":{"rate_limit":{"count":2,"window":"1s"}}`,
			func(t *capability.Tool) bool { return t.RateLimitPerMin == 120 && t.RateLimit.Window == "1s" }},
		{"a limit by the hour rounds half up", `"execution":{"rate_limit":{"count":90,"window":"1h"}}`,
			func(t *capability.Tool) bool { return t.RateLimitPerMin == 2 && t.RateLimit.Count == 90 }},
		{"a count that is no integer is no limit", `"execution":{"rate_limit":{"count":1.5,"window":"1m"}}`,
			func(t *capability.Tool) bool { return t.RateLimit == nil && t.RateLimitPerMin == 0 }},
		{"a prompt is cut to 200 units", `"approval":{"prompt":"` + strings.Repeat("é", 201) + `"}`,
			func(t *capability.Tool) bool { return t.ConfirmPrompt == strings.Repeat("é", 200) }},
		{"an outcome without effect", `"outcome":{"result":"r"}`,
			func(t *capability.Tool) bool { return *t.Outcome == capability.Outcome{Result: "r"} }},
		{"no outcome", `"outcome":{}`, func(t *capability.Tool) bool { return t.Outcome == nil }},
		{"a section that is null is absent", `"approval":null`, func(t *capability.Tool) bool { return !t.ConfirmRequired }},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			if tool := only(t, capable(c.members)); !c.check(tool) {
				t.Errorf("%+v", tool)
			}
		})
	}
	fails(t, capable(`"execution":{"timeout_ms":null}`), "invalid_timeout_type")
	fails(t, capable(`"guidance":{"context":"one"}`), "invalid_context")
}

func TestDescriptions(t *testing.T) {
	t.Parallel()
	summary := func(s string) []byte {
		return spec("3.0.3", "/x", `{"get":{"operationId":"a","summary":"`+s+`",`+enabled+`}}`, "")
	}
	exact := strings.Repeat("😀", 500)
	if tool := only(t, summary(exact)); tool.Description != exact || tool.DescriptionTruncated {
		t.Errorf("500 code points became %d bytes", len(tool.Description))
	}
	c := Compile(summary(exact + "x"))
	if len(c.Tools) != 1 || c.Tools[0].Description != exact || !c.Tools[0].DescriptionTruncated ||
		!slices.Equal(warningsOf(c), []string{"tool_description_truncated"}) {
		t.Errorf("%v", c.Diagnostics)
	}
	example := only(t, capable(`"guidance":{"examples":[{"p":"`+strings.Repeat("x", 5000)+`"}]}`))
	if !example.DescriptionTruncated || len(example.Description) != 500 {
		t.Errorf("a long example became %d bytes", len(example.Description))
	}
	guided := only(t, capable(`"guidance":{"when_to_use":"w","examples":["text",{"p":"x"}]}`))
	if guided.Description != "s\nWhen to use: w" {
		t.Errorf("only a first example that is an object is shown: %q", guided.Description)
	}
}

func TestApprovalRules(t *testing.T) {
	t.Parallel()
	rules := func(r string) []byte { return capable(`"approval":{"when":` + r + `}`) }
	cases := []struct{ rule, rules, code string }{
		{"a rule that is no object", `[1]`, "invalid_confirm_when"},
		{"no param", `[{"op":"exists"}]`, "invalid_confirm_when_param"},
		{"a blank param", `[{"param":" ","op":"exists"}]`, "invalid_confirm_when_param"},
		{"no op", `[{"param":"p","value":1}]`, "invalid_confirm_when_op"},
		{"below a string", `[{"param":"p.x","op":"exists"}]`, "confirm_when_param_missing_schema"},
		{"a number in quotation marks", `[{"param":"n","op":">","value":"1"}]`, "confirm_when_numeric_type"},
		{"a fraction is no integer", `[{"param":"n","op":"==","value":1.5}]`, "confirm_when_value_type"},
		{"null where null is not allowed", `[{"param":"p","op":"!=","value":null}]`, "confirm_when_value_type"},
		{"a string contains strings", `[{"param":"p","op":"contains","value":1}]`, "confirm_when_contains_type"},
		{"nothing to be in", `[{"param":"p","op":"in","value":[]}]`, "confirm_when_in_type"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			fails(t, rules(c.rules), c.code)
		})
	}
	accepted := `[{"param":"n","op":"==","value":null},{"param":"n","op":"<=","value":1.5},{"param":"p","op":"in","value":[1,"x"]},` +
		`{"param":"p","op":"contains","value":"x"},{"param":"p","op":"exists","value":1,"label":"` + strings.Repeat("l", 121) + `"}]`
	tool := only(t, rules(accepted))
	if len(tool.ConfirmWhen) != 5 || string(tool.ConfirmWhen[0].Value) != "null" || len(tool.ConfirmWhen[4].Label) != 120 {
		t.Errorf("%+v", tool.ConfirmWhen)
	}
	twenty := strings.TrimSuffix(strings.Repeat(`{"param":"p","op":"exists"},`, 20), ",")
	if tool := only(t, rules("["+twenty+"]")); len(tool.ConfirmWhen) != 20 {
		t.Errorf("%d rules", len(tool.ConfirmWhen))
	}
	fails(t, rules("["+twenty+`,{"param":"p","op":"exists"}]`), "too_many_rules")
}

func TestCompiledToolsValidateAtOnce(t *testing.T) {
	t.Parallel()
	tool := only(t, spec("3.0.3", "/x", post(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`), ""))
	stored, err := json.Marshal(tool)
	if err != nil {
		t.Fatal(err)
	}
	var loaded capability.Tool
	if err := json.Unmarshal(stored, &loaded); err != nil || canonicalJSON(t, loaded) != canonicalJSON(t, tool) {
		t.Errorf("%s, %v", stored, err)
	}
}
