package admin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"bailing/functions/admin"
	"bailing/shared/approval"
	"bailing/shared/clock"
	jobs "bailing/shared/job"
	"bailing/shared/permission"
	"bailing/shared/registry/registrytest"
)

// tickets answers as told and remembers what it was asked.
type tickets struct {
	mu      sync.Mutex
	pages   []approval.Page // in turn; none is an empty last page
	all     map[int64]approval.Ticket
	events  []jobs.Event
	decided approval.Decided
	refusal error
	err     error
	noteErr error
	asked   []any
}

func (a *tickets) ListTickets(_ context.Context, state approval.State, limit int, after jobs.Cursor) (approval.Page, error) {
	a.asked = append(a.asked, state, limit, after)
	if a.err != nil || len(a.pages) == 0 {
		return approval.Page{}, a.err
	}
	page := a.pages[0]
	a.pages = a.pages[1:]
	return page, nil
}

func (a *tickets) ReadTicket(_ context.Context, id int64) (*approval.Ticket, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t, ok := a.all[id]
	if !ok || a.err != nil {
		return nil, a.err
	}
	return &t, nil
}

func (a *tickets) ReadTicketRow(ctx context.Context, id int64) (*approval.Ticket, error) {
	t, err := a.ReadTicket(ctx, id)
	if t != nil {
		t.Intent, t.Sealed = nil, ""
	}
	return t, err
}

func (a *tickets) AddEvent(_ context.Context, jobID string, ev jobs.Event) error {
	if a.noteErr == nil && jobID == job {
		a.events = append(a.events, ev)
	}
	return a.noteErr
}

// Decide is Decisions.
func (a *tickets) Decide(_ context.Context, t *approval.Ticket, r approval.Ruling) (approval.Decided, error) {
	a.asked = append(a.asked, t.ID, r)
	return a.decided, a.refusal
}

// add gives the store a ticket and puts it on the only page.
func (a *tickets) add(t approval.Ticket) {
	a.all[t.ID] = t
	if len(a.pages) == 0 {
		a.pages = []approval.Page{{}}
	}
	t.Intent, t.Sealed = nil, ""
	a.pages[0].Tickets = append(a.pages[0].Tickets, t)
}

func setupTickets(t *testing.T) (*hub, *tickets) {
	t.Helper()
	a := &tickets{all: map[int64]approval.Ticket{}}
	return setup(t, func(d *admin.Deps) {
		d.Approvals, d.Decisions, d.Secrets, d.Clock = a, a, registrytest.Sealer{}, clock.NewManual(now)
	}), a
}

const (
	ticketsPath = "/admin/api/tool-approvals"
	payHash     = "d78b5ffaaffb767837892624b038bcf384f43f24f36f5e17fda400200da8fd3f"
)

// intentOf is what a ticket freezes for a call with these arguments; the other members are those of aTicket.
func intentOf(args, metadata string) string {
	return `{"kind":"tool_approval_intent","schema_version":"bailing.approval-intent.v1","job_id":"` + job + `","request_id":"req-1","route_key":"ref_tools",` +
		`"route_name":"Route ref_tools","source":"ref-app","subject":"u@crm.example","subject_field":"operator_uid","provider":"ref-biz","tool":"pay",` +
		`"scope":"ref.pay.write","risk":"high","policy":"risk_high","reason":"risk=high","method":"POST","path":"/pay","args":` + args +
		`,"args_hash":"` + payHash + `","summary":"Pay 50 to bob@crm.example?","metadata":` + metadata + `}`
}

const payArgs = `{"to":"bob@crm.example","amount":12345678901234567890.50}`

// aTicket is the pending one of the recorded exchange approval-admin-list, with an address and a number that a float would change.
func aTicket(id int64) approval.Ticket {
	return approval.Ticket{
		ID: id, State: approval.Pending, JobID: job, RequestID: "req-1", RouteKey: "ref_tools", Owner: "ref-app", Provider: "ref-biz", Tool: "pay",
		Scope: "ref.pay.write", Method: "POST", Path: "/pay", Risk: "high", Policy: "risk_high", Reason: "risk=high", Summary: "Pay 50 to bob@crm.example?",
		Subject: "u@crm.example", ArgsHash: payHash, ArgsBytes: len(payArgs), CreatedAt: now, ExpiresAt: now.Add(time.Hour),
		Intent: []byte(intentOf(payArgs, `{"operator_uid":"u_42"}`)),
	}
}

// sensitive makes t one of a sensitive tool.
func sensitive(t *testing.T, a approval.Ticket) approval.Ticket {
	t.Helper()
	var err error
	a.Sealed, err = registrytest.Sealer{}.Seal(t.Context(), a.Intent, approval.SealedPlace(a.ID))
	if err != nil {
		t.Fatal(err)
	}
	a.Intent, a.Summary = nil, ""
	return a
}

// The parts of a ticket's row around what it froze, and after the status.
const (
	ticketHead = `"job_id":"` + job + `","request_id":"req-1","route_key":"ref_tools","client_app_id":"ref-app","provider":"ref-biz","tool":"pay",
		"scope":"ref.pay.write","risk":"high","policy":"risk_high","reason":"risk=high","method":"POST","path":"/pay","args_hash":"` + payHash + `",`
	ticketTail    = `"created_at":"2026-11-30T15:52:48.906Z","expires_at":"2026-11-30T16:52:48.906Z"`
	ticketExact   = `"summary":"Pay 50 to bob@crm.example?","on_behalf_of":"u@crm.example",`
	ticketDisplay = `"summary":"Pay 50 to [REDACTED_EMAIL]?","on_behalf_of":"[REDACTED_EMAIL]","redacted":true,`
)

func quoted(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

// The members are those of the recorded exchange approval-admin-list (D36).
func TestApprovalsAreListedInTheRecordedShape(t *testing.T) {
	t.Parallel()
	h, a := setupTickets(t)
	a.add(aTicket(9))
	intent := string(aTicket(9).Intent)
	w := h.admin("GET", ticketsPath, "")
	want(t, w, 200, `[{"id":9,`+ticketHead+ticketExact+ticketTail+`,"status":"pending","args_bytes":`+strconv.Itoa(len(payArgs))+`,
		"args_json":`+quoted(payArgs)+`,"intent_json":`+quoted(intent)+`,"intent":`+intent+`}]`)
	if !strings.Contains(w.Body.String(), `"args":`+payArgs) {
		t.Errorf("the arguments are not as they were frozen: %s", w.Body)
	}
	last := 0
	for _, member := range []string{
		"id", "job_id", "request_id", "provider", "tool", "scope", "risk", "policy", "reason", "method", "path", "summary", "args_json", "args_hash",
		"intent_json", "intent", "on_behalf_of", "status", "created_at",
	} { // as they were recorded
		at := strings.Index(w.Body.String(), `"`+member+`":`)
		if at <= last {
			t.Errorf("%s stands at %d, behind %d", member, at, last)
		}
		last = at
	}
	if expected := []any{approval.Pending, 50, jobs.Cursor("")}; !reflect.DeepEqual(a.asked, expected) || w.Header().Get("Link") != "" {
		t.Errorf("asked %v, link %s", a.asked, w.Header().Get("Link"))
	}
}

func TestWhatBecameOfATicket(t *testing.T) {
	t.Parallel()
	h, a := setupTickets(t)
	used := aTicket(9)
	used.State, used.UsedAt = approval.Approved, now.Add(time.Second)
	used.Ruling = &approval.Ruling{
		Approved: true, DecisionID: "dec-1", By: "u_manager", Comment: "ask jo@crm.example", SaidAt: "x", Auth: "client:ref-app", At: now,
	}
	ended := aTicket(8)
	ended.State, ended.EndAt, ended.Owner, ended.Subject, ended.Summary, ended.ArgsBytes = approval.Expired, now, "", "", "", 8193
	a.add(used)
	a.add(ended)
	want(t, h.admin("GET", ticketsPath+"?status=all", ""), 200, `[{"id":9,`+ticketHead+ticketExact+ticketTail+`,"status":"approved",
		"decided_by":"u_manager","decided_via":"client:ref-app","decided_at":"2026-11-30T15:52:48.906Z","decision_id":"dec-1","comment":"ask [REDACTED_EMAIL]",
		"used_at":"2026-11-30T15:52:49.906Z"},
		{"id":8,`+strings.Replace(ticketHead, `"ref-app"`, `null`, 1)+ticketTail+`,"status":"expired","ended_at":"2026-11-30T15:52:48.906Z",
		"args_bytes":8193,"args_omitted":"size"}]`, "*.args_json", "*.intent_json", "*.intent", "*.args_bytes")
}

func TestApprovalsAreListedByState(t *testing.T) {
	t.Parallel()
	const cursor = "001796053968906.4503599627370495"
	for query, expected := range map[string][]any{
		"":                  {approval.Pending, 50, jobs.Cursor("")},
		"?status=":          {approval.Pending, 50, jobs.Cursor("")},
		"?status=pending":   {approval.Pending, 50, jobs.Cursor("")},
		"?status=approved":  {approval.Approved, 50, jobs.Cursor("")},
		"?status=denied":    {approval.Denied, 50, jobs.Cursor("")},
		"?status=expired":   {approval.Expired, 50, jobs.Cursor("")},
		"?status=all":       {approval.State(""), 50, jobs.Cursor("")},
		"?limit=1":          {approval.Pending, 1, jobs.Cursor("")},
		"?limit=200":        {approval.Pending, 200, jobs.Cursor("")},
		"?limit=201":        {approval.Pending, 200, jobs.Cursor("")},
		"?cursor=" + cursor: {approval.Pending, 50, jobs.Cursor(cursor)},
	} {
		h, a := setupTickets(t)
		if want(t, h.admin("GET", ticketsPath+query, ""), 200, `[]`); !reflect.DeepEqual(a.asked, expected) {
			t.Errorf("%s: asked %v", query, a.asked)
		}
	}
	for query, message := range map[string]string{
		"?status=used": "status must be pending, approved, denied, expired or all", "?status=Pending": "status must be pending, approved, denied, expired or all",
		"?limit=0": "limit must be a positive integer", "?limit=x": "limit must be a positive integer",
		"?cursor=x": "cursor must be one that the Link header gave", "?cursor=001796053968906.": "cursor must be one that the Link header gave",
		"?cursor=1.1": "cursor must be one that the Link header gave", "?cursor=001796053968906.45035996273704951": "cursor must be one that the Link header gave",
	} {
		h, a := setupTickets(t)
		if want(t, h.admin("GET", ticketsPath+query, ""), 400, `{"error":"`+message+`"}`); len(a.asked) != 0 {
			t.Errorf("%s: asked %v", query, a.asked)
		}
	}
	h, a := setupTickets(t)
	a.err = errors.New("canary")
	want(t, h.admin("GET", ticketsPath, ""), 500, `{"error":"internal_error"}`)
}

// Nobody has to write a deadline down before it counts.
func TestATicketPastItsDeadlineIsNotPending(t *testing.T) {
	t.Parallel()
	late, due := aTicket(9), aTicket(8)
	late.ExpiresAt, due.ExpiresAt = now, now.Add(time.Millisecond)
	for query, status := range map[string]string{"": "8 pending", "?status=all": "9 expired, 8 pending"} {
		h, a := setupTickets(t)
		a.add(late)
		a.add(due)
		if got := statuses(t, h.admin("GET", ticketsPath+query, "")); got != status {
			t.Errorf("%s: %s", query, got)
		}
	}
	h, a := setupTickets(t)
	unused := aTicket(7)
	unused.State, unused.ExpiresAt = approval.Approved, now
	a.all[7] = unused
	if w := h.admin("GET", ticketsPath+"/7", ""); w.Code != 200 || !strings.Contains(w.Body.String(), `"status":"expired"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// statuses are the numbers and states of a list.
func statuses(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	var rows []struct {
		ID     int64
		Status string
	}
	if err := json.Unmarshal(w.Body.Bytes(), &rows); err != nil || w.Code != 200 {
		t.Fatalf("%v: %d %s", err, w.Code, w.Body)
	}
	var out []string
	for _, r := range rows {
		out = append(out, fmt.Sprintf("%d %s", r.ID, r.Status))
	}
	return strings.Join(out, ", ")
}

// A page of which nothing is left does not end the list, and no page but the last is empty.
func TestPagesOfWhichNothingIsLeftArePassedOver(t *testing.T) {
	t.Parallel()
	h, a := setupTickets(t)
	late := aTicket(9)
	late.ExpiresAt = now
	a.add(aTicket(8))
	const first, second = "001796053968906.9", "001796053968906.8"
	a.pages = []approval.Page{{Tickets: []approval.Ticket{late}, Next: first}, {Tickets: a.pages[0].Tickets, Next: second}}
	w := h.admin("GET", ticketsPath+"?limit=1", "")
	if got := statuses(t, w); got != "8 pending" || w.Header().Get("Link") != `<?cursor=`+second+`&limit=1>; rel="next"` {
		t.Errorf("%s, link %s", got, w.Header().Get("Link"))
	}
	if expected := []any{approval.Pending, 1, jobs.Cursor(""), approval.Pending, 1, jobs.Cursor(first)}; !reflect.DeepEqual(a.asked, expected) {
		t.Errorf("asked %v", a.asked)
	}
}

// Arguments up to 8192 bytes are in lists; larger ones are in the ticket itself, whole (D31).
func TestLargeArgumentsAreInTheTicketItself(t *testing.T) {
	t.Parallel()
	for size, listed := range map[int]bool{8192: true, 8193: false, 1 << 20: false} {
		h, a := setupTickets(t)
		big := aTicket(9)
		args := `{"text":"` + strings.Repeat("x", size-len(`{"text":""}`)) + `"}`
		big.ArgsBytes, big.Intent = size, []byte(intentOf(args, `{}`))
		a.add(big)
		list, one := h.admin("GET", ticketsPath, "").Body.String(), h.admin("GET", ticketsPath+"/9", "").Body.String()
		if strings.Contains(list, args) != listed || strings.Contains(list, `"args_omitted":"size"`) == listed || strings.Contains(list, "args_json") != listed {
			t.Errorf("%d bytes: listed %.300s", size, list)
		}
		if !strings.Contains(one, `"args":`+args) || strings.Contains(one, "args_omitted") || strings.Contains(one, "args_json") != listed {
			t.Errorf("%d bytes: %.300s", size, one)
		}
	}
}

// The arguments of a page stay within an answer, whatever they are; the rows are all there.
func TestAPageOfTicketsFitsIntoAnAnswer(t *testing.T) {
	t.Parallel()
	h, a := setupTickets(t)
	args := `{"text":"` + strings.Repeat(`\"`, 4000) + `"}`
	for id := range int64(200) {
		full := aTicket(id + 1)
		full.ArgsBytes, full.Intent = len(args), []byte(intentOf(args, `{}`))
		a.add(full)
	}
	body := h.admin("GET", ticketsPath+"?limit=200", "").Body.String()
	omitted, shown := strings.Count(body, `"args_omitted":"size"`), strings.Count(body, `"args_json":`)
	if len(body) > 4<<20+4096 || omitted+shown != 200 || omitted == 0 || shown < 50 {
		t.Errorf("%d bytes, %d with arguments, %d without", len(body), shown, omitted)
	}
}

func TestATicketIsRead(t *testing.T) {
	t.Parallel()
	h, a := setupTickets(t)
	a.add(aTicket(9))
	a.add(aTicket(approval.MaxID))
	if one, list := h.admin("GET", ticketsPath+"/9", ""), h.admin("GET", ticketsPath, ""); !strings.HasPrefix(list.Body.String(), "["+one.Body.String()+",") {
		t.Errorf("%s is not in %s", one.Body, list.Body)
	}
	if w := h.admin("GET", fmt.Sprintf("%s/%d", ticketsPath, int64(approval.MaxID)), ""); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for _, id := range []string{"8", "0", "-9", "09", "+9", "9.0", "x", "4503599627370496", "99999999999999999999"} {
		for _, call := range []string{"GET /" + id, "GET /" + id + "/intent", "POST /" + id + "/approve", "POST /" + id + "/deny"} {
			method, path, _ := strings.Cut(call, " ")
			want(t, h.admin(method, ticketsPath+path, ""), 404, `{"error":"not found"}`)
		}
	}
}

// Who may decide sees exactly what will run. Who may only read sees it after the display rules, as everything of a job.
func TestReadersSeeTicketsAfterTheDisplayRules(t *testing.T) {
	t.Parallel()
	h, a := setupTickets(t)
	decided := aTicket(9)
	decided.Ruling = &approval.Ruling{By: "boss@crm.example", Comment: "ask jo@crm.example", Auth: "signed-business", At: now}
	a.add(decided)
	a.pages = append(a.pages, a.pages...)
	h.account(t, "vera", "viewer")
	h.account(t, "ruth", "viewer", permission.RunsRead, permission.RunsWrite)
	vera, ruth := h.enter(t, "vera"), h.enter(t, "ruth")
	for _, path := range []string{ticketsPath, ticketsPath + "/9"} {
		reader, decider := h.send("GET", path, "", "Cookie", vera).Body.String(), h.send("GET", path, "", "Cookie", ruth).Body.String()
		if strings.Contains(reader, "@crm.example") || !strings.Contains(reader, `"redacted":true`) || !strings.Contains(reader, "12345678901234567890.50") {
			t.Errorf("%s: a reader sees %s", path, reader)
		}
		if !strings.Contains(decider, `"args":`+payArgs) || !strings.Contains(decider, `"decided_by":"boss@crm.example"`) ||
			strings.Contains(decider, "jo@crm.example") || strings.Contains(decider, "redacted\"") {
			t.Errorf("%s: a decider sees %s", path, decider)
		}
	}
	want(t, h.send("GET", ticketsPath+"/9", "", "Cookie", vera), 200, `{"id":9,`+ticketHead+ticketDisplay+ticketTail+`,"status":"pending"}`,
		"args_json", "intent_json", "intent", "args_bytes", "decided_by", "decided_at", "decided_via", "comment")
	for _, call := range []string{"GET /9/intent", "POST /9/approve", "POST /9/deny"} {
		method, path, _ := strings.Cut(call, " ")
		want(t, h.send(method, ticketsPath+path, "", "Cookie", vera, "Origin", ours), 403, `{"error":"this call needs the permission runs:write"}`)
	}
	if len(a.events) > 0 {
		t.Errorf("on record: %+v", a.events)
	}
}

// Nothing but the reveal shows what a sensitive tool is called with, and that leaves a record first (I10).
func TestSensitiveIntentsAreRevealedAndThatIsOnRecord(t *testing.T) {
	t.Parallel()
	h, a := setupTickets(t)
	hidden := sensitive(t, aTicket(9))
	a.add(hidden)
	for _, path := range []string{ticketsPath, ticketsPath + "/9"} {
		w := h.admin("GET", path, "")
		for _, s := range []string{"bob@", "12345678901234567890", "Pay 50", `"intent`, `"args_json`, hidden.Sealed} {
			if strings.Contains(w.Body.String(), s) {
				t.Errorf("%s shows %s: %s", path, s, w.Body)
			}
		}
		if !strings.Contains(w.Body.String(), `"args_omitted":"sensitive"`) {
			t.Errorf("%s: %s", path, w.Body)
		}
	}
	if len(a.events) > 0 {
		t.Errorf("on record: %+v", a.events)
	}
	h.account(t, "ruth", "viewer", permission.RunsWrite)
	intent := string(aTicket(9).Intent)
	w := h.send("GET", ticketsPath+"/9/intent", "", "Cookie", h.enter(t, "ruth"))
	want(t, w, 200, `{"id":9,"args_hash":"`+payHash+`","args_bytes":`+strconv.Itoa(len(payArgs))+`,"args_json":`+quoted(payArgs)+`,
		"intent_json":`+quoted(intent)+`,"intent":`+intent+`}`)
	if len(a.events) != 1 {
		t.Fatalf("on record: %+v", a.events)
	}
	ev := a.events[0]
	if ev.Name != "tool_intent_revealed" || ev.Stage != jobs.StageApproval || ev.Detail["by"] != "ruth" || ev.Detail["approval_id"] != int64(9) ||
		strings.Contains(fmt.Sprint(ev), "bob@") {
		t.Errorf("%+v", ev)
	}
	a.noteErr = errors.New("canary: the ledger is away")
	want(t, h.admin("GET", ticketsPath+"/9/intent", ""), 500, `{"error":"internal_error"}`)
	a.noteErr = nil
	a.all[9] = func() approval.Ticket { moved := hidden; moved.ID = 8; return moved }()
	if w := h.admin("GET", ticketsPath+"/9/intent", ""); w.Code != 500 || strings.Contains(w.Body.String(), "bob@") || len(a.events) != 1 {
		t.Errorf("what was sealed for another ticket: %d %s", w.Code, w.Body)
	}
	a.all[7] = aTicket(7) // no secret, but the same call
	if w := h.admin("GET", ticketsPath+"/7/intent", ""); w.Code != 200 || !strings.Contains(w.Body.String(), `"args":`+payArgs) || len(a.events) != 2 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
