package operate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"bailing/scripts/bailing/cli"
)

// event is an audit record as a trace shows it (core §11.7), with the members of its detail that a summary of a job is made of.
type event struct {
	TS       string `json:"ts"`
	Event    string `json:"event"`
	Stage    string `json:"stage"`
	Severity string `json:"severity"`
	Title    string `json:"title"`
	Summary  string `json:"summary"`
	Detail   struct {
		Model      string      `json:"model"`
		Round      int         `json:"round"`
		Calls      int         `json:"tool_calls"`
		Tokens     json.Number `json:"tokens"`
		DurationMS json.Number `json:"duration_ms"`
		Tool       string      `json:"tool"`
		Provider   string      `json:"provider"`
		Method     string      `json:"method"`
		Path       string      `json:"path"`
		Status     int         `json:"status"`
		State      string      `json:"governance_state"`
		Reason     string      `json:"reason"`
		Key        string      `json:"idempotency_key"`
		ApprovalID json.Number `json:"approval_id"`
	} `json:"-"`
}

// UnmarshalJSON leaves the detail out when it has another form than this command knows: the record stays in the timeline.
func (ev *event) UnmarshalJSON(b []byte) error {
	type plain event
	if err := json.Unmarshal(b, (*plain)(ev)); err != nil {
		return err
	}
	var outer struct {
		Detail json.RawMessage `json:"detail"`
	}
	if err := json.Unmarshal(b, &outer); err != nil {
		return err
	}
	detail := ev.Detail
	if len(outer.Detail) > 0 && json.Unmarshal(outer.Detail, &detail) == nil {
		ev.Detail = detail
	}
	return nil
}

// ticket is an approval of the job.
type ticket struct {
	ID        json.Number `json:"id"`
	Tool      string      `json:"tool"`
	Status    string      `json:"status"`
	DecidedBy string      `json:"decided_by"`
	DecidedAt string      `json:"decided_at"`
	UsedAt    string      `json:"used_at"`
	CreatedAt string      `json:"created_at"`
	ExpiresAt string      `json:"expires_at"`
}

// sending is a callback or delivery of the job.
type sending struct {
	Channel   string  `json:"channel"`
	Recipient string  `json:"recipient"`
	State     string  `json:"state"`
	Attempts  int     `json:"attempts"`
	Error     *string `json:"error"`
	NextAt    *string `json:"next_attempt_at"`
	UpdatedAt string  `json:"updated_at"`
}

// view is a job's timeline on a screen.
type view struct {
	e     *cli.Env
	width int
	start time.Time // of the job; zero when the hub does not say
}

// fitted is text on one line of at most room characters.
func fitted(text string, room int) string {
	text = strings.Join(strings.Fields(cli.Clean(text)), " ")
	if room = max(room, 10); utf8.RuneCountInString(text) <= room {
		return text
	}
	return strings.TrimRight(string([]rune(text)[:room-1]), " ") + "…"
}

// folded is text whose words have at most room characters: what has no spaces is broken anyway.
func folded(text string, room int) string {
	var words []string
	for _, word := range strings.Fields(text) {
		for r := []rune(word); len(r) > 0; {
			n := min(len(r), room)
			words, r = append(words, string(r[:n])), r[n:]
		}
	}
	return strings.Join(words, " ")
}

// since is how long after the job's launch something happened.
func (v *view) since(ts string) string {
	t, err := time.Parse(time.RFC3339Nano, ts)
	if err != nil || v.start.IsZero() {
		return "?"
	}
	d, sign := t.Sub(v.start), "+"
	if d < 0 {
		d, sign = -d, "-" // another machine's clock
	}
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%s%d.%03ds", sign, d/time.Second, d%time.Second/time.Millisecond)
	case d < time.Hour:
		return fmt.Sprintf("%s%dm%02ds", sign, d/time.Minute, d%time.Minute/time.Second)
	case d < 24*time.Hour:
		return fmt.Sprintf("%s%dh%02dm", sign, d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%s%dd%02dh", sign, d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}

// block prints a heading with lines of cells below it, aligned; nothing when there are none. The last cell is cut to the screen.
func (v *view) block(heading string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(v.e.Stdout, "\n%s\n", v.e.Style().Bold(heading))
	last := len(rows[0]) - 1
	widths := make([]int, last)
	for _, row := range rows {
		for i := range widths {
			row[i] = fitted(row[i], 40)
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	for _, row := range rows {
		line := "  "
		for i, w := range widths {
			line += row[i] + strings.Repeat(" ", w-utf8.RuneCountInString(row[i])+2)
		}
		fmt.Fprintln(v.e.Stdout, strings.TrimRight(line+fitted(row[last], v.width-utf8.RuneCountInString(line)), " "))
	}
}

// list joins what there is of parts.
func list(parts ...string) string {
	var some []string
	for _, p := range parts {
		if p != "" {
			some = append(some, p)
		}
	}
	return strings.Join(some, ", ")
}

// when is a format of a value that there is.
func when(value, format string) string {
	if value == "" || value == "0" {
		return ""
	}
	return fmt.Sprintf(format, value)
}

func (v *view) rounds(events []event) {
	var rows [][]string
	for _, ev := range events {
		if d := ev.Detail; ev.Event == "llm_request" && d.Round > 0 {
			rows = append(rows, []string{v.since(ev.TS), fmt.Sprint(d.Round), d.Model, list(
				cli.Count(d.Calls, "call"), when(d.Tokens.String(), "%s tokens"), when(d.DurationMS.String(), "%s ms"))})
		}
	}
	v.block("Rounds", rows)
}

// calls pairs each call with what came of it: of the calls of one tool, the earliest that is still open.
func (v *view) calls(events []event) {
	type call struct {
		at, tool, key, what, outcome string
		open                         bool
	}
	var calls []*call
	find := func(ev event) *call {
		for _, c := range calls {
			if c.open && c.tool == ev.Detail.Tool && c.key == ev.Detail.Key {
				c.open = false
				return c
			}
		}
		c := &call{at: v.since(ev.TS), tool: ev.Detail.Tool}
		calls = append(calls, c)
		return c
	}
	for _, ev := range events {
		d := ev.Detail
		switch ev.Event {
		case "tool_call":
			calls = append(calls, &call{
				at: v.since(ev.TS), tool: d.Tool, key: d.Key, open: true, outcome: "no outcome yet",
				what: list(strings.TrimSpace(d.Method+" "+d.Path), when(d.ApprovalID.String(), "approval %s")),
			})
		case "tool_result":
			find(ev).outcome = list(d.State, when(fmt.Sprint(d.Status), "status %s"), when(d.DurationMS.String(), "%s ms"), d.Reason)
		case "tool_reconciliation_required":
			find(ev).outcome = list("unknown outcome", d.Reason)
		case "tool_blocked":
			calls = append(calls, &call{at: v.since(ev.TS), tool: d.Tool, outcome: list("refused", d.Reason)})
		case "tool_call_deduped":
			calls = append(calls, &call{at: v.since(ev.TS), tool: d.Tool, outcome: "answered from the journal, not sent again"})
		}
	}
	var rows [][]string
	for _, c := range calls {
		rows = append(rows, []string{c.at, c.tool, list(c.outcome, c.what)})
	}
	v.block("Calls", rows)
}

func (v *view) approvals(tickets []ticket) {
	var rows [][]string
	for _, t := range tickets {
		decided := ""
		if t.DecidedAt != "" {
			decided = "decided " + v.since(t.DecidedAt)
			if t.DecidedBy != "" {
				decided += " by " + t.DecidedBy
			}
		}
		used := ""
		if t.UsedAt != "" {
			used = "used " + v.since(t.UsedAt)
		}
		expires := ""
		if t.Status == "pending" || t.Status == "approved" && used == "" {
			expires = "until " + at(t.ExpiresAt)
		}
		rows = append(rows, []string{v.since(t.CreatedAt), t.Tool, t.Status, list(decided, used, expires, "approval "+t.ID.String())})
	}
	v.block("Approvals", rows)
}

func (v *view) callbacks(all []sending) {
	var rows [][]string
	for _, s := range all {
		next := ""
		if s.NextAt != nil && *s.NextAt != "" {
			next = "next at " + at(*s.NextAt)
		}
		reason := ""
		if s.Error != nil {
			reason = *s.Error
		}
		rows = append(rows, []string{v.since(s.UpdatedAt), s.Channel, s.State, list(cli.Count(s.Attempts, "attempt"), next, reason, s.Recipient)})
	}
	v.block("Callbacks", rows)
}

// timeline is one line for each record, in the order of the hub.
func (v *view) timeline(events []event) {
	if len(events) == 0 {
		return
	}
	fmt.Fprintf(v.e.Stdout, "\n%s\n", v.e.Style().Bold("Timeline"))
	for _, ev := range events {
		mark := " "
		paint := func(s string) string { return s }
		switch ev.Severity {
		case "error":
			mark, paint = "x", v.e.Style().Red
		case "warning":
			mark, paint = "!", v.e.Style().Yellow
		}
		head := fmt.Sprintf("%9s %s %-9s  ", v.since(ev.TS), mark, fitted(ev.Stage, 10))
		text := joined(cmp.Or(ev.Title, ev.Event), ev.Summary)
		fmt.Fprintln(v.e.Stdout, head+paint(fitted(text, v.width-utf8.RuneCountInString(head))))
	}
}
