package capability_test

import (
	"encoding/json"
	"errors"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"bailing/shared/capability"
	"bailing/shared/signature"
)

// shop holds the tools that the request vectors call.
var shop = map[string]*capability.Tool{
	"search": {
		Name: "search", Method: "GET", Path: "/orders/search", Scope: "orders.read", Readonly: true, Idempotent: true,
		InputSchema: json.RawMessage(`{"type":"object","properties":{"q":{"type":["string","null"]},"page":{"type":"integer"},"flag":{"type":"boolean"},"list":{"type":"array"}}}`),
		ParamIn:     map[string]capability.Location{"q": "query", "page": "query", "flag": "query", "list": "query"},
	},
	"items": {
		Name: "items", Method: "GET", Path: "/orders/{no}/items", Scope: "orders.read", Readonly: true, Idempotent: true,
		InputSchema: json.RawMessage(`{"type":"object","properties":{"no":{"type":"string"},"X-Trace":{"type":"string"}},"required":["no"]}`),
		ParamIn:     map[string]capability.Location{"no": "path", "X-Trace": "header"},
	},
	"refund": {
		Name: "refund", Method: "POST", Path: "/refunds", Scope: "refund.create",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"dry":{"type":"boolean"},"order_no":{"type":"string"},"amount":{"type":"number"}},"required":["order_no"]}`),
		ParamIn:     map[string]capability.Location{"dry": "query", "order_no": "body", "amount": "body"},
	},
	"drop": {
		Name: "drop", Method: "DELETE", Path: "/drafts/{id}", Scope: "draft.delete",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"id":{"type":"integer"}},"required":["id"]}`),
		ParamIn:     map[string]capability.Location{"id": "path"},
	},
}

// refusedByDecision are the request vectors that show undeclared arguments being sent; since contract 0.5 they are refused.
var refusedByDecision = map[string]string{
	"REQ-GET-UNDECLARED-ARG-GOES-TO-QUERY": "unknown_arguments:zzz",
	"REQ-POST-UNDECLARED-ARG-GOES-TO-BODY": "unknown_arguments:extra",
}

type requestVector struct {
	ID         string
	BaseURL    string `json:"base_url"`
	Tool       string
	Arguments  json.RawMessage
	OnBehalfOf string `json:"on_behalf_of"`
	JobID      string `json:"job_id"`
	Expected   struct {
		URL, Method, Body string
		Headers           map[string]string
	}
}

func TestRequestVectors(t *testing.T) {
	t.Parallel()
	var file struct {
		Secret   string
		Requests []requestVector `json:"tool_http_requests"`
	}
	readJSON(t, "testdata/tool_http_requests.json", &file)
	if len(file.Requests) != 10 {
		t.Fatalf("%d vectors, want 10", len(file.Requests))
	}
	for _, v := range file.Requests {
		t.Run(v.ID, func(t *testing.T) {
			t.Parallel()
			tool, args := shop[v.Tool], parse(t, string(v.Arguments))
			invalid := tool.ValidateArgs(args)
			req, err := tool.BuildRequest(v.BaseURL, args)
			if reason, ok := refusedByDecision[v.ID]; ok {
				if invalid == nil || invalid.Reason != reason || err == nil || err.Error() != reason {
					t.Errorf("got %v and %v, want both %s", invalid, err, reason)
				}
				return
			}
			if invalid != nil || err != nil {
				t.Fatalf("refused: %v, %v", invalid, err)
			}
			if req.URL != v.Expected.URL || req.Method != v.Expected.Method || string(req.Body) != v.Expected.Body {
				t.Errorf("%s %s %s\nwant %+v", req.Method, req.URL, req.Body, v.Expected)
			}
			checkHeaders(t, req, v, file.Secret, signature.IdempotencyKey(v.JobID, v.Tool, args.Hash(), v.OnBehalfOf))
		})
	}
}

func checkHeaders(t *testing.T, req capability.Request, v requestVector, secret, idempotencyKey string) {
	t.Helper()
	want := v.Expected.Headers
	if req.ContentType != want["content-type"] {
		t.Errorf("content type %q, want %q", req.ContentType, want["content-type"])
	}
	declared := 0
	for name := range want {
		if strings.HasPrefix(name, "x-bailing-") || name == "content-type" {
			continue
		}
		declared++
		if len(req.Header) == 0 || req.Header[0].Name != name || req.Header[0].Value != want[name] {
			t.Errorf("headers %v, want %s: %s", req.Header, name, want[name])
		}
	}
	if len(req.Header) != declared {
		t.Errorf("headers %v, want %d", req.Header, declared)
	}
	seconds, err := strconv.ParseInt(want["x-bailing-timestamp"], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	signed := signature.SignTool(secret, signature.ToolCall{
		Method: req.Method, Path: req.PathQuery, Body: req.Body, OnBehalfOf: v.OnBehalfOf, JobID: v.JobID,
	}, time.Unix(seconds, 0))
	if signed.Signature != want["x-bailing-signature"] {
		t.Errorf("signature %s, want %s", signed.Signature, want["x-bailing-signature"])
	}
	if key, ok := want["x-bailing-idempotency-key"]; ok != shop[v.Tool].SideEffecting() || ok && key != idempotencyKey {
		t.Errorf("idempotency key %q, side-effecting %v, want %q", idempotencyKey, shop[v.Tool].SideEffecting(), key)
	}
}

func TestBuildRequestPlacesArguments(t *testing.T) {
	t.Parallel()
	get := func(path string, in map[string]capability.Location) *capability.Tool {
		return &capability.Tool{Method: "GET", Path: path, ParamIn: in}
	}
	post := &capability.Tool{Method: "POST", Path: "/p", ParamIn: map[string]capability.Location{"b": "body", "a": "body", "1": "body"}}
	merge := &capability.Tool{Method: "PATCH", Path: "/p", BodyType: "application/merge-patch+json", ParamIn: map[string]capability.Location{
		"Content-Type": "header", "b": "body"}}
	q := map[string]capability.Location{"q": "query"}
	cases := []struct {
		rule, args string
		tool       *capability.Tool
		pathQuery  string
		body       string
		bodyType   string
	}{
		{"path keeps the characters of encodeURIComponent", `{"p":"a-_.!~*'()/ ?#%é"}`,
			get("/x/{p}", map[string]capability.Location{"p": "path"}), "/x/a-_.!~*'()%2F%20%3F%23%25%C3%A9", "", ""},
		{"query is form encoded, names too", `{"q[ ]":"a *-._~!'()é"}`,
			get("/x", map[string]capability.Location{"q[ ]": "query"}), "/x?q%5B+%5D=a+*-._%7E%21%27%28%29%C3%A9", "", ""},
		{"a lone surrogate in the query is U+FFFD", `{"q":"\ud800"}`, get("/x", q), "/x?q=%EF%BF%BD", "", ""},
		{"an empty string is sent", `{"q":""}`, get("/x", q), "/x?q=", "", ""},
		{"numbers take their canonical form", `{"q":1.50e2}`, get("/x", q), "/x?q=150", "", ""},
		{"integers beyond 2^53 keep their digits", `{"q":9007199254740993}`, get("/x", q), "/x?q=9007199254740993", "", ""},
		{"nested arrays and nulls join with commas", `{"q":["a",null,[1,true]]}`, get("/x", q), "/x?q=a%2C%2C1%2Ctrue", "", ""},
		{"a placeholder may occur twice", `{"p":"7"}`,
			get("/a/{p}/b/{p}", map[string]capability.Location{"p": "path"}), "/a/7/b/7", "", ""},
		{"an argument that looks like a placeholder stays text", `{"a":"{b}","b":"x"}`,
			get("/{a}/{b}", map[string]capability.Location{"a": "path", "b": "path"}), "/%7Bb%7D/x", "", ""},
		{"the template is made sendable and its escapes kept", `{}`, get("/订单/a b/%2F/%zz", nil),
			"/%E8%AE%A2%E5%8D%95/a%20b/%2F/%25zz", "", ""},
		{"body follows ECMAScript property order without white space", `{"b": {"x": [1, null]}, "a": "<é>", "1": true}`, post,
			"/p", `{"1":true,"b":{"x":[1,null]},"a":"<é>"}`, "application/json"},
		{"null at the top is left out, below it is kept", `{"a":null,"b":[null]}`, post, "/p", `{"b":[null]}`, "application/json"},
		{"no body arguments still send an object", `{}`, post, "/p", `{}`, "application/json"},
		{"a +json body is sent as such and a declared content-type yields", `{"Content-Type":"text/plain","b":1}`, merge,
			"/p", `{"b":1}`, "application/merge-patch+json"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			req, err := c.tool.BuildRequest("https://h.example/base//", parse(t, c.args))
			if err != nil {
				t.Fatal(err)
			}
			if req.PathQuery != c.pathQuery || string(req.Body) != c.body || req.ContentType != c.bodyType {
				t.Errorf("got %q %q %q", req.PathQuery, req.Body, req.ContentType)
			}
			if req.URL != "https://h.example/base"+c.pathQuery {
				t.Errorf("URL %q", req.URL)
			}
			if len(req.Header) != 0 {
				t.Errorf("headers %v", req.Header)
			}
		})
	}
}

func TestBuildRequestRefuses(t *testing.T) {
	t.Parallel()
	at := func(location capability.Location, path string) *capability.Tool {
		return &capability.Tool{Method: "GET", Path: path, ParamIn: map[string]capability.Location{"p": location}}
	}
	header := func(name string) *capability.Tool {
		return &capability.Tool{Method: "GET", Path: "/x", ParamIn: map[string]capability.Location{name: "header"}}
	}
	cases := []struct {
		rule, args string
		tool       *capability.Tool
		reason     string
	}{
		{"an undeclared argument", `{"z":1}`, at("query", "/x"), "unknown_arguments:z"},
		{"a path argument that is missing", `{}`, at("path", "/x/{p}"), "missing_required:p"},
		{"a path argument that is null", `{"p":null}`, at("path", "/x/{p}"), "missing_required:p"},
		{"a path argument that is empty", `{"p":""}`, at("path", "/x/{p}"), "argument_path_segment:p"},
		{"a path argument of one dot", `{"p":"."}`, at("path", "/x/{p}/y"), "argument_path_segment:p"},
		{"a path argument of two dots", `{"p":".."}`, at("path", "/x/{p}"), "argument_path_segment:p"},
		{"dots before an encoded slash", `{"p":"../x"}`, at("path", "/x/{p}"), "argument_path_segment:p"},
		{"dots after an encoded slash", `{"p":"a/.."}`, at("path", "/x/{p}"), "argument_path_segment:p"},
		{"dots between encoded backslashes", `{"p":"a\\..\\b"}`, at("path", "/x/{p}"), "argument_path_segment:p"},
		{"dots before parameters of a segment", `{"p":"..;v=1"}`, at("path", "/x/{p}"), "argument_path_segment:p"},
		{"a dot that completes a dot segment", `{"p":"."}`, at("path", "/x/.{p}"), "argument_path_segment:p"},
		{"a lone surrogate in the path", `{"p":"\ud800"}`, at("path", "/x/{p}"), "argument_not_encodable:p"},
		{"an object in the query", `{"p":{"a":1}}`, at("query", "/x"), "argument_not_encodable:p"},
		{"an object in an array in the query", `{"p":[{"a":1}]}`, at("query", "/x"), "argument_not_encodable:p"},
		{"a line feed in a header", `{"X-A":"a\nb"}`, header("X-A"), "argument_header_value:X-A"},
		{"a carriage return in a header", `{"X-A":"a\rb"}`, header("X-A"), "argument_header_value:X-A"},
		{"NUL in a header", `{"X-A":"a\u0000"}`, header("X-A"), "argument_header_value:X-A"},
		{"text beyond ASCII in a header", `{"X-A":"é"}`, header("X-A"), "argument_header_value:X-A"},
		{"a header name that HTTP forbids", `{"X A":"a"}`, header("X A"), "argument_header_value:X A"},
		{"a reserved header", `{"Authorization":"a"}`, header("Authorization"), "reserved_header:Authorization"},
		{"a governance header of the future", `{"X-BAILING-New":"a"}`, header("X-BAILING-New"), "reserved_header:X-BAILING-New"},
		{"a reserved header even with null", `{"cookie":null}`, header("cookie"), "reserved_header:cookie"},
		{"arguments that are no object", `[1]`, at("query", "/x"), "tool_args_not_json_object"},
		{"a location that the hub does not know", `{"p":1}`, at("cookie", "/x"), "argument_not_encodable:p"},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			req, err := c.tool.BuildRequest("https://h.example", parse(t, c.args))
			var refusal *capability.Refusal
			if !errors.As(err, &refusal) || refusal.Reason != c.reason {
				t.Errorf("got %v, want %s", err, c.reason)
			}
			if req.URL != "" || req.Body != nil {
				t.Errorf("a refused request is not empty: %+v", req)
			}
		})
	}
}

func TestHeaderValuesLoseSurroundingWhiteSpaceOnly(t *testing.T) {
	t.Parallel()
	tool := &capability.Tool{Method: "GET", Path: "/x", ParamIn: map[string]capability.Location{"X-A": "header"}}
	req, err := tool.BuildRequest("https://h.example", parse(t, `{"X-A":" a\tb "}`))
	if err != nil || len(req.Header) != 1 || req.Header[0] != (capability.HeaderField{Name: "X-A", Value: "a\tb"}) {
		t.Errorf("%v, %v", req.Header, err)
	}
}

// FuzzBuildRequest checks that what is signed is what a client sends and a server reads, whatever the arguments are.
func FuzzBuildRequest(f *testing.F) {
	f.Add("/a/{p}/b", "x/y", "q", "v w")
	f.Add("/a/.{p}", ".", "", "")
	f.Add("/%2e{p}/%zz/é?", "\xed\xa0\x80", "q&=", "\x00#")
	f.Add("{p}{p", "}", "a", "b")
	f.Fuzz(func(t *testing.T, path, p, name, value string) {
		if path == "" || path[0] != '/' || strings.ContainsAny(path, "?#\\") || name == "p" {
			t.Skip()
		}
		args, err := json.Marshal(map[string]string{"p": p, name: value})
		if err != nil {
			t.Skip()
		}
		tool := &capability.Tool{Method: "GET", Path: path, ParamIn: map[string]capability.Location{"p": "path", name: "query"}}
		req, err := tool.BuildRequest("https://h.example/base", parse(t, string(args)))
		if err != nil {
			return
		}
		u, err := url.Parse(req.URL)
		if err != nil {
			t.Fatalf("%q: %v", req.URL, err)
		}
		if u.Host != "h.example" || u.RequestURI() != "/base"+req.PathQuery {
			t.Errorf("sent %q, signed %q", u.RequestURI(), req.PathQuery)
		}
		if got := u.Query()[name]; len(got) != 1 || got[0] != strings.ToValidUTF8(value, "\uFFFD") && strings.ToValidUTF8(value, "") == value {
			t.Errorf("query %q became %q", value, got)
		}
		if joined := u.JoinPath().EscapedPath(); strings.Count(joined, "/") < strings.Count(u.EscapedPath(), "/") && !strings.Contains(u.Path, "//") {
			t.Errorf("path %q normalises to %q", u.EscapedPath(), joined)
		}
	})
}
