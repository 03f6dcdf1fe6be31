package wal

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"sync"
)

var errCrashed = errors.New("crashed")

// crashFS is a file system in memory that dies at a chosen operation and then shows what a process, or a whole machine,
// leaves behind.
type crashFS struct {
	mu      sync.Mutex
	names   map[string]*inode
	durable map[string]*inode // names as of the last SyncDir
	ops     int               // changing operations so far
	dieAt   int               // the operation that fails, and all after it; 0 for never
	syncs   int
}

type inode struct{ data, synced []byte }

func newCrashFS() *crashFS { return &crashFS{names: map[string]*inode{}, durable: map[string]*inode{}} }

// restart returns the file system that the next process finds: after kill -9 everything that was written, after a loss
// of power only what was synced.
func (c *crashFS) restart(powerLoss bool) *crashFS {
	c.mu.Lock()
	defer c.mu.Unlock()
	from := c.names
	if powerLoss {
		from = c.durable
	}
	n := newCrashFS()
	for name, i := range from {
		data := i.data
		if powerLoss {
			data = i.synced
		}
		n.names[name] = &inode{bytes.Clone(data), bytes.Clone(data)}
	}
	n.durable = maps.Clone(n.names)
	return n
}

// op counts a changing operation; the caller holds mu.
func (c *crashFS) op() error {
	c.ops++
	if c.dieAt > 0 && c.ops >= c.dieAt {
		return errCrashed
	}
	return nil
}

func (c *crashFS) MkdirAll(string) error                { return nil }
func (c *crashFS) Lock(string) (io.Closer, error)       { return io.NopCloser(nil), nil }
func (c *crashFS) OpenAppend(name string) (file, error) { return c.open(name) }

func (c *crashFS) open(name string) (*crashFile, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i, ok := c.names[name]
	if !ok {
		return nil, os.ErrNotExist
	}
	return &crashFile{c, i}, nil
}

func (c *crashFS) Open(name string) (io.ReadCloser, error) {
	f, err := c.open(name)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(f.i.data)), nil
}

func (c *crashFS) ReadDir(string) ([]string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []string
	for n := range c.names {
		names = append(names, filepath.Base(n))
	}
	return names, nil
}

func (c *crashFS) Create(name string) (file, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.op(); err != nil {
		return nil, err
	}
	i := &inode{}
	c.names[name] = i
	return &crashFile{c, i}, nil
}

func (c *crashFS) Truncate(name string, size int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.op(); err != nil {
		return err
	}
	i := c.names[name]
	i.data = i.data[:size]
	i.synced = bytes.Clone(i.data)
	return nil
}

func (c *crashFS) Rename(from, to string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.op(); err != nil {
		return err
	}
	c.names[to] = c.names[from]
	delete(c.names, from)
	return nil
}

func (c *crashFS) Remove(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.op(); err != nil {
		return err
	}
	delete(c.names, name)
	return nil
}

func (c *crashFS) SyncDir(string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.op(); err != nil {
		return err
	}
	c.durable = maps.Clone(c.names)
	return nil
}

type crashFile struct {
	c *crashFS
	i *inode
}

func (f *crashFile) Close() error { return nil }

// Write of the operation that dies leaves half of its bytes.
func (f *crashFile) Write(p []byte) (int, error) {
	f.c.mu.Lock()
	defer f.c.mu.Unlock()
	if err := f.c.op(); err != nil {
		if f.c.ops == f.c.dieAt {
			f.i.data = append(f.i.data, p[:len(p)/2]...)
		}
		return 0, err
	}
	f.i.data = append(f.i.data, p...)
	return len(p), nil
}

func (f *crashFile) Sync() error {
	f.c.mu.Lock()
	defer f.c.mu.Unlock()
	if err := f.c.op(); err != nil {
		return err
	}
	f.c.syncs++
	f.i.synced = bytes.Clone(f.i.data)
	return nil
}
