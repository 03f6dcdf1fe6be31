package wal

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Recover hands every record of the directory to replay, in order, then compacts what it found and lets records be
// appended. replay may keep rec. Damage is a [*CorruptError]; an error of replay or snapshot is returned as it is,
// wrapped. After an error the log can only be closed.
func (l *Log) Recover(replay func(rec []byte) error, snapshot SnapshotFunc) error {
	l.snapshot = snapshot
	state, err := l.load(replay)
	if err != nil {
		return err
	}
	if state.last == 0 {
		if l.active, err = l.createLog(1); err != nil {
			return err
		}
		state.last, state.lastSize = 1, magicLen
	} else if l.active, err = l.fs.OpenAppend(l.logName(state.last)); err != nil {
		return fmt.Errorf("wal: open log: %w", err)
	}
	l.number, l.size = state.last, state.lastSize
	l.threshold = max(l.max, l.snapshotBytes)
	l.failed = nil
	if state.records > 0 {
		if err := l.Compact(); err != nil {
			l.failed = ErrNotRecovered
			return err
		}
	}
	l.done.Add(1)
	go l.run()
	return nil
}

// loaded describes the logs that were replayed.
type loaded struct {
	last     int64 // number of the last log; 0 when there is none
	lastSize int64 // its size in bytes, without a torn tail
	records  int   // records in logs, outside of the snapshot
}

func (l *Log) load(replay func([]byte) error) (loaded, error) {
	var s loaded
	base, logs, stale, err := l.scan()
	if err != nil {
		return s, err
	}
	if base > 0 {
		if err := l.replaySnapshot(base, replay); err != nil {
			return s, err
		}
	}
	for i, n := range logs {
		if want := max(base, 1) + int64(i); n != want {
			return s, &CorruptError{l.logName(want), 0, "the file is missing"}
		}
		if err := l.replayLog(n, i == len(logs)-1, replay, &s); err != nil {
			return s, err
		}
	}
	if base > 0 && len(logs) == 0 {
		return s, &CorruptError{l.logName(base), 0, "the file is missing"}
	}
	// Only now: a directory that cannot be recovered is left as it was found.
	for _, name := range stale {
		if err := l.fs.Remove(name); err != nil {
			return s, fmt.Errorf("wal: remove what a compaction left: %w", err)
		}
	}
	return s, nil
}

// scan lists the directory: the number of the newest snapshot (0 for none), the logs after it in order, and the files
// that nothing needs any more.
func (l *Log) scan() (base int64, logs []int64, stale []string, err error) {
	names, err := l.fs.ReadDir(l.dir)
	if err != nil {
		return 0, nil, nil, fmt.Errorf("wal: list directory: %w", err)
	}
	var snapshots []int64
	for _, name := range names {
		if strings.HasSuffix(name, ".tmp") {
			stale = append(stale, filepath.Join(l.dir, name))
		} else if n, ok := parseName(name, "log-"); ok {
			logs = append(logs, n)
		} else if n, ok := parseName(name, "snapshot-"); ok {
			snapshots = append(snapshots, n)
			base = max(base, n)
		}
	}
	slices.Sort(logs)
	for len(logs) > 0 && logs[0] < base {
		stale = append(stale, l.logName(logs[0]))
		logs = logs[1:]
	}
	for _, n := range snapshots {
		if n < base {
			stale = append(stale, l.snapshotName(n))
		}
	}
	return base, logs, stale, nil
}

func (l *Log) replaySnapshot(n int64, replay func([]byte) error) error {
	name := l.snapshotName(n)
	f, err := l.fs.Open(name)
	if err != nil {
		return fmt.Errorf("wal: open snapshot: %w", err)
	}
	defer f.Close()
	r, err := newFrameReader(name, f, snapshotMagic)
	if err != nil {
		return err
	}
	for {
		at := r.offset
		rec, err := r.next()
		if errors.Is(err, io.EOF) || errors.Is(err, errTorn) {
			return &CorruptError{name, at, "the snapshot has no end"}
		}
		if err != nil {
			return err
		}
		if len(rec) == 0 {
			l.snapshotBytes = r.offset
			return nil
		}
		if err := replay(rec); err != nil {
			return fmt.Errorf("wal: replay %s at offset %d: %w", name, at, err)
		}
	}
}

func (l *Log) replayLog(n int64, last bool, replay func([]byte) error, s *loaded) error {
	name := l.logName(n)
	f, err := l.fs.Open(name)
	if err != nil {
		return fmt.Errorf("wal: open log: %w", err)
	}
	defer f.Close()
	r, err := newFrameReader(name, f, logMagic)
	if err != nil {
		return err
	}
	for {
		at := r.offset
		rec, err := r.next()
		switch {
		case errors.Is(err, io.EOF):
			s.last, s.lastSize = n, at
			return nil
		case errors.Is(err, errTorn) && last:
			if err := l.fs.Truncate(name, at); err != nil {
				return fmt.Errorf("wal: cut the torn tail of %s: %w", name, err)
			}
			l.logger.Info("cut off a record that was being written", "file", name, "offset", at)
			s.last, s.lastSize = n, at
			return nil
		case errors.Is(err, errTorn):
			return &CorruptError{name, at, "the record is incomplete, and a later log exists"}
		case err != nil:
			return err
		case len(rec) == 0:
			return &CorruptError{name, at, "an empty record in a log"}
		}
		s.records++
		if err := replay(rec); err != nil {
			return fmt.Errorf("wal: replay %s at offset %d: %w", name, at, err)
		}
	}
}

func parseName(name, prefix string) (int64, bool) {
	digits, ok := strings.CutPrefix(name, prefix)
	if !ok || len(digits) != 16 {
		return 0, false
	}
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, err == nil && n > 0
}

func (l *Log) logName(n int64) string { return filepath.Join(l.dir, fmt.Sprintf("log-%016d", n)) }

func (l *Log) snapshotName(n int64) string {
	return filepath.Join(l.dir, fmt.Sprintf("snapshot-%016d", n))
}
