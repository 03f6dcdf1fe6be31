package catalog

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"bailing/shared/capability"
	"bailing/shared/registry"
)

// words are n made-up words of two to four syllables.
func words(r *rand.Rand, n int) []string {
	syllables := strings.Fields("ac al an ar ber bil ca com con de der di el en er gen in ing ion is la le lo ment mi na ne or ord " +
		"per po ra ri ro se si sta ster ta ti tor tra un ur ver")
	list := make([]string, n)
	for i := range list {
		for range 2 + r.IntN(3) {
			list[i] += syllables[r.IntN(len(syllables))]
		}
	}
	return list
}

// many are n tools with descriptions of up to 500 characters, and words to search for.
func many(n int) (tools []capability.Tool, vocabulary []string) {
	r := rand.New(rand.NewPCG(1, 2))
	vocabulary = words(r, 3000)
	word := func() string { return vocabulary[min(r.IntN(3000), r.IntN(3000))] } // some are more frequent than others
	for i := range n {
		var text strings.Builder
		for size := 100 + r.IntN(390); text.Len() < size; {
			text.WriteString(word() + " ")
		}
		tools = append(tools, capability.Tool{
			SchemaVersion: capability.SchemaVersion, Name: fmt.Sprintf("%s_%s_%d", word(), word(), i), Method: "GET",
			Path: "/x", Scope: word() + "." + word() + ".read", Description: text.String(), Risk: capability.RiskLow,
			Readonly: true,
			InputSchema: json.RawMessage(`{"type":"object","required":["a"],"properties":{"a":{"type":"string","maxLength":20,"example":"x"},
				"b":{"type":"array","items":{"type":"object","properties":{"c":{"type":"integer","minimum":1}}}}}}`),
			ParamIn: map[string]capability.Location{"a": capability.InQuery, "b": capability.InQuery},
		})
	}
	return tools, vocabulary
}

// attached is all of a catalogue.
func attached(c *Compiled) *Attachment {
	source := registry.ToolSource{Provider: "erp", Allow: []string{"*"}}
	provider := &registry.Provider{Name: "erp", Enabled: true}
	a := &Attachment{sources: []attachedSource{{ToolSource: source, provider: provider, compiled: c}}}
	for i := range c.tools {
		a.Tools = append(a.Tools, Attached{Tool: &c.tools[i], Provider: "erp", Source: source, index: i})
	}
	return a
}

var everything = Access{Direct: Direct{Enabled: true}}

// Beside each search, what its words cost when each is looked for in each text.
func BenchmarkSearch2000(b *testing.B) {
	tools, vocabulary := many(2000)
	c := New(tools)
	s := NewSurface(attached(c), everything)
	var pairs strings.Builder // most of what a query can hold, each of which many tools have
	for x := 'a'; x <= 'z'; x++ {
		for y := 'a'; y <= 'z' && pairs.Len() < MaxQuery-3; y++ {
			fmt.Fprintf(&pairs, "%c%c ", x, y)
		}
	}
	for _, q := range []struct{ name, text string }{
		{"five-words", strings.Join(vocabulary[:5], " ")},
		{"thirty-words", strings.Join(vocabulary[:30], " ")},
		{"longest", strings.Join(vocabulary, " ")[:MaxQuery]},
		{"pairs", pairs.String()},
		{"one-long-word", strings.Repeat("库存数量", MaxQuery/4)},
	} {
		b.Run(q.name, func(b *testing.B) {
			s.Search(q.text, MaxResults)
			b.ReportAllocs()
			for b.Loop() {
				s.Search(q.text, MaxResults)
			}
		})
		b.Run(q.name+"/baseline-contains", func(b *testing.B) {
			pieces := strings.Fields(q.text)
			for b.Loop() {
				for _, hay := range c.index().hay {
					for _, piece := range pieces {
						strings.Contains(hay, piece)
					}
				}
			}
		})
	}
}

// What a catalogue costs once, beside reading it.
func BenchmarkPrepare2000(b *testing.B) {
	tools, _ := many(2000)
	stored, err := json.Marshal(capability.Catalog{Tools: tools})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("index", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			newIndex(tools)
		}
	})
	b.Run("publish", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			New(tools).published()
		}
	})
	b.Run("baseline-decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Decode(stored); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// What each request costs.
func BenchmarkSurface2000(b *testing.B) {
	tools, _ := many(2000)
	a := attached(New(tools))
	b.Run("filter-order-revision", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			NewSurface(a, everything)
		}
	})
	b.Run("projections", func(b *testing.B) {
		s := NewSurface(a, everything)
		b.ReportAllocs()
		for b.Loop() {
			s.Projections()
		}
	})
}
