package model

import (
	"context"
	"encoding/json"
	"time"
)

const (
	// DefaultTimeout of a model call when nothing configures one (core §11.1).
	DefaultTimeout = 120 * time.Second
	// MaxTimeout is the longest model call: a Lambda ends at 900 s and must still save (decision D28).
	MaxTimeout = 840 * time.Second
)

// Role says who wrote a message.
type Role string

const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one entry of a conversation.
type Message struct {
	Role    Role
	Content string
	// ToolCalls are what an assistant message asks for.
	ToolCalls []ToolCall
	// ToolCallID of a tool message names the call that it answers.
	ToolCallID string
	// ReasoningContent is echoed back to models that produce it; nobody else reads it.
	ReasoningContent string
}

// ToolCall is a model's wish to use a tool.
type ToolCall struct {
	ID        string // unique within the conversation
	Name      string
	Arguments string // as the model wrote it: normally a JSON object, possibly empty or malformed
}

// ToolDef describes a tool to a model.
type ToolDef struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of the arguments object; empty for a tool without arguments
}

// Request is one round.
type Request struct {
	Model       string
	Messages    []Message
	Tools       []ToolDef
	Temperature *float64 // nil: the model's own default
}

// Usage counts tokens. Zero where the endpoint reports nothing.
type Usage struct {
	PromptTokens, CompletionTokens, TotalTokens int
}

// Response is the model's turn. An empty answer is a valid response; the caller judges it.
type Response struct {
	Message      Message // of RoleAssistant
	Usage        Usage
	Model        string // as the endpoint names it; may differ from what was asked for
	FinishReason string // as sent: "stop", "tool_calls", "length", …
}

// Endpoint is where a model answers, and the credential for it.
type Endpoint struct {
	BaseURL string
	APIKey  string // may be empty for endpoints that ask for none
}

// Client runs one round. Every error is an [*Error]. A timeout of zero or less means [DefaultTimeout], more than
// [MaxTimeout] means [MaxTimeout]. A request is sent at most once per call.
type Client interface {
	Complete(ctx context.Context, endpoint Endpoint, request Request, timeout time.Duration) (Response, error)
}

// ClampTimeout applies the rule of [Client] for timeouts.
func ClampTimeout(d time.Duration) time.Duration {
	if d <= 0 {
		return DefaultTimeout
	}
	return min(d, MaxTimeout)
}
