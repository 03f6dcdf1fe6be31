package envelope

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func TestFileKeyIsCreatedOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "hub.key")
	var wg sync.WaitGroup
	sources := make([]KeySource, 8)
	for i := range sources {
		wg.Go(func() {
			var err error
			if sources[i], err = FileKey(path); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	made, err := sources[0].Generate(ctx, place.Map())
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range sources {
		if plain, err := s.Open(ctx, made.Wrapped, place.Map()); err != nil || !bytes.Equal(plain, made.Plain) {
			t.Errorf("process %d has another key: %v", i, err)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode() != 0o600 || info.Size() != keySize {
		t.Errorf("%v, %v", info, err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("%d files are left, want 1", len(files))
	}
}

func TestFileKeyBindsTheContext(t *testing.T) {
	t.Parallel()
	keys, err := FileKey(filepath.Join(t.TempDir(), "k"))
	if err != nil {
		t.Fatal(err)
	}
	made, err := keys.Generate(ctx, place.Map())
	if err != nil || len(made.Plain) != keySize {
		t.Fatal(err)
	}
	if _, err := keys.Open(ctx, made.Wrapped, Context{"client", "other", "token"}.Map()); !errors.Is(err, ErrTampered) {
		t.Errorf("another context: %v", err)
	}
	for _, n := range []int{0, 12, len(made.Wrapped) - 1} {
		if _, err := keys.Open(ctx, made.Wrapped[:n], place.Map()); !errors.Is(err, ErrTampered) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	again, _ := keys.Generate(ctx, place.Map())
	if bytes.Equal(again.Plain, made.Plain) {
		t.Error("two data keys are equal")
	}
}

func TestFileKeyRefusesWhatIsNoKeyFile(t *testing.T) {
	t.Parallel()
	for rule, c := range map[string]struct {
		size int
		mode os.FileMode
		want error
	}{
		"a good file":    {32, 0o600, nil},
		"read-only":      {32, 0o400, nil},
		"short":          {31, 0o600, ErrKeyFile},
		"long":           {33, 0o600, ErrKeyFile},
		"empty":          {0, 0o600, ErrKeyFile},
		"group may read": {32, 0o640, ErrKeyFile},
		"others may run": {32, 0o601, ErrKeyFile},
	} {
		path := filepath.Join(t.TempDir(), "k")
		content := bytes.Repeat([]byte("S"), c.size)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, c.mode); err != nil {
			t.Fatal(err)
		}
		if _, err := FileKey(path); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", rule, err, c.want)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, content) {
			t.Errorf("%s: the file was changed", rule)
		}
	}
	if _, err := FileKey(t.TempDir()); !errors.Is(err, ErrKeyFile) {
		t.Errorf("a directory: %v", err)
	}
	if _, err := FileKey(filepath.Join(t.TempDir(), "missing", "k")); !errors.Is(err, ErrKeyUnavailable) {
		t.Errorf("no directory: %v", err)
	}
}
