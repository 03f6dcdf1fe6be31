package admin_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"bailing/shared/approval"
)

// The answers are those of the recorded exchange approval-admin-approve (D36).
func TestADecisionAnswersAsRecorded(t *testing.T) {
	t.Parallel()
	h, a := setupTickets(t)
	a.add(aTicket(13))
	h.account(t, "ruth", "admin")
	ruth := h.enter(t, "ruth")
	a.decided = approval.Decided{ID: 13, State: approval.Approved, Rerun: true}
	want(t, h.admin("POST", ticketsPath+"/13/approve", ""), 200, `{"ok":true,"id":13,"status":"approved","rerun":true}`)
	a.decided = approval.Decided{ID: 13, State: approval.Denied}
	want(t, h.send("POST", ticketsPath+"/13/deny", `{"comment":" too much "}`, "Cookie", ruth, "Origin", ours), 200,
		`{"ok":true,"id":13,"status":"denied","rerun":false}`)
	if expected := []any{
		int64(13), approval.Ruling{Approved: true, By: "token", Auth: "admin-token"},
		int64(13), approval.Ruling{By: "ruth", Comment: "too much", Auth: "console:ruth"},
	}; !reflect.DeepEqual(a.asked, expected) {
		t.Errorf("asked %+v", a.asked)
	}
	want(t, h.send("POST", ticketsPath+"/13/approve", `{}`, "Cookie", ruth), 403, `{"error":""}`, "error") // from another site
	if len(a.asked) != 4 {
		t.Errorf("asked %+v", a.asked)
	}
}

func TestTheBodyOfADecision(t *testing.T) {
	t.Parallel()
	h, a := setupTickets(t)
	a.add(aTicket(9))
	long, name := strings.Repeat("é", 1000), strings.Repeat("é", 62)+"😀"
	for body, ruling := range map[string]approval.Ruling{
		``: {By: "token"}, `{}`: {By: "token"}, `{"comment":""}`: {By: "token"}, `{"comment":"` + long + `"}`: {By: "token", Comment: long},
		`{"comment":"a\nb"}`:       {By: "token", Comment: "a\nb"},
		`{"by":" Jo "}`:            {By: "token:Jo"},
		`{"by":"` + name + `"}`:    {By: "token:" + name},
		`{"by":"a","comment":"c"}`: {By: "token:a", Comment: "c"},
	} {
		a.asked = nil
		ruling.Auth = "admin-token"
		if w := h.admin("POST", ticketsPath+"/9/deny", body); w.Code != 200 || !reflect.DeepEqual(a.asked, []any{int64(9), ruling}) {
			t.Errorf("%.80s: %d %s, asked %+v", body, w.Code, w.Body, a.asked)
		}
	}
	a.asked = nil
	const comment, by = "comment must be text of at most 1000 characters", "by must be a name of 1 to 64 characters in one line"
	for body, message := range map[string]string{
		`[]`: "the body must be a JSON object", `{"decision":"approved"}`: "the body may hold comment and by", `{`: "the body is not JSON",
		`{"comment":"` + long + `é"}`: comment, `{"comment":7}`: comment, `{"comment":null}`: comment, `{"comment":"\u0007"}`: comment,
		`{"by":"x` + name + `"}`: by, `{"by":""}`: by, `{"by":" "}`: by, `{"by":7}`: by, `{"by":"a\nb"}`: by, `{"by":"a\u0000"}`: by, `{"by":null}`: by,
	} {
		want(t, h.admin("POST", ticketsPath+"/9/approve", body), 400, `{"error":"`+message+`"}`)
	}
	h.account(t, "ruth", "admin")
	want(t, h.send("POST", ticketsPath+"/9/approve", `{"by":"eve"}`, "Cookie", h.enter(t, "ruth"), "Origin", ours), 400,
		`{"error":"by goes with the server token only; a session decides under its own name"}`)
	if len(a.asked) != 0 {
		t.Errorf("asked %v", a.asked)
	}
}

func TestWhyATicketIsNotDecided(t *testing.T) {
	t.Parallel()
	ruled := func(r approval.Ruling, expires time.Time) approval.Ticket {
		decided := aTicket(9)
		decided.State, decided.Ruling, decided.ExpiresAt = r.State(), &r, expires
		return decided
	}
	by := approval.Ruling{Approved: true, By: "ada", Auth: "console:ada", At: now}
	late, open := aTicket(9), aTicket(9)
	late.ExpiresAt = now
	const winner, expires = `"decided_by":"ada","decided_at":"2026-11-30T15:52:48.906Z"`, `"expires_at":"2026-11-30T16:52:48.906Z"`
	for _, tc := range []struct {
		rule    string
		ticket  approval.Ticket
		refusal error
		status  int
		body    string
	}{
		{
			"decided before", ruled(by, now.Add(time.Hour)), &approval.Conflict{State: approval.Approved}, 400,
			`{"error":"the ticket is approved already; a decision is final","status":"approved",` + expires + `,` + winner + `}`,
		},
		{
			"approved, never used, and past its deadline", ruled(by, now), &approval.Conflict{State: approval.Expired}, 400,
			`{"error":"the ticket has expired; nobody can decide it any more","status":"expired","expires_at":"2026-11-30T15:52:48.906Z",` + winner + `}`,
		},
		{
			"past its deadline", late, &approval.Conflict{State: approval.Expired}, 400,
			`{"error":"the ticket has expired; nobody can decide it any more","status":"expired","expires_at":"2026-11-30T15:52:48.906Z"}`,
		},
		{
			"a race that is lost", open, &approval.Conflict{State: approval.Denied, DecisionID: "dec-1"}, 409,
			`{"error":"another decision came first: the ticket is denied","status":"denied",` + expires + `}`,
		},
		{"a job that moves", open, approval.ErrMoved, 409, `{"error":"the job is moving; try again"}`},
		{"a ticket that is gone", open, approval.ErrNotFound, 404, `{"error":"not found"}`},
		{"a store that is down", open, errors.New("canary"), 500, `{"error":"internal_error"}`},
	} {
		h, a := setupTickets(t)
		a.all[9], a.refusal = tc.ticket, tc.refusal
		for _, verb := range []string{"/approve", "/deny"} {
			t.Run(tc.rule+verb, func(t *testing.T) {
				want(t, h.admin("POST", ticketsPath+"/9"+verb, ""), tc.status, tc.body)
			})
		}
	}
}
