package start

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"time"

	"bailing/scripts/bailing/cli"
	"bailing/scripts/bailing/hub"
	"bailing/shared/clock"
)

// every is how often the job is looked at.
const every = 300 * time.Millisecond

// answered is the first job.
type answered struct {
	JobID  string `json:"job_id"`
	Status string `json:"status"`
	Error  string `json:"error"`
	Result struct {
		Text string `json:"text"`
	} `json:"result"`
}

// firstJob submits a job as the client, and waits for its end.
func (w *wizard) firstJob(ctx context.Context) (err error) {
	if w.input, err = w.ask(ctx, "input", w.input, "What the first job asks", "Say hello in one sentence."); err != nil {
		return err
	}
	random := make([]byte, 8)
	if _, err := rand.Read(random); err != nil {
		return err
	}
	metadata := map[string]any{}
	if w.subject != "" {
		metadata[w.subjectField] = w.subject
	}
	asClient := w.hub.WithToken(w.token)
	a, err := asClient.Ask(ctx, w.e, http.MethodPost, "/run", map[string]any{
		"request_id": "init-" + hex.EncodeToString(random), "route": w.route, "input": w.input, "metadata": metadata,
	}, "submitting the job")
	if err == nil && !a.OK() {
		err = errors.New(a.Reason())
	}
	if err != nil {
		return fmt.Errorf("the job was not accepted: %w", err)
	}
	if err := a.Into(&w.answer); err != nil {
		return err
	}
	if err := w.await(ctx, asClient); err != nil {
		return err
	}
	w.say("Job", "%s is %s.", w.answer.JobID, w.answer.Status)
	return nil
}

// await reads the job until it has ended, with a line of progress.
func (w *wizard) await(ctx context.Context, asClient *hub.Hub) error {
	id, began := w.answer.JobID, w.e.Clock.Now()
	for {
		a, err := asClient.Call(ctx, http.MethodGet, "/jobs/"+id, nil)
		if err != nil {
			return err
		}
		w.answer = answered{JobID: id}
		if err := a.Into(&w.answer); err != nil {
			return err
		}
		switch w.answer.Status {
		case "done", "error", "rejected":
			return nil
		}
		waited := w.e.Clock.Now().Sub(began)
		if waited > w.wait {
			return &cli.HintError{Err: fmt.Errorf("the job %s is still %s after %s", id, w.answer.Status, w.wait),
				Hint: "It goes on without this command: 'bailing job show " + id + "'."}
		}
		done := w.e.Progress("the job is %s, %s", w.answer.Status, waited.Round(time.Second))
		err = clock.Sleep(ctx, w.e.Clock, every)
		done()
		if err != nil {
			return err
		}
	}
}

// finish shows what came of it, and what to do next.
func (w *wizard) finish() error {
	var verdict error
	if w.answer.Status != "done" {
		verdict = cli.ErrNotFine
	}
	if w.flags.JSON {
		result := map[string]any{
			"url": w.hub.URL, "credential": w.credential, "provider": w.provider, "route": w.route, "client": w.client, "token": w.token,
			"job_id": w.answer.JobID, "status": w.answer.Status, "answer": w.answer.Result.Text, "error": w.answer.Error,
		}
		if w.made != "" {
			result["provider_secret"] = w.made
		}
		return errors.Join(w.e.JSON(result), verdict)
	}
	out, style, width := w.e.Stdout, w.e.Style(), w.e.TextWidth()
	fmt.Fprintln(out)
	if verdict != nil {
		fmt.Fprintln(out, cli.Hang(style.Red("The job failed: "), w.answer.Error, width))
		fmt.Fprintf(out, "See 'bailing job show %s' and 'bailing diagnose'.\n", w.answer.JobID)
		return verdict
	}
	fmt.Fprintln(out, style.Bold("Asked:  ")+cli.Clean(w.input))
	fmt.Fprintln(out, cli.Hang(style.Bold("Answer: "), w.answer.Result.Text, width))
	fmt.Fprintf(out, "\nThe token of the client %s, shown this once:\n  %s\n", w.client, cli.Clean(w.token))
	fmt.Fprintf(out, "\nAsk again as your system would:\n"+
		"  curl -s %s/run -H 'Authorization: Bearer TOKEN' -H 'Content-Type: application/json' \\\n"+
		"    -d '{\"request_id\":\"second-1\",\"route\":%q,\"input\":\"...\"}'\n", cli.Clean(w.hub.URL), w.route)
	return nil
}
