package routetree

import (
	"maps"
	"testing"
)

func TestMatch(t *testing.T) {
	t.Parallel()
	var tree Tree[string]
	for _, pattern := range []string{
		"/", "/run", "/jobs/{id}", "/jobs/{id}/tools/{proxy+}", "/chat/{entry}", "/chat/list", "/chat/{entry}/events/{job}",
		"/chat/list/only", "/chat/{entry}/{proxy+}",
	} {
		if err := tree.Add("GET", pattern, pattern); err != nil {
			t.Fatal(err)
		}
	}
	if err := tree.Add("POST", "/chat/{entry}", "post"); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name, method, path, want string
		params                   map[string]string
	}{
		{"the root", "GET", "/", "/", nil},
		{"a literal", "GET", "/run", "/run", nil},
		{"a variable", "GET", "/jobs/7", "/jobs/{id}", map[string]string{"id": "7"}},
		{"a variable is decoded, plus stays plus", "GET", "/jobs/a%20b+c", "/jobs/{id}", map[string]string{"id": "a b+c"}},
		{"an encoded slash stays inside its segment", "GET", "/jobs/a%2Fb", "/jobs/{id}", map[string]string{"id": "a/b"}},
		{"an encoded literal is the literal", "GET", "/r%75n", "/run", nil},
		{"a literal before a variable", "GET", "/chat/list", "/chat/list", nil},
		{"a variable before the greedy rest", "GET", "/chat/e/events/j", "/chat/{entry}/events/{job}", map[string]string{"entry": "e", "job": "j"}},
		{"the greedy rest where a literal leads nowhere", "GET", "/chat/e/events", "/chat/{entry}/{proxy+}", map[string]string{"entry": "e", "proxy": "events"}},
		{"the variable where a literal leads nowhere", "GET", "/chat/list/other", "/chat/{entry}/{proxy+}", map[string]string{"entry": "list", "proxy": "other"}},
		{"the greedy rest of many segments", "GET", "/jobs/7/tools/a/b%20c/d", "/jobs/{id}/tools/{proxy+}", map[string]string{"id": "7", "proxy": "a/b c/d"}},
		{"the greedy rest is not empty", "GET", "/jobs/7/tools", "", nil},
		{"an unknown path", "GET", "/nope", "", nil},
		{"a path between two resources", "GET", "/jobs", "", nil},
		{"an unknown method", "PUT", "/run", "", nil},
		{"GET does not imply HEAD", "HEAD", "/run", "", nil},
		{"the path decides before the method", "POST", "/chat/list", "", nil},
		{"a trailing slash", "GET", "/run/", "", nil},
		{"an empty segment", "GET", "//run", "", nil},
		{"dots are a segment like any other", "GET", "/jobs/..", "/jobs/{id}", map[string]string{"id": ".."}},
		{"a malformed escape", "GET", "/jobs/%zz", "", nil},
		{"no leading slash", "GET", "run", "", nil},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m, ok := tree.Match(tc.method, tc.path)
			if ok != (tc.want != "") || m.Resource != tc.want || m.Value != tc.want || !maps.Equal(m.Params, tc.params) {
				t.Errorf("Match = %+v, %v; want resource %q with %v", m, ok, tc.want, tc.params)
			}
		})
	}
}

// A route of every method takes those that its pattern has no value for, and none of another pattern's.
func TestAnyMethod(t *testing.T) {
	t.Parallel()
	var tree Tree[string]
	for _, r := range [][2]string{{"GET", "/a"}, {Any, "/a"}, {"GET", "/b"}, {Any, "/{rest+}"}} {
		if err := tree.Add(r[0], r[1], r[0]+" "+r[1]); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct{ name, method, path, want string }{
		{"its own method wins", "GET", "/a", "GET /a"},
		{"another method", "PUT", "/a", "ANY /a"},
		{"a method that nobody knows", "BREW", "/a", "ANY /a"},
		{"the path decides before the method", "PUT", "/b", ""},
		{"the greedy rest", "PUT", "/c/d", "ANY /{rest+}"},
	} {
		if m, ok := tree.Match(tc.method, tc.path); m.Value != tc.want || ok != (tc.want != "") {
			t.Errorf("%s: %q, %v", tc.name, m.Value, ok)
		}
	}
}

func TestAddRefuses(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name     string
		patterns []string // the last is refused
	}{
		{"no leading slash", []string{"run"}},
		{"an empty segment", []string{"/a//b"}},
		{"a trailing slash", []string{"/a/"}},
		{"a greedy variable inside", []string{"/a/{p+}/b"}},
		{"two variable names at one level", []string{"/a/{x}", "/a/{y}/b"}},
		{"a brace inside a literal", []string{"/a{b}"}},
		{"an unnamed variable", []string{"/{}"}},
		{"a variable that does not close", []string{"/{a"}},
		{"the same method and pattern", []string{"/a", "/a"}},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var tree Tree[int]
			for i, p := range tc.patterns {
				if err := tree.Add("GET", p, i); (err != nil) != (i == len(tc.patterns)-1) {
					t.Errorf("Add(%q) = %v", p, err)
				}
			}
		})
	}
}

func FuzzMatch(f *testing.F) {
	var tree Tree[int]
	for i, p := range []string{"/a", "/a/{x}", "/a/{x}/{p+}"} {
		if err := tree.Add("GET", p, i); err != nil {
			f.Fatal(err)
		}
	}
	for _, s := range []string{"/", "/a", "/a/b", "/a/b/c/d", "/a/%", "//", "", "/a/%2F/%00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		m, ok := tree.Match("GET", path)
		if ok && m.Resource == "" {
			t.Errorf("%q matched no resource", path)
		}
	})
}
