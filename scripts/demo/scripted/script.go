package scripted

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// action is what the server does in one round.
type action struct {
	text      string
	calls     []call
	sleep     time.Duration
	status    int
	malformed bool
}

type call struct {
	name      string
	arguments string
}

// play decides the round: by the turn's script while it lasts, by the rules otherwise.
func play(t turn, tools []tool) action {
	if rounds := parseScript(t.text); t.round < len(rounds) {
		return rounds[t.round]
	} else if len(rounds) > 0 && len(t.results) == 0 {
		return action{text: "The script has ended."}
	}
	return answer(t, tools)
}

// parseScript returns the rounds of the directives in text, none when there are no directives. What looks like a
// directive and is not one is text.
func parseScript(text string) []action {
	var (
		rounds []action
		cur    action
		found  bool
	)
	for {
		start := strings.Index(text, "[[")
		if start < 0 {
			break
		}
		text = text[start+2:]
		name, args, rest, ok := directive(text)
		if !ok {
			continue
		}
		if name == "round" {
			rounds = append(rounds, cur)
			cur = action{}
		} else if !cur.add(name, args) {
			continue
		}
		found = true
		text = rest
	}
	if !found {
		return nil
	}
	return append(rounds, cur)
}

// directive splits "name args]]rest". The arguments of a tool are JSON, in which "]]" may occur.
func directive(text string) (name, args, rest string, ok bool) {
	body, rest, ok := strings.Cut(text, "]]")
	if !ok {
		return "", "", "", false
	}
	name, args, _ = strings.Cut(strings.TrimSpace(body), " ")
	args = strings.TrimSpace(args)
	if name != "tool" {
		return name, args, rest, true
	}
	open := strings.IndexByte(body, '{')
	if open < 0 {
		return name, args, rest, true
	}
	d := json.NewDecoder(strings.NewReader(text[open:]))
	var object json.RawMessage
	if d.Decode(&object) != nil {
		return name, args, rest, true
	}
	end := open + int(d.InputOffset())
	tail := strings.TrimLeft(text[end:], " \t\r\n")
	if after, closed := strings.CutPrefix(tail, "]]"); closed {
		_, args, _ = strings.Cut(strings.TrimSpace(text[:end]), " ")
		return name, strings.TrimSpace(args), after, true
	}
	return name, args, rest, true
}

// add applies a directive to the round and reports whether it is one.
func (a *action) add(name, args string) bool {
	switch name {
	case "say":
		a.text = strings.TrimSpace(a.text + " " + args)
	case "empty":
		a.text = ""
	case "malformed":
		a.malformed = true
	case "tool":
		tool, arguments, _ := strings.Cut(args, " ")
		if tool == "" {
			return false
		}
		if arguments = strings.TrimSpace(arguments); arguments == "" {
			arguments = "{}"
		}
		a.calls = append(a.calls, call{tool, arguments})
	case "status":
		n, err := strconv.Atoi(args)
		if err != nil || n < 400 || n > 599 {
			return false
		}
		a.status = n
	case "sleep":
		n, err := strconv.Atoi(args)
		if err != nil || n < 0 || n > int(maxSleep/time.Millisecond) {
			return false
		}
		a.sleep += time.Duration(n) * time.Millisecond
		a.sleep = min(a.sleep, maxSleep)
	default:
		return false
	}
	return true
}

// maxSleep bounds the waiting of a round.
const maxSleep = 15 * time.Minute
