package sim

import (
	"fmt"
	"io"
	"time"
)

// Report is what came of one schedule.
type Report struct {
	Seed          uint64
	Schedule      int
	Mix           string // of faults
	Faults, Steps int
	Jobs          int
	Duplicates    int // side effects that a business got twice, and jobs that ended twice
	LostApprovals int // approved calls that were neither made nor explained
	LostJobs      int // accepted jobs that are not there, or ended without what they were to do
	Stuck         int // what neither ended nor has a deadline ahead
	Failures      []Failure
	Tail          []string // of the trace
	Hash          string   // of the whole trace
	Virtual       time.Duration
	Seen          map[string]int // what happened, and how often
	Logs          string         // what the functions wrote
}

// Print tells a developer what a failed schedule did; nothing when it did not fail.
func (r Report) Print(out io.Writer) {
	if len(r.Failures) == 0 {
		return
	}
	fmt.Fprintf(out, "\n--- seed %d, schedule %d (%s), after %s\n", r.Seed, r.Schedule, r.Mix, r.Virtual)
	for _, line := range r.Tail {
		fmt.Fprintln(out, line)
	}
	for _, f := range r.Failures {
		name := f.Invariant
		if name == "" {
			name = "simulator"
		}
		fmt.Fprintf(out, "broken: %s at %.3f s: %s\n", name, f.At.Seconds(), f.Text)
	}
	fmt.Fprintf(out, "again, with everything: make sim SEED=%d TRACE=1\n\n", r.Seed)
}

// Total adds schedules up.
type Total struct {
	Schedules, Faults, Duplicates, LostApprovals, LostJobs, Stuck, Failures int
	Seen                                                                    map[string]int

	seeds map[uint64]bool
}

// Add adds a schedule.
func (t *Total) Add(r Report) {
	if t.Seen == nil {
		t.Seen, t.seeds = map[string]int{}, map[uint64]bool{}
	}
	t.seeds[r.Seed] = true
	t.Schedules++
	t.Faults += r.Faults
	t.Duplicates += r.Duplicates
	t.LostApprovals += r.LostApprovals
	t.LostJobs += r.LostJobs
	t.Stuck += r.Stuck
	t.Failures += len(r.Failures)
	for what, n := range r.Seen {
		t.Seen[what] += n
	}
}

// Broken reports whether any promise was broken.
func (t Total) Broken() bool {
	return t.Failures > 0 || t.Duplicates+t.LostApprovals+t.LostJobs+t.Stuck > 0 || t.Schedules == 0
}

func (t Total) String() string {
	return fmt.Sprintf("seeds=%d schedules=%d faults=%d duplicates=%d lost_approvals=%d lost_jobs=%d stuck=%d",
		len(t.seeds), t.Schedules, t.Faults, t.Duplicates, t.LostApprovals, t.LostJobs, t.Stuck)
}
