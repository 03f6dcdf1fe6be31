package scripted

import (
	"fmt"
	"regexp"
	"strings"
)

// intent is what a question wants of an order system.
type intent string

const (
	wantOrder  intent = "order"  // one order, by its number
	wantSearch intent = "search" // orders by something else
	wantTicket intent = "ticket"
	wantRefund intent = "refund"
	wantBreak  intent = "break"
	wantHelp   intent = "help"
)

// intents are tried in order: "open a ticket about the refund" is about a ticket.
var intents = []struct {
	is      intent
	pattern *regexp.Regexp
}{
	{wantTicket, regexp.MustCompile(`(?i)\b(ticket|complain|complaint)\b`)},
	{wantRefund, regexp.MustCompile(`(?i)\b(refund|money back)\b`)},
	{wantBreak, regexp.MustCompile(`(?i)\b(break|breaks|broken|fail|fails|failing|crash)\b`)},
	{wantSearch, regexp.MustCompile(`(?i)\b(list|search|find|show|which|all|any|my)\b.*\borders\b`)},
	{wantOrder, regexp.MustCompile(`(?i)\b(order|parcel|package|delivery|shipment|where|status|track|eta)\b`)},
}

var (
	orderNo   = regexp.MustCompile(`(?i)\b[a-z]{1,5}-\d{2,12}\b`)
	bareNo    = regexp.MustCompile(`(?i)\border\s+(?:no\.?|number)?\s*#?\s*(\d{2,12})\b`)
	decimal   = regexp.MustCompile(`\b\d{1,9}[.,]\d{1,2}\b`)
	whole     = regexp.MustCompile(`\b\d{1,9}\b`)
	currency  = regexp.MustCompile(`\b(EUR|USD|GBP|CHF|JPY|CNY)\b`)
	about     = regexp.MustCompile(`(?is)\b(?:about|because|regarding|concerning|saying|that)\b[:\s]+(.+)`)
	because   = regexp.MustCompile(`(?is)\bbecause\b[:\s]+(?:of\s+)?(.+)`)
	searchFor = regexp.MustCompile(`(?is)\b(?:for|of|by|from|matching|named|called)\s+(.+)`)
)

// question is a user's words, taken apart.
type question struct {
	intent   intent
	text     string // the line that was understood
	order    string // upper case; empty when none is named
	amount   string // with a point; empty when none is named
	currency string
}

// read understands the last line that means anything: context that comes before the question in the same message
// is only asked for the order number.
func read(text string) question {
	q := question{intent: wantHelp, text: strings.TrimSpace(text)}
	lines := strings.Split(q.text, "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		line := strings.TrimSpace(lines[i])
		if want := classify(line); want != wantHelp {
			q.intent, q.text = want, line
			break
		}
	}
	q.order = lastOrder(q.text)
	if q.order == "" && (q.intent == wantOrder || q.intent == wantRefund) {
		q.order = lastOrder(text)
	}
	rest := bareNo.ReplaceAllString(orderNo.ReplaceAllString(q.text, " "), " ")
	if q.amount = strings.Replace(decimal.FindString(rest), ",", ".", 1); q.amount == "" {
		q.amount = whole.FindString(rest)
	}
	q.currency = currency.FindString(strings.NewReplacer("€", " EUR ", "$", " USD ", "£", " GBP ").Replace(strings.ToUpper(rest)))
	return q
}

func classify(line string) intent {
	for _, i := range intents {
		if i.pattern.MatchString(line) {
			return i.is
		}
	}
	if orderNo.MatchString(line) {
		return wantOrder
	}
	return wantHelp
}

func lastOrder(text string) string {
	if all := orderNo.FindAllString(text, -1); len(all) > 0 {
		return strings.ToUpper(all[len(all)-1])
	}
	if all := bareNo.FindAllStringSubmatch(text, -1); len(all) > 0 {
		return all[len(all)-1][1]
	}
	return ""
}

// answer plays a round without a script.
func answer(t turn, tools []tool) action {
	if len(t.results) > 0 {
		return action{text: describe(t.results)}
	}
	q := read(t.text)
	if q.intent == wantHelp {
		return action{text: help(tools)}
	}
	if q.intent == wantOrder && q.order == "" {
		return action{text: "Which order do you mean? Please give me its number, for example SO-1001."}
	}
	if q.intent == wantRefund && (q.order == "" || q.amount == "") {
		return action{text: "For a refund I need the order number and the amount, for example: refund SO-1001 25.00"}
	}
	chosen, ok := choose(q.intent, tools)
	if !ok {
		return action{text: fmt.Sprintf("I have no tool for that here. %s", help(tools))}
	}
	return action{calls: []call{{chosen.Function.Name, fill(chosen.Function.Parameters, q)}}}
}

// help says what can be asked with these tools.
func help(tools []tool) string {
	examples := []struct {
		want intent
		say  string
	}{
		{wantOrder, `"where is order SO-1001"`},
		{wantSearch, `"list orders for Ada"`},
		{wantTicket, `"open a ticket about a damaged parcel"`},
		{wantRefund, `"refund SO-1001 25.00"`},
		{wantBreak, `"break something", to see a failing tool`},
	}
	var can []string
	for _, e := range examples {
		if _, ok := choose(e.want, tools); ok {
			can = append(can, e.say)
		}
	}
	const who = "Hello! I am the demo model: a few fixed rules, not a real language model."
	if len(can) == 0 {
		return who + " No tool that I understand is offered to me, so I can only chat. Scripts such as [[say hello]] work as well."
	}
	return who + " Try: " + strings.Join(can, "; ") + "."
}
