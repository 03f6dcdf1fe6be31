package job

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"bailing/shared/clock"
)

// RunsMax is how often one job may end: its callbacks are numbered by its ends, and the number has four digits.
const RunsMax = maxTerminal

// Why a job is not rerun.
var (
	// ErrInFlight says that the job has not ended.
	ErrInFlight = errors.New("job: in flight")
	// ErrThreadFull says that the job's thread has as many jobs in flight as it may have.
	ErrThreadFull = errors.New("job: its thread is full")
	// ErrRunsUsedUp says that the job has ended [RunsMax] times.
	ErrRunsUsedUp = errors.New("job: ended too often")
	// ErrMoved says that the job or its thread changed since it was read.
	ErrMoved = errors.New("job: changed meanwhile")
)

// RerunView is what decides a rerun.
type RerunView struct {
	Job    *Job // its state; see [LifeStore.ReadState]
	Ends   int  // how often it has ended
	Thread Thread
}

// RerunStore is the storage of a rerun.
type RerunStore interface {
	// ReadRerun reads a job and its thread strongly; ErrNotFound when there is no such job.
	ReadRerun(ctx context.Context, jobID string) (RerunView, error)
	// RequeueJob moves the job of v to queued, as v.Job.Head says, with v.Thread as its thread's next state, in one transaction
	// with ev. Results, errors, counts of tries and saved rounds of earlier runs are not the job's any more; its journal and its
	// tickets stay. ErrMoved when the job is not in the state of v any more, or its thread not at v.Thread.Version.
	RequeueJob(ctx context.Context, v RerunView, now time.Time, ev Event) error
}

// Rerunner runs ended jobs again. It is safe for concurrent use.
type Rerunner struct {
	Store  RerunStore
	Queue  Enqueuer
	Clock  clock.Clock
	Logger *slog.Logger
}

// Rerun queues an ended job again under its own id, behind whoever is in its thread (core §1.5). It asks the model anew, with
// what was frozen at its launch; what may be switched off is read again, as in the first run. A side effect that is on record is
// answered from the journal and not repeated (I1); a call with other arguments is another call. One without a known outcome
// stays so: the run ends again before a model is asked (I4; core §5.8). When the job ends it is told again, under the next
// terminal number.
//
// The errors are ErrNotFound, ErrInFlight, ErrThreadFull and ErrRunsUsedUp. A rerun that is asked for twice, or by
// two at once, happens once: the other finds the job in flight. Dying before the transaction changes nothing; dying after it
// leaves a queued job whose message the sweeper sends. A paused hub keeps the job queued until it is resumed.
func (r *Rerunner) Rerun(ctx context.Context, jobID, by string) error {
	for range threadAttempts {
		v, err := r.Store.ReadRerun(ctx, jobID)
		if err != nil {
			return err
		}
		from := v.Job.Status
		if err := rerunnable(v); err != nil {
			return err
		}
		v.Job.Head = v.Thread.Head == ""
		if v.Job.Head {
			v.Thread.Head = jobID
		} else {
			v.Thread.Waiting = append(append([]string(nil), v.Thread.Waiting...), jobID)
		}
		now := r.Clock.Now()
		err = r.Store.RequeueJob(ctx, v, now, rerunEvent(v, from, by, now))
		if errors.Is(err, ErrMoved) {
			continue
		}
		if err == nil && v.Job.Head && v.Job.Runnable() {
			if err := r.Queue.Enqueue(ctx, jobID, 0); err != nil {
				r.Logger.WarnContext(ctx, "job not queued, the sweeper will", "job_id", jobID, "error", err)
			}
		}
		return err
	}
	return ErrMoved
}

func rerunnable(v RerunView) error {
	switch {
	case !v.Job.Status.Terminal():
		return ErrInFlight
	case v.Ends >= RunsMax:
		return ErrRunsUsedUp
	case v.Thread.InFlight() >= MaxInFlight:
		return ErrThreadFull
	}
	return nil
}

func rerunEvent(v RerunView, from Status, by string, now time.Time) Event {
	ev := Event{
		ID: fmt.Sprintf("rerun-%d",
			v.Ends+1), At: now, Name: "rerun", Stage: StageRecovery, Severity: Info, Title: "Queued again by an administrator",
		Summary: string(from), Detail: map[string]any{"by": by, "from": from, "run": v.Ends + 1},
	}
	if v.Job.Error != "" {
		ev.Detail["error"] = v.Job.Error
	}
	return ev
}
