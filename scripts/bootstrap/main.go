package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"bailing/shared/topology"
)

const usage = `Usage: bootstrap [-rounds N] [-keep DIR]

Builds every function as it is deployed, checks and measures the programs, and runs the demo through them behind a Lambda
Runtime API on this machine.

Flags:
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bootstrap:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	flags := flag.NewFlagSet("bootstrap", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { fmt.Fprint(stderr, usage); flags.PrintDefaults() }
	rounds := flags.Int("rounds", 15, "starts of each function to measure")
	keep := flags.String("keep", "", "build into this folder and leave the programs there (default: a temporary one)")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return errors.New("see -help")
	}
	if flags.NArg() > 0 || *rounds < 1 {
		return errors.New("-rounds must be positive, and nothing else is taken; see -help")
	}
	dir := *keep
	if dir == "" {
		if dir, err = os.MkdirTemp("", "bailing-bootstrap-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	return prove(ctx, dir, *rounds, stdout, stderr)
}

// prove builds, measures, judges and runs.
func prove(ctx context.Context, dir string, rounds int, stdout, stderr io.Writer) error {
	functions := topology.System().Functions
	native := target{runtime.GOOS, runtime.GOARCH, filepath.Join(dir, "native")}
	deployed := target{"linux", "arm64", filepath.Join(dir, "arm64")}
	for _, t := range []target{deployed, native} {
		fmt.Fprintf(stderr, "building %d functions for %s/%s\n", len(functions), t.os, t.arch)
		if err := t.build(ctx, functions); err != nil {
			return err
		}
	}
	rows, err := inspect(deployed, functions)
	if err != nil {
		return err
	}
	fmt.Fprintf(stderr, "starting each function %d times\n", rounds)
	if err := measureStarts(ctx, native, rows, rounds); err != nil {
		return err
	}
	if err := printTable(stdout, rows); err != nil {
		return err
	}
	gates := judge(rows)
	fmt.Fprintf(stdout, "\nThe demo, through the programs:\n\n")
	gates = append(gates, gate{"the demo passed through the programs", runDemo(ctx, dir, native, stdout, stderr)})
	return conclude(stdout, gates)
}

// demoGrace is how long an interrupted demo may take to end its processes.
const demoGrace = 30 * time.Second

// runDemo runs the demo with the functions as t's programs.
func runDemo(ctx context.Context, dir string, t target, stdout, stderr io.Writer) error {
	demo := filepath.Join(dir, "demo")
	var out bytes.Buffer
	build := exec.CommandContext(ctx, "go", "build", "-o", demo, module+"/scripts/demo")
	build.Stdout, build.Stderr = &out, &out
	if err := build.Run(); err != nil {
		return fmt.Errorf("build the demo: %w\n%s", err, out.Bytes())
	}
	cmd := exec.CommandContext(ctx, demo, "-bootstraps", t.dir)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = demoGrace
	return cmd.Run()
}
