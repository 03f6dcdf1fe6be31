package sfn_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	client "github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
	"github.com/aws/smithy-go"

	"bailing/shared/awslocal/fault"
	"bailing/shared/awslocal/sfn"
)

func code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return fmt.Sprint(err)
}

func TestAStartIsRepeatedByNameAndInput(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.create(product(t))
	start := func(name, input string) (string, time.Time, error) {
		o, err := e.c.StartExecution(t.Context(), &client.StartExecutionInput{StateMachineArn: aws.String(machineARN), Name: &name, Input: &input})
		if err != nil {
			return "", time.Time{}, err
		}
		return aws.ToString(o.ExecutionArn), *o.StartDate, nil
	}
	arn, at, err := start("ticket-1", input)
	if err != nil || arn != "arn:aws:states:us-east-1:000000000000:execution:approvals:ticket-1" || !at.Equal(began) {
		t.Fatalf("%s at %v, %v", arn, at, err)
	}
	e.until(time.Minute)
	again, then, err := start("ticket-1", input)
	if err != nil || again != arn || !then.Equal(began) {
		t.Errorf("a repeated start: %s at %v, %v", again, then, err)
	}
	e.wantCalls("notify@0", "remaining@0", "hold@0")
	if _, _, err := start("ticket-1", input+" "); code(err) != "ExecutionAlreadyExists" {
		t.Errorf("another input: %v", err)
	}
	if _, _, err := start("ticket-2", input); err != nil {
		t.Errorf("another name: %v", err)
	}
	e.until(2 * time.Hour)
	e.wantStatus(arn, types.ExecutionStatusSucceeded)
	if _, _, err := start("ticket-1", input); code(err) != "ExecutionAlreadyExists" {
		t.Errorf("after its end: %v", err)
	}
	e.until(time.Hour + 90*24*time.Hour - time.Millisecond)
	if _, _, err := start("ticket-1", input); code(err) != "ExecutionAlreadyExists" {
		t.Errorf("not quite 90 days after its end: %v", err)
	}
	e.until(time.Hour + 90*24*time.Hour)
	if _, _, err := start("ticket-1", input); err != nil {
		t.Errorf("90 days after its end: %v", err)
	}
}

func TestEndedExecutionsAreBounded(t *testing.T) {
	t.Parallel()
	const kept = 10_000
	e := setup(t)
	e.create(`{"StartAt":"Z","States":{"Z":{"Type":"Succeed"}}}`)
	for i := range kept + 1 {
		if i%500 == 0 {
			e.clock.Advance(time.Second)
		}
		e.start(fmt.Sprint("x", i))
	}
	for name, want := range map[string]string{"x0": "ExecutionDoesNotExist", "x1": "<nil>", fmt.Sprint("x", kept): "<nil>"} {
		_, err := e.c.DescribeExecution(t.Context(), &client.DescribeExecutionInput{ExecutionArn: aws.String("arn:aws:states:us-east-1:000000000000:execution:approvals:" + name)})
		if code(err) != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.create(product(t))
	held := func(name string) string {
		e.start(name)
		e.settle()
		return e.f.last().Token
	}
	first, second := held("ticket-1"), held("ticket-2")
	if first == second || len(first) < 500 || len(first) > 2048 {
		t.Errorf("tokens of %d and %d characters", len(first), len(second))
	}
	raw, err := base64.RawURLEncoding.DecodeString(first)
	if err != nil {
		t.Fatal(err)
	}
	raw[7] ^= 3 // the other execution, with the wrong authentication
	if _, err := e.c.StopExecution(t.Context(), &client.StopExecutionInput{ExecutionArn: aws.String("arn:aws:states:us-east-1:000000000000:execution:approvals:ticket-2")}); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ rule, token, want string }{
		{"of an execution that was stopped", second, "TaskTimedOut"},
		{"made up", "AAAA", "InvalidToken"},
		{"not even text of a token", "no token!", "InvalidToken"},
		{"changed", base64.RawURLEncoding.EncodeToString(raw), "InvalidToken"},
		{"cut short", first[:len(first)-4], "InvalidToken"},
		{"the longest that is read", strings.Repeat("A", 2048), "InvalidToken"},
		{"longer than any", strings.Repeat("A", 2049), "ValidationException"},
		{"open", first, "<nil>"},
		{"answered", first, "TaskTimedOut"},
	} {
		if err := e.success(tc.token); code(err) != tc.want {
			t.Errorf("a token %s: %v, want %s", tc.rule, err, tc.want)
		}
	}
	e.settle()
	e.until(91 * 24 * time.Hour)
	if err := e.success(first); code(err) != "TaskDoesNotExist" {
		t.Errorf("a token of a forgotten execution: %v", err)
	}
	other := setup(t)
	other.create(product(t))
	other.start("ticket-1")
	other.settle()
	if err := other.success(first); code(err) != "InvalidToken" {
		t.Errorf("a token of another service: %v", err)
	}
}

// A token is too late from the very moment of its time-out, also when nobody has looked at the clock since.
func TestATokenIsLateFromItsTimeOutOn(t *testing.T) {
	t.Parallel()
	for after, want := range map[time.Duration]string{time.Minute - time.Nanosecond: "<nil>", time.Minute: "TaskTimedOut"} {
		e := setup(t)
		e.create(token(`,"TimeoutSeconds":60`))
		e.start("x")
		e.settle()
		e.clock.Advance(after)
		if err := e.success(e.f.last().Token); code(err) != want {
			t.Errorf("after %v: %v, want %s", after, err, want)
		}
	}
}

// Each attempt has its own token; that of an attempt that failed ends nothing.
func TestATokenOfAnEarlierAttemptIsOver(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.create(token(`,"Retry":[{"ErrorEquals":["x"]}],"ResultPath":null`))
	var tokens []string
	e.f.answer = func(_ context.Context, i invocation) (any, error) {
		if tokens = append(tokens, i.Token); len(tokens) == 1 {
			return nil, &sfn.FunctionError{Type: "x"}
		}
		return struct{}{}, nil
	}
	arn := e.start("x")
	e.until(time.Second)
	if err := e.success(tokens[0]); code(err) != "TaskTimedOut" {
		t.Errorf("the first token: %v", err)
	}
	e.wantStatus(arn, types.ExecutionStatusRunning)
	if err := e.success(tokens[1]); err != nil {
		t.Errorf("the second token: %v", err)
	}
	e.wantStatus(arn, types.ExecutionStatusSucceeded)
}

// An attempt that has a token without waiting for it cannot be answered by one.
func TestOnlyTasksThatWaitAreAnswered(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.create(product(t))
	arn := e.start("ticket-1")
	e.settle()
	hold := e.f.last().Token
	e.f.answer = func(context.Context, invocation) (any, error) { return nil, errors.New("down") }
	if _, err := e.c.SendTaskFailure(t.Context(), &client.SendTaskFailureInput{TaskToken: &hold, Error: aws.String("Lost"), Cause: aws.String("why")}); err != nil {
		t.Fatal(err)
	}
	e.until(time.Second)
	if err := e.success(hold); code(err) != "TaskTimedOut" {
		t.Errorf("%v", err)
	}
	e.wantStatus(arn, types.ExecutionStatusRunning)
}

func TestAReportedFailureIsRetriedAndCaught(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.create(token(`,"Retry":[{"ErrorEquals":["Lost"],"MaxAttempts":1}],"Catch":[{"ErrorEquals":["Lost"],"ResultPath":"$.e","Next":"Z"}]`))
	arn := e.startWith("x", `{"ticket":1}`)
	for i := range 2 {
		e.until(time.Duration(i+1) * time.Minute)
		hold := e.f.last().Token
		if _, err := e.c.SendTaskFailure(t.Context(), &client.SendTaskFailureInput{TaskToken: &hold, Error: aws.String("Lost"), Cause: aws.String("why")}); err != nil {
			t.Fatal(err)
		}
	}
	if got := aws.ToString(e.describe(arn).Output); got != `{"e":{"Cause":"why","Error":"Lost"},"ticket":1}` {
		t.Errorf("output %s", got)
	}
}

func TestOutputsAreJSONOfABoundedSize(t *testing.T) {
	t.Parallel()
	const limit = 256 << 10
	for name, tc := range map[string]struct{ output, want string }{
		"none": {"", "InvalidOutput"}, "no JSON": {"{", "InvalidOutput"}, "two values": {"{} }", "InvalidOutput"}, "a number": {"7", "<nil>"},
		"at the limit": {`"` + strings.Repeat("x", limit-2) + `"`, "<nil>"}, "past the limit": {`"` + strings.Repeat("x", limit-1) + `"`, "InvalidOutput"},
	} {
		e := setup(t)
		e.create(token(""))
		e.start("x")
		e.settle()
		_, err := e.c.SendTaskSuccess(t.Context(), &client.SendTaskSuccessInput{TaskToken: aws.String(e.f.last().Token), Output: &tc.output})
		if code(err) != tc.want {
			t.Errorf("%s: %v, want %s", name, err, tc.want)
		}
	}
}

func TestAnExecutionIsStopped(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.create(product(t))
	arn := e.start("ticket-1")
	e.settle()
	e.clock.Advance(time.Minute)
	for range 2 {
		o, err := e.c.StopExecution(t.Context(), &client.StopExecutionInput{ExecutionArn: &arn, Error: aws.String("Enough"), Cause: aws.String("why")})
		if err != nil || !o.StopDate.Equal(began.Add(time.Minute)) {
			t.Errorf("%+v, %v", o, err)
		}
		e.clock.Advance(time.Minute)
	}
	o := e.describe(arn)
	if o.Status != types.ExecutionStatusAborted || aws.ToString(o.Error) != "Enough" || aws.ToString(o.Cause) != "why" {
		t.Errorf("%s, %s, %s", o.Status, aws.ToString(o.Error), aws.ToString(o.Cause))
	}
	e.until(2 * time.Hour)
	e.wantCalls("notify@0", "remaining@0", "hold@0")
}

func TestMachinesAreCreatedOnceAndUpdated(t *testing.T) {
	t.Parallel()
	e := setup(t)
	arn := e.create(product(t))
	e.clock.Advance(time.Minute)
	if again := e.create(product(t)); again != arn || arn != machineARN {
		t.Errorf("%s, then %s", arn, again)
	}
	if err := e.tryCreate(task("")); code(err) != "StateMachineAlreadyExists" {
		t.Errorf("another definition: %v", err)
	}
	old := e.start("ticket-1")
	e.settle()
	e.wantCalls("notify@60", "remaining@60", "hold@60")
	if _, err := e.c.UpdateStateMachine(t.Context(), &client.UpdateStateMachineInput{StateMachineArn: &arn, Definition: aws.String(task(`,"ResultPath":null`))}); err != nil {
		t.Fatal(err)
	}
	o, err := e.c.DescribeStateMachine(t.Context(), &client.DescribeStateMachineInput{StateMachineArn: &arn})
	if err != nil || aws.ToString(o.Definition) != task(`,"ResultPath":null`) || aws.ToString(o.RoleArn) != role || !o.CreationDate.Equal(began) || o.Status != types.StateMachineStatusActive || o.Type != types.StateMachineTypeStandard || aws.ToString(o.Name) != machine {
		t.Errorf("%+v, %v", o, err)
	}
	e.start("ticket-2")
	e.until(2 * time.Hour)
	e.wantCalls("a@60", "expire@3660") // the one that was under way goes on as it began
	e.wantStatus(old, types.ExecutionStatusSucceeded)
}

func TestRequestsThatAreRefused(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.create(product(t))
	definition, ctx := product(t), t.Context()
	execution := e.start("ticket-1")
	long := strings.Repeat("x", 81)
	create := func(in client.CreateStateMachineInput) func() error {
		return func() error {
			if in.Definition == nil {
				in.Definition = &definition
			}
			if in.RoleArn == nil {
				in.RoleArn = aws.String(role)
			}
			_, err := e.c.CreateStateMachine(ctx, &in)
			return err
		}
	}
	start := func(in client.StartExecutionInput) func() error {
		return func() error {
			if in.StateMachineArn == nil {
				in.StateMachineArn = aws.String(machineARN)
			}
			_, err := e.c.StartExecution(ctx, &in)
			return err
		}
	}
	update := func(in client.UpdateStateMachineInput) func() error {
		return func() error { _, err := e.c.UpdateStateMachine(ctx, &in); return err }
	}
	describe := func(arn string) func() error {
		return func() error {
			_, err := e.c.DescribeExecution(ctx, &client.DescribeExecutionInput{ExecutionArn: &arn})
			return err
		}
	}
	for _, tc := range []struct {
		rule string
		do   func() error
		want string
		says string
	}{
		{"an express machine", create(client.CreateStateMachineInput{Name: aws.String("m"), Type: types.StateMachineTypeExpress}), "StateMachineTypeNotSupported", "EXPRESS"},
		{"a name with a space", create(client.CreateStateMachineInput{Name: aws.String("a b")}), "InvalidName", "a b"},
		{"a name of 81", create(client.CreateStateMachineInput{Name: &long}), "InvalidName", ""},
		{"a role that is none", create(client.CreateStateMachineInput{Name: aws.String("m"), RoleArn: aws.String("me")}), "InvalidArn", ""},
		{"logging", create(client.CreateStateMachineInput{Name: aws.String("m"), LoggingConfiguration: &types.LoggingConfiguration{}}), "SerializationException", "loggingConfiguration"},
		{"tags", create(client.CreateStateMachineInput{Name: aws.String("m"), Tags: []types.Tag{{}}}), "SerializationException", "tags"},
		{"no definition", create(client.CreateStateMachineInput{Name: aws.String("m"), Definition: aws.String("[]")}), "InvalidDefinition", ""},
		{"an update of nothing", update(client.UpdateStateMachineInput{StateMachineArn: aws.String(machineARN)}), "MissingRequiredParameter", ""},
		{"an update with what is not supported", update(client.UpdateStateMachineInput{StateMachineArn: aws.String(machineARN), Definition: aws.String(`{"StartAt":"A","States":{"A":{"Type":"Wait"}}}`)}), "InvalidDefinition", "Wait"},
		{"an update of nobody", update(client.UpdateStateMachineInput{StateMachineArn: aws.String(machineARN + "x"), RoleArn: aws.String(role)}), "StateMachineDoesNotExist", ""},
		{"no name", start(client.StartExecutionInput{}), "ValidationException", "name"},
		{"an execution's name with a space", start(client.StartExecutionInput{Name: aws.String("a b")}), "InvalidName", ""},
		{"an execution's name of 81", start(client.StartExecutionInput{Name: &long}), "InvalidName", ""},
		{"an execution's name of 80", start(client.StartExecutionInput{Name: aws.String(long[1:])}), "<nil>", ""},
		{"an input that is no JSON", start(client.StartExecutionInput{Name: aws.String("n"), Input: aws.String("{")}), "InvalidExecutionInput", ""},
		{"an input past the limit", start(client.StartExecutionInput{Name: aws.String("n"), Input: aws.String(`"` + strings.Repeat("x", 256<<10) + `"`)}), "InvalidExecutionInput", ""},
		{"a trace header", start(client.StartExecutionInput{Name: aws.String("n"), TraceHeader: aws.String("t")}), "SerializationException", "traceHeader"},
		{"a machine that does not exist", start(client.StartExecutionInput{Name: aws.String("n"), StateMachineArn: aws.String(machineARN + "x")}), "StateMachineDoesNotExist", ""},
		{"an ARN that is none", start(client.StartExecutionInput{Name: aws.String("n"), StateMachineArn: aws.String("approvals")}), "InvalidArn", ""},
		{"an execution that does not exist", describe(execution + "x"), "ExecutionDoesNotExist", ""},
		{"an execution's ARN that is none", describe(machineARN), "InvalidArn", ""},
		{"an operation that is not implemented", func() error {
			_, err := e.c.GetExecutionHistory(ctx, &client.GetExecutionHistoryInput{ExecutionArn: &execution})
			return err
		}, "UnknownOperationException", "GetExecutionHistory"},
		{"a heartbeat", func() error {
			_, err := e.c.SendTaskHeartbeat(ctx, &client.SendTaskHeartbeatInput{TaskToken: aws.String("t")})
			return err
		}, "UnknownOperationException", "SendTaskHeartbeat"},
	} {
		if err := tc.do(); code(err) != tc.want || !strings.Contains(fmt.Sprint(err), tc.says) {
			t.Errorf("%s: %v, want %s that says %q", tc.rule, err, tc.want, tc.says)
		}
	}
}

func TestTheProtocol(t *testing.T) {
	t.Parallel()
	e := setup(t)
	for name, tc := range map[string]struct {
		method, target, body string
		want                 string
	}{
		"a target of another service": {"POST", "AmazonSQS.SendMessage", "{}", "UnknownOperationException"},
		"a GET":                       {"GET", "AWSStepFunctions.StartExecution", "", "UnknownOperationException"},
		"no JSON":                     {"POST", "AWSStepFunctions.StartExecution", "{", "SerializationException"},
		"two values":                  {"POST", "AWSStepFunctions.StartExecution", "{}{}", "SerializationException"},
		"no UTF-8":                    {"POST", "AWSStepFunctions.StartExecution", "{\"name\":\"\xff\"}", "SerializationException"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), tc.method, e.url, strings.NewReader(tc.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Amz-Target", tc.target)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), "#"+tc.want) || res.Header.Get("Content-Type") != "application/x-amz-json-1.0" {
			t.Errorf("%s: %d %s, %v", name, res.StatusCode, body, err)
		}
	}
}

// What goes wrong on the way is decided by the injector, which is told the machine, whatever names it.
func TestFaults(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.create(product(t))
	seen := map[string]string{}
	var mu sync.Mutex
	kind := fault.None
	inject := func(k fault.Kind) {
		mu.Lock()
		defer mu.Unlock()
		kind = k
	}
	e.faults.Set(func(op fault.Op) fault.Fault {
		mu.Lock()
		defer mu.Unlock()
		seen[op.Action] = op.Service + " " + op.Resource + " " + op.AccessKey
		return fault.Fault{Kind: kind}
	})
	arn := e.start("ticket-1")
	e.settle()
	hold := e.f.last().Token
	e.describe(arn)
	for k, want := range map[fault.Kind]string{fault.Throttle: "ThrottlingException", fault.ErrorBefore: "InternalFailure"} {
		inject(k)
		if err := e.success(hold); code(err) != want {
			t.Errorf("kind %d: %v", k, err)
		}
	}
	inject(fault.Drop)
	if err := e.success(hold); err == nil {
		t.Error("a dropped request has an answer")
	}
	inject(fault.None)
	e.wantStatus(arn, types.ExecutionStatusRunning)
	inject(fault.DropAfterCommit)
	if err := e.success(hold); err == nil {
		t.Error("a lost answer arrived")
	}
	inject(fault.None)
	e.wantStatus(arn, types.ExecutionStatusSucceeded)
	mu.Lock()
	defer mu.Unlock()
	for _, action := range []string{"StartExecution", "DescribeExecution", "SendTaskSuccess"} {
		if want := "sfn approvals AKIDTEST"; seen[action] != want {
			t.Errorf("%s: %q, want %q", action, seen[action], want)
		}
	}
}
