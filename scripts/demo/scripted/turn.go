package scripted

import (
	"strings"

	"bailing/shared/model"
)

// turn is the part of a conversation that the answer depends on.
type turn struct {
	text    string   // the user's words
	index   int      // of the user message in the conversation
	round   int      // assistant messages since
	results []result // of the tools called in the round before this one
}

// result is the answer of one tool call.
type result struct {
	tool      string
	arguments string
	text      string
}

func lastTurn(messages []message) turn {
	t := turn{index: -1}
	for i := len(messages) - 1; i >= 0; i-- {
		if messages[i].Role == "user" && !isNote(messages, i) {
			t.index, t.text = i, string(messages[i].Content)
			break
		}
	}
	calls := map[string]function{}
	for _, m := range messages[t.index+1:] {
		switch m.Role {
		case "assistant":
			t.round++
			t.results = nil
			for _, call := range m.ToolCalls {
				calls[call.ID] = call.Function
			}
		case "tool":
			f := calls[m.ToolCallID]
			t.results = append(t.results, result{tool: f.Name, arguments: string(f.Arguments), text: string(m.Content)})
		}
	}
	return t
}

// isNote reports whether user message i goes on with the turn before it, for example to state a budget after tool
// results or to ask again after an empty answer.
func isNote(messages []message, i int) bool {
	for i--; i >= 0; i-- {
		switch m := messages[i]; m.Role {
		case "system", "developer":
			continue
		case "tool":
			return true
		case "assistant":
			text := string(m.Content)
			return len(m.ToolCalls) == 0 && (strings.TrimSpace(text) == "" || model.Violation(text))
		default:
			return isNote(messages, i) // one note after another
		}
	}
	return false
}
