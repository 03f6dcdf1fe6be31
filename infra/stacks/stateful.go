package stacks

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awss3"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/aws/jsii-runtime-go"

	"bailing/shared/topology"
)

const (
	// deadLetterDays is SQS's longest: what nobody looked at within it is lost.
	deadLetterDays = 14
	// messageDays bounds how long an outage of the consumer may last; the sweeper sends lost messages again anyway.
	messageDays = 4
	// serverTokenLength exceeds the contract's minimum of 24 (core §0.2).
	serverTokenLength = 48
	// bootstrapPasswordLength is more than anybody guesses, and still typed in once.
	bootstrapPasswordLength = 24
)

// stateful holds what outlives every deployment.
type stateful struct {
	tables      map[string]awsdynamodb.Table
	queues      map[string]awssqs.Queue
	deadLetters map[string]awssqs.Queue
	bucket      awss3.Bucket
	key         awskms.Key
	serverToken awssecretsmanager.Secret
	bootstrap   awssecretsmanager.Secret // password of the first administrator
}

func newStateful(app awscdk.App, t topology.Topology, o Options) *stateful {
	stack := newStack(app, o, "stateful", "What bailing must not lose: tables, queues, values, the key and the secrets", true)
	s := &stateful{
		tables:      map[string]awsdynamodb.Table{},
		queues:      map[string]awssqs.Queue{},
		deadLetters: map[string]awssqs.Queue{},
	}
	for _, table := range t.Tables {
		s.tables[table.Name] = newTable(stack, o, table)
	}
	for _, q := range t.Queues {
		s.queues[q.Name], s.deadLetters[q.Name] = newQueue(stack, o, q)
	}
	s.bucket = newBucket(stack, t.Bucket)
	s.key = awskms.NewKey(stack, jsii.String("key-"+topology.KeySecrets), &awskms.KeyProps{
		Alias:             jsii.String("alias/" + o.TablePrefix + topology.KeySecrets),
		Description:       jsii.String("wraps the data keys of envelope encryption"),
		EnableKeyRotation: jsii.Bool(true),
		RemovalPolicy:     awscdk.RemovalPolicy_RETAIN,
	})
	s.serverToken = newSecret(stack, o, "server-token", "the server token, which may do everything", serverTokenLength)
	output(stack, "ServerTokenSecret", *s.serverToken.SecretArn(), "the secret that holds the server token")
	s.bootstrap = newSecret(stack, o, "bootstrap-admin-password", "the first password of the first administrator", bootstrapPasswordLength)
	output(stack, "BootstrapAdminSecret", *s.bootstrap.SecretArn(), "the secret that holds the first administrator's password")
	return s
}

// newSecret makes a secret with a generated text, which no template and no person has seen.
func newSecret(stack awscdk.Stack, o Options, name, description string, length int) awssecretsmanager.Secret {
	return awssecretsmanager.NewSecret(stack, jsii.String(name), &awssecretsmanager.SecretProps{
		SecretName:  jsii.String(o.TablePrefix + name),
		Description: jsii.String(description),
		GenerateSecretString: &awssecretsmanager.SecretStringGenerator{
			ExcludePunctuation: jsii.Bool(true), PasswordLength: jsii.Number(length),
		},
		RemovalPolicy: awscdk.RemovalPolicy_RETAIN,
	})
}

func newTable(stack awscdk.Stack, o Options, t topology.Table) awsdynamodb.Table {
	text := func(name string) *awsdynamodb.Attribute {
		return &awsdynamodb.Attribute{Name: jsii.String(name), Type: awsdynamodb.AttributeType_STRING}
	}
	props := &awsdynamodb.TableProps{
		TableName:    jsii.String(o.TablePrefix + t.Name),
		PartitionKey: text("pk"), SortKey: text("sk"),
		BillingMode: awsdynamodb.BillingMode_PAY_PER_REQUEST,
		PointInTimeRecoverySpecification: &awsdynamodb.PointInTimeRecoverySpecification{
			PointInTimeRecoveryEnabled: jsii.Bool(t.Backup),
		},
		DeletionProtection: jsii.Bool(true),
		RemovalPolicy:      awscdk.RemovalPolicy_RETAIN,
	}
	if t.TTL != "" {
		props.TimeToLiveAttribute = jsii.String(t.TTL)
	}
	table := awsdynamodb.NewTable(stack, jsii.String("table-"+t.Name), props)
	for _, ix := range t.Indexes {
		projection := awsdynamodb.ProjectionType_ALL
		if ix.KeysOnly {
			projection = awsdynamodb.ProjectionType_KEYS_ONLY
		}
		table.AddGlobalSecondaryIndex(&awsdynamodb.GlobalSecondaryIndexProps{
			IndexName: jsii.String(ix.Name), PartitionKey: text(ix.PartitionKey), SortKey: text(ix.SortKey), ProjectionType: projection,
		})
	}
	return table
}

func newQueue(stack awscdk.Stack, o Options, q topology.Queue) (queue, deadLetter awssqs.Queue) {
	deadLetter = awssqs.NewQueue(stack, jsii.String("queue-"+q.Name+"-dlq"), &awssqs.QueueProps{
		QueueName:       jsii.String(o.TablePrefix + q.Name + "-dlq"),
		RetentionPeriod: awscdk.Duration_Days(jsii.Number(deadLetterDays)),
		Encryption:      awssqs.QueueEncryption_SQS_MANAGED,
		EnforceSSL:      jsii.Bool(true),
		RemovalPolicy:   awscdk.RemovalPolicy_RETAIN,
	})
	queue = awssqs.NewQueue(stack, jsii.String("queue-"+q.Name), &awssqs.QueueProps{
		QueueName:         jsii.String(o.TablePrefix + q.Name),
		VisibilityTimeout: awscdk.Duration_Seconds(jsii.Number(q.Visibility.Seconds())),
		RetentionPeriod:   awscdk.Duration_Days(jsii.Number(messageDays)),
		Encryption:        awssqs.QueueEncryption_SQS_MANAGED,
		EnforceSSL:        jsii.Bool(true),
		DeadLetterQueue:   &awssqs.DeadLetterQueue{Queue: deadLetter, MaxReceiveCount: jsii.Number(q.MaxReceiveCount)},
		RemovalPolicy:     awscdk.RemovalPolicy_RETAIN,
	})
	return queue, deadLetter
}

// newBucket makes the bucket of values. Its name is CloudFormation's, because bucket names are global. No lifecycle rule
// touches it: rows refer to the values for as long as they exist.
func newBucket(stack awscdk.Stack, b topology.Bucket) awss3.Bucket {
	return awss3.NewBucket(stack, jsii.String("bucket-"+b.Name), &awss3.BucketProps{
		BlockPublicAccess: awss3.BlockPublicAccess_BLOCK_ALL(),
		Encryption:        awss3.BucketEncryption_S3_MANAGED,
		EnforceSSL:        jsii.Bool(true),
		MinimumTLSVersion: jsii.Number(1.2),
		ObjectOwnership:   awss3.ObjectOwnership_BUCKET_OWNER_ENFORCED,
		RemovalPolicy:     awscdk.RemovalPolicy_RETAIN,
	})
}
