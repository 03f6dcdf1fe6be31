package stacks

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"

	"bailing/shared/topology"
)

// stateless is the stack while it is being built.
type stateless struct {
	stack     awscdk.Stack
	topology  topology.Topology
	options   Options
	state     *stateful
	functions map[string]awslambda.Function
}

func newStateless(app awscdk.App, t topology.Topology, o Options, state *stateful) error {
	s := &stateless{
		stack:    newStack(app, o, "stateless", "What runs bailing: functions, their triggers, the REST API and what watches them", false),
		topology: t, options: o, state: state,
		functions: map[string]awslambda.Function{},
	}
	for _, f := range t.Functions {
		s.functions[f.Name] = s.newFunction(f)
		switch {
		case f.Queue != "":
			s.consume(f)
		case f.Every > 0:
			s.schedule(f)
		}
	}
	for _, m := range t.Machines {
		if err := s.newMachine(m); err != nil {
			return err
		}
	}
	s.newAPI()
	s.newAlarms()
	s.newDashboard()
	return nil
}

// newLogGroup makes a log group that goes with the stack: what must be kept for longer is in the ledger.
func (s *stateless) newLogGroup(id, name string) awslogs.LogGroup {
	group := awslogs.NewLogGroup(s.stack, jsii.String(id), &awslogs.LogGroupProps{
		LogGroupName:  jsii.String(name),
		RemovalPolicy: awscdk.RemovalPolicy_DESTROY,
	})
	// The L2 takes names of periods; the number is the option.
	group.Node().DefaultChild().(awslogs.CfnLogGroup).SetRetentionInDays(jsii.Number(s.options.LogRetentionDays))
	return group
}
