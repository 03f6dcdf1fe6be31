package provision

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	sfntypes "github.com/aws/aws-sdk-go-v2/service/sfn/types"

	"bailing/infra/machines"
	"bailing/shared/topology"
)

const (
	// localFunctions begins the ARN of a function of the local stack.
	localFunctions = "arn:aws:lambda:us-east-1:000000000000:function:"
	// localRole is nobody's: the stand-in checks no permission.
	localRole = "arn:aws:iam::000000000000:role/local"
)

// createMachine makes a machine, or gives the one that exists its definition. Executions that are under way keep theirs.
func createMachine(ctx context.Context, c *sfn.Client, m topology.StateMachine, prefix string) (arn string, err error) {
	definition, err := machines.Definition(m, func(function string) string { return localFunctions + function })
	if err != nil {
		return "", err
	}
	made, err := c.CreateStateMachine(ctx, &sfn.CreateStateMachineInput{
		Name: aws.String(prefix + m.Name), Definition: aws.String(definition), RoleArn: aws.String(localRole), Type: sfntypes.StateMachineTypeStandard,
	})
	var exists *sfntypes.StateMachineAlreadyExists
	switch {
	case err == nil:
		return aws.ToString(made.StateMachineArn), nil
	case !errors.As(err, &exists):
		return "", err
	}
	arn = "arn:aws:states:us-east-1:000000000000:stateMachine:" + prefix + m.Name
	_, err = c.UpdateStateMachine(ctx, &sfn.UpdateStateMachineInput{StateMachineArn: aws.String(arn), Definition: aws.String(definition)})
	return arn, err
}
