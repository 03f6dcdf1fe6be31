package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"bailing/functions/admin"
	"bailing/shared/approval"
	"bailing/shared/clock"
	jobs "bailing/shared/job"
	"bailing/shared/registry"
)

// runs answers as told and remembers what it was asked.
type runs struct {
	page    jobs.Page
	job     *jobs.Job // nil = unknown
	request string    // the job of every request id
	tickets []approval.Ticket
	live    jobs.Live
	paused  bool
	err     error
	asked   []any
}

func (r *runs) ListJobs(_ context.Context, q jobs.ListQuery) (jobs.Page, error) {
	r.asked = append(r.asked, q)
	return r.page, r.err
}

func (r *runs) ReadBrief(_ context.Context, id string) (*jobs.Brief, error) {
	r.asked = append(r.asked, id)
	if r.job == nil {
		return nil, r.err
	}
	b := jobs.BriefOf(r.job)
	return &b, r.err
}

func (r *runs) RequestJob(_ context.Context, id string) (string, error) {
	r.asked = append(r.asked, id)
	return r.request, r.err
}

func (r *runs) ReadJob(_ context.Context, id string) (*jobs.Job, error) {
	r.asked = append(r.asked, id)
	if r.job == nil && r.err == nil {
		return nil, jobs.ErrNotFound
	}
	return r.job, r.err
}

func (r *runs) JobTickets(_ context.Context, _ string, limit int) ([]approval.Ticket, error) {
	r.asked = append(r.asked, limit)
	return r.tickets, r.err
}

func (r *runs) ReadLive(_ context.Context, max int) (jobs.Live, error) { return r.live, r.err }

func (r *runs) ReadPaused(context.Context) (bool, error) { return r.paused, r.err }

// Rerun is Reruns.
func (r *runs) Rerun(_ context.Context, id, by string) error {
	r.asked = append(r.asked, id, by)
	return r.err
}

func setupRuns(t *testing.T) (*hub, *runs) {
	t.Helper()
	r := &runs{}
	return setup(t, func(d *admin.Deps) { d.Runs, d.Reruns, d.Clock = r, r, clock.NewManual(now) }), r
}

// aJob is a job with something in every member that could leak.
func aJob() *jobs.Job {
	return &jobs.Job{
		ID: job, RequestID: "req-1", Status: jobs.Done, Owner: "crm", Source: "crm", Profile: "readonly", Project: "p", ThreadKey: "thread-key",
		ThreadID: 152, SessionID: "s", CallbackURL: "https://crm.example/cb", Input: "Write to jo@crm.example", Metadata: json.RawMessage(`{"n":12345678901234567890,"api_key":"k"}`),
		Snapshot: jobs.Snapshot{
			RouteKey: "r", RouteName: "R", Target: "llm", TargetKind: registry.InHub,
			TargetConfig: json.RawMessage(`{"credential":"main","model":"m","system_prompt":"secret prompt","api_key":"target-key"}`), Retry: &registry.Retry{Max: 1, BackoffMS: 500},
		},
		Attempts: 1, Claim: 987654, Worker: "inhub:host:worker-id", ClaimedAt: now, CreatedAt: now, UpdatedAt: now.Add(time.Second),
		Result: json.RawMessage(`{"text":"Sent to jo@crm.example","model":"m"}`), Usage: json.RawMessage(`{"duration_ms":9,"tokens":15}`),
	}
}

const runItem = `"job_id":"` + job + `","request_id":"req-1","status":"done","route":"r","target":"llm","profile":"readonly","project":"p","source":"crm",
	"client_app_id":"crm","session_id":"s","input_preview":"Write to [REDACTED_EMAIL]","visitor_uid":null,"thread_id":152,"severity":null,
	"summary":"Sent to [REDACTED_EMAIL]","created_at":"2026-11-30T15:52:48.906Z","updated_at":"2026-11-30T15:52:49.906Z"`

func TestRunsAreListedInTheRecordedShape(t *testing.T) {
	t.Parallel()
	h, r := setupRuns(t)
	r.page.Jobs = []jobs.Brief{jobs.BriefOf(aJob()), {ID: job, Status: jobs.Queued, CreatedAt: now, UpdatedAt: now}}
	w := h.admin("GET", "/admin/api/runs", "")
	want(t, w, 200, `[{`+runItem+`},{"job_id":"`+job+`","request_id":"","status":"queued","route":"","target":"","profile":"","project":"","source":"",
		"client_app_id":null,"session_id":"","input_preview":"","visitor_uid":null,"thread_id":0,"severity":null,"summary":null,
		"created_at":"2026-11-30T15:52:48.906Z","updated_at":"2026-11-30T15:52:48.906Z"}]`)
	if w.Header().Get("Link") != "" {
		t.Errorf("the last page leads to %s", w.Header().Get("Link"))
	}
	r.page = jobs.Page{}
	want(t, h.admin("GET", "/admin/api/runs", ""), 200, `[]`)
	r.err = errors.New("down")
	if w := h.admin("GET", "/admin/api/runs", ""); w.Code != 500 {
		t.Errorf("status %d", w.Code)
	}
}

func TestListParametersAreBounded(t *testing.T) {
	t.Parallel()
	const cursor = "001796053968906." + job
	for query, expected := range map[string]jobs.ListQuery{
		"":                                       {Limit: 50},
		"?limit=1":                               {Limit: 1},
		"?limit=200&offset=10000":                {Limit: 200, Offset: 10_000},
		"?limit=201":                             {Limit: 200},
		"?status=done&route=r&client_app_id=crm": {Limit: 50, Status: jobs.Done, Route: "r", Owner: "crm"},
		"?cursor=" + cursor + "&offset=0":        {Limit: 50, After: cursor},
	} {
		h, r := setupRuns(t)
		if w := h.admin("GET", "/admin/api/runs"+query, ""); w.Code != 200 || !reflect.DeepEqual(r.asked, []any{expected}) {
			t.Errorf("%s: %d, asked %+v", query, w.Code, r.asked)
		}
	}
	for query, message := range map[string]string{
		"?limit=0": "limit", "?limit=-1": "limit", "?limit=x": "limit", "?limit=1.5": "limit", "?offset=-1": "offset", "?offset=10001": "offset",
		"?offset=x": "offset", "?status=cancelled": "status", "?route=%20": "route", "?client_app_id=A": "client_app_id",
		"?offset=1&status=done": "offset", "?offset=1&request_id=q": "offset", "?cursor=x": "cursor", "?offset=1&cursor=" + cursor: "cursor",
		"?request_id=" + strings.Repeat("x", 1025): "request_id",
	} {
		h, r := setupRuns(t)
		w := h.admin("GET", "/admin/api/runs"+query, "")
		if w.Code != 400 || !strings.Contains(w.Body.String(), message) || len(r.asked) != 0 {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
}

func TestTheNextPageIsLinked(t *testing.T) {
	t.Parallel()
	h, r := setupRuns(t)
	r.page.Next = "001796053968906." + job
	w := h.admin("GET", "/admin/api/runs?limit=2&offset=2", "")
	if link := w.Header().Get("Link"); link != `<?cursor=001796053968906.`+job+`&limit=2>; rel="next"` {
		t.Errorf("link %s", link)
	}
}

func TestRunsAreFoundByTheirRequestID(t *testing.T) {
	t.Parallel()
	h, r := setupRuns(t)
	want(t, h.admin("GET", "/admin/api/runs?request_id=req-1", ""), 200, `[]`)
	r.request, r.job = job, aJob()
	want(t, h.admin("GET", "/admin/api/runs?request_id=req-1", ""), 200, `[{`+runItem+`}]`)
	want(t, h.admin("GET", "/admin/api/runs?request_id=req-1&status=done&route=r&client_app_id=crm", ""), 200, `[{`+runItem+`}]`)
	for _, other := range []string{"status=error", "route=x", "client_app_id=shop"} {
		want(t, h.admin("GET", "/admin/api/runs?request_id=req-1&"+other, ""), 200, `[]`)
	}
}

const runOnly = `,"callback_url":"https://crm.example/cb","input":"Write to [REDACTED_EMAIL]","result":{"text":"Sent to [REDACTED_EMAIL]","model":"m"},
	"usage":{"duration_ms":9,"tokens":15},"error":null,"metadata":{"n":12345678901234567890,"api_key":"[REDACTED_SECRET]"},
	"dispatch":{"target_config":{"credential":"main","model":"m"},"is_continue":false,"route_key":"r","route_name":"R","retry":{"max":1,"backoff_ms":500},"delivery":null},
	"attempts":1,"recoveries":0,"run_after":null,"claimed_at":"2026-11-30T15:52:48.906Z","lease_until":null,"open_call":null`

// Administrators see how a job is executed; prompts and secrets are nobody's, and the job itself names no claim and no worker.
func TestARunIsShownWithoutWhatMustNotLeak(t *testing.T) {
	t.Parallel()
	h, r := setupRuns(t)
	r.job = aJob()
	for _, path := range []string{"", "/trace", "/trace?format=jsonl"} {
		body := h.admin("GET", "/admin/api/runs/"+job+path, "").Body.String()
		for _, secret := range []string{"secret prompt", "target-key", "worker-id", "987654", "thread-key", "jo@crm.example", `"k"`} {
			if strings.Contains(body, secret) {
				t.Errorf("%s shows %s: %s", path, secret, body)
			}
		}
	}
	want(t, h.admin("GET", "/admin/api/runs/"+strings.ToUpper(job), ""), 200, `{`+runItem+runOnly+`}`)
	r.job.Open = &jobs.OpenCall{Tool: "refund", Scope: "refunds.write", State: "uncertain", IdempotencyKey: "key", Reason: "timeout", Since: now}
	if body := h.admin("GET", "/admin/api/runs/"+job, "").Body.String(); !strings.Contains(body,
		`"open_call":{"tool":"refund","scope":"refunds.write","state":"uncertain","idempotency_key":"key","reason":"timeout","since":"2026-11-30T15:52:48.906Z"}`) {
		t.Error(body)
	}
	r.job = nil
	for _, path := range []string{job, "x", job + "/trace", "x/trace"} {
		want(t, h.admin("GET", "/admin/api/runs/"+path, ""), 404, `{"error":"not found"}`)
	}
}

func TestARerunAnswersAsRecorded(t *testing.T) {
	t.Parallel()
	h, r := setupRuns(t)
	want(t, h.admin("POST", "/admin/api/runs/"+strings.ToUpper(job)+"/rerun", ""), 200, `{"ok":true,"job_id":"`+job+`","status":"queued"}`)
	if !reflect.DeepEqual(r.asked, []any{job, "token"}) {
		t.Errorf("asked %v", r.asked)
	}
	for _, c := range []struct {
		err    error
		status int
		body   string
	}{
		{jobs.ErrInFlight, 400, `{"error":"the job is in flight; only a job that has ended can be rerun"}`},
		{jobs.ErrNotFound, 404, `{"error":"not found"}`},
		{jobs.ErrThreadFull, 409, `{"error":"thread_inflight_quota","message":"the thread of this job has as many jobs in flight as it may have; rerun it later"}`},
		{jobs.ErrRunsUsedUp, 409, `{"error":"the job has ended 9999 times, which is as often as it can be told"}`},
		{jobs.ErrMoved, 409, `{"error":"the job's thread is too busy; try again"}`},
	} {
		r.err = fmt.Errorf("wrapped: %w", c.err)
		want(t, h.admin("POST", "/admin/api/runs/"+job+"/rerun", ""), c.status, c.body)
	}
	want(t, h.admin("POST", "/admin/api/runs/x/rerun", ""), 404, `{"error":"not found"}`)
	r.err = errors.New("down")
	if w := h.admin("POST", "/admin/api/runs/"+job+"/rerun", ""); w.Code != http.StatusInternalServerError || strings.Contains(w.Body.String(), "down") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
