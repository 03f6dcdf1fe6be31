package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// What must hold (architecture §7).
const (
	zipMax     = 6_000_000 // bytes of the archive of an API function
	startTimes = 3         // times the bare function's time from start to first poll
)

// row is what was found out about one function.
type row struct {
	name   string
	api    bool  // it serves HTTP
	elf    error // why it cannot run on arm64
	zip    int64 // bytes
	starts []time.Duration
}

// start is the fastest one: what else runs on this machine only adds to it.
func (r row) start() time.Duration { return slices.Min(r.starts) }

// gate is one promise; err says why it does not hold.
type gate struct {
	what string
	err  error
}

// judge holds the rows against the promises. The first row is the bare function's.
func judge(rows []row) []gate {
	var elf, zip, start []error
	for _, r := range rows {
		if r.elf != nil {
			elf = append(elf, fmt.Errorf("%s: %w", r.name, r.elf))
		}
		if r.api && r.zip > zipMax {
			zip = append(zip, fmt.Errorf("%s has %d bytes", r.name, r.zip))
		}
		if limit := startTimes * rows[0].start(); r.start() > limit {
			start = append(start, fmt.Errorf("%s takes %s, more than %s", r.name, r.start(), limit))
		}
	}
	return []gate{
		{"every program is a static executable for arm64 Linux", errors.Join(elf...)},
		{fmt.Sprintf("archives of API functions have at most %s", megabytes(zipMax)), errors.Join(zip...)},
		{fmt.Sprintf("every function polls within %d times the bare function's start", startTimes), errors.Join(start...)},
	}
}

func printTable(w io.Writer, rows []row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "FUNCTION\tZIP\t/ BARE\tSTART TO FIRST POLL\t/ BARE\t")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\t%.2f\t%s\t%.2f\t\n", r.name, megabytes(r.zip), float64(r.zip)/float64(rows[0].zip),
			milliseconds(r.start()), float64(r.start())/float64(rows[0].start()))
	}
	return t.Flush()
}

func megabytes(n int64) string { return fmt.Sprintf("%.2f MB", float64(n)/1e6) }

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}

// conclude prints the gates, the count of those that hold in the last line, and returns an error unless all of them do.
func conclude(w io.Writer, gates []gate) error {
	fmt.Fprintln(w)
	passed := 0
	for _, g := range gates {
		if g.err == nil {
			passed++
			fmt.Fprintf(w, "ok   %s\n", g.what)
		} else {
			fmt.Fprintf(w, "FAIL %s\n     %v\n", g.what, g.err)
		}
	}
	fmt.Fprintf(w, "bootstrap: %d/%d passed\n", passed, len(gates))
	if passed != len(gates) {
		return errors.New("not everything passed")
	}
	return nil
}
