package sqs_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	client "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"bailing/shared/awslocal/fault"
)

func (e *env) changeVisibility(q *string, m types.Message, seconds int32) error {
	_, err := e.c.ChangeMessageVisibility(e.t.Context(), &client.ChangeMessageVisibilityInput{
		QueueUrl: q, ReceiptHandle: m.ReceiptHandle, VisibilityTimeout: seconds})
	return err
}

func TestVisibilityTimeoutHidesAndThenRedelivers(t *testing.T) {
	t.Parallel()
	e := setup(t)
	q := e.queue("q", "VisibilityTimeout", "10")
	e.send(q, "x")
	first := e.wantBodies(q, "x")[0]
	e.clock.Advance(10*time.Second - 1)
	e.wantBodies(q)
	e.clock.Advance(1)
	again := e.wantBodies(q, "x")[0]
	if again.Attributes["ApproximateReceiveCount"] != "2" {
		t.Errorf("receive count %s, want 2", again.Attributes["ApproximateReceiveCount"])
	}
	if again.Attributes["ApproximateFirstReceiveTimestamp"] != first.Attributes["ApproximateFirstReceiveTimestamp"] {
		t.Error("the first receive moved")
	}
	// A receive may set its own timeout.
	e.clock.Advance(10 * time.Second)
	e.receive(q, func(in *client.ReceiveMessageInput) { in.VisibilityTimeout = 60 })
	e.clock.Advance(60*time.Second - 1)
	e.wantBodies(q)
	e.clock.Advance(1)
	e.wantBodies(q, "x")
}

func TestChangeMessageVisibility(t *testing.T) {
	t.Parallel()
	e := setup(t)
	q := e.queue("q", "VisibilityTimeout", "10")
	e.send(q, "x")
	m := e.wantBodies(q, "x")[0]
	if err := e.changeVisibility(q, m, 100); err != nil {
		t.Fatal(err)
	}
	e.clock.Advance(99 * time.Second)
	e.wantBodies(q)
	if err := e.changeVisibility(q, m, 0); err != nil {
		t.Fatal(err)
	}
	wantCode(t, e.changeVisibility(q, m, 5), "AWS.SimpleQueueService.MessageNotInflight")
	later := e.wantBodies(q, "x")[0]
	wantCode(t, e.changeVisibility(q, m, 5), "InvalidParameterValue") // held by the later receive
	wantCode(t, e.changeVisibility(q, later, 43201), "InvalidParameterValue")
	if err := e.changeVisibility(q, later, 43200); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	e.clock.Advance(time.Second)
	wantCode(t, e.changeVisibility(q, later, 43200), "InvalidParameterValue") // 12 h in all
	e.delete(q, later)
	wantCode(t, e.changeVisibility(q, later, 5), "InvalidParameterValue")
}

func TestReceiptHandles(t *testing.T) {
	t.Parallel()
	e := setup(t)
	q, other := e.queue("q", "VisibilityTimeout", "10"), e.queue("other")
	e.send(q, "x")
	old := e.wantBodies(q, "x")[0]
	e.clock.Advance(10 * time.Second)
	current := e.wantBodies(q, "x")[0]

	e.delete(q, old) // succeeds, and changes nothing
	e.clock.Advance(10 * time.Second)
	if got := e.attribute(q, "ApproximateNumberOfMessages"); got != "1" {
		t.Fatalf("%s messages after a delete with an old handle, want 1", got)
	}
	e.delete(q, current) // after its timeout, but before another receive
	e.delete(q, current)
	e.wantBodies(q)

	for name, h := range map[string]struct {
		queue  *string
		handle string
	}{"malformed": {q, "???"}, "not a handle": {q, "aGVsbG8="}, "of another queue": {other, *current.ReceiptHandle}} {
		_, err := e.c.DeleteMessage(t.Context(), &client.DeleteMessageInput{QueueUrl: h.queue, ReceiptHandle: &h.handle})
		t.Run(name, func(t *testing.T) { wantCode(t, err, "ReceiptHandleIsInvalid") })
	}
}

func TestDelays(t *testing.T) {
	t.Parallel()
	e := setup(t)
	q, slow := e.queue("q"), e.queue("slow", "DelaySeconds", "30")
	if _, err := e.c.SendMessage(t.Context(), &client.SendMessageInput{QueueUrl: q, MessageBody: aws.String("x"), DelaySeconds: 5}); err != nil {
		t.Fatal(err)
	}
	e.send(slow, "y")
	// The SDK leaves a delay of 0 out; on the wire it overrides the queue's.
	if status, answer := e.post("/000000000000/slow", "AmazonSQS.SendMessage", `{"MessageBody":"now","DelaySeconds":0}`); status != 200 {
		t.Fatal(answer)
	}
	e.wantBodies(slow, "now")
	if got := e.attribute(q, "ApproximateNumberOfMessagesDelayed"); got != "1" {
		t.Errorf("%s delayed, want 1", got)
	}
	e.clock.Advance(5*time.Second - 1)
	e.wantBodies(q)
	e.clock.Advance(1)
	e.wantBodies(q, "x")
	e.clock.Advance(25 * time.Second)
	e.wantBodies(slow, "y", "now")
}

func TestRetention(t *testing.T) {
	t.Parallel()
	e := setup(t)
	q := e.queue("q", "MessageRetentionPeriod", "60")
	e.send(q, "old")
	e.clock.Advance(30 * time.Second)
	e.send(q, "young")
	e.clock.Advance(30 * time.Second)
	e.wantBodies(q, "young")
	e.clock.Advance(30 * time.Second)
	if got := e.attribute(q, "ApproximateNumberOfMessages"); got != "0" {
		t.Errorf("%s messages, want 0", got)
	}
}

func TestCounts(t *testing.T) {
	t.Parallel()
	e := setup(t)
	q := e.queue("q")
	e.send(q, "a", "b", "c")
	e.receive(q, func(in *client.ReceiveMessageInput) { in.MaxNumberOfMessages = 1 })
	check := func(visible, inFlight string) {
		t.Helper()
		if v, f := e.attribute(q, "ApproximateNumberOfMessages"), e.attribute(q, "ApproximateNumberOfMessagesNotVisible"); v != visible || f != inFlight {
			t.Errorf("%s visible, %s in flight; want %s, %s", v, f, visible, inFlight)
		}
	}
	check("2", "1")
	e.clock.Advance(30 * time.Second)
	check("3", "0")
	for _, m := range e.receive(q) {
		e.delete(q, m)
	}
	check("0", "0")
}

func TestRedriveAfterMaxReceiveCount(t *testing.T) {
	t.Parallel()
	e := setup(t)
	dlq := e.queue("dlq")
	q := e.queue("q", "VisibilityTimeout", "1", "RedrivePolicy",
		fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":"2"}`, e.attribute(dlq, "QueueArn")))
	e.send(q, "poison")
	id := ""
	for range 2 {
		id = *e.wantBodies(q, "poison")[0].MessageId
		e.clock.Advance(time.Second)
	}
	e.wantBodies(dlq)
	e.wantBodies(q)
	m := e.wantBodies(dlq, "poison")[0]
	if *m.MessageId != id || m.Attributes["ApproximateReceiveCount"] != "3" ||
		m.Attributes["DeadLetterQueueSourceArn"] != e.attribute(q, "QueueArn") {
		t.Errorf("in the dead-letter queue: id %s (sent as %s), %v", *m.MessageId, id, m.Attributes)
	}
}

func TestReceiveLimits(t *testing.T) {
	t.Parallel()
	e := setup(t)
	e.queue("q")
	for _, tc := range []struct {
		body string
		ok   bool
	}{
		{`{"MaxNumberOfMessages":1}`, true}, {`{"MaxNumberOfMessages":0}`, false},
		{`{"MaxNumberOfMessages":10}`, true}, {`{"MaxNumberOfMessages":11}`, false},
		{`{"WaitTimeSeconds":-1}`, false}, {`{"WaitTimeSeconds":21}`, false},
		{`{"VisibilityTimeout":43200}`, true}, {`{"VisibilityTimeout":43201}`, false},
		{`{"VisibilityTimeout":0}`, true}, {`{"VisibilityTimeout":-1}`, false},
		{`{"ReceiveRequestAttemptId":"a"}`, false},
	} {
		if status, answer := e.post("/000000000000/q", "AmazonSQS.ReceiveMessage", tc.body); (status == 200) != tc.ok {
			t.Errorf("%s: %d %s", tc.body, status, answer)
		}
	}
}

func TestOnlyTheMaximumIsReceived(t *testing.T) {
	t.Parallel()
	e := setup(t)
	q := e.queue("q")
	for i := range 12 {
		e.send(q, fmt.Sprint(i))
	}
	if n := len(e.receive(q)); n != 10 {
		t.Errorf("received %d, want 10", n)
	}
	if n := len(e.receive(q)); n != 2 {
		t.Errorf("received %d, want the other 2", n)
	}
}

// poll starts a long poll of 20 s and returns when it waits.
func (e *env) poll(ctx context.Context, q *string) <-chan []types.Message {
	e.t.Helper()
	done := make(chan []types.Message, 1)
	go func() {
		o, err := e.c.ReceiveMessage(ctx, &client.ReceiveMessageInput{QueueUrl: q, WaitTimeSeconds: 20})
		if err != nil {
			close(done)
			return
		}
		done <- o.Messages
	}()
	<-e.clock.waits
	return done
}

func (e *env) wantPolled(done <-chan []types.Message, want string) {
	e.t.Helper()
	var got []string
	for _, m := range <-done {
		got = append(got, *m.Body)
	}
	if strings.Join(got, ",") != want {
		e.t.Errorf("the poll got %q, want %q", got, want)
	}
}

func TestALongPollWakes(t *testing.T) {
	t.Parallel()
	t.Run("when a message is sent", func(t *testing.T) {
		t.Parallel()
		e := setup(t)
		q := e.queue("q")
		done := e.poll(t.Context(), q)
		e.send(q, "x")
		e.wantPolled(done, "x")
	})
	t.Run("when a delay is over", func(t *testing.T) {
		t.Parallel()
		e := setup(t)
		q := e.queue("q", "DelaySeconds", "5")
		e.send(q, "x")
		done := e.poll(t.Context(), q)
		e.clock.Advance(5 * time.Second)
		e.wantPolled(done, "x")
	})
	t.Run("when a message is sent whose delay ends before the poll", func(t *testing.T) {
		t.Parallel()
		e := setup(t)
		q := e.queue("q", "DelaySeconds", "5")
		done := e.poll(t.Context(), q)
		e.send(q, "x")
		<-e.clock.waits // it waits for the delay now
		e.clock.Advance(5 * time.Second)
		e.wantPolled(done, "x")
	})
	t.Run("when a visibility timeout is over", func(t *testing.T) {
		t.Parallel()
		e := setup(t)
		q := e.queue("q", "VisibilityTimeout", "7")
		e.send(q, "x")
		e.wantBodies(q, "x")
		done := e.poll(t.Context(), q)
		e.clock.Advance(7 * time.Second)
		e.wantPolled(done, "x")
	})
	t.Run("when visibility is set to 0", func(t *testing.T) {
		t.Parallel()
		e := setup(t)
		q := e.queue("q")
		e.send(q, "x")
		m := e.wantBodies(q, "x")[0]
		done := e.poll(t.Context(), q)
		if err := e.changeVisibility(q, m, 0); err != nil {
			t.Fatal(err)
		}
		e.wantPolled(done, "x")
	})
}

func TestALongPollEnds(t *testing.T) {
	t.Parallel()
	t.Run("empty when its time is over", func(t *testing.T) {
		t.Parallel()
		e := setup(t)
		done := e.poll(t.Context(), e.queue("q"))
		e.clock.Advance(20*time.Second - 1)
		select {
		case <-done:
			t.Error("ended early")
		default:
		}
		e.clock.Advance(1)
		e.wantPolled(done, "")
	})
	t.Run("after the queue's own wait", func(t *testing.T) {
		t.Parallel()
		e := setup(t)
		q := e.queue("q", "ReceiveMessageWaitTimeSeconds", "3")
		go e.c.ReceiveMessage(t.Context(), &client.ReceiveMessageInput{QueueUrl: q})
		if d := <-e.clock.waits; d != 3*time.Second {
			t.Errorf("waits %s, want 3s", d)
		}
	})
	t.Run("without taking a message when its client leaves", func(t *testing.T) {
		t.Parallel()
		e := setup(t)
		q := e.queue("q")
		ctx, leave := context.WithCancel(t.Context())
		done := e.poll(ctx, q)
		leave()
		<-done
		e.service.Close() // and wait: what is left of the poll must not take the message
		e.send(q, "x")
		e.wantBodies(q, "x")
	})
	t.Run("when the service closes", func(t *testing.T) {
		t.Parallel()
		e := setup(t)
		done := e.poll(t.Context(), e.queue("q"))
		e.service.Close()
		e.wantPolled(done, "")
	})
}

func TestFaults(t *testing.T) {
	t.Parallel()
	e := setup(t)
	q := e.queue("jobs")
	e.send(q, "x")
	var ops []fault.Op
	inject := func(kinds ...fault.Kind) {
		e.faults.Set(func(op fault.Op) fault.Fault {
			ops = append(ops, op)
			if op.Seq <= len(kinds) {
				return fault.Fault{Kind: kinds[op.Seq-1]}
			}
			return fault.Fault{}
		})
	}
	send := func() error {
		_, err := e.c.SendMessage(t.Context(), &client.SendMessageInput{QueueUrl: q, MessageBody: aws.String("y")})
		return err
	}
	inject(fault.Throttle)
	wantCode(t, send(), "RequestThrottled")
	if want := (fault.Op{Service: "sqs", Action: "SendMessage", Resource: "jobs", AccessKey: "AKIDTEST", Seq: 1}); ops[0] != want {
		t.Errorf("operation %+v, want %+v", ops[0], want)
	}
	inject(fault.ErrorBefore)
	wantCode(t, send(), "InternalFailure")
	inject(fault.Drop)
	if err := send(); err == nil {
		t.Error("an answer on a dropped connection")
	}
	if got := e.attribute(q, "ApproximateNumberOfMessages"); got != "1" {
		t.Errorf("%s messages after faults before the effect, want 1", got)
	}
	inject(fault.ErrorAfterCommit)
	wantCode(t, send(), "InternalFailure")
	inject(fault.DropAfterCommit)
	if err := send(); err == nil {
		t.Error("an answer on a dropped connection")
	}
	e.wantBodies(q, "x", "y", "y")
}

func TestAnInjectedDuplicateIsDeliveredAgainEvenAfterADelete(t *testing.T) {
	t.Parallel()
	e := setup(t)
	q := e.queue("q")
	e.send(q, "x")
	e.faults.Set(func(op fault.Op) fault.Fault {
		if op.Action == "ReceiveMessage" && op.Seq == 1 {
			return fault.Fault{Kind: fault.Duplicate}
		}
		return fault.Fault{}
	})
	first := e.wantBodies(q, "x")[0]
	e.delete(q, first)
	second := e.wantBodies(q, "x")[0]
	if *second.MessageId != *first.MessageId || second.Attributes["ApproximateReceiveCount"] != "2" {
		t.Errorf("duplicate %s received %s times, want the same id and 2", *second.MessageId, second.Attributes["ApproximateReceiveCount"])
	}
	e.delete(q, second)
	e.clock.Advance(time.Hour)
	e.wantBodies(q)
}
