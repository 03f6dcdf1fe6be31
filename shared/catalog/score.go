package catalog

import "strings"

// Scores of agent §5.3, step 2.
const (
	scoreIsName        = 10000 // the query is the name
	scoreInName        = 2000  // or part of it
	scoreInHay         = 1000  // the query is in name, scope and description together
	scoreWordName      = 240   // a word of the query is in the name,
	scoreWordScope     = 120   // in the scope,
	scoreWordDescribed = 60    // in the description
	scoreGram          = 2     // two code units of the query are somewhere
)

// wordScores are the scores of a word by where it is.
var wordScores = func() (scores [8]int) {
	for f := range fields(len(scores)) {
		if f&inName != 0 {
			scores[f] += scoreWordName
		}
		if f&inScope != 0 {
			scores[f] += scoreWordScope
		}
		if f&inDescription != 0 {
			scores[f] += scoreWordDescribed
		}
	}
	return scores
}()

// score is the score of every tool for a query.
func (x *index) score(q *terms) []int {
	scores := make([]int, len(x.names))
	m := newMatcher(x)
	for _, g := range q.grams {
		for _, u := range m.gram(g) {
			scores[u.tool()] += scoreGram
		}
	}
	having := make([]int, len(x.names)) // of each tool, how many of the words it has
	for _, word := range q.words {
		for _, u := range m.word(word) {
			scores[u.tool()] += wordScores[u.fields()]
			having[u.tool()]++
		}
	}
	if q.norm == "" {
		return scores
	}
	for tool, n := range having {
		if n == len(q.words) { // the whole query can only be where all of its words are: few texts need to be searched
			scores[tool] += x.phrase(tool, q.norm)
		}
	}
	return scores
}

// phrase is the score of a tool for the query as a whole.
func (x *index) phrase(tool int, norm string) int {
	name := x.names[tool]
	switch {
	case !strings.Contains(x.hay[tool], norm):
		return 0
	case name == norm:
		return scoreInHay + scoreIsName
	case strings.Contains(name, norm):
		return scoreInHay + scoreInName
	}
	return scoreInHay
}
