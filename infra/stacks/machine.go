package stacks

import (
	"fmt"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsstepfunctions"
	"github.com/aws/jsii-runtime-go"

	"bailing/infra/machines"
	"bailing/shared/topology"
)

// newMachine makes a state machine that may invoke its functions, and nothing more. It is L1, like its role: the L2 would add
// actions that nothing uses.
//
// It writes no log: delivering one takes permissions on every log group of the account, and the tokens of tasks would be in it (I10).
// Step Functions keep the history of each execution for 90 days, the functions log what fails, and the alarms watch the ends.
func (s *stateless) newMachine(m topology.StateMachine) error {
	definition, err := machines.Definition(m, func(function string) string { return *s.functions[function].FunctionArn() })
	if err != nil {
		return fmt.Errorf("machine %s: %w", m.Name, err)
	}
	doc := awsiam.NewPolicyDocument(nil)
	for _, f := range m.Invokes {
		allow(doc, []string{"lambda:InvokeFunction"}, *s.functions[f].FunctionArn())
	}
	role := awsiam.NewRole(s.stack, jsii.String("role-machine-"+m.Name), &awsiam.RoleProps{
		Description: jsii.String("what the state machine " + m.Name + " may do"),
		// Only on behalf of this account: another one's machine must not act through the service as this role.
		AssumedBy: awsiam.NewServicePrincipal(jsii.String("states.amazonaws.com"), &awsiam.ServicePrincipalOpts{
			Conditions: &map[string]any{"StringEquals": map[string]*string{"aws:SourceAccount": s.stack.Account()}},
		}),
		InlinePolicies: &map[string]awsiam.PolicyDocument{"topology": doc},
	})
	awsstepfunctions.NewCfnStateMachine(s.stack, jsii.String("machine-"+m.Name), &awsstepfunctions.CfnStateMachineProps{
		StateMachineName: jsii.String(s.machineName(m.Name)),
		StateMachineType: jsii.String("STANDARD"),
		RoleArn:          role.RoleArn(),
		DefinitionString: jsii.String(definition),
	})
	return nil
}

func (s *stateless) machineName(machine string) string { return s.options.TablePrefix + machine }

// machineARN is written out instead of being taken from the machine: what the machine invokes may answer its tokens, and a reference
// there and back is a circle that no deployment gets out of.
func (s *stateless) machineARN(machine string) string {
	return *s.stack.FormatArn(&awscdk.ArnComponents{
		Service: jsii.String("states"), Resource: jsii.String("stateMachine"), ResourceName: jsii.String(s.machineName(machine)),
		ArnFormat: awscdk.ArnFormat_COLON_RESOURCE_NAME,
	})
}

// machineVariable names the environment variable that holds the ARN of a state machine.
func machineVariable(machine string) string {
	return "BAILING_" + strings.ToUpper(strings.ReplaceAll(machine, "-", "_")) + "_MACHINE"
}
