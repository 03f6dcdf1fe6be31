package stack

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"bailing/functions/jobworker"
	"bailing/shared/crashtest"
	"bailing/shared/job"
	"bailing/shared/platform"
	"bailing/shared/topology"
)

// crashWorld is a stack without pollers, with two jobs of one thread waiting.
type crashWorld struct {
	t     *testing.T
	s     *Stack
	clock *crashtest.Clock
	jobs  []string
	again bool // every message comes twice
}

func newCrashWorld(t *testing.T) *crashWorld {
	w := emptyCrashWorld(t)
	for _, order := range []string{"SO-1001", "SO-1002"} {
		w.jobs = append(w.jobs, w.submit(order))
	}
	return w
}

// emptyCrashWorld has no jobs yet.
func emptyCrashWorld(t *testing.T) *crashWorld {
	w := &crashWorld{t: t, clock: &crashtest.Clock{}}
	var err error
	w.s, err = Start(t.Context(), Options{Addr: "127.0.0.1:0", Demo: true, Manual: true, Clock: w.clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections() // a server that shuts down waits seconds for a connection that was never used
		if err := w.s.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *crashWorld) submit(order string) string {
	w.t.Helper()
	return w.ask("ask-"+order, "Where is order "+order+"?", "s1")
}

func (w *crashWorld) ask(requestID, input, session string) string {
	w.t.Helper()
	return w.askTo(requestID, input, session, "")
}

// askTo is ask with a callback, unless it is "".
func (w *crashWorld) askTo(requestID, input, session, callback string) string {
	w.t.Helper()
	if callback != "" {
		callback = fmt.Sprintf(`,"callback_url":%q`, callback)
	}
	body := fmt.Sprintf(`{"request_id":%q,"route":%q,"input":%q,"metadata":{"operator_uid":"u_42","session":%q}%s}`, requestID, DemoRoute, input, session, callback)
	var accepted struct {
		JobID string `json:"job_id"`
	}
	w.request(http.MethodPost, "/run", body, http.StatusAccepted, &accepted)
	return accepted.JobID
}

func (w *crashWorld) request(method, path, body string, want int, into any) {
	w.t.Helper()
	req, err := http.NewRequest(method, w.s.URL+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	token := w.s.Demo.ClientToken
	if strings.HasPrefix(path, "/admin/") {
		token = w.s.ServerToken
	}
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != want {
		w.t.Fatalf("%s %s: %d %s %v", method, path, res.StatusCode, text, err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		w.t.Fatal(err)
	}
}

// runVictim lets a worker handle the first job's message and returns how many calls it made.
func (w *crashWorld) runVictim(dieAt int, after bool) int {
	w.t.Helper()
	ctx, cancel := w.invocation()
	defer cancel()
	v := crashtest.NewVictim(dieAt, after, cancel)
	w.s.AWS.Faults().Set(v.Hook)
	defer w.s.AWS.Faults().Set(nil)
	c := w.s.Config
	c.AccessKey = crashtest.AccessKey
	h, err := jobworker.New(platform.New("victim", c, platform.Options{Output: io.Discard, Clock: w.clock, Dial: v.Dial, HTTP: v}))
	if err != nil {
		w.t.Fatal(err)
	}
	w.deliver(ctx, h, w.jobs[0])
	return v.Steps()
}

// invocation is a context with the time that an invocation has, by the stack's clock.
func (w *crashWorld) invocation() (context.Context, context.CancelFunc) {
	return w.clock.Invocation(w.t.Context(), topology.WorkerTimeout)
}

// deliver invokes a worker with the message of one job, as the event source does.
func (w *crashWorld) deliver(ctx context.Context, h lambda.Handler, jobID string) {
	w.t.Helper()
	e := events.SQSEvent{Records: []events.SQSMessage{{MessageId: "m", Body: fmt.Sprintf(`{"job_id":%q}`, jobID)}}}
	payload, err := json.Marshal(e)
	if err != nil {
		w.t.Fatal(err)
	}
	// A dead worker's answer reaches nobody.
	_, _ = h.Invoke(ctx, payload)
}

// recover lets time pass as it would: sweeps, and healthy workers for every message that the queue then holds.
func (w *crashWorld) recover() {
	w.t.Helper()
	queue := sqs.NewFromConfig(w.s.platform("tester", Options{Output: io.Discard, Clock: w.clock}).AWS())
	w.clock.Advance(job.Lease)
	for range 12 {
		w.clock.Advance(2 * job.ResendAfter)
		if _, err := w.s.Functions["sweeper"].Invoke(w.t.Context(), []byte(`{}`)); err != nil {
			w.t.Fatal(err)
		}
		for {
			out, err := queue.ReceiveMessage(w.t.Context(), &sqs.ReceiveMessageInput{
				QueueUrl: aws.String(w.s.Config.JobsQueueURL), MaxNumberOfMessages: 10,
			})
			if err != nil {
				w.t.Fatal(err)
			}
			if len(out.Messages) == 0 {
				break
			}
			for _, m := range out.Messages {
				var body struct {
					JobID string `json:"job_id"`
				}
				if err := json.Unmarshal([]byte(aws.ToString(m.Body)), &body); err != nil {
					w.t.Fatal(err)
				}
				for range w.copies() {
					ctx, cancel := w.invocation()
					w.deliver(ctx, w.s.Functions["jobworker"], body.JobID)
					cancel()
				}
				if _, err := queue.DeleteMessage(w.t.Context(), &sqs.DeleteMessageInput{QueueUrl: aws.String(w.s.Config.JobsQueueURL), ReceiptHandle: m.ReceiptHandle}); err != nil {
					w.t.Fatal(err)
				}
			}
		}
		if w.finished() {
			return
		}
	}
}

// copies is how often each message is delivered.
func (w *crashWorld) copies() int {
	if w.again {
		return 2
	}
	return 1
}

func (w *crashWorld) finished() bool {
	for _, id := range w.jobs {
		var v struct {
			Status job.Status `json:"status"`
		}
		w.request(http.MethodGet, "/jobs/"+id, "", http.StatusOK, &v)
		if !v.Status.Terminal() {
			return false
		}
	}
	return true
}

// check requires one answer for each job, in the thread's order, and a business that was asked no more often than the
// death can explain.
func (w *crashWorld) check() {
	w.t.Helper()
	var ends []string
	for i, id := range w.jobs {
		var v struct {
			Status job.Status `json:"status"`
			Error  string     `json:"error"`
			Result struct {
				Text      string `json:"text"`
				ToolCalls int    `json:"tool_calls"`
			} `json:"result"`
		}
		w.request(http.MethodGet, "/jobs/"+id, "", http.StatusOK, &v)
		order := []string{"SO-1001", "SO-1002"}[i]
		if v.Status != job.Done || !strings.Contains(v.Result.Text, order) || v.Result.ToolCalls != 1 {
			w.t.Errorf("job %d: %s %q, %d calls, error %q", i, v.Status, v.Result.Text, v.Result.ToolCalls, v.Error)
		}
		var audit []struct {
			TS    string `json:"ts"`
			Event string `json:"event"`
		}
		w.request(http.MethodGet, "/admin/api/runs/"+id+"/audit", "", http.StatusOK, &audit)
		finished := 0
		for _, e := range audit {
			if e.Event == "finished" {
				finished++
				ends = append(ends, e.TS)
			}
		}
		if finished != 1 {
			w.t.Errorf("job %d finished %d times", i, finished)
		}
	}
	if len(ends) == 2 && ends[1] < ends[0] {
		w.t.Errorf("the second job of the thread finished first: %v", ends)
	}
	if n := len(w.s.Demo.Business.Verified()); n < 2 || n > 3 {
		w.t.Errorf("the business was asked %d times", n)
	}
	if n := w.s.Demo.Business.Rejected(); n != 0 {
		w.t.Errorf("the business rejected %d signatures", n)
	}
}

// A worker that dies before or after any of its calls costs time, never a job or a second answer (I5, I9). The calls are
// counted in a clean run, so a new one is killed without anybody adding it here.
func TestAWorkerMayDieAtEveryCall(t *testing.T) {
	t.Parallel()
	clean := newCrashWorld(t)
	calls := clean.runVictim(0, false)
	clean.recover()
	clean.check()
	if calls < 12 {
		t.Fatalf("the clean run made %d calls; it cannot have run two rounds", calls)
	}
	t.Logf("a clean run makes %d calls", calls)
	for k := 1; k <= calls; k++ {
		for _, after := range []bool{false, true} {
			name := fmt.Sprintf("before call %d", k)
			if after {
				name = fmt.Sprintf("after call %d", k)
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				w := newCrashWorld(t)
				w.runVictim(k, after)
				w.recover()
				w.check()
			})
		}
	}
}
