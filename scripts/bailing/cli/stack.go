package cli

import (
	"fmt"
	"strings"
)

// PrintOrStack writes the table, or where it is wider than the terminal one block for each row: its first cell, and below it the
// others with their heads.
func (t Table) PrintOrStack(e *Env) {
	if t.Fits(e.Width) {
		t.Print(e.Stdout, e.Style())
		return
	}
	for _, row := range t.Rows {
		fmt.Fprintln(e.Stdout, e.Style().Bold(Clean(row[0])))
		var parts []string
		for i := 1; i < len(row); i++ {
			if row[i] != "" {
				parts = append(parts, strings.ToLower(t.Head[i])+": "+row[i])
			}
		}
		fmt.Fprintln(e.Stdout, Indent(strings.Join(parts, "; "), "  ", e.TextWidth()))
	}
}
