package wal

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// memory is the simplest owner of a log: its state is the list of distinct records.
type memory struct {
	mu   sync.Mutex
	recs []string
}

func (m *memory) replay(rec []byte) error {
	if !slices.Contains(m.recs, string(rec)) {
		m.recs = append(m.recs, string(rec))
	}
	return nil
}

func (m *memory) snapshot(emit func([]byte) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.recs {
		if err := emit([]byte(r)); err != nil {
			return err
		}
	}
	return nil
}

// add appends and applies as one step, so that a snapshot has all that was appended before.
func (m *memory) add(l *Log, rec string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := l.Append([]byte(rec)); err != nil {
		return err
	}
	m.recs = append(m.recs, rec)
	return nil
}

func open(t *testing.T, dir string, o Options) (*Log, *memory) {
	t.Helper()
	l, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	m := &memory{}
	if err := l.Recover(m.replay, m.snapshot); err != nil {
		t.Fatal(err)
	}
	return l, m
}

func TestRecordsComeBackInOrder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var want []string
	for round := range 3 {
		l, m := open(t, dir, Options{})
		if !slices.Equal(m.recs, want) {
			t.Fatalf("round %d: replayed %q, want %q", round, m.recs, want)
		}
		for i := range 3 {
			rec := fmt.Sprintf("round %d record %d", round, i)
			if err := m.add(l, rec); err != nil {
				t.Fatal(err)
			}
			want = append(want, rec)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestUseOutsideOfItsLifeIsRefused(t *testing.T) {
	t.Parallel()
	l, err := Open(t.TempDir(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Append([]byte("x")); !errors.Is(err, ErrNotRecovered) {
		t.Errorf("append before recovery: %v, want ErrNotRecovered", err)
	}
	m := &memory{}
	if err := l.Recover(m.replay, m.snapshot); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := l.Append([]byte("x")); !errors.Is(err, ErrClosed) {
		t.Errorf("append after close: %v, want ErrClosed", err)
	}
}

func TestRecordSizeLimits(t *testing.T) {
	t.Parallel()
	l, _ := open(t, "/log", Options{fs: newCrashFS()})
	for _, tc := range []struct {
		name string
		size int
		want error
	}{
		{"empty", 0, ErrRecordSize},
		{"one byte", 1, nil},
		{"at the limit", MaxRecord, nil},
		{"one past the limit", MaxRecord + 1, ErrRecordSize},
	} {
		if err := l.Append(make([]byte, tc.size)); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", tc.name, err, tc.want)
		}
	}
}

func TestOnlyOneLogUsesADirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, _ := open(t, dir, Options{})
	_, err := Open(dir, Options{})
	if !errors.Is(err, ErrLocked) {
		t.Fatalf("second open: %v, want ErrLocked", err)
	}
	if !bytes.Contains([]byte(err.Error()), []byte(filepath.Join(dir, "lock"))) {
		t.Errorf("%q does not name the lock file", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, dir, Options{})
}

// threeRecords returns the bytes of a log of three records and the offset at which each ends.
func threeRecords() (data []byte, ends []int) {
	data = []byte(logMagic)
	for _, r := range []string{"first", "second", "third"} {
		data = appendFrame(data, []byte(r))
		ends = append(ends, len(data))
	}
	return data, ends
}

func recoverBytes(data []byte) (*memory, error) {
	fs := newCrashFS()
	fs.names["/d/log-0000000000000001"] = &inode{data: data}
	l, err := Open("/d", Options{fs: fs})
	if err != nil {
		return nil, err
	}
	defer l.Close()
	m := &memory{}
	return m, l.Recover(m.replay, m.snapshot)
}

func TestTornTailIsCutOffWhereverItTears(t *testing.T) {
	t.Parallel()
	data, ends := threeRecords()
	for size := magicLen; size <= len(data); size++ {
		m, err := recoverBytes(bytes.Clone(data[:size]))
		if err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		want := 0
		for _, e := range ends {
			if e <= size {
				want++
			}
		}
		if len(m.recs) != want {
			t.Errorf("%d bytes: %d records, want %d", size, len(m.recs), want)
		}
	}
}

func TestUnwrittenPagesAtTheEndAreATornTail(t *testing.T) {
	t.Parallel()
	data, _ := threeRecords()
	m, err := recoverBytes(append(data, make([]byte, 4096)...))
	if err != nil || len(m.recs) != 3 {
		t.Errorf("%d records, %v; want 3, nil", len(m.recs), err)
	}
}

func TestEveryFlippedBitIsReportedWithFileAndOffset(t *testing.T) {
	t.Parallel()
	data, ends := threeRecords()
	for i := range data {
		for bit := range 8 {
			bad := bytes.Clone(data)
			bad[i] ^= 1 << bit
			_, err := recoverBytes(bad)
			var c *CorruptError
			if !errors.As(err, &c) {
				t.Fatalf("byte %d bit %d: %v, want a CorruptError", i, bit, err)
			}
			want := 0
			if i >= magicLen {
				want = magicLen
				for _, e := range ends {
					if i >= e {
						want = e
					}
				}
			}
			if c.File != "/d/log-0000000000000001" || c.Offset != int64(want) {
				t.Fatalf("byte %d: reported %s at %d, want offset %d", i, c.File, c.Offset, want)
			}
		}
	}
}

func TestAMissingLogIsCorruption(t *testing.T) {
	t.Parallel()
	data, _ := threeRecords()
	for _, tc := range []struct {
		name  string
		files []string
	}{
		{"the first", []string{"log-0000000000000002"}},
		{"one in the middle", []string{"log-0000000000000001", "log-0000000000000003"}},
	} {
		fs := newCrashFS()
		for _, f := range tc.files {
			fs.names["/d/"+f] = &inode{data: bytes.Clone(data)}
		}
		l, err := Open("/d", Options{fs: fs})
		if err != nil {
			t.Fatal(err)
		}
		m := &memory{}
		var c *CorruptError
		if err := l.Recover(m.replay, m.snapshot); !errors.As(err, &c) {
			t.Errorf("%s: %v, want a CorruptError", tc.name, err)
		}
		l.Close()
	}
}

func TestTornRecordBeforeALaterLogIsCorruption(t *testing.T) {
	t.Parallel()
	data, _ := threeRecords()
	fs := newCrashFS()
	fs.names["/d/log-0000000000000001"] = &inode{data: data[:len(data)-1]}
	fs.names["/d/log-0000000000000002"] = &inode{data: []byte(logMagic)}
	l, err := Open("/d", Options{fs: fs})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	m := &memory{}
	var c *CorruptError
	if err := l.Recover(m.replay, m.snapshot); !errors.As(err, &c) {
		t.Errorf("%v, want a CorruptError", err)
	}
}

func TestAppendersShareSyncs(t *testing.T) {
	t.Parallel()
	fs := newCrashFS()
	l, _ := open(t, "/d", Options{fs: fs})
	before := fs.syncs
	// Hold the sync back until all have written: the first of them must then sync for everybody.
	const n = 50
	l.syncMu.Lock()
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if err := l.Append([]byte(fmt.Sprint(i))); err != nil {
				t.Error(err)
			}
		})
	}
	for {
		l.writeMu.Lock()
		written := l.written
		l.writeMu.Unlock()
		if written == n {
			break
		}
	}
	l.syncMu.Unlock()
	wg.Wait()
	if got := fs.syncs - before; got != 1 {
		t.Errorf("%d syncs for %d appends, want 1", got, n)
	}
}

func TestAFailedWriteEndsTheLog(t *testing.T) {
	t.Parallel()
	fs := newCrashFS()
	l, _ := open(t, "/d", Options{fs: fs})
	fs.dieAt = fs.ops + 1
	if err := l.Append([]byte("x")); !errors.Is(err, errCrashed) {
		t.Fatalf("append: %v", err)
	}
	fs.dieAt = 0
	if err := l.Append([]byte("y")); !errors.Is(err, errCrashed) {
		t.Errorf("append after a failed one: %v, want the same error", err)
	}
}

func TestNothingIsChangedInADamagedDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	data, _ := threeRecords()
	data[len(data)-1] ^= 1
	files := map[string][]byte{"log-0000000000000001": data, "snapshot-0000000000000001.tmp": []byte("half")}
	for name, b := range files {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	m := &memory{}
	if err := l.Recover(m.replay, m.snapshot); err == nil {
		t.Fatal("recovered")
	}
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s changed (%v)", name, err)
		}
	}
}

func FuzzReader(f *testing.F) {
	data, _ := threeRecords()
	f.Add(data)
	f.Add(data[:len(data)-3])
	f.Add([]byte(logMagic))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := recoverBytes(data)
		if err != nil {
			var c *CorruptError
			if !errors.As(err, &c) {
				t.Fatalf("%v is not a CorruptError", err)
			}
			return
		}
		// What was accepted is a prefix of the file, byte for byte.
		again := []byte(logMagic)
		for _, r := range m.recs {
			again = appendFrame(again, []byte(r))
		}
		if !bytes.HasPrefix(data, again) {
			t.Fatal("records were made up")
		}
	})
}
