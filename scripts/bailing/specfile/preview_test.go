package specfile

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"bailing/shared/capability/compile"
)

func TestThePreviewEnablesEveryOperation(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		rule, src, want string
		proposed        []string
	}{
		{"without x-agent-capability: a proposed scope", `{"paths":{"/v2/Order-Items/{id}":{"get":{"summary":"s"},"delete":{}}}}`,
			`{"paths":{"/v2/Order-Items/{id}":{"get":{"summary":"s","x-agent-capability":{"version":1,"enabled":true,"scope":"order-items.read"}},
			 "delete":{"x-agent-capability":{"version":1,"enabled":true,"scope":"order-items.write"}}}}}`,
			[]string{"DELETE /v2/Order-Items/{id}", "GET /v2/Order-Items/{id}"}},
		{"switched off: switched on, the rest as it is", `{"paths":{"/a":{"get":{"x-agent-capability":{"enabled":false,"scope":"x"}}}}}`,
			`{"paths":{"/a":{"get":{"x-agent-capability":{"enabled":true,"scope":"x"}}}}}`, nil},
		{"neither on nor off", `{"paths":{"/a":{"post":{"x-agent-capability":{}},"put":{"x-agent-capability":{"version":1}}}}}`,
			`{"paths":{"/a":{"post":{"x-agent-capability":{"enabled":true}},"put":{"x-agent-capability":{"version":1,"enabled":true}}}}}`, nil},
		{"a mistake stays for compiling to report", `{"paths":{"/a":{"get":{"x-agent-capability":true}}}}`,
			`{"paths":{"/a":{"get":{"x-agent-capability":true}}}}`, nil},
		{"only operations", `{"paths":{"/a":{"parameters":[],"x-y":{},"get":null}},"components":{"get":{}}}`,
			`{"paths":{"/a":{"parameters":[],"x-y":{},"get":null}},"components":{"get":{}}}`, nil},
		{"a path without a name", `{"paths":{"/{id}":{"get":{}}}}`,
			`{"paths":{"/{id}":{"get":{"x-agent-capability":{"version":1,"enabled":true,"scope":"api.read"}}}}}`, []string{"GET /{id}"}},
		{"behind a reference", `{"paths":{"/a":{"$ref":"#/x/a~1b"}},"x":{"a/b":{"get":{}}}}`,
			`{"paths":{"/a":{"get":{"x-agent-capability":{"version":1,"enabled":true,"scope":"a.read"}}}},"x":{"a/b":{"get":{}}}}`, []string{"GET /a"}},
		{"a reference to itself", `{"paths":{"/a":{"$ref":"#/paths/~1a"}}}`, `{"paths":{"/a":{"$ref":"#/paths/~1a"}}}`, nil},
		{"paths that are none", `{"paths":[1]}`, `{"paths":[1]}`, nil},
	} {
		got, proposed, ok := EnableAll([]byte(tc.src))
		if !ok {
			t.Errorf("%s: not read", tc.rule)
			continue
		}
		var a, b any
		if err := json.Unmarshal(got, &a); err != nil {
			t.Errorf("%s: %v: %s", tc.rule, err, got)
		}
		if err := json.Unmarshal([]byte(tc.want), &b); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(a, b) || !slices.Equal(slices.Sorted(maps.Keys(proposed)), tc.proposed) {
			t.Errorf("%s:\n%s, proposed %v", tc.rule, got, proposed)
		}
	}
	for _, src := range []string{"", "[]", "a: [", "1"} {
		if _, _, ok := EnableAll([]byte(src)); ok {
			t.Errorf("%q is no document", src)
		}
	}
}

func TestAProposedScopeFitsInAHeader(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/Orders/x": "orders.read", "/v1/v2/orders": "orders.read", "/{tenant}/orders": "orders.read", "/": "api.read", "/ü/a b": "ab.read",
		"/" + strings.Repeat("a", 64): strings.Repeat("a", 64) + ".read", "/" + strings.Repeat("a", 65): strings.Repeat("a", 64) + ".read",
	} {
		if got := proposedScope("get", path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// Whatever the preview makes of a document, the compiler can read it.
func FuzzEnableAll(f *testing.F) {
	for _, src := range []string{orders, ordersYAML, `{"paths":{"/a":{"get":{"x-agent-capability":{}}}}}`, `{"paths":{"/a":{"$ref":"#/paths/~1a"}}}`} {
		f.Add([]byte(src))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		if len(src) > 1<<14 {
			return
		}
		out, _, ok := EnableAll(src)
		if !ok {
			return
		}
		if _, err := compile.ToJSON(out); err != nil && len(out) < compile.MaxDocumentBytes {
			t.Errorf("%v: %s", err, out)
		}
		Outlined(src)
	})
}

func TestTheOutlineCountsOperations(t *testing.T) {
	t.Parallel()
	got := Outlined([]byte(`{"openapi":"3.0.3","paths":{
		"/a":{"get":{"x-agent-capability":{"enabled":true}},"post":{"x-agent-capability":{"enabled":false}},"parameters":[]},
		"/b":{"$ref":"#/shared"},"/c":{"put":{"x-agent-capability":"yes"}}},
		"shared":{"delete":{}}}`))
	want := []Operation{{"GET", "/a", true}, {"POST", "/a", false}, {"DELETE", "/b", false}, {"PUT", "/c", true}}
	if got.OpenAPI != "3.0.3" || !slices.Equal(got.Operations, want) {
		t.Errorf("%+v", got)
	}
	if got := Outlined([]byte("nothing")); len(got.Operations) != 0 {
		t.Errorf("%+v", got)
	}
}
