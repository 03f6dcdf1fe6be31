package compile_test

import (
	"encoding/json"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"bailing/shared/capability"
	"bailing/shared/capability/compile"
)

// realDocuments are public APIs (see their README). The numbers are exact, so that a lost tool or a new refusal is noticed.
var realDocuments = map[string]struct {
	operations, tools int
	errors, warnings  map[string]int // by code
}{
	// The paths of box.json that end in "#variant", and names made from them, cannot be sent or called.
	"box.json": {
		operations: 296, tools: 262,
		errors:   map[string]int{"invalid_name": 18, "invalid_path": 16, "name_too_long": 10, "write_without_schema": 6},
		warnings: map[string]int{"unsupported_body": 13, "param_not_sendable": 1},
	},
	// The bodies of both others are forms; where path parameters are left, the operation is a tool without them.
	"twilio_chat_v2.json": {
		operations: 54, tools: 52,
		errors:   map[string]int{"write_without_schema": 2},
		warnings: map[string]int{"missing_summary": 50, "unsupported_body": 16},
	},
	"twilio_verify_v2.yaml": {
		operations: 57, tools: 55,
		errors:   map[string]int{"write_without_schema": 2},
		warnings: map[string]int{"missing_summary": 1, "param_missing_description": 5, "unsupported_body": 19},
	},
}

const realDocumentsPath = "../../../../shared/conformance/openapi/"

func readRealDocument(t *testing.T, name string) ([]byte, bool) {
	t.Helper()
	src, err := os.ReadFile(realDocumentsPath + name)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return src, err == nil
}

// enableAll is the document, in its notation, with every operation enabled: scope from the path, subject required on writes.
func enableAll(t *testing.T, name string, src []byte) []byte {
	t.Helper()
	doc := newPlainDocument(t, src)
	for path, item := range doc.root["paths"].(map[string]any) {
		for method, op := range item.(map[string]any) {
			if op, ok := op.(map[string]any); ok && slices.Contains(httpMethods, method) {
				op["x-agent-capability"] = capabilityFor(path, method)
			}
		}
	}
	var err error
	if strings.HasSuffix(name, ".yaml") {
		src, err = yaml.Marshal(doc.root)
	} else {
		src, err = json.Marshal(doc.root)
	}
	if err != nil {
		t.Fatal(err)
	}
	return src
}

var httpMethods = []string{"get", "post", "put", "patch", "delete", "head", "options", "trace"}

var notScope = regexp.MustCompile(`[^A-Za-z0-9]+`)

func capabilityFor(path, method string) map[string]any {
	return map[string]any{
		"version": 1, "enabled": true, "scope": strings.Trim(notScope.ReplaceAllString(path, "."), "."),
		"subject": map[string]any{"required": method != "get"},
	}
}

func TestRealDocumentsCompileWithoutLoss(t *testing.T) {
	t.Parallel()
	for name, want := range realDocuments {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			src, ok := readRealDocument(t, name)
			if !ok {
				t.Skipf("%s is not beside the repository", realDocumentsPath)
			}
			src = enableAll(t, name, src)
			catalog := compile.Compile(src)
			doc := newPlainDocument(t, src)
			operations := doc.enabledOperations()
			checkNothingIsLost(t, doc, operations, catalog)
			errors, warnings := map[string]int{}, map[string]int{}
			for _, d := range catalog.Diagnostics {
				if d.Severity == capability.SeverityError {
					errors[d.Code]++
				} else {
					warnings[d.Code]++
				}
			}
			if len(operations) != want.operations || len(catalog.Tools) != want.tools {
				t.Errorf("%d operations, %d tools; want %d, %d", len(operations), len(catalog.Tools), want.operations, want.tools)
			}
			if !maps.Equal(errors, want.errors) || !maps.Equal(warnings, want.warnings) {
				t.Errorf("errors %v, warnings %v; want %v, %v", errors, warnings, want.errors, want.warnings)
			}
		})
	}
}

// The same holds for operations that combine everything with everything.
func TestOtherDocumentsCompileWithoutLoss(t *testing.T) {
	t.Parallel()
	for version, seed := range map[string]uint64{"3.0.3": 3, "3.1.0": 4} {
		t.Run("generated "+version, func(t *testing.T) {
			t.Parallel()
			src := generateFamily(version, seed, 200)
			catalog, doc := compile.Compile(src), newPlainDocument(t, src)
			checkNothingIsLost(t, doc, doc.enabledOperations(), catalog)
			if len(catalog.Tools) < 150 {
				t.Errorf("%d tools of 200 operations", len(catalog.Tools))
			}
		})
	}
}

// checkNothingIsLost compares a catalogue with what the document says: every enabled operation is a tool with all its inputs, or
// has an error that says where and what to do.
func checkNothingIsLost(t *testing.T, doc *plainDocument, operations map[string]*plainOperation, catalog *capability.Catalog) {
	t.Helper()
	explained := make(map[string]bool)
	for _, d := range catalog.Diagnostics {
		if d.Severity != capability.SeverityError {
			continue
		}
		explained[d.Path] = true
		if d.Code == "" || d.Message == "" || d.Suggestion == "" || d.Pointer == "" || doc.target("#"+d.Pointer) == nil {
			t.Errorf("an author cannot act on %+v", d)
		}
	}
	tools := make(map[string]*capability.Tool)
	for i := range catalog.Tools {
		tool := &catalog.Tools[i]
		tools[tool.Method+" "+tool.Path] = tool
	}
	for _, key := range slices.Sorted(maps.Keys(operations)) {
		tool := tools[key]
		switch {
		case tool == nil && !explained[key]:
			t.Errorf("%s vanished", key)
		case tool == nil:
			continue
		case explained[key]:
			t.Errorf("%s is a tool and has an error", key)
		}
		for _, d := range differences(inputsOf(t, tool), operations[key]) {
			t.Errorf("%s: %s", key, d)
		}
	}
}
