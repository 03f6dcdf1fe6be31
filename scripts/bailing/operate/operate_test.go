package operate

import (
	"testing"

	"bailing/scripts/bailing/clitest"
)

const id = "145ff952-5b7f-4081-bda4-8f4a2e6ade2b"

const job = `{"job_id":"` + id + `","request_id":"crm:1","status":"done","route":"orders","source":"crm","input_preview":"Where is order SO-1001? The customer has been asking since Monday.",` +
	`"summary":"It is on its way.","created_at":"2026-03-10T12:00:00.000Z","updated_at":"2026-03-10T12:00:03.000Z"`

var answers = map[string]string{
	"GET /admin/api/runs?limit=20":                                    `[` + job + `},{"job_id":"00000000-0000-4000-8000-000000000002","status":"error","route":"a\u001b[2J","source":"admin","summary":null,"created_at":"x"}]`,
	"GET /admin/api/runs?limit=5&offset=10&status=error&route=orders": `[]`,
	"GET /admin/api/runs/" + id + "/trace": `{"job":` + job + `,"input":"Where is order SO-1001?","result":{"text":"It is on its way."},"error":null},"trace":{"summary":{},"events":[` +
		`{"ts":"2026-03-10T12:00:00.000Z","event":"received","severity":"info","title":"Job accepted","summary":"llm · readonly"},` +
		`{"ts":"2026-03-10T12:00:03.000Z","event":"finished","severity":"warning","title":"Job finished","summary":""}]},"approvals":[]}`,
	"GET /admin/api/runs/" + id + "/deliveries": `{"items":[]}`,
	"POST /admin/api/runs/" + id + "/rerun":     `{"ok":true,"job_id":"` + id + `","status":"queued"}`,
	"POST /admin/pause":                         `{"paused":true}`, "POST /admin/resume": `{"paused":false}`,
	"GET /admin/api/status": `{"paused":false,"queue":{"running":1,"waiting":3,"truncated":true},"executors":[]}`,
	"GET /admin/api/config-audit?limit=20": `[{"ts":"2026-03-10T12:00:00.000Z","by":"ada","method":"POST","path":"routes"},` +
		`{"ts":"2026-03-10T11:00:00.000Z","by":"token","method":"GET","path":"clients/crm/token","event":"client_token_revealed"}]`,
	"GET /admin/api/config-audit?limit=1&offset=7": `[]`,
	"GET /admin/api/config-diagnostics": `[{"severity":"error","kind":"route","name":"orders","code":"credential_disabled","message":"the credential models is disabled","suggestion":"Enable it."},` +
		`{"severity":"warning","kind":"client","name":"crm","code":"route_missing","message":"it may use a route that does not exist","suggestion":""}]`,
}

func session(t *testing.T) (*clitest.Hub, *clitest.Session) {
	t.Helper()
	h, s := clitest.Start(t, answers), clitest.New(t, Commands()...)
	h.Use(s)
	return h, s
}

func TestWhatOperatorsSee(t *testing.T) {
	t.Parallel()
	_, s := session(t)
	for _, tc := range []struct {
		golden, args string
		code         int
	}{
		{"jobs.txt", "job list", 0}, {"jobs.json", "job list --json", 0}, {"job.txt", "job show " + id, 0},
		{"audit.txt", "audit", 0}, {"diagnose.txt", "diagnose", 1}, {"diagnose.json", "diagnose --json", 1},
	} {
		s.Want(tc.code, "", tc.args)
		s.Golden(tc.golden)
	}
	s.Env.Width = 60
	s.Want(0, "", "job list")
	s.Golden("jobs.60.txt")
	s.Want(0, "No jobs.", "job list --limit 5 --offset 10 --status error --route orders")
	s.Want(0, "No changes.", "audit --limit 1 --offset 7")
}

func TestStatusesOfOperation(t *testing.T) {
	t.Parallel()
	h, s := session(t)
	s.Want(0, "The hub is paused", "pause")
	s.Want(0, "accepts and runs jobs", "resume")
	s.Want(0, "running at "+h.URL+": at least 1 job running, 3 waiting", "status")
	h.Set("GET /admin/api/status", 200, `{"paused":true,"queue":{"running":0,"waiting":0}}`)
	s.Want(1, "paused at", "status")
	h.Set("GET /admin/api/config-diagnostics", 200, `[{"severity":"warning","kind":"hub","name":"hub","code":"x","message":"m","suggestion":""}]`)
	s.Want(0, "0 errors, 1 warning", "diagnose")
	s.Want(1, "0 errors, 1 warning", "diagnose --strict")
	h.Set("GET /admin/api/config-diagnostics", 200, `[]`)
	s.Want(0, "0 errors, 0 warnings", "diagnose --strict")
	h.Set("POST /admin/pause", 403, `{"error":"system:write is needed"}`)
	s.Want(2, "system:write is needed", "pause")
}

func TestRerunningAsksAndSaysWhyNot(t *testing.T) {
	t.Parallel()
	h, s := session(t)
	s.Want(2, "say --yes", "job rerun "+id)
	s.Answer("y")
	s.Want(0, "is queued again", "job rerun "+id)
	h.Set("POST /admin/api/runs/"+id+"/rerun", 409, `{"error":"tool_execution_reconciliation_required","message":"a side effect of this job has no known outcome"}`)
	s.Want(2, "reconciliation_required: a side effect", "job rerun --yes "+id)
	h.Set("POST /admin/api/runs/"+id+"/rerun", 400, `{"error":"the job is in flight"}`)
	s.Want(2, "the hub refused: the job is in flight", "job rerun --yes "+id)
	s.Want(2, "the hub has no job", "job show 00000000-0000-4000-8000-000000000009")
}

func TestArgumentsAreCheckedBeforeTheyTravel(t *testing.T) {
	t.Parallel()
	h, s := session(t)
	for _, tc := range []struct{ args, want string }{
		{"job show", "the id of one job"}, {"job show x", "is no id of a job"}, {"job rerun x --yes", "is no id of a job"}, {"job list x", "takes no arguments"},
		{"job list --limit 0", "--limit is at least 1"}, {"audit --offset -1", "--offset at least 0"}, {"pause now", "takes no arguments"},
		{"status --timeout 0s", "--timeout is more than 0"},
	} {
		s.Want(2, tc.want, tc.args)
	}
	if len(h.Asked()) > 0 {
		t.Errorf("%v", h.Asked())
	}
}
