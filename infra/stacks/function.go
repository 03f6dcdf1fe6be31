package stacks

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsevents"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/jsii-runtime-go"

	"bailing/shared/topology"
)

// eventAgeMax is how long Lambda keeps an asynchronous event at most.
const eventAgeMax = 6 * time.Hour

func (s *stateless) newFunction(f topology.Function) awslambda.Function {
	name := s.options.TablePrefix + f.Name
	log := s.newLogGroup("log-"+f.Name, "/aws/lambda/"+name)
	env := s.environment(f)
	props := &awslambda.FunctionProps{
		FunctionName: jsii.String(name),
		Description:  jsii.String(f.Purpose),
		Runtime:      awslambda.Runtime_PROVIDED_AL2023(),
		Architecture: awslambda.Architecture_ARM_64(),
		Handler:      jsii.String("bootstrap"),
		Code:         awslambda.Code_FromAsset(jsii.String(filepath.Join(s.options.BuildDir, f.Name)), nil),
		MemorySize:   jsii.Number(f.MemoryMB),
		Timeout:      seconds(f.Timeout),
		Environment:  &env,
		LogGroup:     log,
		Role:         s.newRole(f, log),
	}
	if n, ok := s.options.ReservedConcurrency[f.Name]; ok {
		props.ReservedConcurrentExecutions = jsii.Number(n)
	}
	if sendsWhatItConsumes(f) {
		// Lambda takes a message that a message caused for a loop and stops it after 16 hops. A long thread is such a chain: the
		// job that ends queues the next one. Jobs bound their own attempts.
		props.RecursiveLoop = awslambda.RecursiveLoop_ALLOW
	}
	return awslambda.NewFunction(s.stack, jsii.String("function-"+f.Name), props)
}

// environment is what shared/platform reads, and of it only what the function's grants make useful.
func (s *stateless) environment(f topology.Function) map[string]*string {
	o, env := s.options, map[string]*string{}
	set := func(name, value string) {
		if value != "" {
			env[name] = jsii.String(value)
		}
	}
	set("BAILING_TABLE_PREFIX", o.TablePrefix)
	set("BAILING_EGRESS_ALLOW", o.EgressAllow)
	set("BAILING_COMMIT", o.Commit)
	set("BAILING_BUILD_TIME", o.BuildTime)
	if o.AuditRetentionDays > 0 {
		set("BAILING_AUDIT_RETENTION_DAYS", strconv.Itoa(o.AuditRetentionDays))
	}
	if o.JSONBodyMaxBytes > 0 {
		set("BAILING_JSON_BODY_MAX_BYTES", strconv.Itoa(o.JSONBodyMaxBytes))
	}
	for _, g := range f.Grants {
		switch g.Kind {
		case topology.OnBucket:
			set("BAILING_BUCKET", *s.state.bucket.BucketName())
		case topology.OnQueue:
			set(queueVariable(g.Name), *s.state.queues[g.Name].QueueUrl())
		case topology.OnKey:
			set("BAILING_KMS_KEY", *s.state.key.KeyArn())
		case topology.OnMachine:
			set(machineVariable(g.Name), s.machineARN(g.Name))
		}
	}
	if f.NeedsServerToken() {
		set("BAILING_SERVER_TOKEN_SECRET", *s.state.serverToken.SecretArn())
	}
	if f.Tells {
		set("BAILING_PUBLIC_URL", o.publicURL())
		set("BAILING_ALERTS_TYPE", o.AlertsType)
		set("BAILING_ALERTS_URL", o.AlertsURL)
		set("BAILING_ALERTS_TO", o.AlertsTo)
	}
	if f.Logins {
		set("BAILING_BOOTSTRAP_ADMIN_USERNAME", o.BootstrapAdmin)
		set("BAILING_BOOTSTRAP_ADMIN_PASSWORD_SECRET", *s.state.bootstrap.SecretArn())
	}
	return env
}

// queueVariable names the environment variable that holds the URL of a queue.
func queueVariable(queue string) string {
	return "BAILING_" + strings.ToUpper(strings.ReplaceAll(queue, "-", "_")) + "_QUEUE_URL"
}

// consume lets the function's queue invoke it. The permission to poll is the topology's grant: awslambdaeventsources would add
// actions that nothing uses.
func (s *stateless) consume(f topology.Function) {
	queue := s.queue(f.Queue)
	s.functions[f.Name].AddEventSourceMapping(jsii.String("queue"), &awslambda.EventSourceMappingOptions{
		EventSourceArn:          s.state.queues[f.Queue].QueueArn(),
		BatchSize:               jsii.Number(f.BatchSize),
		MaxConcurrency:          jsii.Number(queue.MaxConcurrency),
		ReportBatchItemFailures: jsii.Bool(true),
	})
}

func (s *stateless) queue(name string) topology.Queue {
	i := slices.IndexFunc(s.topology.Queues, func(q topology.Queue) bool { return q.Name == name })
	return s.topology.Queues[i]
}

// schedule lets EventBridge invoke the function. A failed run is not repeated: the next one comes soon, and finds what this
// one left.
func (s *stateless) schedule(f topology.Function) {
	fn := s.functions[f.Name]
	rule := awsevents.NewCfnRule(s.stack, jsii.String("schedule-"+f.Name), &awsevents.CfnRuleProps{
		Description:        jsii.String("runs the function " + f.Name),
		ScheduleExpression: jsii.String(rate(f.Every)),
		State:              jsii.String("ENABLED"),
		Targets:            &[]*awsevents.CfnRule_TargetProperty{{Id: jsii.String(f.Name), Arn: fn.FunctionArn()}},
	})
	fn.AddPermission(jsii.String("schedule"), &awslambda.Permission{
		Principal: awsiam.NewServicePrincipal(jsii.String("events.amazonaws.com"), nil), SourceArn: rule.AttrArn(),
	})
	fn.ConfigureAsyncInvoke(&awslambda.EventInvokeConfigOptions{RetryAttempts: jsii.Number(0), MaxEventAge: seconds(min(f.Every, eventAgeMax))})
}

// rate is a schedule of EventBridge, which insists on the right grammatical number.
func rate(every time.Duration) string {
	if every == time.Minute {
		return "rate(1 minute)"
	}
	return fmt.Sprintf("rate(%d minutes)", int(every.Minutes()))
}

// sendsWhatItConsumes says whether messages of f may come back to it, directly or through another queue.
func sendsWhatItConsumes(f topology.Function) bool {
	return f.Queue != "" && slices.ContainsFunc(f.Grants, func(g topology.Grant) bool {
		return g.Kind == topology.OnQueue && slices.Contains(g.Actions, "sqs:SendMessage")
	})
}

func seconds(d time.Duration) awscdk.Duration {
	return awscdk.Duration_Seconds(jsii.Number(d.Seconds()))
}
