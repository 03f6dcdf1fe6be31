package capability

import "unicode/utf8"

// Bounds of usage guidance, whichever is reached first (core §4.8).
const (
	MaxGuidanceChars = 32_768 // code points
	MaxGuidanceBytes = 65_536 // of UTF-8
)

// Guidance is what a tool's author says about its use beyond the short description: summary and description, when to use it,
// what it returns, and one example (core §4.8, agent §5.4). Reading it permits nothing, and catalogues and searches leave it out.
type Guidance struct {
	Text        string `json:"text"`
	Truncated   bool   `json:"truncated,omitempty"` // Text is not all of it
	SourceChars int    `json:"sourceChars"`         // code points before cutting, control characters cleaned
	SourceBytes int    `json:"sourceBytes"`         // UTF-8 bytes of the same
}

// NewGuidance is the guidance of a cleaned text in valid UTF-8, cut to its bounds between characters.
func NewGuidance(text string) *Guidance {
	g := &Guidance{Text: text, SourceChars: utf8.RuneCountInString(text), SourceBytes: len(text)}
	if g.SourceChars <= MaxGuidanceChars && g.SourceBytes <= MaxGuidanceBytes {
		return g
	}
	g.Truncated = true
	n := 0
	for i, r := range text { // i is where r begins
		if n == MaxGuidanceChars || i+utf8.RuneLen(r) > MaxGuidanceBytes {
			g.Text = text[:i]
			break
		}
		n++
	}
	return g
}
