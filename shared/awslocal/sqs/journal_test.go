package sqs_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	client "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"bailing/shared/awslocal/fault"
	"bailing/shared/awslocal/sqs"
)

// journal is a journal in memory that can fail.
type journal struct {
	mu   sync.Mutex
	recs [][]byte
	fail error
}

func (j *journal) Append(rec []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.fail != nil {
		return j.fail
	}
	j.recs = append(j.recs, slices.Clone(rec))
	return nil
}

func (j *journal) AppendNoSync(rec []byte) error { return j.Append(rec) }

// restart returns the environment of the next process. snapshot says that it starts from a snapshot instead of the log.
func (e *env) restart(j *journal, snapshot bool) (*env, *journal) {
	e.t.Helper()
	recs := j.recs
	if snapshot {
		recs = nil
		if err := e.service.Snapshot(func(rec []byte) error {
			recs = append(recs, slices.Clone(rec))
			return nil
		}); err != nil {
			e.t.Fatal(err)
		}
	}
	nj := &journal{recs: slices.Clone(recs)}
	next := setupLog(e.t, nj)
	next.clock.Advance(e.clock.Now().Sub(next.clock.Now()))
	for _, rec := range recs {
		if err := next.service.Replay(rec); err != nil {
			e.t.Fatalf("replay %s: %v", rec, err)
		}
	}
	return next, nj
}

// Both ways of coming back must lead to the same state.
func eachRestart(t *testing.T, f func(t *testing.T, restart func(*env, *journal) (*env, *journal))) {
	for _, snapshot := range []bool{false, true} {
		t.Run(fmt.Sprintf("snapshot=%v", snapshot), func(t *testing.T) {
			t.Parallel()
			f(t, func(e *env, j *journal) (*env, *journal) { return e.restart(j, snapshot) })
		})
	}
}

func TestWhatWasAcknowledgedSurvives(t *testing.T) {
	t.Parallel()
	eachRestart(t, func(t *testing.T, restart func(*env, *journal) (*env, *journal)) {
		j := &journal{}
		e := setupLog(t, j)
		q := e.queue("q", "VisibilityTimeout", "77", "MessageRetentionPeriod", "3600")
		gone := e.queue("gone")
		purged := e.queue("purged")
		e.send(q, "deleted", "in flight", "waiting")
		e.send(gone, "x")
		e.send(purged, "x")
		if _, err := e.c.SendMessage(t.Context(), &client.SendMessageInput{QueueUrl: q, MessageBody: aws.String("delayed"), DelaySeconds: 600,
			MessageAttributes: map[string]types.MessageAttributeValue{"k": {DataType: aws.String("Binary"), BinaryValue: []byte{0, 255}}}}); err != nil {
			t.Fatal(err)
		}
		two := e.receive(q, func(in *client.ReceiveMessageInput) { in.MaxNumberOfMessages = 2 })
		e.delete(q, two[0])
		for _, op := range []func() error{
			func() error {
				_, err := e.c.DeleteQueue(t.Context(), &client.DeleteQueueInput{QueueUrl: gone})
				return err
			},
			func() error {
				_, err := e.c.PurgeQueue(t.Context(), &client.PurgeQueueInput{QueueUrl: purged})
				return err
			},
			func() error {
				_, err := e.c.SetQueueAttributes(t.Context(), &client.SetQueueAttributesInput{QueueUrl: q, Attributes: map[string]string{"DelaySeconds": "3"}})
				return err
			},
		} {
			if err := op(); err != nil {
				t.Fatal(err)
			}
		}

		n, _ := restart(e, j)
		at := func(u *string) *string { return aws.String(strings.Replace(*u, e.url, n.url, 1)) }
		if n.attribute(at(q), "VisibilityTimeout") != "77" || n.attribute(at(q), "DelaySeconds") != "3" {
			t.Error("settings changed")
		}
		n.wantBodies(at(purged))
		_, err := n.c.ReceiveMessage(t.Context(), &client.ReceiveMessageInput{QueueUrl: at(gone)})
		wantCode(t, err, "AWS.SimpleQueueService.NonExistentQueue")
		ms := n.wantBodies(at(q), "in flight", "waiting") // visible at once
		if ms[0].Attributes["ApproximateReceiveCount"] != "2" || ms[1].Attributes["ApproximateReceiveCount"] != "1" {
			t.Error("receive counts were lost")
		}
		if *ms[0].MessageId != *two[1].MessageId || ms[0].Attributes["SentTimestamp"] != two[1].Attributes["SentTimestamp"] {
			t.Error("the message changed")
		}
		n.clock.Advance(600 * time.Second)
		last := n.receive(at(q))
		var delayed types.Message
		for _, m := range last {
			if *m.Body == "delayed" {
				delayed = m
			}
		}
		if string(delayed.MessageAttributes["k"].BinaryValue) != "\x00\xff" {
			t.Errorf("delayed message %v", delayed)
		}
		// Retention counts from the send, not from the restart.
		n.clock.Advance(3000 * time.Second)
		n.wantBodies(at(q))
	})
}

func TestAHandleFromBeforeARestart(t *testing.T) {
	t.Parallel()
	eachRestart(t, func(t *testing.T, restart func(*env, *journal) (*env, *journal)) {
		j := &journal{}
		e := setupLog(t, j)
		q := e.queue("q")
		e.send(q, "a", "b")
		before := e.wantBodies(q, "a", "b")
		n, _ := restart(e, j)
		q = aws.String(n.url + "/000000000000/q")
		n.delete(q, before[0]) // nobody received it since
		n.wantBodies(q, "b")
		n.delete(q, before[1]) // held by a later receive: stays
		n.clock.Advance(time.Minute)
		n.wantBodies(q, "b")
	})
}

func TestAPoisonMessageReachesTheDeadLetterQueueAcrossRestarts(t *testing.T) {
	t.Parallel()
	eachRestart(t, func(t *testing.T, restart func(*env, *journal) (*env, *journal)) {
		j := &journal{}
		e := setupLog(t, j)
		dlq := e.queue("dlq")
		q := e.queue("q", "RedrivePolicy", fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":3}`, e.attribute(dlq, "QueueArn")))
		e.send(q, "kills its receiver")
		for range 3 {
			e.wantBodies(q, "kills its receiver")
			e, j = restart(e, j)
			q, dlq = aws.String(e.url+"/000000000000/q"), aws.String(e.url+"/000000000000/dlq")
		}
		e.wantBodies(q)
		e.wantBodies(dlq, "kills its receiver")
		n, _ := restart(e, j)
		if m := n.wantBodies(aws.String(n.url+"/000000000000/dlq"), "kills its receiver")[0]; m.Attributes["DeadLetterQueueSourceArn"] == "" {
			t.Error("the source was lost")
		}
	})
}

func TestNumbersAreNotUsedAgain(t *testing.T) {
	t.Parallel()
	eachRestart(t, func(t *testing.T, restart func(*env, *journal) (*env, *journal)) {
		j := &journal{}
		e := setupLog(t, j)
		q := e.queue("q")
		e.send(q, "x")
		e.faults.Set(func(fault.Op) fault.Fault { return fault.Fault{Kind: fault.Duplicate} })
		e.wantBodies(q, "x")
		e.faults.Set(nil)
		twin := e.wantBodies(q, "x")[0]
		n, _ := restart(e, j)
		q = aws.String(n.url + "/000000000000/q")
		n.send(q, "new")
		n.delete(q, twin) // a handle of a message that did not survive
		n.wantBodies(q, "x", "new")
	})
}

func TestAJournalThatFailsRefusesAndKeepsTheState(t *testing.T) {
	t.Parallel()
	j := &journal{}
	e := setupLog(t, j)
	q := e.queue("q", "VisibilityTimeout", "0")
	e.send(q, "x")
	m := e.wantBodies(q, "x")[0]
	j.mu.Lock()
	j.fail = errors.New("disk full")
	j.mu.Unlock()
	ops := map[string]func() error{
		"send": func() error {
			_, err := e.c.SendMessage(t.Context(), &client.SendMessageInput{QueueUrl: q, MessageBody: aws.String("y")})
			return err
		},
		"delete": func() error {
			_, err := e.c.DeleteMessage(t.Context(), &client.DeleteMessageInput{QueueUrl: q, ReceiptHandle: m.ReceiptHandle})
			return err
		},
		"receive": func() error {
			_, err := e.c.ReceiveMessage(t.Context(), &client.ReceiveMessageInput{QueueUrl: q})
			return err
		},
		"create": func() error {
			_, err := e.c.CreateQueue(t.Context(), &client.CreateQueueInput{QueueName: aws.String("new")})
			return err
		},
		"purge": func() error {
			_, err := e.c.PurgeQueue(t.Context(), &client.PurgeQueueInput{QueueUrl: q})
			return err
		},
	}
	// Each follows each: what one of them had left behind would show in another.
	for first, op := range ops {
		for second, next := range ops {
			t.Run(first+" then "+second, func(t *testing.T) {
				wantCode(t, op(), "InternalFailure")
				wantCode(t, next(), "InternalFailure")
			})
		}
	}
	j.mu.Lock()
	j.fail = nil
	j.mu.Unlock()
	e.delete(q, m) // no refused receive made its handle an old one
	e.wantBodies(q)
}

func TestAMoveThatCannotBeJournaledIsTriedAgain(t *testing.T) {
	t.Parallel()
	j := &journal{}
	e := setupLog(t, j)
	dlq := e.queue("dlq")
	q := e.queue("q", "VisibilityTimeout", "0", "RedrivePolicy",
		fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":1}`, e.attribute(dlq, "QueueArn")))
	e.send(q, "x")
	e.wantBodies(q, "x")
	e.send(q, "y")
	j.mu.Lock()
	j.fail = errors.New("disk full")
	j.mu.Unlock()
	for range 3 {
		_, err := e.c.ReceiveMessage(t.Context(), &client.ReceiveMessageInput{QueueUrl: q, MaxNumberOfMessages: 10})
		wantCode(t, err, "InternalFailure")
	}
	j.mu.Lock()
	j.fail = nil
	j.mu.Unlock()
	e.wantBodies(q, "y")
	e.wantBodies(dlq, "x")
}

func TestRecordsThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	for _, rec := range []string{`{`, `{"kind":"song","queue":1}`, `{"kind":"create-queue","queue":1}`, `{"kind":"set-queue","queue":1}`,
		`{"kind":"receive","queue":1,"seqs":[1]}`} {
		if err := sqs.New(sqs.Options{}).Replay([]byte(rec)); err == nil {
			t.Errorf("%s accepted", rec)
		}
	}
}
