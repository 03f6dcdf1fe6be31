package catalog_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"

	"bailing/shared/capability"
	"bailing/shared/catalog"
)

// naive is the ranking of agent §5.3 as it is written there, on UTF-16 code units, tool by tool.
type naive struct {
	norm  []uint16
	words [][]uint16
	grams [][]uint16
}

var notWords = regexp.MustCompile(`[^\p{L}\p{N}_]+`)

func units(s string) []uint16 { return utf16.Encode([]rune(s)) }

func lowerCase(s string) string { return cases.Lower(language.Und).String(s) }

func newNaive(query string) (n naive) {
	norm := strings.TrimSpace(notWords.ReplaceAllString(lowerCase(query), " "))
	n.norm = units(norm)
	for _, w := range strings.Fields(norm) {
		n.words = append(n.words, units(w))
	}
	compact := units(strings.ReplaceAll(norm, " ", ""))
	for i := range len(compact) - min(1, len(compact)) {
		n.grams = append(n.grams, compact[i:i+2])
	}
	n.words, n.grams = distinct(n.words), distinct(n.grams)
	return n
}

func distinct(list [][]uint16) (out [][]uint16) {
	for _, e := range list {
		if !slices.ContainsFunc(out, func(o []uint16) bool { return slices.Equal(o, e) }) {
			out = append(out, e)
		}
	}
	return out
}

func contains(text, piece []uint16) bool {
	for i := 0; i+len(piece) <= len(text); i++ {
		if slices.Equal(text[i:i+len(piece)], piece) {
			return true
		}
	}
	return false
}

func (n naive) score(t *capability.Tool) (score int) {
	name, scope, description := units(lowerCase(t.Name)), units(lowerCase(t.Scope)), units(lowerCase(t.Description))
	space := []uint16{' '}
	hay := slices.Concat(name, space, scope, space, description)
	if len(n.norm) > 0 {
		switch {
		case slices.Equal(n.norm, name):
			score += 10000
		case contains(name, n.norm):
			score += 2000
		}
		if contains(hay, n.norm) {
			score += 1000
		}
	}
	for _, w := range n.words {
		if contains(name, w) {
			score += 240
		}
		if contains(scope, w) {
			score += 120
		}
		if contains(description, w) {
			score += 60
		}
	}
	for _, g := range n.grams {
		if contains(hay, g) {
			score += 2
		}
	}
	return score
}

// random texts have much in common, and hold what is easy to get wrong: capital letters that become two or depend on what
// follows, characters beyond the basic plane that share a half, marks, signs and numbers of other scripts.
type random struct{ *rand.Rand }

func (r random) text(alphabet []rune, max int) string {
	var b strings.Builder
	for range r.IntN(max + 1) {
		b.WriteRune(alphabet[r.IntN(len(alphabet))])
	}
	return b.String()
}

var anyText = []rune("aabbAB__00  ..-'ΣσΑİé中文½٣\u0301\U00020000\U00020001\U00010400\U0001F916\U0001FBF0")

func (r random) tools() (tools []capability.Tool) {
	used := map[string]bool{}
	for range r.IntN(12) {
		name := name(r.Rand, 5)
		if used[name] {
			continue
		}
		used[name] = true
		tools = append(tools, read(name, described(r.text([]rune("ab_AB0.. "), 6), r.text(anyText, 30))))
	}
	return tools
}

// query is random, or made of what the tools have.
func (r random) query(tools []capability.Tool) string {
	q := r.text(anyText, 20)
	if len(tools) == 0 {
		return q
	}
	t := tools[r.IntN(len(tools))]
	switch r.IntN(6) {
	case 0:
		return t.Name
	case 1:
		return t.Description
	case 2:
		return t.Name + " " + t.Scope
	case 3:
		piece := []rune(t.Scope + " " + t.Description)
		from := r.IntN(len(piece))
		return string(piece[from : from+r.IntN(len(piece)-from)])
	}
	return q
}

func TestRankingIsThatOfTheNaiveImplementation(t *testing.T) {
	t.Parallel()
	r := random{rand.New(rand.NewPCG(9, 10))}
	for range 1500 {
		tools := r.tools()
		s := surfaceOf(t, tools...)
		query, limit := r.query(tools), 1+r.IntN(12)
		n := newNaive(s.Search(query, 1).Query)
		scores := map[string]int{}
		for i, got := range s.Scores(query) {
			tool := s.Tools[i].Tool
			if scores[tool.Name] = n.score(tool); got != scores[tool.Name] {
				t.Fatalf("%+q for %q %q %+q: %d, want %d", query, tool.Name, tool.Scope, tool.Description, got, scores[tool.Name])
			}
		}
		slices.SortFunc(tools, func(a, b capability.Tool) int {
			if d := scores[b.Name] - scores[a.Name]; d != 0 {
				return d
			}
			return catalog.CompareNames(a.Name, b.Name)
		})
		want := names(tools[:min(limit, len(tools))], func(t *capability.Tool) string { return t.Name })
		if got := shownNames(s.Search(query, limit).Tools); !slices.Equal(got, want) {
			t.Fatalf("%+q: %v, want %v", query, got, want)
		}
	}
}

// The longest queries, of words and grams that many tools have.
func TestRankingOfTheLongestQueries(t *testing.T) {
	t.Parallel()
	r := random{rand.New(rand.NewPCG(11, 12))}
	var tools []capability.Tool
	for i := range 60 {
		words := described(r.text([]rune("abc."), 20), r.text([]rune("abcdeABC  _."), 400))
		tools = append(tools, read(fmt.Sprint(name(r.Rand, 20), i), words))
	}
	s := surfaceOf(t, tools...)
	for _, alphabet := range []string{"abc", "abc ", "abcde   ", "ab_c\U00020000 "} {
		query := ""
		for len(units(query)) < catalog.MaxQuery-1 {
			query += string([]rune(alphabet)[r.IntN(len([]rune(alphabet)))])
		}
		n := newNaive(query)
		for i, got := range s.Scores(query) {
			if want := n.score(s.Tools[i].Tool); got != want {
				t.Errorf("%q, %s: %d, want %d", alphabet, s.Tools[i].Tool.Name, got, want)
			}
		}
	}
}
