package sqs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	client "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

func entry(id, body string) types.SendMessageBatchRequestEntry {
	return types.SendMessageBatchRequestEntry{Id: &id, MessageBody: &body}
}

func TestBatchRules(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	e := setup(t)
	q := e.queue("q")
	n := func(count int) (es []types.SendMessageBatchRequestEntry) {
		for i := range count {
			es = append(es, entry(fmt.Sprint(i), "x"))
		}
		return es
	}
	const prefix = "AWS.SimpleQueueService."
	for _, tc := range []struct {
		rule    string
		entries []types.SendMessageBatchRequestEntry
		want    string
	}{
		{"10 entries", n(10), ""},
		{"11 entries", n(11), prefix + "TooManyEntriesInBatchRequest"},
		{"no entry", []types.SendMessageBatchRequestEntry{}, prefix + "EmptyBatchRequest"},
		{"the same id twice", []types.SendMessageBatchRequestEntry{entry("a", "x"), entry("a", "y")}, prefix + "BatchEntryIdsNotDistinct"},
		{"id of 80", []types.SendMessageBatchRequestEntry{entry(strings.Repeat("i", 80), "x")}, ""},
		{"id of 81", []types.SendMessageBatchRequestEntry{entry(strings.Repeat("i", 81), "x")}, prefix + "InvalidBatchEntryId"},
		{"id with a dot", []types.SendMessageBatchRequestEntry{entry("a.b", "x")}, prefix + "InvalidBatchEntryId"},
		{"size limit", []types.SendMessageBatchRequestEntry{entry("a", strings.Repeat("a", mib/2)), entry("b", strings.Repeat("a", mib/2))}, ""},
		{"past the size limit", []types.SendMessageBatchRequestEntry{entry("a", strings.Repeat("a", mib/2)), entry("b", strings.Repeat("a", mib/2+1))}, prefix + "BatchRequestTooLong"},
	} {
		o, err := e.c.SendMessageBatch(t.Context(), &client.SendMessageBatchInput{QueueUrl: q, Entries: tc.entries})
		t.Run(tc.rule, func(t *testing.T) {
			switch {
			case tc.want != "":
				wantCode(t, err, tc.want)
			case err != nil:
				t.Error(err)
			case len(o.Successful) != len(tc.entries) || len(o.Failed) != 0:
				t.Errorf("%d successful, %d failed of %d", len(o.Successful), len(o.Failed), len(tc.entries))
			}
		})
	}
}

func TestABatchFailsByEntry(t *testing.T) {
	t.Parallel()
	e := setup(t)
	q := e.queue("q")
	late := entry("late", "x")
	late.DelaySeconds = 901
	o, err := e.c.SendMessageBatch(t.Context(), &client.SendMessageBatchInput{QueueUrl: q,
		Entries: []types.SendMessageBatchRequestEntry{entry("good", "good"), entry("bad", "\x00"), late, entry("fine", "fine")}})
	if err != nil {
		t.Fatal(err)
	}
	if len(o.Successful) != 2 || *o.Successful[0].Id != "good" || *o.Successful[1].Id != "fine" {
		t.Errorf("successful %v", o.Successful)
	}
	if len(o.Failed) != 2 || *o.Failed[0].Id != "bad" || *o.Failed[0].Code != "InvalidMessageContents" || !o.Failed[0].SenderFault ||
		*o.Failed[1].Code != "InvalidParameterValue" {
		t.Errorf("failed %v", o.Failed)
	}
	ms := e.wantBodies(q, "good", "fine")

	v, err := e.c.ChangeMessageVisibilityBatch(t.Context(), &client.ChangeMessageVisibilityBatchInput{QueueUrl: q,
		Entries: []types.ChangeMessageVisibilityBatchRequestEntry{
			{Id: aws.String("a"), ReceiptHandle: ms[0].ReceiptHandle, VisibilityTimeout: 0},
			{Id: aws.String("b"), ReceiptHandle: aws.String("x"), VisibilityTimeout: 0},
		}})
	if err != nil || len(v.Successful) != 1 || len(v.Failed) != 1 || *v.Failed[0].Code != "ReceiptHandleIsInvalid" {
		t.Errorf("visibility: %+v %v", v, err)
	}
	again := e.wantBodies(q, "good")

	d, err := e.c.DeleteMessageBatch(t.Context(), &client.DeleteMessageBatchInput{QueueUrl: q,
		Entries: []types.DeleteMessageBatchRequestEntry{
			{Id: aws.String("a"), ReceiptHandle: again[0].ReceiptHandle},
			{Id: aws.String("b"), ReceiptHandle: aws.String("x")},
			{Id: aws.String("c"), ReceiptHandle: ms[1].ReceiptHandle},
		}})
	if err != nil || len(d.Successful) != 2 || len(d.Failed) != 1 || *d.Failed[0].Id != "b" {
		t.Errorf("delete: %+v %v", d, err)
	}
	if got := e.attribute(q, "ApproximateNumberOfMessagesNotVisible"); got != "0" {
		t.Errorf("%s left", got)
	}
}
