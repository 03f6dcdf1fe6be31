package catalog

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"unicode/utf16"

	"bailing/shared/capability"
)

// The worst texts are those in which nothing repeats.
func TestTheIndexTakesAFewBytesForEachCodeUnit(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	var tools []capability.Tool
	units := 0
	for i := range 300 {
		text := make([]rune, 500)
		for k := range text {
			text[k] = rune(0x4E00 + r.IntN(0x5000))
		}
		tool := capability.Tool{Name: fmt.Sprint("tool_", i), Scope: fmt.Sprint("scope", i, ".read"), Description: string(text)}
		tools = append(tools, tool)
		units += len(utf16.Encode([]rune(tool.Name + tool.Scope + tool.Description)))
	}
	x := newIndex(tools)
	numbers := len(x.grams) + len(x.users.items) + len(x.users.ends) +
		len(x.holders.items) + len(x.holders.ends) + len(x.postings.items) + len(x.postings.ends)
	if bytes := 4 * numbers; bytes > 40*units {
		t.Errorf("%d bytes for %d code units", bytes, units)
	}
}

func TestAnIndexOfNothing(t *testing.T) {
	t.Parallel()
	for _, tools := range [][]capability.Tool{nil, {{}}} {
		q := newTerms("stock of 库存")
		if got := newIndex(tools).score(&q); len(got) != len(tools) || len(got) > 0 && got[0] != 0 {
			t.Errorf("%d tools: %v", len(tools), got)
		}
	}
}

// A release that shows the same tool in another way makes another revision (agent §5.2).
func TestDigestCoversWhatIsShown(t *testing.T) {
	t.Parallel()
	tool := &capability.Tool{Name: "a", InputSchema: json.RawMessage(`{"type":"object"}`)}
	seen := map[digest]bool{}
	for _, f := range []facet{
		{}, {description: "x"}, {truncated: true}, {schema: json.RawMessage(`{}`)}, {schema: json.RawMessage(anyObject)},
	} {
		if d := toolDigest(tool, &f); seen[d] {
			t.Errorf("%+v has the digest of another", f)
		} else {
			seen[d] = true
		}
	}
}
