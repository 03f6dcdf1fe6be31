package provision_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sfn"

	"bailing/shared/awslocal/provision"
	"bailing/shared/topology"
)

// The machine is made with the functions of the local stack; one that an earlier release made gets today's definition.
func TestMachinesHaveTodaysDefinition(t *testing.T) {
	t.Parallel()
	w := start(t, "")
	config := w.env.Config("test")
	client := sfn.NewFromConfig(config)
	const old = `{"StartAt":"Done","States":{"Done":{"Type":"Succeed"}}}`
	if _, err := client.CreateStateMachine(t.Context(), &sfn.CreateStateMachineInput{
		Name: aws.String(prefix + topology.MachineApprovals), Definition: aws.String(old), RoleArn: aws.String("arn:aws:iam::000000000000:role/old"),
	}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		made, err := provision.Create(t.Context(), config, topology.System(), prefix)
		if err != nil {
			t.Fatal(err)
		}
		arn := made.Machines[topology.MachineApprovals]
		o, err := client.DescribeStateMachine(t.Context(), &sfn.DescribeStateMachineInput{StateMachineArn: &arn})
		if err != nil {
			t.Fatal(err)
		}
		if text := aws.ToString(o.Definition); strings.Contains(text, "${") || !strings.Contains(text, `"arn:aws:lambda:us-east-1:000000000000:function:approvalwait"`) {
			t.Errorf("the definition is %s", text)
		}
	}
}
