package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean makes text of a specification or a hub harmless for a terminal: what is not printable is written as an escape. White
// space becomes a space.
func Clean(s string) string {
	if strings.IndexFunc(s, unprintable) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			b.WriteByte(' ')
		case unprintable(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func unprintable(r rune) bool { return r != ' ' && !unicode.IsPrint(r) }

// Wrap breaks text into lines of at most width characters, between words where it can. There is always a first line.
func Wrap(text string, width int) []string {
	width = max(width, 20)
	var lines []string
	line, length := "", 0
	for _, word := range strings.Fields(Clean(text)) {
		n := utf8.RuneCountInString(word)
		switch {
		case line == "":
			line, length = word, n
		case length+1+n <= width:
			line, length = line+" "+word, length+1+n
		default:
			lines = append(lines, line)
			line, length = word, n
		}
	}
	return append(lines, line)
}

// Indent wraps text to width and begins every line with prefix.
func Indent(text, prefix string, width int) string {
	lines := Wrap(text, width-len(prefix))
	return prefix + strings.Join(lines, "\n"+prefix)
}

// Hang wraps text so that the first line begins with first, and the others are indented to the same column.
func Hang(first, text string, width int) string {
	n := visible(first)
	return first + strings.Join(Wrap(text, width-n), "\n"+strings.Repeat(" ", n))
}

// visible counts the characters of text that take room: colours do not.
func visible(text string) (n int) {
	for text != "" {
		if rest, ok := strings.CutPrefix(text, "\x1b["); ok {
			_, text, _ = strings.Cut(rest, "m")
			continue
		}
		_, size := utf8.DecodeRuneInString(text)
		n, text = n+1, text[size:]
	}
	return n
}

// Table is rows of cells under a head.
type Table struct {
	Head []string
	Rows [][]string
}

// widths are the widest cells of each column.
func (t Table) widths() []int {
	w := make([]int, len(t.Head))
	for _, row := range append([][]string{t.Head}, t.Rows...) {
		for i, cell := range row {
			w[i] = max(w[i], utf8.RuneCountInString(Clean(cell)))
		}
	}
	return w
}

// Fits reports whether no line of the table is longer than width; 0 is no limit.
func (t Table) Fits(width int) bool {
	total := -2
	for _, w := range t.widths() {
		total += w + 2
	}
	return width == 0 || total <= width
}

// Print writes the table. Columns are two spaces apart, and nothing follows the last cell of a row.
func (t Table) Print(w io.Writer, style Style) {
	widths := t.widths()
	for i, row := range append([][]string{t.Head}, t.Rows...) {
		var b strings.Builder
		for j, cell := range row {
			cell = Clean(cell)
			b.WriteString(cell)
			if j < len(row)-1 {
				b.WriteString(strings.Repeat(" ", widths[j]-utf8.RuneCountInString(cell)+2))
			}
		}
		line := strings.TrimRight(b.String(), " ")
		if i == 0 {
			line = style.Bold(line)
		}
		fmt.Fprintln(w, line)
	}
}

// Style colours text, or leaves it as it is.
type Style struct{ On bool }

// Style of the output.
func (e *Env) Style() Style { return Style{e.Color} }

func (s Style) sgr(code, text string) string {
	if !s.On || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Bold is for headings.
func (s Style) Bold(text string) string { return s.sgr("1", text) }

// Red is for what is wrong.
func (s Style) Red(text string) string { return s.sgr("31", text) }

// Yellow is for what may be wrong.
func (s Style) Yellow(text string) string { return s.sgr("33", text) }

// Green is for what is right.
func (s Style) Green(text string) string { return s.sgr("32", text) }

// Faint is for what may be skipped.
func (s Style) Faint(text string) string { return s.sgr("2", text) }

// Count writes a number with its noun: "1 error", "2 errors".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
