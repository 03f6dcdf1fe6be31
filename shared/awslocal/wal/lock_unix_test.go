//go:build unix

package wal

import (
	"errors"
	"path/filepath"
	"syscall"
	"testing"
)

// A child that is being started has the file open too, for a moment. Closing frees the directory all the same.
func TestCloseFreesALockThatAChildStillShares(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	lock, err := lockFile(name)
	if err != nil {
		t.Fatal(err)
	}
	shared, err := syscall.Dup(int(lock.(*heldLock).file.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(shared)
	if _, err := lockFile(name); !errors.Is(err, ErrLocked) {
		t.Errorf("a second lock: %v, want ErrLocked", err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := lockFile(name)
	if err != nil {
		t.Fatalf("after Close: %v", err)
	}
	again.Close()
}
