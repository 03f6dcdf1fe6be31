package scripted

import (
	"strings"
	"testing"
)

func TestQuestionsBecomeToolCalls(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ ask, tool, args string }{
		{"Where is order SO-1001?", "order_get", `{"order_no":"SO-1001"}`},
		{"status of so-1001", "order_get", `{"order_no":"SO-1001"}`},
		{"SO-1001", "order_get", `{"order_no":"SO-1001"}`},
		{"where is order 1001", "order_get", `{"order_no":"1001"}`},
		{"background: earlier we spoke about SO-1002\n\nWhere is it now?", "order_get", `{"order_no":"SO-1002"}`},
		{"list orders for Ada", "order_search", `{"customer":"Ada"}`},
		{"show my shipped orders", "order_search", `{"status":"shipped"}`},
		{"open a ticket about a dent in the parcel", "ticket_create", `{"body":"open a ticket about a dent in the parcel","priority":"normal","subject":"a dent in the parcel"}`},
		{"Please open an urgent ticket for SO-1001 saying the refund is late.", "ticket_create",
			`{"body":"Please open an urgent ticket for SO-1001 saying the refund is late.","order_no":"SO-1001","priority":"urgent","subject":"the refund is late"}`},
		{"refund SO-1001 25.00", "refund_create", `{"amount":25,"order_no":"SO-1001","reason":"Requested by the customer"}`},
		{"refund €12,50 on order SO-1001 because it broke", "refund_create", `{"amount":12.5,"currency":"EUR","order_no":"SO-1001","reason":"it broke"}`},
		{"refund 2 items of SO-1001, 9.50 EUR", "refund_create", `{"amount":9.5,"currency":"EUR","order_no":"SO-1001","reason":"Requested by the customer"}`},
		{"refund SO-1001 25", "refund_create", `{"amount":25,"order_no":"SO-1001","reason":"Requested by the customer"}`},
		{"break something", "report_broken", `{}`},
		{"please fail", "report_broken", `{}`},
	} {
		chat := newChat(t)
		chat.say("system", "You help with orders.")
		chat.say("user", c.ask)
		r := chat.next()
		if len(r.calls) != 1 || r.calls[0].Function.Name != c.tool || string(r.calls[0].Function.Arguments) != c.args || r.finish != "tool_calls" {
			t.Errorf("%q: %s\nwant %s %s", c.ask, r.raw, c.tool, c.args)
		}
	}
}

func TestQuestionsThatLackSomethingAreAskedBack(t *testing.T) {
	t.Parallel()
	for ask, want := range map[string]string{
		"where is my parcel?": "Which order",
		"refund SO-1001":      "the order number and the amount",
		"refund 25.00":        "the order number and the amount",
		"hello":               `"where is order SO-1001"`,
	} {
		chat := newChat(t)
		chat.say("user", ask)
		if r := chat.next(); len(r.calls) != 0 || !strings.Contains(r.content, want) || r.finish != "stop" {
			t.Errorf("%q: %s\nwant text with %q", ask, r.raw, want)
		}
	}
}

func TestOnlyOfferedToolsAreUsed(t *testing.T) {
	t.Parallel()
	for _, ask := range []string{"where is order SO-1001", "refund SO-1001 25.00", "open a ticket about x", "break", "hello"} {
		chat := newChat(t)
		chat.tools = `[{"type":"function","function":{"name":"weather","description":"Look up the weather","parameters":{"type":"object","properties":{"id":{"type":"string"}}}}}]`
		chat.say("user", ask)
		if r := chat.next(); r.status != 200 || len(r.calls) != 0 || r.content == "" {
			t.Errorf("%q: %s\nwant text only", ask, r.raw)
		}
	}
}

func TestToolsOfOtherNamesAreRecognised(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ ask, tools, tool, args string }{
		{"where is order SO-1001", `[{"function":{"name":"shop__getOrder","parameters":{"properties":{"orderId":{"type":"string"}},"required":["orderId"]}}}]`, "shop__getOrder", `{"orderId":"SO-1001"}`},
		{"where is order 1001", `[{"function":{"name":"lookup","description":"order status","parameters":{"properties":{"id":{"type":"integer"}},"required":["id"]}}}]`, "lookup", `{"id":1001}`},
		{"refund SO-1001 25.00", `[{"function":{"name":"issue-refund","parameters":{"properties":{"order":{"type":"string"},"amount_cents":{"type":"integer"},"notify":{"type":"boolean"}},"required":["order","notify"]}}}]`, "issue-refund", `{"amount_cents":2500,"notify":false,"order":"SO-1001"}`},
		{"where is order SO-1001", `[{"function":{"name":"order_cancel","parameters":{"properties":{"order_no":{}},"required":["order_no"]}}},{"function":{"name":"order_get","parameters":{"properties":{"order_no":true},"required":["order_no"]}}}]`, "order_get", `{"order_no":"SO-1001"}`},
	} {
		chat := newChat(t)
		chat.tools = c.tools
		chat.say("user", c.ask)
		if r := chat.next(); len(r.calls) != 1 || r.calls[0].Function.Name != c.tool || string(r.calls[0].Function.Arguments) != c.args {
			t.Errorf("%q: %s\nwant %s %s", c.ask, r.raw, c.tool, c.args)
		}
	}
}

func TestResultsBecomeSentences(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rule, ask, result, want string }{
		{"an order", "where is order SO-1001", `{"order_no":"SO-1001","status":"in_transit","carrier":"DHL","tracking_no":"T9","eta":"2026-08-03","total":49.9,"currency":"EUR"}`,
			"Order SO-1001 is in transit with DHL (tracking T9), expected 2026-08-03. Its total is 49.9 EUR."},
		{"an order in an envelope", "where is order SO-1001", `{"order":{"order_no":"SO-1001","status":"shipped"}}`, "Order SO-1001 is shipped."},
		{"an order without a number", "where is order SO-1001", `{"status":"shipped"}`, "Order SO-1001 is shipped."},
		{"a list", "list orders for Ada", `{"orders":[{"order_no":"SO-1001","status":"shipped"},{"order_no":"SO-1002"}]}`, "I found 2: SO-1001 (shipped), SO-1002."},
		{"an empty list", "list orders for Ada", `[]`, "I found nothing."},
		{"a ticket", "open a ticket about x", `{"ticket_no":"TK-7","status":"open","order":{"order_no":"SO-1"}}`, "I opened ticket TK-7 (open)."},
		{"a refund", "refund SO-1001 25.00", `{"refund_id":"RF-1","amount":"25.00","currency":"EUR","status":"booked"}`, "The refund RF-1 of 25.00 EUR for order SO-1001 is recorded (booked)."},
		{"something else", "break", `{"b":1,"a":"x"}`, "The tool answered: a x, b 1."},
		{"an error status", "break", `HTTP 500 {"error":"the report engine is down"}`, "That did not work: the business system answered with status 500 (the report engine is down)."},
		{"an error status with a page", "break", `HTTP 502: HTML page of 9000 characters`, "That did not work: the business system answered with status 502."},
		{"an empty success", "open a ticket about x", `(HTTP 204, empty body)`, "Done; the business system had nothing to add."},
		{"an error in a success", "where is order SO-1001", `{"error":"no such order"}`, "That did not work: no such order."},
		{"a refusal in words", "refund SO-1001 25.00", "The call was refused: amount must be at most 20.", "That did not work: The call was refused: amount must be at most 20."},
		{"an approval in words", "refund SO-1001 25.00", "This call needs approval; a request was created.", waiting},
		{"an approval in JSON", "refund SO-1001 25.00", `{"tool_execution":{"state":"awaiting_approval","message":"x"}}`, waiting},
		{"an unknown outcome", "refund SO-1001 25.00", `{"governance_state":"reconciliation_required"}`, unknownOutcome},
		{"an unknown outcome in words", "refund SO-1001 25.00", "The call failed and needs reconciliation by a person.", unknownOutcome},
		{"a rejection in JSON", "refund SO-1001 25.00", `{"tool_execution":{"state":"rejected_before_dispatch","message":"rate limit"}}`, "That did not work: rate limit."},
		{"cut JSON", "list orders for Ada", `{"orders":[{"order_no":"SO-10`, `The tool answered with more than I can read: {"orders":[{"order_no":"SO-10…`},
		{"nothing", "break", ``, "The tool returned nothing."},
		{"plain words", "break", "all is well", "The tool says: all is well."},
	} {
		chat := newChat(t)
		chat.say("user", c.ask)
		call := chat.next()
		if len(call.calls) != 1 {
			t.Fatalf("%s: %s", c.rule, call.raw)
		}
		chat.result(call.calls[0], c.result)
		if r := chat.next(); r.content != c.want || len(r.calls) != 0 {
			t.Errorf("%s: %q\nwant %q", c.rule, r.content, c.want)
		}
	}
}
