package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// tree is a small program: `prog group leaf [--name N] [--json] ARG...`, which prints what it got.
func tree(run Run) *Command {
	leaf := &Command{Name: "leaf", Args: "ARG...", Short: "Prints its arguments.", Long: "Examples:\n  prog group leaf x", New: func(fs *flag.FlagSet) Run {
		name := fs.String("name", "none", "a `NAME` to print")
		asJSON := fs.Bool("json", false, "print JSON")
		return func(ctx context.Context, e *Env, args []string) error {
			if run != nil {
				return run(ctx, e, args)
			}
			fmt.Fprintf(e.Stdout, "%s %v %q", *name, *asJSON, args)
			return nil
		}
	}}
	return &Command{Name: "prog", Short: "A program.", Sub: []*Command{
		{Name: "group", Short: "A group.", Sub: []*Command{leaf, {Name: "other", Short: "Another.", New: leaf.New}}},
	}}
}

func execute(t *testing.T, ctx context.Context, root *Command, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = Main(ctx, root, &Env{Stdout: &out, Stderr: &err, Getenv: func(string) string { return "" }}, args)
	return code, out.String(), err.String()
}

func TestFlagsStandAnywhere(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"a", "b"}, `none false ["a" "b"]`},
		{[]string{"--name", "n", "a", "--json", "b"}, `n true ["a" "b"]`},
		{[]string{"a", "-name=n"}, `n false ["a"]`},
		{[]string{"a", "--", "--json", "b"}, `none false ["a" "--json" "b"]`},
		{[]string{"-"}, `none false ["-"]`},
	} {
		code, out, _ := execute(t, t.Context(), tree(nil), append([]string{"group", "leaf"}, tc.args...)...)
		if code != OK || out != tc.want {
			t.Errorf("%q: %d %s, want %s", tc.args, code, out, tc.want)
		}
	}
}

func TestWhatDoesNotExistIsNamedWithWhatDoes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		args string
		want string
	}{
		{"", "which command?\nSee 'prog --help'."},
		{"grop", `unknown command "grop"; did you mean "group"?` + "\nSee 'prog --help'."},
		{"group laef", `unknown command "laef"; did you mean "leaf"?` + "\nSee 'prog group --help'."},
		{"group oth", `unknown command "oth"; did you mean "other"?`},
		{"group zzzzzz", "unknown command \"zzzzzz\"\n"},
		{"help group lea", `did you mean "leaf"?`},
		{"--json group leaf", "a command comes before the flag --json"},
		{"group leaf --jsn", `unknown flag --jsn; did you mean "--json"?` + "\nSee 'prog group leaf --help'."},
		{"group leaf a -x", "unknown flag -x\n"},
		{"group leaf --name", "flag needs an argument: -name"},
		{"group leaf --json=perhaps", "invalid boolean value"},
	} {
		code, out, errs := execute(t, t.Context(), tree(nil), strings.Fields(tc.args)...)
		if code != Trouble || out != "" || !strings.Contains(errs, tc.want) {
			t.Errorf("%s: %d, stdout %q, stderr %q, want %q", tc.args, code, out, errs, tc.want)
		}
	}
}

func TestHelpStandsAtEveryLevel(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ args, want string }{
		{"--help", "Usage: prog COMMAND ..."}, {"-h", "  group  A group."}, {"help", "Usage: prog COMMAND"},
		{"group --help", "  leaf   Prints its arguments."}, {"help group", "Usage: prog group COMMAND"},
		{"group leaf --help", "Usage: prog group leaf [flags] ARG..."}, {"group leaf a -h", "  --name NAME  a NAME to print (default none)"},
		{"help group leaf", "Examples:\n  prog group leaf x"}, {"group help leaf", "Usage: prog group leaf"},
	} {
		code, out, errs := execute(t, t.Context(), tree(nil), strings.Fields(tc.args)...)
		if code != OK || errs != "" || !strings.Contains(out, tc.want) {
			t.Errorf("%s: %d, %q, stderr %q", tc.args, code, out, errs)
		}
	}
}

func TestAGroupMayDoSomethingItself(t *testing.T) {
	t.Parallel()
	root := tree(nil)
	group := root.Sub[0]
	group.New = group.Sub[0].New
	for _, tc := range []struct {
		args, want string
		code       int
	}{
		{"", "none false []", OK}, {"--name n", `n false []`, OK}, {"leaf --name n", "n false []", OK}, {"nothing", "unknown command", Trouble},
		{"--nam n", "unknown flag", Trouble}, {"--help", "Usage: prog group [flags]\n       prog group COMMAND ...", OK}, {"-h", "--name NAME", OK},
	} {
		code, out, stderr := execute(t, t.Context(), root, append([]string{"group"}, strings.Fields(tc.args)...)...)
		if code != tc.code || !strings.Contains(out+stderr, tc.want) {
			t.Errorf("%q: %d %s%s, want %s", tc.args, code, out, stderr, tc.want)
		}
	}
}

func TestExitStatuses(t *testing.T) {
	t.Parallel()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tc := range []struct {
		rule string
		ctx  context.Context
		err  error
		code int
		want string
	}{
		{"fine", t.Context(), nil, 0, ""},
		{"the thing is not fine: it was printed already", t.Context(), ErrNotFine, 1, ""},
		{"wrong usage names the command", t.Context(), Usagef("two of them"), 2, "prog: two of them\nSee 'prog group leaf --help'.\n"},
		{"trouble", t.Context(), errors.New("no file"), 2, "prog: no file\n"},
		{"trouble with advice", t.Context(), &HintError{errors.New("no file"), "Make one."}, 2, "prog: no file\n  Make one.\n"},
		{"text of others cannot steer the terminal", t.Context(), errors.New("a\x1b[2Jb"), 2, "prog: a\\u001b[2Jb\n"},
		{"interrupted", cancelled, errors.New("whatever was cut off"), 130, "prog: interrupted\n"},
	} {
		code, out, errs := execute(t, tc.ctx, tree(func(context.Context, *Env, []string) error { return tc.err }), "group", "leaf")
		if code != tc.code || out != "" || errs != tc.want {
			t.Errorf("%s: %d, stdout %q, stderr %q", tc.rule, code, out, errs)
		}
	}
}

func TestCleanTextCannotSteerATerminal(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain text, grüße": "plain text, grüße",
		"a\nb\tc":           "a b c",
		"\x1b[31mred":       `\u001b[31mred`,
		"\u202Egnp.exe":     `\u202egnp.exe`,
		"bell\a":            `bell\u0007`,
		"\xff":              "\uFFFD",
	} {
		if got := Clean(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestTextIsWrappedBetweenWords(t *testing.T) {
	t.Parallel()
	if got := Wrap("one two three four five six", 20); !slices.Equal(got, []string{"one two three four", "five six"}) {
		t.Errorf("%q", got)
	}
	if got := Wrap("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa b", 20); !slices.Equal(got, []string{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "b"}) {
		t.Errorf("a word is never broken: %q", got)
	}
	if got := Wrap("", 20); len(got) != 1 {
		t.Errorf("%q", got)
	}
	red := Style{true}.Red("fix:")
	if got := Hang(red+" ", "one two three four five six", 25); got != red+" one two three four\n     five six" {
		t.Errorf("a colour takes no room: %q", got)
	}
}

func TestATableKnowsItsWidth(t *testing.T) {
	t.Parallel()
	table := Table{Head: []string{"NAME", "X"}, Rows: [][]string{{"größer", "1"}, {"a", ""}}}
	if !table.Fits(9) || table.Fits(8) || !table.Fits(0) {
		t.Error("the table is 9 wide")
	}
	var b bytes.Buffer
	table.Print(&b, Style{})
	if want := "NAME    X\ngrößer  1\na\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

func TestProgressIsForTerminalsOnly(t *testing.T) {
	t.Parallel()
	for live, want := range map[bool]string{false: "", true: "\r\x1b[Kreading x ...\r\x1b[K"} {
		var b bytes.Buffer
		e := &Env{Stderr: &b, Live: live}
		e.Progress("reading %s", "x")()
		if b.String() != want {
			t.Errorf("%v: %q", live, b.String())
		}
	}
}

func TestRunningTextIsNeverVeryWideOrNarrow(t *testing.T) {
	t.Parallel()
	for width, want := range map[int]int{0: 100, 10: 40, 80: 80, 100: 100, 200: 100} {
		if got := (&Env{Width: width}).TextWidth(); got != want {
			t.Errorf("%d: %d, want %d", width, got, want)
		}
	}
}

func TestJSONIsOneDocumentWithoutEscapedMarkup(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := (&Env{Stdout: &b}).JSON(map[string]string{"rule": "a > 1"}); err != nil || b.String() != "{\n  \"rule\": \"a > 1\"\n}\n" {
		t.Errorf("%q, %v", b.String(), err)
	}
}

// A hub repeats texts of businesses, models and callers: in JSON, too, they reach a terminal.
func TestJSONCannotSteerATerminal(t *testing.T) {
	t.Parallel()
	in := `{"text":"grüße 密 \u001b[31m ` + "\u009b31m\u202egnp.exe\x7f\U000e0041\u00a0\u2028 😀" + `"}`
	want := `{"text":"grüße 密 \u001b[31m \u009b31m\u202egnp.exe\u007f\udb40\udc41\u00a0\u2028 😀"}`
	var b bytes.Buffer
	if err := (&Env{Stdout: &b}).JSON(json.RawMessage(in)); err != nil {
		t.Fatal(err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, b.Bytes()); err != nil || compact.String() != want {
		t.Errorf("%s, want %s; %v", compact.String(), want, err)
	}
	var before, after any
	if err := errors.Join(json.Unmarshal([]byte(in), &before), json.Unmarshal(b.Bytes(), &after)); err != nil || !reflect.DeepEqual(before, after) {
		t.Errorf("%q became %q, %v", before, after, err)
	}
}
