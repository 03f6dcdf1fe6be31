package waits_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"bailing/shared/waits"
)

// client remembers what was asked and answers err.
type client struct {
	started  []*sfn.StartExecutionInput
	released []*sfn.SendTaskSuccessInput
	err      error
}

func (c *client) StartExecution(_ context.Context, in *sfn.StartExecutionInput, _ ...func(*sfn.Options)) (*sfn.StartExecutionOutput, error) {
	c.started = append(c.started, in)
	return &sfn.StartExecutionOutput{}, c.err
}

func (c *client) SendTaskSuccess(_ context.Context, in *sfn.SendTaskSuccessInput, _ ...func(*sfn.Options)) (*sfn.SendTaskSuccessOutput, error) {
	c.released = append(c.released, in)
	return &sfn.SendTaskSuccessOutput{}, c.err
}

// The input is a function of the ticket and its deadline, so that a start repeated later, elsewhere, is the same start.
func TestAStartRepeatedLaterIsTheSameRequest(t *testing.T) {
	t.Parallel()
	c := &client{}
	m := &waits.Machine{Client: c, ARN: "arn:machine"}
	deadline := time.Date(2026, 7, 8, 12, 0, 0, 7_900_000, time.UTC)
	for _, at := range []time.Time{deadline, deadline.In(time.FixedZone("elsewhere", 3600)), deadline.Truncate(time.Millisecond)} {
		if err := m.Start(t.Context(), 4503599627370495, at); err != nil {
			t.Fatal(err)
		}
	}
	for _, in := range c.started {
		if aws.ToString(in.StateMachineArn) != "arn:machine" || aws.ToString(in.Name) != "ticket-4503599627370495" ||
			aws.ToString(in.Input) != `{"ticket":4503599627370495,"deadline":"2026-07-08T12:00:00.007Z"}` {
			t.Errorf("%s %s %s", aws.ToString(in.StateMachineArn), aws.ToString(in.Name), aws.ToString(in.Input))
		}
	}
}

func TestAnExecutionThatExistsIsStarted(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	for _, tc := range []struct{ err, want error }{
		{nil, nil}, {&types.ExecutionAlreadyExists{}, nil}, {down, down}, {&types.StateMachineDoesNotExist{}, &types.StateMachineDoesNotExist{}},
	} {
		err := (&waits.Machine{Client: &client{err: tc.err}}).Start(t.Context(), 1, time.Unix(0, 0))
		if (err == nil) != (tc.want == nil) || !errors.Is(err, tc.err) && tc.want != nil {
			t.Errorf("%v: %v, want %v", tc.err, err, tc.want)
		}
	}
}

func TestATokenThatIsNotOpenIsReleased(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		err  error
		fine bool
	}{
		{nil, true}, {&types.TaskTimedOut{}, true}, {&types.TaskDoesNotExist{}, true}, {&types.InvalidToken{}, true},
		{&types.InvalidOutput{}, false}, {errors.New("down"), false},
	} {
		c := &client{err: tc.err}
		err := (&waits.Machine{Client: c}).Release(t.Context(), "the-token")
		if (err == nil) != tc.fine {
			t.Errorf("%v: %v", tc.err, err)
		}
		if err != nil && strings.Contains(err.Error(), "the-token") {
			t.Errorf("the error shows the token: %v", err)
		}
		if len(c.released) != 1 || aws.ToString(c.released[0].TaskToken) != "the-token" || aws.ToString(c.released[0].Output) != "{}" {
			t.Errorf("%+v", c.released)
		}
	}
}
