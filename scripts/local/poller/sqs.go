package poller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"bailing/scripts/local/invoke"
	"bailing/shared/clock"
	"bailing/shared/topology"
)

const (
	longPoll      = 20 * time.Second // the longest that SQS allows
	retryAfter    = time.Second      // pause after a receive that failed
	deleteTimeout = 10 * time.Second
)

// Client is what the poller needs of *sqs.Client.
type Client interface {
	ReceiveMessage(ctx context.Context, in *sqs.ReceiveMessageInput, o ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error)
	DeleteMessageBatch(ctx context.Context, in *sqs.DeleteMessageBatchInput, o ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error)
}

var _ Client = (*sqs.Client)(nil)

// Options are shared by both pollers. The zero value has the system clock, no log and no grace.
type Options struct {
	Clock  clock.Clock
	Logger *slog.Logger
	Grace  time.Duration // how long running invocations may go on after the poller's context ended
	NewID  func() string // ids of invocations and events; nil means random UUIDs
}

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = clock.System()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// SQS invokes a function with the messages of its queue.
type SQS struct {
	o        Options
	client   Client
	url, arn string
	function invoke.Function
	batch    int32
	slots    chan struct{} // one per concurrent invocation
}

// NewSQS is the event source of fn, which consumes q at url. Batch size, concurrency and timeout are those of the
// topology.
func NewSQS(fn topology.Function, q topology.Queue, h lambda.Handler, client Client, url string, o Options) (*SQS, error) {
	switch {
	case fn.Queue != q.Name || q.Name == "":
		return nil, fmt.Errorf("function %s consumes queue %q, not %q", fn.Name, fn.Queue, q.Name)
	case h == nil:
		return nil, fmt.Errorf("function %s has no handler", fn.Name)
	case fn.BatchSize < 1 || fn.BatchSize > 10:
		return nil, fmt.Errorf("function %s: batch size %d is outside 1 to 10", fn.Name, fn.BatchSize)
	case q.MaxConcurrency < 1:
		return nil, fmt.Errorf("queue %s: concurrency %d", q.Name, q.MaxConcurrency)
	}
	o = o.withDefaults()
	return &SQS{
		o: o, client: client, url: url,
		arn:      "arn:aws:sqs:" + invoke.Region + ":" + invoke.Account + ":" + url[strings.LastIndexByte(url, '/')+1:],
		function: invoke.Function{Name: fn.Name, Handler: h, Timeout: fn.Timeout, Clock: o.Clock, NewID: o.NewID},
		batch:    int32(fn.BatchSize), slots: make(chan struct{}, q.MaxConcurrency),
	}, nil
}

// Run polls until ctx ends. A failing queue is asked again and again; it is no reason to end. Call Run once.
func (p *SQS) Run(ctx context.Context) {
	running := newInflight(ctx)
	defer running.drain(p.o.Clock, p.o.Grace)
	for {
		select {
		case p.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		messages, err := p.receive(ctx)
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			p.o.Logger.Error("receive failed", "queue", p.arn, "error", err)
			_ = clock.Sleep(ctx, p.o.Clock, retryAfter) // the next turn of the loop sees the end of ctx
		}
		if len(messages) == 0 {
			<-p.slots
			if ctx.Err() != nil {
				return
			}
			continue
		}
		running.wg.Go(func() {
			defer func() { <-p.slots }()
			p.deliver(running.ctx, messages)
		})
	}
}

func (p *SQS) receive(ctx context.Context) ([]types.Message, error) {
	out, err := p.client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl: &p.url, MaxNumberOfMessages: p.batch, WaitTimeSeconds: int32(longPoll / time.Second),
		MessageAttributeNames:       []string{"All"},
		MessageSystemAttributeNames: []types.MessageSystemAttributeName{types.MessageSystemAttributeNameAll},
	})
	if err != nil {
		return nil, err
	}
	return out.Messages, nil
}

// deliver invokes the function with one batch and deletes what it handled.
func (p *SQS) deliver(ctx context.Context, messages []types.Message) {
	payload, err := json.Marshal(p.event(messages))
	if err != nil {
		p.o.Logger.Error("event not encoded", "function", p.function.Name, "error", err)
		return
	}
	answer, err := p.function.Invoke(ctx, payload)
	if err != nil {
		p.o.Logger.Error("function error", "function", p.function.Name, "messages", len(messages), "error", err)
		return
	}
	handled, err := succeeded(messages, answer)
	if err != nil {
		p.o.Logger.Error("malformed batch response", "function", p.function.Name, "messages", len(messages), "error", err)
		return
	}
	if len(handled) < len(messages) {
		p.o.Logger.Warn("batch item failures", "function", p.function.Name, "failed", len(messages)-len(handled), "messages", len(messages))
	}
	p.remove(ctx, handled)
}

func (p *SQS) event(messages []types.Message) events.SQSEvent {
	var e events.SQSEvent
	for _, m := range messages {
		record := events.SQSMessage{
			MessageId: aws.ToString(m.MessageId), ReceiptHandle: aws.ToString(m.ReceiptHandle), Body: aws.ToString(m.Body),
			Md5OfBody: aws.ToString(m.MD5OfBody), Md5OfMessageAttributes: aws.ToString(m.MD5OfMessageAttributes),
			Attributes: m.Attributes, MessageAttributes: map[string]events.SQSMessageAttribute{},
			EventSource: "aws:sqs", EventSourceARN: p.arn, AWSRegion: invoke.Region,
		}
		for name, a := range m.MessageAttributes {
			record.MessageAttributes[name] = events.SQSMessageAttribute{
				StringValue: a.StringValue, BinaryValue: a.BinaryValue, DataType: aws.ToString(a.DataType),
				StringListValues: []string{}, BinaryListValues: [][]byte{},
			}
		}
		e.Records = append(e.Records, record)
	}
	return e
}

// succeeded are the messages that a batch answer does not list as failed. null, {} and an empty list are success; an
// answer that is not an object, or that lists what was not sent, fails the whole batch.
func succeeded(messages []types.Message, answer []byte) ([]types.Message, error) {
	var response events.SQSEventResponse
	if err := json.Unmarshal(answer, &response); err != nil {
		return nil, err
	}
	failed := map[string]bool{}
	for _, f := range response.BatchItemFailures {
		failed[f.ItemIdentifier] = true
	}
	var ok []types.Message
	for _, m := range messages {
		if id := aws.ToString(m.MessageId); failed[id] {
			delete(failed, id)
		} else {
			ok = append(ok, m)
		}
	}
	if len(failed) > 0 {
		return nil, errors.New("itemIdentifier of no message in the batch")
	}
	return ok, nil
}

// remove deletes handled messages, also when the poller is stopping. What cannot be deleted is delivered again.
func (p *SQS) remove(ctx context.Context, messages []types.Message) {
	if len(messages) == 0 {
		return
	}
	in := &sqs.DeleteMessageBatchInput{QueueUrl: &p.url}
	for i, m := range messages {
		in.Entries = append(in.Entries, types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), ReceiptHandle: m.ReceiptHandle})
	}
	ctx, stop := invoke.WithTimeout(context.WithoutCancel(ctx), p.o.Clock, deleteTimeout)
	defer stop()
	out, err := p.client.DeleteMessageBatch(ctx, in)
	if err != nil {
		p.o.Logger.Error("delete failed", "queue", p.arn, "messages", len(messages), "error", err)
		return
	}
	for _, f := range out.Failed {
		p.o.Logger.Error("delete failed", "queue", p.arn, "messages", 1, "code", aws.ToString(f.Code))
	}
}
