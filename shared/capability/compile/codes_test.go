package compile

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bailing/shared/canonical"
	"bailing/shared/capability"
)

// codeCase is a document that leads to one code.
type codeCase struct {
	code     string
	severity capability.Severity
	src      []byte
	path     string // "" is GET /x
	pointer  string
}

const capabilityAt = "/paths/~1x/get/x-agent-capability"

func codeCases() []codeCase {
	const warning, failure = capability.SeverityWarning, capability.SeverityError
	x := func(item string) []byte { return spec("3.0.3", "/x", item, "") }
	with := func(members, extension string) []byte {
		return x(`{"get":{"operationId":"a","summary":"s"` + members + `,"x-agent-capability":` + extension + `}}`)
	}
	rules := func(r string) []byte { return capable(`"approval":{"when":` + r + `}`) }
	named := func(id string) []byte { return x(`{"get":{"operationId":"` + id + `","summary":"s",` + enabled + `}}`) }
	schemas := func(item, components string) []byte {
		return spec("3.0.3", "/x", item, `{"schemas":{`+components+`}}`)
	}
	const when = capabilityAt + "/approval/when"
	const bodySchema = "/paths/~1x/post/requestBody/content/application~1json/schema"
	const parameter = "/paths/~1x/get/parameters/0"
	return []codeCase{
		{codeInvalidSpec, failure, []byte(`{"paths":[]}`), "-", "/paths"},
		{codeInvalidSpec, failure, []byte("a: .inf\n"), "-", ""},
		{codeInvalidSpec, failure, []byte("a: 1\n---\nb: 2\n"), "-", ""},
		{codeDocumentLimits, failure, []byte("a: &a [*a]\n"), "-", ""},
		{codeDocumentLimits, failure, x(post(wide())), "POST /x", bodySchema},
		{codeInvalidAuthzProbe, warning, []byte(`{"x-bailing-authz-probe":{"path":"/{id}"}}`), "-", "/x-bailing-authz-probe/path"},

		{codeRefUnresolved, failure, x(get(`[{"$ref":"#/none"}]`)), "", parameter + "/$ref"},
		{codeRefUnresolved, failure, schemas(post(`{"$ref":"#/components/schemas/A"}`),
			`"A":{"type":"object","properties":{"x":{"$ref":"#/none"}}}`), "POST /x", "/components/schemas/A/properties/x/$ref"},
		{codeRefUnresolved, warning, spec("3.1.0", "/x", `{"$ref":"other.yaml"}`, ""), "* /x", "/paths/~1x/$ref"},
		{codeRefCycle, failure, schemas(post(`{"$ref":"#/components/schemas/A"}`),
			`"A":{"type":"object","properties":{"up":{"$ref":"#/components/schemas/A"}}}`), "POST /x", "/components/schemas/A/properties/up/$ref"},
		{codeSchemaConflict, failure, x(get(`[{"name":"p","in":"query","description":"d","schema":{"allOf":[{"type":"string"},{"type":"integer"}]}}]`)),
			"", parameter + "/schema"},

		{codeInvalidCapability, failure, with("", `true`), "", capabilityAt},
		{codeInvalidCapability, failure, capable(`"approval":true`), "", capabilityAt + "/approval"},
		{codeUnsupportedVersion, failure, with("", `{"version":2,"enabled":true,"scope":"a.b"}`), "", capabilityAt + "/version"},
		{codeUnsupportedVersion, failure, with("", `{"enabled":true,"scope":"a.b"}`), "", capabilityAt},
		{codeDeprecated, failure, with(`,"deprecated":true`, `{"version":1,"enabled":true,"scope":"a.b"}`), "", "/paths/~1x/get/deprecated"},
		{codeMissingScope, failure, with("", `{"version":1,"enabled":true}`), "", capabilityAt},
		{codeMissingScope, failure, with("", `{"version":1,"enabled":true,"scope":" "}`), "", capabilityAt + "/scope"},
		{codeInvalidScope, failure, with("", `{"version":1,"enabled":true,"scope":"ä"}`), "", capabilityAt + "/scope"},
		{codeInvalidName, failure, named("a.b"), "", "/paths/~1x/get/operationId"},
		{codeNameTooLong, failure, named(strings.Repeat("a", 65)), "", "/paths/~1x/get/operationId"},
		{codeDuplicateName, failure, []byte(`{"paths":{"/x":` + get(`[]`) + `,"/y":{"get":{"operationId":"b","summary":"s",` + enabled +
			`},"put":{"operationId":"a","summary":"s","deprecated":false,"parameters":[{"name":"p","in":"query","description":"d","schema":{}}],` +
			enabled + `}}}}`), "PUT /y", "/paths/~1y/put/operationId"},
		{codeReservedName, warning, named("send_message"), "", "/paths/~1x/get/operationId"},
		{codeMissingOperationID, warning, x(`{"get":{"summary":"s",` + enabled + `}}`), "", "/paths/~1x/get"},
		{codeMissingSummary, warning, x(`{"get":{"operationId":"a",` + enabled + `}}`), "", "/paths/~1x/get"},
		{codeDescriptionTruncated, warning, x(`{"get":{"operationId":"a","summary":"` + strings.Repeat("s", 501) + `",` + enabled + `}}`),
			"", "/paths/~1x/get"},
		{codeUsageGuidanceTruncated, warning, with(`,"description":"`+strings.Repeat("s", capability.MaxGuidanceChars)+`"`,
			`{"version":1,"enabled":true,"scope":"a.b"}`), "", "/paths/~1x/get"},
		{codeInvalidMethod, failure, x(`{"fetch":{"operationId":"a","summary":"s","parameters":[{"name":"p","in":"query","description":"d","schema":{}}],` +
			enabled + `}}`), "FETCH /x", "/paths/~1x/fetch"},
		{codeInvalidPath, failure, spec("3.0.3", "x", get(`[]`), ""), "GET x", "/paths/x"},
		{codeInvalidPath, failure, spec("3.0.3", "/x/../y", get(`[]`), ""), "GET /x/../y", "/paths/~1x~1..~1y"},
		{codeInvalidPath, failure, spec("3.0.3", "/x?y", get(`[]`), ""), "GET /x?y", "/paths/~1x?y"},
		{codeInvalidBoolean, failure, capable(`"subject":{"required":"yes"}`), "", capabilityAt + "/subject/required"},
		{codeInvalidTimeoutType, failure, capable(`"execution":{"timeout_ms":"9"}`), "", capabilityAt + "/execution/timeout_ms"},
		{codeInvalidTimeout, failure, capable(`"execution":{"timeout_ms":600001}`), "", capabilityAt + "/execution/timeout_ms"},
		{codeInvalidContext, failure, capable(`"guidance":{"context":[1]}`), "", capabilityAt + "/guidance/context"},

		{codeUnsupportedLocation, failure, x(get(`[{"name":"p","in":"cookie","schema":{}}]`)), "", parameter + "/in"},
		{codeUnsupportedLocation, failure, spec("3.0.3", "/x", get(`[{"$ref":"#/components/parameters/P"}]`),
			`{"parameters":{"P":{"name":"p","schema":{}}}}`), "", "/components/parameters/P"},
		{codeInvalidParamIn, failure, x(get(`{}`)), "", "/paths/~1x/get/parameters"},
		{codeInvalidParamIn, failure, x(get(`[{"in":"query","schema":{}}]`)), "", parameter},
		{codeInvalidParamLocation, failure, x(get(`[{"name":"p","in":"query","description":"d","schema":{}},{"name":"p","in":"header","schema":{}}]`)),
			"", "/paths/~1x/get/parameters/1/in"},
		{codeInvalidParamLocation, failure, x(get(`[{"name":"p","in":"query","schema":{}},{"name":"p","in":"query","schema":{}}]`)),
			"", "/paths/~1x/get/parameters/1"},
		{codeInvalidParamLocation, failure, x(get(`[{"name":"a b","in":"header","description":"d","schema":{}}]`)), "", parameter + "/name"},
		{codeParamWithoutSchema, failure, x(get(`[{"name":"p","in":"query","required":true}]`)), "", parameter},
		{codeParamWithoutSchema, warning, x(get(`[{"name":"p","in":"query"}]`)), "", parameter},
		{codeParamNotSendable, warning, x(get(`[{"name":"p","in":"query","description":"d","schema":{"type":"object"}}]`)), "", parameter},
		{codeParamNotSendable, warning, x(get(`[{"name":"p","in":"header","description":"d","schema":{"type":"array","items":{"type":"object"}}}]`)), "", parameter},
		{codeParamMissingDescription, warning, x(get(`[{"name":"p","in":"query","schema":{}}]`)), "", parameter},
		{codeParamMissingDescription, warning, x(`{"parameters":[{"name":"p","in":"query","schema":{}}],"get":{"operationId":"a","summary":"s",` + enabled + `}}`),
			"", "/paths/~1x/parameters/0"},
		{codeParamMissingDescription, warning, schemas(post(`{"allOf":[{"type":"object"},{"$ref":"#/components/schemas/A"}]}`),
			`"A":{"properties":{"p":{"type":"string"}}}`), "POST /x", "/components/schemas/A/properties/p"},
		{codePathParamMissing, failure, spec("3.0.3", "/x/{id}", get(`[]`), ""), "GET /x/{id}", "/paths/~1x~1{id}/get/parameters"},
		{codePathParamNotInPath, warning, x(get(`[{"name":"p","in":"path","description":"d","schema":{}}]`)), "", parameter},
		{codeReservedHeader, failure, x(get(`[{"name":"X-Bailing-Tool","in":"header","description":"d","schema":{}}]`)), "", parameter + "/name"},
		{codeWriteWithoutSchema, failure, x(`{"post":{"operationId":"a","summary":"s",` + enabled + `}}`), "POST /x", "/paths/~1x/post"},
		{codeWriteWithoutSchema, failure, x(post(`{"type":"array"}`)), "POST /x", "/paths/~1x/post/requestBody"},
		{codeUnsupportedBody, failure, x(`{"post":{"operationId":"a","summary":"s","parameters":[{"name":"p","in":"query","description":"d","schema":{}}],` +
			`"requestBody":{"required":true,"content":{"text/csv":{}}},` + enabled + `}}`), "POST /x", "/paths/~1x/post/requestBody"},
		{codeUnsupportedBody, warning, x(`{"post":{"operationId":"a","summary":"s","parameters":[{"name":"p","in":"query","description":"d","schema":{}}],` +
			`"requestBody":{"content":{"application/json":{"schema":{"type":"array"}}}},` + enabled + `}}`), "POST /x", bodySchema},
		{codeInvalidSchema, failure, x(get(`[{"name":"p","in":"query","schema":7}]`)), "", parameter + "/schema"},
		{codeInvalidSchema, failure, x(post(`{"type":"object","properties":{"p":7}}`)), "POST /x", bodySchema + "/properties/p"},
		{codeInvalidProperties, failure, x(post(`{"type":"object","properties":[]}`)), "POST /x", bodySchema + "/properties"},
		{codeInvalidRequired, failure, x(post(`{"type":"object","required":true}`)), "POST /x", bodySchema + "/required"},
		{codeRequiredParamUndeclared, failure, x(post(`{"type":"object","required":["p"]}`)), "POST /x", bodySchema + "/required/0"},
		{codeRequiredParamUndeclared, failure, schemas(post(`{"$ref":"#/components/schemas/A"}`), `"A":{"type":"object","required":["p"]}`),
			"POST /x", "/components/schemas/A/required/0"},

		{codeInvalidConfirmWhen, failure, rules(`{}`), "", when},
		{codeInvalidConfirmWhen, failure, rules(`[7]`), "", when + "/0"},
		{codeInvalidConfirmWhenParam, failure, rules(`[{"op":"exists"}]`), "", when + "/0"},
		{codeInvalidConfirmWhenParam, failure, rules(`[{"param":" ","op":"exists"}]`), "", when + "/0/param"},
		{codeInvalidConfirmWhenOp, failure, rules(`[{"param":"p","op":"~","value":1}]`), "", when + "/0/op"},
		{codeInvalidConfirmWhenValue, failure, rules(`[{"param":"p","op":"=="}]`), "", when + "/0"},
		{codeConfirmWhenUndeclared, failure, rules(`[{"param":"n","op":"exists"},{"param":"q","op":"exists"}]`), "", when + "/1/param"},
		{codeConfirmWhenUntyped, failure, x(`{"get":{"operationId":"a","summary":"s","parameters":[{"name":"p","in":"query","description":"d","schema":{}}],` +
			`"x-agent-capability":{"version":1,"enabled":true,"scope":"a.b","approval":{"when":[{"param":"p","op":"exists"}]}}}}`), "", when + "/0/param"},
		{codeConfirmWhenNumericType, failure, rules(`[{"param":"n","op":">","value":"1"}]`), "", when + "/0/value"},
		{codeConfirmWhenNumericType, failure, rules(`[{"param":"p","op":">","value":1}]`), "", when + "/0/op"},
		{codeConfirmWhenInType, failure, rules(`[{"param":"p","op":"in","value":1}]`), "", when + "/0/value"},
		{codeConfirmWhenContainsType, failure, rules(`[{"param":"n","op":"contains","value":1}]`), "", when + "/0/op"},
		{codeConfirmWhenContainsType, failure, rules(`[{"param":"p","op":"contains","value":1}]`), "", when + "/0/value"},
		{codeConfirmWhenValueType, failure, rules(`[{"param":"p","op":"==","value":1}]`), "", when + "/0/value"},
		{codeTooManyRules, failure, rules("[" + strings.Repeat(`{"param":"p","op":"exists"},`, 20) + `{"param":"p","op":"exists"}]`), "", when},
	}
}

// wide is a body schema of one property too many.
func wide() string {
	return `{"type":"object","properties":{"p":{}` + string(countProperties(MaxProperties)) + `}}`
}

func countProperties(n int) (text []byte) {
	for i := range n {
		text = fmt.Appendf(text, `,"p%d":{}`, i)
	}
	return text
}

func TestEveryCodeLeadsItsAuthorToTheFault(t *testing.T) {
	t.Parallel()
	for _, c := range codeCases() {
		t.Run(c.code, func(t *testing.T) {
			t.Parallel()
			want := c.path
			if want == "" {
				want = "GET /x"
			}
			catalog := Compile(c.src)
			found := 0
			for _, d := range catalog.Diagnostics {
				if d.Code != c.code {
					if d.Severity == capability.SeverityError {
						t.Errorf("also %+v", d)
					}
					continue
				}
				if found++; d.Path == want && (d.Severity != c.severity || d.Pointer != c.pointer) {
					t.Errorf("%s at %q, want %s at %q", d.Severity, d.Pointer, c.severity, c.pointer)
				}
				if d.Message == "" || d.Suggestion == "" {
					t.Errorf("%+v does not say what is wrong and what to change", d)
				}
			}
			if found == 0 || !slices.ContainsFunc(catalog.Diagnostics, func(d capability.Diagnostic) bool { return d.Code == c.code && d.Path == want }) {
				t.Errorf("no %s at %s: %+v", c.code, want, catalog.Diagnostics)
			}
			checkPointers(t, c.src, catalog)
		})
	}
}

// checkPointers makes sure that every pointer leads to something in the document.
func checkPointers(t *testing.T, src []byte, catalog *capability.Catalog) {
	t.Helper()
	root, f := load(src)
	if f != nil {
		return // nothing to point into
	}
	for _, d := range catalog.Diagnostics {
		v, ok := root, true
		for step := range strings.SplitSeq(strings.TrimPrefix(d.Pointer, "/"), "/") {
			if d.Pointer == "" {
				break
			}
			step = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
			if v.Kind() == canonical.Array {
				i, err := strconv.Atoi(step)
				v, ok = v.Elem(i), err == nil && i < v.Len()
			} else {
				v, ok = v.Get(step)
			}
			if !ok {
				t.Errorf("%s %s points to %q, which is not there", d.Path, d.Code, d.Pointer)
				break
			}
		}
	}
}

func TestPointersOfTheVectorsLeadSomewhere(t *testing.T) {
	t.Parallel()
	for _, v := range loadVectors(t) {
		src := v.source(t)
		checkPointers(t, src, Compile(src))
	}
}

// FuzzPointers checks that the pointers of any document's diagnostics lead to something in it, and that none of them is long.
func FuzzPointers(f *testing.F) {
	for _, c := range codeCases() {
		if len(c.src) < 2000 {
			f.Add(c.src)
		}
	}
	f.Add([]byte(`{"openapi":"3.1.0","paths":{"/~":{"$ref":"#/paths/~1%7E0"},"/~0":{"parameters":[{"$ref":"#/components/parameters/P"}],` +
		`"put":{"requestBody":{"$ref":"#/components/requestBodies/B"},` + enabled + `}}},"components":{"parameters":{"P":{"name":"p","in":"query",` +
		`"schema":{"$ref":"#/components/schemas/A"}}},"requestBodies":{"B":{"content":{"text/x+json":{"schema":{"oneOf":[{"$ref":` +
		`"#/components/schemas/A"},{"properties":{"p":7},"required":["q"]}]}}}}},"schemas":{"A":{"allOf":[{"type":"object"},{"properties":{"a":{}}}]}}}}`))
	f.Fuzz(func(t *testing.T, src []byte) {
		catalog := Compile(src)
		checkPointers(t, src, catalog)
		for _, d := range catalog.Diagnostics {
			if len(d.Pointer) > maxPointer || d.Message == "" || d.Suggestion == "" {
				t.Errorf("%+v", d)
			}
		}
	})
}

// A name that no pointer should hold is left out, with what is below it.
func TestLongPointersLeadToWhatEncloses(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n/", maxPointer)
	cases := []struct {
		rule string
		src  []byte
		want string
	}{
		{"a path", spec("3.0.3", "/"+long, get(`[{"name":"p","in":"query","schema":7}]`), ""), "/paths"},
		{"a property", spec("3.0.3", "/x", post(`{"type":"object","properties":{"`+long+`":7}}`), ""),
			"/paths/~1x/post/requestBody/content/application~1json/schema/properties"},
		{"a component", spec("3.0.3", "/x", post(`{"$ref":"#/components/schemas/`+strings.ReplaceAll(long, "/", "~1")+`"}`),
			`{"schemas":{"`+long+`":{"type":"object","properties":{"p":7}}}}`), "/components/schemas"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			catalog := Compile(c.src)
			for _, d := range catalog.Diagnostics {
				if d.Code == codeInvalidSchema && (d.Pointer != c.want || len(d.Path) > maxDiagnosticPath+10) {
					t.Errorf("got %q", d.Pointer)
				}
			}
			if !slices.Contains(errorsOf(catalog), codeInvalidSchema) {
				t.Errorf("%v", catalog.Diagnostics)
			}
			checkPointers(t, c.src, catalog)
		})
	}
}

// unreachable are the codes of core §4.7 that no document leads to, with the reason.
var unreachable = map[string]string{
	"invalid_schema_version":    "the compiler writes it itself",
	"invalid_source":            "the compiler writes it itself",
	"invalid_description":       "there is always one: summary, description or scope (core §4.6)",
	"invalid_risk":              "an unknown level is no level (core §4.6)",
	"invalid_rate_limit":        "an invalid limit is no limit (core §4.6)",
	"invalid_rate_limit_count":  "an invalid limit is no limit (core §4.6)",
	"invalid_rate_limit_window": "an invalid limit is no limit (core §4.6)",
	"invalid_outcome":           "what is no outcome is left out (core §4.6); a section that is no object is invalid_agent_capability",
	"invalid_extensions":        "the compiler collects them in an object",
	"extension_namespace":       "members outside the two namespaces are not collected (core §4.6)",
	"duplicate_required_param":  "required is de-duplicated (core §4.5)",
}

// specified are the codes of core §4.7 and D37.
var specified = strings.Fields(`invalid_spec invalid_agent_capability deprecated missing_scope invalid_timeout_type
	unsupported_param_location write_without_schema invalid_confirm_when invalid_confirm_when_param invalid_confirm_when_op
	invalid_confirm_when_value confirm_when_param_missing_schema confirm_when_param_untyped confirm_when_numeric_type
	confirm_when_in_type confirm_when_contains_type confirm_when_value_type invalid_schema_version invalid_source invalid_name
	invalid_method invalid_path invalid_description invalid_scope invalid_risk invalid_boolean invalid_rate_limit
	invalid_rate_limit_count invalid_rate_limit_window invalid_timeout invalid_context invalid_outcome invalid_extensions
	extension_namespace invalid_input_schema invalid_input_schema_properties invalid_input_schema_required
	duplicate_required_param required_param_missing_schema invalid_param_in invalid_param_location param_location_without_schema
	path_param_missing path_param_not_in_path param_missing_description missing_summary missing_operation_id
	tool_description_truncated tool_usage_guidance_truncated
	unsupported_version duplicate_name name_too_long reserved_header ref_unresolved ref_cycle too_many_rules schema_conflict
	unsupported_body document_limits`)

// ours are codes beyond the specification.
var ours = []string{codeReservedName, codeInvalidAuthzProbe, codeParamNotSendable}

func TestEveryCodeHasACase(t *testing.T) {
	t.Parallel()
	shown := make(map[string]bool)
	for _, c := range codeCases() {
		shown[c.code] = true
	}
	declared := declaredCodes(t)
	for _, code := range declared {
		if !shown[code] {
			t.Errorf("no document shows %s", code)
		}
		if !slices.Contains(specified, code) && !slices.Contains(ours, code) {
			t.Errorf("%s is neither specified nor listed as ours", code)
		}
	}
	for _, code := range specified {
		_, never := unreachable[code]
		if never == slices.Contains(declared, code) {
			t.Errorf("%s must either have a constant or a reason why no document leads to it", code)
		}
	}
}

// declaredCodes are the values of the constants in codes.go.
func declaredCodes(t *testing.T) (codes []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			for _, v := range spec.Values {
				code, err := strconv.Unquote(v.(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				codes = append(codes, code)
			}
		}
		return true
	})
	return codes
}
