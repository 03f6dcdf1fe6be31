package operate

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// recorded is an audit record of the test job, some time after its launch.
func recorded(after time.Duration, event, stage, severity, title, summary, detail string) string {
	at := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC).Add(after)
	b, err := json.Marshal(map[string]any{
		"ts": at.Format("2006-01-02T15:04:05.000Z"), "event": event, "stage": stage, "severity": severity, "title": title, "summary": summary,
		"detail": json.RawMessage(detail),
	})
	if err != nil {
		panic(err) // a slip of this file
	}
	return string(b)
}

// eventful is the trace of a job to which everything happened that the timeline knows.
var eventful = `{"job":` + job + `,"input":"` + strings.Repeat("Refund order SO-1001, please. ", 30) + `","result":{"text":"` + strings.Repeat("x", 150) + `"},"error":null},` +
	`"trace":{"summary":{},"events":[` + strings.Join([]string{
	recorded(0, "received", "launch", "info", "Job accepted", "llm · readonly", `{}`),
	recorded(12*time.Millisecond, "started", "execution", "info", "Execution started", "", `{"worker":"w"}`),
	recorded(1234*time.Millisecond, "llm_request", "execution", "info", "Model answered", "demo · round 1 · 2 calls",
		`{"model":"demo","round":1,"tool_calls":2,"tokens":433,"duration_ms":1200}`),
	recorded(1250*time.Millisecond, "tool_call", "tool", "info", "Tool called", "order_get", `{"tool":"order_get","method":"GET","path":"/orders/{order_no}","idempotency_key":null}`),
	recorded(1260*time.Millisecond, "tool_result", "tool", "info", "Tool answered", "order_get · executed",
		`{"tool":"order_get","status":200,"duration_ms":10,"governance_state":"executed","idempotency_key":null}`),
	recorded(1300*time.Millisecond, "tool_approval_pending", "approval", "warning", "Tool call waits for approval", "refund · 7", `{"tool":"refund","approval_id":7}`),
	recorded(2*time.Second, "finished", "execution", "info", "Job finished", "done", `{}`),
	recorded(75*time.Minute, "tool_approved", "approval", "info", "", "refund · by ada", `{"approval_id":7}`),
	recorded(75*time.Minute+time.Second, "tool_call", "tool", "info", "Tool called", "refund",
		`{"tool":"refund","method":"POST","path":"/refunds","approval_id":7,"idempotency_key":"k1"}`),
	recorded(75*time.Minute+31*time.Second, "tool_reconciliation_required", "tool", "error", "Tool call without a trustworthy answer", "refund",
		`{"tool":"refund","idempotency_key":"k1","reason":"timeout"}`),
	recorded(76*time.Minute, "tool_blocked", "tool", "warning", "Tool call refused", "search · rate_limited", `{"tool":"search","reason":"rate_limited"}`),
	recorded(77*time.Minute, "tool_call_deduped", "tool", "info", "Tool call answered from the journal", "note", `{"tool":"note","status":201}`),
	recorded(26*time.Hour, "callback", "delivery", "warning", "Callback failed, to be tried again", "status 503 of a business that explains itself at great length", `{"ok":false}`),
	recorded(-3*time.Millisecond, "skewed", "system", "info", "From a\u001b[2J machine whose clock is behind", "", `[1]`),
}, ",") + `]},"approvals":[` +
	`{"id":7,"tool":"refund","status":"approved","decided_by":"ada","decided_at":"2026-03-10T13:15:00.000Z","used_at":"2026-03-10T13:15:01.000Z","created_at":"2026-03-10T12:00:01.300Z","expires_at":"2026-03-17T12:00:01.300Z"},` +
	`{"id":8,"tool":"pay","status":"pending","created_at":"2026-03-10T12:00:01.400Z","expires_at":"2026-03-17T12:00:01.400Z"}]}`

const sentCallbacks = `{"items":[{"channel":"callback","recipient":"https://crm.example/cb","state":"delivered","attempts":1,"error":null,"updated_at":"2026-03-10T12:00:02.500Z"},` +
	`{"channel":"callback","recipient":"https://crm.example/cb","state":"pending","attempts":2,"error":"status 503","next_attempt_at":"2026-03-11T14:10:00.000Z","updated_at":"2026-03-11T14:00:00.000Z"}]}`

func TestAJobIsShownAsATimeline(t *testing.T) {
	t.Parallel()
	h, s := session(t)
	h.Set("GET /admin/api/runs/"+id+"/trace", 200, eventful)
	h.Set("GET /admin/api/runs/"+id+"/deliveries", 200, sentCallbacks)
	for _, width := range []int{100, 60} {
		s.Env.Width = width
		s.Want(0, "Timeline", "job show "+id)
		s.Golden(fmt.Sprintf("timeline.%d.txt", width))
		for line := range strings.Lines(s.Stdout.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("%d columns: a line of %d: %s", width, n, line)
			}
		}
		if strings.Contains(s.Stdout.String(), "\x1b") {
			t.Error("a record steers the terminal")
		}
	}
	s.Env.Width, s.Env.Color = 100, true
	s.Want(0, "\x1b[31mTool call without a trustworthy answer", "job show "+id)
}

// A program reads the hub's own answer, and nothing else is asked for.
func TestAJobForProgramsIsTheTraceAsItCame(t *testing.T) {
	t.Parallel()
	h, s := session(t)
	h.Set("GET /admin/api/runs/"+id+"/trace", 200, eventful)
	s.Want(0, `"tool_reconciliation_required"`, "job show --json "+id)
	if asked := h.Asked(); len(asked) != 1 {
		t.Errorf("asked %v", asked)
	}
}

func TestTimesAreSinceTheLaunch(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	v := view{start: start}
	for after, want := range map[time.Duration]string{
		0: "+0.000s", 59_999 * time.Millisecond: "+59.999s", time.Minute: "+1m00s", time.Hour - time.Second: "+59m59s", time.Hour: "+1h00m",
		24*time.Hour - time.Minute: "+23h59m", 24 * time.Hour: "+1d00h", 400 * 24 * time.Hour: "+400d00h", -time.Second: "-1.000s",
	} {
		if got := v.since(start.Add(after).Format(time.RFC3339Nano)); got != want {
			t.Errorf("%v: %s, want %s", after, got, want)
		}
	}
	if got := v.since("yesterday"); got != "?" {
		t.Errorf("no time: %s", got)
	}
	if got := (&view{}).since(start.Format(time.RFC3339Nano)); got != "?" {
		t.Errorf("no launch: %s", got)
	}
}
