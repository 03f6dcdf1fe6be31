package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"bailing/shared/job"
	"bailing/shared/topology"
)

var _ job.LifeStore = (*Store)(nil)

// fenced is the condition of every write by the worker that holds a job.
const fenced = "claim = :claim AND #state = :running"

var stateName = map[string]string{"#state": "state"}

func fenceValues(f job.Fence, more item) item {
	v := item{":claim": num(f.Claim), ":running": str(string(job.Running))}
	for k, x := range more {
		v[k] = x
	}
	return v
}

// fenceCheck makes a transaction depend on the fence without changing the job.
func (s *Store) fenceCheck(f job.Fence) types.TransactWriteItem {
	c := check(s.jobs(), key(jobPK(f.JobID), skJob), fenced, fenceValues(f, nil))
	c.ConditionCheck.ExpressionAttributeNames = stateName
	return c
}

// ClaimJob is one conditional update that returns the whole job, and an object read when that is large; a job of a newer
// release is refused before it is claimed. worker must be different for every claim: it tells a claim whose answer was
// lost, and that the SDK repeated, from somebody else's.
func (s *Store) ClaimJob(ctx context.Context, jobID, worker string, now, leaseUntil time.Time) (*job.Job, error) {
	out, err := single(ctx, s, s.db.UpdateItem, &dynamodb.UpdateItemInput{
		TableName: s.jobs(), Key: key(jobPK(jobID), skJob),
		UpdateExpression: aws.String("SET #state = :running, claim = claim + :one, worker = :worker, claimed = :now, " +
			"lease = :lease, updated = :now, dpk = :dpk, dsk = :dsk REMOVE #after"),
		ConditionExpression: aws.String("#state = :queued AND head = :true AND sv <= :sv AND " +
			"(attribute_not_exists(#after) OR #after <= :now)"),
		ExpressionAttributeNames: map[string]string{"#state": "state", "#after": "after"},
		ExpressionAttributeValues: item{
			":running": str(string(job.Running)), ":queued": str(string(job.Queued)), ":true": boolean(true),
			":one": num(1), ":sv": num(schemaVersion), ":worker": str(worker), ":now": millis(now), ":lease": millis(leaseUntil),
			":dpk": str(dueShard(jobID)), ":dsk": str(dueKey(leaseUntil)),
		},
		ReturnValues:                        types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	})
	var failed *types.ConditionalCheckFailedException
	if errors.As(err, &failed) {
		if err := checkVersion(failed.Item); err != nil {
			return nil, err
		}
		if getStr(failed.Item, "worker") == worker && getStr(failed.Item, "state") == string(job.Running) {
			return s.decodeJob(ctx, failed.Item)
		}
		return nil, job.ErrNotClaimable
	}
	if err != nil {
		return nil, fmt.Errorf("store: claim: %w", err)
	}
	return s.decodeJob(ctx, out.Attributes)
}

// ReleaseJob is one transaction: {job back to queued, audit record}.
func (s *Store) ReleaseJob(ctx context.Context, f job.Fence, r job.Release, ev job.Event) error {
	start := r.Now
	if r.RunAfter.After(start) {
		start = r.RunAfter
	}
	lost := int64(0)
	if r.Recovered {
		lost = 1
	}
	values := fenceValues(f, item{
		":queued": str(string(job.Queued)), ":now": millis(r.Now), ":start": millis(start),
		":tries": num(int64(r.Attempts)), ":lost": num(lost), ":dsk": str(dueKey(start.Add(job.ResendAfter))),
	})
	expr := "SET #state = :queued, updated = :now, queued = :start, attempts = attempts + :tries, " +
		"recoveries = recoveries + :lost, dsk = :dsk"
	names := map[string]string{"#state": "state", "#after": "after"}
	if r.RunAfter.IsZero() {
		expr += " REMOVE lease, worker, #after"
	} else {
		expr += ", #after = :start REMOVE lease, worker"
	}
	release := update(s.jobs(), key(jobPK(f.JobID), skJob), expr, fenced, values)
	release.Update.ExpressionAttributeNames = names
	audit, err := s.putEvent(ctx, f.JobID, ev)
	if err != nil {
		return err
	}
	err = s.transact(ctx, release, audit)
	var failed *ConditionFailed
	if errors.As(err, &failed) {
		return job.ErrLostClaim
	}
	return err
}

// FinishJob reads job and thread, and the next job when one waits, and then is one transaction: {job, thread, next head,
// outbox, audit record}. The job's row names its thread, so that reading it takes two trips.
func (s *Store) FinishJob(ctx context.Context, f job.Fence, o job.Outcome, ev job.Event) (job.Ended, error) {
	return s.end(ctx, f.JobID, o, ev, fenced, fenceValues(f, nil), job.ErrLostClaim)
}

// ExpireJob is FinishJob for the head of a thread that is still queued since queuedAt.
func (s *Store) ExpireJob(ctx context.Context, jobID string, queuedAt time.Time, o job.Outcome, ev job.Event) (job.Ended, error) {
	values := item{":queued": str(string(job.Queued)), ":true": boolean(true), ":since": millis(queuedAt)}
	return s.end(ctx, jobID, o, ev, "#state = :queued AND head = :true AND queued = :since", values, job.ErrNotClaimable)
}

func (s *Store) end(ctx context.Context, jobID string, o job.Outcome, ev job.Event, condition string, values item, lost error) (job.Ended, error) {
	end, err := s.endAction(ctx, jobID, o, condition, values)
	if err != nil {
		return job.Ended{}, err
	}
	audit, err := s.putEvent(ctx, jobID, ev)
	if err != nil {
		return job.Ended{}, err
	}
	for range maxConflictRetries {
		row, thread, err := s.endRead(ctx, jobID)
		if err != nil {
			return job.Ended{}, err
		}
		var ended job.Ended
		actions := []types.TransactWriteItem{end, audit}
		if row != nil {
			if err := mayEnd(row, o); err != nil {
				return job.Ended{}, err
			}
			actions[0] = paid(unresolved(listed(end, row), row), row)
			told, err := s.tell(ctx, row, o, &ended)
			if err != nil {
				return job.Ended{}, err
			}
			actions = s.countUsage(ctx, append(actions, told...), row, o)
		}
		next := ""
		if thread.Head == jobID {
			thread, next = thread.Leave()
			actions = append(actions, s.putThread(thread))
		}
		if next != "" {
			if ended.Next, err = s.nextHead(ctx, next); err != nil {
				return job.Ended{}, fmt.Errorf("store: next of thread: %w", err)
			}
			actions = append(actions, s.promote(ended.Next, o.Now))
		}
		err = s.transact(ctx, actions...)
		var failed *ConditionFailed
		switch {
		case err == nil:
			return ended, nil
		case !errors.As(err, &failed):
			return job.Ended{}, err
		case failed.Failed[0] && getStr(failed.Items[0], "open") == getStr(row, "open") && sameDue(failed.Items[0], row):
			return job.Ended{}, lost
		}
		// The thread moved between the read and the transaction: a job joined it. Or the job's open call did, or a call of it was
		// approved. Decide again.
	}
	return job.Ended{}, errors.New("store: the thread moves too fast to finish its head")
}

func (s *Store) endAction(ctx context.Context, jobID string, o job.Outcome, condition string, more item) (types.TransactWriteItem, error) {
	large := item{}
	if err := s.setLarge(ctx, large, "res", o.Result); err != nil {
		return types.TransactWriteItem{}, err
	}
	values := item{":end": str(string(o.Status)), ":now": millis(o.Now), ":false": boolean(false)}
	for k, v := range more {
		values[k] = v
	}
	names := map[string]string{"#state": "state", "#after": "after"}
	expr := "SET #state = :end, updated = :now, head = :false, term = if_not_exists(term, :zero) + :one"
	values[":zero"], values[":one"] = num(0), num(1)
	remove := " REMOVE lease, worker, #after, dpk, dsk"
	for name, v := range large {
		expr += ", " + name + " = :res"
		values[":res"] = v
		// What an earlier end left in the other place would be read instead.
		remove += ", " + map[string]string{"res": "res_ref", "res_ref": "res"}[name]
	}
	if len(o.Usage) > 0 {
		names["#usage"] = "usage"
		expr += ", #usage = :usage"
		values[":usage"] = binary(o.Usage)
	}
	if o.Error != "" {
		expr += ", err = :err"
		values[":err"] = str(o.Error)
	} else {
		remove += ", err"
	}
	expr += ", brief_end = :brief"
	values[":brief"] = str(job.SummaryOf(o.Result, o.Error))
	a := update(s.jobs(), key(jobPK(jobID), skJob), expr+remove, condition, values)
	a.Update.ExpressionAttributeNames = names
	return a, nil
}

// promote makes a waiting job the head of its thread: from now on it may be claimed, and its queue timeout runs.
func (s *Store) promote(n *job.NextHead, now time.Time) types.TransactWriteItem {
	a := update(s.jobs(), key(jobPK(n.ID), skJob),
		"SET head = :true, queued = :now, updated = :now, dpk = :dpk, dsk = :dsk",
		"#state = :queued AND head = :false",
		item{
			":true": boolean(true), ":false": boolean(false), ":now": millis(now), ":queued": str(string(job.Queued)),
			":dpk": str(dueShard(n.ID)), ":dsk": str(dueKey(now.Add(job.ResendAfter))),
		})
	a.Update.ExpressionAttributeNames = stateName
	return a
}

// endRead reads a job's item, nil when there is none, and its thread. The item names the thread, so that takes two trips.
func (s *Store) endRead(ctx context.Context, jobID string) (item, job.Thread, error) {
	out, err := s.db.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: s.jobs(), Key: key(jobPK(jobID), skJob), ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, job.Thread{}, fmt.Errorf("store: job that ends: %w", err)
	}
	if err := checkVersion(out.Item); err != nil {
		return nil, job.Thread{}, err
	}
	k := getStr(out.Item, "thread")
	items, err := s.batchGet(ctx, s.threadRef(k))
	if err != nil || len(out.Item) == 0 {
		return nil, job.Thread{}, err
	}
	return out.Item, decodeThread(k, items[0]), nil
}

// EachDue pages through every shard of the index "due", each minute from another one on: when there is more to do than a sweep
// has time for, no shard is always the last.
func (s *Store) EachDue(ctx context.Context, now time.Time, visit func(jobID string) error) error {
	return s.eachDue(ctx, "", now, func(it item) error { return visit(getStr(it, "pk")[len("job#"):]) })
}

// eachDue visits the due items of one family of shards.
func (s *Store) eachDue(ctx context.Context, family string, now time.Time, visit func(item) error) error {
	first := now.Unix() / 60
	for i := range int64(dueShards) {
		shard := (first + i) % dueShards
		err := s.query(ctx, &dynamodb.QueryInput{
			TableName: s.jobs(), IndexName: aws.String(topology.IndexDue),
			KeyConditionExpression: aws.String("dpk = :dpk AND dsk <= :now"),
			ExpressionAttributeValues: item{
				":dpk": str(fmt.Sprintf("%sdue#%d", family, shard)), ":now": str(dueKey(now)),
			},
		}, visit)
		if err != nil {
			return err
		}
	}
	return nil
}

// ReadState reads one job's attributes: one trip, whatever its size.
func (s *Store) ReadState(ctx context.Context, jobID string) (*job.Job, error) {
	items, err := s.batchGet(ctx, s.jobRef(jobID))
	if err != nil {
		return nil, err
	}
	if items[0] == nil {
		return nil, job.ErrNotFound
	}
	return decodeState(items[0]), nil
}

// ReadJob reads one whole job strongly.
func (s *Store) ReadJob(ctx context.Context, jobID string) (*job.Job, error) {
	items, err := s.batchGet(ctx, s.jobRef(jobID))
	if err != nil {
		return nil, err
	}
	if items[0] == nil {
		return nil, job.ErrNotFound
	}
	return s.decodeJob(ctx, items[0])
}

// ReadPaused reads the kill switch.
func (s *Store) ReadPaused(ctx context.Context) (bool, error) {
	items, err := s.batchGet(ctx, s.pauseRef())
	if err != nil {
		return false, err
	}
	return isPaused(items[0]), nil
}

// PostponeJob is one conditional update; a job that is not queued any more is left alone.
func (s *Store) PostponeJob(ctx context.Context, jobID string, lookAt time.Time, restart bool) error {
	expr := "SET dsk = :dsk"
	values := item{":dsk": str(dueKey(lookAt)), ":queued": str(string(job.Queued)), ":true": boolean(true)}
	if restart {
		expr += ", queued = :now"
		values[":now"] = millis(s.clock.Now())
	}
	_, err := single(ctx, s, s.db.UpdateItem, &dynamodb.UpdateItemInput{
		TableName: s.jobs(), Key: key(jobPK(jobID), skJob), UpdateExpression: aws.String(expr),
		ConditionExpression:      aws.String("#state = :queued AND head = :true"),
		ExpressionAttributeNames: stateName, ExpressionAttributeValues: values,
	})
	var failed *types.ConditionalCheckFailedException
	if err != nil && !errors.As(err, &failed) {
		return fmt.Errorf("store: postpone: %w", err)
	}
	return nil
}
