package capability_test

import (
	"encoding/json"
	"strings"
	"testing"

	"bailing/shared/capability"
)

func TestProbePath(t *testing.T) {
	t.Parallel()
	cases := []struct {
		rule, path string
		want       bool
	}{
		{"a plain path", "/bailing/probe", true},
		{"the root", "/", true},
		{"an escape", "/a%20b", true},
		{"at the limit", "/" + strings.Repeat("a", capability.MaxProbePath-1), true},
		{"one past the limit", "/" + strings.Repeat("a", capability.MaxProbePath), false},
		{"nothing", "", false},
		{"no slash", "probe", false},
		{"a placeholder", "/orders/{id}", false},
		{"a query", "/probe?x=1", false},
		{"a fragment", "/probe#x", false},
		{"a dot segment", "/a/../b", false},
		{"an escaped dot segment", "/a/%2E%2e/b", false},
		{"what would be escaped on the way", "/ä", false},
		{"a space", "/a b", false},
		{"half an escape", "/a%2", false},
		{"a backslash", `/a\b`, false},
		{"a control character", "/a\nb", false},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			if got := capability.ProbePath(c.path); got != c.want {
				t.Errorf("%q: got %v", c.path, got)
			}
		})
	}
}

// Paths that can be probed are sent exactly so.
func TestProbePathIsSentAsItIs(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/", "/a%20b/c;d=e,f", "/~a/(b)!*'", "/a:b@c&d=e+f$g"} {
		tool := capability.Tool{Method: "POST", Path: path, InputSchema: json.RawMessage(`{"type":"object"}`)}
		req, err := tool.BuildRequest("https://h.example", parse(t, `{}`))
		if !capability.ProbePath(path) || err != nil || req.PathQuery != path {
			t.Errorf("%q became %q, %v", path, req.PathQuery, err)
		}
	}
}

func TestProbeTool(t *testing.T) {
	t.Parallel()
	get := func(name, required string, subject bool) capability.Tool {
		return capability.Tool{
			Name: name, Method: "GET", Path: "/" + name, RequiresSubject: subject,
			InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{}},"required":` + required + `}`),
		}
	}
	post := get("post", `[]`, true)
	post.Method = "POST"
	placeholder := get("placeholder", `[]`, true)
	placeholder.Path = "/x/{a}"
	broken := get("broken", `[`, true)
	cases := []struct {
		rule  string
		tools []capability.Tool
		want  string
	}{
		{"no tools", nil, ""},
		{"writes do not stand in", []capability.Tool{post}, ""},
		{"nor reads with required parameters", []capability.Tool{get("a", `["a"]`, true), placeholder}, ""},
		{"nor tools that cannot be called", []capability.Tool{broken}, ""},
		{"the first in order", []capability.Tool{get("b", `[]`, false), get("a", `[]`, false)}, "b"},
		{"one that requires a subject comes first", []capability.Tool{get("b", `[]`, false), get("a", `[]`, true), get("c", `[]`, true)}, "a"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			catalog := capability.Catalog{Tools: c.tools}
			name := ""
			if tool := catalog.ProbeTool(); tool != nil {
				name = tool.Name
			}
			if name != c.want {
				t.Errorf("got %q, want %q", name, c.want)
			}
		})
	}
}
