package sim

import (
	"bytes"
	"strings"
	"testing"
)

// Scripts read the last line; what broke nothing prints nothing.
func TestTheSummaryOfARun(t *testing.T) {
	t.Parallel()
	var total Total
	if !total.Broken() {
		t.Error("a run without schedules proves nothing")
	}
	total.Add(Report{Seed: 4, Schedule: 0, Faults: 10})
	total.Add(Report{Seed: 4, Schedule: 1, Faults: 5})
	total.Add(Report{Seed: 5, Schedule: 0, Faults: 1})
	if want := "seeds=2 schedules=3 faults=16 duplicates=0 lost_approvals=0 lost_jobs=0 stuck=0"; total.String() != want || total.Broken() {
		t.Errorf("%s, broken %v", total, total.Broken())
	}
	for name, r := range map[string]Report{
		"duplicates=1":     {Duplicates: 1},
		"lost_approvals=1": {LostApprovals: 1},
		"lost_jobs=1":      {LostJobs: 1},
		"stuck=1":          {Stuck: 1},
		"schedules=4":      {Failures: []Failure{{Invariant: "I7", Text: "t"}}},
	} {
		broken := total
		broken.seeds = map[uint64]bool{}
		broken.Add(r)
		if !broken.Broken() || !strings.Contains(broken.String(), name) {
			t.Errorf("%s: %s, broken %v", name, broken, broken.Broken())
		}
	}
}

func TestAFailureIsShownWithItsTrace(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	Report{Seed: 9}.Print(&b)
	if b.Len() > 0 {
		t.Errorf("%s", &b)
	}
	Report{Seed: 9, Mix: "gentle", Tail: []string{"the last step"}, Failures: []Failure{{Invariant: "I1", Text: "twice"}}}.Print(&b)
	for _, want := range []string{"seed 9", "gentle", "the last step", "broken: I1", "twice", "make sim SEED=9 TRACE=1"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, &b)
		}
	}
}
