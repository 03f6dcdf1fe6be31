package stack

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestServerTokenIsKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	made, fresh, err := kept(dir, tokenFile, "")
	if err != nil || !fresh || len(made) != 32 {
		t.Fatalf("%q, fresh %v, %v", made, fresh, err)
	}
	if again, fresh, err := kept(dir, tokenFile, ""); err != nil || fresh || again != made {
		t.Errorf("%q, fresh %v, %v; want %q again", again, fresh, err, made)
	}
	given := strings.Repeat("g", 24)
	if got, fresh, err := kept(dir, tokenFile, given); err != nil || fresh || got != given {
		t.Errorf("%q, fresh %v, %v; want the given one", got, fresh, err)
	}
	if info, err := os.Stat(filepath.Join(dir, tokenFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v: others may read it", info, err)
	}
}

// A start that was killed while it wrote the token must not leave a hub without an administrator.
func TestServerTokenOfAKilledStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, tokenFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if made, fresh, err := kept(dir, tokenFile, ""); err != nil || !fresh || len(made) != 32 {
		t.Errorf("%q, fresh %v, %v", made, fresh, err)
	}
}
