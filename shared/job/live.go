package job

import "time"

// LiveMax bounds how many jobs one look at the running system reads. Its numbers are exact below that.
const LiveMax = 200

// LiveJob is a job that is running, or the queued head of its thread.
type LiveJob struct {
	Brief
	Head       bool
	Worker     string
	RunAfter   time.Time // zero, or the earliest next claim
	QueuedAt   time.Time
	ClaimedAt  time.Time
	LeaseUntil time.Time
	Waiting    int // jobs behind it in its thread
}

// Live is the running system: the jobs that are due first.
type Live struct {
	Jobs      []LiveJob
	Truncated bool // there are more than [LiveMax]
}

// ExpiredLease reports whether the job's worker should have come back by now.
func (j LiveJob) ExpiredLease(now time.Time) bool {
	return (j.Status == Running || j.Status == Dispatched) && !j.LeaseUntil.After(now)
}
