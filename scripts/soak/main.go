// Soak runs very many jobs through the functions of the hub in this process, while the AWS stand-ins, in a process of their own, fail
// in one of a hundred requests. It requires that nothing is lost and nothing happens twice, and that the memory of this process
// stays what it was. It prints figures as it goes, and as its last line
//
//	soak: jobs=… faults=… lost=0 twice=0 reconciliations=… heap_mib=…->…
//
// Each job makes a read and two writes and has a callback. What the job's business and receiver saw is counted in a few bytes a job, so
// that memory that grows is the hub's own. When nothing moves for a while, for instance since a worker's message is invisible until its
// time is over, the functions' clock is moved ahead.
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

type options struct {
	jobs, clients, window int
	keep                  int
	faults                float64
	stalled               time.Duration
	standIns              bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) error {
	var o options
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.jobs, "jobs", 2000, "jobs to run")
	flags.IntVar(&o.clients, "clients", 16, "clients that submit jobs side by side")
	flags.IntVar(&o.window, "window", 256, "jobs that may be under way together")
	flags.IntVar(&o.keep, "keep", 5000, "ended jobs whose rows the stand-ins keep; older ones are deleted")
	flags.Float64Var(&o.faults, "faults", 0.01, "share of the requests to AWS that fail")
	flags.DurationVar(&o.stalled, "stalled", 20*time.Second, "how long nothing may move before the functions' clock does")
	flags.BoolVar(&o.standIns, "stand-ins", false, "be the process of the stand-ins; for soak itself")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return errors.New("see -help")
	}
	if flags.NArg() > 0 || o.jobs < 1 || o.clients < 1 || o.window < 1 || o.keep < 0 || o.stalled <= 0 || o.faults < 0 || o.faults >= 1 {
		return errors.New("-jobs, -clients, -window and -stalled must be positive, -keep at least 0, -faults at least 0 and below 1, and nothing else is taken; see -help")
	}
	if o.standIns {
		return serveStandIns(o, stdin, stdout)
	}
	return soak(ctx, o, stdout, stderr)
}
