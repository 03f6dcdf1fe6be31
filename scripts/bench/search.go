package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"bailing/shared/capability"
	"bailing/shared/catalog"
	"bailing/shared/registry"
)

// searched is how many tools a surface has.
const searched = 2000

// language makes texts of words that were made up, some much more frequent than others.
type language struct {
	random *rand.Rand
	words  []string
}

func newLanguage() *language {
	l := &language{random: rand.New(rand.NewPCG(1, 2))}
	syllables := strings.Fields("ac al an ar ber bil ca com con de der di el en er gen in ing ion is la le lo ment mi na ne or ord " +
		"per po ra ri ro se si sta ster ta ti tor tra un ur ver")
	for range 3000 {
		word := ""
		for range 2 + l.random.IntN(3) {
			word += syllables[l.random.IntN(len(syllables))]
		}
		l.words = append(l.words, word)
	}
	return l
}

func (l *language) word() string {
	return l.words[min(l.random.IntN(len(l.words)), l.random.IntN(len(l.words)))]
}

// text is words of about size bytes.
func (l *language) text(size int) string {
	s := l.word()
	for len(s) < size-12 {
		s += " " + l.word()
	}
	return s
}

// tools are n read-only tools with descriptions of up to 500 characters.
func (l *language) tools(n int) []capability.Tool {
	tools := make([]capability.Tool, n)
	for i := range tools {
		tools[i] = capability.Tool{
			SchemaVersion: capability.SchemaVersion, Source: capability.SourceOpenAPI, Method: "GET", Path: "/" + l.word(),
			Name: fmt.Sprintf("%s_%s_%d", l.word(), l.word(), i), Scope: l.word() + "." + l.word() + ".read",
			Description: l.text(100 + l.random.IntN(400)), Risk: capability.RiskLow, Readonly: true, Idempotent: true,
			InputSchema: json.RawMessage(`{"type":"object","required":["id"],"properties":{
				"id":{"type":"string","description":"Its number","example":"7"},"view":{"type":"string","enum":["full","short"]},
				"lines":{"type":"array","items":{"type":"object","properties":{"sku":{"type":"string"}}}}}}`),
			ParamIn: map[string]capability.Location{"id": capability.InPath, "view": capability.InQuery, "lines": capability.InQuery},
		}
	}
	return tools
}

// stored is one value; its address does not matter.
type stored []byte

func (s stored) GetValue(context.Context, string) ([]byte, error) { return s, nil }

// surface is what an agent is offered of a stored catalogue when nothing is in memory yet.
func (s stored) surface(ctx context.Context) (*catalog.Surface, error) {
	var cache catalog.Cache
	sources := []registry.ToolSource{{Provider: "erp", Allow: []string{"*"}}}
	providers := map[string]*registry.Provider{"erp": {Name: "erp", Enabled: true, CatalogHash: "a"}}
	found, err := cache.Attach(ctx, s, sources, providers)
	if err != nil {
		return nil, err
	}
	return catalog.NewSurface(found, catalog.Access{Direct: catalog.Direct{Enabled: true}}), nil
}

// searchRows measures what agents see of a large catalogue: the first look at it, and searches.
func searchRows(ctx context.Context, o options, p *progress) ([]row, error) {
	l := newLanguage()
	tools := l.tools(searched)
	value, err := json.Marshal(capability.Catalog{Tools: tools})
	if err != nil {
		return nil, err
	}
	surface, err := stored(value).surface(ctx)
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(tools))
	for i, t := range tools {
		texts[i] = strings.ToLower(t.Name + " " + t.Scope + " " + t.Description)
	}
	usual, longest := l.text(60), l.text(catalog.MaxQuery)
	var rows []row
	for _, m := range []measurement{
		{
			name: "search 2,000 tools", against: "strings.Contains of the query in each text",
			value: func() { keep(surface.Search(usual, catalog.MaxResults)) }, baseline: func() { keep(having(texts, usual)) },
		},
		{
			name: "search 2,000 tools, 2,000 characters", against: "strings.Contains of its words in each text",
			value:    func() { keep(surface.Search(longest, catalog.MaxResults)) },
			baseline: func() { keep(having(texts, strings.Fields(longest)...)) },
		},
		{
			name: "load, index and show 2,000 tools", against: "json.Unmarshal of the catalogue",
			value: func() {
				s, err := stored(value).surface(ctx)
				if err != nil {
					panic(err) // it has been loaded before
				}
				keep(s.Projections())
			},
			baseline: func() {
				var c capability.Catalog
				if err := json.Unmarshal(value, &c); err != nil {
					panic(err)
				}
				keep(c)
			},
		},
	} {
		p.step("measuring: %s", m.name)
		v, b, err := compare(ctx, o.duration, m.value, m.baseline)
		if err != nil {
			return nil, err
		}
		rows = append(rows, compared(m.name, m.against, v, b))
	}
	return rows, nil
}

// having is how many of the texts have one of the pieces, each counted.
func having(texts []string, pieces ...string) (n int) {
	for _, text := range texts {
		for _, piece := range pieces {
			if strings.Contains(text, piece) {
				n++
			}
		}
	}
	return n
}
