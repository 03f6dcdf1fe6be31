package compile

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"bailing/shared/capability"
)

// changedByDecision lists the vectors whose recorded result is not ours, and what ours is. The recorded diagnostics and
// tools of every other vector are ours too.
var changedByDecision = map[string]struct {
	reason string
	tools  int
	codes  []string // severity:code, in order
}{
	"ref_param": {
		"D15: a $ref is resolved or reported; this one has no target, so the tool would lose its parameter",
		0, []string{"error:ref_unresolved"},
	},
	"ref_body": {
		"D15: a $ref is resolved or reported; this one has no target",
		0, []string{"error:ref_unresolved"},
	},
	"param_without_schema": {
		"D15: an input is never left out in silence; the tool is the same, with a warning",
		1, []string{"warning:param_location_without_schema"},
	},
	"path_level_parameters": {
		"D15: parameters of the path item belong to its operations",
		1, []string{"warning:param_missing_description"},
	},
	"parameters_key_in_path": {
		"D15: parameters of the path item belong to its operations; the tool gains p",
		1, nil,
	},
	"version_2":     {"D15: version must be 1", 0, []string{"error:unsupported_version"}},
	"name65":        {"D15: an over-long name is an error, not cut", 0, []string{"error:name_too_long"}},
	"when_25_rules": {"D15: a 21st approval rule is an error, not dropped", 0, []string{"error:too_many_rules"}},
}

// labelled are the vectors whose description contains the reference's connective labels; ours are English.
var labelled = map[string]string{
	"post_full": "Create refund\nWhen to use: only after order lookup\nReturns: refund id\nExample: {\"order_no\":\"SO-1\",\"amount\":5}",
}

type compileVector struct {
	ID          string          `json:"id"`
	Path        string          `json:"path"`
	Operation   json.RawMessage `json:"operation"`
	Spec        json.RawMessage `json:"spec"`
	Text        *string         `json:"text"`
	Tools       json.RawMessage `json:"tools"`
	Diagnostics []struct{ Severity, Code, Path string }
}

func (v compileVector) source(t *testing.T) []byte {
	t.Helper()
	switch {
	case v.Text != nil:
		return []byte(*v.Text)
	case v.Spec != nil:
		return v.Spec
	}
	src, err := json.Marshal(map[string]any{"openapi": "3.0.3", "paths": map[string]any{v.Path: v.Operation}})
	if err != nil {
		t.Fatal(err)
	}
	return src
}

func loadVectors(t *testing.T) []compileVector {
	t.Helper()
	src, err := os.ReadFile("testdata/openapi_compile.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Vectors []compileVector `json:"openapi_compile"`
	}
	if err := json.Unmarshal(src, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Vectors) != 69 {
		t.Fatalf("%d vectors, want 69", len(file.Vectors))
	}
	return file.Vectors
}

func TestContractVectors(t *testing.T) {
	t.Parallel()
	used := 0
	for _, v := range loadVectors(t) {
		if _, ok := changedByDecision[v.ID]; ok {
			used++
		}
		t.Run(v.ID, func(t *testing.T) {
			t.Parallel()
			got := Compile(v.source(t))
			if change, ok := changedByDecision[v.ID]; ok {
				if len(got.Tools) != change.tools || !slices.Equal(codes(got), change.codes) {
					t.Errorf("changed by decision (%s): got %d tools, %v; want %d, %v", change.reason,
						len(got.Tools), codes(got), change.tools, change.codes)
				}
				return
			}
			checkRecorded(t, v, got)
		})
	}
	if used != len(changedByDecision) {
		t.Errorf("%d of %d entries of changedByDecision name a vector", used, len(changedByDecision))
	}
}

func codes(c *capability.Catalog) []string {
	var out []string
	for _, d := range c.Diagnostics {
		out = append(out, string(d.Severity)+":"+d.Code)
	}
	return out
}

func checkRecorded(t *testing.T, v compileVector, got *capability.Catalog) {
	t.Helper()
	var want []string
	for _, d := range v.Diagnostics {
		want = append(want, d.Severity+":"+d.Code)
	}
	if !slices.Equal(codes(got), want) {
		t.Errorf("diagnostics %v, want %v", got.Diagnostics, want)
	}
	for i, d := range got.Diagnostics {
		if i < len(v.Diagnostics) && d.Path != v.Diagnostics[i].Path {
			t.Errorf("diagnostic at %q, want %q", d.Path, v.Diagnostics[i].Path)
		}
		if d.Message == "" {
			t.Errorf("diagnostic %s has no message", d.Code)
		}
	}
	var count int
	if json.Unmarshal(v.Tools, &count) == nil {
		if len(got.Tools) != count {
			t.Errorf("%d tools, want %d", len(got.Tools), count)
		}
		return
	}
	var tools []map[string]any
	if err := json.Unmarshal(v.Tools, &tools); err != nil {
		t.Fatal(err)
	}
	if len(got.Tools) != len(tools) {
		t.Fatalf("%d tools, want %d", len(got.Tools), len(tools))
	}
	for i, want := range tools {
		compareTool(t, v.ID, &got.Tools[i], want)
	}
}

func compareTool(t *testing.T, id string, tool *capability.Tool, want map[string]any) {
	t.Helper()
	if length, ok := want["description_length"]; ok {
		delete(want, "description_length")
		want["description"] = tool.Description
		if text, ok := labelled[id]; ok {
			want["description"] = text
		} else if float64(len(tool.Description)) != length {
			t.Errorf("description %q, want %v characters", tool.Description, length)
		}
	}
	recorded := *tool
	recorded.Guidance = nil // newer than the recordings
	if got, want := canonicalJSON(t, &recorded), canonicalJSON(t, want); got != want {
		t.Errorf("tool\n%s\nwant\n%s", got, want)
	}
}

// canonicalJSON is v with sorted members, by way of the standard library.
func canonicalJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var generic any
	if err := json.Unmarshal(text, &generic); err != nil {
		t.Fatal(err)
	}
	sorted, err := json.Marshal(generic)
	if err != nil {
		t.Fatal(err)
	}
	return string(sorted)
}
