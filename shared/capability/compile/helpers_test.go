package compile

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"bailing/shared/capability"
)

// enabled is the extension that most cases need.
const enabled = `"x-agent-capability":{"version":1,"enabled":true,"scope":"a.b"}`

// spec is a document of one path and components.
func spec(version, path, item, components string) []byte {
	if components == "" {
		components = "{}"
	}
	return fmt.Appendf(nil, `{"openapi":%q,"paths":{%q:%s},"components":%s}`, version, path, item, components)
}

// post is an operation with a JSON body of the given schema.
func post(schema string) string {
	return `{"post":{"operationId":"a","summary":"s","requestBody":{"required":true,"content":{"application/json":{"schema":` +
		schema + `}}},` + enabled + `}}`
}

// get is an operation with the given parameters.
func get(parameters string) string {
	return `{"get":{"operationId":"a","summary":"s","parameters":` + parameters + `,` + enabled + `}}`
}

// capable is an operation without inputs whose extension has further members.
func capable(members string) []byte {
	return spec("3.0.3", "/x", `{"get":{"operationId":"a","summary":"s","parameters":[{"name":"p","in":"query","description":"d","schema":{"type":"string"}},`+
		`{"name":"n","in":"query","description":"d","schema":{"type":"integer","nullable":true}}],`+
		`"x-agent-capability":{"version":1,"enabled":true,"scope":"a.b",`+members+`}}}`, "")
}

// errorsOf are the codes of the catalogue's errors; warnings those of its warnings.
func errorsOf(c *capability.Catalog) []string   { return filter(c, "error:") }
func warningsOf(c *capability.Catalog) []string { return filter(c, "warning:") }

func filter(c *capability.Catalog, severity string) []string {
	var out []string
	for _, code := range codes(c) {
		if rest, ok := strings.CutPrefix(code, severity); ok && rest != "param_missing_description" {
			out = append(out, rest)
		}
	}
	return out
}

// only is the single tool of a catalogue without errors.
func only(t *testing.T, src []byte) *capability.Tool {
	t.Helper()
	c := Compile(src)
	if len(c.Tools) != 1 || len(errorsOf(c)) != 0 {
		t.Fatalf("%d tools, diagnostics %v", len(c.Tools), c.Diagnostics)
	}
	return &c.Tools[0]
}

// fails checks that a document yields no tool and exactly these errors.
func fails(t *testing.T, src []byte, want ...string) {
	t.Helper()
	c := Compile(src)
	if len(c.Tools) != 0 || !slices.Equal(errorsOf(c), want) {
		t.Errorf("%d tools, diagnostics %v, want errors %v", len(c.Tools), c.Diagnostics, want)
	}
}
