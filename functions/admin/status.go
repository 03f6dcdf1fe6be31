package admin

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"bailing/shared/job"
)

// systemStatus is whether the hub works, and on how much. Its numbers count at most [job.LiveMax] running jobs and heads of
// threads.
type systemStatus struct {
	Paused bool `json:"paused"`
	Queue  struct {
		Running   int  `json:"running"`
		Waiting   int  `json:"waiting"`
		Truncated bool `json:"truncated,omitempty"` // there are more
	} `json:"queue"`
	Executors []struct{} `json:"executors"` // there are none in this version
}

// SystemStatus serves GET /admin/api/status.
func (h *Handler) SystemStatus(w http.ResponseWriter, r *http.Request) {
	s := systemStatus{Executors: []struct{}{}}
	var live job.Live
	g, ctx := errgroup.WithContext(r.Context())
	g.Go(func() (err error) {
		live, err = h.d.Runs.ReadLive(ctx, job.LiveMax)
		return err
	})
	g.Go(func() (err error) {
		s.Paused, err = h.d.Runs.ReadPaused(ctx)
		return err
	})
	err := g.Wait()
	n := count(live, time.Time{})
	s.Queue.Running, s.Queue.Waiting, s.Queue.Truncated = n.Running+n.Dispatched, n.Queued, live.Truncated
	answer(w, r, s, err)
}

// dispatchStatus is what is queued, who works on what, and what waits for whom (the members are those of the reference).
type dispatchStatus struct {
	Now            string          `json:"now"`
	Summary        dispatchSummary `json:"summary"`
	Truncated      bool            `json:"truncated,omitempty"` // more than [job.LiveMax] jobs: the first that are due count
	ByTarget       []targetCount   `json:"by_target"`
	Leases         []leaseView     `json:"leases"`          // the earliest end first
	BlockedThreads []blockedThread `json:"blocked_threads"` // the longest wait first
}

type dispatchSummary struct {
	Queued         int `json:"queued"` // heads of threads, and what waits behind heads
	Running        int `json:"running"`
	Dispatched     int `json:"dispatched"`
	DelayedQueued  int `json:"delayed_queued"` // not due yet
	ExpiredLeases  int `json:"expired_leases"`
	BlockedThreads int `json:"blocked_threads"`
}

type targetCount struct {
	Target     string `json:"target"`
	Queued     int    `json:"queued"` // heads of threads
	Running    int    `json:"running"`
	Dispatched int    `json:"dispatched"`
}

type leaseView struct {
	JobID      string     `json:"job_id"`
	Target     string     `json:"target"`
	Status     job.Status `json:"status"`
	ClaimedAt  *string    `json:"claimed_at"`
	LeaseUntil *string    `json:"lease_until"`
	Expired    bool       `json:"expired"`
}

// blockedThread is a thread in which jobs wait for the one that is its turn.
type blockedThread struct {
	ThreadID int64      `json:"thread_id"`
	JobID    string     `json:"job_id"` // whose turn it is
	Status   job.Status `json:"status"`
	Waiting  int        `json:"waiting"`
	Since    string     `json:"since"` // when that job was queued
}

// DispatchStatus serves GET /admin/api/dispatch-status.
func (h *Handler) DispatchStatus(w http.ResponseWriter, r *http.Request) {
	live, err := h.d.Runs.ReadLive(r.Context(), job.LiveMax)
	answer(w, r, dispatchOf(live, h.d.Clock.Now()), err)
}

// count sums up live; a zero now leaves out what depends on the time.
func count(live job.Live, now time.Time) (n dispatchSummary) {
	for _, j := range live.Jobs {
		switch j.Status {
		case job.Running:
			n.Running++
		case job.Dispatched:
			n.Dispatched++
		case job.Queued:
			n.Queued++
			if j.RunAfter.After(now) {
				n.DelayedQueued++
			}
		}
		if j.ExpiredLease(now) {
			n.ExpiredLeases++
		}
		if n.Queued += j.Waiting; j.Waiting > 0 {
			n.BlockedThreads++
		}
	}
	return n
}

func dispatchOf(live job.Live, now time.Time) dispatchStatus {
	d := dispatchStatus{
		Now: job.Timestamp(now), Summary: count(live,
			now), Truncated: live.Truncated, ByTarget: []targetCount{}, Leases: []leaseView{},
		BlockedThreads: []blockedThread{},
	}
	targets := map[string]*targetCount{}
	slices.SortStableFunc(live.Jobs, func(a, b job.LiveJob) int {
		return cmp.Or(a.LeaseUntil.Compare(b.LeaseUntil), a.QueuedAt.Compare(b.QueuedAt), cmp.Compare(a.ID, b.ID))
	})
	for _, j := range live.Jobs {
		t := targets[j.Target]
		if t == nil {
			t = &targetCount{Target: j.Target}
			targets[j.Target] = t
		}
		switch j.Status {
		case job.Running:
			t.Running++
		case job.Dispatched:
			t.Dispatched++
		case job.Queued:
			t.Queued++
		}
		if j.Status != job.Queued {
			d.Leases = append(d.Leases, leaseView{
				JobID: j.ID, Target: j.Target, Status: j.Status, ClaimedAt: timestamp(j.ClaimedAt),
				LeaseUntil: timestamp(j.LeaseUntil), Expired: j.ExpiredLease(now),
			})
		}
		if j.Waiting > 0 {
			d.BlockedThreads = append(d.BlockedThreads, blockedThread{
				ThreadID: j.ThreadID, JobID: j.ID, Status: j.Status, Waiting: j.Waiting, Since: job.Timestamp(j.QueuedAt),
			})
		}
	}
	for _, t := range targets {
		d.ByTarget = append(d.ByTarget, *t)
	}
	slices.SortFunc(d.ByTarget, func(a, b targetCount) int { return cmp.Compare(a.Target, b.Target) })
	slices.SortStableFunc(d.BlockedThreads, func(a, b blockedThread) int { return cmp.Compare(a.Since, b.Since) })
	return d
}
