//go:build unix

package agentclient

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// errLocked is a lock that somebody else has.
var errLocked = errors.New("locked")

// heldLock is a lock that is given up by name.
type heldLock struct{ file *os.File }

// tryLock takes an advisory lock that the operating system releases when the process ends, however it ends.
//
// A child process that is being started shares every open file with its parent until it runs its program, and the lock lasts while
// anyone has the file open. Close therefore releases the lock itself, whoever else still has the file.
func tryLock(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err == nil {
		return &heldLock{f}, nil
	}
	f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, errLocked
	}
	return nil, fmt.Errorf("lock %s: %w", name, err)
}

// Close releases the lock and closes the file.
func (l *heldLock) Close() error {
	err := syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN)
	return errors.Join(err, l.file.Close())
}

// exposed reports whether somebody else owns a file, or has a permission of the mask.
func exposed(info fs.FileInfo, mask fs.FileMode) bool {
	owner, ok := info.Sys().(*syscall.Stat_t)
	return info.Mode().Perm()&mask != 0 || ok && int(owner.Uid) != os.Geteuid()
}
