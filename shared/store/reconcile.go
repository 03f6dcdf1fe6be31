package store

import (
	"context"
	"errors"
	"maps"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"bailing/shared/job"
	"bailing/shared/toolcall"
)

// Unresolved calls are found by the rows of their jobs, of which each has at most one. A job enters a partition of the index "dead"
// in the transaction that ends it with an open call, however the call came to that, and leaves it when a person closes the call.
// So a call that is merely under way costs the index nothing, and is not listed. A job that ended before the index knew of such
// calls enters it when it is rerun and ends again.

var _ toolcall.ReconcileStore = (*Store)(nil)

// unresolvedPartition is one: what is in it waits for a person.
const unresolvedPartition = "unresolved"

// unresolved lets the transaction that ends the job of row enter it into the index if it has an open call; it fails when the call
// that is open is not the one of row.
func unresolved(end types.TransactWriteItem, row item) types.TransactWriteItem {
	u := *end.Update
	u.ExpressionAttributeNames = maps.Clone(u.ExpressionAttributeNames)
	u.ExpressionAttributeNames["#open"] = "open"
	if row["open"] == nil {
		u.ConditionExpression = aws.String(*u.ConditionExpression + " AND attribute_not_exists(#open)")
		return types.TransactWriteItem{Update: &u}
	}
	since := decodeOpen(row).Since
	if since.IsZero() { // a call that cannot be read is listed all the same
		since = getTime(row, "created")
	}
	u.ConditionExpression = aws.String(*u.ConditionExpression + " AND #open = :open")
	u.UpdateExpression = aws.String("SET xpk = :xpk, xsk = :xsk, " + strings.TrimPrefix(*u.UpdateExpression, "SET "))
	u.ExpressionAttributeValues = maps.Clone(u.ExpressionAttributeValues)
	u.ExpressionAttributeValues[":open"] = row["open"]
	u.ExpressionAttributeValues[":xpk"] = str(unresolvedPartition)
	u.ExpressionAttributeValues[":xsk"] = str(timeKey(since, strings.TrimPrefix(getStr(row, "pk"), "job#")))
	return types.TransactWriteItem{Update: &u}
}

// atRest reports whether a person may close the open call of a job's row: the job ended with it, and no worker holds it. A job that
// was queued again after such an end may; one that is queued after a lost worker has a round under way, which goes on to that end.
func atRest(row item) bool {
	state := job.Status(getStr(row, "state"))
	return getStr(row, "open") != "" && (state.Terminal() || state == job.Queued && getStr(row, "xpk") == unresolvedPartition)
}

// CloseCall is one transaction: {job at rest, with this open call: none is open, and the index leaves it out; entry closed if it is
// unresolved; audit record}.
func (s *Store) CloseCall(ctx context.Context, e toolcall.Entry, ev job.Event) error {
	audit, err := s.putEvent(ctx, e.JobID, ev)
	if err != nil {
		return err
	}
	row := update(s.jobs(), key(jobPK(e.JobID), skJob), "REMOVE #open, #call, xpk, xsk",
		"#open = :sk AND sv <= :sv AND (#state IN (:done, :failed) OR (#state = :queued AND xpk = :xpk))", item{
			":sk": str(entrySK(e.Tool, e.ArgsHash)), ":sv": num(schemaVersion), ":done": str(string(job.Done)),
			":failed": str(string(job.Failed)), ":queued": str(string(job.Queued)), ":xpk": str(unresolvedPartition),
		})
	row.Update.ExpressionAttributeNames = map[string]string{"#state": "state", "#open": "open", "#call": "call"}
	c := e.Closing
	closing := item{"finding": str(string(c.Finding)), "reason": str(c.Reason), "by": str(c.By), "at": millis(c.At)}
	if c.Status != 0 {
		closing["status"] = num(int64(c.Status))
	}
	entry := update(s.jobs(), key(jobPK(e.JobID), entrySK(e.Tool, e.ArgsHash)),
		"SET #state = :closed, closing = :closing, updated = :now", "#state IN (:dispatching, :uncertain) AND sv <= :sv", item{
			":closed": str(string(e.State)), ":closing": &types.AttributeValueMemberM{Value: closing}, ":now": millis(e.UpdatedAt),
			":dispatching": str(string(toolcall.Dispatching)), ":uncertain": str(string(toolcall.Uncertain)), ":sv": num(schemaVersion),
		})
	entry.Update.ExpressionAttributeNames = stateName
	err = s.transact(ctx, row, entry, audit)
	var failed *ConditionFailed
	if errors.As(err, &failed) {
		return toolcall.ErrCloseMoved
	}
	return err
}

// ReadReconciliation reads the job's row, and then the entry: two trips, and a query of the job's entries for one that is not open.
// Rows are read in this order since a closing that comes between is then seen in the entry.
func (s *Store) ReadReconciliation(ctx context.Context, jobID, idempotencyKey string) (*toolcall.Reconciliation, error) {
	rows, err := s.batchGet(ctx, s.jobRef(jobID))
	if err != nil || rows[0] == nil {
		return nil, err
	}
	var found item
	if open := getStr(rows[0], "open"); open != "" {
		entries, err := s.batchGet(ctx, ref{s.jobs(), jobPK(jobID), open})
		if err != nil {
			return nil, err
		}
		found = entries[0]
	}
	if getStr(found, "key") != idempotencyKey {
		if found, err = s.entryByKey(ctx, jobID, idempotencyKey); err != nil {
			return nil, err
		}
	}
	return reconciliation(rows[0], found)
}

// reconciliation is an entry of the job of row; nil when it is completed or there is none.
func reconciliation(row, entry item) (*toolcall.Reconciliation, error) {
	if entry == nil || toolcall.EntryState(getStr(entry, "state")) == toolcall.Completed {
		return nil, nil
	}
	e, err := decodeEntry(entry)
	if err != nil {
		return nil, err
	}
	return &toolcall.Reconciliation{
		Entry: *e, JobStatus: job.Status(getStr(row, "state")), UnderWay: e.Closing == nil && !atRest(row),
		Due: decodeState(row).Due,
	}, nil
}

func (s *Store) entryByKey(ctx context.Context, jobID, idempotencyKey string) (found item, err error) {
	err = s.query(ctx, &dynamodb.QueryInput{
		TableName: s.jobs(), ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String("pk = :pk AND begins_with(sk, :call)"),
		FilterExpression:          aws.String("#key = :key"),
		ExpressionAttributeNames:  map[string]string{"#key": "key"},
		ExpressionAttributeValues: item{":pk": str(jobPK(jobID)), ":call": str(callPrefix), ":key": str(idempotencyKey)},
	}, func(it item) error {
		found = it
		return nil
	})
	return found, err
}

// ListUnresolved reads keys from the index and then the rows and entries strongly: one trip, and one per 100 of each. What was
// closed since the index saw it is left out; a page of which nothing is left is passed over.
func (s *Store) ListUnresolved(ctx context.Context, limit int, after job.Cursor) (toolcall.Reconciliations, error) {
	for {
		page, err := s.unresolvedPage(ctx, limit, after)
		if err != nil || len(page.Items) > 0 || page.Next == "" {
			return page, err
		}
		after = page.Next
	}
}

func (s *Store) unresolvedPage(ctx context.Context, limit int, after job.Cursor) (toolcall.Reconciliations, error) {
	keys, err := s.latestKeys(ctx, inDead, unresolvedPartition, limit+1, after) // one more says whether there is a next page
	if err != nil {
		return toolcall.Reconciliations{}, err
	}
	page := toolcall.Reconciliations{Items: []toolcall.Reconciliation{}}
	if len(keys) > limit {
		keys = keys[:limit]
		page.Next = job.Cursor(keys[limit-1])
	}
	refs := make([]ref, len(keys))
	for i, k := range keys {
		refs[i] = s.jobRef(idOfTimeKey(k))
	}
	rows, err := s.listRows(ctx, refs)
	if err != nil {
		return toolcall.Reconciliations{}, err
	}
	var open []item
	refs = nil
	for _, row := range rows {
		if sk := getStr(row, "open"); sk != "" {
			open = append(open, row)
			refs = append(refs, ref{s.jobs(), getStr(row, "pk"), sk})
		}
	}
	entries, err := s.listRows(ctx, refs)
	if err != nil {
		return toolcall.Reconciliations{}, err
	}
	for i, row := range open {
		found, err := reconciliation(row, entries[i])
		if err != nil {
			return toolcall.Reconciliations{}, err
		}
		if found != nil && found.Entry.Closing == nil {
			page.Items = append(page.Items, *found)
		}
	}
	return page, nil
}
