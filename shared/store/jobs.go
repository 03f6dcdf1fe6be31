package store

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"time"

	"bailing/shared/job"
	"bailing/shared/plainjson"
	"bailing/shared/registry"
)

// Rows of the jobs table:
//
//	job#<id>          job           one job: state in attributes, what it was asked in "ask", its result in "res"
//	job#<id>          round#...     saved model rounds and call results (rounds.go)
//	job#<id>          outbox#...    what is told about its end, and to whom (outbox.go)
//	job#<id>          call#...      the journal of side-effecting calls (journal.go)
//	job#<id>          ticket#...    leads from a call to its latest ticket (tickets.go)
//	job#<id>          asked#...     leads to each ticket of the job (tickets.go)
//	ticket#<id>       ticket        one approval ticket (tickets.go)
//	decision#<o>#<id> decision      the ticket that an owner's decision id decided (tickets.go)
//	request#<id>      request       the global request id
//	thread#<key>      thread        head and waiting jobs of a thread
//	limit#<key>       limit         a rate-limit bucket (limits.go)
//	usage#...                       what the jobs of a route or a client used (usage.go)
//
// The index "due" holds the jobs that the sweeper must look at: queued heads and running jobs, by the time of the look. The index
// "time" holds all jobs by their launch (runs.go).

const (
	skJob     = "job"
	skRequest = "request"
	skThread  = "thread"
)

// dueShards spreads the index "due", which every launch and claim writes to.
const dueShards = 16

func jobPK(id string) string { return "job#" + id }

func (s *Store) jobRef(id string) ref     { return ref{s.jobs(), jobPK(id), skJob} }
func (s *Store) requestRef(id string) ref { return ref{s.jobs(), "request#" + id, skRequest} }
func (s *Store) threadRef(k string) ref   { return ref{s.jobs(), "thread#" + k, skThread} }

func dueShard(jobID string) string {
	h := fnv.New32a()
	h.Write([]byte(jobID))
	return fmt.Sprintf("due#%d", h.Sum32()%dueShards)
}

// dueKey sorts by time: milliseconds in a fixed width.
func dueKey(t time.Time) string { return fmt.Sprintf("%015d", t.UnixMilli()) }

// ask is what the submitter gave and what was frozen for it; it never changes.
type ask struct {
	RequestID   string          `json:"request_id"`
	Owner       string          `json:"owner"`
	Source      string          `json:"source"`
	Profile     string          `json:"profile"`
	Project     string          `json:"project"`
	ThreadKey   string          `json:"thread_key"`
	ThreadID    int64           `json:"thread_id"`
	SessionID   string          `json:"session_id"`
	Continue    bool            `json:"continue"`
	CallbackURL string          `json:"callback_url"`
	Input       string          `json:"input"`
	Metadata    json.RawMessage `json:"metadata"`
	Snapshot    job.Snapshot    `json:"snapshot"`
}

func (s *Store) encodeJob(ctx context.Context, j *job.Job) (item, error) {
	b, err := plainjson.Marshal(ask{
		RequestID: j.RequestID, Owner: j.Owner, Source: j.Source, Profile: j.Profile, Project: j.Project,
		ThreadKey: j.ThreadKey, ThreadID: j.ThreadID, SessionID: j.SessionID, Continue: j.Continue,
		CallbackURL: j.CallbackURL, Input: j.Input, Metadata: j.Metadata, Snapshot: j.Snapshot,
	})
	if err != nil {
		return nil, fmt.Errorf("store: job: %w", err)
	}
	it := newItem(jobPK(j.ID), skJob)
	if err := s.setLarge(ctx, it, "ask", b); err != nil {
		return nil, err
	}
	if it["brief"], err = encodeBrief(j); err != nil {
		return nil, err
	}
	it["tpk"], it["tsk"] = str(timePartition), str(timeKey(j.CreatedAt, j.ID))
	it["state"] = str(string(j.Status))
	it["owner"] = str(j.Owner)
	it["thread"] = str(j.ThreadKey)
	it["head"] = boolean(j.Head)
	it["kind"] = str(string(j.Snapshot.TargetKind))
	it["claim"] = num(j.Claim)
	it["attempts"] = num(int64(j.Attempts))
	it["recoveries"] = num(int64(j.Recoveries))
	it["created"], it["updated"], it["queued"] = millis(j.CreatedAt), millis(j.UpdatedAt), millis(j.QueuedAt)
	if j.Error != "" {
		it["err"] = str(j.Error)
	}
	// The end of the job finds here, without reading "ask", whether somebody has to be told.
	if j.CallbackURL != "" {
		it["cb"] = str(j.CallbackURL)
	}
	if d := j.Snapshot.Delivery; d != nil {
		it["dl"] = str(d.URL)
	}
	if j.Status == job.Queued && j.Head {
		it["dpk"], it["dsk"] = str(dueShard(j.ID)), str(dueKey(j.QueuedAt.Add(job.ResendAfter)))
	}
	return it, nil
}

// nextHead reads what making a waiting job head needs, and no more: a value that cannot be read now must not keep the job
// before it from finishing.
func (s *Store) nextHead(ctx context.Context, jobID string) (*job.NextHead, error) {
	items, err := s.batchGet(ctx, s.jobRef(jobID))
	if err != nil {
		return nil, err
	}
	if items[0] == nil {
		return nil, job.ErrNotFound
	}
	return &job.NextHead{ID: jobID, Kind: registry.TargetKind(getStr(items[0], "kind"))}, nil
}

func (s *Store) decodeJob(ctx context.Context, it item) (*job.Job, error) {
	if it == nil {
		return nil, nil
	}
	b, err := s.getLarge(ctx, it, "ask")
	if err != nil {
		return nil, err
	}
	var a ask
	if err := json.Unmarshal(b, &a); err != nil {
		return nil, fmt.Errorf("store: job %s: %w", getStr(it, "pk"), err)
	}
	j := decodeState(it)
	j.RequestID, j.Source, j.Profile, j.Project, j.ThreadID = a.RequestID, a.Source, a.Profile, a.Project, a.ThreadID
	j.SessionID, j.Continue, j.CallbackURL = a.SessionID, a.Continue, a.CallbackURL
	j.Input, j.Metadata, j.Snapshot = a.Input, a.Metadata, a.Snapshot
	if j.Continued {
		if j.Metadata, err = job.WithDelivery(j.Metadata); err != nil {
			return nil, fmt.Errorf("store: job %s: %w", j.ID, err)
		}
	}
	j.Result, err = s.getLarge(ctx, it, "res")
	return j, err
}

// decodeState is the job without what was asked and what came of it: nothing that a value beside the item may hold.
func decodeState(it item) *job.Job {
	return &job.Job{
		ID: getStr(it, "pk")[len("job#"):], Status: job.Status(getStr(it, "state")), Owner: getStr(it, "owner"),
		ThreadKey: getStr(it, "thread"), Snapshot: job.Snapshot{TargetKind: registry.TargetKind(getStr(it, "kind"))},
		Attempts: int(getNum(it, "attempts")), Claim: getNum(it, "claim"), Recoveries: int(getNum(it, "recoveries")),
		Head: getBool(it, "head"), Worker: getStr(it, "worker"), Error: getStr(it, "err"), Usage: getBytes(it, "usage"),
		RunAfter: getTime(it, "after"), QueuedAt: getTime(it, "queued"), ClaimedAt: getTime(it, "claimed"),
		LeaseUntil: getTime(it, "lease"), CreatedAt: getTime(it, "created"), UpdatedAt: getTime(it, "updated"),
		Open: decodeOpen(it), Due: job.ParseDue(getSet(it, "due")), SinceClaim: getNum(it, "since_claim"), Continued: getBool(it, "cont"),
	}
}

func encodeThread(t job.Thread) item {
	it := newItem("thread#"+t.Key, skThread)
	it["ver"] = num(t.Version + 1)
	it["wait"] = strs(t.Waiting)
	if t.Head != "" {
		it["head"] = str(t.Head)
	}
	if t.SessionID != "" {
		it["session"] = str(t.SessionID)
	}
	if len(t.Uncounted) > 0 {
		it["extra"] = strs(t.Uncounted)
	}
	return it
}

func decodeThread(key string, it item) job.Thread {
	return job.Thread{
		Key: key, Version: getNum(it, "ver"), Head: getStr(it, "head"), Waiting: getStrs(it, "wait"),
		SessionID: getStr(it, "session"), Uncounted: getStrs(it, "extra"),
	}
}

func encodeRequest(e job.RequestEntry) item {
	it := newItem("request#"+e.RequestID, skRequest)
	it["job"], it["owner"], it["fp"] = str(e.JobID), str(e.Owner), str(e.Fingerprint)
	return it
}

func decodeRequest(it item) *job.RequestEntry {
	if it == nil {
		return nil
	}
	return &job.RequestEntry{
		RequestID: getStr(it, "pk")[len("request#"):], JobID: getStr(it, "job"), Owner: getStr(it, "owner"),
		Fingerprint: getStr(it, "fp"),
	}
}
