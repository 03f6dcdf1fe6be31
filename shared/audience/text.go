package audience

import (
	"index/suffixarray"
	"strings"

	"bailing/shared/canonical"
)

// Text is where the words of routes are looked for; see [SearchText].
type Text struct {
	lower string
	// index answers in steps that hardly grow with the text. Without it each of some thousand words would be looked for in
	// an input of a hundred thousand characters, and a request that matches nothing costs its sender nothing.
	index *suffixarray.Index
}

// indexed is from how many bytes on a text gets an index, which takes longer to make than a few words to find.
const indexed = 4 << 10

// SearchText is the text of a request, in lower case: the input, and every key and value of the metadata at any depth, with a
// border between them. Numbers and booleans are written as in JSON; null is nothing. No word of a route has the border's character,
// so it is never found across two values.
func SearchText(input string, metadata canonical.Value) Text {
	var b strings.Builder
	b.WriteString(input)
	appendValue(&b, metadata)
	t := Text{lower: strings.ToLower(b.String())}
	if len(t.lower) >= indexed {
		t.index = suffixarray.New([]byte(t.lower))
	}
	return t
}

// String is the text as words are looked for in it.
func (t Text) String() string { return t.lower }

// has reports whether the word is in the text, whatever its case; the empty word never is.
func (t Text) has(word string) bool {
	switch word = strings.ToLower(word); {
	case word == "":
		return false
	case t.index == nil:
		return strings.Contains(t.lower, word)
	}
	return len(t.index.Lookup([]byte(word), 1)) > 0
}

// border stands between two values: a control character, which the configuration of a route cannot have.
const border = 0

func appendValue(b *strings.Builder, v canonical.Value) {
	part := func(s string) {
		b.WriteByte(border)
		b.WriteString(s)
	}
	switch v.Kind() {
	case canonical.String:
		part(v.Text())
	case canonical.Number, canonical.Bool:
		part(string(v.AppendCompact(nil)))
	case canonical.Array:
		for _, e := range v.Elems() {
			appendValue(b, e)
		}
	case canonical.Object:
		for key, member := range v.Members() {
			part(key)
			appendValue(b, member)
		}
	}
}
