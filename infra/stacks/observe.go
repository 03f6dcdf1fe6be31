package stacks

import (
	"fmt"
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/jsii-runtime-go"

	"bailing/shared/topology"
)

// alarmSeconds is the period in which a dead letter is noticed.
const alarmSeconds = 300

// newAlarms watches the dead-letter queues, where a message is work that nobody does any more, and the machines. The alarms are L1, so that the
// topic stays an ARN and needs no import.
func (s *stateless) newAlarms() {
	var actions *[]any
	if s.options.AlarmTopicARN != "" {
		actions = &[]any{s.options.AlarmTopicARN}
	}
	for _, q := range s.topology.Queues {
		awscloudwatch.NewCfnAlarm(s.stack, jsii.String("alarm-"+q.Name+"-dlq"), &awscloudwatch.CfnAlarmProps{
			AlarmName:          jsii.String(s.options.TablePrefix + q.Name + "-dlq"),
			AlarmDescription:   jsii.String("messages of the queue " + q.Name + " failed for good: see their cause in the log, mend it, redrive them"),
			Namespace:          jsii.String("AWS/SQS"),
			MetricName:         jsii.String("ApproximateNumberOfMessagesVisible"),
			Dimensions:         &[]*awscloudwatch.CfnAlarm_DimensionProperty{{Name: jsii.String("QueueName"), Value: s.state.deadLetters[q.Name].QueueName()}},
			Statistic:          jsii.String("Maximum"),
			Period:             jsii.Number(alarmSeconds),
			EvaluationPeriods:  jsii.Number(1),
			Threshold:          jsii.Number(1),
			ComparisonOperator: jsii.String("GreaterThanOrEqualToThreshold"),
			TreatMissingData:   jsii.String("notBreaching"),
			AlarmActions:       actions,
		})
	}
	for _, m := range s.topology.Machines {
		s.newMachineAlarms(m, actions)
	}
}

// newMachineAlarms watches executions that did not come to their end. Tickets are safe: the sweeper ends them. But nobody was told
// of one, or its clock stopped, and the next ones may fare alike.
func (s *stateless) newMachineAlarms(m topology.StateMachine, actions *[]any) {
	for _, end := range []struct{ name, metric, says string }{
		{"failed", "ExecutionsFailed", "failed: see the error of its last state in its history, and the log of the function"},
		{"timed-out", "ExecutionsTimedOut", "lived for a year: see its history"},
	} {
		awscloudwatch.NewCfnAlarm(s.stack, jsii.String("alarm-"+m.Name+"-"+end.name), &awscloudwatch.CfnAlarmProps{
			AlarmName:          jsii.String(s.options.TablePrefix + m.Name + "-" + end.name),
			AlarmDescription:   jsii.String("an execution of the state machine " + m.Name + " " + end.says),
			Namespace:          jsii.String("AWS/States"),
			MetricName:         jsii.String(end.metric),
			Dimensions:         &[]*awscloudwatch.CfnAlarm_DimensionProperty{{Name: jsii.String("StateMachineArn"), Value: jsii.String(s.machineARN(m.Name))}},
			Statistic:          jsii.String("Sum"),
			Period:             jsii.Number(alarmSeconds),
			EvaluationPeriods:  jsii.Number(1),
			Threshold:          jsii.Number(1),
			ComparisonOperator: jsii.String("GreaterThanOrEqualToThreshold"),
			TreatMissingData:   jsii.String("notBreaching"),
			AlarmActions:       actions,
		})
	}
}

// productMetrics are what the functions write (docs/operations.md), one chart each; the namespace is shared/platform's. A
// search finds every value of the dimensions.
var productMetrics = []struct {
	title, dimensions, statistic string
	metrics                      []string
}{
	{"Requests by route and class of status", "function,route,status", "Sum", []string{"http_requests"}},
	{"Duration of requests, p95, ms", "function,route", "p95", []string{"http_duration"}},
	{"Job messages by outcome", "function,outcome", "Sum", []string{"job_messages"}},
	{"Duration of a job's run, p95, ms", "function", "p95", []string{"job_run"}},
	{"Callback attempts by outcome", "function,outcome", "Sum", []string{"callback_attempts"}},
	{"Duration of a callback attempt, p95, ms", "function", "p95", []string{"callback_attempt"}},
	{"Callbacks that were given up", "function", "Sum", []string{"callback_dead"}},
	{"Tasks of waits for approvals by outcome", "function,action,outcome", "Sum", []string{"approval_tasks"}},
	{"Decisions about approvals by outcome", "function,outcome", "Sum", []string{"approval_decisions"}},
	{"What the sweeper did", "function", "Sum", []string{"jobs_requeued", "jobs_recovered", "jobs_expired", "callbacks_promoted"}},
	{"Specifications read by the schedule", "function", "Sum", []string{"specs_refreshed", "specs_failed", "specs_recompiled"}},
}

// newDashboard shows the product's metrics beside what AWS measures of functions and queues.
func (s *stateless) newDashboard() {
	var widgets []awscloudwatch.IWidget
	for _, c := range productMetrics {
		var lines []awscloudwatch.IMetric
		for _, name := range c.metrics {
			lines = append(lines, awscloudwatch.NewSearchExpression(&awscloudwatch.SearchExpressionProps{
				Expression: jsii.String(fmt.Sprintf(`SEARCH('{Bailing,%s} MetricName="%s"', '%s')`, c.dimensions, name, c.statistic)),
				Label:      jsii.String(""), // each line has its dimensions for a label
			}))
		}
		widgets = append(widgets, graph(c.title, lines))
	}
	var functions, queues, machines []string
	for _, f := range s.topology.Functions {
		functions = append(functions, *s.functions[f.Name].FunctionName())
	}
	for _, q := range s.topology.Queues {
		queues = append(queues, *s.state.queues[q.Name].QueueName(), *s.state.deadLetters[q.Name].QueueName())
	}
	for _, m := range s.topology.Machines {
		machines = append(machines, s.machineARN(m.Name))
	}
	widgets = append(widgets,
		graph("State machines: executions that failed", measured("AWS/States", "ExecutionsFailed", "Sum", "StateMachineArn", machines)),
		graph("Functions: errors", measured("AWS/Lambda", "Errors", "Sum", "FunctionName", functions)),
		graph("Functions: throttled invocations", measured("AWS/Lambda", "Throttles", "Sum", "FunctionName", functions)),
		graph("Functions: duration, p95, ms", measured("AWS/Lambda", "Duration", "p95", "FunctionName", functions)),
		graph("Queues: waiting messages", measured("AWS/SQS", "ApproximateNumberOfMessagesVisible", "Maximum", "QueueName", queues)),
		graph("Queues: age of the oldest message, s", measured("AWS/SQS", "ApproximateAgeOfOldestMessage", "Maximum", "QueueName", queues)),
	)
	var rows []*[]awscloudwatch.IWidget
	for row := range slices.Chunk(widgets, 2) {
		rows = append(rows, &row)
	}
	awscloudwatch.NewDashboard(s.stack, jsii.String("dashboard"), &awscloudwatch.DashboardProps{
		DashboardName: jsii.String(s.options.TablePrefix + "overview"), Widgets: &rows,
	})
}

// measured is one line for each name.
func measured(namespace, metric, statistic, dimension string, names []string) (lines []awscloudwatch.IMetric) {
	for _, name := range names {
		lines = append(lines, awscloudwatch.NewMetric(&awscloudwatch.MetricProps{
			Namespace: jsii.String(namespace), MetricName: jsii.String(metric), Statistic: jsii.String(statistic),
			DimensionsMap: &map[string]*string{dimension: jsii.String(name)}, Label: jsii.String(name),
		}))
	}
	return lines
}

func graph(title string, lines []awscloudwatch.IMetric) awscloudwatch.IWidget {
	return awscloudwatch.NewGraphWidget(&awscloudwatch.GraphWidgetProps{
		Title: jsii.String(title), Left: &lines, Width: jsii.Number(12), Height: jsii.Number(6),
	})
}
