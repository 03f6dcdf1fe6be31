package compile

import (
	"slices"
	"strings"
	"testing"

	"bailing/shared/capability"
)

func TestAuthorizationProbe(t *testing.T) {
	t.Parallel()
	root := func(v string) string { return `{"x-bailing-authz-probe":` + v + `,"paths":{}}` }
	paths := func(p string) string { return `{"paths":{` + p + `}}` }
	const flag = `"x-bailing-authz-probe":true`
	dedicated := &capability.AuthzProbe{Path: "/p", Method: "POST"}
	cases := []struct {
		rule, src string
		want      *capability.AuthzProbe
		pointer   string // of the warning; "" is none
	}{
		{"none", paths(``), nil, ""},
		{"null is none", root(`null`), nil, ""},
		{"POST unless said otherwise", root(`{"path":"/p"}`), dedicated, ""},
		{"all members", root(`{"path":"/p","method":"get","operationId":"probe"}`), &capability.AuthzProbe{Path: "/p", Method: "GET", OperationID: "probe"}, ""},
		{"members that are null are absent", root(`{"path":"/p","method":null,"operationId":null}`), dedicated, ""},
		{"a path at the limit", root(`{"path":"/` + strings.Repeat("p", capability.MaxProbePath-1) + `"}`),
			&capability.AuthzProbe{Path: "/" + strings.Repeat("p", capability.MaxProbePath-1), Method: "POST"}, ""},
		{"a path past the limit", root(`{"path":"/` + strings.Repeat("p", capability.MaxProbePath) + `"}`), nil, "/x-bailing-authz-probe/path"},
		{"no object", root(`"/p"`), nil, "/x-bailing-authz-probe"},
		{"no path", root(`{"method":"GET"}`), nil, "/x-bailing-authz-probe"},
		{"a path that is no text", root(`{"path":7}`), nil, "/x-bailing-authz-probe/path"},
		{"a placeholder", root(`{"path":"/p/{id}"}`), nil, "/x-bailing-authz-probe/path"},
		{"a dot segment", root(`{"path":"/p/../q"}`), nil, "/x-bailing-authz-probe/path"},
		{"a query", root(`{"path":"/p?q=1"}`), nil, "/x-bailing-authz-probe/path"},
		{"a method that is none", root(`{"path":"/p","method":"FETCH"}`), nil, "/x-bailing-authz-probe/method"},
		{"a method that is no text", root(`{"path":"/p","method":true}`), nil, "/x-bailing-authz-probe/method"},
		{"an operationId that is no text", root(`{"path":"/p","operationId":{}}`), nil, "/x-bailing-authz-probe/operationId"},

		{"a flagged operation, not enabled", paths(`"/p":{"get":{"operationId":"o",` + flag + `}}`),
			&capability.AuthzProbe{Path: "/p", Method: "GET", OperationID: "o"}, ""},
		{"a flagged operation that is deprecated", paths(`"/p":{"post":{"deprecated":true,` + flag + `}}`), dedicated, ""},
		{"a flag that is false", paths(`"/p":{"post":{"x-bailing-authz-probe":false}}`), nil, ""},
		{"a flag that is no boolean", paths(`"/p":{"post":{"x-bailing-authz-probe":"true"}}`), nil, "/paths/~1p/post/x-bailing-authz-probe"},
		{"a flag at a path with a placeholder", paths(`"/p/{id}":{"post":{` + flag + `}}`), nil, "/paths/~1p~1{id}/post/x-bailing-authz-probe"},
		{"a flag at something that is no method", paths(`"/p":{"x-post":{` + flag + `}}`), nil, "/paths/~1p/x-post/x-bailing-authz-probe"},
		{"of two flags the first", paths(`"/p":{"post":{` + flag + `}},"/q":{"post":{` + flag + `}}`), dedicated, "/paths/~1q/post/x-bailing-authz-probe"},
		{"the top of the document before a flag", `{"paths":{"/q":{"post":{` + flag + `}}},"x-bailing-authz-probe":{"path":"/p"}}`, dedicated,
			"/paths/~1q/post/x-bailing-authz-probe"},
		{"a flag in place of a wrong declaration", `{"x-bailing-authz-probe":{},"paths":{"/p":{"post":{` + flag + `}}}}`, dedicated, "/x-bailing-authz-probe"},
		{"a flag behind a reference", `{"openapi":"3.1.0","paths":{"/p":{"$ref":"#/components/pathItems/P"}},"components":{"pathItems":{"P":{"post":{` +
			flag + `}}}}}`, dedicated, ""},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			got := Compile([]byte(c.src))
			if (got.AuthzProbe == nil) != (c.want == nil) || c.want != nil && *got.AuthzProbe != *c.want {
				t.Errorf("got %+v", got.AuthzProbe)
			}
			var want []string
			if c.pointer != "" {
				want = []string{"warning:" + codeInvalidAuthzProbe}
			}
			if got.Failed() || !slices.Equal(codes(got), want) || want != nil && got.Diagnostics[0].Pointer != c.pointer {
				t.Errorf("diagnostics %+v", got.Diagnostics)
			}
			checkPointers(t, []byte(c.src), got)
		})
	}
}
