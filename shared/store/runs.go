package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"bailing/shared/job"
	"bailing/shared/plainjson"
	"bailing/shared/topology"
)

// The index "time" lists jobs by their launch. Its keys never change, so that a job costs it one small write in its life, and
// it has one partition: a list is one query. DynamoDB takes 1000 such writes a second of one partition; a hub that launches more
// jobs than that is throttled at the launch and needs shards here, which every list then has to merge. A job from before the
// index is in it once it has ended or was queued again.

const timePartition = "job"

// timeKey sorts by the time of launch, and by id within a millisecond. It is also the list's cursor.
func timeKey(created time.Time, jobID string) string { return dueKey(created) + "." + jobID }

// listed lets an update enter the job of row into the index if it is not there.
func listed(a types.TransactWriteItem, row item) types.TransactWriteItem {
	if row["tpk"] != nil {
		return a
	}
	u := *a.Update
	u.UpdateExpression = aws.String("SET tpk = :tpk, tsk = :tsk, " + strings.TrimPrefix(*u.UpdateExpression, "SET "))
	u.ExpressionAttributeValues = item{
		":tpk": str(timePartition), ":tsk": str(timeKey(getTime(row, "created"),
			strings.TrimPrefix(getStr(row, "pk"), "job#"))),
	}
	for name, v := range a.Update.ExpressionAttributeValues {
		u.ExpressionAttributeValues[name] = v
	}
	a.Update = &u
	return a
}

// brief is the part of a job that lists show and that never changes.
type brief struct {
	RequestID string `json:"request_id"`
	Route     string `json:"route"`
	Target    string `json:"target"`
	Profile   string `json:"profile"`
	Project   string `json:"project,omitempty"`
	Source    string `json:"source"`
	SessionID string `json:"session_id"`
	ThreadID  int64  `json:"thread_id"`
	Preview   string `json:"preview"`
}

func encodeBrief(j *job.Job) (types.AttributeValue, error) {
	b := job.BriefOf(j)
	doc, err := plainjson.Marshal(brief{b.RequestID, b.Route, b.Target, b.Profile, b.Project, b.Source, b.SessionID, b.ThreadID,
		b.Preview})
	if err != nil {
		return nil, fmt.Errorf("store: brief of a job: %w", err)
	}
	return binary(doc), nil
}

// decodeBrief reads what a list shows of a job's row. A row from before briefs is read whole; when that cannot be done the list
// shows its state, since one unreadable job must not hide the others.
func (s *Store) decodeBrief(ctx context.Context, it item) job.Brief {
	j := decodeState(it)
	doc := getBytes(it, "brief")
	if doc == nil {
		whole, err := s.decodeJob(ctx, it)
		if err == nil {
			return job.BriefOf(whole)
		}
		s.log.WarnContext(ctx, "job listed without what was asked", "job_id", j.ID, "error", err)
	}
	var a brief
	if doc != nil && json.Unmarshal(doc, &a) != nil {
		s.log.WarnContext(ctx, "job listed without its brief", "job_id", j.ID)
	}
	b := job.Brief{
		ID: j.ID, RequestID: a.RequestID, Status: j.Status, Route: a.Route, Target: a.Target, Profile: a.Profile, Project: a.Project,
		Source: a.Source, Owner: j.Owner, SessionID: a.SessionID, ThreadID: a.ThreadID, Preview: a.Preview,
		CreatedAt: j.CreatedAt, UpdatedAt: j.UpdatedAt,
	}
	if j.Status.Terminal() {
		if b.Summary = getStr(it, "brief_end"); b.Summary == "" {
			b.Summary = job.SummaryOf(nil, j.Error)
		}
	}
	return b
}

// ListJobs reads keys from the index "time" and then the rows strongly: one trip, and one per 100 rows. A job that the index
// has not seen yet is missing for a moment.
func (s *Store) ListJobs(ctx context.Context, q job.ListQuery) (job.Page, error) {
	want := q.Offset + q.Limit
	if q.Filtered() {
		want = job.ListLookMax
	}
	keys, err := s.timeKeys(ctx, q.After, want+1) // one more says whether there is a next page
	if err != nil {
		return job.Page{}, err
	}
	page := job.Page{Jobs: []job.Brief{}}
	looked := min(q.Offset, len(keys))
	for looked < min(want, len(keys)) && len(page.Jobs) < q.Limit {
		chunk := keys[looked:min(want, len(keys), looked+batchGetMax)]
		refs := make([]ref, len(chunk))
		for i, k := range chunk {
			refs[i] = s.jobRef(idOfTimeKey(k))
		}
		rows, err := s.listRows(ctx, refs)
		if err != nil {
			return job.Page{}, err
		}
		for _, row := range rows {
			if len(page.Jobs) == q.Limit {
				break
			}
			looked++
			if row == nil {
				continue
			}
			if b := s.decodeBrief(ctx, row); q.Match(b) {
				page.Jobs = append(page.Jobs, b)
			}
		}
	}
	if looked > 0 && looked < len(keys) {
		page.Next = job.Cursor(keys[looked-1])
	}
	return page, nil
}

// listRows reads rows for a list, nil for one that a newer release wrote: nothing is decided by a list, and such a row must not
// hide the others while two releases are at work.
func (s *Store) listRows(ctx context.Context, refs []ref) ([]item, error) {
	rows, err := s.batchGetIf(ctx, func(item) error { return nil }, refs)
	newer := 0
	for i, row := range rows {
		if checkVersion(row) != nil {
			rows[i] = nil
			newer++
		}
	}
	if newer > 0 {
		s.log.WarnContext(ctx, "rows of a newer release left out of a list", "rows", newer)
	}
	return rows, err
}

func idOfTimeKey(k string) string {
	_, id, _ := strings.Cut(k, ".")
	return id
}

// timeKeys reads the latest n keys that are before after.
func (s *Store) timeKeys(ctx context.Context, after job.Cursor, n int) ([]string, error) {
	return s.latestKeys(ctx, inTime, timePartition, n, after)
}

// listIndex is an index that lists are read from: its name, and those of its keys.
type listIndex struct{ name, pk, sk string }

var (
	inTime = listIndex{topology.IndexTime, "tpk", "tsk"}
	inDead = listIndex{topology.IndexDead, "xpk", "xsk"}
)

// latestKeys reads the latest n sort keys of a partition that are before after.
func (s *Store) latestKeys(ctx context.Context, index listIndex, partition string, n int, after job.Cursor) (keys []string, err error) {
	in := &dynamodb.QueryInput{
		TableName: s.jobs(), IndexName: aws.String(index.name), ScanIndexForward: aws.Bool(false), Limit: aws.Int32(int32(n)),
		KeyConditionExpression: aws.String(index.pk + " = :pk"), ExpressionAttributeValues: item{":pk": str(partition)},
	}
	if after != "" {
		in.KeyConditionExpression = aws.String(index.pk + " = :pk AND " + index.sk + " < :after")
		in.ExpressionAttributeValues[":after"] = str(string(after))
	}
	for {
		page, err := s.db.Query(ctx, in)
		if err != nil {
			return nil, fmt.Errorf("store: list %s: %w", partition, err)
		}
		for _, it := range page.Items {
			keys = append(keys, getStr(it, index.sk))
		}
		if len(page.LastEvaluatedKey) == 0 || len(keys) >= n {
			return keys[:min(n, len(keys))], nil
		}
		in.ExclusiveStartKey = page.LastEvaluatedKey
	}
}

// RequestJob reads the id of the job that a request id belongs to, "" when there is none: one trip.
func (s *Store) RequestJob(ctx context.Context, requestID string) (string, error) {
	items, err := s.batchGet(ctx, s.requestRef(requestID))
	if err != nil || items[0] == nil {
		return "", err
	}
	return decodeRequest(items[0]).JobID, nil
}

// ReadBrief reads what a list shows of one job, nil when there is none: one trip.
func (s *Store) ReadBrief(ctx context.Context, jobID string) (*job.Brief, error) {
	items, err := s.batchGet(ctx, s.jobRef(jobID))
	if err != nil || items[0] == nil {
		return nil, err
	}
	b := s.decodeBrief(ctx, items[0])
	return &b, nil
}
