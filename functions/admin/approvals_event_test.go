package admin_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"bailing/functions/admin"
	"bailing/shared/contract/contracttest"
	jobs "bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/outbound"
)

// desk is the wired function over one hub, with its administrator logged in.
type desk struct {
	*jobtest.World
	t       *testing.T
	handler lambda.Handler
	client  string // token of the client that submits jobs
	said    strings.Builder
}

const (
	canary    = "4111-canary-1111"
	cardArgs  = `{"number":"` + canary + `","amount":12345678901234567000}`
	cardPay   = "card_pay"
	adminName = "root"
)

// newDesk has a tool that needs an approval, and a sensitive one that does.
func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{World: jobtest.New(t), t: t}
	d.Platform.Config.BootstrapUsername, d.Platform.Config.BootstrapPassword = adminName, "password of root"
	var err error
	if d.handler, err = admin.New(d.Platform); err != nil {
		t.Fatal(err)
	}
	d.client = d.Seed()
	d.SaveProvider(jobtest.ShopProvider(), jobtest.Spec(append(jobtest.ShopTools(), jobtest.Op{
		Name: cardPay, Method: "POST", Path: "/cards/pay", Scope: "cards.pay", Capability: `"risk":{"level":"high"},"audit":{"sensitive":true}`,
		Body: `{"type":"object","properties":{"number":{"type":"string"},"amount":{"type":"number"}}}`,
	})...))
	return d
}

func (d *desk) call(headers map[string][]string, method, path, body string) (int, string, string) {
	d.t.Helper()
	r := invoke(d.t, d.handler, "/v1", method, path, "192.0.2.1", body, headers)
	cookie, _, _ := strings.Cut(strings.Join(r.MultiValueHeaders["Set-Cookie"], "\n"), "; ")
	return r.StatusCode, r.Body, cookie
}

// session logs the administrator in.
func (d *desk) session() map[string][]string {
	d.t.Helper()
	_, _, cookie := d.call(nil, "POST", "/admin/login", `{"username":"root","password":"password of root"}`)
	return map[string][]string{"Cookie": {cookie}, "Origin": {"https://abc.execute-api.eu-central-1.amazonaws.com"}, "Content-Type": {"application/json"}}
}

// ask makes a call that must have this status; what it answers is kept.
func (d *desk) ask(as map[string][]string, method, path, body string, status int) string {
	d.t.Helper()
	got, answer, _ := d.call(as, method, path, body)
	if got != status {
		d.t.Fatalf("%s %s: %d %s", method, path, got, answer)
	}
	d.said.WriteString(answer)
	if route, ours := ticketRoute(path); ours {
		contracttest.Response(d.t, method, route, got, []byte(answer))
	}
	return answer
}

// ticketRoute is the route of a call about tickets.
func ticketRoute(path string) (route string, ours bool) {
	path, _, _ = strings.Cut(path, "?")
	below, ours := strings.CutPrefix(path, ticketsPath)
	if _, last, deep := strings.Cut(strings.TrimPrefix(below, "/"), "/"); deep {
		return ticketsPath + "/{id}/" + last, ours
	}
	if below != "" {
		return ticketsPath + "/{id}", ours
	}
	return ticketsPath, ours
}

// frozen runs a job whose model asks for one call, and returns job and ticket.
func (d *desk) frozen(requestID, tool, args string) (jobID string, ticket int64) {
	d.t.Helper()
	id := d.MustLaunch(d.client, jobtest.Submission(requestID)).JobID
	d.Model.Then(jobtest.Call(jobtest.Wish{Tool: tool, Args: args}), jobtest.Say("it waits for an approval"))
	d.Deliver()
	all, err := d.Store.JobTickets(d.t.Context(), id, 100)
	if err != nil || len(all) != 1 {
		d.t.Fatalf("tickets %+v: %v", all, err)
	}
	return id, all[0].ID
}

// The wired functions, from a call that is frozen to the one that is made: an administrator sees exactly what will run, decides once,
// and the approved call is made with those bytes.
func TestAnAdministratorApproves(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	me := d.session()
	id, ticket := d.frozen("r", "refund", `{"order":"SO-1001"}`)
	path := fmt.Sprintf("%s/%d", ticketsPath, ticket)
	var list []struct {
		ID       int64  `json:"id"`
		ArgsJSON string `json:"args_json"`
	}
	if err := json.Unmarshal([]byte(d.ask(me, "GET", ticketsPath, "", 200)), &list); err != nil || len(list) != 1 || list[0].ID != ticket || list[0].ArgsJSON != `{"order":"SO-1001"}` {
		t.Fatalf("%v: %+v", err, list)
	}
	if one := d.ask(me, "GET", path, "", 200); !strings.Contains(one, `"args":{"order":"SO-1001"}`) || !strings.Contains(one, `"status":"pending"`) {
		t.Error(one)
	}
	d.Clock.Advance(time.Second)
	if got, want := d.ask(me, "POST", path+"/approve", `{"comment":"fine"}`, 200), fmt.Sprintf(`{"ok":true,"id":%d,"status":"approved","rerun":true}`, ticket); strings.TrimSpace(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, verb := range []string{"/approve", "/deny"} {
		if again := d.ask(me, "POST", path+verb, "", 400); !strings.Contains(again, `"status":"approved"`) || !strings.Contains(again, `"decided_by":"root"`) {
			t.Error(again)
		}
	}
	if left := d.ask(me, "GET", ticketsPath, "", 200); strings.TrimSpace(left) != "[]" {
		t.Errorf("still pending: %s", left)
	}
	d.Model.Then(jobtest.Say("refunded"))
	d.Run(t.Context(), id)
	if j := d.Job(id); j.Status != jobs.Done || len(d.Business.Sent()) != 1 || string(d.Business.Sent()[0].Body) != `{"order":"SO-1001"}` {
		t.Errorf("job is %s: %s after %d calls", j.Status, j.Error, len(d.Business.Sent()))
	}
	for _, seen := range []string{d.ask(me, "GET", path, "", 200), d.ask(me, "GET", "/admin/api/runs/"+id+"/trace", "", 200)} {
		for _, s := range []string{`"status":"approved"`, `"decided_by":"root"`, `"decided_via":"console:root"`, `"comment":"fine"`, `"used_at":"`} {
			if !strings.Contains(seen, s) {
				t.Errorf("without %s: %s", s, seen)
			}
		}
	}
	if events := d.Events(id, "tool_approved"); len(events) != 1 || events[0].Detail["auth"] != "console:root" || events[0].Detail["by"] != "root" {
		t.Errorf("audit %+v", events)
	}
	ledger := d.ask(me, "GET", "/admin/api/config-audit", "", 200)
	if strings.Contains(ledger, "tool-approvals") {
		t.Errorf("a decision is no change of the configuration: %s", ledger)
	}
}

func TestAnAdministratorDenies(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	token := map[string][]string{"Authorization": {"Bearer " + jobtest.ServerToken}}
	id, ticket := d.frozen("r", "refund", `{"order":"SO-1001"}`)
	path := fmt.Sprintf("%s/%d", ticketsPath, ticket)
	if got, want := d.ask(token, "POST", path+"/deny", `{"by":"Jo"}`, 200), fmt.Sprintf(`{"ok":true,"id":%d,"status":"denied","rerun":false}`, ticket); strings.TrimSpace(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
	if seen := d.ask(token, "GET", ticketsPath+"?status=denied", "", 200); !strings.Contains(seen, `"decided_by":"token:Jo"`) || !strings.Contains(seen, `"decided_via":"admin-token"`) {
		t.Error(seen)
	}
	if j := d.Job(id); j.Status != jobs.Done || len(d.Business.Sent()) != 0 || len(j.Due) != 0 {
		t.Errorf("job is %s, %d calls, due %v", j.Status, len(d.Business.Sent()), j.Due)
	}
}

// After the deadline nobody decides, whoever wrote it down; and at the deadline it is past.
func TestNobodyDecidesAfterTheDeadline(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	token := map[string][]string{"Authorization": {"Bearer " + jobtest.ServerToken}}
	_, ticket := d.frozen("r", "refund", `{"order":"SO-1001"}`)
	row, err := d.Store.ReadTicketRow(t.Context(), ticket)
	if err != nil {
		t.Fatal(err)
	}
	d.Clock.Advance(row.ExpiresAt.Sub(d.Clock.Now()))
	path := fmt.Sprintf("%s/%d", ticketsPath, ticket)
	if left := d.ask(token, "GET", ticketsPath, "", 200); strings.TrimSpace(left) != "[]" {
		t.Errorf("still pending: %s", left)
	}
	for range 2 { // the first one writes it down
		if refused := d.ask(token, "POST", path+"/approve", "", 400); !strings.Contains(refused, `"status":"expired"`) {
			t.Error(refused)
		}
	}
	if seen := d.ask(token, "GET", ticketsPath+"?status=expired", "", 200); !strings.Contains(seen, `"status":"expired"`) || !strings.Contains(seen, `"ended_at"`) {
		t.Error(seen)
	}
}

// Of decisions at once one wins (I9); the others learn that they lost.
func TestOfDecisionsAtOnceOneWins(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	token := map[string][]string{"Authorization": {"Bearer " + jobtest.ServerToken}}
	for round := range 8 {
		id, ticket := d.frozen(fmt.Sprintf("r-%d", round), "refund", fmt.Sprintf(`{"order":"SO-%d"}`, round))
		var wg sync.WaitGroup
		codes := make([]int, 6)
		for i := range codes {
			verb := []string{"approve", "deny"}[i%2]
			wg.Go(func() {
				r := invoke(t, d.handler, "/v1", "POST", fmt.Sprintf("%s/%d/%s", ticketsPath, ticket, verb), "192.0.2.1", "", token)
				codes[i] = r.StatusCode
			})
		}
		wg.Wait()
		winner := -1
		for i, code := range codes {
			switch {
			case code == http.StatusOK && winner < 0:
				winner = i
			case code != http.StatusBadRequest && code != http.StatusConflict:
				t.Fatalf("round %d: %v", round, codes)
			}
		}
		if winner < 0 {
			t.Fatalf("round %d: %v", round, codes)
		}
		row, err := d.Store.ReadTicketRow(t.Context(), ticket)
		if err != nil || row.Ruling == nil || row.Ruling.Approved != (winner%2 == 0) || len(d.Job(id).Due) != map[bool]int{true: 1}[winner%2 == 0] {
			t.Fatalf("round %d: %v, %+v, winner %d", round, err, row, winner)
		}
	}
}

// I10: what a sensitive tool is called with is shown by the reveal alone, which is on record; the call is made with exactly that.
func TestTheArgumentsOfASensitiveToolShowInTheRevealOnly(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	me := d.session()
	id, ticket := d.frozen("r", cardPay, cardArgs)
	path := fmt.Sprintf("%s/%d", ticketsPath, ticket)
	if held, err := d.Store.HoldTicket(t.Context(), ticket, "canary of the wait", d.Clock.Now()); !held || err != nil { // nor does its token show
		t.Fatal(held, err)
	}
	looks := []string{
		ticketsPath, ticketsPath + "?status=all", path, "/admin/api/runs/" + id, "/admin/api/runs/" + id + "/trace", "/admin/api/runs/" + id + "/audit",
		"/admin/api/audit-export?job_id=" + id,
	}
	for _, look := range looks {
		d.ask(me, "GET", look, "", 200)
	}
	status, revealed, _ := d.call(me, "GET", path+"/intent", "")
	if status != 200 || !strings.Contains(revealed, `"args":`+cardArgs) {
		t.Errorf("%d %s", status, revealed)
	}
	contracttest.Response(t, "GET", ticketsPath+"/{id}/intent", status, []byte(revealed))
	if events := d.Events(id, "tool_intent_revealed"); len(events) != 1 || events[0].Detail["by"] != adminName {
		t.Errorf("audit %+v", events)
	}
	d.ask(me, "POST", path+"/approve", "", 200)
	d.Model.Then(jobtest.Say("paid"))
	d.Run(t.Context(), id)
	for _, look := range append(looks, ticketsPath+"?status=approved") {
		d.ask(me, "GET", look, "", 200)
	}
	if sent := d.Business.Sent(); len(sent) != 1 || string(sent[0].Body) != cardArgs {
		t.Errorf("sent %v", sent)
	}
	for place, text := range map[string]string{"an answer": d.said.String(), "the logs": d.Logs.String()} {
		if i := strings.Index(text, "canary"); i >= 0 {
			t.Errorf("in %s: …%q…", place, text[max(0, i-300):min(len(text), i+100)])
		}
	}
}

// A call that is approved while its job waits for a person is made by the rerun, and closing says so.
func TestAClosingTellsOfApprovedCalls(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	token := map[string][]string{"Authorization": {"Bearer " + jobtest.ServerToken}}
	id := d.MustLaunch(d.client, jobtest.Submission("r")).JobID
	d.Business.Answer(func(outbound.Request) (*outbound.Response, error) {
		return nil, &outbound.Error{Phase: outbound.PhaseHeaders, Connected: true, Sent: true, Timeout: true}
	})
	d.Model.Then(jobtest.Call(jobtest.Wish{Tool: "refund", Args: `{"order":"SO-1001"}`}, jobtest.Wish{Tool: "ticket_create", Args: `{"text":"a"}`}))
	d.Deliver()
	waiting, err := d.Store.JobTickets(t.Context(), id, 100)
	if err != nil || len(waiting) != 1 {
		t.Fatalf("%v, %+v", err, waiting)
	}
	ticket := waiting[0].ID
	if got := d.ask(token, "POST", fmt.Sprintf("%s/%d/approve", ticketsPath, ticket), "", 200); !strings.Contains(got, `"rerun":false`) {
		t.Error(got)
	}
	var open []struct {
		Key string  `json:"idempotency_key"`
		Due []int64 `json:"approvals_due"`
	}
	if err := json.Unmarshal([]byte(d.ask(token, "GET", reconcilePath, "", 200)), &open); err != nil || len(open) != 1 || len(open[0].Due) != 1 || open[0].Due[0] != ticket {
		t.Fatalf("%v, %+v", err, open)
	}
	call, due := fmt.Sprintf("%s/%s/%s", reconcilePath, id, open[0].Key), fmt.Sprintf(`"approvals_due":[%d]`, ticket)
	for range 2 {
		closed := d.ask(token, "POST", call+"/close", `{"outcome":"happened","reason":"looked","by":"Jo"}`, 200)
		if !strings.Contains(closed, due) || !strings.Contains(closed, `"by":"token:Jo"`) {
			t.Error(closed)
		}
	}
	sent := len(d.Business.Sent())
	d.Business.Respond(200, `{"ok":true}`)
	d.ask(token, "POST", "/admin/api/runs/"+id+"/rerun", "", 200)
	d.Model.Then(jobtest.Say("refunded"))
	d.Run(t.Context(), id)
	if j := d.Job(id); j.Status != jobs.Done || len(d.Business.Sent()) != sent+1 || len(j.Due) != 0 {
		t.Errorf("job is %s: %s after %d calls, due %v", j.Status, j.Error, len(d.Business.Sent()), j.Due)
	}
	if seen := d.ask(token, "GET", call, "", 200); strings.Contains(seen, "approvals_due") {
		t.Error(seen)
	}
}

// The largest arguments are shown whole, through the gateway, and sent as they were shown (I3).
func TestTheLargestArgumentsAreShownWhole(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	token := map[string][]string{"Authorization": {"Bearer " + jobtest.ServerToken}}
	const frame = `{"order":""}`
	args := `{"order":"` + strings.Repeat("<\\\"é", (1<<20-len(frame))/5) + `"}`
	args = strings.TrimSuffix(args, `"}`) + strings.Repeat("x", 1<<20-len(args)) + `"}`
	id, ticket := d.frozen("r", "refund", args)
	path := fmt.Sprintf("%s/%d", ticketsPath, ticket)
	one := d.ask(token, "GET", path, "", 200)
	if len(args) != 1<<20 || !strings.Contains(one, `"args":`+args) || !strings.Contains(one, `"args_bytes":1048576`) {
		t.Errorf("%d bytes of arguments, %d of the answer: %.900s", len(args), len(one), one)
	}
	if list := d.ask(token, "GET", ticketsPath, "", 200); !strings.Contains(list, `"args_omitted":"size"`) || len(list) > 4096 {
		t.Errorf("%.900s", list)
	}
	d.ask(token, "POST", path+"/approve", "", 200)
	d.Model.Then(jobtest.Say("refunded"))
	d.Run(t.Context(), id)
	if sent := d.Business.Sent(); len(sent) != 1 || string(sent[0].Body) != args {
		t.Errorf("%d calls", len(sent))
	}
}
