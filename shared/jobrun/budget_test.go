package jobrun_test

import (
	"fmt"
	"slices"
	"testing"

	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/registry"
)

func TestMoreWishesThanBudget(t *testing.T) {
	t.Parallel()
	b := open(t, maxCalls(5))
	var wishes []jobtest.Wish
	for i := range 6 {
		wishes = append(wishes, order(fmt.Sprint(i)))
	}
	r := b.answered(jobtest.Call(wishes...), jobtest.Say("x"))
	if n := len(b.Business.Sent()); n != 5 {
		t.Errorf("%d calls were sent, want 5", n)
	}
	if want := `{"used":5,"limit":5,"remaining":0,"exhausted":true}`; string(r.ToolBudget) != want || r.ToolCalls != 5 {
		t.Errorf("%d calls, budget %s, want %s", r.ToolCalls, r.ToolBudget, want)
	}
	// Every wish is answered, and no tools are left.
	results := b.toolResults()
	if len(results) != 6 {
		t.Fatalf("%d results for 6 wishes", len(results))
	}
	contains(t, "the sixth result", results[5], "5 business calls")
	contains(t, "the budget's status", b.last().Content, "final answer now")
	if got := b.offered()[1]; len(got) != 0 {
		t.Errorf("offered %v after the budget is used", got)
	}
}

func TestModelThatOnlyCalls(t *testing.T) {
	t.Parallel()
	b := open(t, maxCalls(1))
	var replies []jobtest.Reply
	for range 10 {
		replies = append(replies, jobtest.Call(order("1")))
	}
	j := b.run(replies...)
	if j.Status != job.Failed || j.Error == "" {
		t.Errorf("%s, error %q", j.Status, j.Error)
	}
	// 2 + max_calls rounds (core §11.2).
	if n := len(b.Model.Requests()); n != 3 {
		t.Errorf("%d rounds, want 3", n)
	}
	if n := len(b.Business.Sent()); n != 1 {
		t.Errorf("%d calls sent, want 1", n)
	}
}

func TestToolThatFailsTwiceIsDisabled(t *testing.T) {
	t.Parallel()
	b := open(t, maxCalls(10))
	b.Business.Respond(500, `{"error":"down"}`)
	r := b.answered(
		jobtest.Call(order("1")), jobtest.Call(order("2")), jobtest.Call(order("3")),
		jobtest.Call(jobtest.Wish{Tool: "burst_get", Args: `{}`}), jobtest.Say("x"),
	)
	if n := len(b.Business.Sent()); n != 3 {
		t.Errorf("%d calls were sent, want two of the tool and one of another", n)
	}
	offered := b.offered()
	if !slices.Contains(offered[1], "order_get") || slices.Contains(offered[2], "order_get") || !slices.Contains(offered[2], "burst_get") {
		t.Errorf("offered %v", offered[1:3])
	}
	contains(t, "the third result", b.toolResults()[2], "disabled")
	if r.ToolCalls != 4 {
		t.Errorf("%d calls counted, want all four", r.ToolCalls)
	}
	if e := b.Events(b.id, "tool_blocked"); len(e) != 1 || e[0].Detail["reason"] != "tool_disabled" {
		t.Errorf("events %+v", e)
	}
}

func TestSuccessStartsTheCountAnew(t *testing.T) {
	t.Parallel()
	b := open(t, maxCalls(10))
	b.Business.Answer(answerByPath)
	b.answered(jobtest.Call(order("bad"), order("good"), order("bad")), jobtest.Call(order("good")), jobtest.Say("x"))
	if n := len(b.Business.Sent()); n != 4 {
		t.Errorf("%d calls were sent, want 4: failures were never two in a row", n)
	}
}

// Two failures in one round disable the tool for the third wish of the same round.
func TestDisabledWithinARound(t *testing.T) {
	t.Parallel()
	b := open(t, maxCalls(10))
	b.Business.Answer(answerByPath)
	b.answered(jobtest.Call(order("bad"), order("bad"), order("good")), jobtest.Say("x"))
	if n := len(b.Business.Sent()); n != 2 {
		t.Errorf("%d calls were sent, want 2", n)
	}
}

func TestUnknownToolIsRefused(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	r := b.answered(jobtest.Call(jobtest.Wish{Tool: "rm_rf", Args: `{}`}), jobtest.Say("x"))
	contains(t, "the result", b.toolResults()[0], "rm_rf", "refused")
	if len(b.Business.Sent()) != 0 || r.ToolCalls != 1 {
		t.Errorf("%d sent, %d counted", len(b.Business.Sent()), r.ToolCalls)
	}
}

// Malformed arguments are tried as {} and fail the schema (core §11.2).
func TestMalformedArguments(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	b.answered(jobtest.Call(jobtest.Wish{Tool: "order_get", Args: `{"id": SO-1}`}), jobtest.Call(order("SO-1")), jobtest.Say("x"))
	contains(t, "the first result", b.toolResults()[0], "missing_required:id")
	if n := len(b.Business.Sent()); n != 1 {
		t.Errorf("%d calls were sent", n)
	}
}

func TestCallThatWaitsForApproval(t *testing.T) {
	t.Parallel()
	b := open(t, nil)
	refund := jobtest.Wish{Tool: "refund", Args: `{"order":"1"}`}
	b.answered(jobtest.Call(refund, refund), jobtest.Call(refund), jobtest.Say("x"))
	for _, text := range b.toolResults() {
		contains(t, "the result", text, "approval", "Nothing was sent")
	}
	if len(b.Business.Sent()) != 0 {
		t.Error("something was sent")
	}
	if n := len(b.Events(b.id, "tool_blocked")); n != 0 {
		t.Errorf("waiting for a person counts as a failure: %d calls refused", n)
	}
}

func TestModelThatCallsWithoutTools(t *testing.T) {
	t.Parallel()
	b := open(t, func(r *registry.Route) { r.Tools = nil })
	if r := b.answered(jobtest.Call(order("1")), jobtest.Say("x")); r.ToolCalls != 0 || len(b.Business.Sent()) != 0 {
		t.Errorf("%+v, %d sent", r, len(b.Business.Sent()))
	}
	if n := len(b.toolResults()); n != 1 {
		t.Errorf("%d results for one wish", n)
	}
}

// The audit says when one business call is left, and when none is (core §11.2).
func TestBudgetInTheAudit(t *testing.T) {
	t.Parallel()
	b := open(t, maxCalls(3))
	b.answered(jobtest.Call(order("1")), jobtest.Call(order("2")), jobtest.Call(order("3")), jobtest.Say("x"))
	for _, want := range []struct {
		name            string
		used, remaining int
	}{{"tool_budget_near_limit", 2, 1}, {"tool_budget_exhausted", 3, 0}} {
		e := b.Events(b.id, want.name)
		if len(e) != 1 {
			t.Fatalf("%d events %s, want one", len(e), want.name)
		}
		if d := e[0].Detail; fmt.Sprint(d["used"], d["limit"], d["remaining"]) != fmt.Sprint(want.used, 3, want.remaining) {
			t.Errorf("%s: %v", want.name, d)
		}
	}
}

// A limit says "later", not "broken": refused calls do not count towards disabling the tool.
func TestLimitIsNoFailureOfTheTool(t *testing.T) {
	t.Parallel()
	b := open(t, maxCalls(10))
	burst := jobtest.Wish{Tool: "burst_get", Args: `{}`}
	b.answered(jobtest.Call(burst, burst, burst, burst), jobtest.Call(burst), jobtest.Say("x"))
	if n := len(b.Business.Sent()); n != 2 {
		t.Fatalf("%d calls were sent, the limit is 2", n)
	}
	if offered := b.offered(); !slices.Contains(offered[1], "burst_get") || !slices.Contains(offered[2], "burst_get") {
		t.Errorf("offered %v after limited calls", offered[1:])
	}
	for _, e := range b.Events(b.id, "tool_blocked") {
		if e.Detail["reason"] != "rate_limited:tool" {
			t.Errorf("reason %v", e.Detail["reason"])
		}
	}
}
