package poller

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"bailing/shared/clock"
	"bailing/shared/topology"
)

const queueURL = "http://127.0.0.1/000000000000/local-jobs"

// waitClock tells a test that somebody has begun to wait, so that no test has to sleep.
type waitClock struct {
	*clock.Manual
	waits chan time.Duration
}

func newClock() *waitClock {
	return &waitClock{clock.NewManual(time.Unix(1_760_000_000, 0)), make(chan time.Duration, 100)}
}

func (c *waitClock) After(d time.Duration) <-chan time.Time {
	ch := c.Manual.After(d)
	c.waits <- d
	return ch
}

// awaitWait returns when something waits for d.
func (c *waitClock) awaitWait(d time.Duration) {
	for got := range c.waits {
		if got == d {
			return
		}
	}
}

type function func(ctx context.Context, payload []byte) ([]byte, error)

func (f function) Invoke(ctx context.Context, payload []byte) ([]byte, error) { return f(ctx, payload) }

// fakeQueue hands out what a test puts into batches, and blocks in between like a long poll.
type fakeQueue struct {
	t       *testing.T
	batches chan []types.Message
	fail    chan error
	deleted chan []string // receipt handles of one request
	polls   chan struct{} // one per receive that began
}

func newQueue(t *testing.T) *fakeQueue {
	return &fakeQueue{t: t, batches: make(chan []types.Message, 20), fail: make(chan error, 1),
		deleted: make(chan []string, 20), polls: make(chan struct{}, 100)}
}

func (q *fakeQueue) ReceiveMessage(ctx context.Context, in *sqs.ReceiveMessageInput, _ ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error) {
	q.polls <- struct{}{}
	if *in.QueueUrl != queueURL || in.WaitTimeSeconds != 20 || len(in.MessageAttributeNames) != 1 || len(in.MessageSystemAttributeNames) != 1 {
		q.t.Errorf("receive %+v", in)
	}
	select {
	case m := <-q.batches:
		if len(m) > int(in.MaxNumberOfMessages) {
			q.t.Errorf("asked for %d messages, the test has %d", in.MaxNumberOfMessages, len(m))
		}
		return &sqs.ReceiveMessageOutput{Messages: m}, nil
	case err := <-q.fail:
		return nil, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (q *fakeQueue) DeleteMessageBatch(ctx context.Context, in *sqs.DeleteMessageBatchInput, _ ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ids := map[string]bool{}
	var handles []string
	for _, e := range in.Entries {
		ids[*e.Id] = true
		handles = append(handles, *e.ReceiptHandle)
	}
	if len(ids) != len(in.Entries) {
		return nil, errors.New("batch entry ids are not distinct")
	}
	q.deleted <- handles
	return &sqs.DeleteMessageBatchOutput{}, nil
}

// settled sends one batch to a poller with one slot and returns when it is done with: then it asks for the next.
func (q *fakeQueue) settled(messages ...types.Message) {
	<-q.polls
	q.batches <- messages
	<-q.polls
}

func message(id string) types.Message {
	return types.Message{
		MessageId: aws.String(id), ReceiptHandle: aws.String("handle-" + id), Body: aws.String("body of " + id),
		MD5OfBody: aws.String("md5"), Attributes: map[string]string{"ApproximateReceiveCount": "1"},
		MessageAttributes: map[string]types.MessageAttributeValue{"kind": {DataType: aws.String("String"), StringValue: aws.String("v")}},
	}
}

// bundle runs one SQS poller.
type bundle struct {
	queue *fakeQueue
	clock *waitClock
	logs  *bytes.Buffer // read it only after stop
	stop  func()        // ends the poller and waits for it
	end   context.CancelFunc
	ended chan struct{}
}

func setup(t *testing.T, batch, concurrency int, h function) *bundle {
	t.Helper()
	b := &bundle{queue: newQueue(t), clock: newClock(), logs: &bytes.Buffer{}, ended: make(chan struct{})}
	p, err := NewSQS(
		topology.Function{Name: "worker", Queue: "jobs", BatchSize: batch, Timeout: 900 * time.Second},
		topology.Queue{Name: "jobs", MaxConcurrency: concurrency}, h, b.queue, queueURL,
		Options{Clock: b.clock, Logger: slog.New(slog.NewJSONHandler(b.logs, nil)), Grace: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	b.end = cancel
	go func() {
		defer close(b.ended)
		p.Run(ctx)
	}()
	b.stop = func() {
		cancel()
		<-b.ended
	}
	t.Cleanup(b.stop)
	return b
}
