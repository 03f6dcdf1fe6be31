package sfn_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"bailing/shared/awslocal/sfn"
)

// The machine that is deployed, from its start to each of its ends.

func TestADecisionEndsTheWait(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.create(product(t))
	arn := e.start("ticket-1")
	e.settle()
	held := e.f.last()
	e.wantCalls("notify@0", "remaining@0", "hold@0")
	if held.Ticket != "4503599627370495" || held.Token == "" {
		t.Errorf("ticket %s, token of %d characters", held.Ticket, len(held.Token))
	}
	e.wantStatus(arn, types.ExecutionStatusRunning)
	e.until(59 * time.Minute)
	if err := e.success(held.Token); err != nil {
		t.Fatal(err)
	}
	e.settle()
	e.wantCalls()
	o := e.describe(arn)
	if o.Status != types.ExecutionStatusSucceeded || !o.StopDate.Equal(began.Add(59*time.Minute)) || !o.StartDate.Equal(began) {
		t.Errorf("%s from %v to %v", o.Status, o.StartDate, o.StopDate)
	}
	if got := aws.ToString(o.Output); got != `{"deadline":"2027-01-15T09:00:00.000Z","ticket":4503599627370495,"wait":{"timeout_s":3600}}` {
		t.Errorf("output %s", got)
	}
	if at, ok := e.service.Next(); ok {
		t.Errorf("something is due at %v after the end", at)
	}
}

func TestTheDeadlineEndsTheTicket(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.create(product(t))
	arn := e.start("ticket-1")
	e.until(time.Hour - time.Millisecond)
	token := e.f.last().Token
	e.wantCalls("notify@0", "remaining@0", "hold@0")
	e.until(time.Hour)
	e.wantCalls("expire@3600")
	e.wantStatus(arn, types.ExecutionStatusSucceeded)
	var late *types.TaskTimedOut
	if err := e.success(token); !errors.As(err, &late) {
		t.Errorf("a token after its time-out: %v", err)
	}
}

// A business that cannot be told holds nobody up for ever: the wait begins when the tries are used up.
func TestANotificationThatFailsIsTriedAgainAndGivenUp(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.create(product(t))
	e.f.answer = func(_ context.Context, i invocation) (any, error) {
		if i.Action == "notify" {
			return nil, errors.New("down")
		}
		return map[string]int{"timeout_s": 60}, nil
	}
	arn := e.start("ticket-1")
	e.until(24 * time.Hour)
	want, at := []string{"notify@0"}, 0
	for i, delay := 0, 5; i < 20; i, delay = i+1, min(3*delay, 900) {
		at += delay
		want = append(want, fmt.Sprint("notify@", at))
	}
	want = append(want, fmt.Sprint("remaining@", at), fmt.Sprint("hold@", at), fmt.Sprint("expire@", at+60))
	e.wantCalls(want...)
	e.wantStatus(arn, types.ExecutionStatusSucceeded)
}

// A hold whose function fails is tried again with another token; after eight retries the time left is asked for anew.
func TestAHoldThatFailsIsTriedAgain(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.create(product(t))
	fail, tokens := 9, map[string]bool{}
	e.f.answer = func(_ context.Context, i invocation) (any, error) {
		if i.Action == "hold" {
			tokens[i.Token] = true
			if fail > 0 {
				fail--
				return nil, &sfn.FunctionError{Type: "Sandbox.Timedout", Message: "slow"}
			}
		}
		return map[string]int{"timeout_s": 3600}, nil
	}
	arn := e.start("ticket-1")
	e.until(time.Hour)
	e.wantCalls("notify@0", "remaining@0", "hold@0", "hold@2", "hold@6", "hold@14", "hold@30", "hold@62", "hold@126", "hold@246", "hold@366",
		"remaining@366", "hold@366")
	if len(tokens) != 10 {
		t.Errorf("%d different tokens in 10 attempts", len(tokens))
	}
	e.wantStatus(arn, types.ExecutionStatusRunning)
}

func TestAnExpiryIsTriedUntilItSucceeds(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.create(product(t))
	fail := 3
	e.f.answer = func(_ context.Context, i invocation) (any, error) {
		if i.Action == "expire" && fail > 0 {
			fail--
			return nil, errors.New("not yet")
		}
		return map[string]int{"timeout_s": 60}, nil
	}
	arn := e.start("ticket-1")
	e.until(time.Hour)
	e.wantCalls("notify@0", "remaining@0", "hold@0", "expire@60", "expire@62", "expire@66", "expire@74")
	e.wantStatus(arn, types.ExecutionStatusSucceeded)
}

// A function that is down for good makes the execution fail, which is what the alarm watches.
func TestAFunctionThatIsDownForGoodFailsTheExecution(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.create(product(t))
	e.f.answer = boom("Runtime.ExitError")
	arn := e.start("ticket-1")
	e.until(7 * 24 * time.Hour)
	o := e.describe(arn)
	if o.Status != types.ExecutionStatusFailed || aws.ToString(o.Error) != "Runtime.ExitError" || aws.ToString(o.Cause) != `{"errorMessage":"no","errorType":"Runtime.ExitError"}` {
		t.Errorf("%s: %s, %s", o.Status, aws.ToString(o.Error), aws.ToString(o.Cause))
	}
}

// The decision may come while the function that takes the token still runs: what it answers then counts no more.
func TestATokenIsAnsweredWhileItsFunctionRuns(t *testing.T) {
	t.Parallel()
	for _, after := range []error{nil, errors.New("too late to fail")} {
		e := setup(t)
		e.create(product(t))
		e.f.answer = func(_ context.Context, i invocation) (any, error) {
			if i.Action != "hold" {
				return map[string]int{"timeout_s": 60}, nil
			}
			if err := e.success(i.Token); err != nil {
				t.Error(err)
			}
			return struct{}{}, after
		}
		arn := e.start("ticket-1")
		e.until(time.Hour)
		e.wantCalls("notify@0", "remaining@0", "hold@0")
		e.wantStatus(arn, types.ExecutionStatusSucceeded)
	}
}

func TestRetriesFollowTheirDefinition(t *testing.T) {
	t.Parallel()
	cases := []struct {
		rule, retry string
		fail        string
		want        []string
		status      types.ExecutionStatus
	}{
		{"defaults: three, after 1, 2 and 4 s", `[{"ErrorEquals":["States.ALL"]}]`, "x", []string{"a@0", "a@1", "a@3", "a@7"}, "FAILED"},
		{"none at all", `[{"ErrorEquals":["States.ALL"],"MaxAttempts":0}]`, "x", []string{"a@0"}, "FAILED"},
		{"by name", `[{"ErrorEquals":["x"],"MaxAttempts":1}]`, "x", []string{"a@0", "a@1"}, "FAILED"},
		{"another name", `[{"ErrorEquals":["y"],"MaxAttempts":1}]`, "x", []string{"a@0"}, "FAILED"},
		{"the first that matches", `[{"ErrorEquals":["y"],"MaxAttempts":5},{"ErrorEquals":["x","z"],"MaxAttempts":1,"IntervalSeconds":9},{"ErrorEquals":["States.ALL"],"MaxAttempts":5}]`,
			"x", []string{"a@0", "a@9"}, "FAILED"},
		{"a constant pause", `[{"ErrorEquals":["States.TaskFailed"],"BackoffRate":1,"IntervalSeconds":5}]`, "x", []string{"a@0", "a@5", "a@10", "a@15"}, "FAILED"},
		{"a longest pause", `[{"ErrorEquals":["States.ALL"],"BackoffRate":2.5,"IntervalSeconds":2,"MaxDelaySeconds":6,"MaxAttempts":4}]`, "x",
			[]string{"a@0", "a@2", "a@7", "a@13", "a@19"}, "FAILED"},
		{"a time-out is no failure of the task", `[{"ErrorEquals":["States.TaskFailed"]}]`, errTimeout, []string{"a@0"}, "FAILED"},
		{"a time-out by its name", `[{"ErrorEquals":["States.Timeout"],"MaxAttempts":1}]`, errTimeout, []string{"a@0", "a@11"}, "FAILED"},
		{"a time-out among all", `[{"ErrorEquals":["States.ALL"],"MaxAttempts":1}]`, errTimeout, []string{"a@0", "a@11"}, "FAILED"},
	}
	for _, tc := range cases {
		t.Run(tc.rule, func(t *testing.T) {
			t.Parallel()
			e := setup(t)
			if tc.fail == errTimeout {
				e.create(token(`,"TimeoutSeconds":10,"Retry":` + tc.retry))
			} else {
				e.create(task(`,"Retry":` + tc.retry))
				e.f.answer = boom(tc.fail)
			}
			arn := e.start("x")
			e.until(time.Hour)
			e.wantCalls(tc.want...)
			o := e.describe(arn)
			if o.Status != tc.status || aws.ToString(o.Error) != tc.fail {
				t.Errorf("%s with %s", o.Status, aws.ToString(o.Error))
			}
		})
	}
}

const errTimeout = "States.Timeout"

// Retriers count by themselves, and begin anew when the state is left.
func TestEachRetrierCountsItsOwnTries(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.create(task(`,"Retry":[{"ErrorEquals":["x"],"MaxAttempts":1},{"ErrorEquals":["y"],"MaxAttempts":2}]`))
	kinds := []string{"y", "x", "y", "x"}
	e.f.answer = func(context.Context, invocation) (any, error) {
		kind := kinds[0]
		kinds = kinds[1:]
		return nil, &sfn.FunctionError{Type: kind}
	}
	arn := e.start("x")
	e.until(time.Hour)
	e.wantCalls("a@0", "a@1", "a@2", "a@4") // 1 s for y, 1 s for x, 2 s for the second y
	if o := e.describe(arn); aws.ToString(o.Error) != "x" {
		t.Errorf("ended by %s", aws.ToString(o.Error))
	}
}

func TestCatchersSeeTheError(t *testing.T) {
	t.Parallel()
	cases := []struct {
		rule, catch string
		fail        string
		want        string // output; "" for a failed execution
	}{
		{"null keeps the input", `{"ErrorEquals":["States.ALL"],"ResultPath":null,"Next":"Z"}`, "x", `{"ticket":1}`},
		{"a path takes it in", `{"ErrorEquals":["x"],"ResultPath":"$.went.wrong","Next":"Z"}`, "x",
			`{"ticket":1,"went":{"wrong":{"Cause":"{\"errorMessage\":\"no\",\"errorType\":\"x\"}","Error":"x"}}}`},
		{"without a path it is all there is", `{"ErrorEquals":["States.TaskFailed"],"Next":"Z"}`, "x", `{"Cause":"{\"errorMessage\":\"no\",\"errorType\":\"x\"}","Error":"x"}`},
		{"the first that matches", `{"ErrorEquals":["y"],"Next":"Z"},{"ErrorEquals":["x"],"ResultPath":null,"Next":"Z"},{"ErrorEquals":["States.ALL"],"Next":"Z"}`, "x", `{"ticket":1}`},
		{"none that matches", `{"ErrorEquals":["y"],"Next":"Z"},{"ErrorEquals":["States.Timeout"],"Next":"Z"}`, "x", ""},
	}
	for _, tc := range cases {
		t.Run(tc.rule, func(t *testing.T) {
			t.Parallel()
			e := setup(t)
			e.create(task(`,"Catch":[` + tc.catch + `]`))
			e.f.answer = boom(tc.fail)
			arn := e.startWith("x", `{"ticket":1}`)
			e.settle()
			if o := e.describe(arn); aws.ToString(o.Output) != tc.want || (o.Status == types.ExecutionStatusSucceeded) != (tc.want != "") {
				t.Errorf("%s with output %s, want %s", o.Status, aws.ToString(o.Output), tc.want)
			}
		})
	}
}

func TestResultsGoWhereTheirPathSays(t *testing.T) {
	t.Parallel()
	cases := []struct {
		rule, members string
		input         string
		want          string // output; "" for an execution that fails
	}{
		{"the whole answer", ``, `{"ticket":1}`, `{"ExecutedVersion":"$LATEST","Payload":{"n":12345678901234567890},"StatusCode":200}`},
		{"at the root", `,"ResultPath":"$"`, `{"ticket":1}`, `{"ExecutedVersion":"$LATEST","Payload":{"n":12345678901234567890},"StatusCode":200}`},
		{"nowhere", `,"ResultPath":null`, `{"ticket":1}`, `{"ticket":1}`},
		{"selected", `,"ResultSelector":{"x.$":"$.Payload.n","y":[]}`, `{"ticket":1}`, "refused"},
		{"selected into a path", `,"ResultSelector":{"x.$":"$.Payload.n","y":{"z":true}},"ResultPath":"$.a.b"`, `{"ticket":1,"a":{"c":2}}`, `{"a":{"b":{"x":12345678901234567890,"y":{"z":true}},"c":2},"ticket":1}`},
		{"a path through a number", `,"ResultPath":"$.ticket.x"`, `{"ticket":1}`, ""},
		{"a path into a list", `,"ResultPath":"$.a"`, `[1]`, ""},
		{"a selector that finds nothing", `,"ResultSelector":{"x.$":"$.Payload.absent"}`, `{"ticket":1}`, ""},
		{"an input without what the parameters name", ``, `{}`, ""},
	}
	for _, tc := range cases {
		t.Run(tc.rule, func(t *testing.T) {
			t.Parallel()
			e := setup(t)
			if tc.want == "refused" {
				if err := e.tryCreate(task(tc.members)); err == nil {
					t.Error("accepted")
				}
				return
			}
			e.create(task(tc.members))
			e.f.answer = func(context.Context, invocation) (any, error) {
				return map[string]any{"n": jsonNumber("12345678901234567890")}, nil
			}
			arn := e.startWith("x", tc.input)
			e.settle()
			o := e.describe(arn)
			if tc.want != "" && aws.ToString(o.Output) != tc.want {
				t.Errorf("%s, output %s, want %s", o.Status, aws.ToString(o.Output), tc.want)
			}
			if tc.want == "" && (o.Status != types.ExecutionStatusFailed || aws.ToString(o.Error) != "States.Runtime") {
				t.Errorf("%s with %s", o.Status, aws.ToString(o.Error))
			}
		})
	}
}

// A time-out that a path leads to must be a whole number of seconds; nothing catches it when it is not.
func TestTimeoutsByPath(t *testing.T) {
	t.Parallel()
	for value, ends := range map[string]string{
		`1`: "expired", `99999999`: "", `0`: "States.Runtime", `-1`: "States.Runtime", `100000000`: "States.Runtime", `1.5`: "States.Runtime",
		`"60"`: "States.Runtime", `null`: "States.Runtime",
	} {
		t.Run(value, func(t *testing.T) {
			t.Parallel()
			e := setup(t)
			e.create(token(`,"TimeoutSecondsPath":"$.s","Catch":[{"ErrorEquals":["States.Timeout"],"Next":"Z"},{"ErrorEquals":["States.ALL"],"Next":"A"}]`))
			arn := e.startWith("x", `{"ticket":1,"s":`+value+`}`)
			e.until(time.Second)
			o := e.describe(arn)
			switch ends {
			case "":
				e.wantStatus(arn, types.ExecutionStatusRunning)
			case "expired":
				e.wantStatus(arn, types.ExecutionStatusSucceeded)
			default:
				if aws.ToString(o.Error) != ends {
					t.Errorf("%s: %s", o.Status, aws.ToString(o.Error))
				}
			}
		})
	}
}

// The time-out runs from the beginning of each attempt, and ends it even while its function runs.
func TestATimeOutEndsAnAttemptWhoseFunctionRuns(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.create(task(`,"TimeoutSeconds":90,"Retry":[{"ErrorEquals":["States.ALL"],"MaxAttempts":1}],"ResultPath":null`))
	first := true
	e.f.answer = func(ctx context.Context, _ invocation) (any, error) {
		if first {
			first = false
			e.clock.Advance(91 * time.Second)
			e.settle() // the time-out, and the retry is not due yet
		}
		return struct{}{}, nil
	}
	arn := e.start("x")
	e.until(time.Hour)
	e.wantCalls("a@0", "a@92")
	e.wantStatus(arn, types.ExecutionStatusSucceeded)
}

func TestAnExecutionLivesAYear(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.create(token(""))
	arn := e.start("x")
	e.until(365*24*time.Hour - time.Second)
	e.wantStatus(arn, types.ExecutionStatusRunning)
	e.until(365 * 24 * time.Hour)
	e.wantStatus(arn, types.ExecutionStatusTimedOut)
}

// What is due happens in the order of its time, and at the same time in the order of the starts.
func TestDueThingsHappenInOrder(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.create(task(`,"Retry":[{"ErrorEquals":["late"],"IntervalSeconds":9},{"ErrorEquals":["soon"],"IntervalSeconds":3}]`))
	tries := map[string]int{}
	var order []string
	e.f.answer = func(_ context.Context, i invocation) (any, error) {
		n := string(i.Ticket)
		order = append(order, fmt.Sprintf("%s@%v", n, i.At.Seconds()))
		if tries[n]++; tries[n] > 1 {
			return struct{}{}, nil
		}
		return nil, &sfn.FunctionError{Type: []string{"soon", "late"}[len(order)%2]}
	}
	for i := range 4 {
		e.startWith(fmt.Sprint("x", i), fmt.Sprintf(`{"ticket":%d}`, i))
	}
	e.until(time.Minute)
	if want := []string{"0@0", "1@0", "2@0", "3@0", "1@3", "3@3", "0@9", "2@9"}; !slices.Equal(order, want) {
		t.Errorf("%q, want %q", order, want)
	}
}

func TestDataHasALimit(t *testing.T) {
	t.Parallel()
	const limit = 256 << 10
	for n, fine := range map[int]bool{limit: true, limit + 1: false} {
		e := setup(t)
		e.create(task(`,"ResultSelector":{"v.$":"$.Payload"},"Catch":[{"ErrorEquals":["States.ALL"],"ResultPath":null,"Next":"Z"}]`))
		wrapped := len(`{"ExecutedVersion":"$LATEST","Payload":"","StatusCode":200}`)
		e.f.answer = func(context.Context, invocation) (any, error) { return strings.Repeat("x", n-wrapped), nil }
		arn := e.start("x")
		e.settle()
		o := e.describe(arn)
		if (o.Status == types.ExecutionStatusSucceeded) != fine || !fine && aws.ToString(o.Error) != "States.DataLimitExceeded" {
			t.Errorf("%d bytes: %s %s", n, o.Status, aws.ToString(o.Error))
		}
	}
}
