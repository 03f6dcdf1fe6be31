package scripted

import (
	"encoding/json"
	"strings"
)

type request struct {
	Model         string    `json:"model"`
	Messages      []message `json:"messages"`
	Tools         []tool    `json:"tools"`
	Stream        bool      `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type message struct {
	Role       string     `json:"role"`
	Content    content    `json:"content"`
	ToolCalls  []toolCall `json:"tool_calls"`
	ToolCallID string     `json:"tool_call_id"`
}

type toolCall struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name      string    `json:"name"`
	Arguments arguments `json:"arguments"`
}

type arguments string

type tool struct {
	Function struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Parameters  schema `json:"parameters"`
	} `json:"function"`
}

// schema is as much of JSON Schema as is needed to fill in arguments. Anything unexpected reads as absent.
type schema struct {
	Type       any               `json:"type"`
	Properties map[string]schema `json:"properties"`
	Required   []string          `json:"required"`
	Enum       []any             `json:"enum"`
	Default    any               `json:"default"`
}

func (s *schema) UnmarshalJSON(b []byte) error {
	type plain schema
	// A member of the wrong type is skipped and the others are kept.
	_ = json.Unmarshal(b, (*plain)(s))
	return nil
}

// is reports whether the schema's type is t, alone or among others.
func (s schema) is(t string) bool {
	switch v := s.Type.(type) {
	case string:
		return v == t
	case []any:
		for _, one := range v {
			if one == t {
				return true
			}
		}
	}
	return false
}

// content is a string, or the texts of a list of parts.
type content string

func (c *content) UnmarshalJSON(b []byte) error {
	var s string
	if json.Unmarshal(b, &s) == nil {
		*c = content(s)
		return nil
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(b, &parts); err != nil {
		return err
	}
	texts := make([]string, 0, len(parts))
	for _, p := range parts {
		if p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	*c = content(strings.Join(texts, "\n"))
	return nil
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

// count pretends that four bytes are a token, and that each message and each call costs four more.
func count(req *request, c *completion) usage {
	tokens := func(n int) int { return (n + 3) / 4 }
	var u usage
	for _, m := range req.Messages {
		u.Prompt += 4 + tokens(len(m.Content))
		for _, call := range m.ToolCalls {
			u.Prompt += 4 + tokens(len(call.Function.Name)+len(call.Function.Arguments))
		}
	}
	for _, t := range req.Tools {
		u.Prompt += 4 + tokens(len(t.Function.Name)+len(t.Function.Description))
	}
	u.Completion = tokens(len(c.text))
	for _, call := range c.calls {
		u.Completion += 4 + tokens(len(call.Function.Name)+len(call.Function.Arguments))
	}
	u.Total = u.Prompt + u.Completion
	return u
}
