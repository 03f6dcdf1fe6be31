package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"bailing/shared/job"
	"bailing/shared/textlimit"
)

// MaxDelay is the longest time that SQS holds a message back.
const MaxDelay = 900 * time.Second

// SQS is the part of the client that the queues use.
type SQS interface {
	SendMessage(context.Context, *sqs.SendMessageInput, ...func(*sqs.Options)) (*sqs.SendMessageOutput, error)
	GetQueueAttributes(context.Context, *sqs.GetQueueAttributesInput, ...func(*sqs.Options)) (*sqs.GetQueueAttributesOutput, error)
}

// Jobs sends to the jobs queue.
type Jobs struct {
	Client SQS
	URL    string
}

var _ job.Enqueuer = (*Jobs)(nil)

// message is the body.
type message struct {
	JobID string `json:"job_id"`
}

// Enqueue sends the job's id, to be received after delay, rounded up to seconds. A longer delay than MaxDelay is cut to it:
// a job that is not due yet cannot be claimed, and the sweeper sends it again.
func (q *Jobs) Enqueue(ctx context.Context, jobID string, delay time.Duration) error {
	body, err := json.Marshal(message{JobID: jobID})
	if err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	return send(ctx, q.Client, q.URL, body, delay)
}

func send(ctx context.Context, client SQS, url string, body []byte, delay time.Duration) error {
	delay = min(max(delay, 0), MaxDelay)
	seconds := int32((delay + time.Second - 1) / time.Second)
	_, err := client.SendMessage(ctx, &sqs.SendMessageInput{
		QueueUrl: aws.String(url), MessageBody: aws.String(string(body)), DelaySeconds: seconds,
	})
	if err != nil {
		return fmt.Errorf("queue: send: %w", err)
	}
	return nil
}

// Depth is about how many messages wait (delayed ones included) and how many are with a worker.
func (q *Jobs) Depth(ctx context.Context) (waiting, running int, err error) {
	out, err := q.Client.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: aws.String(q.URL),
		AttributeNames: []types.QueueAttributeName{
			types.QueueAttributeNameApproximateNumberOfMessages, types.QueueAttributeNameApproximateNumberOfMessagesDelayed,
			types.QueueAttributeNameApproximateNumberOfMessagesNotVisible,
		},
	})
	if err != nil {
		return 0, 0, fmt.Errorf("queue: depth: %w", err)
	}
	n := func(name types.QueueAttributeName) int {
		v, err := strconv.Atoi(out.Attributes[string(name)])
		if err != nil {
			return 0
		}
		return v
	}
	waiting = n(types.QueueAttributeNameApproximateNumberOfMessages) + n(types.QueueAttributeNameApproximateNumberOfMessagesDelayed)
	return waiting, n(types.QueueAttributeNameApproximateNumberOfMessagesNotVisible), nil
}

// ErrMessage says that a message is not one of ours. Receiving it again cannot help: the dead-letter queue keeps it.
var ErrMessage = errors.New("queue: not a message of this queue")

// JobID reads the body of a received message.
func JobID(body string) (string, error) {
	var m message
	if err := json.Unmarshal([]byte(body), &m); err != nil || !textlimit.UUID(m.JobID) {
		return "", ErrMessage
	}
	return m.JobID, nil
}
