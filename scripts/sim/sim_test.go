package sim

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
)

// The flags of a run; see the target sim of the Makefile.
var (
	seedsFlag     = flag.Uint64("seeds", 0, "play this many seeds")
	fromFlag      = flag.Uint64("from", 1, "the first of them")
	seedFlag      = flag.Uint64("seed", 0, "play this seed alone")
	schedulesFlag = flag.Int("schedules", 3, "schedules of each seed")
	traceFlag     = flag.Bool("trace", false, "print everything that happens")
	shareFlag     = flag.String("share", "", "play a share of the seeds, for a run of many processes: i/n")
)

// summary is printed after everything that the testing package prints.
var summary string

func TestMain(m *testing.M) {
	flag.Parse()
	debug.SetGCPercent(400) // much is allocated, and little is kept
	code := m.Run()
	if summary != "" {
		fmt.Println(summary)
	}
	os.Exit(code)
}

// play plays one schedule in a bubble of its own.
func play(t *testing.T, seed uint64, schedule int, m Mutant, trace *bytes.Buffer) (r Report) {
	t.Helper()
	dir := t.TempDir()
	t.Run(fmt.Sprintf("%d.%d", seed, schedule), func(t *testing.T) {
		reseed := func(n uint64) { cryptotest.SetGlobalRandom(t, n) }
		reseed(seed<<8 | uint64(schedule))
		if raceEnabled {
			reseed = func(uint64) {} // changes a variable that whoever wakes up by the clock reads
		}
		synctest.Test(t, func(*testing.T) {
			o := Options{Seed: seed, Schedule: schedule, Dir: dir, Mutant: m, Settle: synctest.Wait, Reseed: reseed}
			if trace != nil {
				o.Trace = trace
			}
			r = Run(o)
		})
	})
	return r
}

// A few seeds, or those of the flags.
func TestSimulation(t *testing.T) {
	switch {
	case *shareFlag != "":
		share(t)
	case *seedFlag != 0:
		var total Total
		for k := range *schedulesFlag {
			trace := &bytes.Buffer{}
			r := play(t, *seedFlag, k, Mutant{}, trace)
			if *traceFlag {
				fmt.Printf("seed %d, schedule %d (%s)\n%s", r.Seed, r.Schedule, r.Mix, trace)
			}
			total.Add(r)
			fmt.Printf("seed %d, schedule %d: trace %s\n", r.Seed, r.Schedule, r.Hash[:16])
			r.Print(os.Stdout)
		}
		conclude(t, total)
	case *seedsFlag != 0:
		conclude(t, shares(t))
	default:
		var total Total
		for seed := range uint64(3) {
			for k := range *schedulesFlag {
				r := play(t, 1+seed, k, Mutant{}, nil)
				total.Add(r)
				if len(r.Failures) > 0 {
					var b bytes.Buffer
					r.Print(&b)
					t.Errorf("%s", b.String())
				}
			}
		}
		// A run in which nothing happens proves nothing.
		for _, what := range []string{
			"jobs that are done", "jobs that are error", "jobs that changed hands", "jobs that went on after their end", "unknown outcomes",
			"delivered events", "dead letters", "decisions", "decisions that came too late", "tickets that are approved",
			"tickets that are denied", "tickets that are expired", "tickets that are used up",
		} {
			if total.Seen[what] == 0 {
				t.Errorf("no %s", what)
			}
		}
	}
}

// conclude fails the test when a promise was broken, and sets the last line.
func conclude(t *testing.T, total Total) {
	t.Helper()
	summary = total.String()
	if total.Broken() {
		t.Fail()
	}
}

// Whoever plays a seed again sees the same, line by line.
func TestASeedIsReplayedExactly(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector wants the generator left alone")
	}
	for k := range 3 {
		var first, second bytes.Buffer
		a, b := play(t, 7, k, Mutant{}, &first), play(t, 7, k, Mutant{}, &second)
		if a.Hash == b.Hash && a.Steps > 0 {
			continue
		}
		x, y := bytes.Split(first.Bytes(), []byte("\n")), bytes.Split(second.Bytes(), []byte("\n"))
		for i := range min(len(x), len(y)) {
			if !bytes.Equal(x[i], y[i]) {
				t.Fatalf("schedule %d, line %d:\n%s\n%s", k, i+1, x[i], y[i])
			}
		}
		t.Fatalf("schedule %d: %d and %d lines, %d steps", k, len(x), len(y), a.Steps)
	}
}

// seedsPerMutant bounds how long a mutant is looked for.
const seedsPerMutant = 40

// The simulator sees each guard whose removal the product promises to be safe against.
func TestMutants(t *testing.T) {
	if testing.Short() || raceEnabled {
		t.Skip("takes half a minute, and ten times that with the race detector")
	}
	for _, m := range Mutants() {
		t.Run(m.Name, func(t *testing.T) {
			for seed := range uint64(seedsPerMutant) {
				for k := range 3 {
					r := play(t, 1+seed, k, m, nil)
					for _, f := range r.Failures {
						if slices.Contains(m.Sees, f.Invariant) {
							t.Logf("seed %d, schedule %d: %s: %s", r.Seed, k, f.Invariant, f.Text)
							return
						}
					}
				}
			}
			t.Errorf("nobody saw it in %d seeds", seedsPerMutant)
		})
	}
}
