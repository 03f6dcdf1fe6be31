package provision

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"bailing/shared/topology"
)

// Resources says how the created resources are addressed.
type Resources struct {
	QueueURLs map[string]string // by logical name
	Bucket    string
	Machines  map[string]string // ARNs by logical name
}

// Create makes every table, queue (with its dead-letter queue), state machine and the bucket of t whose name, after prefix, does not exist
// yet. A table that exists gets what an earlier topology left out: indexes, filled with the items that are there, and
// its expiry. A machine that exists gets its definition, in which functions have the ARNs of the local stack. Indexes that t does not have stay. What exists in another shape than t wants it is never changed: that is
// an error which wraps [ErrOtherShape].
//
// Each step is one request and looks first at what is there, so a Create that died or failed is finished by the next one.
// Tables and indexes must be ready when their creation is answered, as they are in the stand-in.
func Create(ctx context.Context, c aws.Config, t topology.Topology, prefix string) (Resources, error) {
	r := Resources{QueueURLs: map[string]string{}, Bucket: prefix + t.Bucket.Name, Machines: map[string]string{}}
	db := dynamodb.NewFromConfig(c)
	for _, table := range t.Tables {
		if err := provisionTable(ctx, db, table, prefix+table.Name); err != nil {
			return r, fmt.Errorf("provision: table %s: %w", table.Name, err)
		}
	}
	queues := sqs.NewFromConfig(c)
	for _, q := range t.Queues {
		url, err := createQueue(ctx, queues, q, prefix)
		if err != nil {
			return r, fmt.Errorf("provision: queue %s: %w", q.Name, err)
		}
		r.QueueURLs[q.Name] = url
	}
	objects := s3.NewFromConfig(c, func(o *s3.Options) { o.UsePathStyle = true })
	_, err := objects.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String(r.Bucket)})
	var owned *s3types.BucketAlreadyOwnedByYou
	if err != nil && !errors.As(err, &owned) {
		return r, fmt.Errorf("provision: bucket: %w", err)
	}
	executions := sfn.NewFromConfig(c)
	for _, m := range t.Machines {
		arn, err := createMachine(ctx, executions, m, prefix)
		if err != nil {
			return r, fmt.Errorf("provision: machine %s: %w", m.Name, err)
		}
		r.Machines[m.Name] = arn
	}
	return r, nil
}

func createQueue(ctx context.Context, c *sqs.Client, q topology.Queue, prefix string) (string, error) {
	dead, err := c.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String(prefix + q.Name + "-dlq")})
	if err != nil {
		return "", err
	}
	attrs, err := c.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: dead.QueueUrl, AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameQueueArn},
	})
	if err != nil {
		return "", err
	}
	main, err := c.CreateQueue(ctx, &sqs.CreateQueueInput{
		QueueName: aws.String(prefix + q.Name),
		Attributes: map[string]string{
			"VisibilityTimeout": strconv.Itoa(int(q.Visibility / time.Second)),
			"RedrivePolicy": fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":%d}`,
				attrs.Attributes[string(sqstypes.QueueAttributeNameQueueArn)], q.MaxReceiveCount),
		},
	})
	if err != nil {
		return "", err
	}
	return aws.ToString(main.QueueUrl), nil
}
