package main

import (
	"fmt"
	"io"
	"os"
	"text/tabwriter"
)

// row is one line of the table.
type row struct {
	name, value, baseline string
	ratio                 float64
	reference             string // what a Node hub of this contract did on another machine with 2 cores; "" for nothing known
}

// beside is the row with such a figure.
func (r row) beside(reference string) row {
	r.reference = reference
	return r
}

func printTable(w io.Writer, rows []row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tVALUE\tBASELINE\tRATIO\tREFERENCE")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%.3g\t%s\n", r.name, r.value, r.baseline, r.ratio, r.reference)
	}
	return t.Flush()
}

// progress tells a person what is going on: one line that replaces itself on a terminal, one line per step elsewhere.
type progress struct {
	w        io.Writer
	terminal bool
}

func newProgress(w io.Writer) *progress {
	f, ok := w.(*os.File)
	if !ok {
		return &progress{w: w}
	}
	info, err := f.Stat()
	return &progress{w: w, terminal: err == nil && info.Mode()&os.ModeCharDevice != 0}
}

// step begins something that takes a while.
func (p *progress) step(format string, args ...any) {
	if p.terminal {
		fmt.Fprintf(p.w, "\r\x1b[K"+format, args...)
		return
	}
	fmt.Fprintf(p.w, format+"\n", args...)
}

// update changes the line of a step that runs. Elsewhere than on a terminal it would be noise.
func (p *progress) update(format string, args ...any) {
	if p.terminal {
		p.step(format, args...)
	}
}

func (p *progress) done() {
	if p.terminal {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
