package approval

import (
	"strings"

	"bailing/shared/canonical"
	"bailing/shared/textlimit"
)

// Bounds of a summary, in UTF-16 units: it is read in a message, not in the console.
const (
	maxSummary      = 1000
	maxSummaryValue = 200 // of one argument
)

// Summary is a prompt with each {name} replaced by the argument of that name (core §6.2). A name without an argument stays as
// it is, and what an argument holds is never read as a placeholder.
func Summary(prompt string, args canonical.Value) string {
	var b strings.Builder
	for rest := prompt; rest != ""; {
		before, after, open := strings.Cut(rest, "{")
		b.WriteString(before)
		if !open {
			break
		}
		name, tail, closed := strings.Cut(after, "}")
		v, known := args.Get(name)
		if !closed || !known {
			b.WriteByte('{')
			rest = after
			continue
		}
		b.WriteString(textlimit.Cut(readable(v), maxSummaryValue))
		rest = tail
	}
	return textlimit.Cut(b.String(), maxSummary)
}

func readable(v canonical.Value) string {
	if v.Kind() == canonical.String {
		return v.Text()
	}
	return string(v.AppendCompact(nil))
}
