package runs_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"bailing/shared/contract/contracttest"
	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/platform"
	"bailing/shared/queue"
	"bailing/shared/registry"
)

// The sample event of events/runs.json, as its client would send it.
func TestSampleEvent(t *testing.T) {
	t.Parallel()
	a := open(t)
	a.SaveClientWith(registry.Client{AppID: "sample", AllowedRoutes: []string{"support"}, RateLimitPerMin: 60, Enabled: true}, "0123456789abcdef0123456789abcdef")
	r := a.invoke(sample(t, "runs.json"))
	if r.Status != 202 {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	contracttest.ClientAPI(t, "submit-response.schema.json", []byte(r.Body))
	var accepted struct {
		JobID string `json:"job_id"`
	}
	r.into(t, &accepted)
	j := a.Job(accepted.JobID)
	if j.Owner != "sample" || j.RequestID != "shop:order-question:1001" || j.CallbackURL != "https://shop.example/callbacks" {
		t.Errorf("job %+v", j)
	}
}

func TestSubmitAndRead(t *testing.T) {
	t.Parallel()
	a := open(t)
	r := a.run(a.token, jobtest.Submission("r-1"))
	r.json(t)
	var first map[string]any
	r.into(t, &first)
	if r.Status != 202 || first["status"] != "queued" || first["request_id"] != "r-1" || first["route"] != "support" || first["target"] != "llm" || first["continue"] != false {
		t.Fatalf("%d %s", r.Status, r.Body)
	}
	if got := slices.Sorted(maps.Keys(first)); !slices.Equal(got, []string{"continue", "job_id", "request_id", "route", "session_id", "status", "target"}) {
		t.Errorf("members %v", got)
	}
	id := first["job_id"].(string)
	a.run(a.token, jobtest.Submission("r-1")).want(t, 202, fmt.Sprintf(`{"job_id":%q,"status":"queued","request_id":"r-1"}`, id))

	r = a.get(a.token, id)
	r.json(t)
	contracttest.ClientAPI(t, "job-response.schema.json", []byte(r.Body))
	if r.Status != 200 {
		t.Errorf("%d %s", r.Status, r.Body)
	}
	if again := a.get(jobtest.ServerToken, strings.ToUpper(id)); again.Body != r.Body {
		t.Errorf("an administrator, id in capitals: %s", again.Body)
	}

	// The job is on the real queue, once.
	c := sqs.NewFromConfig(a.Env.Config("test"))
	out, err := c.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: aws.String(a.Platform.Config.JobsQueueURL), MaxNumberOfMessages: 10})
	if err != nil || len(out.Messages) != 1 {
		t.Fatalf("%d messages, %v", len(out.Messages), err)
	}
	if got, err := queue.JobID(aws.ToString(out.Messages[0].Body)); err != nil || got != id {
		t.Errorf("message for %s, %v", got, err)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	a := open(t)
	other := a.SaveClient(registry.Client{AppID: "other", AllowedRoutes: []string{"support"}, RateLimitPerMin: 1, Enabled: true})
	id := a.MustLaunch(a.token, jobtest.Submission("taken")).JobID
	a.MustLaunch(other, jobtest.Submission("only"))
	const unauthorized, missing = `{"error":"unauthorized"}`, `{"error":"not found"}`
	for _, tc := range []struct {
		rule, token, body string
		status            int
		want              string // the whole body, or what it contains after "~"
	}{
		{"no token", "", jobtest.Submission("x"), 401, unauthorized},
		{"no token before a body that is no JSON", "", `{`, 401, unauthorized},
		{"no token before a body that is too large", "", strings.Repeat(" ", 1<<20+1), 401, unauthorized},
		{"an unknown token", strings.Repeat("f", 32), jobtest.Submission("x"), 401, unauthorized},
		{"almost the server token", jobtest.ServerToken + "x", jobtest.Submission("x"), 401, unauthorized},
		{"no JSON", a.token, `{"request_id":`, 400, "~not JSON"},
		{"no body", a.token, ``, 400, "~request_id"},
		{"a duplicate key (D17)", a.token, `{"request_id":"a","request_id":"b","route":"support","input":"x"}`, 400, "~duplicate key"},
		{"a duplicate key deep inside (D17)", a.token, jobtest.Submission("x", `"metadata":{"a":{"b":1,"b":2}}`), 400, "~duplicate key"},
		{"invalid UTF-8 (D17)", a.token, jobtest.Submission("x", "\"metadata\":{\"a\":\"\xff\"}"), 400, "~UTF-8"},
		{"a body over the cap", a.token, strings.Repeat(" ", 1<<20+1), 413, `{"error":"payload too large","max_bytes":1048576}`},
		{"a forbidden member", a.token, jobtest.Submission("x", `"project":"p"`), 403, "~project"},
		{"a foreign request id", other, jobtest.Submission("taken"), 409, "~request_id"},
		{"over the rate limit", other, jobtest.Submission("more"), 429, "~retry_after_ms"},
		{"auto", a.token, `{"request_id":"x","route":"auto","input":"x"}`, 400, `{"decision":{"mode":"auto","ok":false,"candidates":[],"error":"route_auto_no_match"},"error":"route_auto_no_match"}`},
	} {
		r := a.run(tc.token, tc.body)
		r.json(t)
		part, isPart := strings.CutPrefix(tc.want, "~")
		if r.Status != tc.status || (isPart && !strings.Contains(r.Body, part)) || (!isPart && r.Body != tc.want) {
			t.Errorf("%s: %d %s, want %d %s", tc.rule, r.Status, r.Body, tc.status, tc.want)
		}
		if tc.status != 413 {
			contracttest.ClientAPI(t, "error-response.schema.json", []byte(r.Body))
		}
	}
	a.get("", id).want(t, 401, unauthorized)
	a.get(other, id).want(t, 404, missing)
	a.get(a.token, "11111111-2222-4333-8444-555555555555").want(t, 404, missing)
	a.get(a.token, "job_1").want(t, 404, missing)
}

func TestBodyAtTheCap(t *testing.T) {
	t.Parallel()
	a := open(t, configure(func(c *platform.Config) { c.BodyMax = 200 }))
	body := jobtest.Submission("r")
	if r := a.run(a.token, body+strings.Repeat(" ", 200-len(body))); r.Status != 202 {
		t.Errorf("at the cap: %d %s", r.Status, r.Body)
	}
	a.run(a.token, body+strings.Repeat(" ", 201-len(body))).want(t, 413, `{"error":"payload too large","max_bytes":200}`)
}

func TestPausedAnswerHasNoErrorMember(t *testing.T) {
	t.Parallel()
	a := open(t)
	a.Pause(true)
	a.run(a.token, jobtest.Submission("r")).want(t, 503, `{"status":"paused"}`)
	a.run("", jobtest.Submission("r")).want(t, 401, `{"error":"unauthorized"}`)
}

func TestQuotaIsStillAccepted(t *testing.T) {
	t.Parallel()
	a := open(t)
	r := jobtest.SupportRoute()
	r.SessionPolicy, r.SessionFixedID = registry.SessionFixed, "desk"
	a.SaveRoute(r)
	for i := range job.MaxInFlight {
		a.run(a.token, jobtest.Submission(fmt.Sprint("r", i)))
	}
	seventh := a.run(a.token, jobtest.Submission("r7"))
	var body struct {
		JobID  string `json:"job_id"`
		Status string `json:"status"`
	}
	seventh.into(t, &body)
	if seventh.Status != 202 || body.Status != "rejected" {
		t.Fatalf("%d %s", seventh.Status, seventh.Body)
	}
	var view struct{ Error, Status string }
	a.get(a.token, body.JobID).into(t, &view)
	if view.Error != "thread_inflight_quota" || view.Status != "rejected" {
		t.Errorf("%+v", view)
	}
}

func TestHubWithoutAServerToken(t *testing.T) {
	t.Parallel()
	a := open(t, configure(func(c *platform.Config) { c.ServerToken = "" }))
	a.run("", jobtest.Submission("r")).want(t, 401, `{"error":"unauthorized"}`)
	// The hash of nothing is no credential either.
	a.run(" ", jobtest.Submission("r")).want(t, 401, `{"error":"unauthorized"}`)
}

// Internal text never reaches a caller.
func TestFailureOfTheStore(t *testing.T) {
	t.Parallel()
	a := open(t, configure(func(c *platform.Config) { c.TablePrefix = "absent-" }))
	for _, r := range []answer{a.run(a.token, jobtest.Submission("r")), a.get(a.token, "11111111-2222-4333-8444-555555555555")} {
		r.want(t, 500, `{"error":"internal_error","request_id":"req-1"}`)
		if r.Header.Get("X-Request-Id") != "req-1" {
			t.Errorf("x-request-id %q", r.Header.Get("X-Request-Id"))
		}
	}
	if !strings.Contains(a.Logs.String(), "absent-") {
		t.Error("the log does not say why")
	}
}

// The largest metadata and the largest result together still fit into an answer, whatever characters they are made of.
func TestLargestJobCanBeRead(t *testing.T) {
	t.Parallel()
	for _, character := range []string{"<", `\"`, "\u2028"} {
		a := open(t)
		note := strings.Repeat(character, (1<<20-200)/len(character))
		id := a.MustLaunch(a.token, jobtest.Submission("r", `"metadata":{"note":"`+note+`"}`)).JobID
		j, err := a.Lifecycle.Claim(t.Context(), id, "worker")
		if err != nil {
			t.Fatal(err)
		}
		result := `{"text":"` + strings.Repeat(character, (3<<20)/len(character)) + `"}`
		err = a.Lifecycle.Finish(t.Context(), job.Fence{JobID: id, Claim: j.Claim}, job.Outcome{Status: job.Done, Result: json.RawMessage(result)})
		if err != nil {
			t.Fatal(err)
		}
		if r := a.get(a.token, id); r.Status != 200 || !strings.Contains(r.Body, result) || !strings.Contains(r.Body, note) {
			t.Errorf("%q: status %d, %d bytes, %.100s", character, r.Status, len(r.Body), r.Body)
		}
	}
}
