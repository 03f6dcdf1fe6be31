package approvals_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"bailing/functions/approvals"
	"bailing/shared/approval"
	"bailing/shared/contract/contracttest"
	"bailing/shared/job/jobtest"
	"bailing/shared/topology"
)

// api is the function as API Gateway invokes it, in a hub with a job of the client that waits for approval.
type api struct {
	*jobtest.World
	t       *testing.T
	handler lambda.Handler
	token   string // of the client that owns the jobs
	jobs    int
	running string // the job that a model's reply is for
}

func open(t *testing.T, options ...jobtest.Option) *api {
	t.Helper()
	a := &api{World: jobtest.New(t, options...), t: t}
	a.token = a.Seed()
	var err error
	if a.handler, err = approvals.New(a.Platform); err != nil {
		t.Fatal(err)
	}
	return a
}

// ask runs a job of the caller to its end, in which the model wishes the call, and answers with its ticket.
func (a *api) ask(token, tool, args string) *approval.Ticket {
	a.t.Helper()
	a.jobs++
	a.Model.Then(jobtest.Call(jobtest.Wish{Tool: tool, Args: args}), jobtest.Say("It waits."))
	id := a.MustLaunch(token, jobtest.Submission(fmt.Sprintf("request-%d", a.jobs), `"metadata":{"user":"u"}`)).JobID
	a.Deliver()
	tickets, err := a.Store.JobTickets(a.t.Context(), id, 10)
	if err != nil || len(tickets) != 1 {
		a.t.Fatalf("tickets %+v, %v; refused: %+v", tickets, err, a.Events(id, "tool_blocked"))
	}
	return a.ticket(tickets[0].ID)
}

func (a *api) refund(token string) *approval.Ticket {
	a.t.Helper()
	return a.ask(token, "refund", `{"order":"SO-1"}`)
}

func (a *api) ticket(id int64) *approval.Ticket {
	a.t.Helper()
	t, err := a.Store.ReadTicket(a.t.Context(), id)
	if err != nil || t == nil {
		a.t.Fatalf("ticket %d: %+v, %v", id, t, err)
	}
	return t
}

// alter replaces what a ticket froze, as somebody could who can write to the table.
func (a *api) alter(id int64, intent string) {
	a.t.Helper()
	_, err := dynamodb.NewFromConfig(a.Env.Config("intruder")).UpdateItem(a.t.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String(jobtest.Prefix + topology.TableJobs),
		Key: map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: fmt.Sprintf("ticket#%d", id)}, "sk": &types.AttributeValueMemberS{Value: "ticket"},
		},
		UpdateExpression:          aws.String("SET intent = :intent"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":intent": &types.AttributeValueMemberB{Value: []byte(intent)}},
	})
	if err != nil {
		a.t.Fatal(err)
	}
}

// answer is a response with its body decoded from transport.
type answer struct {
	Status int
	Header http.Header
	Body   string
}

// request is one request, with the proof that the test gives it.
type request struct {
	method, path string
	token        string // in the header; "" for none
	query        url.Values
	header       http.Header
	body         string
}

func (a *api) invoke(payload []byte) answer {
	a.t.Helper()
	out, err := a.handler.Invoke(a.t.Context(), payload)
	if err != nil {
		a.t.Fatal(err)
	}
	var r events.APIGatewayProxyResponse
	if err := json.Unmarshal(out, &r); err != nil {
		a.t.Fatal(err)
	}
	if r.IsBase64Encoded {
		b, err := base64.StdEncoding.DecodeString(r.Body)
		if err != nil {
			a.t.Fatal(err)
		}
		r.Body = string(b)
	}
	h := http.Header{}
	for name, values := range r.MultiValueHeaders {
		h[http.CanonicalHeaderKey(name)] = values
	}
	return answer{r.StatusCode, h, r.Body}
}

func (a *api) send(r request) answer {
	a.t.Helper()
	resource := "/approvals/{id}/" + r.path[strings.LastIndexByte(r.path, '/')+1:]
	e := events.APIGatewayProxyRequest{
		Resource: resource, Path: r.path, HTTPMethod: r.method, IsBase64Encoded: true, Body: base64.StdEncoding.EncodeToString([]byte(r.body)),
		MultiValueHeaders: map[string][]string{"Content-Type": {"application/json"}}, MultiValueQueryStringParameters: r.query,
		RequestContext: events.APIGatewayProxyRequestContext{RequestID: "req-1", DomainName: "hub.example", Stage: "v1"},
	}
	for name, values := range r.header {
		e.MultiValueHeaders[strings.ToLower(name)] = values // as over HTTP/2
	}
	if r.token != "" {
		e.MultiValueHeaders["Authorization"] = []string{"Bearer " + r.token}
	}
	payload, err := json.Marshal(e)
	if err != nil {
		a.t.Fatal(err)
	}
	got := a.invoke(payload)
	// Every answer is one that the OpenAPI document lists, and no cache keeps it.
	contracttest.Response(a.t, r.method, resource, got.Status, []byte(got.Body))
	if ct, cc := got.Header.Get("Content-Type"), got.Header.Get("Cache-Control"); ct != "application/json; charset=utf-8" || cc != "no-store" {
		a.t.Errorf("content type %q, cache control %q", ct, cc)
	}
	return got
}

func decisionPath(id int64) string { return fmt.Sprintf("/approvals/%d/decision", id) }

func argumentsPath(id int64) string { return fmt.Sprintf("/approvals/%d/arguments", id) }

// decide sends a decision with a token.
func (a *api) decide(token string, id int64, body string) answer {
	a.t.Helper()
	return a.send(request{method: "POST", path: decisionPath(id), token: token, body: body})
}

// arguments reads the arguments with a token.
func (a *api) arguments(token string, id int64) answer {
	a.t.Helper()
	return a.send(request{method: "GET", path: argumentsPath(id), token: token})
}

// envelope is a decision about t.
func envelope(t *approval.Ticket, decision, id string) string {
	return fmt.Sprintf(`{"kind":"tool_approval_decision","schema_version":"bailing.approval-decision.v1","approval_id":%d,"job_id":%q,"request_id":%q,`+
		`"args_hash":%q,"decision_id":%q,"decision":%q,"approver":"u_manager","comment":"fine"}`, t.ID, t.JobID, t.RequestID, t.ArgsHash, id, decision)
}

func (r answer) want(t *testing.T, status int, body string) {
	t.Helper()
	if r.Status != status || r.Body != body {
		t.Errorf("%d %s, want %d %s", r.Status, r.Body, status, body)
	}
}

func (r answer) into(t *testing.T, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.Body), v); err != nil {
		t.Fatalf("%v: %s", err, r.Body)
	}
}

func sample(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "events", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
