package catalog

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"

	"bailing/shared/capability"
)

// index tells which tools contain a piece of text, and in which of their fields. A piece is a word or a gram, without spaces and
// signs; so each occurrence lies within one token, an unbroken run of the characters of words. Tools share most of their
// tokens, and the distinct ones together are short.
//
// Pieces of one and two UTF-16 code units are looked up: a query has up to 2000 of them. A longer one is searched for in
// the tokens that have its rarest gram. The index is a few flat lists: at most some forty bytes for each code unit of names,
// scopes and descriptions, far fewer when tokens repeat.
type index struct {
	names []string // lower-case
	hay   []string // name, scope and description, lower-case

	tokens   []string     // distinct
	users    lists[use]   // of each token: the tools that have it
	grams    []gram       // all that there are, and single units, in order
	holders  lists[int32] // of each gram: the tokens that hold it
	postings lists[use]   // of each gram: the tools that have it
}

// gram is two UTF-16 code units that follow each other, the first in the upper half. One may be half a character, as in
// ECMAScript.
type gram uint32

func newGram(first, second uint16) gram { return gram(first)<<16 | gram(second) }

// single stands for one code unit: no token has a NUL.
func single(unit uint16) gram { return newGram(unit, 0) }

// use says that a tool has something, and in which of its fields.
type use uint32

func newUse(tool int, f fields) use { return use(tool)<<3 | use(f) }

func (u use) tool() int      { return int(u >> 3) }
func (u use) fields() fields { return fields(u & 7) }

// fields is a set of the fields of a tool.
type fields uint8

const (
	inName fields = 1 << iota
	inScope
	inDescription
)

// lists are many lists one after the other.
type lists[T any] struct {
	items []T
	ends  []int32
}

func (l *lists[T]) add(list []T) {
	l.items = append(l.items, list...)
	l.ends = append(l.ends, int32(len(l.items)))
}

func (l *lists[T]) at(i int) []T {
	start := int32(0)
	if i > 0 {
		start = l.ends[i-1]
	}
	return l.items[start:l.ends[i]]
}

// pair is something and what it belongs to, in the upper half, by which pairs are sorted.
type pair uint64

func newPair(owner, item uint32) pair { return pair(owner)<<32 | pair(item) }

func (p pair) owner() uint32 { return uint32(p >> 32) }

// byOwner sorts pairs and yields the items of each owner, without repetitions.
func byOwner[T ~int32 | ~uint32](pairs []pair, yield func(owner uint32, items []T)) {
	slices.Sort(pairs)
	var items []T
	for i, p := range pairs {
		if i == 0 || p != pairs[i-1] {
			items = append(items, T(uint32(p)))
		}
		if i+1 == len(pairs) || pairs[i+1].owner() != p.owner() {
			yield(p.owner(), items)
			items = items[:0]
		}
	}
}

func newIndex(tools []capability.Tool) *index {
	x := &index{names: make([]string, len(tools)), hay: make([]string, len(tools))}
	known := map[string]int{}
	var used []pair // tokens and the tools that have them
	for i := range tools {
		name, scope, description := lower(tools[i].Name), lower(tools[i].Scope), lower(tools[i].Description)
		x.hay[i] = name + " " + scope + " " + description
		x.names[i] = x.hay[i][:len(name)]
		used = x.tokenise(used, known, name, newUse(i, inName))
		used = x.tokenise(used, known, scope, newUse(i, inScope))
		used = x.tokenise(used, known, description, newUse(i, inDescription))
	}
	byOwner(used, func(_ uint32, uses []use) { x.users.add(merged(uses)) })
	x.post()
	return x
}

// tokenise notes the tokens of a field.
func (x *index) tokenise(used []pair, known map[string]int, text string, u use) []pair {
	for token := range strings.FieldsFuncSeq(text, func(r rune) bool { return !inToken(r) }) {
		id, ok := known[token]
		if !ok {
			id = len(x.tokens)
			known[token] = id
			x.tokens = append(x.tokens, token)
		}
		used = append(used, newPair(uint32(id), uint32(u)))
	}
	return used
}

// merged makes one use of those of the same tool, which stand side by side.
func merged(uses []use) []use {
	out := uses[:0]
	for _, u := range uses {
		if last := len(out) - 1; last >= 0 && out[last].tool() == u.tool() {
			out[last] |= u
			continue
		}
		out = append(out, u)
	}
	return out
}

// post collects who holds which grams.
func (x *index) post() {
	var held []pair
	for id, token := range x.tokens {
		units := utf16.Encode([]rune(token))
		for i, u := range units {
			held = append(held, newPair(uint32(single(u)), uint32(id)))
			if i > 0 {
				held = append(held, newPair(uint32(newGram(units[i-1], u)), uint32(id)))
			}
		}
	}
	m := newMatcher(x)
	byOwner(held, func(g uint32, tokens []int32) {
		x.grams = append(x.grams, gram(g))
		x.holders.add(tokens)
		x.postings.add(m.union(tokens))
	})
}

// matcher looks pieces up, one after the other. What it answers is good until the next one.
type matcher struct {
	*index
	holding []int32 // tokens
	tools   []use
	place   []int32 // of each tool in tools, from 1; 0 when it is not there
}

func newMatcher(x *index) *matcher { return &matcher{index: x, place: make([]int32, len(x.names))} }

// gram are the tools that have a gram.
func (m *matcher) gram(g gram) []use {
	if i, ok := slices.BinarySearch(m.grams, g); ok {
		return m.postings.at(i)
	}
	return nil
}

// word are the tools that have a word.
func (m *matcher) word(word string) []use {
	units := utf16.Encode([]rune(word))
	switch len(units) {
	case 0:
		return nil
	case 1:
		return m.gram(single(units[0]))
	case 2:
		return m.gram(newGram(units[0], units[1]))
	}
	m.holding = m.holding[:0]
	for _, id := range m.rarest(units) {
		if strings.Contains(m.tokens[id], word) {
			m.holding = append(m.holding, id)
		}
	}
	return m.union(m.holding)
}

// rarest are the tokens that hold the gram of a word that the fewest do.
func (m *matcher) rarest(units []uint16) []int32 {
	var tokens []int32
	for i := 1; i < len(units); i++ {
		at, ok := slices.BinarySearch(m.grams, newGram(units[i-1], units[i]))
		if !ok {
			return nil
		}
		if held := m.holders.at(at); i == 1 || len(held) < len(tokens) {
			tokens = held
		}
	}
	return tokens
}

// union are the tools that have any of the tokens.
func (m *matcher) union(tokens []int32) []use {
	m.tools = m.tools[:0]
	for _, id := range tokens {
		for _, u := range m.users.at(int(id)) {
			if at := m.place[u.tool()]; at > 0 {
				m.tools[at-1] |= u
				continue
			}
			m.tools = append(m.tools, u)
			m.place[u.tool()] = int32(len(m.tools))
		}
	}
	for _, u := range m.tools {
		m.place[u.tool()] = 0
	}
	return m.tools
}

// inWord tells the characters of words: Unicode letters, numbers and the underscore.
func inWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) }

// inToken also takes characters beyond the basic plane that are no letters: a gram may end with the first half of one.
func inToken(r rune) bool { return inWord(r) || r > 0xFFFF }
