package wal

import (
	"io"
	"os"
)

// fileSystem is what the log needs of one; tests substitute one that crashes.
type fileSystem interface {
	MkdirAll(dir string) error
	ReadDir(dir string) ([]string, error)
	// Create makes an empty file for writing, replacing what is there.
	Create(name string) (file, error)
	Open(name string) (io.ReadCloser, error)
	// OpenAppend opens an existing file for writing at its end.
	OpenAppend(name string) (file, error)
	// Truncate cuts a file to size and makes that durable.
	Truncate(name string, size int64) error
	Rename(from, to string) error
	Remove(name string) error
	// SyncDir makes the names in dir durable.
	SyncDir(dir string) error
	// Lock takes the exclusive lock that the file name stands for.
	Lock(name string) (io.Closer, error)
}

type file interface {
	io.WriteCloser
	Sync() error
}

type osFS struct{}

func (osFS) MkdirAll(dir string) error               { return os.MkdirAll(dir, 0o700) }
func (osFS) Open(name string) (io.ReadCloser, error) { return os.Open(name) }
func (osFS) Rename(from, to string) error            { return os.Rename(from, to) }
func (osFS) Remove(name string) error                { return os.Remove(name) }
func (osFS) Lock(name string) (io.Closer, error)     { return lockFile(name) }

func (osFS) Create(name string) (file, error) {
	return os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
}

func (osFS) OpenAppend(name string) (file, error) {
	return os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0o600)
}

func (osFS) ReadDir(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

func (osFS) Truncate(name string, size int64) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		return err
	}
	return f.Sync()
}

func (osFS) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
