package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"time"

	"bailing/scripts/demo/business"
	"bailing/scripts/local/stack"
	"bailing/scripts/runtimeapi"
)

const patience = 60 * time.Second

func main() {
	timeout := flag.Duration("timeout", patience, "how long to wait for the job")
	bootstraps := flag.String("bootstraps", "", "run the functions as the programs `DIR`/<function>/bootstrap, as Lambda does")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, *timeout)
	defer cancel()
	var logs bytes.Buffer
	o := stack.Options{Addr: "127.0.0.1:0", Demo: true, Output: &logs}
	if *bootstraps != "" {
		o.Build = runtimeapi.Host{Dir: *bootstraps}.Start
	}
	if err := run(ctx, o, os.Stdout); err != nil {
		_, _ = logs.WriteTo(os.Stderr)
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// checks counts what the demo proves.
type checks struct{ passed, total int }

func (c *checks) note(w io.Writer, ok bool, what string) {
	c.total++
	verdict := "FAIL"
	if ok {
		c.passed++
		verdict = "ok"
	}
	fmt.Fprintf(w, "%-4s %s\n", verdict, what)
}

// What the business system asks for. The first job is a script of the demo model, since it takes two rounds.
const (
	askTwice = `[[tool order_get {"order_no":"SO-1001"}]][[round]]` +
		`[[tool ticket_create {"subject":"Parcel SO-1001 is late","body":"The customer asks where it is.","order_no":"SO-1001"}]]`
	askRefund = "Refund SO-1001 25.00"
	askBroken = "Break the report"
)

// show is what a run of the demo works with.
type show struct {
	w     io.Writer
	s     *stack.Stack
	hub   client
	admin client
	checks
}

func run(ctx context.Context, o stack.Options, w io.Writer) (err error) {
	fmt.Fprintln(w, "starting a hub, an order system and a scripted model ...")
	s, err := stack.Start(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	d := &show{w: w, s: s, hub: client{url: s.URL, token: s.Demo.ClientToken}, admin: client{url: s.URL, token: s.ServerToken}}
	for _, step := range []func(context.Context) error{d.provider, d.lookupAndTicket, d.signatures, d.refund, d.failure, d.callback} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	fmt.Fprintf(w, "\ndemo: %d/%d passed\n", d.passed, d.total)
	if d.passed != d.total {
		return errors.New("not everything passed")
	}
	return nil
}

// lookupAndTicket is one job that reads and then writes.
func (d *show) lookupAndTicket(ctx context.Context) error {
	fmt.Fprintf(d.w, "\n1. The business system submits a job to %s/run, on behalf of u_42: look an order up, open a ticket\n", d.s.URL)
	id, job, err := d.submit(ctx, "demo-1", askTwice)
	if err != nil {
		return err
	}
	verified := d.s.Demo.Business.Verified()
	fmt.Fprintln(d.w, "   The order system received and verified")
	for _, c := range verified {
		printCall(d.w, c)
	}
	fmt.Fprintf(d.w, "   The answer (%s): %s\n   The job's timeline\n", job.Status, job.Result.Text)
	if _, err := d.timeline(ctx, id); err != nil {
		return err
	}
	d.note(d.w, job.Status == "done" && len(verified) == 2 && verified[0].Operation == "order_get" &&
		verified[1].Operation == "ticket_create" && verified[1].IdempotencyKey != "" && verified[1].Subject == "u_42",
		"one job looked an order up and opened a ticket, once")
	return nil
}

// refund is a call that needs a person: it freezes, the business is asked, approves, and the hub makes it, once.
func (d *show) refund(ctx context.Context) error {
	shop := d.s.Demo.Business
	fmt.Fprintf(d.w, "\n3. A second job: %q\n", askRefund)
	id, job, err := d.submit(ctx, "demo-2", askRefund)
	if err != nil {
		return err
	}
	fmt.Fprintf(d.w, "   The answer (%s): %s\n", job.Status, job.Result.Text)
	frozen := job.Status == "done" && d.refunds() == 0
	if err := until(ctx, "an approval request", func() (bool, error) { return len(shop.Questions()) > 0, nil }); err != nil {
		return err
	}
	q := shop.Questions()[0]
	fmt.Fprintf(d.w, "   The order system is asked, signed: approval %d, %s %s %s because %s\n", q.ApprovalID, q.Method, q.Path, q.Args, q.Reason)
	first, err := shop.Decide(ctx, d.s.URL, q, "decision-1", "approved", "ann")
	if err != nil {
		return err
	}
	again, err := shop.Decide(ctx, d.s.URL, q, "decision-1", "approved", "ann")
	if err != nil {
		return err
	}
	fmt.Fprintf(d.w, "   Ann approves there: %d %s, job queued again: %v; said twice, it counts once: %v\n", first.Status, first.State, first.Rerun, again.Idempotent)
	if err := until(ctx, "the second end of the job", func() (bool, error) { return d.callbacksOf(id) == 2, nil }); err != nil {
		return err
	}
	if job, err = wait(ctx, d.hub, id); err != nil {
		return err
	}
	fmt.Fprintf(d.w, "   The answer (%s): %s\n   The job's timeline\n", job.Status, job.Result.Text)
	events, err := d.timeline(ctx, id)
	if err != nil {
		return err
	}
	used := slices.ContainsFunc(events, func(e event) bool { return e.Event == "approval_taken_up" })
	d.note(d.w, frozen && first.State == "approved" && first.Rerun && again.Idempotent && !again.Rerun && used && d.refunds() == 1,
		"the refund froze, the business approved it, and exactly that call was made, once; both ends were called back")
	return nil
}

// refunds counts the refunds that the order system was asked for.
func (d *show) refunds() (n int) {
	for _, c := range d.s.Demo.Business.Verified() {
		if c.Operation == "refund_create" {
			n++
		}
	}
	return n
}

// callbacksOf counts the ends of a job that the order system was told of.
func (d *show) callbacksOf(jobID string) int {
	ends := map[string]bool{}
	for _, c := range d.s.Demo.Business.Callbacks() {
		var body struct {
			JobID string `json:"job_id"`
		}
		if json.Unmarshal([]byte(c.Body), &body) == nil && body.JobID == jobID {
			ends[c.WebhookID] = true
		}
	}
	return len(ends)
}

// until waits for something to happen.
func until(ctx context.Context, what string, happened func() (bool, error)) error {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if ok, err := happened(); ok || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s did not come: %w", what, ctx.Err())
		}
	}
}

// failure is a business system that breaks.
func (d *show) failure(ctx context.Context) error {
	fmt.Fprintf(d.w, "\n4. A third job: %q\n", askBroken)
	job, events, err := d.play(ctx, "demo-3", askBroken)
	if err != nil {
		return err
	}
	d.note(d.w, job.Status == "done" && slices.ContainsFunc(events, func(e event) bool { return e.Event == "tool_result" && e.Status == 500 }),
		"the failing business left a job that says so, with the call on record")
	return nil
}

// callback waits for what the hub sends to the business when jobs end: the refund's ended twice.
func (d *show) callback(ctx context.Context) error {
	fmt.Fprintln(d.w, "\n5. The order system waits for the callbacks of the three jobs")
	shop := d.s.Demo.Business
	if err := until(ctx, "the last callback", func() (bool, error) { return len(shop.Callbacks()) >= 4, nil }); err != nil {
		return err
	}
	good := true
	for _, c := range shop.Callbacks() {
		var body struct {
			JobID  string `json:"job_id"`
			Status string `json:"status"`
		}
		if err := json.Unmarshal([]byte(c.Body), &body); err != nil {
			return err
		}
		fmt.Fprintf(d.w, "   %s is %s, webhook-id %s\n", body.JobID, body.Status, c.WebhookID)
		good = good && body.Status == "done" && c.WebhookID != ""
	}
	verified, rejected := len(shop.Verified()), shop.Rejected()
	fmt.Fprintf(d.w, "   In the end it verified %d calls and rejected %d\n", verified, rejected)
	d.note(d.w, good && verified == 4 && rejected == 0, "signed callbacks arrived, both signatures of each are right, and so was every other one")
	return nil
}

// signatures looks at what the order system made of everything that it received so far.
func (d *show) signatures(context.Context) error {
	verified, rejected := d.s.Demo.Business.Verified(), d.s.Demo.Business.Rejected()
	fmt.Fprintf(d.w, "\n2. The order system verified %d calls and rejected %d\n", len(verified), rejected)
	d.note(d.w, len(verified) == 2 && rejected == 0, "the business verified every signature")
	return nil
}

// play runs a job, and shows its answer and its timeline.
func (d *show) play(ctx context.Context, requestID, input string) (jobView, []event, error) {
	id, job, err := d.submit(ctx, requestID, input)
	if err != nil {
		return job, nil, err
	}
	fmt.Fprintf(d.w, "   The answer (%s): %s\n", job.Status, job.Result.Text)
	events, err := d.timeline(ctx, id)
	return job, events, err
}

// submit sends a job and waits for its end.
func (d *show) submit(ctx context.Context, requestID, input string) (string, jobView, error) {
	var accepted struct {
		JobID  string `json:"job_id"`
		Status string `json:"status"`
	}
	err := d.hub.call(ctx, http.MethodPost, "/run", map[string]any{
		"request_id": requestID, "route": stack.DemoRoute, "input": input, "metadata": map[string]any{"operator_uid": "u_42"},
		"callback_url": d.s.Demo.BusinessURL + business.CallbackPath,
	}, http.StatusAccepted, &accepted)
	if err != nil {
		return "", jobView{}, err
	}
	fmt.Fprintf(d.w, "   202: job %s is %s\n", accepted.JobID, accepted.Status)
	job, err := wait(ctx, d.hub, accepted.JobID)
	return accepted.JobID, job, err
}

type jobView struct {
	Status string `json:"status"`
	Error  string `json:"error"`
	Result struct {
		Text string `json:"text"`
	} `json:"result"`
}

// wait polls the job until it is finished, as the contract's clients do.
func wait(ctx context.Context, c client, id string) (jobView, error) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		var v jobView
		if err := c.call(ctx, http.MethodGet, "/jobs/"+id, nil, http.StatusOK, &v); err != nil {
			return v, err
		}
		switch v.Status {
		case "done":
			return v, nil
		case "error", "rejected":
			return v, fmt.Errorf("the job ended as %s: %s", v.Status, v.Error)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return v, fmt.Errorf("the job is still %s: %w", v.Status, ctx.Err())
		}
	}
}

func printCall(w io.Writer, c business.VerifiedCall) {
	fmt.Fprintf(w, "     %s %s\n", c.Method, c.Path)
	for _, h := range []struct{ name, value string }{
		{"X-Bailing-Timestamp", c.Timestamp}, {"X-Bailing-Signature", c.Signature}, {"X-Bailing-Job-Id", c.JobID},
		{"X-Bailing-Client", c.Client}, {"X-Bailing-Tool-Scope", c.Scope}, {"X-Bailing-On-Behalf-Of", c.Subject},
		{"X-Bailing-Idempotency-Key", c.IdempotencyKey},
	} {
		if h.value != "" {
			fmt.Fprintf(w, "       %s: %s\n", h.name, h.value)
		}
	}
}

// event is what the demo reads of an audit record.
type event struct {
	TS      string          `json:"ts"`
	Event   string          `json:"event"`
	Title   string          `json:"title"`
	Summary string          `json:"summary"`
	Raw     json.RawMessage `json:"detail"`
	Status  int             `json:"-"` // of a tool_result
}

func (d *show) timeline(ctx context.Context, id string) ([]event, error) {
	var events []event
	if err := d.admin.call(ctx, http.MethodGet, "/admin/api/runs/"+id+"/audit", nil, http.StatusOK, &events); err != nil {
		return nil, err
	}
	for i, e := range events {
		fmt.Fprintf(d.w, "     %s  %-23s %s  %s\n", e.TS, e.Event, e.Title, e.Summary)
		if e.Event == "tool_result" {
			var detail struct {
				Status int `json:"status"`
			}
			if err := json.Unmarshal(e.Raw, &detail); err != nil {
				return nil, err
			}
			events[i].Status = detail.Status
		}
	}
	return events, nil
}

// client calls the hub with one token.
type client struct{ url, token string }

func (c client) call(ctx context.Context, method, path string, body any, want int, into any) error {
	var payload io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		payload = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, payload)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != want {
		return fmt.Errorf("%s %s: status %d: %s", method, path, res.StatusCode, text)
	}
	return json.Unmarshal(text, into)
}
