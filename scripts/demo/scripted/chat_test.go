package scripted

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"bailing/shared/clock"
)

// demoTools are the operations of the demo business, as the hub shows them to a model.
const demoTools = `[
	{"type":"function","function":{"name":"order_get","description":"Look up one order by its number","parameters":{"type":"object","properties":{"order_no":{"type":"string"}},"required":["order_no"]}}},
	{"type":"function","function":{"name":"order_search","description":"Search orders","parameters":{"type":"object","properties":{"customer":{"type":"string"},"status":{"type":"string","enum":["processing","shipped","delivered"]},"limit":{"type":"integer"}}}}},
	{"type":"function","function":{"name":"ticket_create","description":"Open a support ticket about an order","parameters":{"type":"object","properties":{"order_no":{"type":"string"},"subject":{"type":"string"},"body":{"type":"string"},"priority":{"type":"string","enum":["normal","urgent"]}},"required":["subject","body","priority"]}}},
	{"type":"function","function":{"name":"refund_create","description":"Refund money for an order","parameters":{"type":"object","properties":{"order_no":{"type":"string"},"amount":{"type":"number"},"currency":{"type":"string"},"reason":{"type":"string"}},"required":["order_no","amount","reason"]}}},
	{"type":"function","function":{"name":"report_broken","description":"A report that always fails","parameters":{"type":"object","properties":{}}}}]`

// chat is a conversation with a server.
type chat struct {
	t        *testing.T
	handler  http.Handler
	tools    string
	messages []any
}

func newChat(t *testing.T) *chat {
	return &chat{t: t, handler: New(Options{Clock: clock.NewManual(time.Unix(1700000000, 0))}), tools: demoTools}
}

type reply struct {
	status  int
	raw     string
	content string
	calls   []toolCall
	finish  string
	usage   usage
}

func (c *chat) post(more string) *httptest.ResponseRecorder {
	c.t.Helper()
	messages, err := json.Marshal(c.messages)
	if err != nil {
		c.t.Fatal(err)
	}
	body := `{"model":"demo","messages":` + string(messages) + `,"tools":` + c.tools + more + `}`
	w := httptest.NewRecorder()
	c.handler.ServeHTTP(w, httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(body)))
	return w
}

// next asks for the next message and adds it to the conversation.
func (c *chat) next() reply {
	c.t.Helper()
	w := c.post("")
	r := reply{status: w.Code, raw: w.Body.String()}
	var v struct {
		Choices []struct {
			Message      json.RawMessage `json:"message"`
			FinishReason string          `json:"finish_reason"`
		} `json:"choices"`
		Usage usage `json:"usage"`
	}
	if w.Code != 200 || json.Unmarshal(w.Body.Bytes(), &v) != nil {
		return r
	}
	var m message
	if err := json.Unmarshal(v.Choices[0].Message, &m); err != nil {
		c.t.Fatal(err)
	}
	c.messages = append(c.messages, v.Choices[0].Message)
	r.content, r.calls, r.finish, r.usage = string(m.Content), m.ToolCalls, v.Choices[0].FinishReason, v.Usage
	return r
}

func (c *chat) say(role, text string) {
	c.messages = append(c.messages, map[string]any{"role": role, "content": text})
}

func (c *chat) result(call toolCall, text string) {
	c.messages = append(c.messages, map[string]any{"role": "tool", "tool_call_id": call.ID, "content": text})
}
