package scripted

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"bailing/shared/model"
	"bailing/shared/model/openai"
	"bailing/shared/outbound"
)

func TestSameConversationSameAnswer(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"where is order SO-1001", "hello", `[[tool a {}]][[tool a {}]]`} {
		a, b := newChat(t), newChat(t)
		a.say("user", text)
		b.say("user", text)
		if x, y := a.next(), b.next(); x.raw != y.raw {
			t.Errorf("%q: two answers\n%s\n%s", text, x.raw, y.raw)
		}
	}
}

func TestUsageIsWorkedOutFromLengths(t *testing.T) {
	t.Parallel()
	chat := newChat(t)
	chat.tools = `[]`
	chat.say("user", "[[say 12345]]") // 13 bytes: 4 + 4 tokens; the answer's 5 bytes: 2
	if r := chat.next(); r.usage != (usage{Prompt: 8, Completion: 2, Total: 10}) {
		t.Errorf("usage %+v, want 8, 2, 10", r.usage)
	}
}

func TestKeyIsRequiredWhenConfigured(t *testing.T) {
	t.Parallel()
	h := New(Options{Key: "secret"})
	for header, want := range map[string]int{"": 401, "secret": 401, "Bearer wrong": 401, "Bearer secret": 200} {
		for _, path := range []string{"GET /v1/models", "POST /v1/chat/completions"} {
			method, url, _ := strings.Cut(path, " ")
			r := httptest.NewRequest(method, url, strings.NewReader(`{"messages":[{"role":"user","content":"hi"}]}`))
			r.Header.Set("Authorization", header)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != want {
				t.Errorf("%s with %q: %d, want %d", path, header, w.Code, want)
			}
		}
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	h := New(Options{})
	for _, c := range []struct {
		method, path, body string
		want               int
	}{
		{"POST", "/v1/chat/completions", `{`, 400},
		{"POST", "/v1/chat/completions", `{"messages":[]}`, 400},
		{"POST", "/v1/chat/completions", `{"messages":[{"role":"user","content":5}]}`, 400},
		{"POST", "/v1/chat/completions", `{"messages":[{"role":"user","content":"` + strings.Repeat("x", 32<<20) + `"}]}`, 413},
		{"GET", "/v1/chat/completions", ``, 405},
		{"POST", "/chat/completions", `{}`, 404},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(c.method, c.path, strings.NewReader(c.body)))
		if w.Code != c.want {
			t.Errorf("%s %s: %d, want %d", c.method, c.path, w.Code, c.want)
		}
	}
}

func TestContentMayBeParts(t *testing.T) {
	t.Parallel()
	chat := newChat(t)
	chat.messages = append(chat.messages, map[string]any{"role": "user", "content": []any{
		map[string]any{"type": "text", "text": "where is order SO-1001"}, map[string]any{"type": "image_url", "image_url": map[string]any{"url": "x"}},
	}})
	if r := chat.next(); len(r.calls) != 1 {
		t.Errorf("got %s", r.raw)
	}
}

func TestModelsAreListed(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	New(Options{}).ServeHTTP(w, httptest.NewRequest("GET", "/v1/models", nil))
	if !strings.Contains(w.Body.String(), `"id":"demo"`) {
		t.Errorf("got %s", w.Body)
	}
}

func TestStreamCarriesTheSameAnswer(t *testing.T) {
	t.Parallel()
	chat := newChat(t)
	chat.say("user", `[[say One two three.]] [[tool a {"x":1}]] [[tool b {}]]`)
	plainBody := chat.post("").Body.String()
	w := chat.post(`,"stream":true,"stream_options":{"include_usage":true}`)
	if ct := w.Header().Get("Content-Type"); ct != "text/event-stream" {
		t.Errorf("content type %q", ct)
	}
	var text, finish string
	var got []toolCall
	var counted usage
	events := strings.Split(strings.TrimSuffix(w.Body.String(), "\n\n"), "\n\n")
	if last := events[len(events)-1]; last != "data: [DONE]" {
		t.Errorf("the stream ends with %q", last)
	}
	for _, e := range events[:len(events)-1] {
		var chunk struct {
			Choices []struct {
				Delta struct {
					Content   string `json:"content"`
					ToolCalls []struct {
						Index int `json:"index"`
						toolCall
					} `json:"tool_calls"`
				} `json:"delta"`
				FinishReason string `json:"finish_reason"`
			} `json:"choices"`
			Usage *usage `json:"usage"`
		}
		if err := json.Unmarshal([]byte(strings.TrimPrefix(e, "data: ")), &chunk); err != nil {
			t.Fatalf("%v in %q", err, e)
		}
		if chunk.Usage != nil {
			counted = *chunk.Usage
		}
		for _, choice := range chunk.Choices {
			text += choice.Delta.Content
			finish += choice.FinishReason
			for _, piece := range choice.Delta.ToolCalls {
				if piece.Index == len(got) {
					got = append(got, toolCall{ID: piece.ID, Type: piece.Type, Function: function{Name: piece.Function.Name}})
				}
				got[piece.Index].Function.Arguments += piece.Function.Arguments
			}
		}
	}
	whole := chat.next()
	if text != whole.content || finish != whole.finish || counted != whole.usage || len(got) != 2 || got[0] != whole.calls[0] || got[1] != whole.calls[1] {
		t.Errorf("stream: %q %q %+v %+v\nplain: %s", text, finish, counted, got, plainBody)
	}
}

// The product's own adapter is the client that matters.
func TestTheProductsAdapterUnderstandsTheServer(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(New(Options{Key: "k"}))
	defer s.Close()
	policy, err := outbound.ParsePolicy("loopback")
	if err != nil {
		t.Fatal(err)
	}
	sender := outbound.New(outbound.Options{Policy: policy})
	defer sender.CloseIdle()
	complete := func(text string) (model.Response, error) {
		return openai.New(sender).Complete(context.Background(), model.Endpoint{BaseURL: s.URL + "/v1/", APIKey: "k"}, model.Request{
			Model:    "demo",
			Messages: []model.Message{{Role: model.RoleUser, Content: text}},
			Tools:    []model.ToolDef{{Name: "order_get", Parameters: json.RawMessage(`{"type":"object","properties":{"order_no":{"type":"string"}}}`)}},
		}, time.Minute)
	}
	r, err := complete("where is order SO-1001")
	if err != nil || len(r.Message.ToolCalls) != 1 || r.Message.ToolCalls[0].Arguments != `{"order_no":"SO-1001"}` || r.FinishReason != "tool_calls" || r.Usage.TotalTokens == 0 {
		t.Errorf("tool call: %+v, %v", r, err)
	}
	for text, transient := range map[string]bool{"[[status 503]]": true, "[[status 400]]": false, "[[malformed]]": true} {
		var e *model.Error
		if _, err := complete(text); !errors.As(err, &e) || e.Transient != transient {
			t.Errorf("%s: %v, want transient %v", text, err, transient)
		}
	}
}
