package stack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"bailing/scripts/local/invoke"
	"bailing/scripts/runtimeapi"
	"bailing/shared/approval"
	standin "bailing/shared/awslocal/sfn"
	"bailing/shared/topology"
	"bailing/shared/waits"
)

// settle does all that executions have to do now.
func (s *Stack) settle(ctx context.Context) {
	for s.AWS.StepFunctions().Step(ctx) {
	}
}

// execution is the status of a ticket's wait.
func (w *crashWorld) execution(id int64) types.ExecutionStatus {
	w.t.Helper()
	client := sfn.NewFromConfig(w.s.platform("tester", Options{Output: io.Discard, Clock: w.clock}).AWS())
	o, err := client.DescribeExecution(w.t.Context(), &sfn.DescribeExecutionInput{
		ExecutionArn: aws.String("arn:aws:states:us-east-1:000000000000:execution:" + prefix + topology.MachineApprovals + ":" + waits.Name(id)),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return o.Status
}

// The worker that freezes a call starts the wait; the machine tells the business and holds the token; the decision ends it.
func TestAnApprovalWaitsInTheMachine(t *testing.T) {
	t.Parallel()
	w := frozen(t)
	ticket := w.checkFrozen()
	if got := w.execution(ticket.ID); got != types.ExecutionStatusRunning || ticket.Token != "" {
		t.Fatalf("the wait is %s, and the ticket has a token of %d characters", got, len(ticket.Token))
	}
	w.s.settle(t.Context())
	if ticket = w.checkFrozen(); ticket.Token == "" || w.execution(ticket.ID) != types.ExecutionStatusRunning {
		t.Fatalf("the token has %d characters, and the wait is %s", len(ticket.Token), w.execution(ticket.ID))
	}
	if w.checkOnce(w.approved()) {
		t.Error("reconciliation")
	}
	if got := w.execution(ticket.ID); got != types.ExecutionStatusSucceeded {
		t.Errorf("after the decision the wait is %s", got)
	}
}

// A decision that comes before the machine holds a token ends the wait as soon as it does.
func TestADecisionBeforeTheTokenEndsTheWait(t *testing.T) {
	t.Parallel()
	w := frozen(t)
	ticket := w.checkFrozen()
	if w.checkOnce(w.approved()) {
		t.Error("reconciliation")
	}
	w.s.settle(t.Context())
	if got := w.execution(ticket.ID); got != types.ExecutionStatusSucceeded {
		t.Errorf("the wait is %s", got)
	}
}

// Wherever the machine is when the decision comes, the approved call is made once and the wait ends; also when the decision is said
// again, and the sweeper comes by.
func TestADecisionMeetsTheMachineInEveryOrder(t *testing.T) {
	t.Parallel()
	for _, approve := range []bool{true, false} {
		for steps, more := 0, true; more; steps++ {
			w := frozen(t)
			ticket := w.checkFrozen()
			for range steps {
				more = more && w.s.AWS.StepFunctions().Step(t.Context())
			}
			for range 2 {
				if _, err := w.decide(t.Context(), w.s.platform("tester", Options{Output: io.Discard, Clock: w.clock}), approve); err != nil {
					t.Fatal(err)
				}
			}
			w.s.settle(t.Context())
			if approve {
				w.recover()
			}
			w.sweep()
			r := w.look()
			if approve && w.checkOnce(r) || !approve && (r.calls != 0 || r.tickets[0].State != approval.Denied) {
				t.Errorf("after %d steps, approved %v: %d calls, tickets %+v", steps, approve, r.calls, r.tickets)
			}
			if got := w.execution(ticket.ID); got != types.ExecutionStatusSucceeded {
				t.Errorf("after %d steps, approved %v: the wait is %s", steps, approve, got)
			}
			if steps > 30 {
				t.Fatal("the machine does not come to rest")
			}
		}
	}
}

// A machine that comes to the ticket when its deadline has passed ends both.
func TestAWaitThatIsLateEndsTheTicket(t *testing.T) {
	t.Parallel()
	w := frozen(t)
	ticket := w.checkFrozen()
	w.clock.Advance(8 * 24 * time.Hour)
	w.s.settle(t.Context())
	if got := w.look().tickets[0].State; got != approval.Expired || w.execution(ticket.ID) != types.ExecutionStatusSucceeded {
		t.Errorf("the ticket is %s, and the wait %s", got, w.execution(ticket.ID))
	}
}

// With its own goroutine the stack needs no step.
func TestExecutionsGoByThemselves(t *testing.T) {
	t.Parallel()
	invoked := make(chan string, 100)
	s, err := Start(t.Context(), Options{Addr: "127.0.0.1:0", SweepEvery: time.Hour, Build: func(_ context.Context, f topology.Function, _ map[string]string, _ io.Writer) (lambda.Handler, error) {
		return function(func(_ context.Context, payload []byte) ([]byte, error) {
			if f.Name == "approvalwait" {
				invoked <- string(payload)
			}
			return []byte(`{"timeout_s":3600}`), nil
		}), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	deadline := time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)
	if err := s.platform("jobworker", Options{Output: io.Discard}).Waits().Start(t.Context(), 7, deadline); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`{"action":"notify","ticket":7}`, `{"action":"remaining","deadline":"2099-01-01T00:00:00.000Z","ticket":7}`} {
		if got := <-invoked; got != want {
			t.Errorf("invoked with %s, want %s", got, want)
		}
	}
	<-invoked // hold, with a token that nobody knows
}

type function func(context.Context, []byte) ([]byte, error)

func (f function) Invoke(ctx context.Context, payload []byte) ([]byte, error) { return f(ctx, payload) }

// A machine sees the same names of errors as in AWS.
func TestErrorsOfFunctionsHaveTheirNames(t *testing.T) {
	t.Parallel()
	own := errors.New("own")
	for _, tc := range []struct {
		err  error
		want string
	}{
		{&runtimeapi.FunctionError{Type: "wrapError", Message: "m"}, "wrapError"}, {fmt.Errorf("f: %w after 1s", invoke.ErrTimeout), "Sandbox.Timedout"},
		{fmt.Errorf("f: %w", runtimeapi.ErrExited), "Runtime.ExitError"}, {own, ""},
	} {
		var named *standin.FunctionError
		switch err := functionError(tc.err); {
		case tc.want == "" && err != own:
			t.Errorf("%v became %v", tc.err, err)
		case tc.want != "" && (!errors.As(err, &named) || named.Type != tc.want):
			t.Errorf("%v became %v, want %s", tc.err, err, tc.want)
		}
	}
	s := &Stack{}
	_, err := s.invoker(topology.Topology{}, Options{})(t.Context(), "nobody", nil)
	var named *standin.FunctionError
	if !errors.As(err, &named) || named.Type != "Lambda.ResourceNotFoundException" {
		t.Errorf("a function that does not exist: %v", err)
	}
}
