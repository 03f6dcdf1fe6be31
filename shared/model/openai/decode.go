package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"bailing/shared/model"
)

var (
	errTooLarge = errors.New("response is larger than 8 MiB")
	errNoChoice = errors.New("response has no choice with a message")
	errContent  = errors.New("content is neither text nor a list of parts")
	errNoName   = errors.New("tool call without a function name")
)

func unparsable(status int, cause error) *model.Error {
	return &model.Error{Transient: true, Status: status, Public: "LLM response cannot be parsed", Cause: cause}
}

type wireResponse struct {
	Model   looseString `json:"model"`
	Choices []struct {
		Message      *wireAnswer `json:"message"`
		FinishReason looseString `json:"finish_reason"`
	} `json:"choices"`
	Usage looseUsage      `json:"usage"`
	Error json.RawMessage `json:"error"`
}

type wireAnswer struct {
	Content          json.RawMessage `json:"content"`
	Refusal          looseString     `json:"refusal"`
	ReasoningContent looseString     `json:"reasoning_content"`
	ToolCalls        []struct {
		ID       looseString `json:"id"`
		Function struct {
			Name      looseString     `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// decodeResponse reads an answer of status 2xx. history is the conversation that was sent: generated ids of tool
// calls must not meet ids in it.
func decodeResponse(status int, body []byte, history []model.Message, apiKey string) (model.Response, error) {
	var w wireResponse
	if err := json.Unmarshal(body, &w); err != nil {
		return model.Response{}, unparsable(status, err)
	}
	if len(w.Choices) == 0 || w.Choices[0].Message == nil {
		if reported := reportedError(w.Error, apiKey); reported != nil {
			return model.Response{}, reported
		}
		return model.Response{}, unparsable(status, errNoChoice)
	}
	choice := w.Choices[0]
	content, err := text(choice.Message.Content)
	if err != nil {
		return model.Response{}, unparsable(status, err)
	}
	if content == "" {
		content = string(choice.Message.Refusal)
	}
	calls, err := toolCalls(choice.Message, history)
	if err != nil {
		return model.Response{}, unparsable(status, err)
	}
	return model.Response{
		Message: model.Message{
			Role: model.RoleAssistant, Content: content, ToolCalls: calls, ReasoningContent: string(choice.Message.ReasoningContent),
		},
		Usage: w.Usage.usage(), Model: string(w.Model), FinishReason: string(choice.FinishReason),
	}, nil
}

// reportedError is a failure that a gateway passes on inside an answer of status 200: {"error":{"code":502,…}}. Its
// code counts as the status when it is one.
func reportedError(raw json.RawMessage, apiKey string) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var detail struct {
		Code    looseInt    `json:"code"`
		Message looseString `json:"message"`
	}
	// An error of another shape is shown as it is.
	_ = json.Unmarshal(raw, &detail)
	message := string(detail.Message)
	if message == "" {
		message = string(raw)
	}
	status := int(detail.Code)
	if status < 400 || status > 599 {
		status = 502
	}
	return model.HTTPError(status, message, apiKey)
}

// text reads content: null, a string, or a list of parts of which the textual ones count.
func text(raw json.RawMessage) (string, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s, nil
	}
	var parts []json.RawMessage
	if json.Unmarshal(raw, &parts) != nil {
		return "", errContent
	}
	var b strings.Builder
	for _, raw := range parts {
		var plain string
		if json.Unmarshal(raw, &plain) == nil {
			b.WriteString(plain)
			continue
		}
		var part struct {
			Type looseString `json:"type"`
			Text looseString `json:"text"`
		}
		if json.Unmarshal(raw, &part) != nil {
			return "", errContent
		}
		if part.Type == "" || part.Type == "text" || part.Type == "output_text" {
			b.WriteString(string(part.Text))
		}
	}
	return b.String(), nil
}

func toolCalls(answer *wireAnswer, history []model.Message) ([]model.ToolCall, error) {
	if len(answer.ToolCalls) == 0 {
		return nil, nil
	}
	used := map[string]bool{}
	n := 0
	for _, m := range history {
		for _, call := range m.ToolCalls {
			used[call.ID] = true
			n++
		}
	}
	calls := make([]model.ToolCall, 0, len(answer.ToolCalls))
	for i, w := range answer.ToolCalls {
		if w.Function.Name == "" {
			return nil, errNoName
		}
		id := string(w.ID)
		// The position in the conversation makes the same id again when the same round is read again.
		for k := n + i; id == "" || used[id]; k++ {
			id = fmt.Sprintf("call_%d", k)
		}
		used[id] = true
		calls = append(calls, model.ToolCall{ID: id, Name: string(w.Function.Name), Arguments: arguments(w.Function.Arguments)})
	}
	return calls, nil
}

// arguments is the text inside a JSON string, or any other value as it is written.
func arguments(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// looseString is "" for anything that is not a string.
type looseString string

func (s *looseString) UnmarshalJSON(b []byte) error {
	var v string
	if json.Unmarshal(b, &v) == nil {
		*s = looseString(v)
	}
	return nil
}

// looseInt is 0 for anything that is not a number, or a string of one, from 0 to 2^31-1. Fractions are dropped.
type looseInt int

func (n *looseInt) UnmarshalJSON(b []byte) error {
	v, err := strconv.ParseFloat(strings.Trim(string(b), `"`), 64)
	if err == nil && v >= 0 && v < 1<<31 {
		*n = looseInt(v)
	}
	return nil
}

type looseUsage struct{ prompt, completion, total int }

func (u *looseUsage) UnmarshalJSON(b []byte) error {
	var w struct {
		Prompt     looseInt `json:"prompt_tokens"`
		Completion looseInt `json:"completion_tokens"`
		Total      looseInt `json:"total_tokens"`
	}
	if json.Unmarshal(b, &w) == nil {
		*u = looseUsage{int(w.Prompt), int(w.Completion), int(w.Total)}
	}
	return nil
}

func (u looseUsage) usage() model.Usage {
	if u.total == 0 {
		u.total = u.prompt + u.completion
	}
	return model.Usage{PromptTokens: u.prompt, CompletionTokens: u.completion, TotalTokens: u.total}
}
