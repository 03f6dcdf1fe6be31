//go:build unix

package wal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// heldLock is a lock that is given up by name.
type heldLock struct{ file *os.File }

// lockFile takes an advisory lock that the operating system releases when the process ends, however it ends.
//
// A child process that is being started shares every open file with its parent until it runs its program, and the lock
// lasts while anyone has the file open. Close therefore releases the lock itself, whoever else still has the file.
func lockFile(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w: %s is held by another process", ErrLocked, name)
		}
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	return &heldLock{f}, nil
}

// Close releases the lock and closes the file.
func (l *heldLock) Close() error {
	err := syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN)
	return errors.Join(err, l.file.Close())
}
