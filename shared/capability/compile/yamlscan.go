package compile

import (
	"bytes"
	"fmt"
)

// Bounds on YAML notation, which is looked at before the YAML parser builds a node of about 200 bytes for each of its parts.
const (
	MaxYAMLWeight     = 400_000 // see yamlWeight; a real document of MaxDocumentBytes has less
	MaxYAMLDirectives = 16      // lines that begin with %; the parser compares each with all before it
)

// checkYAML refuses, in one linear walk, what would take the YAML parser far more memory or time than the document is worth.
func checkYAML(src []byte) *fault {
	if bytes.HasPrefix(src, []byte("\xFE\xFF")) || bytes.HasPrefix(src, []byte("\xFF\xFE")) {
		return faultf(codeInvalidSpec, "Save the document in UTF-8.", "the document is in UTF-16")
	}
	if n := directives(src); n > MaxYAMLDirectives {
		return limitFault(fmt.Sprintf("the document has more than %d YAML directives", MaxYAMLDirectives))
	}
	if yamlWeight(src) > MaxYAMLWeight {
		return limitFault("the document has too many YAML values and comments")
	}
	return nil
}

// weight of each byte that can begin a value, a key or a comment: how many nodes of the parser it can stand for. A comment
// counts as three, for what it is stored as.
var weight = [256]uint8{':': 2, '?': 2, ',': 2, '-': 1, '[': 1, '{': 2, '&': 1, '#': 3}

// yamlWeight is an upper bound of the nodes that the parser makes of src. Where text ends and structure begins is for the
// parser to say: indicators count inside text too, unless what follows (or, for a comment, precedes) rules them out anywhere.
func yamlWeight(src []byte) int {
	total := 0
	for i, c := range src {
		w := weight[c]
		if w == 0 {
			continue
		}
		switch c {
		case ':':
			if i > 0 && isWord(src[i-1]) && !isQuote(src[i-1]) && i+1 < len(src) && isWord(src[i+1]) {
				continue
			}
		case '-':
			if i+1 < len(src) && (isWord(src[i+1]) || isFlow(src[i+1])) {
				continue
			}
		case '#':
			if i > 0 && isQuote(src[i-1]) {
				w = 1 // nearly always a reference, '#/components/...'
			} else if i > 0 && isWord(src[i-1]) {
				continue
			}
		}
		total += int(w)
	}
	return total
}

// isWord reports whether c is visible ASCII without a meaning inside brackets and braces.
func isWord(c byte) bool { return c > ' ' && c < 0x7F && !isFlow(c) }

func isQuote(c byte) bool { return c == '"' || c == '\'' }

func isFlow(c byte) bool { return c == ',' || c == '[' || c == ']' || c == '{' || c == '}' }

func directives(src []byte) int {
	n := bytes.Count(src, []byte("\n%")) + bytes.Count(src, []byte("\r%"))
	if len(src) > 0 && src[0] == '%' {
		n++
	}
	return n
}
