package scripted

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// describe puts tool results into words, one sentence or two for each. It never claims success that a result does
// not show.
func describe(results []result) string {
	out := make([]string, 0, len(results))
	for _, r := range results {
		out = append(out, describeOne(r))
	}
	return strings.Join(out, "\n")
}

var (
	statusPrefix = regexp.MustCompile(`(?i)\bHTTP[ /:]*(\d{3})\b`)
	needsPerson  = regexp.MustCompile(`(?i)\b(approval|approve|approver)\b`)
	unknownEnd   = regexp.MustCompile(`(?i)\b(reconcil\w*|outcome (?:is )?unknown|unknown outcome)\b`)
	refusal      = regexp.MustCompile(`(?i)\b(error|fail\w*|refus\w*|reject\w*|denied|forbidden|not allowed|not permitted|disabled|paused|invalid|missing|unavailable|limit|not executed|unknown tool|no such tool|not found)\b`)
)

func describeOne(r result) string {
	text := strings.TrimSpace(r.text)
	var v any
	if json.Unmarshal([]byte(text), &v) == nil {
		switch v := v.(type) {
		case map[string]any:
			return describeObject(r, v)
		case []any:
			return describeList(v)
		}
	}
	m := statusPrefix.FindStringSubmatch(text)
	status := 0
	if m != nil {
		status, _ = strconv.Atoi(m[1]) // three digits
	}
	switch {
	case status >= 300:
		return fmt.Sprintf("That did not work: the business system answered with status %d%s.", status, detail(text))
	case status >= 200:
		return "Done; the business system had nothing to add."
	case text == "":
		return "The tool returned nothing."
	case text[0] == '{' || text[0] == '[':
		return "The tool answered with more than I can read: " + clip(text, 200) + "…"
	case unknownEnd.MatchString(text):
		return unknownOutcome
	case needsPerson.MatchString(text):
		return waiting
	case refusal.MatchString(text):
		return "That did not work: " + sentence(text)
	}
	return "The tool says: " + sentence(text)
}

const (
	waiting        = "This has not been done yet: a person has to approve it first."
	unknownOutcome = "I do not know whether this was done: no trustworthy answer came back. It will not be tried again by itself; a person has to check."
)

func describeObject(r result, o map[string]any) string {
	switch pick(o, "governance_state") {
	case "awaiting_approval":
		return waiting
	case "reconciliation_required":
		return unknownOutcome
	case "business_rejected", "rejected_before_dispatch":
		return "That did not work: " + sentence(pick(o, "message", "reason", "error"))
	}
	if problem := problem(o); problem != "" {
		return "That did not work: " + sentence(problem)
	}
	if inner := unwrap(o); inner != nil {
		return describeObject(r, inner)
	}
	for _, list := range []string{"orders", "items", "results", "data"} {
		if l, ok := o[list].([]any); ok && pick(o, "order_no", "order_id") == "" {
			return describeList(l)
		}
	}
	name := words(r.tool)
	switch {
	case containsAny(name, []string{"ticket", "tickets"}):
		return "I opened " + numbered("ticket", pick(o, "ticket_no", "ticket_id", "number", "no", "id")) + state(o) + "."
	case containsAny(name, []string{"refund", "refunds"}):
		return describeRefund(r, o)
	case pick(o, "order_no", "order_id", "number") != "" || containsAny(name, []string{"order", "orders"}):
		return describeOrder(r, o)
	}
	return "The tool answered: " + facts(o) + "."
}

// unwrap is the object inside an envelope such as {"order":{…}}, nil when o speaks for itself.
func unwrap(o map[string]any) map[string]any {
	if execution, ok := o["tool_execution"].(map[string]any); ok {
		return map[string]any{"governance_state": execution["state"], "message": execution["message"], "reason": execution["reason"]}
	}
	if pick(o, "order_no", "order_id", "ticket_no", "ticket_id", "refund_no", "refund_id", "number", "id") != "" {
		return nil
	}
	for _, wrapper := range []string{"order", "ticket", "refund", "data", "result"} {
		if inner, ok := o[wrapper].(map[string]any); ok {
			return inner
		}
	}
	return nil
}

// problem is the error that a business reports inside an answer of status 200.
func problem(o map[string]any) string {
	switch e := o["error"].(type) {
	case string:
		if e != "" {
			return e
		}
	case map[string]any:
		return pick(e, "message", "code", "reason")
	}
	if o["ok"] == false || o["success"] == false {
		if m := pick(o, "message", "reason"); m != "" {
			return m
		}
		return "the business system said no"
	}
	return ""
}

func describeOrder(r result, o map[string]any) string {
	no := pick(o, "order_no", "order_id", "number", "id")
	if no == "" {
		no = argument(r, "order_no", "order_id", "id")
	}
	b := strings.Builder{}
	b.WriteString("Order " + no)
	if s := pick(o, "status", "state"); s != "" {
		b.WriteString(" is " + strings.ReplaceAll(s, "_", " "))
	} else {
		b.WriteString(" was found")
	}
	if c := pick(o, "carrier", "shipper"); c != "" {
		b.WriteString(" with " + c)
	}
	if n := pick(o, "tracking_no", "tracking_number", "tracking", "tracking_id"); n != "" {
		b.WriteString(" (tracking " + n + ")")
	}
	if eta := pick(o, "eta", "expected", "expected_at", "expected_delivery", "estimated_delivery", "delivery_date"); eta != "" {
		b.WriteString(", expected " + eta)
	}
	b.WriteString(".")
	if total := pick(o, "total", "amount", "total_amount"); total != "" {
		b.WriteString(" Its total is " + strings.TrimSpace(total+" "+pick(o, "currency")) + ".")
	}
	return b.String()
}

func describeRefund(r result, o map[string]any) string {
	amount := pick(o, "amount", "value")
	if amount == "" {
		amount = argument(r, "amount", "value")
	}
	order := pick(o, "order_no", "order_id")
	if order == "" {
		order = argument(r, "order_no", "order_id")
	}
	text := numbered("The refund", pick(o, "refund_no", "refund_id", "number", "id"))
	if amount != "" {
		text += " of " + strings.TrimSpace(amount+" "+pick(o, "currency"))
	}
	if order != "" {
		text += " for order " + order
	}
	return text + " is recorded" + state(o) + "."
}

func describeList(list []any) string {
	if len(list) == 0 {
		return "I found nothing."
	}
	const shown = 5
	var parts []string
	for _, v := range list[:min(len(list), shown)] {
		o, ok := v.(map[string]any)
		if !ok {
			parts = append(parts, plain(v))
			continue
		}
		part := pick(o, "order_no", "order_id", "number", "id", "name")
		if s := pick(o, "status", "state"); s != "" {
			part += " (" + strings.ReplaceAll(s, "_", " ") + ")"
		}
		parts = append(parts, part)
	}
	more := ""
	if len(list) > shown {
		more = fmt.Sprintf(" and %d more", len(list)-shown)
	}
	return fmt.Sprintf("I found %d: %s%s.", len(list), strings.Join(parts, ", "), more)
}

// numbered is noun, followed by its number if there is one.
func numbered(noun, number string) string { return strings.TrimSpace(noun + " " + number) }

func state(o map[string]any) string {
	if s := pick(o, "status", "state"); s != "" {
		return " (" + strings.ReplaceAll(s, "_", " ") + ")"
	}
	return ""
}

// pick is the first of the members that holds a scalar, as text.
func pick(o map[string]any, names ...string) string {
	for _, n := range names {
		if s := plain(o[n]); s != "" {
			return s
		}
	}
	return ""
}

// argument is the first of the named arguments that the call was made with.
func argument(r result, names ...string) string {
	var o map[string]any
	if json.Unmarshal([]byte(r.arguments), &o) != nil {
		return ""
	}
	return pick(o, names...)
}

func plain(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}

// facts lists the scalar members of o in the order of their names.
func facts(o map[string]any) string {
	var parts []string
	for name, v := range o {
		if s := plain(v); s != "" {
			parts = append(parts, name+" "+s)
		}
	}
	slices.Sort(parts)
	if len(parts) == 0 {
		return "nothing that I can put into words"
	}
	return strings.Join(parts, ", ")
}

// detail finds the error text of a JSON body that follows a status.
func detail(text string) string {
	if i := strings.IndexByte(text, '{'); i >= 0 {
		var o map[string]any
		if json.Unmarshal([]byte(text[i:]), &o) == nil {
			if p := problem(o); p != "" {
				return " (" + clip(p, 200) + ")"
			}
			if m := pick(o, "message", "reason"); m != "" {
				return " (" + clip(m, 200) + ")"
			}
		}
	}
	return ""
}

// sentence is the first line of text, not too long, with a full stop.
func sentence(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if line = clip(strings.TrimRight(line, ".!"), 300); line == "" {
		return "no reason was given."
	}
	return line + "."
}
