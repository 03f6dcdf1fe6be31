package clitest

import (
	"bytes"
	"context"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bailing/scripts/bailing/cli"
	"bailing/shared/clock"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Session is one user with a configuration directory of its own.
type Session struct {
	Env            *cli.Env
	Vars           map[string]string
	Stdout, Stderr bytes.Buffer

	t    testing.TB
	root *cli.Command
}

// New returns a session with some commands. Nobody sits at its terminal until [Session.Answer].
func New(t testing.TB, commands ...*cli.Command) *Session {
	t.Helper()
	s := &Session{t: t, root: &cli.Command{Name: "bailing", Sub: commands}}
	s.Vars = map[string]string{"XDG_CONFIG_HOME": t.TempDir()}
	s.Env = &cli.Env{
		Stdin: strings.NewReader(""), Stdout: &s.Stdout, Stderr: &s.Stderr, Net: cli.Network(), Width: 120,
		Getenv: func(name string) string { return s.Vars[name] },
		Open:   func(name string) (io.ReadCloser, error) { return os.Open(name) },
		Clock:  clock.System(),
	}
	return s
}

// Answer lets somebody at a terminal type lines. What is typed while input is hidden is for the test to see: Hidden counts it.
func (s *Session) Answer(lines ...string) (hidden *int) {
	hidden = new(int)
	env := *s.Env
	env.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	env.Interactive = true
	env.HideInput = func() (func(), error) { *hidden++; return func() {}, nil }
	s.Env = fresh(env)
	return hidden
}

// Pipe gives standard input a text, without a terminal.
func (s *Session) Pipe(text string) {
	env := *s.Env
	env.Stdin, env.Interactive = strings.NewReader(text), false
	s.Env = fresh(env)
}

// fresh is a world that has read nothing of its standard input yet.
func fresh(e cli.Env) *cli.Env {
	return &cli.Env{
		Stdin: e.Stdin, Stdout: e.Stdout, Stderr: e.Stderr, Getenv: e.Getenv, Open: e.Open, Net: e.Net, Clock: e.Clock, Width: e.Width,
		Color: e.Color, Live: e.Live, Interactive: e.Interactive, HideInput: e.HideInput,
	}
}

// Run runs `bailing ARGS` anew and returns the exit status.
func (s *Session) Run(args ...string) int {
	s.t.Helper()
	return s.RunContext(s.t.Context(), args...)
}

// RunContext is Run with a context.
func (s *Session) RunContext(ctx context.Context, args ...string) int {
	s.Stdout.Reset()
	s.Stderr.Reset()
	return cli.Main(ctx, s.root, s.Env, args)
}

// Want runs a command that must end with a status, and have a text on one of its outputs; where lines break does not matter.
func (s *Session) Want(code int, text, args string) {
	s.t.Helper()
	got := s.Run(strings.Fields(args)...)
	out := s.Stdout.String() + s.Stderr.String()
	if got != code || !strings.Contains(out, text) && !strings.Contains(strings.Join(strings.Fields(out), " "), text) {
		s.t.Errorf("%s: status %d, want %d and %q\nstdout: %sstderr: %s", args, got, code, text, &s.Stdout, &s.Stderr)
	}
}

// Golden compares the output with a file of testdata.
func (s *Session) Golden(name string) {
	s.t.Helper()
	Golden(s.t, name, s.Stdout.String())
}

// Golden compares a text with a file of testdata.
func Golden(t testing.TB, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
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
