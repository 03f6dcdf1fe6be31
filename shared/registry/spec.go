package registry

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"bailing/shared/capability"
	"bailing/shared/plainjson"
)

// Values stores content-addressed values.
type Values interface {
	// PutValue stores b; GetValue reads what was stored under an address.
	PutValue(ctx context.Context, b []byte) (address string, err error)
	GetValue(ctx context.Context, address string) ([]byte, error)
}

// StoredSpec is a specification and what it compiles to, each under its content address: immutable, so that it can be stored
// before the record that refers to it. One that no record came to name is harmless.
type StoredSpec struct {
	Hash    string // of the text
	Catalog string // address of the compiled capability.Catalog
	Version int    // of the compiler
}

// PutSpec stores the text of a specification and its catalogue.
func PutSpec(ctx context.Context, values Values, text []byte, catalog *capability.Catalog, version int) (StoredSpec, error) {
	compiled, err := plainjson.Marshal(catalog)
	if err != nil {
		return StoredSpec{}, fmt.Errorf("registry: encode catalogue: %w", err)
	}
	spec := StoredSpec{Version: version}
	if spec.Hash, err = values.PutValue(ctx, text); err != nil {
		return StoredSpec{}, fmt.Errorf("registry: store specification: %w", err)
	}
	if spec.Catalog, err = values.PutValue(ctx, compiled); err != nil {
		return StoredSpec{}, fmt.Errorf("registry: store catalogue: %w", err)
	}
	return spec, nil
}

// Take makes spec the provider's specification. The time is kept only when the text is another one.
func (p *Provider) Take(spec StoredSpec, at time.Time) {
	if spec.Hash != p.SpecHash {
		p.SpecRefreshedAt = at.UTC().Truncate(time.Millisecond)
	}
	p.SpecHash, p.CatalogHash, p.CatalogVersion = spec.Hash, spec.Catalog, spec.Version
}

// LoadCatalog reads the compiled specification of p; nil when it has none.
func LoadCatalog(ctx context.Context, values Values, p *Provider) (*capability.Catalog, error) {
	if p.CatalogHash == "" {
		return nil, nil
	}
	b, err := values.GetValue(ctx, p.CatalogHash)
	if err != nil {
		return nil, fmt.Errorf("registry: catalogue of %s: %w", p.Name, err)
	}
	var c capability.Catalog
	if err := json.Unmarshal(b, &c); err != nil {
		return nil, fmt.Errorf("registry: catalogue of %s: %w", p.Name, err)
	}
	return &c, nil
}

// MaxDiagnostics bounds the diagnostics of an answer that is about something else, so that a large specification full of mistakes
// still fits into a response. The stored catalogue has all of them.
const MaxDiagnostics = 200

// Worst is the first diagnostics, errors before others, at most [MaxDiagnostics].
func Worst(ds []capability.Diagnostic) []capability.Diagnostic {
	sorted := slices.Clone(ds)
	slices.SortStableFunc(sorted, func(a, b capability.Diagnostic) int {
		return cmp.Compare(severityRank(a), severityRank(b))
	})
	return sorted[:min(len(sorted), MaxDiagnostics)]
}

func severityRank(d capability.Diagnostic) int {
	if d.Severity == capability.SeverityError {
		return 0
	}
	return 1
}

// FirstError says why a document was refused as a whole.
func FirstError(ds []capability.Diagnostic) string {
	for _, d := range ds {
		if d.Severity == capability.SeverityError && d.Path == capability.DocumentPath {
			return d.Message
		}
	}
	return "it is not a valid document"
}

// maxClashes bounds the warnings of [Clashes].
const maxClashes = 20

// Clashes names the routes that attach the provider beside another one with a tool of the same name, given what the provider
// compiles to now: such a route gets no tools at all when a job runs (core §4.6). It reads every route; callers are saves and
// refreshes.
func Clashes(ctx context.Context, s Store, provider string, catalog *capability.Catalog) (warnings []string, err error) {
	routes, err := s.Routes().List(ctx)
	if err != nil {
		return nil, err
	}
	known := map[string][]attachable{provider: attachables(catalog)}
	for i := range routes {
		found, err := routeClashes(ctx, s, &routes[i], provider, known)
		if err != nil {
			return nil, err
		}
		if warnings = append(warnings, found...); len(warnings) >= maxClashes {
			return warnings[:maxClashes], nil
		}
	}
	return warnings, nil
}

// attachable is what an attachment looks at in a tool. Catalogues are too large for many of them to be kept.
type attachable struct{ name, scope string }

func attachables(c *capability.Catalog) []attachable {
	if c == nil {
		return nil
	}
	out := make([]attachable, 0, len(c.Tools))
	for i := range c.Tools {
		out = append(out, attachable{c.Tools[i].Name, c.Tools[i].Scope})
	}
	return out
}

// routeClashes compares one route's sources; known keeps what was read of their catalogues.
func routeClashes(ctx context.Context, s Store, r *Route, provider string, known map[string][]attachable) ([]string, error) {
	if r.Tools == nil || len(r.Tools.Sources) < 2 ||
		!slices.ContainsFunc(r.Tools.Sources, func(src ToolSource) bool { return src.Provider == provider }) {
		return nil, nil
	}
	owner := map[string]string{}
	var warnings []string
	for _, src := range r.Tools.Sources {
		tools, read := known[src.Provider]
		if !read {
			v, err := s.Providers().Get(ctx, src.Provider)
			if err != nil {
				return nil, err
			}
			if v != nil {
				catalog, err := LoadCatalog(ctx, s, &v.Value)
				if err != nil {
					return nil, err
				}
				tools = attachables(catalog)
			}
			known[src.Provider] = tools
		}
		for _, name := range takeTools(owner, src, tools) {
			warnings = append(warnings, fmt.Sprintf("route %s: %s", r.RouteKey, name))
		}
	}
	return warnings, nil
}

// takeNames enters the names of the tools that a source attaches into owner, and says which another source has already.
func takeNames(owner map[string]string, src ToolSource, catalog *capability.Catalog) (warnings []string) {
	return takeTools(owner, src, attachables(catalog))
}

func takeTools(owner map[string]string, src ToolSource, tools []attachable) (warnings []string) {
	for _, tool := range tools {
		if !capability.Allowed(src.Allow, tool.scope) {
			continue
		}
		if other, taken := owner[tool.name]; taken && other != src.Provider {
			warnings = append(warnings, fmt.Sprintf("the tool %s exists in %s and in %s: jobs of this route will have no tools",
				tool.name, other, src.Provider))
		}
		owner[tool.name] = src.Provider
	}
	return warnings
}
