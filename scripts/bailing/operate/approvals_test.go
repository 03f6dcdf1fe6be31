package operate

import (
	"strings"
	"testing"
	"time"

	"bailing/scripts/bailing/clitest"
	"bailing/shared/clock"
)

const (
	ticketHead = `{"id":4503599627370495,"job_id":"` + id + `","request_id":"crm:1","route_key":"orders","client_app_id":"crm","provider":"shop","tool":"refund",` +
		`"scope":"shop.refund","risk":"high","policy":"risk_high","reason":"risk=high","method":"POST","path":"/refunds","args_hash":"d78b5ffaaffb767837892624b038bcf384f43f24f36f5e17fda400200da8fd3f",` +
		`"args_bytes":64,"created_at":"2026-03-10T12:00:00.000Z","expires_at":"2026-03-17T12:00:00.000Z",`
	waiting = ticketHead + `"status":"pending","on_behalf_of":"u_42","summary":"Refund SO-1001?",` +
		`"intent":{"args":{"order":"SO-1001","amount":12345678901234567890.50,"lines":[{"sku":"a\u001b[2J"},{"sku":"b"}],"note":"","more":{}},"summary":"Refund SO-1001?"}}`
	usedUp = ticketHead + `"status":"approved","decided_by":"ada\u001b[2J","decided_via":"console:ada","decided_at":"2026-03-10T12:30:00.000Z","comment":"fine",` +
		`"used_at":"2026-03-10T12:30:01.000Z","intent":{"args":{}}}`
	secret    = ticketHead + `"status":"pending","args_omitted":"sensitive"}`
	revealed  = `{"id":4503599627370495,"args_hash":"h","args_bytes":64,"args_json":"{}","intent":{"args":{"card":"4111"},"summary":"Pay with 4111?"}}`
	tickets   = "/admin/api/tool-approvals"
	oneOfThem = tickets + "/4503599627370495"
)

// atNoon is a session an hour after the tickets were made.
func atNoon(t *testing.T) (*clitest.Hub, *clitest.Session) {
	t.Helper()
	h, s := session(t)
	s.Env.Clock = clock.NewManual(time.Date(2026, 3, 10, 13, 0, 0, 0, time.UTC))
	h.Set("GET "+tickets+"?status=pending&limit=50", 200, `[`+waiting+`,`+secret+`]`)
	h.Set("GET "+oneOfThem, 200, waiting)
	return h, s
}

func TestWhatWaitsForADecision(t *testing.T) {
	t.Parallel()
	h, s := atNoon(t)
	for _, tc := range []struct{ golden, args string }{
		{"approvals.txt", "approvals list"}, {"approvals.json", "approvals list --json"},
		{"approval.txt", "approvals show 4503599627370495"}, {"approval.json", "approvals show 4503599627370495 --json"},
	} {
		s.Want(0, "", tc.args)
		s.Golden(tc.golden)
	}
	s.Env.Width = 60
	s.Want(0, "", "approvals list")
	s.Golden("approvals.60.txt")
	s.Env.Width = 120
	h.Set("GET "+tickets+"?status=pending&limit=50", 200, `[]`)
	s.Want(0, "No call waits for a decision.", "approvals list")
	h.Set("GET "+tickets+"?status=all&limit=1", 200, `[`+usedUp+`]`)
	s.Want(0, "approved, used", "approvals list --status all --limit 1")
	h.Set("GET "+tickets+"?status=denied&limit=50", 200, `[]`)
	s.Want(0, "No tickets.", "approvals list --status denied")
	h.Set("GET "+oneOfThem, 200, usedUp)
	s.Want(0, "", "approvals show 4503599627370495")
	s.Golden("approval.used.txt")
	h.Set("GET "+oneOfThem, 200, strings.Replace(waiting, `"status":"pending"`, `"status":"pending","redacted":true`, 1))
	s.Want(0, "personal data taken out", "approvals show 4503599627370495")
	h.Set("GET "+oneOfThem, 200, ticketHead+`"status":"pending","args_omitted":"size"}`)
	s.Want(0, "no room for", "approvals show 4503599627370495")
	h.Set("GET "+oneOfThem, 200, ticketHead+`"status":"expired","decided_by":"ada","decided_via":"admin-token","decided_at":"2026-03-10T12:30:00.000Z"}`)
	s.Want(0, "approved by ada (admin-token) at 2026-03-10 12:30:00Z, and not used in time", "approvals show 4503599627370495")
	s.Want(2, "the hub has no ticket 7", "approvals show 7")
}

func TestSensitiveArgumentsAreShownWhenAskedFor(t *testing.T) {
	t.Parallel()
	h, s := atNoon(t)
	h.Set("GET "+oneOfThem, 200, secret)
	h.Set("GET "+oneOfThem+"/intent", 200, revealed)
	s.Want(0, "--reveal shows them, and the hub records who looked", "approvals show 4503599627370495")
	for _, a := range h.Asked() {
		if strings.HasSuffix(a.Call, "/intent") {
			t.Error("revealed unasked")
		}
	}
	s.Want(0, `"card": "4111"`, "approvals show 4503599627370495 --reveal")
	s.Want(0, "Pay with 4111?", "approvals show 4503599627370495 --reveal")
	s.Want(0, `"args_json": "{}"`, "approvals show 4503599627370495 --reveal --json")
	h.Set("GET "+oneOfThem+"/intent", 403, `{"error":"this call needs the permission runs:write"}`)
	s.Want(2, "runs:write", "approvals show 4503599627370495 --reveal")
}

func TestDecidingSaysWhatHappensNext(t *testing.T) {
	t.Parallel()
	h, s := atNoon(t)
	const approve, deny = "approvals approve 4503599627370495", "approvals deny 4503599627370495"
	h.Set("POST "+oneOfThem+"/approve", 200, `{"ok":true,"id":4503599627370495,"status":"approved","rerun":true}`)
	s.Want(0, "Approved. The job was queued again, and makes exactly this call.", approve+" --comment fine")
	if sent := h.Last(t, "POST "+oneOfThem+"/approve"); len(sent) != 1 || sent["comment"] != "fine" {
		t.Errorf("sent %v", sent)
	}
	s.Want(0, `"rerun": true`, approve+" --json --by Jo")
	if sent := h.Last(t, "POST "+oneOfThem+"/approve"); len(sent) != 1 || sent["by"] != "Jo" {
		t.Errorf("sent %v", sent)
	}
	h.Set("POST "+oneOfThem+"/approve", 200, `{"ok":true,"id":4503599627370495,"status":"approved","rerun":false}`)
	s.Want(0, "Approved. The job was not queued again", approve)
	h.Set("POST "+oneOfThem+"/deny", 200, `{"ok":true,"id":4503599627370495,"status":"denied","rerun":false}`)
	s.Want(0, "Denied. The call is not made", deny)

	const ruled = `"status":"denied","expires_at":"2026-03-17T12:00:00.000Z","decided_by":"ada","decided_at":"2026-03-10T12:30:00.000Z"}`
	for _, status := range []int{400, 409} {
		h.Set("POST "+oneOfThem+"/approve", status, `{"error":"e",`+ruled)
		s.Want(2, "the ticket 4503599627370495 was denied before, by ada at 2026-03-10 12:30:00Z", approve)
	}
	h.Set("POST "+oneOfThem+"/approve", 400, `{"error":"e","status":"expired","expires_at":"2026-03-10T12:30:00.000Z"}`)
	s.Want(2, "expired at 2026-03-10 12:30:00Z; nobody can decide it any more", approve)
	s.Want(2, "bailing job rerun", approve)
	h.Set("POST "+oneOfThem+"/approve", 409, `{"error":"the job is moving; try again"}`)
	s.Want(2, "the hub refused: the job is moving; try again", approve)
	h.Set("POST "+oneOfThem+"/approve", 403, `{"error":"this call needs the permission runs:write"}`)
	s.Want(2, "runs:write", approve)
	s.Want(2, "the hub has no ticket 7", "approvals deny 7")
}

func TestDecisionsAreCheckedBeforeTheyTravel(t *testing.T) {
	t.Parallel()
	h, s := atNoon(t)
	for _, tc := range []struct{ args, want string }{
		{"approvals list x", "takes no arguments"}, {"approvals list --status used", "--status is pending, approved, denied, expired or all"},
		{"approvals list --limit 0", "--limit is at least 1"}, {"approvals show", "the number of one ticket"}, {"approvals show 1 2", "the number of one ticket"},
		{"approvals show x", "is no number of a ticket"}, {"approvals show 07", "is no number of a ticket"}, {"approvals approve 0", "is no number of a ticket"},
		{"approvals deny 1/../2", "is no number of a ticket"}, {"approvals approve", "the number of one ticket"},
	} {
		s.Want(2, tc.want, tc.args)
	}
	if len(h.Asked()) > 0 {
		t.Errorf("%v", h.Asked())
	}
	for _, command := range []string{"approvals", "approvals list", "approvals show", "approvals approve", "approvals deny"} {
		s.Want(0, "Usage", command+" --help")
	}
}

func TestDistancesInTime(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		0: "in 0 seconds", time.Second: "in 1 second", 59 * time.Second: "in 59 seconds", time.Minute: "in 1 minute", time.Hour - 1: "in 59 minutes",
		time.Hour: "in 1 hour", 24*time.Hour - 1: "in 23 hours 59 minutes", 24 * time.Hour: "in 1 day", 7 * 24 * time.Hour: "in 7 days", -time.Second: "1 second ago", -90 * time.Minute: "1 hour 30 minutes ago",
		7*24*time.Hour - 1: "in 6 days 23 hours", 24*time.Hour + 59*time.Minute: "in 1 day", 61 * time.Second: "in 1 minute",
	} {
		if got := relative(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}
