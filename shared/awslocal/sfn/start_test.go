package sfn_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	client "github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"bailing/shared/awslocal/sfn"
)

// arrivals lets each invocation be waited for.
func (e *env) arrivals() <-chan invocation {
	ch := make(chan invocation, 100)
	e.f.answer = func(_ context.Context, i invocation) (any, error) {
		ch <- i
		return map[string]int{"timeout_s": 3600}, nil
	}
	return ch
}

func next(t *testing.T, ch <-chan invocation, action string) invocation {
	t.Helper()
	i := <-ch
	if i.Action != action {
		t.Fatalf("%s is invoked, want %s", i.Action, action)
	}
	return i
}

// After Start a goroutine does everything, on the injected clock.
func TestStartedItGoesByItself(t *testing.T) {
	t.Parallel()
	e := setup(t)
	ch := e.arrivals()
	e.create(product(t))
	e.service.Start()
	arn := e.start("ticket-1")
	for _, action := range []string{"notify", "remaining"} {
		next(t, ch, action)
	}
	first := next(t, ch, "hold")
	if err := e.success(first.Token); err != nil {
		t.Fatal(err)
	}
	e.wantStatus(arn, types.ExecutionStatusSucceeded)
	e.start("ticket-2")
	for _, action := range []string{"notify", "remaining", "hold"} {
		next(t, ch, action)
	}
	e.clock.Advance(time.Hour)
	if i := next(t, ch, "expire"); i.At != time.Hour {
		t.Errorf("expired at %v", i.At)
	}
}

// Without an invoker tasks wait, and their time-outs with them; one that is set later finds them all.
func TestTasksWaitForAnInvoker(t *testing.T) {
	t.Parallel()
	e := setup(t)
	ch := e.arrivals()
	e.service.SetInvoke(nil)
	e.create(product(t))
	e.service.Start()
	for i := range 3 {
		e.start(fmt.Sprint("ticket-", i))
	}
	e.clock.Advance(24 * time.Hour)
	e.service.SetInvoke(e.f.invoke)
	seen := map[string]int{}
	for range 9 {
		i := <-ch
		seen[i.Action]++
		if i.At != 24*time.Hour {
			t.Errorf("%s at %v", i.Action, i.At)
		}
	}
	if seen["notify"] != 3 || seen["remaining"] != 3 || seen["hold"] != 3 {
		t.Errorf("%v", seen)
	}
}

// As many functions run side by side as the account may have, and no more; the others keep their turn.
func TestInvocationsAreBounded(t *testing.T) {
	t.Parallel()
	e := setup(t)
	arrived, release := make(chan string, 10), make(chan struct{})
	service := sfn.New(sfn.Options{Clock: e.clock, Concurrency: 2, Invoke: func(_ context.Context, _ string, payload []byte) ([]byte, error) {
		arrived <- string(payload)
		<-release
		return []byte(`{}`), nil
	}})
	e.service.Close()
	e.serve(service)
	e.create(task(`,"ResultPath":null`))
	for i := range 5 {
		e.startWith(fmt.Sprint("x", i), fmt.Sprintf(`{"ticket":%d}`, i))
	}
	service.Start()
	got := map[string]bool{<-arrived: true, <-arrived: true}
	if !got[`{"action":"a","ticket":0}`] || !got[`{"action":"a","ticket":1}`] {
		t.Errorf("the first two are %v", got)
	}
	for range 3 {
		select {
		case third := <-arrived:
			t.Errorf("a third one runs: %s", third)
		default:
		}
		release <- struct{}{}
		<-arrived
	}
	close(release)
	service.Drain(t.Context())
}

// Drain lets what runs come to its end and begins nothing. What does not end is cut off, and counts neither as done nor as failed.
func TestDrain(t *testing.T) {
	t.Parallel()
	for _, patient := range []bool{true, false} {
		j := &journal{}
		e := setupLog(t, j)
		e.create(product(t))
		arrived, release := make(chan struct{}), make(chan struct{})
		e.f.answer = func(ctx context.Context, i invocation) (any, error) {
			close(arrived)
			select {
			case <-release:
				return struct{}{}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		e.service.Start()
		e.start("ticket-1")
		<-arrived
		ctx, cancel := context.WithCancel(t.Context())
		if patient {
			close(release)
		} else {
			cancel()
		}
		e.service.Drain(ctx)
		cancel()
		e.wantCalls("notify@0")
		e.f.answer = nil
		restarted, _ := e.restart(j, false)
		restarted.settle()
		if patient {
			restarted.wantCalls("remaining@0", "hold@0")
		} else {
			restarted.wantCalls("notify@0", "remaining@0", "hold@0")
		}
	}
}

// Starts of one name side by side are one start, and answers of one token one answer.
func TestRacesHaveOneWinner(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.create(product(t))
	const racers = 8
	race := func(do func(i int) error) (won int, lost map[string]int) {
		errs := make(chan error, racers)
		for i := range racers {
			go func() { errs <- do(i) }()
		}
		lost = map[string]int{}
		for range racers {
			if err := <-errs; err == nil {
				won++
			} else {
				lost[code(err)]++
			}
		}
		return won, lost
	}
	won, lost := race(func(int) error {
		_, err := e.c.StartExecution(context.Background(), &client.StartExecutionInput{StateMachineArn: aws.String(machineARN), Name: aws.String("same"), Input: aws.String(input)})
		return err
	})
	if won != racers {
		t.Errorf("%d equal starts succeed, %v", won, lost)
	}
	e.settle()
	e.wantCallsInOrder("notify@0", "remaining@0", "hold@0")
	hold := e.f.last().Token
	if won, lost := race(func(int) error { return e.success(hold) }); won != 1 || lost["TaskTimedOut"] != racers-1 {
		t.Errorf("%d answers of one token succeed, %v", won, lost)
	}
	won, lost = race(func(i int) error {
		_, err := e.c.StartExecution(context.Background(), &client.StartExecutionInput{StateMachineArn: aws.String(machineARN), Name: aws.String("other"), Input: aws.String(fmt.Sprint(i))})
		return err
	})
	if won != 1 || lost["ExecutionAlreadyExists"] != racers-1 {
		t.Errorf("%d starts with different inputs succeed, %v", won, lost)
	}
}

// A failure that is not the function's own has a name too.
func TestAnUnknownFailure(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.create(task(`,"Catch":[{"ErrorEquals":["Lambda.Unknown"],"Next":"Z"}]`))
	e.f.answer = func(context.Context, invocation) (any, error) { return nil, errors.New("gone") }
	arn := e.start("x")
	e.settle()
	if got := aws.ToString(e.describe(arn).Output); got != `{"Cause":"{\"errorMessage\":\"gone\",\"errorType\":\"Lambda.Unknown\"}","Error":"Lambda.Unknown"}` {
		t.Errorf("output %s", got)
	}
}
