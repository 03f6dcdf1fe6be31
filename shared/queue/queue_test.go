package queue_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"bailing/shared/queue"
)

const id = "fde28e3e-23c0-490e-9b51-ea880b1c3c87"

// client remembers what was sent.
type client struct {
	sent       []*sqs.SendMessageInput
	attributes map[string]string
	err        error
}

func (c *client) SendMessage(_ context.Context, in *sqs.SendMessageInput, _ ...func(*sqs.Options)) (*sqs.SendMessageOutput, error) {
	c.sent = append(c.sent, in)
	return &sqs.SendMessageOutput{}, c.err
}

func (c *client) GetQueueAttributes(context.Context, *sqs.GetQueueAttributesInput, ...func(*sqs.Options)) (*sqs.GetQueueAttributesOutput, error) {
	return &sqs.GetQueueAttributesOutput{Attributes: c.attributes}, c.err
}

func TestDelayIsInWholeSecondsUpToSQSLimit(t *testing.T) {
	t.Parallel()
	for delay, want := range map[time.Duration]int32{
		-time.Hour: 0, 0: 0, time.Millisecond: 1, time.Second: 1, time.Second + 1: 2, 900 * time.Second: 900, 901 * time.Second: 900, 24 * time.Hour: 900,
	} {
		c := &client{}
		q := &queue.Jobs{Client: c, URL: "https://queue"}
		if err := q.Enqueue(t.Context(), id, delay); err != nil {
			t.Fatal(err)
		}
		in := c.sent[0]
		if in.DelaySeconds != want || aws.ToString(in.QueueUrl) != "https://queue" {
			t.Errorf("delay %v: %d s to %s, want %d s", delay, in.DelaySeconds, aws.ToString(in.QueueUrl), want)
		}
		if got, err := queue.JobID(aws.ToString(in.MessageBody)); err != nil || got != id {
			t.Errorf("the body names %q, %v", got, err)
		}
	}
}

func TestMessageCarriesOnlyTheID(t *testing.T) {
	t.Parallel()
	c := &client{}
	if err := (&queue.Jobs{Client: c}).Enqueue(t.Context(), id, 0); err != nil {
		t.Fatal(err)
	}
	if got, want := aws.ToString(c.sent[0].MessageBody), `{"job_id":"`+id+`"}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestForeignMessages(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "null", "{}", `{"job_id":7}`, `{"job_id":""}`, `{"job_id":"job_1"}`, `{"job_id":"` + id + `"`, `["` + id + `"]`, `"` + id + `"`} {
		if got, err := queue.JobID(body); !errors.Is(err, queue.ErrMessage) || got != "" {
			t.Errorf("%s: %q, %v", body, got, err)
		}
	}
	if got, err := queue.JobID(`{"job_id":"` + id + `","added":1}`); err != nil || got != id {
		t.Errorf("a member that is not known yet: %q, %v", got, err)
	}
}

func FuzzJobID(f *testing.F) {
	for _, s := range []string{`{"job_id":"` + id + `"}`, `{"job_id":null}`, `{`, ``} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		got, err := queue.JobID(body)
		if (err == nil) != (len(got) == 36) {
			t.Errorf("%q, %v", got, err)
		}
	})
}

func TestDepth(t *testing.T) {
	t.Parallel()
	c := &client{attributes: map[string]string{
		"ApproximateNumberOfMessages": "3", "ApproximateNumberOfMessagesDelayed": "2", "ApproximateNumberOfMessagesNotVisible": "4",
	}}
	waiting, running, err := (&queue.Jobs{Client: c}).Depth(t.Context())
	if err != nil || waiting != 5 || running != 4 {
		t.Errorf("%d waiting, %d running, %v; delayed messages wait too", waiting, running, err)
	}
}

func TestFailuresOfTheQueue(t *testing.T) {
	t.Parallel()
	down := errors.New("down")
	q := &queue.Jobs{Client: &client{err: down}}
	if err := q.Enqueue(t.Context(), id, 0); !errors.Is(err, down) {
		t.Errorf("enqueue: %v", err)
	}
	if _, _, err := q.Depth(t.Context()); !errors.Is(err, down) {
		t.Errorf("depth: %v", err)
	}
}
