package operate

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"bailing/scripts/bailing/cli"
	"bailing/scripts/bailing/hub"
	"bailing/shared/textlimit"
)

// askedCall is a call that a person decides about, or did.
type askedCall struct {
	ID         int64  `json:"id"`
	JobID      string `json:"job_id"`
	RequestID  string `json:"request_id"`
	Route      string `json:"route_key"`
	Client     string `json:"client_app_id"`
	Provider   string `json:"provider"`
	Tool       string `json:"tool"`
	Scope      string `json:"scope"`
	Risk       string `json:"risk"`
	Reason     string `json:"reason"`
	Method     string `json:"method"`
	Path       string `json:"path"`
	Summary    string `json:"summary"`
	ArgsHash   string `json:"args_hash"`
	ArgsBytes  int    `json:"args_bytes"`
	Omitted    string `json:"args_omitted"`
	Redacted   bool   `json:"redacted"`
	For        string `json:"on_behalf_of"`
	Status     string `json:"status"`
	DecidedBy  string `json:"decided_by"`
	DecidedVia string `json:"decided_via"`
	DecidedAt  string `json:"decided_at"`
	Comment    string `json:"comment"`
	UsedAt     string `json:"used_at"`
	CreatedAt  string `json:"created_at"`
	ExpiresAt  string `json:"expires_at"`
	Intent     struct {
		Args    json.RawMessage `json:"args"`
		Summary string          `json:"summary"`
	} `json:"intent"`
}

const (
	approvalsPath = "/admin/api/tool-approvals"
	oneTicket     = "give the number of one ticket, as 'bailing approvals list' shows it"
)

func approvalsCommand() *cli.Command {
	return &cli.Command{
		Name: "approvals", Short: "Lists and shows the calls that wait for a person, and decides about them.",
		Sub: []*cli.Command{
			approvalsListCommand(), approvalsShowCommand(),
			decisionCommand("approve", "Lets the hub make a call, once and exactly as 'show' shows it.", `
The decision is final. The hub makes the call itself: a job that has ended is queued again for it, one that is under way makes it before it
ends. Nothing is asked; look with 'bailing approvals show ID' first.`),
			decisionCommand("deny", "Says that a call is not to be made.", `
The decision is final. Nothing runs, and the job keeps its answer. Nothing is asked.`),
		},
	}
}

func approvalsListCommand() *cli.Command {
	return &cli.Command{
		Name: "list", Args: "",
		Short: "Lists the calls that wait for a decision, latest first.",
		Long:  "Exit status: 0 listed; 2 wrong usage or no answer.\n\n" + hub.Help,
		New: asking(0, "list takes no arguments", func(fs *flag.FlagSet) run {
			status := fs.String("status", "pending", "`STATUS`: pending, approved, denied, expired or all")
			limit := fs.Int("limit", 50, "show at most `N`, and at most 200")
			return func(ctx context.Context, e *cli.Env, h *hub.Hub, _ []string, asJSON bool) error {
				switch *status {
				case "pending", "approved", "denied", "expired", "all":
				default:
					return cli.Usagef("--status is pending, approved, denied, expired or all")
				}
				if *limit < 1 {
					return cli.Usagef("--limit is at least 1")
				}
				var all []askedCall
				a, err := h.Get(ctx, e, fmt.Sprintf("%s?status=%s&limit=%d", approvalsPath, *status, *limit), "reading the tickets", &all)
				if err != nil || asJSON {
					return orJSON(e, a, err)
				}
				printTickets(e, all, *status)
				if a.Next() != "" {
					fmt.Fprintln(e.Stdout, "There are more; --limit shows up to 200.")
				}
				return nil
			}
		}),
	}
}

func printTickets(e *cli.Env, all []askedCall, status string) {
	if len(all) == 0 {
		if status == "pending" {
			fmt.Fprintln(e.Stdout, "No call waits for a decision.")
			return
		}
		fmt.Fprintln(e.Stdout, "No tickets.")
		return
	}
	t := cli.Table{Head: []string{"ID", "STATUS", "TOOL", "FOR", "ASKED", "DEADLINE", "SUMMARY"}}
	now := e.Clock.Now()
	// The summary takes the room that is left.
	for room := 64; room >= 16; room -= 8 {
		t.Rows = nil
		for _, c := range all {
			t.Rows = append(t.Rows, []string{
				strconv.FormatInt(c.ID, 10), c.state(), c.Tool, c.For, at(c.CreatedAt), c.deadline(now), textlimit.Cut(c.Summary, room),
			})
		}
		if t.Fits(e.Width) {
			break
		}
	}
	t.PrintOrStack(e)
}

// state is the status, and whether an approved call was made.
func (c *askedCall) state() string {
	if c.UsedAt != "" {
		return c.Status + ", used"
	}
	return c.Status
}

// deadline is how far off it is, "-" where it means nothing any more.
func (c *askedCall) deadline(now time.Time) string {
	t, err := time.Parse(time.RFC3339Nano, c.ExpiresAt)
	if err != nil || c.Status == "denied" || c.UsedAt != "" {
		return "-"
	}
	return relative(t.Sub(now))
}

// relative says a distance in time, with hours beside days and minutes beside hours: "in 6 days 23 hours", "3 minutes ago".
func relative(d time.Duration) string {
	ago := d < 0
	if ago {
		d = -d
	}
	text := cli.Count(int(d/time.Second), "second")
	for _, u := range []struct {
		length, less time.Duration
		name, beside string
	}{{24 * time.Hour, time.Hour, "day", "hour"}, {time.Hour, time.Minute, "hour", "minute"}, {time.Minute, 0, "minute", ""}} {
		if d < u.length {
			continue
		}
		text = cli.Count(int(d/u.length), u.name)
		if u.less > 0 && d%u.length >= u.less {
			text += " " + cli.Count(int(d%u.length/u.less), u.beside)
		}
		break
	}
	if ago {
		return text + " ago"
	}
	return "in " + text
}

// ticketPath checks the number of a ticket.
func ticketPath(args []string) (string, error) {
	if n, err := strconv.ParseInt(args[0], 10, 64); err != nil || n < 1 || strconv.FormatInt(n, 10) != args[0] {
		return "", cli.Usagef("%q is no number of a ticket", args[0])
	}
	return approvalsPath + "/" + args[0], nil
}

func noTicket(a hub.Answer, id string, err error) error {
	if a.Status == http.StatusNotFound {
		return &cli.HintError{Err: fmt.Errorf("the hub has no ticket %s", id), Hint: "'bailing approvals list' shows those that wait for a decision."}
	}
	return err
}

func approvalsShowCommand() *cli.Command {
	return &cli.Command{
		Name: "show", Args: "ID",
		Short: "Shows what would run and for whom, with its complete arguments.",
		Long: `
The arguments are as they will be sent: numbers digit by digit. Those of a sensitive tool are shown with --reveal only; the hub records
who looked. Who may read jobs and not decide sees them with personal data taken out.

Exit status: 0 shown; 2 wrong usage, no such ticket, or no answer.

` + hub.Help,
		New: asking(1, oneTicket, func(fs *flag.FlagSet) run {
			reveal := fs.Bool("reveal", false, "show what a sensitive tool is called with; the hub records that you looked")
			return func(ctx context.Context, e *cli.Env, h *hub.Hub, args []string, asJSON bool) error {
				path, err := ticketPath(args)
				if err != nil {
					return err
				}
				var c askedCall
				a, err := h.Get(ctx, e, path, "reading the ticket", &c)
				if err != nil {
					return noTicket(a, args[0], err)
				}
				if *reveal && c.Omitted == "sensitive" {
					if a, err = c.reveal(ctx, e, h, path, a); err != nil {
						return err
					}
				}
				if asJSON {
					return e.JSON(a.Body)
				}
				return c.print(e)
			}
		}),
	}
}

// reveal adds what was frozen to a ticket, and to the answer that it came with.
func (c *askedCall) reveal(ctx context.Context, e *cli.Env, h *hub.Hub, path string, a hub.Answer) (hub.Answer, error) {
	shown, err := h.Ask(ctx, e, http.MethodGet, path+"/intent", nil, "reading the arguments")
	if err != nil {
		return a, err
	}
	if !shown.OK() {
		return a, refused(shown)
	}
	whole := map[string]json.RawMessage{}
	if err := a.Into(&whole); err != nil {
		return a, err
	}
	delete(whole, "args_omitted")
	if err := shown.Into(&whole); err != nil {
		return a, err
	}
	if a.Body, err = json.Marshal(whole); err != nil {
		return a, err
	}
	c.Omitted = ""
	return a, a.Into(c)
}

// print writes a card: what will run comes last, whole.
func (c *askedCall) print(e *cli.Env) error {
	now := e.Clock.Now()
	fmt.Fprintf(e.Stdout, "%s  %s\n", e.Style().Bold(cli.Clean(c.Tool)), cli.Clean(c.state()))
	who := c.For
	if who == "" {
		who = "nobody in particular"
	}
	summary := c.Summary
	if summary == "" {
		summary = c.Intent.Summary
	}
	for _, line := range [][2]string{
		{"ticket", strconv.FormatInt(c.ID, 10)}, {"runs", c.Method + " " + c.Path + " of " + c.Provider}, {"for", who},
		{"scope", c.Scope}, {"risk", c.Risk}, {"why", c.Reason}, {"summary", summary}, {"job", c.JobID},
		{"request", c.RequestID}, {"route", c.Route}, {"client", c.Client}, {"asked", moment(c.CreatedAt, now)}, {"deadline", moment(c.ExpiresAt, now)},
		{"decided", c.decision()}, {"made", made(c.UsedAt)}, {"hash", c.ArgsHash},
	} {
		if line[1] != "" {
			fmt.Fprintln(e.Stdout, cli.Hang(fmt.Sprintf("  %-10s", line[0]), line[1], e.TextWidth()))
		}
	}
	return c.printArgs(e)
}

// printArgs writes the arguments, a member a line and nothing cut or wrapped. Numbers are as the hub has them.
func (c *askedCall) printArgs(e *cli.Env) error {
	size := cli.Count(c.ArgsBytes, "byte")
	switch {
	case c.Omitted == "sensitive":
		fmt.Fprintln(e.Stdout, cli.Hang("  arguments ", size+", not shown: the tool is sensitive. --reveal shows them, and the hub records who looked.", e.TextWidth()))
		return nil
	case len(c.Intent.Args) == 0:
		fmt.Fprintln(e.Stdout, cli.Hang("  arguments ", size+", which the hub's answer has no room for.", e.TextWidth()))
		return nil
	}
	note := size
	if c.Redacted {
		note += ", with personal data taken out: you may read jobs and not decide"
	}
	fmt.Fprintln(e.Stdout, cli.Hang("  arguments ", note, e.TextWidth()))
	var b bytes.Buffer
	if err := json.Indent(&b, c.Intent.Args, "", "  "); err != nil {
		return fmt.Errorf("the hub's answer has another form than this command knows: %w", err)
	}
	for line := range strings.Lines(b.String()) {
		fmt.Fprintln(e.Stdout, "    "+cli.Clean(strings.TrimSuffix(line, "\n")))
	}
	return nil
}

// moment is a time, and how far off it is.
func moment(text string, now time.Time) string {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return "-"
	}
	return at(text) + ", " + relative(t.Sub(now))
}

func made(usedAt string) string {
	if usedAt == "" {
		return ""
	}
	return at(usedAt)
}

func (c *askedCall) decision() string {
	if c.DecidedBy == "" {
		return ""
	}
	text := fmt.Sprintf("%s by %s (%s) at %s", c.Status, c.DecidedBy, c.DecidedVia, at(c.DecidedAt))
	if c.Status == "expired" { // approved, and never used
		text = fmt.Sprintf("approved by %s (%s) at %s, and not used in time", c.DecidedBy, c.DecidedVia, at(c.DecidedAt))
	}
	return joined(text, c.Comment)
}

func decisionCommand(verb, short, long string) *cli.Command {
	return &cli.Command{
		Name: verb, Args: "ID",
		Short: short,
		Long:  long + "\n\nExit status: 0 decided; 2 wrong usage, no such ticket, one that was decided or has expired, or no answer.\n\n" + hub.Help,
		New: asking(1, oneTicket, func(fs *flag.FlagSet) run {
			comment := fs.String("comment", "", "why, in at most 1000 characters of `TEXT`; it is kept with your name")
			by := fs.String("by", "", "your `NAME`, when BAILING_SERVER_TOKEN is used and not a login")
			return func(ctx context.Context, e *cli.Env, h *hub.Hub, args []string, asJSON bool) error {
				path, err := ticketPath(args)
				if err != nil {
					return err
				}
				body := map[string]string{}
				if *comment != "" {
					body["comment"] = *comment
				}
				if *by != "" {
					body["by"] = *by
				}
				a, err := h.Ask(ctx, e, http.MethodPost, path+"/"+verb, body, "deciding")
				if err != nil {
					return noTicket(a, args[0], err)
				}
				if !a.OK() {
					return notDecided(a, args[0])
				}
				if asJSON {
					return e.JSON(a.Body)
				}
				return printDecided(e, a, args[0])
			}
		}),
	}
}

// printDecided says what happens next.
func printDecided(e *cli.Env, a hub.Answer, id string) error {
	var d struct {
		Status string `json:"status"`
		Rerun  bool   `json:"rerun"`
	}
	if err := a.Into(&d); err != nil {
		return err
	}
	next := "Denied. The call is not made; the job keeps its answer."
	switch {
	case d.Status == "approved" && d.Rerun:
		next = "Approved. The job was queued again, and makes exactly this call."
	case d.Status == "approved":
		next = "Approved. The job was not queued again: it is under way and makes the call before it ends, or waits for 'bailing reconcile close' " +
			"and a rerun. 'bailing approvals show " + id + "' says when the call was made."
	}
	fmt.Fprintln(e.Stdout, cli.Indent(next, "", e.TextWidth()))
	return nil
}

// notDecided is the error of a decision that was not taken.
func notDecided(a hub.Answer, id string) error {
	var r struct {
		Status    string `json:"status"`
		DecidedBy string `json:"decided_by"`
		DecidedAt string `json:"decided_at"`
		ExpiresAt string `json:"expires_at"`
	}
	err := refused(a)
	if a.Into(&r) != nil {
		return err
	}
	switch {
	case r.Status == "expired":
		return &cli.HintError{Err: fmt.Errorf("the ticket %s expired at %s; nobody can decide it any more", id, at(r.ExpiresAt)),
			Hint: "When its job is run again ('bailing job rerun JOB'), the call can be asked for anew, under another ticket."}
	case r.DecidedBy != "":
		return &cli.HintError{Err: fmt.Errorf("the ticket %s was %s before, by %s at %s", id, r.Status, r.DecidedBy, at(r.DecidedAt)),
			Hint: "A decision is final. 'bailing approvals show " + id + "' shows it."}
	}
	return err
}
