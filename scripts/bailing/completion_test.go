package main

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bailing/scripts/bailing/clitest"
)

// script writes the completion of a shell to a file; the test is skipped where the shell is not there.
func script(t *testing.T, shell string) (name string) {
	t.Helper()
	if _, err := exec.LookPath(shell); err != nil {
		t.Skip(shell + " is not installed")
	}
	s := clitest.New(t, root().Sub...)
	s.Want(0, "", "completion "+shell)
	name = filepath.Join(t.TempDir(), "completion")
	write(t, name, s.Stdout.String())
	return name
}

// completions are lines that are completed, and some of what must and must not be offered.
var completions = []struct {
	line     string
	want     []string
	unwanted []string
}{
	{"bailing pro", []string{"provider"}, []string{"init", "lint"}},
	{"bailing provider ", []string{"lint", "diff", "refresh", "show", "secret"}, []string{"provider", "init"}},
	{"bailing provider lint --s", []string{"--secret-env", "--strict"}, []string{"--json", "lint"}},
	{"bailing provider lint x.yaml --st", []string{"--strict"}, []string{"--secret-env"}},
	{"bailing completion ", []string{"bash", "zsh", "fish"}, nil},
	{"bailing apply --p", []string{"--profile", "--prune"}, []string{"--yes"}},
	{"bailing route li", []string{"list"}, nil},
	{"bailing approvals ", []string{"list", "show", "approve", "deny"}, []string{"close"}},
	{"bailing approvals show --re", []string{"--reveal"}, []string{"--comment"}},
}

func TestBashCompletesCommandsAndFlags(t *testing.T) {
	t.Parallel()
	name := script(t, "bash")
	for _, tc := range completions {
		words := strings.Split(tc.line, " ")
		run := `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _bailing; printf '%s\n' "${COMPREPLY[@]}"`
		wantCompletions(t, tc.line, exec.Command("bash", append([]string{"--norc", "-c", run, "-", name}, words...)...), tc.want, tc.unwanted)
	}
}

func TestFishCompletesCommandsAndFlags(t *testing.T) {
	t.Parallel()
	name := script(t, "fish")
	for _, tc := range completions {
		run := "source $argv[1]; complete -C $argv[2] | string replace -r '\t.*' ''"
		wantCompletions(t, tc.line, exec.Command("fish", "--no-config", "-c", run, name, tc.line), tc.want, tc.unwanted)
	}
}

func TestZshReadsItsCompletion(t *testing.T) {
	t.Parallel()
	name := script(t, "zsh")
	// What would be offered is caught where the shell would show it.
	const run = `compdef() { :; }; _files() { :; }; _describe() { print -l -- "${(@P)argv[-1]}"; }
source "$1"; shift; words=("$@"); CURRENT=$#; PREFIX=$words[-1]; _bailing`
	for _, tc := range completions {
		out := exec.Command("zsh", append([]string{"-f", "-c", run, "-", name}, strings.Split(tc.line, " ")...)...)
		wantCompletions(t, tc.line, out, tc.want, nil) // zsh itself leaves out what does not match
	}
}

func wantCompletions(t *testing.T, line string, c *exec.Cmd, want, unwanted []string) {
	t.Helper()
	b, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", line, err, b)
	}
	var got []string
	for l := range strings.Lines(string(b)) {
		word, _, _ := strings.Cut(strings.TrimSpace(l), ":")
		got = append(got, word)
	}
	for _, w := range want {
		if !slices.Contains(got, w) {
			t.Errorf("%q does not offer %s: %q", line, w, got)
		}
	}
	for _, w := range unwanted {
		if slices.Contains(got, w) {
			t.Errorf("%q offers %s", line, w)
		}
	}
}
