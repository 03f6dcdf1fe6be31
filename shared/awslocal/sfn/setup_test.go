package sfn_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	client "github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"bailing/shared/awslocal/fault"
	"bailing/shared/awslocal/sfn"
	"bailing/shared/clock"
)

const (
	role    = "arn:aws:iam::000000000000:role/local"
	machine = "approvals"
)

// began is when every test begins.
var began = time.Unix(1_800_000_000, 0).UTC()

// invocation is one call of a function.
type invocation struct {
	At     time.Duration // since the beginning
	Action string
	Ticket json.Number
	Token  string
	text   string
}

// functions answers invocations as the test says, and remembers them.
type functions struct {
	mu     sync.Mutex
	calls  []invocation
	answer func(ctx context.Context, i invocation) (any, error) // nil answers {"timeout_s":3600}
	clock  clock.Clock
}

func (f *functions) invoke(ctx context.Context, function string, payload []byte) ([]byte, error) {
	var in struct {
		Action string
		Ticket json.Number
		Token  string
	}
	d := json.NewDecoder(strings.NewReader(string(payload)))
	d.UseNumber()
	if err := d.Decode(&in); err != nil || function != "wait" {
		return nil, fmt.Errorf("function %s, payload %s: %w", function, payload, err)
	}
	i := invocation{At: f.clock.Now().Sub(began), Action: in.Action, Ticket: in.Ticket, Token: in.Token, text: string(payload)}
	f.mu.Lock()
	f.calls = append(f.calls, i)
	answer := f.answer
	f.mu.Unlock()
	if answer == nil {
		return []byte(`{"timeout_s":3600}`), nil
	}
	v, err := answer(ctx, i)
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// take returns and forgets the invocations, each as "action@seconds".
func (f *functions) take() (out []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, i := range f.calls {
		out = append(out, fmt.Sprintf("%s@%v", i.Action, i.At.Seconds()))
	}
	f.calls = nil
	return out
}

// last is the invocation that came last.
func (f *functions) last() invocation {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[len(f.calls)-1]
}

// env is a service behind a listener, with the ordinary client. Nothing happens by itself: the test steps.
type env struct {
	t       *testing.T
	c       *client.Client
	clock   *clock.Manual
	faults  *fault.Injector
	service *sfn.Service
	f       *functions
	url     string
}

func setup(t *testing.T) *env { return setupLog(t, nil) }

func setupLog(t *testing.T, log sfn.Journal) *env {
	t.Helper()
	e := &env{t: t, clock: clock.NewManual(began), faults: &fault.Injector{}}
	e.f = &functions{clock: e.clock}
	e.service = sfn.New(sfn.Options{Clock: e.clock, Faults: e.faults, Log: log, Invoke: e.f.invoke})
	srv := httptest.NewServer(e.service)
	t.Cleanup(func() {
		e.service.Close()
		srv.Close()
	})
	e.url = srv.URL
	e.c = newClient(srv.URL)
	return e
}

func newClient(endpoint string) *client.Client {
	return client.NewFromConfig(aws.Config{
		Region:       "us-east-1",
		Credentials:  credentials.NewStaticCredentialsProvider("AKIDTEST", "secret", ""),
		BaseEndpoint: aws.String(endpoint),
		Retryer:      func() aws.Retryer { return aws.NopRetryer{} },
	})
}

// product is the definition that is deployed, with functions of this test.
func product(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "infra", "machines", "approval.asl.json"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(b), "${approvalwait}", "arn:aws:lambda:us-east-1:000000000000:function:wait")
}

func (e *env) create(definition string) string {
	e.t.Helper()
	o, err := e.c.CreateStateMachine(e.t.Context(), &client.CreateStateMachineInput{Name: aws.String(machine), Definition: &definition, RoleArn: aws.String(role)})
	if err != nil {
		e.t.Fatal(err)
	}
	return aws.ToString(o.StateMachineArn)
}

const machineARN = "arn:aws:states:us-east-1:000000000000:stateMachine:" + machine

const input = `{"ticket":4503599627370495,"deadline":"2027-01-15T09:00:00.000Z"}`

func (e *env) start(name string) string {
	e.t.Helper()
	o, err := e.c.StartExecution(e.t.Context(), &client.StartExecutionInput{StateMachineArn: aws.String(machineARN), Name: &name, Input: aws.String(input)})
	if err != nil {
		e.t.Fatal(err)
	}
	return aws.ToString(o.ExecutionArn)
}

func (e *env) describe(arn string) *client.DescribeExecutionOutput {
	e.t.Helper()
	o, err := e.c.DescribeExecution(e.t.Context(), &client.DescribeExecutionInput{ExecutionArn: &arn})
	if err != nil {
		e.t.Fatal(err)
	}
	return o
}

func (e *env) wantStatus(arn string, want types.ExecutionStatus) {
	e.t.Helper()
	if o := e.describe(arn); o.Status != want {
		e.t.Errorf("%s is %s (%s: %s), want %s", arn, o.Status, aws.ToString(o.Error), aws.ToString(o.Cause), want)
	}
}

func (e *env) success(token string) error {
	_, err := e.c.SendTaskSuccess(context.Background(), &client.SendTaskSuccessInput{TaskToken: &token, Output: aws.String("{}")})
	return err
}

// settle does everything that is due now.
func (e *env) settle() {
	for e.service.Step(context.Background()) {
	}
}

// until lets time pass until d after the beginning, and does everything at its moment.
func (e *env) until(d time.Duration) {
	e.t.Helper()
	end := began.Add(d)
	for {
		e.settle()
		at, ok := e.service.Next()
		if !ok || at.After(end) {
			e.clock.Advance(max(0, end.Sub(e.clock.Now())))
			e.settle()
			return
		}
		e.clock.Advance(at.Sub(e.clock.Now()))
	}
}

func (e *env) wantCalls(want ...string) {
	e.t.Helper()
	if got := e.f.take(); !slices.Equal(got, want) {
		e.t.Errorf("invocations %q, want %q", got, want)
	}
}

// task is a definition with one task, into which members are put, and whose errors named Caught lead to a state of its own.
func task(members string) string {
	return `{"StartAt":"A","States":{"A":{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke","Parameters":{"FunctionName":` +
		`"arn:aws:lambda:us-east-1:000000000000:function:wait","Payload":{"action":"a","ticket.$":"$.ticket"}},"Next":"Z"` + members + `},"Z":{"Type":"Succeed"}}}`
}

// token is a definition with one task that waits for its token.
func token(members string) string {
	return strings.NewReplacer("lambda:invoke", "lambda:invoke.waitForTaskToken", `"ticket.$":"$.ticket"`, `"ticket.$":"$.ticket","token.$":"$$.Task.Token"`).
		Replace(task(members))
}

// boom is a failure of a function.
func boom(name string) func(context.Context, invocation) (any, error) {
	return func(context.Context, invocation) (any, error) {
		return nil, &sfn.FunctionError{Type: name, Message: "no"}
	}
}

func jsonNumber(s string) json.Number { return json.Number(s) }

func (e *env) startWith(name, input string) string {
	e.t.Helper()
	o, err := e.c.StartExecution(e.t.Context(), &client.StartExecutionInput{StateMachineArn: aws.String(machineARN), Name: &name, Input: &input})
	if err != nil {
		e.t.Fatal(err)
	}
	return aws.ToString(o.ExecutionArn)
}

func (e *env) tryCreate(definition string) error {
	_, err := e.c.CreateStateMachine(e.t.Context(), &client.CreateStateMachineInput{Name: aws.String(machine), Definition: &definition, RoleArn: aws.String(role)})
	return err
}

// serve puts another service behind the environment.
func (e *env) serve(s *sfn.Service) {
	srv := httptest.NewServer(s)
	e.t.Cleanup(func() {
		s.Close()
		srv.Close()
	})
	e.service, e.url, e.c = s, srv.URL, newClient(srv.URL)
}

// wantCallsInOrder is wantCalls that leaves the invocations where they are.
func (e *env) wantCallsInOrder(want ...string) {
	e.t.Helper()
	kept := slices.Clone(e.f.calls)
	e.wantCalls(want...)
	e.f.calls = kept
}
