package model

import "strings"

// toolMarkup lists, in lower case, how models write tool calls into plain text when their server does not turn them
// into structured calls (decision D43). A longer form that begins with a shorter one needs no entry.
var toolMarkup = []string{
	"<tool_call",     // Hermes, Qwen, GLM, Granite; also <tool_calls>
	"<toolcall",      // Nemotron
	"<function_call", // also <function_calls>
	"<function=",     // Llama 3, Qwen3-Coder
	"<invoke",
	"<|tool",           // Kimi, Phi, Granite: <|tool_call|>, <|tool_calls_section_begin|>
	"<｜tool",           // DeepSeek, with full-width bars
	"<|python_tag|>",   // Llama 3.1
	"<|start_action|>", // Command R
	"<|channel|>",      // gpt-oss
	"[tool_calls]",     // Mistral
	"<minimax:tool_call",
}

// Violation reports whether text contains tool-call mark-up that must be withheld from people (core §11.2, D43).
// Letter case does not matter.
func Violation(text string) bool {
	if !strings.ContainsAny(text, "<[") {
		return false
	}
	lower := strings.ToLower(text)
	for _, m := range toolMarkup {
		if strings.Contains(lower, m) {
			return true
		}
	}
	return false
}
