package store

import (
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"bailing/shared/job"
)

// The attribute "due" of a job's row is a set of marks, one for each approved call that is to be made (job.DueTicket). A decision
// adds one; dispatching the call, or recording why it is not made, deletes it, each in its own transaction. A job with marks does not
// end, except to wait for a reconciliation: then they are kept for its rerun.

// mayEnd says whether the job of row may end as o says.
func mayEnd(row item, o job.Outcome) error {
	j := decodeState(row)
	if len(j.Due) == 0 || row["open"] != nil || o.DueLapsed && !j.Waits(o.Now) {
		return nil
	}
	return job.ErrDue
}

// paid lets the transaction that ends the job of row fail when a call of it was approved meanwhile. Marks that may go with the end, go.
func paid(end types.TransactWriteItem, row item) types.TransactWriteItem {
	if row["open"] != nil {
		return end
	}
	u := *end.Update
	u.ExpressionAttributeNames = maps.Clone(u.ExpressionAttributeNames)
	u.ExpressionAttributeNames["#due"] = "due"
	if row["due"] == nil {
		u.ConditionExpression = aws.String(*u.ConditionExpression + " AND attribute_not_exists(#due)")
		return types.TransactWriteItem{Update: &u}
	}
	u.ConditionExpression = aws.String(*u.ConditionExpression + " AND #due = :due")
	u.UpdateExpression = aws.String(*u.UpdateExpression + ", #due")
	u.ExpressionAttributeValues = maps.Clone(u.ExpressionAttributeValues)
	u.ExpressionAttributeValues[":due"] = row["due"]
	return types.TransactWriteItem{Update: &u}
}

func sameDue(a, b item) bool {
	x, y := slices.Sorted(slices.Values(getSet(a, "due"))), slices.Sorted(slices.Values(getSet(b, "due")))
	return strings.Join(x, " ") == strings.Join(y, " ")
}
