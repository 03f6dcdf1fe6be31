package wal

import (
	"bufio"
	"errors"
	"fmt"
)

// Compact starts a new log, writes a snapshot of what came before, and drops the logs that the snapshot covers.
//
// The order makes every crash harmless: the next log exists before anything is written to it; the snapshot gets its name
// when it is complete; what it covers is removed after that.
func (l *Log) Compact() error {
	l.compactMu.Lock()
	defer l.compactMu.Unlock()
	cut, err := l.rotate()
	if err != nil {
		return err
	}
	w, err := l.createSnapshot(l.snapshotName(cut) + ".tmp")
	if err != nil {
		return err
	}
	if err := l.snapshot(w.emit); err != nil {
		return errors.Join(fmt.Errorf("wal: snapshot: %w", err), w.abandon())
	}
	if err := w.finish(l.snapshotName(cut)); err != nil {
		return err
	}
	l.snapshotBytes = w.size
	l.writeMu.Lock()
	l.threshold = max(l.max, l.snapshotBytes)
	l.writeMu.Unlock()
	return l.removeCovered()
}

// rotate ends the active log, durable in full, and starts the next one, whose number it returns.
func (l *Log) rotate() (int64, error) {
	l.syncMu.Lock()
	defer l.syncMu.Unlock()
	// Writers wait from here on, so that nothing follows the sync into the old log.
	l.writeMu.Lock()
	defer l.writeMu.Unlock()
	if l.failed != nil {
		return 0, l.failed
	}
	if err := l.active.Sync(); err != nil {
		l.failed = fmt.Errorf("wal: sync log: %w", err)
		return 0, l.failed
	}
	l.synced = l.written
	next, err := l.createLog(l.number + 1)
	if err != nil {
		// The next log may exist now, and recovery accepts a torn tail in the last log only.
		l.failed = err
		return 0, err
	}
	old := l.active
	l.active, l.number, l.size = next, l.number+1, magicLen
	if err := old.Close(); err != nil {
		return 0, fmt.Errorf("wal: close log: %w", err)
	}
	return l.number, nil
}

// createLog makes an empty log that appears under its name only once its header is durable.
func (l *Log) createLog(n int64) (file, error) {
	name := l.logName(n)
	f, err := l.fs.Create(name + ".tmp")
	if err != nil {
		return nil, fmt.Errorf("wal: create log: %w", err)
	}
	_, err = f.Write([]byte(logMagic))
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = l.fs.Rename(name+".tmp", name)
	}
	if err == nil {
		err = l.fs.SyncDir(l.dir)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("wal: create log: %w", err), f.Close())
	}
	return f, nil
}

func (l *Log) removeCovered() error {
	_, _, stale, err := l.scan()
	if err != nil {
		return err
	}
	for _, name := range stale {
		if err := l.fs.Remove(name); err != nil {
			return fmt.Errorf("wal: remove what the snapshot covers: %w", err)
		}
	}
	return nil
}

type snapshotWriter struct {
	l    *Log
	tmp  string
	f    file
	w    *bufio.Writer
	size int64
	buf  []byte
}

func (l *Log) createSnapshot(tmp string) (*snapshotWriter, error) {
	f, err := l.fs.Create(tmp)
	if err != nil {
		return nil, fmt.Errorf("wal: create snapshot: %w", err)
	}
	w := &snapshotWriter{l: l, tmp: tmp, f: f, w: bufio.NewWriterSize(f, 256<<10), size: magicLen}
	if _, err := w.w.WriteString(snapshotMagic); err != nil {
		return nil, errors.Join(fmt.Errorf("wal: write snapshot: %w", err), w.abandon())
	}
	return w, nil
}

func (w *snapshotWriter) emit(rec []byte) error {
	if len(rec) == 0 || len(rec) > MaxRecord {
		return ErrRecordSize
	}
	return w.write(rec)
}

func (w *snapshotWriter) write(rec []byte) error {
	w.buf = appendFrame(w.buf[:0], rec)
	w.size += int64(len(w.buf))
	if _, err := w.w.Write(w.buf); err != nil {
		return fmt.Errorf("wal: write snapshot: %w", err)
	}
	return nil
}

func (w *snapshotWriter) finish(name string) error {
	err := w.write(nil)
	if err == nil {
		err = w.w.Flush()
	}
	if err == nil {
		err = w.f.Sync()
	}
	if err != nil {
		return errors.Join(err, w.abandon())
	}
	if err := w.f.Close(); err != nil {
		return fmt.Errorf("wal: close snapshot: %w", err)
	}
	if err := w.l.fs.Rename(w.tmp, name); err != nil {
		return fmt.Errorf("wal: name snapshot: %w", err)
	}
	if err := w.l.fs.SyncDir(w.l.dir); err != nil {
		return fmt.Errorf("wal: sync directory: %w", err)
	}
	return nil
}

func (w *snapshotWriter) abandon() error {
	return errors.Join(w.f.Close(), w.l.fs.Remove(w.tmp))
}
