package job

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"bailing/shared/chance"
	"bailing/shared/clock"
)

// LifeStore is the storage of a job's life after its launch. Every method that takes a Fence fails with ErrLostClaim when
// the job is not running under that claim any more.
type LifeStore interface {
	// ClaimJob moves the queued head job to running, raises its claim, and returns it; one conditional write.
	// ErrNotClaimable when the job is absent, not queued, not head, or not due.
	ClaimJob(ctx context.Context, jobID, worker string, now, leaseUntil time.Time) (*Job, error)
	// ReleaseJob moves a running job back to queued; one transaction with ev.
	ReleaseJob(ctx context.Context, f Fence, r Release, ev Event) error
	// FinishJob ends a running job, makes the next job of its thread head and writes the outbox: two reads, a third when a
	// job waits, and one transaction with ev. It fails with ErrDue when an approved call of the job is due, unless the job ends
	// with an open call.
	FinishJob(ctx context.Context, f Fence, o Outcome, ev Event) (Ended, error)
	// ExpireJob ends a queued job that nobody took, if it is still queued since queuedAt; like FinishJob.
	ExpireJob(ctx context.Context, jobID string, queuedAt time.Time, o Outcome, ev Event) (Ended, error)
	// EachDue calls visit with every job that should be looked at by now, in no order. It reads an index that may lag: the
	// visitor reads each job before it acts. It stops at the first error.
	EachDue(ctx context.Context, now time.Time, visit func(jobID string) error) error
	// ReadState reads one job strongly, or returns ErrNotFound. Only what moves a job is in it (its status, head, claim,
	// counts, times and kind of target), so that a value that cannot be read never keeps a job from its end (I5).
	ReadState(ctx context.Context, jobID string) (*Job, error)
	// ReadPaused reads the kill switch.
	ReadPaused(ctx context.Context) (bool, error)
	// PostponeJob sets when a queued job is looked at next, and with restart also when its queue timeout starts; it does
	// nothing to a job that is not queued any more.
	PostponeJob(ctx context.Context, jobID string, lookAt time.Time, restart bool) error
}

// Release says how a job goes back to the queue.
type Release struct {
	RunAfter  time.Time // zero = at once
	Attempts  int       // added to the count of failed tries
	Recovered bool      // the worker was lost
	Now       time.Time
}

// Outcome is how a job ends.
type Outcome struct {
	Status Status // Done or Failed
	Result json.RawMessage
	Usage  json.RawMessage
	Error  string
	Now    time.Time

	// DueLapsed lets the job end although it has approved calls that were not made, if their deadlines have passed.
	DueLapsed bool
}

// Lifecycle moves claimed jobs on. It is safe for concurrent use.
type Lifecycle struct {
	Store    LifeStore
	Queue    Enqueuer
	Notifier Notifier // of callbacks; nil leaves them to the sweeper of package delivery
	Clock    clock.Clock
	Logger   *slog.Logger
}

// Claim takes the job for worker, for the length of [Lease]. Claiming twice gives the second caller ErrNotClaimable.
func (l *Lifecycle) Claim(ctx context.Context, jobID, worker string) (*Job, error) {
	now := l.Clock.Now()
	return l.Store.ClaimJob(ctx, jobID, worker, now, now.Add(Lease))
}

// Finish ends the job, queues the next one of its thread, and its callbacks. When one of these messages is lost, a sweeper sends it.
// A job of which a call was approved meanwhile goes back to the queue instead: the call comes first.
func (l *Lifecycle) Finish(ctx context.Context, f Fence, o Outcome) error {
	o.Now = l.Clock.Now()
	ev := Event{
		ID: fmt.Sprintf("finished-%d", f.Claim), At: o.Now, Name: "finished", Stage: StageExecution, Severity: Info,
		Title: "Job finished", Summary: string(o.Status), Detail: map[string]any{"status": o.Status},
	}
	if o.Status == Failed {
		ev.Severity, ev.Detail["error"] = Severe, o.Error
	}
	ended, err := l.Store.FinishJob(ctx, f, o, ev)
	if errors.Is(err, ErrDue) {
		return l.payFirst(ctx, f)
	}
	if err != nil {
		return err
	}
	l.follow(ctx, ended)
	return nil
}

// payFirst puts a job back that cannot end before an approved call is made. Only a worker of the hub is told by a message.
func (l *Lifecycle) payFirst(ctx context.Context, f Fence) error {
	j, err := l.Store.ReadState(ctx, f.JobID)
	if err != nil {
		return err
	}
	return l.Yield(ctx, f, "an approved call is to be made before the job ends", !j.Runnable())
}

// Retry repeats the job after its route's back-off, doubled for every further try and jittered by a tenth, or ends it
// with reason when its tries are used up (core §1.5).
func (l *Lifecycle) Retry(ctx context.Context, j *Job, f Fence, reason string, usage json.RawMessage) error {
	if j.Open != nil {
		return l.Reconcile(ctx, f, j.Open, usage)
	}
	if j.Attempts >= j.RetryMax() {
		return l.Finish(ctx, f, Outcome{Status: Failed, Error: reason, Usage: usage, Result: json.RawMessage(`{}`)})
	}
	now := l.Clock.Now()
	wait := backoff(time.Duration(j.Snapshot.Retry.BackoffMS)*time.Millisecond, j.Attempts)
	ev := Event{
		ID: fmt.Sprintf("retry-%d", f.Claim), At: now, Name: "retry_scheduled", Stage: StageRecovery, Severity: Warning,
		Title: "Retry scheduled", Summary: reason,
		Detail: map[string]any{"attempt": j.Attempts + 1, "max": j.RetryMax(), "wait_ms": wait.Milliseconds()},
	}
	r := Release{RunAfter: now.Add(wait), Attempts: 1, Now: now}
	if err := l.Store.ReleaseJob(ctx, f, r, ev); err != nil {
		return err
	}
	l.send(ctx, j.ID, wait+clockSlack)
	return nil
}

// clockSlack is added to the delay of a message whose job is not due yet: one that comes a moment early finds nothing to
// claim and is lost.
const clockSlack = 200 * time.Millisecond

// maxBackoff is the longest back-off that a route may ask for, and the longest that doubling reaches.
const maxBackoff = 5 * time.Minute

// backoff is base doubled per earlier try, at most maxBackoff, plus up to a tenth.
func backoff(base time.Duration, tries int) time.Duration {
	wait := min(base<<min(tries, 10), maxBackoff)
	return wait + time.Duration(chance.N(int64(wait)/10+1))
}

// Yield puts a job back that this worker cannot go on with now: too little time is left, or the hub is paused. Its saved
// rounds are kept, and it does not count as a failed try. silent sends no message: while the hub is paused workers would pass the
// job around; the sweeper sends one when the pause is over.
func (l *Lifecycle) Yield(ctx context.Context, f Fence, reason string, silent bool) error {
	now := l.Clock.Now()
	ev := Event{
		ID: fmt.Sprintf("yield-%d", f.Claim), At: now, Name: "yielded", Stage: StageExecution, Severity: Info,
		Title: "Put back to continue later", Summary: reason,
	}
	if err := l.Store.ReleaseJob(ctx, f, Release{Now: now}, ev); err != nil {
		return err
	}
	if !silent {
		l.send(ctx, f.JobID, 0)
	}
	return nil
}

// Defer puts a job back whose approved call cannot be made now, for reason, and may be made after wait. It does not count as a
// failed try.
func (l *Lifecycle) Defer(ctx context.Context, j *Job, f Fence, reason string, wait time.Duration) error {
	now := l.Clock.Now()
	ev := Event{
		ID: fmt.Sprintf("approval_deferred-%d", f.Claim), At: now, Name: "approval_deferred", Stage: StageApproval, Severity: Warning,
		Title: "Approved call not made yet", Summary: reason, Detail: map[string]any{"reason": reason, "wait_ms": wait.Milliseconds()},
	}
	if err := l.Store.ReleaseJob(ctx, f, Release{RunAfter: now.Add(wait), Now: now}, ev); err != nil {
		return err
	}
	if j.Runnable() {
		l.send(ctx, j.ID, wait+clockSlack)
	}
	return nil
}

// Recover puts a job back whose worker was lost, or failed for a reason inside the hub. After [MaxRecoveries] of these it
// ends: it would otherwise be tried for ever.
func (l *Lifecycle) Recover(ctx context.Context, j *Job, f Fence, reason string) error {
	now := l.Clock.Now()
	if j.Recoveries >= MaxRecoveries && j.Open != nil {
		return l.Reconcile(ctx, f, j.Open, j.Usage)
	}
	if j.Recoveries >= MaxRecoveries && !j.Waits(now) { // an approved call is tried until its deadline
		return l.Finish(ctx, f, Outcome{Status: Failed, Error: ReasonWorkerLost, Usage: j.Usage, Result: json.RawMessage(`{}`), DueLapsed: true})
	}
	wait := backoff(recoverBackoff, j.Recoveries)
	if j.Recoveries == 0 {
		wait = 0
	}
	ev := Event{
		ID: fmt.Sprintf("recovered-%d", f.Claim), At: now, Name: "recovered", Stage: StageRecovery, Severity: Warning,
		Title: "Queued again", Summary: reason, Detail: map[string]any{"worker": j.Worker, "claim": f.Claim},
	}
	r := Release{Recovered: true, Now: now}
	if wait > 0 {
		r.RunAfter = now.Add(wait)
	}
	if err := l.Store.ReleaseJob(ctx, f, r, ev); err != nil {
		return err
	}
	if wait > 0 {
		wait += clockSlack
	}
	l.send(ctx, j.ID, wait)
	return nil
}

// recoverBackoff is the first wait of a job that was recovered before; it doubles.
const recoverBackoff = 15 * time.Second

// follow sends what the end of a job leads to.
func (l *Lifecycle) follow(ctx context.Context, e Ended) {
	if e.Next != nil && e.Next.Runnable() {
		l.send(ctx, e.Next.ID, 0)
	}
	if l.Notifier == nil {
		return
	}
	for _, k := range e.Outbox {
		if err := l.Notifier.Notify(ctx, k, 0); err != nil {
			l.Logger.WarnContext(ctx, "callback not queued, the sweeper will", "outbox_id", k.ID(), "error", err)
		}
	}
}

// send is a hint only: a failure is logged and left to the sweeper.
func (l *Lifecycle) send(ctx context.Context, jobID string, delay time.Duration) {
	if err := l.Queue.Enqueue(ctx, jobID, delay); err != nil {
		l.Logger.WarnContext(ctx, "job not queued, the sweeper will", "job_id", jobID, "error", err)
	}
}

// Sweeper finds jobs that a lost message or a dead worker left behind (core §7.5). It may run twice, beside itself, and die
// anywhere: each job is moved by one conditional write.
type Sweeper struct {
	*Lifecycle
}

// Swept counts what a sweep did.
type Swept struct{ Looked, Requeued, Recovered, Expired int }

// Sweep looks at every due job once. A job that cannot be moved is logged and does not keep the others waiting.
func (s *Sweeper) Sweep(ctx context.Context) (Swept, error) {
	return s.each(ctx, s.Clock.Now(), false)
}

// Reclaim puts every running job back. It is for a host that is the only one and has just started: no worker can be alive.
// Elsewhere leases decide. It does not count as a lost worker, since stopping a host is nobody's failure.
func (s *Sweeper) Reclaim(ctx context.Context) (Swept, error) {
	return s.each(ctx, s.Clock.Now().Add(QueueTimeout+Lease), true)
}

func (s *Sweeper) each(ctx context.Context, until time.Time, reclaim bool) (n Swept, err error) {
	paused, err := s.Store.ReadPaused(ctx)
	if err != nil {
		return n, err
	}
	err = s.Store.EachDue(ctx, until, func(id string) error {
		n.Looked++
		if err := s.look(ctx, id, paused, reclaim, &n); err != nil {
			s.Logger.ErrorContext(ctx, "job not swept", "job_id", id, "error", err)
		}
		return ctx.Err()
	})
	return n, err
}

func (s *Sweeper) look(ctx context.Context, id string, paused, reclaim bool, n *Swept) error {
	j, err := s.Store.ReadState(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	now := s.Clock.Now()
	switch {
	case j.Status == Running && reclaim:
		return count(&n.Recovered, s.Yield(ctx, Fence{JobID: j.ID, Claim: j.Claim}, "the host was started again", paused))
	case j.Status == Running && !j.LeaseUntil.After(now):
		return count(&n.Recovered, s.Recover(ctx, j, Fence{JobID: j.ID, Claim: j.Claim}, "the worker was lost"))
	case j.Status != Queued || !j.Head:
		return nil
	case paused:
		// Waiting for the switch is nobody's failure: the queue timeout starts anew.
		return s.Store.PostponeJob(ctx, id, now, true)
	case now.Sub(j.QueuedAt) > QueueTimeout && j.Open == nil && j.Waits(now.Add(-QueueTimeout)): // until the deadline, and then it says that it passed
		if j.Runnable() {
			n.Requeued++
			s.send(ctx, id, 0)
		}
		return s.Store.PostponeJob(ctx, id, now.Add(ResendAfter), true)
	case now.Sub(j.QueuedAt) > QueueTimeout:
		return count(&n.Expired, s.expire(ctx, j, now))
	case j.Runnable():
		n.Requeued++
		s.send(ctx, id, max(0, j.RunAfter.Sub(now)))
		// A message that waits behind others is not lost: the longer the job has waited, the rarer the copies.
		return s.Store.PostponeJob(ctx, id, lookAgain(j, now, max(ResendAfter, now.Sub(j.QueuedAt))), false)
	default:
		return s.Store.PostponeJob(ctx, id, lookAgain(j, now, ResendAfter), false)
	}
}

// lookAgain is after wait, and at the latest when the queue timeout has passed.
func lookAgain(j *Job, now time.Time, wait time.Duration) time.Time {
	at, timeout := now.Add(wait), j.QueuedAt.Add(QueueTimeout+time.Millisecond)
	if timeout.Before(at) {
		return timeout
	}
	return at
}

// count adds a job that was moved. That another writer moved it first is no error: it is what the sweep wanted.
func count(n *int, err error) error {
	switch {
	case err == nil:
		*n++
	case errors.Is(err, ErrLostClaim), errors.Is(err, ErrNotClaimable), errors.Is(err, ErrDue):
		return nil
	}
	return err
}

func (s *Sweeper) expire(ctx context.Context, j *Job, now time.Time) error {
	o := Outcome{Status: Failed, Error: ReasonQueueTimeout, Result: json.RawMessage(`{}`), DueLapsed: true}
	if j.Open != nil { // it was queued again after it ended so
		o = j.Open.Outcome(j.Usage)
	}
	o.Now = now
	ev := Event{
		ID: fmt.Sprintf("expired-%d", j.Claim), At: now, Name: "finished", Stage: StageRecovery, Severity: Severe,
		Title: "Nobody took the job", Summary: ReasonQueueTimeout, Detail: map[string]any{"status": o.Status, "error": o.Error},
	}
	ended, err := s.Store.ExpireJob(ctx, j.ID, j.QueuedAt, o, ev)
	if err != nil {
		return err
	}
	s.follow(ctx, ended)
	return nil
}
