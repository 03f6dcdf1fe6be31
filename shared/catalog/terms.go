package catalog

import (
	"slices"
	"strings"
	"unicode/utf16"
)

// terms is what is looked for in the tools (agent §5.3, step 1).
type terms struct {
	norm  string   // lower-case words with one space between them
	words []string // distinct
	grams []gram   // distinct, of the words written without spaces
}

func newTerms(query string) terms {
	pieces := strings.FieldsFunc(lower(query), func(r rune) bool { return !inWord(r) })
	t := terms{norm: strings.Join(pieces, " ")}
	seen := make(map[string]bool, len(pieces))
	for _, w := range pieces {
		if !seen[w] {
			seen[w] = true
			t.words = append(t.words, w)
		}
	}
	units := utf16.Encode([]rune(strings.Join(pieces, "")))
	for i := 1; i < len(units); i++ {
		t.grams = append(t.grams, newGram(units[i-1], units[i]))
	}
	slices.Sort(t.grams)
	t.grams = slices.Compact(t.grams)
	return t
}
