package specfile

import (
	"maps"
	"testing"
)

const orders = `{
  "openapi": "3.1.0",
  "paths": {
    "/orders/{id}": {
      "get": {"parameters": [
        {"name": "id"},
        {
          "name": "q"}
      ]}
    },
    "/a~b": {
      "x": 1
    }
  }
}`

const ordersYAML = `# a comment
openapi: 3.1.0
common: &common
  responses:
    '200': {description: ok}
paths:
  /orders/{id}:
    get:
      <<: *common
      parameters:
        - {name: id}
        - name: q
          in: query
    post: *common
`

func TestLinesOfPointers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		rule, src string
		want      map[string]int
	}{
		{"JSON: a member is where its name is", orders, map[string]int{
			"": 1, "/openapi": 2, "/paths": 3, "/paths/~1orders~1{id}": 4, "/paths/~1orders~1{id}/get": 5,
			"/paths/~1orders~1{id}/get/parameters": 5,
		}},
		{"JSON: an element is where it begins", orders, map[string]int{
			"/paths/~1orders~1{id}/get/parameters/0/name": 6, "/paths/~1orders~1{id}/get/parameters/1": 7,
			"/paths/~1orders~1{id}/get/parameters/1/name": 8,
		}},
		{"escapes of pointers", orders, map[string]int{"/paths/~1a~0b/x": 12}},
		{"what does not exist is where its parent is", orders, map[string]int{
			"/paths/~1orders~1{id}/get/operationId": 5, "/paths/~1orders~1{id}/get/parameters/7/in": 5, "/components/schemas/X": 1,
			"/openapi/x": 2,
		}},
		{"a byte order mark", "\xEF\xBB\xBF{\n\"a\": 1}", map[string]int{"/a": 2}},
		{"YAML", ordersYAML, map[string]int{
			"/openapi": 2, "/paths/~1orders~1{id}": 7, "/paths/~1orders~1{id}/get": 8, "/paths/~1orders~1{id}/get/parameters/0/name": 11,
			"/paths/~1orders~1{id}/get/parameters/1": 12, "/paths/~1orders~1{id}/get/parameters/1/in": 13,
		}},
		{"YAML: an alias leads to its anchor, a merge to what it merges", ordersYAML, map[string]int{
			"/paths/~1orders~1{id}/post": 14, "/paths/~1orders~1{id}/post/responses": 4, "/paths/~1orders~1{id}/get/responses/200": 5,
		}},
		{"neither", "a: [1", map[string]int{}},
		{"no pointers", orders, map[string]int{}},
	} {
		var pointers []string
		for p := range tc.want {
			pointers = append(pointers, p)
		}
		if len(tc.want) == 0 && tc.rule == "neither" {
			pointers = []string{"/a"}
		}
		if got := Lines([]byte(tc.src), append(pointers, "no pointer")); !maps.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", tc.rule, got, tc.want)
		}
	}
}

func TestTheLineOfASyntaxError(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]int{
		"{\n \"a\": 1,\n}":       3,
		"{\n\"a\": 1\n":          3,
		"{\"a\":1}":              0,
		"a: 1":                   0,
		"":                       0,
		"\xEF\xBB\xBF[\n\n01]":   3,
		"{\"a\":\n{\"b\":tru}}":  2,
		"  {\n\n\n\"a\" \"b\"  ": 4,
	} {
		if got := SyntaxLine([]byte(src)); got != want {
			t.Errorf("%q: %d, want %d", src, got, want)
		}
	}
}

func FuzzLines(f *testing.F) {
	for _, src := range []string{orders, ordersYAML, "&a [*a]", "? [1]\n: 2", "<<: *x", "{", "[[[["} {
		f.Add([]byte(src), "/paths/~1orders~1{id}/get/parameters/1/name")
	}
	f.Fuzz(func(t *testing.T, src []byte, pointer string) {
		for p, line := range Lines(src, []string{pointer, ""}) {
			if line < 1 || line > len(src)+1 {
				t.Errorf("%q is on line %d of %d bytes", p, line, len(src))
			}
		}
		if n := SyntaxLine(src); n < 0 || n > len(src)+1 {
			t.Errorf("syntax line %d", n)
		}
	})
}
