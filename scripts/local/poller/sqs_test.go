package poller

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"bailing/shared/topology"
)

func TestTheEventIsThatOfTheEventSource(t *testing.T) {
	t.Parallel()
	got := make(chan events.SQSEvent, 1)
	b := setup(t, 2, 1, func(ctx context.Context, payload []byte) ([]byte, error) {
		var e events.SQSEvent
		if err := json.Unmarshal(payload, &e); err != nil {
			t.Error(err)
		}
		if lc, ok := lambdacontext.FromContext(ctx); !ok || lc.AwsRequestID == "" {
			t.Error("no lambda context")
		}
		if at, _ := ctx.Deadline(); !at.Equal(time.Unix(1_760_000_900, 0)) {
			t.Errorf("deadline %v", at)
		}
		got <- e
		return []byte("null"), nil
	})
	b.queue.batches <- []types.Message{message("a"), message("b")}
	e := <-got
	if len(e.Records) != 2 || e.Records[1].MessageId != "b" {
		t.Fatalf("records %+v", e.Records)
	}
	r := e.Records[0]
	for _, c := range [][3]string{
		{"id", r.MessageId, "a"}, {"handle", r.ReceiptHandle, "handle-a"}, {"body", r.Body, "body of a"}, {"md5", r.Md5OfBody, "md5"},
		{"attribute", r.Attributes["ApproximateReceiveCount"], "1"}, {"source", r.EventSource, "aws:sqs"},
		{"arn", r.EventSourceARN, "arn:aws:sqs:us-east-1:000000000000:local-jobs"}, {"region", r.AWSRegion, "us-east-1"},
		{"message attribute", *r.MessageAttributes["kind"].StringValue, "v"}, {"its type", r.MessageAttributes["kind"].DataType, "String"},
	} {
		if c[1] != c[2] {
			t.Errorf("%s = %q, want %q", c[0], c[1], c[2])
		}
	}
	if d := <-b.queue.deleted; !slices.Equal(d, []string{"handle-a", "handle-b"}) {
		t.Errorf("deleted %v", d)
	}
}

func TestWhatIsDeleted(t *testing.T) {
	t.Parallel()
	reply := func(s string) function {
		return func(context.Context, []byte) ([]byte, error) { return []byte(s), nil }
	}
	all := "handle-a handle-b handle-c"
	cases := []struct {
		name string
		h    function
		want string
	}{
		{"null is success", reply(`null`), all},
		{"an empty object is success", reply(`{}`), all},
		{"an empty list is success", reply(`{"batchItemFailures":[]}`), all},
		{"a null list is success", reply(`{"batchItemFailures":null}`), all},
		{"listed messages stay", reply(`{"batchItemFailures":[{"itemIdentifier":"b"}]}`), "handle-a handle-c"},
		{"a message listed twice stays once", reply(`{"batchItemFailures":[{"itemIdentifier":"b"},{"itemIdentifier":"b"}]}`), "handle-a handle-c"},
		{"all listed", reply(`{"batchItemFailures":[{"itemIdentifier":"a"},{"itemIdentifier":"b"},{"itemIdentifier":"c"}]}`), ""},
		{"an unknown identifier fails the batch", reply(`{"batchItemFailures":[{"itemIdentifier":"b"},{"itemIdentifier":"x"}]}`), ""},
		{"an empty identifier fails the batch", reply(`{"batchItemFailures":[{"itemIdentifier":""}]}`), ""},
		{"a null entry fails the batch", reply(`{"batchItemFailures":[null]}`), ""},
		{"a wrong key fails the batch", reply(`{"batchItemFailures":[{"id":"a"}]}`), ""},
		{"a wrong type fails the batch", reply(`{"batchItemFailures":"a"}`), ""},
		{"an answer that is no object fails the batch", reply(`"ok"`), ""},
		{"an empty answer fails the batch", reply(``), ""},
		{"an error fails the batch", func(context.Context, []byte) ([]byte, error) { return []byte(`{}`), errors.New("no") }, ""},
		{"a panic fails the batch", func(context.Context, []byte) ([]byte, error) { panic("no") }, ""},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, 3, 1, tc.h)
			b.queue.settled(message("a"), message("b"), message("c"))
			if tc.want == "" {
				b.stop()
				if len(b.queue.deleted) != 0 || b.logs.Len() == 0 {
					t.Errorf("%d deletions, logged %q", len(b.queue.deleted), b.logs.String())
				}
				return
			}
			if d := <-b.queue.deleted; strings.Join(d, " ") != tc.want {
				t.Errorf("deleted %v, want %s", d, tc.want)
			}
		})
	}
}

func TestAnInvocationPastItsDeadlineDeletesNothing(t *testing.T) {
	t.Parallel()
	var c *waitClock
	ready := make(chan struct{})
	b := setup(t, 1, 1, func(ctx context.Context, _ []byte) ([]byte, error) {
		<-ready
		c.Advance(900 * time.Second)
		<-ctx.Done()
		return []byte(`{}`), nil
	})
	c = b.clock
	close(ready)
	b.queue.settled(message("a"))
	b.stop()
	if len(b.queue.deleted) != 0 || !strings.Contains(b.logs.String(), "timed out") {
		t.Errorf("deleted %d, logged %s", len(b.queue.deleted), b.logs.String())
	}
}

func TestConcurrencyIsBounded(t *testing.T) {
	t.Parallel()
	started, release := make(chan struct{}, 10), make(chan struct{})
	b := setup(t, 1, 2, func(context.Context, []byte) ([]byte, error) {
		started <- struct{}{}
		<-release
		return []byte(`{}`), nil
	})
	for _, id := range []string{"a", "b", "c"} {
		b.queue.batches <- []types.Message{message(id)}
	}
	<-started
	<-started
	// Both slots are taken: the third message is not even received.
	if len(b.queue.batches) != 1 || len(started) != 0 {
		t.Errorf("%d messages left, %d invocations more", len(b.queue.batches), len(started))
	}
	close(release)
	<-started
	for range 3 {
		<-b.queue.deleted
	}
}

func TestAFailingQueueIsAskedAgain(t *testing.T) {
	t.Parallel()
	b := setup(t, 1, 1, func(context.Context, []byte) ([]byte, error) { return []byte(`{}`), nil })
	b.queue.fail <- errors.New("down")
	b.clock.awaitWait(retryAfter)
	b.queue.batches <- []types.Message{message("a")}
	if len(b.queue.deleted) != 0 {
		t.Error("asked again before its time")
	}
	b.clock.Advance(retryAfter)
	<-b.queue.deleted
}

func TestStoppingWaitsForWhatRuns(t *testing.T) {
	t.Parallel()
	started, release := make(chan struct{}), make(chan struct{})
	b := setup(t, 1, 1, func(ctx context.Context, _ []byte) ([]byte, error) {
		close(started)
		<-release
		return []byte(`{}`), ctx.Err()
	})
	b.queue.batches <- []types.Message{message("a")}
	<-started
	b.end()
	b.clock.awaitWait(5 * time.Second) // the grace has begun
	close(release)
	<-b.ended
	if d := <-b.queue.deleted; !slices.Equal(d, []string{"handle-a"}) {
		t.Errorf("deleted %v", d)
	}
}

func TestTheGraceEnds(t *testing.T) {
	t.Parallel()
	started := make(chan struct{})
	b := setup(t, 1, 1, func(ctx context.Context, _ []byte) ([]byte, error) {
		close(started)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	b.queue.batches <- []types.Message{message("a")}
	<-started
	b.end()
	b.clock.awaitWait(5 * time.Second)
	b.clock.Advance(5 * time.Second)
	<-b.ended
	if len(b.queue.deleted) != 0 {
		t.Error("an unfinished message was deleted")
	}
}

func TestNewSQSWantsWhatTheTopologySays(t *testing.T) {
	t.Parallel()
	fn, q := topology.Function{Name: "f", Queue: "q", BatchSize: 1}, topology.Queue{Name: "q", MaxConcurrency: 2}
	cases := []struct {
		name string
		mend func()
	}{
		{"another queue", func() { fn.Queue = "other" }},
		{"no batch", func() { fn.BatchSize = 0 }},
		{"too large a batch", func() { fn.BatchSize = 11 }},
		{"no concurrency", func() { q.MaxConcurrency = 0 }},
	}
	if _, err := NewSQS(fn, q, function(nil), nil, queueURL, Options{}); err != nil {
		t.Fatal(err)
	}
	for _, tc := range cases {
		f, qq := fn, q
		tc.mend()
		if _, err := NewSQS(fn, q, function(nil), nil, queueURL, Options{}); err == nil {
			t.Errorf("%s: no error", tc.name)
		}
		fn, q = f, qq
	}
}
