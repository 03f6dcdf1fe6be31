package stacks

import (
	"fmt"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"

	"bailing/shared/topology"
)

// Build adds both stacks of t to app. They name no account and no region, so that one synthesis serves every deployment.
func Build(app awscdk.App, t topology.Topology, o Options) error {
	if err := topology.Validate(t); err != nil {
		return fmt.Errorf("topology: %w", err)
	}
	if err := o.Validate(t); err != nil {
		return err
	}
	state := newStateful(app, t, o)
	return newStateless(app, t, o, state)
}

// newStack makes the stack that is called name after the deployment's prefix.
func newStack(app awscdk.App, o Options, name, description string, keep bool) awscdk.Stack {
	return awscdk.NewStack(app, jsii.String(o.TablePrefix+name), &awscdk.StackProps{
		Description:           jsii.String(description),
		TerminationProtection: jsii.Bool(keep),
		AnalyticsReporting:    jsii.Bool(false),
	})
}

// output shows a value at the end of a deployment.
func output(stack awscdk.Stack, name, value, description string) {
	awscdk.NewCfnOutput(stack, jsii.String(name), &awscdk.CfnOutputProps{
		Value: jsii.String(value), Description: jsii.String(description),
	})
}

// list is what jsii takes for a list of strings.
func list(values ...string) *[]*string { return jsii.Strings(values...) }
