package s3

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

// blobStore keeps the bytes of objects under numbers that are used once.
type blobStore interface {
	create(id uint64) (blobWriter, error)
	open(id uint64) (io.ReadSeekCloser, error)
	remove(id uint64) error
	// reconcile fails unless exactly the blobs of sizes are there with these sizes, after removing all others.
	reconcile(sizes map[uint64]int64) error
}

// blobWriter writes one blob, which exists once commit has returned and never if abort comes first.
type blobWriter interface {
	io.Writer
	commit() error
	abort()
}

// memoryBlobs is a blobStore in memory.
type memoryBlobs struct{ m sync.Map } // uint64 -> []byte

type memoryBlob struct {
	bytes.Buffer
	store *memoryBlobs
	id    uint64
}

func (s *memoryBlobs) create(id uint64) (blobWriter, error) {
	return &memoryBlob{store: s, id: id}, nil
}

func (b *memoryBlob) commit() error {
	b.store.m.Store(b.id, b.Bytes())
	return nil
}

func (b *memoryBlob) abort() {}

func (s *memoryBlobs) open(id uint64) (io.ReadSeekCloser, error) {
	data, ok := s.m.Load(id)
	if !ok {
		return nil, fmt.Errorf("s3: blob %d: %w", id, os.ErrNotExist)
	}
	return readSeekNopCloser{bytes.NewReader(data.([]byte))}, nil
}

type readSeekNopCloser struct{ io.ReadSeeker }

func (readSeekNopCloser) Close() error { return nil }

func (s *memoryBlobs) remove(id uint64) error {
	s.m.Delete(id)
	return nil
}

func (s *memoryBlobs) reconcile(map[uint64]int64) error { return nil }

// fileBlobs is a blobStore of files named by number.
type fileBlobs struct{ dir string }

func openFileBlobs(dir string) (blobStore, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("s3: create directory: %w", err)
	}
	return fileBlobs{dir}, nil
}

func (s fileBlobs) path(id uint64) string { return filepath.Join(s.dir, strconv.FormatUint(id, 10)) }

type fileBlob struct {
	*os.File
	store fileBlobs
	id    uint64
}

func (s fileBlobs) create(id uint64) (blobWriter, error) {
	f, err := os.OpenFile(s.path(id)+".tmp", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("s3: create blob: %w", err)
	}
	return &fileBlob{f, s, id}, nil
}

func (b *fileBlob) commit() error {
	err := b.Sync()
	err = errors.Join(err, b.Close())
	if err == nil {
		err = os.Rename(b.Name(), b.store.path(b.id))
	}
	if err == nil {
		err = syncDir(b.store.dir)
	}
	if err != nil {
		return fmt.Errorf("s3: write blob: %w", err)
	}
	return nil
}

func (b *fileBlob) abort() {
	b.Close()
	os.Remove(b.Name()) // what stays is removed by the next reconcile
}

func (s fileBlobs) open(id uint64) (io.ReadSeekCloser, error) {
	f, err := os.Open(s.path(id))
	if err != nil {
		return nil, fmt.Errorf("s3: open blob: %w", err)
	}
	return f, nil
}

func (s fileBlobs) remove(id uint64) error { return os.Remove(s.path(id)) }

func (s fileBlobs) reconcile(sizes map[uint64]int64) error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("s3: list blobs: %w", err)
	}
	found := map[uint64]bool{}
	for _, e := range entries {
		id, err := strconv.ParseUint(e.Name(), 10, 64)
		size, wanted := sizes[id]
		if err != nil || !wanted {
			if err := os.Remove(filepath.Join(s.dir, e.Name())); err != nil {
				return fmt.Errorf("s3: remove a blob of no object: %w", err)
			}
			continue
		}
		info, err := e.Info()
		if err != nil {
			return fmt.Errorf("s3: examine blob: %w", err)
		}
		if info.Size() != size {
			return fmt.Errorf("s3: %s holds %d bytes, its object has %d", s.path(id), info.Size(), size)
		}
		found[id] = true
	}
	for id := range sizes {
		if !found[id] {
			return fmt.Errorf("s3: %s, the bytes of an object: %w", s.path(id), os.ErrNotExist)
		}
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
