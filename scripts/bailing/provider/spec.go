package provider

import (
	"context"
	"errors"

	"bailing/scripts/bailing/cli"
	"bailing/scripts/bailing/hub"
	"bailing/shared/capability"
	"bailing/shared/capability/compile"
)

// SpecChange is what a specification does to the tools that a hub has of a provider.
type SpecChange struct {
	Tools  int `json:"count"`  // how many the specification makes
	Errors int `json:"errors"` // operations with errors, which become none
	comparison
}

// Same reports whether the tools stay as they are.
func (c *SpecChange) Same() bool { return c.same() }

// Print writes the change for a person, weaker protection first.
func (c *SpecChange) Print(e *cli.Env) { c.print(e) }

// CompareSpec compares a specification with what the hub has of the provider called name; has says whether it has anything.
func CompareSpec(ctx context.Context, e *cli.Env, h *hub.Hub, name string, src []byte, has bool) (*SpecChange, error) {
	after := newCompared(name, compile.Compile(src))
	if after.catalog.Failed() {
		return nil, &cli.HintError{Err: errors.New("its specification cannot be compiled"), Hint: "'bailing provider lint' says why."}
	}
	before := newCompared(name, &capability.Catalog{})
	if has {
		_, shown, err := readTools(ctx, e, h, name)
		if err != nil {
			return nil, err
		}
		before = fromHub(name, &shown)
		after.reduce(before.catalog)
	}
	return &SpecChange{Tools: after.Tools, Errors: after.Errors, comparison: compare(before.catalog, after.catalog)}, nil
}

// fromHub is the side of a comparison that a hub has.
func fromHub(name string, t *providerTools) *compared {
	c := newCompared(name, &capability.Catalog{Tools: make([]capability.Tool, len(t.Tools)), Diagnostics: t.Diagnostics})
	for i := range t.Tools {
		c.catalog.Tools[i] = asShown(&t.Tools[i])
	}
	c.fromHub = true
	return c
}
