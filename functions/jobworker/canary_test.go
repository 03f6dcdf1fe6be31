package jobworker_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"bailing/functions/jobworker"
	"bailing/functions/sweeper"
	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/platform"
	"bailing/shared/registry"
	"bailing/shared/signature"
	"bailing/shared/topology"
)

// Values that must not turn up where they do not belong. None has a form that redaction would recognise: they must not
// get as far.
const (
	canaryToken  = "aaaa1111bbbb2222cccc3333dddd4444"
	canaryKey    = "model.key.canary"
	canarySecret = "provider.secret.canary"
	canaryCard   = "card.number.canary"
	canaryAnswer = "card.answer.canary"
)

// model is a chat-completions server that first asks for a sensitive call, then fails once with a text that repeats its
// key, then answers.
func model(t *testing.T) *httptest.Server {
	var n atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer "+canaryKey {
			t.Errorf("%s with credential %q", r.URL.Path, r.Header.Get("Authorization"))
		}
		switch n.Add(1) {
		case 1:
			fmt.Fprintf(w, `{"choices":[{"message":{"tool_calls":[{"id":"c1","type":"function","function":{"name":"card_check","arguments":%q}}]}}]}`,
				`{"number":"`+canaryCard+`"}`)
		case 2:
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintf(w, "the key %s is busy", canaryKey)
		default:
			fmt.Fprint(w, `{"choices":[{"message":{"content":"The card is fine."}}],"usage":{"total_tokens":7}}`)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// business verifies the signature of the call with its own secret.
func business(t *testing.T, calls *atomic.Int32) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		err = signature.VerifyTool(canarySecret, signature.ToolCall{
			Method: r.Method, Path: strings.TrimPrefix(r.URL.RequestURI(), "/api"), Body: body,
			OnBehalfOf: r.Header.Get("X-Bailing-On-Behalf-Of"), JobID: r.Header.Get("X-Bailing-Job-Id"),
		}, signature.Headers{Timestamp: r.Header.Get("X-Bailing-Timestamp"), Signature: r.Header.Get("X-Bailing-Signature")}, jobtest.Start)
		if err != nil || string(body) != `{"number":"`+canaryCard+`"}` {
			t.Errorf("call %s: %v", body, err)
		}
		fmt.Fprintf(w, `{"verdict":%q}`, canaryAnswer)
	}))
	t.Cleanup(s.Close)
	return s
}

// A whole job over real sockets and the real queue, with a failure on the way; then everything that was written is
// searched (I10).
func TestSecretsStayWhereTheyBelong(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	w := jobtest.New(t, jobtest.Configure(func(c *platform.Config) { c.EgressAllow = "loopback" }))
	w.Seed()
	w.SaveCredential(registry.Credential{Name: "main", BaseURL: model(t).URL + "/v1", DefaultModel: "m", Enabled: true}, canaryKey)
	p := jobtest.ShopProvider()
	p.BaseURL = business(t, &calls).URL + "/api"
	var err error
	if p.Secret, err = w.Secrets.Seal(t.Context(), []byte(canarySecret), registry.ProviderSecretContext(p.Name)); err != nil {
		t.Fatal(err)
	}
	w.SaveProvider(p, jobtest.Spec(jobtest.ShopTools()...))
	r := jobtest.SupportRoute()
	r.Retry = &registry.Retry{Max: 1, BackoffMS: 500}
	w.SaveRoute(r)
	w.SaveClientWith(registry.Client{AppID: jobtest.Client, AllowedRoutes: []string{"*"}, RateLimitPerMin: 10, Enabled: true}, canaryToken)

	worker, err := jobworker.New(w.Platform)
	if err != nil {
		t.Fatal(err)
	}
	sweep, err := sweeper.New(w.Platform)
	if err != nil {
		t.Fatal(err)
	}
	id := w.MustLaunch(canaryToken, jobtest.Submission("r", `"metadata":{"user":"u-1"}`)).JobID
	invoke(t, worker, event(body(id)))
	if j := w.Job(id); j.Status != job.Queued || j.Attempts != 1 {
		t.Fatalf("%s after %d tries: %s", j.Status, j.Attempts, j.Error)
	}
	w.Clock.Advance(job.ResendAfter + job.Lease/10)
	invoke(t, sweep, events.CloudWatchEvent{})
	deliver(t, w, worker)
	j := w.Job(id)
	if j.Status != job.Done || !strings.Contains(string(j.Result), "The card is fine.") || calls.Load() != 1 {
		t.Fatalf("%s, result %s, error %q, %d calls", j.Status, j.Result, j.Error, calls.Load())
	}

	secrets := []string{canaryToken, canaryKey, canarySecret, jobtest.ServerToken, "sha256="}
	sensitive := []string{canaryCard, canaryAnswer}
	log := w.Logs.String()
	for _, s := range append(secrets, sensitive...) {
		if strings.Contains(log, s) {
			t.Errorf("%s is in the logs or metrics", s)
		}
	}
	const plain = "Where is my order?"
	seen := false
	for table, items := range scan(t, w) {
		if len(items) == 0 && table != topology.TableAgents { // no agent logs in here
			t.Errorf("table %s is empty", table)
		}
		for key, text := range items {
			seen = seen || strings.Contains(text, plain)
			for _, s := range append(secrets[:4:4], sensitive...) {
				if strings.Contains(text, s) {
					t.Errorf("%s is in %s of table %s", s, key, table)
				}
			}
		}
	}
	if !seen {
		t.Error("the search does not even find the job's input, so it proves nothing")
	}
}

func invoke(t *testing.T, h lambda.Handler, e any) {
	t.Helper()
	payload, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := h.Invoke(t.Context(), payload); err != nil || strings.Contains(string(out), "itemIdentifier") {
		t.Fatalf("%s, %v", out, err)
	}
}

// deliver hands the messages of the real queue to the worker.
func deliver(t *testing.T, w *jobtest.World, worker lambda.Handler) {
	t.Helper()
	c := sqs.NewFromConfig(w.Env.Config("test"))
	out, err := c.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: aws.String(w.Platform.Config.JobsQueueURL), MaxNumberOfMessages: 10})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range out.Messages {
		invoke(t, worker, event(aws.ToString(m.Body)))
	}
}

// scan is every item of every table as text, by key.
func scan(t *testing.T, w *jobtest.World) map[string]map[string]string {
	t.Helper()
	db := dynamodb.NewFromConfig(w.Env.Config("test"))
	all := map[string]map[string]string{}
	for _, table := range topology.System().Tables {
		all[table.Name] = map[string]string{}
		pages := dynamodb.NewScanPaginator(db, &dynamodb.ScanInput{TableName: aws.String(jobtest.Prefix + table.Name)})
		for pages.HasMorePages() {
			page, err := pages.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, item := range page.Items {
				var b strings.Builder
				for name, v := range item {
					b.WriteString(name + "=" + text(v) + "\n")
				}
				all[table.Name][text(item["pk"])+"/"+text(item["sk"])] = b.String()
			}
		}
	}
	return all
}

func text(v types.AttributeValue) string {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberB:
		return string(v.Value)
	case *types.AttributeValueMemberN:
		return v.Value
	}
	return fmt.Sprint(v)
}
