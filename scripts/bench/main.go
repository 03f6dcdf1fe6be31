package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const usage = `Usage: bench [-calls N] [-callbacks N] [-jobs N] [-clients N] [-duration D]

Measures canonical JSON, signatures, argument validation, a governed call without I/O, compilation, searches for tools,
governed calls and callbacks against a business on this machine, and the local stack, and prints each number beside a
baseline of the same run. Ratios are value / baseline: below 1 is less than the baseline. References are figures of a
Node hub of this contract, measured elsewhere on 2 cores: for orientation only. The table goes to standard output, progress to
standard error.

Flags:
`

// options are what a person may choose.
type options struct {
	calls, callbacks int
	jobs, clients    int
	duration         time.Duration // of value and baseline together, or of a baseline beside a number of calls, callbacks or jobs
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { fmt.Fprint(stderr, usage); flags.PrintDefaults() }
	flags.IntVar(&o.calls, "calls", 1000, "governed calls to make, 1 and 64 at a time; 0 leaves them out")
	flags.IntVar(&o.callbacks, "callbacks", 500, "callbacks to deliver; 0 leaves them out")
	flags.IntVar(&o.jobs, "jobs", 300, "jobs to run through the local stack; 0 leaves it out")
	flags.IntVar(&o.clients, "clients", 8, "concurrent clients of the stack, concurrent callbacks, and those of their baselines")
	flags.DurationVar(&o.duration, "duration", 2*time.Second, "time for each measurement")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return errors.New("see -help")
	}
	if flags.NArg() > 0 || min(o.calls, o.callbacks, o.jobs) < 0 || o.clients < 1 || o.duration <= 0 {
		return errors.New("-calls, -callbacks and -jobs must not be negative, -clients and -duration must be positive, and nothing else is taken; see -help")
	}
	p := newProgress(stderr)
	rows, err := pureRows(ctx, o, p)
	if err != nil {
		return err
	}
	for _, measure := range []func(context.Context, options, *progress) ([]row, error){searchRows, partRows, stackRows} {
		more, err := measure(ctx, o, p)
		if err != nil {
			return err
		}
		rows = append(rows, more...)
	}
	p.done()
	return printTable(stdout, rows)
}
