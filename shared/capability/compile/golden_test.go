package compile_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bailing/shared/canonical"
	"bailing/shared/capability"
	"bailing/shared/capability/compile"
)

var update = flag.Bool("update", false, "write the golden files anew; read the difference before it is kept")

// goldenDocuments are the documents under testdata/golden, by name.
func goldenDocuments(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/golden/*")
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string][]byte)
	for _, file := range files {
		if filepath.Ext(file) == ".golden" {
			continue
		}
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(file)] = src
	}
	return out
}

// Each document states one idea in its name; what it compiles to was compared with the specifications of OpenAPI and of tools
// when its golden file was accepted.
func TestGolden(t *testing.T) {
	t.Parallel()
	documents := goldenDocuments(t)
	for name, src := range documents {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			catalog := compile.Compile(src)
			checkDiagnostics(t, catalog)
			got := render(t, catalog)
			golden := filepath.Join("testdata/golden", strings.TrimSuffix(name, filepath.Ext(name))+".golden")
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
	goldens, _ := filepath.Glob("testdata/golden/*.golden")
	if len(goldens) != len(documents) && !*update {
		t.Errorf("%d documents, %d golden files", len(documents), len(goldens))
	}
}

// checkDiagnostics makes sure that an author finds the place and what to do there.
func checkDiagnostics(t *testing.T, c *capability.Catalog) {
	t.Helper()
	for _, d := range c.Diagnostics {
		if d.Message == "" || d.Path == "" || d.Path != capability.DocumentPath && (d.Suggestion == "" || d.Pointer == "") {
			t.Errorf("an author cannot act on %+v", d)
		}
		if strings.Contains(d.Message+d.Suggestion, "\n") {
			t.Errorf("more than one line: %+v", d)
		}
	}
}

// render is a catalogue for reading: every tool as JSON with a line for each member, without members that say nothing, and a line
// for each diagnostic.
func render(t *testing.T, c *capability.Catalog) []byte {
	t.Helper()
	var out bytes.Buffer
	for i := range c.Tools {
		text, err := json.Marshal(&c.Tools[i])
		if err != nil {
			t.Fatal(err)
		}
		v, err := canonical.Parse(text, canonical.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString("{")
		separator := "\n"
		for key, m := range v.Members() {
			if key == "schemaVersion" || key == "source" || saysNothing(m) {
				continue
			}
			fmt.Fprintf(&out, "%s %q: ", separator, key)
			if key == "inputSchema" {
				writeSchema(&out, m)
			} else {
				out.Write(m.AppendCompact(nil))
			}
			separator = ",\n"
		}
		out.WriteString("\n}\n")
	}
	for _, d := range c.Diagnostics {
		line := fmt.Sprintf("%s %s: %s: %s [%s]", d.Severity, d.Path, d.Code, d.Message, d.Pointer)
		out.WriteString(strings.ReplaceAll(line, "\n", "\\n") + "\n")
	}
	return out.Bytes()
}

func saysNothing(v canonical.Value) bool {
	switch v.Kind() {
	case canonical.Bool:
		return !v.Bool()
	case canonical.Number:
		return v.Float() == 0
	case canonical.String:
		return v.Text() == ""
	}
	return v.Len() == 0
}

// writeSchema gives each property a line.
func writeSchema(out *bytes.Buffer, schema canonical.Value) {
	separator := "{"
	for key, m := range schema.Members() {
		fmt.Fprintf(out, "%s%q:", separator, key)
		separator = ","
		if key != "properties" || m.Len() == 0 {
			out.Write(m.AppendCompact(nil))
			continue
		}
		inner := "{"
		for name, p := range m.Members() {
			fmt.Fprintf(out, "%s\n  %s: %s", inner, canonical.AppendString(nil, name), p.AppendCompact(nil))
			inner = ","
		}
		out.WriteString("}")
	}
	out.WriteString("}")
}
