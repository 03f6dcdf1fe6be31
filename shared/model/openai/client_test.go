package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bailing/shared/clock"
	"bailing/shared/model"
	"bailing/shared/outbound"
)

const key = "key-1234-abcd"

// endpoint is a server that keeps the last request and answers with status and body.
type endpoint struct {
	url    string
	path   string
	header http.Header
	body   string
	count  atomic.Int32
}

func newEndpoint(t *testing.T, status int, answer string) *endpoint {
	t.Helper()
	e := &endpoint{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		e.path, e.header, e.body = r.Method+" "+r.RequestURI, r.Header, string(b)
		e.count.Add(1)
		w.WriteHeader(status)
		io.WriteString(w, answer)
	}))
	t.Cleanup(s.Close)
	e.url = s.URL
	return e
}

func loopback(t *testing.T, c clock.Clock) *outbound.Client {
	t.Helper()
	policy, err := outbound.ParsePolicy("loopback")
	if err != nil {
		t.Fatal(err)
	}
	client := outbound.New(outbound.Options{Policy: policy, Clock: c})
	t.Cleanup(client.CloseIdle)
	return client
}

func (e *endpoint) complete(t *testing.T, r model.Request) (model.Response, error) {
	t.Helper()
	return New(loopback(t, nil)).Complete(context.Background(), model.Endpoint{BaseURL: e.url + "/v1", APIKey: key}, r, time.Minute)
}

func answer(message string) string {
	return `{"model":"m-1","choices":[{"message":` + message + `,"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}}`
}

func ask(text string) model.Request {
	return model.Request{Model: "demo", Messages: []model.Message{{Role: model.RoleUser, Content: text}}}
}

func sameJSON(t *testing.T, got, want string) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		t.Fatalf("%v in %s", err, got)
	}
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatalf("%v in %s", err, want)
	}
	if !reflect.DeepEqual(g, w) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestRequestOnTheWire(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t, 200, answer(`{"content":"hi"}`))
	temperature := 0.0
	_, err := e.complete(t, model.Request{
		Model: "demo",
		Messages: []model.Message{
			{Role: model.RoleSystem, Content: "be <brief>"},
			{Role: model.RoleUser, Content: ""},
			{Role: model.RoleAssistant, ReasoningContent: "hm", ToolCalls: []model.ToolCall{
				{ID: "c1", Name: "order_get", Arguments: `{"order_no":"SO-1"}`}, {ID: "c2", Name: "order_get", Arguments: `{"order_no":`}, {ID: "c3", Name: "x"},
			}},
			{Role: model.RoleTool, ToolCallID: "c1", Content: "{}"},
		},
		Tools: []model.ToolDef{
			{Name: "order_get", Description: "Look up", Parameters: json.RawMessage(`{"type":"object"}`)},
			{Name: "ping"},
		},
		Temperature: &temperature,
	})
	if err != nil {
		t.Fatal(err)
	}
	if e.path != "POST /v1/chat/completions" || e.header.Get("Authorization") != "Bearer "+key || e.header.Get("Content-Type") != "application/json" {
		t.Errorf("sent %s with %v", e.path, e.header)
	}
	sameJSON(t, e.body, `{"model":"demo","stream":false,"temperature":0,"messages":[
		{"role":"system","content":"be <brief>"},
		{"role":"user","content":""},
		{"role":"assistant","content":null,"reasoning_content":"hm","tool_calls":[
			{"id":"c1","type":"function","function":{"name":"order_get","arguments":"{\"order_no\":\"SO-1\"}"}},
			{"id":"c2","type":"function","function":{"name":"order_get","arguments":"{}"}},
			{"id":"c3","type":"function","function":{"name":"x","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"c1","content":"{}"}],
		"tools":[
		{"type":"function","function":{"name":"order_get","description":"Look up","parameters":{"type":"object"}}},
		{"type":"function","function":{"name":"ping","parameters":{"type":"object","properties":{}}}}]}`)
}

func TestOptionalMembersAreLeftOut(t *testing.T) {
	t.Parallel()
	e := newEndpoint(t, 200, answer(`{"content":"hi"}`))
	if _, err := e.complete(t, ask("hello")); err != nil {
		t.Fatal(err)
	}
	sameJSON(t, e.body, `{"model":"demo","stream":false,"messages":[{"role":"user","content":"hello"}]}`)
}

func TestCompletionsURL(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"https://a.example/v1":   "https://a.example/v1/chat/completions",
		"https://a.example/v1/":  "https://a.example/v1/chat/completions",
		"https://a.example/v1//": "https://a.example/v1//chat/completions", // one slash is removed, core §11.2
		"https://a.example":      "https://a.example/chat/completions",
		"https://r.openai.azure.com/openai/deployments/d?api-version=2024-10-21": "https://r.openai.azure.com/openai/deployments/d/chat/completions?api-version=2024-10-21",
	} {
		if got := completionsURL(base); got != want {
			t.Errorf("%s: %s, want %s", base, got, want)
		}
	}
}

func TestCredentialHeaders(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rule, base, key, authorization, azure string }{
		{"a key is a bearer token", "http://a.example", "k", "Bearer k", ""},
		{"no key, no header", "http://a.example", "", "", ""},
		{"Azure reads its own header too", "https://r.openai.azure.com/openai", "k", "Bearer k", "k"},
		{"a host that only looks like Azure gets none", "https://openai.azure.com.evil.example", "k", "Bearer k", ""},
	} {
		h := headers(model.Endpoint{BaseURL: c.base, APIKey: c.key})
		if h.Get("Authorization") != c.authorization || h.Get("Api-Key") != c.azure {
			t.Errorf("%s: %v", c.rule, h)
		}
	}
}

func TestAnswersAreReadLeniently(t *testing.T) {
	t.Parallel()
	call := func(id, name, args string) model.ToolCall { return model.ToolCall{ID: id, Name: name, Arguments: args} }
	for _, c := range []struct {
		rule, message string
		want          model.Message
	}{
		{"text", `{"role":"assistant","content":"hi"}`, model.Message{Content: "hi"}},
		{"null content", `{"content":null}`, model.Message{}},
		{"no content", `{}`, model.Message{}},
		{"parts", `{"content":[{"type":"text","text":"a"},{"type":"thinking","text":"x"},{"type":"output_text","text":"b"},"c"]}`, model.Message{Content: "abc"}},
		{"refusal in place of content", `{"content":null,"refusal":"no"}`, model.Message{Content: "no"}},
		{"reasoning", `{"content":"a","reasoning_content":"because"}`, model.Message{Content: "a", ReasoningContent: "because"}},
		{"tool call", `{"content":null,"tool_calls":[{"id":"x","type":"function","function":{"name":"f","arguments":"{\"a\":1}"}}]}`,
			model.Message{ToolCalls: []model.ToolCall{call("x", "f", `{"a":1}`)}}},
		{"arguments as an object", `{"tool_calls":[{"id":"x","function":{"name":"f","arguments":{"a": 1}}}]}`,
			model.Message{ToolCalls: []model.ToolCall{call("x", "f", `{"a": 1}`)}}},
		{"malformed arguments are kept", `{"tool_calls":[{"id":"x","function":{"name":"f","arguments":"{\"a\":"}}]}`,
			model.Message{ToolCalls: []model.ToolCall{call("x", "f", `{"a":`)}}},
		{"no arguments", `{"tool_calls":[{"id":"x","function":{"name":"f"}},{"id":"y","function":{"name":"f","arguments":null}}]}`,
			model.Message{ToolCalls: []model.ToolCall{call("x", "f", ""), call("y", "f", "")}}},
		{"missing ids are numbered by position", `{"tool_calls":[{"function":{"name":"f"}},{"id":"","function":{"name":"g"}},{"id":null,"function":{"name":"h"}}]}`,
			model.Message{ToolCalls: []model.ToolCall{call("call_0", "f", ""), call("call_1", "g", ""), call("call_2", "h", "")}}},
		{"a repeated id is replaced", `{"tool_calls":[{"id":"x","function":{"name":"f"}},{"id":"x","function":{"name":"g"}}]}`,
			model.Message{ToolCalls: []model.ToolCall{call("x", "f", ""), call("call_1", "g", "")}}},
		{"null tool calls", `{"content":"a","tool_calls":null}`, model.Message{Content: "a"}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			got, err := newEndpoint(t, 200, answer(c.message)).complete(t, ask("x"))
			if err != nil {
				t.Fatal(err)
			}
			c.want.Role = model.RoleAssistant
			if !reflect.DeepEqual(got.Message, c.want) {
				t.Errorf("got %+v, want %+v", got.Message, c.want)
			}
			if got.Model != "m-1" || got.FinishReason != "stop" || got.Usage != (model.Usage{PromptTokens: 7, CompletionTokens: 3, TotalTokens: 10}) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestGeneratedIDsAreUniqueInTheConversation(t *testing.T) {
	t.Parallel()
	r := ask("x")
	r.Messages = append(r.Messages, model.Message{Role: model.RoleAssistant, ToolCalls: []model.ToolCall{{ID: "call_0", Name: "f"}, {ID: "call_2", Name: "f"}}})
	got, err := newEndpoint(t, 200, answer(`{"tool_calls":[{"function":{"name":"f"}},{"id":"call_0","function":{"name":"f"}}]}`)).complete(t, r)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := got.Message.ToolCalls[0].ID, got.Message.ToolCalls[1].ID; a != "call_3" || b != "call_4" {
		t.Errorf("ids %s and %s, want call_3 and call_4", a, b)
	}
}

func TestUsageIsReadLeniently(t *testing.T) {
	t.Parallel()
	for usage, want := range map[string]model.Usage{
		`null`: {}, `{}`: {}, `"x"`: {}, `{"prompt_tokens":null}`: {},
		`{"prompt_tokens":2,"completion_tokens":3}`:                     {PromptTokens: 2, CompletionTokens: 3, TotalTokens: 5},
		`{"prompt_tokens":2.0,"completion_tokens":-3,"total_tokens":9}`: {PromptTokens: 2, TotalTokens: 9},
	} {
		got, err := newEndpoint(t, 200, `{"choices":[{"message":{"content":"a"}}],"usage":`+usage+`}`).complete(t, ask("x"))
		if err != nil || got.Usage != want {
			t.Errorf("usage %s: %+v, %v; want %+v", usage, got.Usage, err, want)
		}
	}
}

func modelError(t *testing.T, err error) *model.Error {
	t.Helper()
	var e *model.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v, want a *model.Error", err)
	}
	return e
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule      string
		status    int
		body      string
		transient bool
		public    string
	}{
		{"500", 500, "oops", true, "LLM 500: oops"},
		{"429", 429, "slow down", true, "LLM 429: slow down"},
		{"400", 400, `{"error":"bad"}`, false, `LLM 400: {"error":"bad"}`},
		{"401 does not repeat the key", 401, "no such key " + key, false, "LLM 401: no such key [redacted]"},
		{"a redirect is not followed", 307, "", false, "LLM 307"},
		{"not JSON", 200, "<html>", true, "LLM response cannot be parsed"},
		{"empty", 200, "", true, "LLM response cannot be parsed"},
		{"no choices", 200, `{"choices":[]}`, true, "LLM response cannot be parsed"},
		{"no message", 200, `{"choices":[{}]}`, true, "LLM response cannot be parsed"},
		{"content of another type", 200, answer(`{"content":5}`), true, "LLM response cannot be parsed"},
		{"tool call without a name", 200, answer(`{"tool_calls":[{"id":"x","function":{}}]}`), true, "LLM response cannot be parsed"},
		{"error inside 200 with a permanent code", 200, `{"error":{"code":402,"message":"pay ` + key + `"}}`, false, "LLM 402: pay [redacted]"},
		{"error inside 200 without a code", 200, `{"error":"overloaded"}`, true, `LLM 502: "overloaded"`},
		{"larger than 8 MiB", 200, answer(`{"content":"` + strings.Repeat("x", 8<<20) + `"}`), true, "LLM response cannot be parsed"},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			e := newEndpoint(t, c.status, c.body)
			_, err := e.complete(t, ask("x"))
			if got := modelError(t, err); got.Transient != c.transient || got.Public != c.public {
				t.Errorf("transient %v, %q; want %v, %q", got.Transient, got.Public, c.transient, c.public)
			}
			if n := e.count.Load(); n != 1 {
				t.Errorf("%d requests, want 1", n)
			}
		})
	}
}

func TestAnswerOfExactly8MiBIsRead(t *testing.T) {
	t.Parallel()
	frame := len(answer(`{"content":""}`))
	got, err := newEndpoint(t, 200, answer(`{"content":"`+strings.Repeat("x", 8<<20-frame)+`"}`)).complete(t, ask("x"))
	if err != nil || len(got.Message.Content) != 8<<20-frame {
		t.Fatalf("%d bytes of content, error %v", len(got.Message.Content), err)
	}
}

// failing is a Sender that only fails.
type failing struct{ err error }

func (f failing) Do(context.Context, outbound.Request) (*outbound.Response, error) { return nil, f.err }

func TestTransportFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule      string
		err       *outbound.Error
		transient bool
		public    string
	}{
		{"timeout", &outbound.Error{Phase: outbound.PhaseHeaders, Timeout: true}, true, "LLM timeout"},
		{"refused", &outbound.Error{Phase: outbound.PhaseDial}, true, "LLM network error"},
		{"resolve", &outbound.Error{Phase: outbound.PhaseResolve}, true, "LLM network error"},
		{"body ended early", &outbound.Error{Phase: outbound.PhaseBody, Status: 200}, true, "LLM network error"},
		{"blocked", &outbound.Error{Phase: outbound.PhaseBlocked}, false, "LLM address is not permitted"},
		{"unusable request", &outbound.Error{Phase: outbound.PhaseRequest}, false, "LLM request is not possible with this base_url and credential"},
	} {
		_, err := New(failing{c.err}).Complete(context.Background(), model.Endpoint{BaseURL: "http://a.example"}, ask("x"), 0)
		e := modelError(t, err)
		if e.Transient != c.transient || e.Public != c.public || !errors.Is(err, error(c.err)) {
			t.Errorf("%s: %+v, want %v, %q", c.rule, e, c.transient, c.public)
		}
	}
}

func TestUnusableEndpointsArePermanent(t *testing.T) {
	t.Parallel()
	for base, public := range map[string]string{
		"ftp://a.example":  "LLM base_url cannot be used: URL has a scheme other than http and https",
		"http://10.0.0.1/": "LLM address is not permitted",
	} {
		_, err := New(loopback(t, nil)).Complete(context.Background(), model.Endpoint{BaseURL: base, APIKey: key}, ask("x"), 0)
		if e := modelError(t, err); e.Transient || e.Public != public {
			t.Errorf("%s: %+v, want permanent %q", base, e, public)
		}
	}
	_, err := New(loopback(t, nil)).Complete(context.Background(), model.Endpoint{BaseURL: "http://127.0.0.1:1", APIKey: "two\nlines"}, ask("x"), 0)
	if e := modelError(t, err); e.Transient || strings.Contains(fmt.Sprint(e, e.Cause), "lines") {
		t.Errorf("a key that is no header value: %+v", e)
	}
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	manual := clock.NewManual(time.Unix(0, 0))
	release := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		manual.Advance(5 * time.Second)
		<-release
	}))
	defer s.Close()
	defer close(release)
	_, err := New(loopback(t, manual)).Complete(context.Background(), model.Endpoint{BaseURL: s.URL}, ask("x"), 5*time.Second)
	if e := modelError(t, err); !e.Transient || e.Public != "LLM timeout" || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %+v, want a transient timeout", e)
	}
}

func FuzzDecodeResponse(f *testing.F) {
	f.Add([]byte(answer(`{"content":"a","tool_calls":[{"id":"x","function":{"name":"f","arguments":"{}"}}]}`)))
	f.Add([]byte(answer(`{"content":[{"type":"text","text":"a"},null,"b"]}`)))
	f.Add([]byte(`{"error":{"code":"429","message":null}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := decodeResponse(200, body, nil, key)
		if err != nil {
			if e := modelError(t, err); e.Public == "" || strings.Contains(e.Public, key) {
				t.Errorf("public text %q", e.Public)
			}
			return
		}
		ids := map[string]bool{}
		for _, call := range got.Message.ToolCalls {
			if call.ID == "" || call.Name == "" || ids[call.ID] {
				t.Errorf("tool calls %+v: an id is empty or repeated, or a name is empty", got.Message.ToolCalls)
			}
			ids[call.ID] = true
		}
		if _, err := encodeRequest(model.Request{Messages: []model.Message{got.Message}}); err != nil {
			t.Errorf("the answer cannot be sent back: %v", err)
		}
	})
}
