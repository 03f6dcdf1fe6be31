package stacks_test

import (
	"encoding/json"
	"strings"
	"testing"

	"bailing/infra/machines"
	"bailing/infra/stacks"
	"bailing/shared/topology"
)

func machineARN(machine string) string {
	return "arn:«AWS::Partition»:states:«AWS::Region»:«AWS::AccountId»:stateMachine:bailing-" + machine
}

func TestMachinesAreThoseOfTheTopology(t *testing.T) {
	t.Parallel()
	a, system := product(t), topology.System()
	if n := len(a.stateless.of("AWS::StepFunctions::StateMachine")); n != len(system.Machines) {
		t.Errorf("%d machines, want %d", n, len(system.Machines))
	}
	for _, m := range system.Machines {
		r := a.stateless.one(t, "AWS::StepFunctions::StateMachine", "StateMachineName", "bailing-"+m.Name)
		r.want(t, "StateMachineType", "STANDARD")
		want, err := machines.Definition(m, func(function string) string { return "«" + a.function(t, function).id + ".Arn»" })
		if err != nil {
			t.Fatal(err)
		}
		got := a.resolve(r.Properties["DefinitionString"])
		if got != want || !json.Valid([]byte(got)) {
			t.Errorf("%s is defined as %s, want %s", m.Name, got, want)
		}
	}
}

// The tokens of tasks are in what a machine would log (I10), and delivering logs takes permissions on all of the account's.
func TestMachinesWriteNoLog(t *testing.T) {
	t.Parallel()
	for _, r := range product(t).stateless.of("AWS::StepFunctions::StateMachine") {
		r.want(t, "LoggingConfiguration", nil)
		r.want(t, "TracingConfiguration", nil)
	}
}

func TestAMachineMayInvokeItsFunctionsOnly(t *testing.T) {
	t.Parallel()
	a := product(t)
	for _, m := range topology.System().Machines {
		r := a.stateless.one(t, "AWS::StepFunctions::StateMachine", "StateMachineName", "bailing-"+m.Name)
		role := a.stateless.Resources[strings.TrimSuffix(strings.TrimPrefix(a.resolve(r.Properties["RoleArn"]), "«"), ".Arn»")]
		role.want(t, "ManagedPolicyArns", nil)
		role.want(t, "Policies.1", nil)
		role.want(t, "AssumeRolePolicyDocument.Statement.0.Principal.Service", "states.amazonaws.com")
		role.want(t, "AssumeRolePolicyDocument.Statement.1", nil)
		if got := a.resolve(at(role.Properties, "AssumeRolePolicyDocument.Statement.0.Condition.StringEquals.aws:SourceAccount")); got != "«AWS::AccountId»" {
			t.Errorf("%s may be assumed for the account %s", role.id, got)
		}
		statements, _ := at(role.Properties, "Policies.0.PolicyDocument.Statement").([]any)
		if len(statements) != len(m.Invokes) {
			t.Fatalf("%d statements for %d functions", len(statements), len(m.Invokes))
		}
		for i, f := range m.Invokes {
			if at(statements[i], "Effect") != "Allow" || at(statements[i], "Action") != "lambda:InvokeFunction" || a.resolve(at(statements[i], "Resource")) != "«"+a.function(t, f).id+".Arn»" {
				t.Errorf("%s: %v", m.Name, statements[i])
			}
		}
	}
}

// Whoever starts the machine, or answers its tokens, refers to it by its name: a function that the machine invokes may be among them.
func TestFunctionsDoNotDependOnTheMachine(t *testing.T) {
	t.Parallel()
	a := product(t)
	for _, kind := range []string{"AWS::Lambda::Function", "AWS::IAM::Role"} {
		for _, r := range a.stateless.of(kind) {
			b, err := json.Marshal(r.Properties)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range a.stateless.of("AWS::StepFunctions::StateMachine") {
				if strings.Contains(string(b), `"`+m.id+`"`) {
					t.Errorf("%s refers to %s", r.id, m.id)
				}
			}
		}
	}
	for _, name := range []string{"jobworker", "sweeper", "admin", "approvalwait"} {
		if got := a.resolve(at(a.function(t, name).Properties, "Environment.Variables.BAILING_APPROVALS_MACHINE")); got != machineARN(topology.MachineApprovals) {
			t.Errorf("%s: the machine is %s", name, got)
		}
	}
	a.function(t, "runs").want(t, "Environment.Variables.BAILING_APPROVALS_MACHINE", nil)
}

func TestAlarmsWatchExecutions(t *testing.T) {
	t.Parallel()
	a := product(t)
	for _, m := range topology.System().Machines {
		for name, metric := range map[string]string{"failed": "ExecutionsFailed", "timed-out": "ExecutionsTimedOut"} {
			alarm := a.stateless.one(t, "AWS::CloudWatch::Alarm", "AlarmName", "bailing-"+m.Name+"-"+name)
			alarm.want(t, "Namespace", "AWS/States")
			alarm.want(t, "MetricName", metric)
			alarm.want(t, "Statistic", "Sum")
			alarm.want(t, "Threshold", 1.0)
			alarm.want(t, "ComparisonOperator", "GreaterThanOrEqualToThreshold")
			alarm.want(t, "TreatMissingData", "notBreaching")
			alarm.want(t, "Dimensions.0.Name", "StateMachineArn")
			if got := a.resolve(at(alarm.Properties, "Dimensions.0.Value")); got != machineARN(m.Name) {
				t.Errorf("%s watches %s", alarm.id, got)
			}
		}
	}
}

func TestAMachineThatCannotBeDefinedIsNotBuilt(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("synthesis takes seconds and needs Node.js")
	}
	system := topology.System()
	system.Machines[0].Definition = "none.asl.json"
	if _, err := synthInto(t.TempDir(), system, stacks.DefaultOptions()); err == nil || !strings.Contains(err.Error(), "none.asl.json") {
		t.Errorf("%v", err)
	}
}
