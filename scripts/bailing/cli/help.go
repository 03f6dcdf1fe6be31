package cli

import (
	"flag"
	"fmt"
	"io"
	"strings"
)

// help prints how a command is used.
func (c *Command) help(w io.Writer, path string, width int) {
	fmt.Fprintf(w, "%s\n\nUsage: %s", c.Short, path)
	if len(c.Sub) > 0 {
		if c.New != nil {
			fmt.Fprintf(w, " [flags]\n       %s", path)
		}
		fmt.Fprint(w, " COMMAND ...\n\nCommands:\n")
		rows := make([][]string, len(c.Sub))
		for i, sub := range c.Sub {
			rows[i] = []string{sub.Name, sub.Short}
		}
		definitions(w, rows, width)
		fmt.Fprintf(w, "\nSee '%s COMMAND --help'.\n", path)
		if c.New == nil {
			return
		}
	}
	fs := flag.NewFlagSet(path, flag.ContinueOnError)
	c.New(fs)
	var flags [][]string
	fs.VisitAll(func(f *flag.Flag) { flags = append(flags, describe(f)) })
	if len(c.Sub) == 0 {
		if len(flags) > 0 {
			fmt.Fprint(w, " [flags]")
		}
		fmt.Fprintln(w, strings.TrimRight(" "+c.Args, " "))
	}
	if len(flags) > 0 {
		fmt.Fprint(w, "\nFlags:\n")
		definitions(w, flags, width)
	}
	if c.Long != "" {
		fmt.Fprintln(w)
		paragraphs(w, strings.TrimSpace(c.Long), width)
	}
}

// paragraphs prints text wrapped to width. Lines that begin with a space stay as they are.
func paragraphs(w io.Writer, text string, width int) {
	var running []string
	flush := func() {
		if len(running) > 0 {
			fmt.Fprintln(w, Indent(strings.Join(running, " "), "", width))
			running = nil
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case line == "", strings.HasPrefix(line, " "):
			flush()
			fmt.Fprintln(w, line)
		default:
			running = append(running, line)
		}
	}
	flush()
}

// describe is a flag as a term and its meaning.
func describe(f *flag.Flag) []string {
	value, usage := flag.UnquoteUsage(f)
	term := dashed(f.Name)
	if value != "" {
		term += " " + value
	}
	if f.DefValue != "" && f.DefValue != "false" {
		usage += " (default " + f.DefValue + ")"
	}
	return []string{term, usage}
}

// dashed is a flag as people write it: one letter has one dash.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// definitions prints terms and their meanings in two columns.
func definitions(w io.Writer, rows [][]string, width int) {
	term := 0
	for _, row := range rows {
		term = max(term, len(row[0]))
	}
	for _, row := range rows {
		lines := Wrap(row[1], width-term-4)
		fmt.Fprintf(w, "  %-*s  %s\n", term, row[0], lines[0])
		for _, line := range lines[1:] {
			fmt.Fprintf(w, "  %-*s  %s\n", term, "", line)
		}
	}
}

// didYouMean names the candidate that is closest to what was written, if one is close.
func didYouMean(written string, candidates []string) string {
	best, distance := "", 3
	for _, c := range candidates {
		if d := edits(written, c); d < distance {
			best, distance = c, d
		}
		if len(written) > 2 && strings.HasPrefix(c, written) && best == "" {
			best = c
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// edits counts the insertions, deletions and replacements that make a of b.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0] // row[j-1] of the line above
		row[0] = i + 1
		for j := range len(b) {
			above := row[j+1]
			replaced := before
			if a[i] != b[j] {
				replaced++
			}
			row[j+1], before = min(above+1, row[j]+1, replaced), above
		}
	}
	return row[len(b)]
}
