package catalog

import (
	"context"
	"fmt"
	"slices"

	"bailing/shared/capability"
	"bailing/shared/registry"
)

// Attached is a tool with the route's source that allows it. The tool is shared: it is read, never changed.
type Attached struct {
	Tool     *capability.Tool
	Provider string
	Source   registry.ToolSource

	source int // place of Source among those of the route
	index  int // place of Tool in its catalogue
}

// Attachment is what the sources of a route offer (core §5.1, agent §5.2).
type Attachment struct {
	Tools    []Attached // ordered by source, then as the specification lists them
	Problems []string   // why tools are missing; for the audit and for diagnostics
	sources  []attachedSource
}

// attachedSource is a source of the route, whether or not it has tools to offer.
type attachedSource struct {
	registry.ToolSource
	provider *registry.Provider // nil when there is none
	compiled *Compiled          // nil when the provider cannot be used
}

// ClashError says that two providers of a route offer a tool of the same name. The route has no tools then, since a call
// could reach the wrong business.
type ClashError struct {
	Tool          string
	First, Second string // providers, in the order of the sources
}

func (e *ClashError) Error() string {
	return fmt.Sprintf("tool %s is offered by two providers, %s and %s", e.Tool, e.First, e.Second)
}

// Attach assembles the tools of a route's sources: those whose scope a source allows (core §4.7). A provider that is missing,
// disabled or without a specification only loses its own tools (D22), and tools with a reserved name are left out; a problem
// names each. The errors are *[ClashError] and failures to load a catalogue.
func (c *Cache) Attach(ctx context.Context, from Values, sources []registry.ToolSource, providers map[string]*registry.Provider,
	reserved ...string) (*Attachment, error) {
	a := &Attachment{sources: make([]attachedSource, len(sources))}
	owner := map[string]string{}
	for i, source := range sources {
		p := providers[source.Provider]
		a.sources[i] = attachedSource{ToolSource: source, provider: p}
		if problem := Unusable(source.Provider, p); problem != "" {
			a.Problems = append(a.Problems, problem)
			continue
		}
		compiled, err := c.Load(ctx, from, p.CatalogHash)
		if err != nil {
			return nil, err
		}
		a.sources[i].compiled = compiled
		for k := range compiled.tools {
			tool := &compiled.tools[k]
			if !capability.Allowed(source.Allow, tool.Scope) {
				continue
			}
			if slices.Contains(reserved, tool.Name) {
				a.Problems = append(a.Problems, "tool "+tool.Name+" has the name of a built-in tool")
				continue
			}
			if first, clash := owner[tool.Name]; clash {
				return nil, &ClashError{Tool: tool.Name, First: first, Second: source.Provider}
			}
			owner[tool.Name] = source.Provider
			a.Tools = append(a.Tools, Attached{Tool: tool, Provider: source.Provider, Source: source, source: i, index: k})
		}
	}
	return a, nil
}

// Unusable says why the tools of the provider called name cannot be used now; "" when they can (D22). p may be nil.
func Unusable(name string, p *registry.Provider) string {
	switch {
	case p == nil:
		return "provider " + name + " does not exist"
	case !p.Enabled:
		return "provider " + name + " is disabled"
	case p.CatalogHash == "":
		return "provider " + name + " has no specification"
	}
	return ""
}
