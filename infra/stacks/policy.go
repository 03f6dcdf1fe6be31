package stacks

import (
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/jsii-runtime-go"

	"bailing/shared/topology"
)

// onBucketItself are the S3 actions whose resource is the bucket, not its objects.
var onBucketItself = []string{"s3:ListBucket", "s3:GetBucketLocation"}

// onIndexes are the DynamoDB actions that read an index.
var onIndexes = []string{"dynamodb:Query", "dynamodb:Scan"}

// newRole makes the role of f with exactly what the topology grants it, and what every function needs to be one, its own log.
// A role of our own keeps AWSLambdaBasicExecutionRole out, which may write every log of the account.
func (s *stateless) newRole(f topology.Function, log awslogs.LogGroup) awsiam.Role {
	doc := awsiam.NewPolicyDocument(nil)
	allow(doc, []string{"logs:CreateLogStream", "logs:PutLogEvents"}, *log.LogGroupArn())
	for _, g := range f.Grants {
		s.grant(doc, g)
	}
	if f.NeedsServerToken() {
		allow(doc, []string{"secretsmanager:GetSecretValue"}, *s.state.serverToken.SecretArn())
	}
	if f.Logins {
		allow(doc, []string{"secretsmanager:GetSecretValue"}, *s.state.bootstrap.SecretArn())
	}
	return awsiam.NewRole(s.stack, jsii.String("role-"+f.Name), &awsiam.RoleProps{
		Description:    jsii.String("what the function " + f.Name + " may do"),
		AssumedBy:      awsiam.NewServicePrincipal(jsii.String("lambda.amazonaws.com"), nil),
		InlinePolicies: &map[string]awsiam.PolicyDocument{"topology": doc},
	})
}

// grant writes one grant of the topology. A table's indexes are resources of their own.
func (s *stateless) grant(doc awsiam.PolicyDocument, g topology.Grant) {
	switch g.Kind {
	case topology.OnTable:
		arn := *s.state.tables[g.Name].TableArn()
		reads, rest := split(g.Actions, onIndexes)
		allow(doc, rest, arn)
		allow(doc, reads, append([]string{arn}, s.indexARNs(g.Name, arn)...)...)
	case topology.OnQueue:
		allow(doc, g.Actions, *s.state.queues[g.Name].QueueArn())
	case topology.OnBucket:
		arn := *s.state.bucket.BucketArn()
		itself, objects := split(g.Actions, onBucketItself)
		allow(doc, itself, arn)
		allow(doc, objects, arn+"/*")
	case topology.OnKey:
		allow(doc, g.Actions, *s.state.key.KeyArn())
	case topology.OnMachine:
		allow(doc, g.Actions, s.machineARN(g.Name))
	default:
		panic("stacks: a grant on the unknown kind " + string(g.Kind)) // topology.Validate refuses it
	}
}

func (s *stateless) indexARNs(table, arn string) (arns []string) {
	for _, t := range s.topology.Tables {
		if t.Name == table {
			for _, ix := range t.Indexes {
				arns = append(arns, arn+"/index/"+ix.Name)
			}
		}
	}
	return arns
}

func allow(doc awsiam.PolicyDocument, actions []string, resources ...string) {
	if len(actions) == 0 {
		return
	}
	doc.AddStatements(awsiam.NewPolicyStatement(&awsiam.PolicyStatementProps{Actions: list(actions...), Resources: list(resources...)}))
}

// split parts actions into those that are in chosen and the others, in their order.
func split(actions, chosen []string) (in, out []string) {
	for _, a := range actions {
		if slices.Contains(chosen, a) {
			in = append(in, a)
		} else {
			out = append(out, a)
		}
	}
	return in, out
}
