package openai

import (
	"encoding/json"

	"bailing/shared/model"
	"bailing/shared/plainjson"
)

type wireRequest struct {
	Model       string        `json:"model"`
	Messages    []wireMessage `json:"messages"`
	Stream      bool          `json:"stream"`
	Temperature *float64      `json:"temperature,omitempty"`
	Tools       []wireTool    `json:"tools,omitempty"`
}

type wireMessage struct {
	Role             model.Role     `json:"role"`
	Content          *string        `json:"content"`
	ReasoningContent string         `json:"reasoning_content,omitempty"`
	ToolCalls        []wireToolCall `json:"tool_calls,omitempty"`
	ToolCallID       string         `json:"tool_call_id,omitempty"`
}

type wireToolCall struct {
	ID       string       `json:"id"`
	Type     string       `json:"type"`
	Function wireFunction `json:"function"`
}

type wireFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type wireTool struct {
	Type     string       `json:"type"`
	Function wireToolBody `json:"function"`
}

type wireToolBody struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

var noParameters = json.RawMessage(`{"type":"object","properties":{}}`)

func encodeRequest(r model.Request) ([]byte, error) {
	w := wireRequest{Model: r.Model, Messages: make([]wireMessage, 0, len(r.Messages)), Temperature: r.Temperature}
	for _, m := range r.Messages {
		w.Messages = append(w.Messages, encodeMessage(m))
	}
	for _, t := range r.Tools {
		parameters := t.Parameters
		if len(parameters) == 0 {
			parameters = noParameters
		}
		w.Tools = append(w.Tools, wireTool{"function", wireToolBody{t.Name, t.Description, parameters}})
	}
	return plainjson.Marshal(w)
}

// encodeMessage writes null for the content of a message that only calls tools, as OpenAI itself does; servers that
// refuse an empty text accept it.
func encodeMessage(m model.Message) wireMessage {
	w := wireMessage{Role: m.Role, ToolCallID: m.ToolCallID, ReasoningContent: m.ReasoningContent}
	if m.Content != "" || len(m.ToolCalls) == 0 {
		w.Content = &m.Content
	}
	for _, call := range m.ToolCalls {
		w.ToolCalls = append(w.ToolCalls, wireToolCall{call.ID, "function", wireFunction{call.Name, objectOrEmpty(call.Arguments)}})
	}
	return w
}

// objectOrEmpty is arguments when it is a JSON object, else the empty object that the worker called the tool with.
func objectOrEmpty(arguments string) string {
	var object map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &object) != nil || object == nil {
		return "{}"
	}
	return arguments
}
