package wal

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
)

// script is a life with two explicit compactions and the one at open. It returns the records that were acknowledged.
func script(fs *crashFS) (acked []string, err error) {
	for round := range 2 {
		l, err := Open("/d", Options{fs: fs})
		if err != nil {
			return acked, err
		}
		defer l.Close()
		m := &memory{}
		if err := l.Recover(m.replay, m.snapshot); err != nil {
			return acked, err
		}
		for i := range 6 {
			rec := fmt.Sprintf("%d.%d", round, i)
			if err := m.add(l, rec); err != nil {
				return acked, err
			}
			acked = append(acked, rec)
			if i == 2 {
				if err := l.Compact(); err != nil {
					return acked, err
				}
			}
		}
		if err := l.Close(); err != nil {
			return acked, err
		}
	}
	return acked, nil
}

// At every operation on the file system in turn, the process dies, or the machine loses power. What was acknowledged is
// there afterwards, in order, with at most the one record more that was being appended.
func TestCrashAtEveryStepLosesNothing(t *testing.T) {
	t.Parallel()
	clean := newCrashFS()
	all, err := script(clean)
	if err != nil || len(all) != 12 {
		t.Fatalf("clean run: %d records, %v", len(all), err)
	}
	t.Logf("%d crash points", clean.ops)
	for point := 1; point <= clean.ops; point++ {
		for _, powerLoss := range []bool{false, true} {
			fs := newCrashFS()
			fs.dieAt = point
			acked, err := script(fs)
			if !errors.Is(err, errCrashed) && point < clean.ops {
				t.Fatalf("point %d: %v, want a crash", point, err)
			}
			_, m := open(t, "/d", Options{fs: fs.restart(powerLoss)})
			if len(m.recs) < len(acked) || len(m.recs) > len(acked)+1 || !slices.Equal(m.recs, all[:len(m.recs)]) {
				t.Fatalf("point %d, power loss %v: recovered %q, acknowledged %q", point, powerLoss, m.recs, acked)
			}
		}
	}
}

// A crash during the recovery from a crash loses nothing either.
func TestCrashDuringRecoveryLosesNothing(t *testing.T) {
	t.Parallel()
	base := newCrashFS()
	base.dieAt = 40
	acked, _ := script(base)
	if len(acked) == 0 {
		t.Fatal("the first crash comes too early to show anything")
	}
	for point := 1; ; point++ {
		fs := base.restart(false)
		fs.dieAt = point
		l, err := Open("/d", Options{fs: fs})
		if err != nil {
			t.Fatal(err)
		}
		m := &memory{}
		err = l.Recover(m.replay, m.snapshot)
		l.Close()
		_, m = open(t, "/d", Options{fs: fs.restart(true)})
		if !slices.Equal(m.recs[:len(acked)], acked) {
			t.Fatalf("point %d: recovered %q, acknowledged %q", point, m.recs, acked)
		}
		if err == nil {
			return
		}
	}
}

func TestCompactionKeepsTheDirectorySmall(t *testing.T) {
	t.Parallel()
	fs := newCrashFS()
	l, m := open(t, "/d", Options{fs: fs})
	for i := range 10 {
		if err := m.add(l, fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Compact(); err != nil {
		t.Fatal(err)
	}
	names, _ := fs.ReadDir("/d")
	slices.Sort(names)
	if want := []string{"log-0000000000000002", "snapshot-0000000000000002"}; !slices.Equal(names, want) {
		t.Errorf("files %q, want %q", names, want)
	}
}

func TestALogThatReachesItsLimitIsCompactedWhileInUse(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, m := open(t, dir, Options{MaxLogBytes: 2000})
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 200 {
				if err := m.add(l, fmt.Sprintf("writer %d record %d", w, i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if l.number == 1 {
		t.Error("the log was never compacted")
	}
	_, again := open(t, dir, Options{})
	if !slices.Equal(again.recs, m.recs) {
		t.Errorf("replayed %d records, want the %d that were written, in order", len(again.recs), len(m.recs))
	}
}

func TestAnEmptyStateIsCompacted(t *testing.T) {
	t.Parallel()
	fs := newCrashFS()
	l, _ := open(t, "/d", Options{fs: fs})
	if err := l.Append([]byte("not part of the state")); err != nil {
		t.Fatal(err)
	}
	if err := l.Compact(); err != nil {
		t.Fatal(err)
	}
	if _, m := open(t, "/d", Options{fs: fs.restart(false)}); len(m.recs) != 0 {
		t.Errorf("replayed %q", m.recs)
	}
}

// What is appended while the snapshot is being taken is in the new log, whether or not the snapshot has it too.
func TestAppendsDuringASnapshotAreKept(t *testing.T) {
	t.Parallel()
	fs := newCrashFS()
	l, m := open(t, "/d", Options{fs: fs})
	if err := m.add(l, "before"); err != nil {
		t.Fatal(err)
	}
	l.snapshot = func(emit func([]byte) error) error {
		if err := m.add(l, "early"); err != nil {
			return err
		}
		if err := m.snapshot(emit); err != nil {
			return err
		}
		return m.add(l, "late")
	}
	if err := l.Compact(); err != nil {
		t.Fatal(err)
	}
	if _, again := open(t, "/d", Options{fs: fs.restart(true)}); !slices.Equal(again.recs, []string{"before", "early", "late"}) {
		t.Errorf("replayed %q", again.recs)
	}
}

func TestASnapshotThatFailsKeepsTheLog(t *testing.T) {
	t.Parallel()
	fs := newCrashFS()
	l, m := open(t, "/d", Options{fs: fs})
	if err := m.add(l, "kept"); err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	l.snapshot = func(emit func([]byte) error) error {
		if err := emit([]byte("half")); err != nil {
			return err
		}
		return boom
	}
	if err := l.Compact(); !errors.Is(err, boom) {
		t.Fatalf("compact: %v", err)
	}
	if err := l.Append([]byte("after")); err != nil {
		t.Fatal(err)
	}
	if _, again := open(t, "/d", Options{fs: fs.restart(false)}); !slices.Equal(again.recs, []string{"kept", "after"}) {
		t.Errorf("replayed %q", again.recs)
	}
}

// Records keep their order across files: none in a later log is durable while one in an earlier log is not.
func TestTheNextLogBeginsWhenTheLastOneIsDurable(t *testing.T) {
	t.Parallel()
	fs := newCrashFS()
	l, _ := open(t, "/d", Options{fs: fs})
	if err := l.AppendNoSync([]byte("first")); err != nil {
		t.Fatal(err)
	}
	l.snapshot = func(func([]byte) error) error { return errors.New("no snapshot") }
	if err := l.Compact(); err == nil {
		t.Fatal("compacted")
	}
	if err := l.Append([]byte("second")); err != nil {
		t.Fatal(err)
	}
	if _, m := open(t, "/d", Options{fs: fs.restart(true)}); !slices.Equal(m.recs, []string{"first", "second"}) {
		t.Errorf("replayed %q", m.recs)
	}
}

func TestAppendNoSyncSurvivesTheProcess(t *testing.T) {
	t.Parallel()
	fs := newCrashFS()
	l, _ := open(t, "/d", Options{fs: fs})
	before := fs.syncs
	if err := l.AppendNoSync([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if fs.syncs != before {
		t.Error("it waited for a sync")
	}
	if _, m := open(t, "/d", Options{fs: fs.restart(false)}); !slices.Equal(m.recs, []string{"x"}) {
		t.Errorf("replayed %q", m.recs)
	}
}
