package operate

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"bailing/scripts/bailing/cli"
	"bailing/scripts/bailing/hub"
	"bailing/shared/textlimit"
)

// unknownCall is a call of unknown outcome, or one that was until a person closed it.
type unknownCall struct {
	JobID    string `json:"job_id"`
	Tool     string `json:"tool"`
	Scope    string `json:"scope"`
	Provider string `json:"provider"`
	State    string `json:"state"`
	UnderWay bool   `json:"under_way"`
	Key      string `json:"idempotency_key"`
	Since    string `json:"since"`
	Reason   string `json:"reason"`
	Evidence *struct {
		Phase     string `json:"phase"`
		Connected bool   `json:"connected"`
		Sent      bool   `json:"sent"`
		Status    int    `json:"status"`
	} `json:"evidence"`
	Closing *struct {
		Outcome string `json:"outcome"`
		Status  int    `json:"status"`
		Reason  string `json:"reason"`
		By      string `json:"by"`
		At      string `json:"at"`
	} `json:"closing"`
	Due []int64 `json:"approvals_due"` // tickets whose approved calls a rerun of the job makes
}

const reconcilePath = "/admin/api/reconciliations"

func reconcileListCommand() *cli.Command {
	return &cli.Command{
		Name: "list", Args: "",
		Short: "Lists the calls with side effects whose outcome nobody knows, latest first.",
		Long:  "Exit status: 0 listed; 2 wrong usage or no answer.\n\n" + hub.Help,
		New: asking(0, "list takes no arguments", func(*flag.FlagSet) run {
			return func(ctx context.Context, e *cli.Env, h *hub.Hub, _ []string, asJSON bool) error {
				a, err := h.AskList(ctx, e, reconcilePath, "reading the calls")
				if err != nil {
					return err
				}
				if !a.OK() {
					return refused(a)
				}
				if asJSON {
					return e.JSON(a.Body)
				}
				var all []unknownCall
				if err := a.Into(&all); err != nil {
					return err
				}
				if len(all) == 0 {
					fmt.Fprintln(e.Stdout, "No call waits for a person.")
					return nil
				}
				t := cli.Table{Head: []string{"SINCE", "TOOL", "REASON", "JOB", "KEY"}}
				for _, c := range all {
					t.Rows = append(t.Rows, []string{at(c.Since), c.Tool, c.Reason, c.JobID, c.Key})
				}
				t.PrintOrStack(e)
				return nil
			}
		}),
	}
}

const oneCall = "give the id of a job and the idempotency key of its call, as 'bailing reconcile list' shows them"

// callPath checks the names of a call.
func callPath(args []string) (string, error) {
	id, err := jobName(args)
	if err == nil && !textlimit.Hex64(args[1]) {
		err = cli.Usagef("%q is no idempotency key", args[1])
	}
	return reconcilePath + "/" + id + "/" + args[1], err
}

func reconcileShowCommand() *cli.Command {
	return &cli.Command{
		Name: "show", Args: "JOB KEY",
		Short: "Shows how far a call came, and how it was closed.",
		Long:  "Exit status: 0 shown; 2 wrong usage, no such call, or no answer.\n\n" + hub.Help,
		New: asking(2, oneCall, func(*flag.FlagSet) run {
			return func(ctx context.Context, e *cli.Env, h *hub.Hub, args []string, asJSON bool) error {
				path, err := callPath(args)
				if err != nil {
					return err
				}
				var c unknownCall
				a, err := h.Get(ctx, e, path, "reading the call", &c)
				if err != nil {
					return noCall(a, err)
				}
				if asJSON {
					return e.JSON(a.Body)
				}
				c.print(e)
				return nil
			}
		}),
	}
}

func noCall(a hub.Answer, err error) error {
	if a.Status == http.StatusNotFound {
		return &cli.HintError{Err: fmt.Errorf("the hub has no such call"), Hint: "'bailing reconcile list' shows those that wait for a person."}
	}
	return err
}

func (c *unknownCall) print(e *cli.Env) {
	state := c.State
	if c.UnderWay {
		state += ", the job still works on it"
	}
	fmt.Fprintf(e.Stdout, "%s  %s\n", e.Style().Bold(cli.Clean(c.Tool)), cli.Clean(state))
	for _, line := range [][2]string{
		{"job", c.JobID}, {"key", c.Key}, {"provider", c.Provider}, {"scope", c.Scope}, {"since", at(c.Since)}, {"reason", c.Reason},
		{"evidence", c.evidence()}, {"closed", c.closed()}, {"then", c.due()},
	} {
		if line[1] != "" {
			fmt.Fprintln(e.Stdout, cli.Hang(fmt.Sprintf("  %-10s", line[0]), line[1], e.TextWidth()))
		}
	}
}

// evidence says in words how far the request came.
func (c *unknownCall) evidence() string {
	v := c.Evidence
	switch {
	case v == nil:
		return "none: the worker was lost"
	case v.Status != 0:
		return fmt.Sprintf("an answer with status %d began, and is not to be trusted", v.Status)
	case v.Sent:
		return "the request may have left, and no answer came"
	case v.Connected:
		return "a connection was made, and nothing of the request left"
	}
	return "no connection was made"
}

func (c *unknownCall) closed() string {
	if c.Closing == nil {
		return ""
	}
	status := ""
	if c.Closing.Status != 0 {
		status = fmt.Sprintf(" with status %d", c.Closing.Status)
	}
	return fmt.Sprintf("%s%s, by %s at %s: %s", c.Closing.Outcome, status, c.Closing.By, at(c.Closing.At), c.Closing.Reason)
}

// due says what else a rerun of the job does.
func (c *unknownCall) due() string {
	if len(c.Due) == 0 {
		return ""
	}
	ids := make([]string, len(c.Due))
	for i, id := range c.Due {
		ids[i] = strconv.FormatInt(id, 10)
	}
	return fmt.Sprintf("a rerun ('bailing job rerun %s') makes what was approved meanwhile: %s", c.JobID, strings.Join(ids, ", "))
}

func reconcileCloseCommand() *cli.Command {
	return &cli.Command{
		Name: "close", Args: "JOB KEY",
		Short: "Closes a call with what you found in the business system.",
		Long: `
Look the key up in the business system first. Closing is final and sends nothing: when the job is run again ('bailing job rerun'), the
model reads what you found. The call is never sent again under this job. It asks first on a terminal; without one --yes is needed.

Exit status: 0 closed; 2 wrong usage, no such call, a hub that refused, or no answer.

` + hub.Help,
		New: asking(2, oneCall, func(fs *flag.FlagSet) run {
			outcome := fs.String("outcome", "", "what you found: `happened or not_happened`")
			status := fs.Int("status", 0, "the HTTP `STATUS` with which the business answered, when you know it")
			reason := fs.String("reason", "", "how you know it, in at most 1000 characters of `TEXT`; it is kept with your name")
			by := fs.String("by", "", "your `NAME`, when BAILING_SERVER_TOKEN is used and not a login")
			yes := fs.Bool("yes", false, "do not ask")
			return func(ctx context.Context, e *cli.Env, h *hub.Hub, args []string, asJSON bool) error {
				path, err := callPath(args)
				switch {
				case err != nil:
					return err
				case *outcome != "happened" && *outcome != "not_happened":
					return cli.Usagef("--outcome is happened or not_happened")
				case textlimit.Blank(*reason):
					return cli.Usagef("--reason is needed: how you know it")
				}
				if !*yes {
					if err := e.Confirm(ctx, fmt.Sprintf("Close this call as %s at %s? This is final.", *outcome, h.URL)); err != nil {
						return err
					}
				}
				body := map[string]any{"outcome": *outcome, "reason": *reason}
				if *status != 0 {
					body["status"] = *status
				}
				if *by != "" {
					body["by"] = *by
				}
				a, err := h.Ask(ctx, e, http.MethodPost, path+"/close", body, "closing the call")
				if err != nil || !a.OK() {
					if err == nil {
						err = refused(a)
					}
					return noCall(a, err)
				}
				if asJSON {
					return e.JSON(a.Body)
				}
				var c unknownCall
				if err := a.Into(&c); err != nil {
					return err
				}
				fmt.Fprintf(e.Stdout, "Closed: %s\n", cli.Clean(c.closed()))
				if due := c.due(); due != "" {
					fmt.Fprintln(e.Stdout, cli.Indent("Then "+due+".", "", e.TextWidth()))
				}
				return nil
			}
		}),
	}
}
