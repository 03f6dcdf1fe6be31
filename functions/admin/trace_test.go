package admin_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"bailing/shared/approval"
)

const traceSummary = `{"job_id":"` + job + `","request_id":"req-1","status":"done",
	"stage_count":{"launch":1,"context":0,"execution":1,"tool":2,"approval":0,"delivery":1,"summary":0,"recovery":0,"channel":0,"config":0,"system":0},
	"event_count":5,"error_count":1,"warning_count":1,"tool_calls":1,"tool_results":1,"approvals":1,"deliveries":1,"llm_requests":1,
	"perceptions":0,"knowledge_events":0,"duration_ms":9}`

func aTrace(t *testing.T) *hub {
	t.Helper()
	h, r := setupRuns(t)
	r.job = aJob()
	r.job.Metadata = json.RawMessage(`{"principal":{"id":"u_42","email":"jo@crm.example"}}`)
	r.tickets = []approval.Ticket{{
		ID: 7, JobID: job, State: approval.Pending, Provider: "shop", Tool: "refund", ArgsHash: "h", CreatedAt: now, ExpiresAt: now.Add(time.Hour),
		Intent: []byte(`{"args":"frozen"}`), Sealed: "sealed",
	}}
	for _, e := range []string{
		`"event":"received","stage":"launch","severity":"info"`, `"event":"llm_request","stage":"execution","severity":"info"`,
		`"event":"tool_call","stage":"tool","severity":"warning","detail":{"token":"t"}`, `"event":"tool_result","stage":"tool","severity":"error"`,
		`"event":"callback","stage":"delivery","severity":"info"`,
	} {
		h.audit.records = append(h.audit.records, json.RawMessage(`{`+e+`}`))
	}
	return h
}

const (
	traceEvents = `[{"event":"received","stage":"launch","severity":"info"},{"event":"llm_request","stage":"execution","severity":"info"},
		{"event":"tool_call","stage":"tool","severity":"warning","detail":{"token":"[REDACTED_SECRET]"}},{"event":"tool_result","stage":"tool","severity":"error"},
		{"event":"callback","stage":"delivery","severity":"info"}]`
	traceTicket = `{"id":7,"job_id":"` + job + `","provider":"shop","tool":"refund","args_hash":"h","status":"pending",
		"created_at":"2026-11-30T15:52:48.906Z","expires_at":"2026-11-30T16:52:48.906Z"}`
	traceLookup = `{"job_id":"` + job + `","request_id":"req-1","client_app_id":"crm","thread_id":152,"route_key":"r","principal":{"id":"u_42","email":"[REDACTED_EMAIL]"}}`
)

func TestATraceHasTheRecordedMembers(t *testing.T) {
	t.Parallel()
	h := aTrace(t)
	want(t, h.admin("GET", "/admin/api/runs/"+job+"/trace", ""), 200,
		`{"job":null,"trace":{"summary":`+traceSummary+`,"events":`+traceEvents+`},"approvals":[`+traceTicket+`],"lookup":`+traceLookup+`}`, "job")
	if h.audit.asked != job {
		t.Errorf("asked for %s", h.audit.asked)
	}
	want(t, h.admin("GET", "/admin/api/runs/"+job+"/trace?format=xml", ""), 400, `{"error":"format must be json or jsonl"}`)
}

// A trace tells what became of each ticket: who decided, when its call was made, and that a deadline has passed.
func TestATraceTellsWhatBecameOfItsTickets(t *testing.T) {
	t.Parallel()
	h, r := setupRuns(t)
	r.job = aJob()
	used := approval.Ticket{
		ID: 7, JobID: job, State: approval.Approved, Provider: "shop", Tool: "refund", ArgsHash: "h", CreatedAt: now, ExpiresAt: now.Add(time.Hour), UsedAt: now.Add(time.Second),
		Ruling: &approval.Ruling{Approved: true, DecisionID: "dec-1", By: "boss@crm.example", Comment: "ask jo@crm.example", Auth: "client:crm", At: now},
	}
	denied, late, ended := used, used, used
	denied.State, denied.UsedAt, denied.Ruling = approval.Denied, time.Time{}, &approval.Ruling{By: "ada", Auth: "console:ada", At: now}
	late.State, late.UsedAt, late.Ruling, late.ExpiresAt = approval.Pending, time.Time{}, nil, now
	ended.State, ended.UsedAt, ended.Ruling, ended.EndAt = approval.Expired, time.Time{}, nil, now
	r.tickets = []approval.Ticket{used, denied, late, ended}
	head := `{"id":7,"job_id":"` + job + `","provider":"shop","tool":"refund","args_hash":"h","created_at":"2026-11-30T15:52:48.906Z",`
	const expires = `"expires_at":"2026-11-30T16:52:48.906Z"`
	want(t, h.admin("GET", "/admin/api/runs/"+job+"/trace", ""), 200, `{"approvals":[
		`+head+expires+`,"status":"approved","decided_by":"[REDACTED_EMAIL]","decided_via":"client:crm","decided_at":"2026-11-30T15:52:48.906Z",
			"decision_id":"dec-1","comment":"ask [REDACTED_EMAIL]","used_at":"2026-11-30T15:52:49.906Z"},
		`+head+expires+`,"status":"denied","decided_by":"ada","decided_via":"console:ada","decided_at":"2026-11-30T15:52:48.906Z"},
		`+head+`"expires_at":"2026-11-30T15:52:48.906Z","status":"expired"},
		`+head+expires+`,"status":"expired","ended_at":"2026-11-30T15:52:48.906Z"}]}`, "job", "trace", "lookup")
}

func TestATraceIsExportedLineByLine(t *testing.T) {
	t.Parallel()
	w := aTrace(t).admin("GET", "/admin/api/runs/"+job+"/trace?format=jsonl", "")
	if w.Code != 200 || w.Header().Get("Content-Type") != "application/x-ndjson; charset=utf-8" || w.Header().Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %v", w.Code, w.Header())
	}
	var kinds []string
	for line := range strings.Lines(w.Body.String()) {
		var l map[string]json.RawMessage
		if err := json.Unmarshal([]byte(line), &l); err != nil || len(l) != 2 {
			t.Fatalf("%v: %s", err, line)
		}
		var kind string
		if err := json.Unmarshal(l["type"], &kind); err != nil || l[kind] == nil {
			t.Fatalf("%v: %s", err, line)
		}
		kinds = append(kinds, kind)
	}
	if got := strings.Join(kinds, " "); got != "job approval event event event event event" {
		t.Errorf("lines %s", got)
	}
}

func TestTracesAreFoundByTheKeysThatHaveAnIndex(t *testing.T) {
	t.Parallel()
	h, r := setupRuns(t)
	const find = "/admin/api/runs/trace"
	for query, message := range map[string]string{
		"": "exactly one of job_id and request_id", "?job_id=" + job + "&request_id=r": "exactly one", "?job_id=x": "UUID", "?request_id=": "request_id",
		"?request_id=" + strings.Repeat("x", 1025): "request_id", "?client_id=crm": "client_id yet", "?principal_id=u": "principal_id yet", "?thread_id=1&list=1": "thread_id yet",
	} {
		w := h.admin("GET", find+query, "")
		if w.Code != 400 || !strings.Contains(w.Body.String(), message) {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
	for _, query := range []string{"?job_id=" + job, "?request_id=req-1"} {
		want(t, h.admin("GET", find+query, ""), 404, `{"error":"not found"}`)
		want(t, h.admin("GET", find+query+"&list=1", ""), 200, `[]`)
	}
	r.job, r.request = aJob(), job
	for _, query := range []string{"?job_id=" + strings.ToUpper(job), "?request_id=req-1"} {
		want(t, h.admin("GET", find+query+"&list=1", ""), 200, `[{`+runItem+`}]`)
		if w := h.admin("GET", find+query, ""); w.Code != 200 || !strings.Contains(w.Body.String(), `"lookup":{"job_id":"`+job) {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
}
