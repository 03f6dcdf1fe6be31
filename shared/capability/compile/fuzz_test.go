package compile

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"bailing/shared/canonical"
	"bailing/shared/capability"
)

// FuzzCompile checks what must hold for any bytes: no panic, an answer that can be stored and comes back equal, the same answer
// again and for the JSON form of the document, and tools that can be called safely.
func FuzzCompile(f *testing.F) {
	src, err := os.ReadFile("testdata/openapi_compile.json")
	if err != nil {
		f.Fatal(err)
	}
	var file struct {
		Vectors []struct {
			Path      string          `json:"path"`
			Operation json.RawMessage `json:"operation"`
			Text      string          `json:"text"`
		} `json:"openapi_compile"`
	}
	if err := json.Unmarshal(src, &file); err != nil {
		f.Fatal(err)
	}
	for _, v := range file.Vectors {
		if v.Operation != nil {
			f.Add(spec("3.0.3", v.Path, string(v.Operation), ""))
		} else {
			f.Add([]byte(v.Text))
		}
	}
	f.Add(spec("3.1.0", "/x/{p}", post(`{"allOf":[{"$ref":"#/components/schemas/A"},{"required":["x"]}]}`), `{"schemas":{"A":{"$ref":"#/paths/~1x~1{p}/post"}}}`))
	f.Add([]byte("a: &a {<<: *a, b: [*a]}\npaths: *a\n"))
	goldens, err := filepath.Glob("testdata/golden/*")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range goldens {
		if filepath.Ext(name) == ".golden" {
			continue
		}
		src, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		catalog := Compile(src)
		stored := marshal(t, catalog)
		var loaded capability.Catalog
		if err := json.Unmarshal(stored, &loaded); err != nil || !bytes.Equal(marshal(t, &loaded), stored) {
			t.Errorf("%v: stored\n%s\nloaded\n%s", err, stored, marshal(t, &loaded))
		}
		if again := marshal(t, Compile(src)); !bytes.Equal(again, stored) {
			t.Errorf("%s\nthen\n%s", stored, again)
		}
		checkJSONForm(t, src, catalog)
		names := make(map[string]bool)
		for i := range loaded.Tools {
			tool := &loaded.Tools[i]
			if names[tool.Name] || tool.Scope == "" || tool.Path == "" || tool.Path[0] != '/' || capability.DotSegment(tool.Path) {
				t.Errorf("unsafe tool %+v", tool)
			}
			names[tool.Name] = true
			callTool(t, tool)
		}
	})
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// checkJSONForm compares what a document and its JSON form compile to.
func checkJSONForm(t *testing.T, src []byte, catalog *capability.Catalog) {
	t.Helper()
	form, err := ToJSON(src)
	if err != nil {
		if !catalog.Failed() {
			t.Errorf("compiled, but without a JSON form: %v", err)
		}
		return
	}
	if again, err := ToJSON(form); err != nil || !bytes.Equal(again, form) {
		t.Errorf("JSON form\n%s\nof which\n%s, %v", form, again, err)
	}
	other := Compile(form)
	other.Hash = catalog.Hash
	if !bytes.Equal(marshal(t, other), marshal(t, catalog)) {
		t.Errorf("%s\nits JSON form\n%s", marshal(t, catalog), marshal(t, other))
	}
}

// callTool calls a tool with arguments made from its schema: whatever is accepted can be decided about, and what is sent keeps
// to the tool's path.
func callTool(t *testing.T, tool *capability.Tool) {
	t.Helper()
	var schema any
	if err := json.Unmarshal(tool.InputSchema, &schema); err != nil {
		t.Fatalf("%s: %v", tool.InputSchema, err)
	}
	args, err := canonical.FromGo(sample(schema, 0))
	if err != nil {
		return // deeper than arguments may be
	}
	if r := tool.ValidateArgs(args); r != nil && (r.Code() == capability.CodeInvalidSchema || r.Code() == capability.CodeReservedHeader) {
		t.Errorf("%s was compiled, but %v", tool.InputSchema, r)
	}
	_, refusal := tool.ApprovalFor(args)
	if refusal != nil && refusal.Code() != capability.CodeRuleType { // the others are mistakes of the rule, not of the arguments
		t.Errorf("%v was compiled, but %v", tool.ConfirmWhen, refusal)
	}
	request, err := tool.BuildRequest("https://example.com/", args)
	if err == nil && (request.PathQuery[0] != '/' || request.Method != tool.Method || tool.Method != "GET" && !json.Valid(request.Body)) {
		t.Errorf("%+v of %s", request, tool.InputSchema)
	}
}

// sample is a value that a schema may mean.
func sample(schema any, depth int) any {
	s, _ := schema.(map[string]any)
	if enum, ok := s["enum"].([]any); ok && len(enum) > 0 {
		return enum[0]
	}
	kind, _ := s["type"].(string)
	if list, ok := s["type"].([]any); ok && len(list) > 0 {
		kind, _ = list[len(list)-1].(string)
	}
	properties, _ := s["properties"].(map[string]any)
	switch {
	case depth > 20:
		return nil
	case kind == "object" || properties != nil:
		out := map[string]any{}
		for name, p := range properties {
			out[name] = sample(p, depth+1)
		}
		return out
	case kind == "array":
		return []any{sample(s["items"], depth+1)}
	case kind == "integer" || kind == "number":
		if low, ok := s["minimum"].(float64); ok {
			return low
		}
		return 1.0
	case kind == "boolean":
		return true
	case kind == "null":
		return nil
	}
	return "a b/../é"
}
