package sqs_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	client "github.com/aws/aws-sdk-go-v2/service/sqs"

	"bailing/shared/awslocal/sqs"
)

// A journal starts a new log before it asks for the snapshot. So for every pair of moments, a snapshot of the later one
// followed by all records since the earlier one must lead to the state that all records lead to.
func TestSnapshotsThatOverlapTheLogLeadToTheSameState(t *testing.T) {
	t.Parallel()
	j := &journal{}
	e := setupLog(t, j)
	type moment struct {
		records  int // in the log
		snapshot [][]byte
	}
	snapshot := func(s *sqs.Service) (recs [][]byte) {
		if err := s.Snapshot(func(rec []byte) error {
			recs = append(recs, slices.Clone(rec))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return recs
	}
	var moments []moment
	step := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		moments = append(moments, moment{len(j.recs), snapshot(e.service)})
	}

	dlq := e.queue("dlq")
	step(nil)
	q := e.queue("q", "VisibilityTimeout", "1", "RedrivePolicy",
		fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":1}`, e.attribute(dlq, "QueueArn")))
	other := e.queue("other")
	step(nil)
	for _, body := range []string{"deleted", "poison", "stays"} {
		e.send(q, body)
		e.send(other, body)
		step(nil)
	}
	ms := e.receive(q, func(in *client.ReceiveMessageInput) { in.MaxNumberOfMessages = 2 })
	step(nil)
	e.delete(q, ms[0])
	step(nil)
	e.clock.Advance(time.Second)
	e.wantBodies(q, "stays") // and moves the poison
	step(nil)
	e.wantBodies(dlq, "poison")
	step(nil)
	_, err := e.c.SetQueueAttributes(t.Context(), &client.SetQueueAttributesInput{QueueUrl: q, Attributes: map[string]string{"DelaySeconds": "9"}})
	step(err)
	_, err = e.c.PurgeQueue(t.Context(), &client.PurgeQueueInput{QueueUrl: other})
	step(err)
	e.send(other, "after the purge")
	step(nil)
	_, err = e.c.DeleteQueue(t.Context(), &client.DeleteQueueInput{QueueUrl: other})
	step(err)
	other = e.queue("other", "DelaySeconds", "1")
	e.send(other, "in the second queue of that name")
	step(nil)
	_, err = e.c.SendMessage(t.Context(), &client.SendMessageInput{QueueUrl: q, MessageBody: aws.String("delayed"), DelaySeconds: 900})
	step(err)

	rebuild := func(recs ...[]byte) []string {
		s := sqs.New(sqs.Options{Clock: e.clock})
		for _, rec := range recs {
			if err := s.Replay(rec); err != nil {
				t.Fatalf("replay %s: %v", rec, err)
			}
		}
		var out []string
		for _, rec := range snapshot(s) {
			out = append(out, string(rec))
		}
		return out
	}
	want := rebuild(j.recs...)
	for from, early := range moments {
		for to := from; to < len(moments); to++ {
			got := rebuild(slices.Concat(moments[to].snapshot, j.recs[early.records:])...)
			if !slices.Equal(got, want) {
				t.Fatalf("snapshot %d, log from %d:\n%q\nwant\n%q", to, from, got, want)
			}
		}
	}
}
