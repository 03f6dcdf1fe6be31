package waits

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
)

// SFN is the part of the client that is used.
type SFN interface {
	StartExecution(context.Context, *sfn.StartExecutionInput, ...func(*sfn.Options)) (*sfn.StartExecutionOutput, error)
	SendTaskSuccess(context.Context, *sfn.SendTaskSuccessInput, ...func(*sfn.Options)) (*sfn.SendTaskSuccessOutput, error)
}

// Machine is the state machine of approvals.
type Machine struct {
	Client SFN
	ARN    string
}

// deadlineFormat is RFC 3339 in UTC, always with milliseconds: equal deadlines are equal bytes.
const deadlineFormat = "2006-01-02T15:04:05.000Z"

// input is what an execution is started with.
type input struct {
	Ticket   int64  `json:"ticket"`
	Deadline string `json:"deadline"`
}

// Name is the name of a ticket's execution.
func Name(ticketID int64) string { return "ticket-" + strconv.FormatInt(ticketID, 10) }

// Start starts the wait of a ticket. A wait that was started before is success, whether it still runs or has ended.
//
// The input depends on the ticket and its deadline alone, never on the time of this call: Step Functions takes a second start with
// the same name and input for the first one. The machine works out the seconds to the deadline when it begins to hold.
func (m *Machine) Start(ctx context.Context, ticketID int64, deadline time.Time) error {
	text, err := json.Marshal(input{Ticket: ticketID, Deadline: deadline.UTC().Format(deadlineFormat)})
	if err != nil {
		return fmt.Errorf("waits: %w", err)
	}
	_, err = m.Client.StartExecution(ctx, &sfn.StartExecutionInput{
		StateMachineArn: aws.String(m.ARN), Name: aws.String(Name(ticketID)), Input: aws.String(string(text)),
	})
	var exists *types.ExecutionAlreadyExists
	if err != nil && !errors.As(err, &exists) {
		return fmt.Errorf("waits: start %s: %w", Name(ticketID), err)
	}
	return nil
}

// Release ends the wait that holds token. A token that is not open any more, or never was, is success: nobody waits with it. The
// token is in no error.
func (m *Machine) Release(ctx context.Context, token string) error {
	_, err := m.Client.SendTaskSuccess(ctx, &sfn.SendTaskSuccessInput{TaskToken: aws.String(token), Output: aws.String("{}")})
	var timedOut *types.TaskTimedOut
	var absent *types.TaskDoesNotExist
	var invalid *types.InvalidToken
	switch {
	case err == nil, errors.As(err, &timedOut), errors.As(err, &absent), errors.As(err, &invalid):
		return nil
	}
	return fmt.Errorf("waits: release: %w", err)
}
