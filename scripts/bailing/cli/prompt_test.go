package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// asked is an Env at whose terminal somebody types.
func asked(typed string) (e *Env, shown *bytes.Buffer) {
	shown = &bytes.Buffer{}
	return &Env{
		Stdin: strings.NewReader(typed), Stderr: shown, Interactive: true,
		HideInput: func() (func(), error) {
			shown.WriteString("<hidden>")
			return func() { shown.WriteString("<shown>") }, nil
		},
	}, shown
}

func TestQuestionsAreAnsweredLineByLine(t *testing.T) {
	t.Parallel()
	e, shown := asked("  one \n\nse cret \r\nlast")
	for _, tc := range []struct {
		ask  func() (string, error)
		want string
	}{
		{func() (string, error) { return e.Ask(t.Context(), "First", "") }, "one"},
		{func() (string, error) { return e.Ask(t.Context(), "Second", "fallback") }, "fallback"},
		{func() (string, error) { return e.AskSecret(t.Context(), "Third") }, "se cret "},
		{func() (string, error) { return e.Ask(t.Context(), "Fourth", "") }, "last"},
	} {
		if got, err := tc.ask(); err != nil || got != tc.want {
			t.Errorf("%q %v, want %q", got, err, tc.want)
		}
	}
	if want := "First: Second [fallback]: Third: <hidden><shown>\nFourth: "; shown.String() != want {
		t.Errorf("%q, want %q", shown, want)
	}
	if _, err := e.Ask(t.Context(), "Fifth", ""); err == nil || !strings.Contains(err.Error(), `an answer to "Fifth"`) {
		t.Errorf("%v", err)
	}
}

func TestWithoutATerminalNothingIsShownAndNobodyConfirms(t *testing.T) {
	t.Parallel()
	e, shown := asked("line\ny\n")
	e.Interactive = false
	if got, err := e.AskSecret(t.Context(), "Password"); err != nil || got != "line" || shown.Len() > 0 {
		t.Errorf("%q %v %q", got, err, shown)
	}
	var usage *UsageError
	if err := e.Confirm(t.Context(), "Delete it?"); !errors.As(err, &usage) || !strings.Contains(err.Error(), "--yes") {
		t.Errorf("%v", err)
	}
}

func TestOnlyYesConfirms(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]bool{"y\n": true, "YES\n": true, "\n": false, "n\n": false, "yeah\n": false, "": false} {
		e, _ := asked(typed)
		if err := e.Confirm(t.Context(), "Delete it?"); (err == nil) != want {
			t.Errorf("%q: %v", typed, err)
		}
	}
}

func TestAnAnswerHasALimit(t *testing.T) {
	t.Parallel()
	for over, want := range map[int]bool{0: true, 1: false} {
		e, _ := asked(strings.Repeat("x", maxLine-1+over) + "\n")
		got, err := e.Ask(t.Context(), "Text", "")
		if (err == nil) != want || want && len(got) != maxLine-1 {
			t.Errorf("%d over: %d characters, %v", over, len(got), err)
		}
	}
}

// An interrupt ends the wait for an answer, and the terminal shows again what is typed.
func TestAnInterruptEndsAQuestion(t *testing.T) {
	t.Parallel()
	e, shown := asked("")
	r, w := io.Pipe()
	defer w.Close()
	e.Stdin = r
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.AskSecret(ctx, "Password"); !errors.Is(err, context.Canceled) || !strings.HasSuffix(shown.String(), "<shown>\n") {
		t.Errorf("%v %q", err, shown)
	}
}

func TestAFileIsReplacedAsAWholeAndIsItsOwners(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "profile.json")
	if err := os.WriteFile(name, []byte("old and longer"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(name, []byte("new")); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(name)
	info, statErr := os.Stat(name)
	if err != nil || statErr != nil || string(b) != "new" || info.Mode().Perm() != 0o600 {
		t.Errorf("%q %v %v %v", b, err, info.Mode(), statErr)
	}
	if err := WriteFile(filepath.Join(name, "below", "a file"), nil); err == nil {
		t.Error("written where nothing can be")
	}
	left, err := os.ReadDir(filepath.Dir(name))
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestAWideTableBecomesBlocks(t *testing.T) {
	t.Parallel()
	table := Table{Head: []string{"NAME", "TEXT"}, Rows: [][]string{{"a", strings.Repeat("word ", 12)}, {"b", "x"}}}
	var b bytes.Buffer
	table.PrintOrStack(&Env{Stdout: &b, Width: 40})
	if want := "a\n  text: word word word word word word\n  word word word word word word\nb\n  text: x\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

func TestAFlagOfOneLetterHasOneDash(t *testing.T) {
	t.Parallel()
	if dashed("f") != "-f" || dashed("file") != "--file" {
		t.Error(dashed("f"), dashed("file"))
	}
}
