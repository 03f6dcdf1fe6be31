package provider

import (
	"bytes"
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bailing/scripts/bailing/cli"
	"bailing/shared/clock"
)

var update = flag.Bool("update", false, "write the golden files anew")

// session is one call of the command line, with a world that the test sets up.
type session struct {
	env            *cli.Env
	vars           map[string]string
	stdout, stderr bytes.Buffer
}

func newSession() *session {
	s := &session{vars: map[string]string{}}
	s.env = &cli.Env{
		Stdin: strings.NewReader(""), Stdout: &s.stdout, Stderr: &s.stderr, Net: cli.Network(),
		Getenv: func(name string) string { return s.vars[name] },
		// Files are named as from the root of the repository, as a reader of the documentation would.
		Open:  func(name string) (io.ReadCloser, error) { return os.Open(fromRoot(name)) },
		Clock: clock.NewManual(time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)),
	}
	return s
}

func fromRoot(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join("..", "..", "..", filepath.FromSlash(name))
}

// run runs `bailing provider ARGS`, and returns the exit status.
func (s *session) run(ctx context.Context, args ...string) int {
	root := &cli.Command{Name: "bailing", Sub: []*cli.Command{Commands()}}
	return cli.Main(ctx, root, s.env, append([]string{"provider"}, args...))
}

// golden compares with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update writes it):\n%s", path, got)
	}
}

// file writes a document for a test.
func file(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "spec.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
