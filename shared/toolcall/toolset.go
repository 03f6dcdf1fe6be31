package toolcall

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"bailing/shared/capability"
	"bailing/shared/catalog"
	"bailing/shared/registry"
)

// Toolset is what a route offers, assembled from the catalogues of its providers (core §5.1).
type Toolset struct {
	Tools    []Attached // ordered by source, then as the specification lists them
	Problems []string   // why tools are missing; for the audit
	byName   map[string]int
}

// Find returns the tool called name.
func (t *Toolset) Find(name string) (Attached, bool) {
	i, ok := t.byName[name]
	if !ok {
		return Attached{}, false
	}
	return t.Tools[i], true
}

// Assemble builds the toolset of a route (package catalog). The hub's own tools have rules and budgets of their own, by which a
// business tool of the same name would be judged: it is left out (core §9). The same name in two providers leaves the route
// without any, since a call could reach the wrong business.
func (s *Service) Assemble(ctx context.Context, r *registry.Route, providers map[string]*registry.Provider) (*Toolset, error) {
	set := &Toolset{byName: map[string]int{}}
	if r == nil || r.Tools == nil {
		return set, nil
	}
	found, err := s.cache.Attach(ctx, s.Store, r.Tools.Sources, providers, capability.BuiltinNames()...)
	var clash *catalog.ClashError
	if errors.As(err, &clash) {
		return &Toolset{Problems: []string{fmt.Sprintf("tool %s is offered by two providers", clash.Tool)}}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("toolcall: %w", err)
	}
	set.Problems = found.Problems
	for i, t := range found.Tools {
		set.byName[t.Tool.Name] = i
		set.Tools = append(set.Tools, Attached{Tool: t.Tool, Provider: t.Provider, Source: t.Source})
	}
	return set, nil
}

// sourceOf is the route's source for a provider.
func sourceOf(r *registry.Route, provider string) (registry.ToolSource, bool) {
	if r == nil || r.Tools == nil {
		return registry.ToolSource{}, false
	}
	i := slices.IndexFunc(r.Tools.Sources, func(s registry.ToolSource) bool { return s.Provider == provider })
	if i < 0 {
		return registry.ToolSource{}, false
	}
	return r.Tools.Sources[i], true
}

func (s *Service) catalog(ctx context.Context, address string) (*catalog.Compiled, error) {
	c, err := s.cache.Load(ctx, s.Store, address)
	if err != nil {
		return nil, fmt.Errorf("toolcall: %w", err)
	}
	return c, nil
}
