package scripted

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// choose returns the tool that fits want best; the first of equals. Names count more than descriptions, and a
// tool whose name speaks of something else is never taken.
func choose(want intent, tools []tool) (tool, bool) {
	best, bestScore := tool{}, 0
	for _, t := range tools {
		if s := score(want, t); s > bestScore {
			best, bestScore = t, s
		}
	}
	return best, bestScore > 0
}

func score(want intent, t tool) int {
	name := words(t.Function.Name)
	description := words(t.Function.Description)
	named := func(any ...string) bool { return containsAny(name, any) }
	points := func(weight int, any ...string) int {
		n := 0
		if containsAny(name, any) {
			n += 3 * weight
		}
		if containsAny(description, any) {
			n += weight
		}
		return n
	}
	writes := named("create", "cancel", "delete", "update", "refund", "refunds", "ticket", "tickets", "add", "set")
	switch want {
	case wantTicket:
		if !named("ticket", "tickets", "complaint") || named("get", "list", "search", "close", "delete") {
			return 0
		}
		return points(2, "ticket", "tickets", "complaint") + points(1, "create", "open", "add", "new")
	case wantRefund:
		if !named("refund", "refunds") || named("get", "list", "search", "cancel") {
			return 0
		}
		return points(2, "refund", "refunds") + points(1, "create", "issue", "request")
	case wantBreak:
		return points(2, "broken", "break", "failing", "fail", "fails", "crash")
	case wantSearch:
		if writes || !named("order", "orders") || !named("search", "list", "find", "query", "orders") {
			return 0
		}
		return points(1, "search", "list", "find", "query", "orders")
	case wantOrder:
		param := orderParam(t.Function.Parameters)
		if writes || param == "" || containsAny(name, []string{"broken"}) {
			return 0
		}
		n := points(2, "order", "orders") + points(1, "get", "lookup", "status", "detail", "details", "track", "find")
		if n > 0 && slices.Contains(t.Function.Parameters.Required, param) {
			n += 4 // a search may filter by number; a lookup needs it
		}
		return n
	}
	return 0
}

var wordPattern = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+|\d+`)

// words splits snake_case, kebab-case, camelCase and prose into lower-case words.
func words(s string) []string {
	found := wordPattern.FindAllString(s, -1)
	for i := range found {
		found[i] = strings.ToLower(found[i])
	}
	return found
}

func containsAny(list, any []string) bool {
	return slices.ContainsFunc(any, func(w string) bool { return slices.Contains(list, w) })
}

// orderParam names the parameter that takes an order number, or "".
func orderParam(s schema) string {
	for _, name := range sortedNames(s) {
		switch squeeze(name) {
		case "orderno", "orderid", "ordernumber", "ordernum", "ordercode", "order":
			return name
		}
	}
	for _, name := range sortedNames(s) {
		switch squeeze(name) {
		case "id", "no", "number":
			return name
		}
	}
	return ""
}

func squeeze(name string) string { return strings.Join(words(name), "") }

func sortedNames(s schema) []string {
	names := make([]string, 0, len(s.Properties))
	for name := range s.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// fill writes the arguments of a call: what the question says, and for other required parameters a value that fits.
func fill(s schema, q question) string {
	args := map[string]any{}
	order := orderParam(s)
	for _, name := range sortedNames(s) {
		p := s.Properties[name]
		required := slices.Contains(s.Required, name)
		v, ok := value(name, p, q)
		if name == order && q.order != "" {
			v, ok = number(q.order, p), true
		}
		if !ok && required {
			v, ok = placeholder(p), true
		}
		if ok {
			args[name] = v
		}
	}
	b, err := json.Marshal(args)
	if err != nil {
		panic(err) // made of strings and finite numbers
	}
	return string(b)
}

// value is what the question says about a parameter.
func value(name string, p schema, q question) (any, bool) {
	if v, ok := mentioned(p.Enum, q.text); ok {
		return v, true
	}
	name = squeeze(name)
	switch name {
	case "amount", "value", "total", "sum", "refundamount":
		return number(q.amount, p), q.amount != ""
	case "amountcents", "amountminor", "cents":
		f, err := strconv.ParseFloat(q.amount, 64)
		return int(f*100 + 0.5), err == nil
	case "currency":
		return q.currency, q.currency != ""
	case "subject", "title", "summary":
		return clip(topic(q.text), 80), true
	case "body", "message", "content", "text", "details", "description":
		return q.text, true
	case "reason", "note", "comment":
		if m := because.FindStringSubmatch(q.text); m != nil {
			return strings.TrimRight(strings.TrimSpace(m[1]), ".!?"), true
		}
		return "Requested by the customer", true
	case "query", "q", "search", "keyword", "keywords", "customer", "customername", "name":
		if m := searchFor.FindStringSubmatch(q.text); m != nil {
			return strings.TrimRight(strings.TrimSpace(m[1]), ".!?"), true
		}
	}
	return nil, false
}

// topic is what a ticket is about.
func topic(text string) string {
	if m := about.FindStringSubmatch(text); m != nil {
		return strings.TrimRight(strings.TrimSpace(m[1]), ".!?")
	}
	return text
}

func clip(s string, max int) string {
	if r := []rune(s); len(r) > max {
		return string(r[:max])
	}
	return s
}

// mentioned returns the enum value that the text contains as a word.
func mentioned(enum []any, text string) (any, bool) {
	in := words(text)
	for _, v := range enum {
		if s, ok := v.(string); ok && s != "" && containsAny(in, []string{strings.ToLower(s)}) {
			return v, true
		}
	}
	return nil, false
}

// number is s as the type that p asks for.
func number(s string, p schema) any {
	if p.is("number") || p.is("integer") {
		if f, err := strconv.ParseFloat(s, 64); err == nil {
			return f
		}
	}
	return s
}

// placeholder is some value that p allows.
func placeholder(p schema) any {
	switch {
	case p.Default != nil:
		return p.Default
	case len(p.Enum) > 0:
		return p.Enum[0]
	case p.is("integer"), p.is("number"):
		return 1
	case p.is("boolean"):
		return false
	case p.is("array"):
		return []any{}
	case p.is("object"):
		return map[string]any{}
	default:
		return "unknown"
	}
}
