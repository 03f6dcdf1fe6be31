package approvals_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"bailing/shared/approval"
	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/model"
	"bailing/shared/registry"
)

func approved(id int64, decision string, more string) string {
	return fmt.Sprintf(`{"ok":true,"id":%d,"status":"approved","decision_id":%q,%s}`, id, decision, more)
}

// Core §6.5, the table of states.
func TestStatesOfADecision(t *testing.T) {
	t.Parallel()
	a := open(t)
	first, second := a.refund(a.token), a.ask(a.token, "refund", `{"order":"SO-2"}`)

	a.decide(a.token, first.ID, envelope(first, "approved", "d1")).want(t, 200, approved(first.ID, "d1", `"idempotent":false,"rerun":true`))
	if j := a.Job(first.JobID); j.Status != job.Queued || len(j.Due) != 1 || j.Due[0].ID != first.ID {
		t.Errorf("job %+v", j)
	}
	a.decide(a.token, first.ID, envelope(first, "approved", "d1")).want(t, 200, approved(first.ID, "d1", `"idempotent":true,"rerun":false`))
	already := `{"decision_id":"d1","error":"the approval is approved already","status":"approved"}`
	a.decide(a.token, first.ID, envelope(first, "denied", "d1")).want(t, 409, already)
	a.decide(a.token, first.ID, envelope(first, "approved", "d2")).want(t, 409, already)
	a.decide(jobtest.ServerToken, first.ID, envelope(first, "denied", "d3")).want(t, 409, already)
	a.decide(a.token, second.ID, envelope(second, "approved", "d1")).want(t, 409,
		fmt.Sprintf(`{"approval_id":%d,"decision_id":"d1","error":"the decision_id belongs to another approval"}`, first.ID))
	if got := a.ticket(second.ID); got.State != approval.Pending {
		t.Errorf("ticket %+v", got)
	}
	a.decide(a.token, second.ID, envelope(second, "denied", "d4")).want(t, 200,
		fmt.Sprintf(`{"ok":true,"id":%d,"status":"denied","decision_id":"d4","idempotent":false,"rerun":false}`, second.ID))
	if j := a.Job(second.JobID); j.Status != job.Done || len(j.Due) != 0 {
		t.Errorf("job %+v", j)
	}

	e := a.Events(first.JobID, "tool_approved_external")
	if len(e) != 1 || e[0].Detail["auth"] != "client:acme" || e[0].Detail["by"] != "u_manager" || e[0].Detail["decision_id"] != "d1" ||
		e[0].Detail["comment"] != "fine" || e[0].Stage != "approval" {
		t.Errorf("audit %+v", e)
	}
	if e := a.Events(second.JobID, "tool_denied_external"); len(e) != 1 {
		t.Errorf("audit %+v", e)
	}
	// The approved call is made, once, when the job runs again.
	a.Model.Then(jobtest.Say("Refunded."))
	a.Run(t.Context(), first.JobID)
	if sent := a.Business.Sent(); len(sent) != 1 || string(sent[0].Body) != `{"order":"SO-1"}` {
		t.Errorf("sent %+v", sent)
	}
	a.decide(a.token, first.ID, envelope(first, "approved", "d1")).want(t, 200, approved(first.ID, "d1", `"idempotent":true,"rerun":false`))
}

// A job that is under way makes the call by itself.
func TestADecisionWhileTheJobRuns(t *testing.T) {
	t.Parallel()
	a := open(t)
	var during answer
	var asked *approval.Ticket
	a.Model.Then(
		jobtest.Call(jobtest.Wish{Tool: "refund", Args: `{"order":"SO-1"}`}),
		func(r model.Request) (model.Response, error) {
			tickets, err := a.Store.JobTickets(t.Context(), a.running, 10)
			if err != nil || len(tickets) != 1 {
				t.Errorf("tickets %+v, %v", tickets, err)
				return jobtest.Say("?")(r)
			}
			asked = &tickets[0]
			during = a.decide(a.token, asked.ID, envelope(asked, "approved", "d1"))
			return jobtest.Say("It waits.")(r)
		},
		jobtest.Say("Refunded."),
	)
	id := a.MustLaunch(a.token, jobtest.Submission("r", `"metadata":{"user":"u"}`)).JobID
	a.running = id
	a.Deliver()
	during.want(t, 200, approved(asked.ID, "d1", `"idempotent":false,"rerun":false`))
	a.Run(t.Context(), id)
	if j := a.Job(id); j.Status != job.Done || len(a.Business.Sent()) != 1 {
		t.Errorf("job %+v, %d calls", j, len(a.Business.Sent()))
	}
}

// Core §6.6: a decision of the console has no id, so every later one is refused, also the same.
func TestADecisionAfterTheConsole(t *testing.T) {
	t.Parallel()
	a := open(t)
	asked := a.refund(a.token)
	if _, err := a.Platform.Clerk(a.Store).Decide(t.Context(), asked, approval.Ruling{Approved: true, By: "jo", Auth: "console:jo"}); err != nil {
		t.Fatal(err)
	}
	for _, decision := range []string{"approved", "denied"} {
		a.decide(a.token, asked.ID, envelope(asked, decision, "d1")).want(t, 409, `{"decision_id":null,"error":"the approval is approved already","status":"approved"}`)
	}
}

// D9: a ticket past its deadline is expired, whether somebody wrote it down or not, and no decision brings it back.
func TestADecisionAfterTheDeadline(t *testing.T) {
	t.Parallel()
	a := open(t)
	late, unused, last := a.refund(a.token), a.ask(a.token, "refund", `{"order":"SO-2"}`), a.ask(a.token, "refund", `{"order":"SO-3"}`)
	a.decide(a.token, unused.ID, envelope(unused, "approved", "d1")).want(t, 200, approved(unused.ID, "d1", `"idempotent":false,"rerun":true`))
	a.Clock.Advance(last.ExpiresAt.Add(-time.Millisecond).Sub(a.Clock.Now()))
	a.decide(a.token, last.ID, envelope(last, "approved", "d2")).want(t, 200, approved(last.ID, "d2", `"idempotent":false,"rerun":true`))
	a.Clock.Advance(time.Millisecond)
	expired := `{"decision_id":null,"error":"the approval is expired already","status":"expired"}`
	a.decide(a.token, late.ID, envelope(late, "approved", "d3")).want(t, 409, expired)
	a.decide(a.token, late.ID, envelope(late, "denied", "d4")).want(t, 409, expired)
	if got := a.ticket(late.ID); got.State != approval.Expired {
		t.Errorf("ticket %+v", got)
	}
	a.decide(a.token, unused.ID, envelope(unused, "denied", "d5")).want(t, 409, `{"decision_id":"d1","error":"the approval is expired already","status":"expired"}`)
	a.decide(a.token, unused.ID, envelope(unused, "approved", "d1")).want(t, 200, approved(unused.ID, "d1", `"idempotent":true,"rerun":false`))
}

// Core §6.5: which rule answers when several are broken.
func TestOrderOfChecks(t *testing.T) {
	t.Parallel()
	a := open(t)
	asked := a.refund(a.token)
	other := a.SaveClient(registry.Client{AppID: "other", AllowedRoutes: []string{"*"}, Enabled: true})
	const unknown = int64(12345)
	large := `{"pad":"` + strings.Repeat("x", 64<<10) + `"}`
	for _, tc := range []struct {
		rule        string
		token       string
		id          int64
		body        string
		status      int
		errorMember string
	}{
		{"nothing is told without a proof", "", asked.ID, envelope(asked, "approved", "d"), 401, "unauthorized"},
		{"not even that there is no such ticket", "", unknown, "{}", 401, "unauthorized"},
		{"nor that the body is no JSON", "", asked.ID, "{", 401, "unauthorized"},
		{"nor that it is too large", "", asked.ID, large, 401, "unauthorized"},
		{"an unknown token", strings.Repeat("0", 32), asked.ID, "{}", 401, "unauthorized"},
		{"an unknown token for an unknown ticket", strings.Repeat("0", 32), unknown, "{}", 401, "unauthorized"},
		{"a foreign client", other, asked.ID, envelope(asked, "approved", "d"), 401, "unauthorized"},
		{"a foreign client with a broken body", other, asked.ID, "{", 401, "unauthorized"},
		{"a known client for an unknown ticket", other, unknown, "{", 404, "approval not found"},
		{"the server token for an unknown ticket", jobtest.ServerToken, unknown, large, 404, "approval not found"},
		{"too large before not JSON", a.token, asked.ID, "{" + large, 413, "payload too large"},
		{"not JSON before the envelope", a.token, asked.ID, "{", 400, "the body is not JSON"},
		{"duplicate keys", a.token, asked.ID, `{"kind":"a","kind":"a"}`, 400, "the body has an object with a duplicate key"},
		{"the envelope", a.token, asked.ID, `{"kind":"x"}`, 400, "kind must be tool_approval_decision"},
		{"an empty body", a.token, asked.ID, "", 400, "approval_id is not the approval of the URL"},
		{"other arguments", a.token, asked.ID, strings.Replace(envelope(asked, "approved", "d"), asked.ArgsHash, strings.Repeat("f", 64), 1), 400, "args_hash is not the approval's"},
		{"no JSON object", jobtest.ServerToken, asked.ID, "[]", 400, "the body must be a JSON object"},
	} {
		got := a.decide(tc.token, tc.id, tc.body)
		var body struct{ Error string }
		got.into(t, &body)
		if got.Status != tc.status || body.Error != tc.errorMember {
			t.Errorf("%s: %d %s", tc.rule, got.Status, got.Body)
		}
	}
	// The envelope before the state.
	a.decide(a.token, asked.ID, envelope(asked, "denied", "d")).want(t, 200,
		fmt.Sprintf(`{"ok":true,"id":%d,"status":"denied","decision_id":"d","idempotent":false,"rerun":false}`, asked.ID))
	a.decide(a.token, asked.ID, `{"kind":"x"}`).want(t, 400, `{"error":"kind must be tool_approval_decision"}`)
}

func TestPathsThatNameNoTicket(t *testing.T) {
	t.Parallel()
	a := open(t)
	asked := a.refund(a.token)
	for _, id := range []string{"0", "-1", "+1", "x", "1e3", "0x1", fmt.Sprintf("0%d", asked.ID), fmt.Sprintf("%d.0", asked.ID), "4503599627370496", "99999999999999999999", "%20"} {
		for _, tail := range []string{"POST /decision", "GET /arguments"} {
			method, path, _ := strings.Cut(tail, " ")
			a.send(request{method: method, path: "/approvals/" + id + path, token: a.token}).want(t, 404, `{"error":"approval not found"}`)
			a.send(request{method: method, path: "/approvals/" + id + path}).want(t, 401, `{"error":"unauthorized"}`)
		}
	}
}

// The limit of core §6.5, and one byte past it.
func TestLimitOfTheBody(t *testing.T) {
	t.Parallel()
	a := open(t)
	asked := a.refund(a.token)
	body := envelope(asked, "denied", "d")
	pad := func(n int) string { return body + strings.Repeat(" ", n-len(body)) }
	a.decide(a.token, asked.ID, pad(65_537)).want(t, 413, `{"error":"payload too large","max_bytes":65536}`)
	if got := a.decide(a.token, asked.ID, pad(65_536)); got.Status != 200 {
		t.Errorf("%d %s", got.Status, got.Body)
	}
}

// D8: both forms, and an approver that is an object.
func TestTheShortForm(t *testing.T) {
	t.Parallel()
	a := open(t)
	asked := a.refund(a.token)
	body := fmt.Sprintf(`{"approval_id":"%d","job_id":%q,"request_id":%q,"args_hash":"sha256:%s","decision_id":"d","decision":"APPROVED","approver":{"id":"u1","name":"Ann"}}`,
		asked.ID, asked.JobID, asked.RequestID, asked.ArgsHash)
	a.decide(a.token, asked.ID, body).want(t, 200, approved(asked.ID, "d", `"idempotent":false,"rerun":true`))
	if r := a.ticket(asked.ID).Ruling; r == nil || r.By != "u1" {
		t.Errorf("%+v", r)
	}
	if e := a.Events(asked.JobID, "tool_approved_external"); len(e) != 1 || e[0].Detail["by"] != "u1" || e[0].Detail["approver_name"] != "Ann" {
		t.Errorf("audit %+v", e)
	}
}

// A decision id belongs to the owner of its ticket: clients cannot disturb each other.
func TestDecisionIDsOfDifferentOwners(t *testing.T) {
	t.Parallel()
	a := open(t)
	mine := a.refund(a.token)
	other := a.SaveClient(registry.Client{AppID: "other", AllowedRoutes: []string{"*"}, Enabled: true})
	theirs := a.refund(other)
	a.decide(a.token, mine.ID, envelope(mine, "denied", "d"))
	if got := a.decide(other, theirs.ID, envelope(theirs, "denied", "d")); got.Status != 200 {
		t.Errorf("%d %s", got.Status, got.Body)
	}
}
