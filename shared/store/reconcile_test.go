package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"bailing/shared/job"
	"bailing/shared/toolcall"
)

// frozen is the job with the number i, which ended with an open call reserved i seconds after the first.
func frozen(t *testing.T, s *stand, i int) toolcall.Entry {
	t.Helper()
	ctx, id := t.Context(), listID(i)
	e, f := entryOf(toolcall.Dispatching), job.Fence{JobID: id, Claim: 1}
	e.JobID, e.CreatedAt = id, start.Add(time.Duration(i)*time.Second)
	if err := create(ctx, s.Store, jobIn(fmt.Sprint("t", i), id), job.Thread{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.ClaimJob(ctx, id, "w", start, start.Add(job.Lease)); err != nil {
		t.Fatal(err)
	}
	if err := s.Reserve(ctx, f, e, nil, eventOf("tool_call")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.FinishJob(ctx, f, failed, eventOf("finished")); err != nil {
		t.Fatal(err)
	}
	return e
}

// A page of which the index has only calls that were closed meanwhile would look like the end of the list to whoever reads it.
func TestAPageOfUnresolvedCallsIsEmptyAtTheEndOnly(t *testing.T) {
	t.Parallel()
	s := open(t)
	for i := range 4 {
		e := frozen(t, s, i)
		if i == 0 {
			continue
		}
		e.State, e.Closing = toolcall.ClosedHappened, &toolcall.Closing{Finding: toolcall.Happened, Reason: "r", By: "jo", At: start}
		if err := s.CloseCall(t.Context(), e, eventOf("closed")); err != nil {
			t.Fatal(err)
		}
		text := func(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }
		_, err := s.backend.DB.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{ // as an index that lags shows it
			TableName: aws.String(prefix + "jobs"), UpdateExpression: aws.String("SET xpk = :xpk, xsk = :xsk"),
			Key: map[string]types.AttributeValue{"pk": text("job#" + e.JobID), "sk": text("job")},
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":xpk": text("unresolved"), ":xsk": text(fmt.Sprintf("%015d.%s", e.CreatedAt.UnixMilli(), e.JobID)),
			},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, limit := range []int{1, 2, 3, 4} {
		page, err := s.ListUnresolved(t.Context(), limit, "")
		if err != nil || len(page.Items) != 1 || page.Items[0].Entry.JobID != listID(0) || page.Next != "" {
			t.Errorf("limit %d: %+v, %v", limit, page, err)
		}
	}
}

// A row as an earlier release left it: the call is open, and nothing describes it.
func TestAnOpenCallWithoutDescriptionIsListedAndClosed(t *testing.T) {
	t.Parallel()
	s := open(t)
	aReservedCall(s, t)
	_, err := s.backend.DB.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String(prefix + "jobs"), UpdateExpression: aws.String("REMOVE #call"),
		ExpressionAttributeNames: map[string]string{"#call": "call"},
		Key:                      map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "job#a"}, "sk": &types.AttributeValueMemberS{Value: "job"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.FinishJob(t.Context(), fenceA, failed, eventOf("finished")); err != nil {
		t.Fatal(err)
	}
	page, err := s.ListUnresolved(t.Context(), 9, "")
	if err != nil || len(page.Items) != 1 {
		t.Fatalf("%+v, %v", page, err)
	}
	e := page.Items[0].Entry
	e.State, e.Closing = toolcall.ClosedHappened, &toolcall.Closing{Finding: toolcall.Happened, Reason: "r", By: "jo", At: start}
	if err := s.CloseCall(t.Context(), e, eventOf("closed")); err != nil {
		t.Fatal(err)
	}
	if page, err = s.ListUnresolved(t.Context(), 9, ""); err != nil || len(page.Items) != 0 {
		t.Fatalf("%+v, %v", page, err)
	}
}
