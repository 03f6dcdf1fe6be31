package expr

import (
	"slices"
	"strings"
)

type tokenKind int

const (
	tokEnd    tokenKind = iota
	tokIdent            // a bare name, a keyword or a function name
	tokName             // #placeholder
	tokValue            // :placeholder
	tokNumber           // a list index
	tokSymbol           // punctuation or operator
)

type token struct {
	kind tokenKind
	text string
	at   int // byte offset in the source
}

// is reports whether the token is the keyword or symbol s. Keywords are case-insensitive.
func (t token) is(s string) bool {
	return t.kind == tokSymbol && t.text == s || t.kind == tokIdent && strings.EqualFold(t.text, s)
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isWord(c byte) bool   { return isLetter(c) || isDigit(c) || c == '_' }
func isSpace(c byte) bool  { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// symbols lists longer ones first, so that <= is not read as < and =.
var symbols = []string{"<>", "<=", ">=", "=", "<", ">", "(", ")", "[", "]", ",", ".", "+", "-"}

// lex splits src into tokens, the last of which is tokEnd. ok is false at the first character that starts no token;
// the last token is then that character.
func lex(src string) (tokens []token, ok bool) {
	for i := 0; i < len(src); {
		c := src[i]
		end := i + 1
		kind := tokSymbol
		switch {
		case isSpace(c):
			i++
			continue
		case isLetter(c):
			kind = tokIdent
			end = skip(src, end, isWord)
		case isDigit(c):
			kind = tokNumber
			end = skip(src, end, isDigit)
		case (c == '#' || c == ':') && end < len(src) && isWord(src[end]):
			kind = tokName
			if c == ':' {
				kind = tokValue
			}
			end = skip(src, end, isWord)
		default:
			s := slices.IndexFunc(symbols, func(s string) bool { return strings.HasPrefix(src[i:], s) })
			if s < 0 {
				return append(tokens, token{tokEnd, string([]rune(src[i:])[:1]), i}), false
			}
			end = i + len(symbols[s])
		}
		tokens = append(tokens, token{kind, src[i:end], i})
		i = end
	}
	return append(tokens, token{tokEnd, "<EOF>", len(src)}), true
}

func skip(src string, i int, in func(byte) bool) int {
	for i < len(src) && in(src[i]) {
		i++
	}
	return i
}
