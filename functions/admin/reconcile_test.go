package admin_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"bailing/functions/admin"
	"bailing/shared/clock"
	jobs "bailing/shared/job"
	"bailing/shared/toolcall"
)

// reconciliations answers as told and remembers what it was asked.
type reconciliations struct {
	page  toolcall.Reconciliations
	one   *toolcall.Reconciliation
	err   error
	asked []any
}

func (c *reconciliations) List(_ context.Context, limit int, after jobs.Cursor) (toolcall.Reconciliations, error) {
	c.asked = append(c.asked, limit, after)
	return c.page, c.err
}

func (c *reconciliations) Read(_ context.Context, jobID, key string) (*toolcall.Reconciliation, error) {
	c.asked = append(c.asked, jobID, key)
	return c.one, c.err
}

func (c *reconciliations) Close(_ context.Context, jobID, key string, closing toolcall.Closing) (*toolcall.Reconciliation, error) {
	c.asked = append(c.asked, jobID, key, closing)
	return c.one, c.err
}

func setupReconciliations(t *testing.T) (*hub, *reconciliations) {
	t.Helper()
	c := &reconciliations{one: aCall()}
	return setup(t, func(d *admin.Deps) { d.Reconciliations, d.Clock = c, clock.NewManual(now) }), c
}

var callKey = strings.Repeat("4f", 32)

func aCall() *toolcall.Reconciliation {
	return &toolcall.Reconciliation{JobStatus: jobs.Failed, Entry: toolcall.Entry{
		State: toolcall.Uncertain, JobID: job, Tool: "refund", Provider: "shop", ArgsHash: "h", IdempotencyKey: callKey, Scope: "refunds.write",
		Subject: "u", Reason: "timeout", CreatedAt: now, Evidence: &toolcall.Evidence{Phase: "headers", Connected: true, Sent: true, Timeout: true},
	}}
}

const (
	reconcilePath = "/admin/api/reconciliations"
	callItem      = `"job_id":"` + job + `","job_status":"error","tool":"refund","scope":"refunds.write","args_hash":"h","since":"2026-11-30T15:52:48.906Z"`
)

func onCall(below string) string {
	return reconcilePath + "/" + strings.ToUpper(job) + "/" + callKey + below
}

func TestReconciliationsAreListed(t *testing.T) {
	t.Parallel()
	h, c := setupReconciliations(t)
	lost := aCall()
	lost.Entry.State, lost.Entry.Provider, lost.Entry.Reason, lost.Entry.Evidence, lost.UnderWay = toolcall.Dispatching, "", "", nil, true
	c.page = toolcall.Reconciliations{Items: []toolcall.Reconciliation{*aCall(), *lost}, Next: "000001796054000.x"}
	w := h.admin("GET", reconcilePath+"?limit=2", "")
	want(t, w, 200, `[{`+callItem+`,"provider":"shop","state":"uncertain","under_way":false,"idempotency_key":"`+callKey+`","reason":"timeout",
		"evidence":{"phase":"headers","connected":true,"sent":true,"timeout":true},"closing":null},
		{`+callItem+`,"provider":null,"state":"dispatching","under_way":true,"idempotency_key":"`+callKey+`","reason":"worker_lost","evidence":null,"closing":null}]`)
	if link := w.Header().Get("Link"); link != `<?cursor=000001796054000.x&limit=2>; rel="next"` {
		t.Errorf("link %s", link)
	}
	c.page = toolcall.Reconciliations{}
	w = h.admin("GET", reconcilePath+"?limit=201&cursor=000001796054000."+job, "")
	if want(t, w, 200, `[]`); w.Header().Get("Link") != "" {
		t.Error("the last page leads on")
	}
	if expected := []any{2, jobs.Cursor(""), 200, jobs.Cursor("000001796054000." + job)}; !reflect.DeepEqual(c.asked, expected) {
		t.Errorf("asked %v", c.asked)
	}
	for query, message := range map[string]string{
		"?limit=0": "limit must be a positive integer", "?limit=x": "limit must be a positive integer", "?cursor=1": "cursor must be one that the Link header gave",
	} {
		want(t, h.admin("GET", reconcilePath+query, ""), 400, `{"error":"`+message+`"}`, "request_id")
	}
}

func TestReconciliationIsRead(t *testing.T) {
	t.Parallel()
	h, c := setupReconciliations(t)
	c.one.Entry.State = toolcall.ClosedHappened
	c.one.Entry.Closing = &toolcall.Closing{Finding: toolcall.Happened, Status: 201, Reason: "jo@shop.example said so", By: "jo", At: now}
	want(t, h.admin("GET", onCall(""), ""), 200, `{`+callItem+`,"provider":"shop","state":"closed_happened","under_way":false,"idempotency_key":"`+callKey+`",
		"reason":"timeout","evidence":{"phase":"headers","connected":true,"sent":true,"timeout":true},
		"closing":{"outcome":"happened","status":201,"reason":"[REDACTED_EMAIL] said so","by":"jo","at":"2026-11-30T15:52:48.906Z"}}`)
	if !reflect.DeepEqual(c.asked, []any{job, callKey}) {
		t.Errorf("asked %v", c.asked)
	}
	for _, path := range []string{"/no-uuid/" + callKey, "/" + job + "/short", "/" + job + "/" + strings.ToUpper(callKey)} {
		want(t, h.admin("GET", reconcilePath+path, ""), 404, `{"error":"not found"}`, "request_id")
		want(t, h.admin("POST", reconcilePath+path+"/close", `{"outcome":"happened","reason":"r"}`), 404, `{"error":"not found"}`, "request_id")
	}
	if len(c.asked) != 2 {
		t.Errorf("asked %v", c.asked)
	}
}

func TestReconciliationIsClosedWithTheName(t *testing.T) {
	t.Parallel()
	h, c := setupReconciliations(t)
	long, name := strings.Repeat("é", toolcall.ClosingReasonMax), strings.Repeat("é", 64)
	for body, closing := range map[string]toolcall.Closing{
		`{"outcome":"happened","reason":" looked "}`:                     {Finding: toolcall.Happened, Reason: "looked"},
		`{"outcome":"happened","status":100,"reason":"r"}`:               {Finding: toolcall.Happened, Status: 100, Reason: "r"},
		`{"outcome":"happened","status":599,"reason":"r"}`:               {Finding: toolcall.Happened, Status: 599, Reason: "r"},
		`{"outcome":"not_happened","reason":"` + long + `"}`:             {Finding: toolcall.NotHappened, Reason: long},
		`{"outcome":"happened","status":2.01e2,"reason":"whole number"}`: {Finding: toolcall.Happened, Status: 201, Reason: "whole number"},
		`{"outcome":"happened","reason":"r","by":" Jo "}`:                {Finding: toolcall.Happened, Reason: "r", By: "token:Jo"},
		`{"outcome":"happened","reason":"r","by":"` + name + `"}`:        {Finding: toolcall.Happened, Reason: "r", By: "token:" + name},
	} {
		c.asked = nil
		if w := h.admin("POST", onCall("/close"), body); w.Code != 200 {
			t.Errorf("%.80s: %d %s", body, w.Code, w.Body)
		}
		if len(c.asked) != 3 {
			t.Fatalf("asked %v", c.asked)
		}
		got, _ := c.asked[2].(toolcall.Closing)
		if closing.By == "" {
			closing.By = "token"
		}
		if c.asked[0] != job || c.asked[1] != callKey || got != closing {
			t.Errorf("%.80s: asked %v", body, c.asked)
		}
	}
}

func TestClosingThatSaysTooLittle(t *testing.T) {
	t.Parallel()
	h, c := setupReconciliations(t)
	const status, reason = "status must be an HTTP status from 100 to 599; leave it out when it is not known", "reason is required: how you know it, in 1 to 1000 characters"
	const by = "by must be a name of 1 to 64 characters in one line"
	for body, message := range map[string]string{
		`[]`:                                 "the body must be a JSON object",
		`{"reason":"r"}`:                     "outcome must be happened or not_happened",
		`{"outcome":1,"reason":"r"}`:         "outcome must be happened or not_happened",
		`{"outcome":"perhaps","reason":"r"}`: "outcome must be happened or not_happened",
		`{"outcome":"happened"}`:             reason, `{"outcome":"happened","reason":" "}`: reason, `{"outcome":"happened","reason":7}`: reason,
		`{"outcome":"happened","reason":"` + strings.Repeat("é", toolcall.ClosingReasonMax+1) + `"}`: reason,
		`{"outcome":"happened","reason":"r","status":99}`:                                            status, `{"outcome":"happened","reason":"r","status":600}`: status,
		`{"outcome":"happened","reason":"r","status":200.5}`: status, `{"outcome":"happened","reason":"r","status":"200"}`: status,
		`{"outcome":"happened","reason":"r","status":null}`:    status,
		`{"outcome":"not_happened","reason":"r","status":404}`: "status goes with the outcome happened only",
		`{"outcome":"happened","reason":"r","at":"now"}`:       "the body may hold outcome, status, reason and by",
		`{"outcome":"happened","reason":"r","by":""}`:          by, `{"outcome":"happened","reason":"r","by":7}`: by,
		`{"outcome":"happened","reason":"r","by":"` + strings.Repeat("é", 65) + `"}`: by,
	} {
		want(t, h.admin("POST", onCall("/close"), body), 400, `{"error":"`+message+`"}`, "request_id")
	}
	h.account(t, "ruth", "admin")
	want(t, h.send("POST", onCall("/close"), `{"outcome":"happened","reason":"r","by":"eve"}`, "Cookie", h.enter(t, "ruth"), "Origin", ours), 400,
		`{"error":"by goes with the server token only; a session decides under its own name"}`)
	if len(c.asked) != 0 {
		t.Errorf("asked %v", c.asked)
	}
}

// What was approved and not made is said, since nothing but a rerun makes it. An approval that has lapsed is not due.
func TestAClosingSaysWhichApprovedCallsARerunMakes(t *testing.T) {
	t.Parallel()
	h, c := setupReconciliations(t)
	c.one.Due = []jobs.DueTicket{{ID: 7, ExpiresAt: now}, {ID: 8, ExpiresAt: now.Add(time.Millisecond)}, {ID: 9, ExpiresAt: now.Add(time.Hour)}}
	for call, body := range map[string]string{"GET ": "", "POST /close": `{"outcome":"happened","reason":"r"}`} {
		method, below, _ := strings.Cut(call, " ")
		if w := h.admin(method, onCall(below), body); w.Code != 200 || !strings.Contains(w.Body.String(), `"approvals_due":[8,9]`) {
			t.Errorf("%s: %d %s", call, w.Code, w.Body)
		}
	}
	c.one.Due = c.one.Due[:1]
	if w := h.admin("GET", onCall(""), ""); strings.Contains(w.Body.String(), "approvals_due") {
		t.Error(w.Body)
	}
}

func TestWhyACallIsNotClosed(t *testing.T) {
	t.Parallel()
	h, c := setupReconciliations(t)
	first := toolcall.Closing{Finding: toolcall.NotHappened, Reason: "r", By: "jo", At: now}
	for _, tc := range []struct {
		err    error
		status int
		body   string
	}{
		{toolcall.ErrNoReconciliation, 404, `{"error":"not found"}`},
		{toolcall.ErrUnderWay, 409, `{"error":"the job still works on this call; it can be closed once the job has ended"}`},
		{toolcall.ErrCloseMoved, 409, `{"error":"the job is moving; try again"}`},
		{&toolcall.ClosedOtherwise{First: first}, 409, `{"error":"this call was closed before, as not_happened; a closing is final",
			"closing":{"outcome":"not_happened","status":null,"reason":"r","by":"jo","at":"2026-11-30T15:52:48.906Z"}}`},
		{errors.New("canary"), 500, `{"error":"internal_error"}`},
	} {
		c.err = tc.err
		want(t, h.admin("POST", onCall("/close"), `{"outcome":"happened","reason":"r"}`), tc.status, tc.body, "request_id")
	}
}
