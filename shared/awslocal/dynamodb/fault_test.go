package dynamodb

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	sdk "github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"bailing/shared/awslocal/fault"
)

func TestFaultsOfAWrite(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name    string
		kind    fault.Kind
		code    string // of the answer; "drop" for none
		written bool
	}{
		{"throttle", fault.Throttle, "ProvisionedThroughputExceededException", false},
		{"conflict", fault.Conflict, "TransactionConflictException", false},
		{"error before", fault.ErrorBefore, "InternalServerError", false},
		{"error after commit", fault.ErrorAfterCommit, "InternalServerError", true},
		{"drop", fault.Drop, "drop", false},
		{"drop after commit", fault.DropAfterCommit, "drop", true},
	}
	for _, c := range cases {
		b := setupTable(t)
		seen := make(chan fault.Op, 1)
		b.faults.Set(func(op fault.Op) fault.Fault {
			if op.Action == "PutItem" {
				seen <- op
				return fault.Fault{Kind: c.kind}
			}
			return fault.Fault{}
		})
		got := code(b.tryPut(keyOf("k", "1")))
		if c.code == "drop" && !strings.HasPrefix(got, "no API error") || c.code != "drop" && got != c.code {
			t.Errorf("%s: %q, want %q", c.name, got, c.code)
		}
		if want := (fault.Op{Service: "dynamodb", Action: "PutItem", Resource: testTable, AccessKey: "AKIDTEST", Seq: 1}); <-seen != want {
			t.Errorf("%s: the hook did not see %+v", c.name, want)
		}
		if written := b.get(t, keyOf("k", "1")) != nil; written != c.written {
			t.Errorf("%s: written is %v, want %v", c.name, written, c.written)
		}
	}
}

func TestFaultsOfTransactions(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	resource := make(chan string, 2)
	b.faults.Set(func(op fault.Op) fault.Fault {
		resource <- op.Resource
		return fault.Fault{Kind: fault.Conflict}
	})
	if got := reasons(t, b.transact("", putAction(keyOf("t", "1"), ""), addAction(keyOf("t", "2"), 1))); got != "TransactionConflict, TransactionConflict" {
		t.Errorf("reasons %s", got)
	}
	if got := <-resource; got != testTable {
		t.Errorf("the hook saw the table %q", got)
	}
	if got := b.get(t, keyOf("t", "1")); got != nil {
		t.Errorf("a conflict wrote %v", got) // and a conflict does not concern GetItem
	}
	b.faults.Set(func(fault.Op) fault.Fault { return fault.Fault{Kind: fault.Throttle} })
	if got := code(b.transact("", putAction(keyOf("t", "1"), ""))); got != "ProvisionedThroughputExceededException" {
		t.Errorf("throttled transaction: %q", got)
	}
	if _, err := b.client.DescribeTable(b.ctx, &sdk.DescribeTableInput{TableName: aws.String(testTable)}); code(err) != "ThrottlingException" {
		t.Errorf("throttled DescribeTable: %q", code(err))
	}
}

func TestATransactionThatWasCommittedAndDroppedCanBeRepeatedWithItsToken(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	b.faults.Set(func(op fault.Op) fault.Fault {
		if op.Seq == 1 {
			return fault.Fault{Kind: fault.DropAfterCommit}
		}
		return fault.Fault{}
	})
	if err := b.transact("token", addAction(keyOf("t", "n"), 1)); err == nil {
		t.Fatal("the first answer arrived")
	}
	if err := b.transact("token", addAction(keyOf("t", "n"), 1)); err != nil {
		t.Fatal(err)
	}
	if got := text(b.get(t, keyOf("t", "n"))["n"]); got != "1" {
		t.Errorf("n is %s, want 1", got)
	}
}

func TestADelayedRequestWaitsForTheClock(t *testing.T) {
	t.Parallel()
	b := setupTable(t)
	asked := make(chan struct{})
	b.faults.Set(func(op fault.Op) fault.Fault {
		if op.Action == "PutItem" {
			close(asked)
			return fault.Fault{Delay: time.Minute}
		}
		return fault.Fault{}
	})
	done := make(chan error, 1)
	go func() { done <- b.tryPut(keyOf("k", "1")) }()
	<-asked
	if got := b.get(t, keyOf("k", "1")); got != nil {
		t.Error("written before its delay")
	}
	for {
		b.clock.Advance(time.Minute) // again until the request has begun to wait
		select {
		case err := <-done:
			if err != nil || b.get(t, keyOf("k", "1")) == nil {
				t.Errorf("after the delay: %v", err)
			}
			return
		default:
		}
	}
}
