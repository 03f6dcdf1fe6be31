package operate

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"bailing/scripts/bailing/cli"
	"bailing/scripts/bailing/hub"
	"bailing/shared/textlimit"
)

// listedJob is a job as lists show it (core §10.3).
type listedJob struct {
	JobID     string `json:"job_id"`
	RequestID string `json:"request_id"`
	Status    string `json:"status"`
	Route     string `json:"route"`
	Source    string `json:"source"`
	Summary   string `json:"summary"`
	Preview   string `json:"input_preview"`
	CreatedAt string `json:"created_at"`
	UpdatedAt string `json:"updated_at"`
}

func jobListCommand() *cli.Command {
	return &cli.Command{
		Name: "list", Args: "",
		Short: "Lists the jobs of a hub, latest first.",
		Long:  "Exit status: 0 listed; 2 wrong usage or no answer.\n\n" + hub.Help,
		New: asking(0, "list takes no arguments", func(fs *flag.FlagSet) run {
			var p page
			p.declare(fs)
			status := fs.String("status", "", "only jobs with this `STATUS`, such as error")
			route := fs.String("route", "", "only jobs of the route `NAME`")
			return func(ctx context.Context, e *cli.Env, h *hub.Hub, _ []string, asJSON bool) error {
				query, err := p.query()
				if err != nil {
					return err
				}
				for _, filter := range [][2]string{{"status", *status}, {"route", *route}} {
					if filter[1] != "" {
						query += "&" + filter[0] + "=" + url.QueryEscape(filter[1])
					}
				}
				var all []listedJob
				a, err := h.Get(ctx, e, "/admin/api/runs"+query, "reading the jobs", &all)
				if err != nil || asJSON {
					return orJSON(e, a, err)
				}
				printJobs(e, all)
				return nil
			}
		}),
	}
}

func printJobs(e *cli.Env, all []listedJob) {
	if len(all) == 0 {
		fmt.Fprintln(e.Stdout, "No jobs.")
		return
	}
	t := cli.Table{Head: []string{"JOB", "STATUS", "ROUTE", "SOURCE", "LAUNCHED", "INPUT"}}
	// The input takes the room that is left.
	for room := 64; room >= 16; room -= 8 {
		t.Rows = nil
		for _, j := range all {
			t.Rows = append(t.Rows, []string{j.JobID, j.Status, j.Route, j.Source, at(j.CreatedAt), textlimit.Cut(j.Preview, room)})
		}
		if t.Fits(e.Width) {
			break
		}
	}
	t.PrintOrStack(e)
}

// jobName checks the id of a job.
func jobName(args []string) (string, error) {
	id, ok := textlimit.NormalizeUUID(args[0])
	if !ok {
		return "", cli.Usagef("%q is no id of a job", args[0])
	}
	return id, nil
}

const oneJob = "give the id of one job"

func jobShowCommand() *cli.Command {
	return &cli.Command{
		Name: "show", Args: "JOB",
		Short: "Shows a job: its input, what came of it, and everything that happened to it.",
		Long: `
Times are since the launch. Of the timeline a line with ! is a warning, and one with x an error. Long texts are cut; --json has them whole,
as far as they may be shown, and no callbacks.

Exit status: 0 shown; 2 wrong usage, no such job, or no answer.

` + hub.Help,
		New: asking(1, oneJob, func(*flag.FlagSet) run {
			return func(ctx context.Context, e *cli.Env, h *hub.Hub, args []string, asJSON bool) error {
				id, err := jobName(args)
				if err != nil {
					return err
				}
				var t trace
				a, err := h.Get(ctx, e, "/admin/api/runs/"+id+"/trace", "reading the job", &t)
				if err != nil {
					return unknownJob(a, id, err)
				}
				if asJSON {
					return e.JSON(a.Body)
				}
				var sent struct {
					Items []sending `json:"items"`
				}
				if _, err := h.Get(ctx, e, "/admin/api/runs/"+id+"/deliveries", "reading its callbacks", &sent); err != nil {
					return err
				}
				t.print(e, sent.Items)
				return nil
			}
		}),
	}
}

func unknownJob(a hub.Answer, id string, err error) error {
	if a.Status == http.StatusNotFound {
		return &cli.HintError{Err: fmt.Errorf("the hub has no job %s", id), Hint: "'bailing job list' shows the latest."}
	}
	return err
}

// trace is everything about one job.
type trace struct {
	Job struct {
		listedJob
		Input  json.RawMessage `json:"input"`
		Result json.RawMessage `json:"result"`
		Error  string          `json:"error"`
	} `json:"job"`
	Trace struct {
		Events []event `json:"events"`
	} `json:"trace"`
	Approvals []ticket `json:"approvals"`
}

// headMax is how much of an input, answer or error is shown, in characters.
const headMax = 400

func (t *trace) print(e *cli.Env, callbacks []sending) {
	v := view{e: e, width: e.TextWidth()}
	v.start, _ = time.Parse(time.RFC3339Nano, t.Job.CreatedAt)
	fmt.Fprintf(e.Stdout, "%s  %s\n", e.Style().Bold(cli.Clean(t.Job.JobID)), cli.Clean(t.Job.Status))
	for _, line := range [][2]string{
		{"route", t.Job.Route}, {"source", t.Job.Source}, {"request", t.Job.RequestID}, {"launched", at(t.Job.CreatedAt)},
		{"changed", at(t.Job.UpdatedAt)}, {"input", text(t.Job.Input)}, {"answer", answerText(t.Job.Result)}, {"error", t.Job.Error},
	} {
		if line[1] != "" {
			fmt.Fprintln(e.Stdout, cli.Hang(fmt.Sprintf("  %-10s", line[0]), folded(fitted(line[1], headMax), v.width-12), v.width))
		}
	}
	v.rounds(t.Trace.Events)
	v.calls(t.Trace.Events)
	v.approvals(t.Approvals)
	v.callbacks(callbacks)
	v.timeline(t.Trace.Events)
}

// joined is a title with what follows it, if anything.
func joined(title, summary string) string {
	if summary == "" {
		return title
	}
	return title + ": " + summary
}

// text is a JSON text, or other JSON as it is.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return string(raw)
	}
	return s
}

// answerText is the text of a result, or a result without one as it is.
func answerText(raw json.RawMessage) string {
	var r struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &r) == nil && r.Text != "" {
		return r.Text
	}
	if string(raw) == "null" {
		return ""
	}
	return string(raw)
}

func jobRerunCommand() *cli.Command {
	return &cli.Command{
		Name: "rerun", Args: "JOB",
		Short: "Queues a job that has ended again, under its own id.",
		Long: `
Calls with side effects that are on record are answered from it and not sent again. A job with a call whose outcome nobody knows ends
in the same way again, before a model is asked, until 'bailing reconcile close' says what became of it. It asks first on a terminal;
without one --yes is needed.

Exit status: 0 queued; 2 wrong usage, no such job, a hub that refused, or no answer.

` + hub.Help,
		New: asking(1, oneJob, func(fs *flag.FlagSet) run {
			yes := fs.Bool("yes", false, "do not ask")
			return func(ctx context.Context, e *cli.Env, h *hub.Hub, args []string, asJSON bool) error {
				id, err := jobName(args)
				if err != nil {
					return err
				}
				if !*yes {
					if err := e.Confirm(ctx, fmt.Sprintf("Run the job %s again at %s?", id, h.URL)); err != nil {
						return err
					}
				}
				a, err := h.Ask(ctx, e, http.MethodPost, "/admin/api/runs/"+id+"/rerun", nil, "queueing the job")
				if err != nil {
					return unknownJob(a, id, err)
				}
				if !a.OK() {
					return refused(a)
				}
				if asJSON {
					return e.JSON(a.Body)
				}
				fmt.Fprintf(e.Stdout, "The job %s is queued again.\n", id)
				return nil
			}
		}),
	}
}

// refused is the error of an answer whose `message` says more than its code.
func refused(a hub.Answer) error {
	var r struct {
		Message string `json:"message"`
	}
	if a.Into(&r) == nil && r.Message != "" {
		return fmt.Errorf("%s: %s", a.Reason(), r.Message)
	}
	return fmt.Errorf("the hub refused: %s", a.Reason())
}
