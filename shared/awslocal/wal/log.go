package wal

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"sync"
)

// DefaultMaxLogBytes is the size of a log at which it is compacted.
const DefaultMaxLogBytes = 64 << 20

// Errors of a log, to be compared with errors.Is.
var (
	ErrLocked       = errors.New("wal: the directory is in use")
	ErrClosed       = errors.New("wal: the log is closed")
	ErrNotRecovered = errors.New("wal: the log has not been recovered")
	ErrRecordSize   = fmt.Errorf("wal: a record holds 1 to %d bytes", MaxRecord)
)

// Options of a log; the zero value is usable.
type Options struct {
	// MaxLogBytes is the size at which a log is compacted in the background; 0 is DefaultMaxLogBytes. A state larger
	// than that is compacted when the log has outgrown the state, so that the work stays proportional.
	MaxLogBytes int64
	Logger      *slog.Logger // nil discards

	fs fileSystem // nil is the operating system's
}

// SnapshotFunc emits records that rebuild the owner's state; see the package comment for what it owes.
type SnapshotFunc func(emit func(rec []byte) error) error

// Log is a log in use. Its methods are safe for concurrent use.
type Log struct {
	dir      string
	max      int64
	logger   *slog.Logger
	fs       fileSystem
	lock     io.Closer
	snapshot SnapshotFunc // set by Recover

	compactMu     sync.Mutex // one compaction at a time
	snapshotBytes int64      // size of the last snapshot, under compactMu

	// Lock order: syncMu, then writeMu. Appenders write one by one under writeMu; the one that gets syncMu syncs for
	// all that had written by then, the others find their record already synced.
	syncMu sync.Mutex
	synced int64 // count of records on stable storage, under syncMu

	writeMu   sync.Mutex
	active    file
	number    int64 // of the active log
	written   int64 // count of records written
	size      int64 // bytes in the active log
	threshold int64 // size that asks for compaction
	buf       []byte
	failed    error // sticky: after a failed write or sync nothing is known about the file's end

	wake chan struct{} // asks the background goroutine to compact; capacity 1
	stop chan struct{}
	done sync.WaitGroup

	closeOnce sync.Once
	closeErr  error
}

// Open locks dir, creating it when absent. Call Recover before anything else. It fails with ErrLocked, naming the lock
// file, while another log uses dir.
func Open(dir string, o Options) (*Log, error) {
	l := &Log{dir: dir, max: o.MaxLogBytes, logger: o.Logger, fs: o.fs, failed: ErrNotRecovered,
		wake: make(chan struct{}, 1), stop: make(chan struct{})}
	if l.max == 0 {
		l.max = DefaultMaxLogBytes
	}
	if l.logger == nil {
		l.logger = slog.New(slog.DiscardHandler)
	}
	if l.fs == nil {
		l.fs = osFS{}
	}
	l.threshold = l.max
	if err := l.fs.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("wal: create directory: %w", err)
	}
	lock, err := l.fs.Lock(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, fmt.Errorf("wal: open %s: %w", dir, err)
	}
	l.lock = lock
	return l, nil
}

// Append writes rec and returns when it is on stable storage; appenders that arrive together share one sync. After
// an error it is unknown whether rec will be replayed, and every later append fails with the same error.
func (l *Log) Append(rec []byte) error {
	n, err := l.write(rec)
	if err != nil {
		return err
	}
	return l.syncTo(n)
}

// AppendNoSync writes rec and returns when the operating system holds it: it survives the death of the process, and is on
// stable storage once a later Append returns. For what may be lost with the machine.
func (l *Log) AppendNoSync(rec []byte) error {
	_, err := l.write(rec)
	return err
}

func (l *Log) write(rec []byte) (n int64, err error) {
	if len(rec) == 0 || len(rec) > MaxRecord {
		return 0, ErrRecordSize
	}
	l.writeMu.Lock()
	defer l.writeMu.Unlock()
	if l.failed != nil {
		return 0, l.failed
	}
	l.buf = appendFrame(l.buf[:0], rec)
	if _, err := l.active.Write(l.buf); err != nil {
		l.failed = fmt.Errorf("wal: write log %d: %w", l.number, err)
		return 0, l.failed
	}
	if cap(l.buf) > 1<<20 {
		l.buf = nil
	}
	l.written++
	l.size += headerLen + int64(len(rec))
	if l.size >= l.threshold {
		select {
		case l.wake <- struct{}{}:
		default:
		}
	}
	return l.written, nil
}

// syncTo returns when the first n records are on stable storage.
func (l *Log) syncTo(n int64) error {
	l.syncMu.Lock()
	defer l.syncMu.Unlock()
	if l.synced >= n {
		return nil
	}
	return l.syncLocked()
}

// syncLocked makes all that is written durable. The caller holds syncMu, so the active log cannot be switched meanwhile.
func (l *Log) syncLocked() error {
	l.writeMu.Lock()
	target, active, failed := l.written, l.active, l.failed
	l.writeMu.Unlock()
	if failed != nil {
		return failed
	}
	if err := active.Sync(); err != nil {
		err = fmt.Errorf("wal: sync log: %w", err)
		l.writeMu.Lock()
		l.failed = err
		l.writeMu.Unlock()
		return err
	}
	l.synced = target
	return nil
}

// Close waits for a running compaction, makes everything written durable, and releases the directory. Later appends fail
// with ErrClosed.
func (l *Log) Close() error {
	l.closeOnce.Do(func() { l.closeErr = l.close() })
	return l.closeErr
}

func (l *Log) close() error {
	close(l.stop)
	l.done.Wait()
	l.syncMu.Lock()
	defer l.syncMu.Unlock()
	var err error
	if l.active != nil {
		err = errors.Join(l.syncLocked(), l.active.Close())
	}
	l.writeMu.Lock()
	l.failed = ErrClosed
	l.writeMu.Unlock()
	return errors.Join(err, l.lock.Close())
}

// run compacts when asked to, until Close.
func (l *Log) run() {
	defer l.done.Done()
	for {
		select {
		case <-l.stop:
			return
		case <-l.wake:
		}
		if !l.due(false) {
			continue
		}
		if err := l.Compact(); err != nil {
			l.logger.Error("compaction failed; the log keeps growing", "dir", l.dir, "err", err)
		}
		l.due(true)
	}
}

// due reports whether the active log has reached the threshold. If it still has after a compaction, postpone makes the
// next try wait until the log has doubled.
func (l *Log) due(postpone bool) bool {
	l.writeMu.Lock()
	defer l.writeMu.Unlock()
	due := l.size >= l.threshold
	if due && postpone {
		l.threshold = 2 * l.size
	}
	return due
}
