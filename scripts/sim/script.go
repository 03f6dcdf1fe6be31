package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// script is what the model does in a job. It is the job's input.
type script struct {
	Job    int      `json:"job"` // its number
	Rounds [][]call `json:"rounds"`
}

// call is one wish of the model.
type call struct {
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"`
}

// The tools of a business, after its prefix.
const (
	toolRead   = "read"   // reads
	toolTag    = "tag"    // writes, and may be repeated
	toolNote   = "note"   // writes
	toolPay    = "pay"    // writes, and needs approval
	toolSecret = "secret" // writes what nobody but the business may read
)

// specification of a business whose tools have this prefix, and are used when it says.
func specification(business, when string) string {
	operation := func(tool, method, risk, more string, approval bool) string {
		asks := ""
		if approval {
			asks = `"approval":{"required":true,"prompt":"Pay {amount} for {what}?"},`
		}
		if tool == toolSecret {
			asks = `"audit":{"sensitive":true},`
		}
		return fmt.Sprintf(`"/%s":{"post":{"operationId":%q,"summary":%q,"requestBody":{"required":true,"content":{"application/json":{"schema":{
"type":"object","properties":{"what":{"type":"string","minLength":1,"maxLength":200},"amount":{"type":"integer","minimum":0}},"required":["what","amount"]}}}},
"responses":{"200":{"description":"ok"}},
"x-agent-capability":{"version":1,"enabled":true,"scope":"sim.%s","risk":{"level":%q},%s"subject":{"required":true},
"execution":{"timeout_ms":10000%s},"outcome":{"result":"done","side_effect":%q},
"guidance":{"when_to_use":%q,"returns":"a number","examples":[{"what":"x","amount":1}]}}}}`,
			tool, business+"_"+tool, tool, tool, risk, asks, more, method, when)
	}
	read := fmt.Sprintf(`"/read":{"get":{"operationId":%q,"summary":"read","parameters":[
{"name":"what","in":"query","required":true,"schema":{"type":"string","minLength":1}}],"responses":{"200":{"description":"ok"}},
"x-agent-capability":{"version":1,"enabled":true,"scope":"sim.read","risk":{"level":"low"},"subject":{"required":true},
"execution":{"timeout_ms":5000},"outcome":{"result":"found","side_effect":"read"},
"guidance":{"when_to_use":%q,"returns":"a fact","examples":[{"what":"x"}]}}}}`, business+"_"+toolRead, when)
	return `{"openapi":"3.1.0","info":{"title":"Simulated business","version":"1.0.0"},"paths":{` + strings.Join([]string{
		read,
		operation(toolTag, "write", "low", `,"idempotent":true`, false),
		operation(toolNote, "write", "medium", "", false),
		operation(toolPay, "write", "high", "", true),
		operation(toolSecret, "write", "medium", "", false),
	}, ",") + `}}`
}

// message is one of a conversation with the model.
type message struct {
	Role      string `json:"role"`
	Content   string `json:"content"`
	ToolCalls []struct {
		ID string `json:"id"`
	} `json:"tool_calls"`
}

// madeByHub begins the ids of calls that the hub put into a conversation itself: approved ones, which it makes first.
const madeByHub = "approval-"

// conversation is what the model is asked.
type conversation struct {
	Messages []message         `json:"messages"`
	Tools    []json.RawMessage `json:"tools"`
}

// read returns a conversation and the script that it follows.
func read(body []byte) (in conversation, s script, err error) {
	if err := json.Unmarshal(body, &in); err != nil {
		return in, s, err
	}
	for _, m := range in.Messages {
		if m.Role == "user" {
			return in, s, json.Unmarshal([]byte(m.Content), &s)
		}
	}
	return in, s, errors.New("nobody asks anything")
}

// reply is what the model says next in a conversation.
func reply(body []byte) (string, error) {
	in, s, err := read(body)
	if err != nil {
		return "", err
	}
	played := 0
	for _, m := range in.Messages {
		if m.Role == "assistant" && len(m.ToolCalls) > 0 && !strings.HasPrefix(m.ToolCalls[0].ID, madeByHub) {
			played++
		}
	}
	answer := map[string]any{"role": "assistant", "content": fmt.Sprintf("all is done after %d rounds", played)}
	if played < len(s.Rounds) && len(in.Tools) > 0 {
		var calls []any
		for k, c := range s.Rounds[played] {
			calls = append(calls, map[string]any{
				"id": fmt.Sprintf("c%d_%d", played, k), "type": "function", "function": map[string]any{"name": c.Tool, "arguments": string(c.Args)},
			})
		}
		answer = map[string]any{"role": "assistant", "content": nil, "tool_calls": calls}
	}
	out, err := json.Marshal(map[string]any{
		"model": "scripted", "choices": []any{map[string]any{"message": answer, "finish_reason": "stop"}},
		"usage": map[string]any{"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10},
	})
	return string(out), err
}
