package compile

import (
	"cmp"
	"strings"

	"bailing/shared/canonical"
)

// bounds are the keywords that limit a value from both sides, and the flags of OpenAPI 3.0 that take the limit itself out.
var bounds = [...]struct{ low, high, lowFlag, highFlag string }{
	{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"},
	{"minLength", "maxLength", "", ""},
	{"minItems", "maxItems", "", ""},
	{"minProperties", "maxProperties", "", ""},
}

// settleBounds finishes the merged keywords of a and b: a flag stays only with the limit that it stood beside, and limits that
// leave nothing between them are a conflict.
func settleBounds(merged []member, at map[string]int, a, b *node) *fault {
	number := func(keyword string) (canonical.Value, bool) {
		i, ok := at[keyword]
		if !ok {
			return canonical.Value{}, false
		}
		v := merged[i].value.value()
		return v, v.Kind() == canonical.Number
	}
	for _, pair := range bounds {
		low, hasLow := number(pair.low)
		high, hasHigh := number(pair.high)
		if hasLow && hasHigh && compareNumbers(low, high) > 0 {
			return conflict(pair.low)
		}
		if i, ok := at[pair.lowFlag]; ok && hasLow && merged[i].value.value().Kind() == canonical.Bool {
			merged[i].value = goLeaf(excludes(a, pair.low, pair.lowFlag, low) || excludes(b, pair.low, pair.lowFlag, low))
		}
		if i, ok := at[pair.highFlag]; ok && hasHigh && merged[i].value.value().Kind() == canonical.Bool {
			merged[i].value = goLeaf(excludes(a, pair.high, pair.highFlag, high) || excludes(b, pair.high, pair.highFlag, high))
		}
	}
	return nil
}

// excludes reports whether part takes out the limit that was chosen. A flag without a limit beside it is meant for the others'.
func excludes(part *node, keyword, flag string, chosen canonical.Value) bool {
	if !part.get(flag).value().Bool() {
		return false
	}
	own := part.get(keyword).value()
	return own.Kind() != canonical.Number || compareNumbers(own, chosen) == 0
}

// isFlag reports whether both values are the boolean form of an exclusive bound.
func isFlag(keyword string, a, b canonical.Value) bool {
	return strings.HasPrefix(keyword, "exclusive") && a.Kind() == canonical.Bool && b.Kind() == canonical.Bool
}

func larger(a, b canonical.Value) canonical.Value {
	if compareNumbers(b, a) > 0 {
		return b
	}
	return a
}

func smaller(a, b canonical.Value) canonical.Value {
	if compareNumbers(b, a) < 0 {
		return b
	}
	return a
}

// compareNumbers compares integers exactly, however long they are (D16), and other numbers as floats.
func compareNumbers(a, b canonical.Value) int {
	if c := cmp.Compare(a.Float(), b.Float()); c != 0 {
		return c
	}
	x, y := a.Number(), b.Number()
	if strings.ContainsAny(x, ".e") || strings.ContainsAny(y, ".e") {
		return 0
	}
	negative := strings.HasPrefix(x, "-")
	c := cmp.Compare(len(x), len(y))
	if c == 0 {
		c = strings.Compare(x, y)
	}
	if negative {
		return -c
	}
	return c
}
