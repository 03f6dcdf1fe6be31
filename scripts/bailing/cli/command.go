package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Run does the work of a command with the arguments that are no flags.
type Run func(ctx context.Context, e *Env, args []string) error

// Command is a command, or a group of them when it has Sub.
type Command struct {
	Name  string
	Args  string // how its arguments are called, such as "FILE|URL|-"
	Short string // one sentence
	Long  string // what else --help says, as it is printed
	Sub   []*Command
	// New declares the flags and returns what runs once they are parsed. A group that has one runs it when no command follows.
	New func(*flag.FlagSet) Run
}

// Main runs the command that args name, prints what went wrong, and returns the exit status.
func Main(ctx context.Context, root *Command, e *Env, args []string) int {
	err := dispatch(ctx, root, root.Name, e, args)
	var usage *UsageError
	switch {
	case err == nil:
		return OK
	case errors.Is(err, ErrNotFine):
		return NotFine
	case ctx.Err() != nil:
		fmt.Fprintln(e.Stderr, root.Name+": interrupted")
		return Interrupted
	case errors.As(err, &usage):
		fmt.Fprintf(e.Stderr, "%s: %s\nSee '%s --help'.\n", root.Name, Clean(usage.Reason), usage.command)
		return Trouble
	}
	fmt.Fprintf(e.Stderr, "%s: %s\n", root.Name, Clean(err.Error()))
	var hinted *HintError
	if errors.As(err, &hinted) {
		fmt.Fprintln(e.Stderr, Indent(hinted.Hint, "  ", e.TextWidth()))
	}
	return Trouble
}

// dispatch walks down to the command; path is how the user wrote it so far.
func dispatch(ctx context.Context, c *Command, path string, e *Env, args []string) error {
	if len(c.Sub) == 0 || c.alone(args) {
		return c.run(ctx, path, e, args)
	}
	if len(args) == 0 {
		c.help(e.Stderr, path, e.TextWidth())
		return errNoCommand(path)
	}
	switch name := args[0]; {
	case name == "-h" || name == "-help" || name == "--help":
		c.help(e.Stdout, path, e.TextWidth())
		return nil
	case name == "help":
		return c.helpFor(path, e, args[1:])
	case strings.HasPrefix(name, "-"):
		return &UsageError{fmt.Sprintf("a command comes before the flag %s", name), path}
	default:
		sub := c.find(name)
		if sub == nil {
			return c.unknown(path, name)
		}
		return dispatch(ctx, sub, path+" "+sub.Name, e, args[1:])
	}
}

// alone reports whether a group is asked to do something itself.
func (c *Command) alone(args []string) bool {
	if c.New == nil {
		return false
	}
	return len(args) == 0 || strings.HasPrefix(args[0], "-") && !slices.Contains([]string{"-h", "-help", "--help"}, args[0])
}

func errNoCommand(path string) error { return &UsageError{"which command?", path} }

// helpFor serves `help provider lint`.
func (c *Command) helpFor(path string, e *Env, names []string) error {
	for _, name := range names {
		sub := c.find(name)
		if sub == nil {
			return c.unknown(path, name)
		}
		c, path = sub, path+" "+sub.Name
	}
	c.help(e.Stdout, path, e.TextWidth())
	return nil
}

func (c *Command) find(name string) *Command {
	for _, sub := range c.Sub {
		if sub.Name == name {
			return sub
		}
	}
	return nil
}

func (c *Command) unknown(path, name string) error {
	names := make([]string, len(c.Sub))
	for i, sub := range c.Sub {
		names[i] = sub.Name
	}
	return &UsageError{fmt.Sprintf("unknown command %q%s", name, didYouMean(name, names)), path}
}

// run parses the flags and runs the command.
func (c *Command) run(ctx context.Context, path string, e *Env, args []string) error {
	fs := flag.NewFlagSet(path, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	run := c.New(fs)
	positional, err := parse(fs, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		c.help(e.Stdout, path, e.TextWidth())
		return nil
	case err != nil:
		return &UsageError{err.Error(), path}
	}
	err = run(ctx, e, positional)
	var usage *UsageError
	if errors.As(err, &usage) {
		usage.command = path
	}
	return err
}

// parse lets flags stand before, between and after the arguments, up to "--".
func parse(fs *flag.FlagSet, args []string) (positional []string, err error) {
	for {
		if err := fs.Parse(args); err != nil {
			return nil, explain(fs, args, err)
		}
		rest := fs.Args()
		if len(rest) == 0 {
			return positional, nil
		}
		if used := len(args) - len(rest); used > 0 && args[used-1] == "--" {
			return append(positional, rest...), nil
		}
		positional, args = append(positional, rest[0]), rest[1:]
	}
}

// explain names the flag that does not exist, if that is what is wrong, and a similar one that does.
func explain(fs *flag.FlagSet, args []string, err error) error {
	if errors.Is(err, flag.ErrHelp) {
		return err
	}
	var names []string
	fs.VisitAll(func(f *flag.Flag) { names = append(names, dashed(f.Name)) })
	for _, arg := range args {
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if arg == "--" {
			break
		}
		if len(arg) > 1 && arg[0] == '-' && fs.Lookup(name) == nil {
			if len(name) == 1 {
				return fmt.Errorf("unknown flag %s", dashed(name)) // every letter is close to every other
			}
			return fmt.Errorf("unknown flag %s%s", dashed(name), didYouMean(dashed(name), names))
		}
	}
	return err
}
