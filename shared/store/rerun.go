package store

import (
	"context"
	"errors"
	"time"

	"bailing/shared/job"
)

var _ job.RerunStore = (*Store)(nil)

// ReadRerun reads a job's row and its thread: two trips, since the row names the thread.
func (s *Store) ReadRerun(ctx context.Context, jobID string) (job.RerunView, error) {
	rows, err := s.batchGet(ctx, s.jobRef(jobID))
	if err != nil {
		return job.RerunView{}, err
	}
	if rows[0] == nil {
		return job.RerunView{}, job.ErrNotFound
	}
	k := getStr(rows[0], "thread")
	threads, err := s.batchGet(ctx, s.threadRef(k))
	if err != nil {
		return job.RerunView{}, err
	}
	return job.RerunView{Job: decodeState(rows[0]), Ends: int(getNum(rows[0], "term")),
		Thread: decodeThread(k, threads[0])}, nil
}

// RequeueJob is one transaction: {job back to queued, thread, audit record}. A job that left its terminal state and came back to
// one has ended once more, so that state and number of ends tell whether it is the one that was read. What is saved for this run
// has claims above "since_claim".
func (s *Store) RequeueJob(ctx context.Context, v job.RerunView, now time.Time, ev job.Event) error {
	audit, err := s.putEvent(ctx, v.Job.ID, ev)
	if err != nil {
		return err
	}
	values := item{
		":queued": str(string(job.Queued)), ":seen": str(string(v.Job.Status)), ":ends": num(int64(v.Ends)), ":now": millis(now),
		":head": boolean(v.Job.Head), ":zero": num(0), ":true": boolean(true), ":sv": num(schemaVersion),
		":tpk": str(timePartition), ":tsk": str(timeKey(v.Job.CreatedAt, v.Job.ID)),
	}
	expr := "SET #state = :queued, queued = :now, updated = :now, head = :head, attempts = :zero, recoveries = :zero, " +
		"since_claim = claim, cont = :true, tpk = :tpk, tsk = :tsk"
	if v.Job.Head {
		expr += ", dpk = :dpk, dsk = :dsk"
		values[":dpk"], values[":dsk"] = str(dueShard(v.Job.ID)), str(dueKey(now.Add(job.ResendAfter)))
	}
	expr += " REMOVE res, res_ref, err, brief_end, #usage, #after"
	ends := "term = :ends"
	if v.Ends == 0 { // rejected at launch
		ends = "(attribute_not_exists(term) OR term = :ends)"
	}
	requeue := update(s.jobs(), key(jobPK(v.Job.ID), skJob), expr,
		"#state = :seen AND sv <= :sv AND "+ends, values)
	requeue.Update.ExpressionAttributeNames = map[string]string{"#state": "state", "#usage": "usage", "#after": "after"}
	err = s.transact(ctx, requeue, s.putThread(v.Thread), audit)
	var failed *ConditionFailed
	if errors.As(err, &failed) {
		return job.ErrMoved
	}
	return err
}
