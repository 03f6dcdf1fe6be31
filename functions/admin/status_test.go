package admin_test

import (
	"testing"
	"time"

	jobs "bailing/shared/job"
)

// aQueue is a running job with two behind it, one whose worker is late, one that is not due yet, and one for an executor.
func aQueue() jobs.Live {
	brief := func(id, target string, s jobs.Status) jobs.Brief {
		return jobs.Brief{ID: id, Target: target, Status: s, ThreadID: 5}
	}
	return jobs.Live{Jobs: []jobs.LiveJob{
		{Brief: brief("a", "llm", jobs.Running), QueuedAt: now.Add(-time.Minute), ClaimedAt: now, LeaseUntil: now.Add(time.Minute), Waiting: 2},
		{Brief: brief("b", "llm", jobs.Running), QueuedAt: now.Add(-time.Hour), ClaimedAt: now.Add(-time.Hour), LeaseUntil: now, Waiting: 1},
		{Brief: brief("c", "llm", jobs.Queued), QueuedAt: now, RunAfter: now.Add(time.Millisecond)},
		{Brief: brief("d", "robot", jobs.Queued), QueuedAt: now},
	}}
}

func TestStatusCountsWhatRunsAndWaits(t *testing.T) {
	t.Parallel()
	h, r := setupRuns(t)
	want(t, h.admin("GET", "/admin/api/status", ""), 200, `{"paused":false,"queue":{"running":0,"waiting":0},"executors":[]}`)
	r.live, r.paused = aQueue(), true
	want(t, h.admin("GET", "/admin/api/status", ""), 200, `{"paused":true,"queue":{"running":2,"waiting":5},"executors":[]}`)
	r.live.Truncated = true
	want(t, h.admin("GET", "/admin/api/status", ""), 200, `{"paused":true,"queue":{"running":2,"waiting":5,"truncated":true},"executors":[]}`)
}

func TestDispatchStatusSaysWhoWaitsForWhom(t *testing.T) {
	t.Parallel()
	h, r := setupRuns(t)
	const path = "/admin/api/dispatch-status"
	want(t, h.admin("GET", path, ""), 200, `{"now":"2026-11-30T15:52:48.906Z","summary":{"queued":0,"running":0,"dispatched":0,"delayed_queued":0,
		"expired_leases":0,"blocked_threads":0},"by_target":[],"leases":[],"blocked_threads":[]}`)
	r.live = aQueue()
	r.live.Truncated = true
	want(t, h.admin("GET", path, ""), 200, `{"now":"2026-11-30T15:52:48.906Z","truncated":true,
		"summary":{"queued":5,"running":2,"dispatched":0,"delayed_queued":1,"expired_leases":1,"blocked_threads":2},
		"by_target":[{"target":"llm","queued":1,"running":2,"dispatched":0},{"target":"robot","queued":1,"running":0,"dispatched":0}],
		"leases":[
			{"job_id":"b","target":"llm","status":"running","claimed_at":"2026-11-30T14:52:48.906Z","lease_until":"2026-11-30T15:52:48.906Z","expired":true},
			{"job_id":"a","target":"llm","status":"running","claimed_at":"2026-11-30T15:52:48.906Z","lease_until":"2026-11-30T15:53:48.906Z","expired":false}],
		"blocked_threads":[
			{"thread_id":5,"job_id":"b","status":"running","waiting":1,"since":"2026-11-30T14:52:48.906Z"},
			{"thread_id":5,"job_id":"a","status":"running","waiting":2,"since":"2026-11-30T15:51:48.906Z"}]}`)
}
