package provider

import (
	"slices"

	"bailing/scripts/bailing/cli"
	"bailing/scripts/bailing/specfile"
)

// Checked is what lint found in a specification, for commands that go on with it.
type Checked struct {
	OK     bool     // no errors
	Tools  int      // operations that become tools
	Scopes []string // of these, each once
	// NeedsSubject says that a tool asks in whose name it is called.
	NeedsSubject bool
	Public       bool // everybody may read the URL
}

// Check compiles a specification and prints the tools that come of it, and what to change.
func Check(e *cli.Env, d *specfile.Document) Checked {
	r := lint(d, false)
	r.print(e)
	c := Checked{OK: r.Counts.Errors == 0, Tools: len(r.Tools), Public: d.Access != nil && d.Access.Status == specfile.Public}
	for i := range r.Tools {
		if !slices.Contains(c.Scopes, r.Tools[i].Scope) {
			c.Scopes = append(c.Scopes, r.Tools[i].Scope)
		}
		c.NeedsSubject = c.NeedsSubject || r.Tools[i].RequiresSubject
	}
	return c
}
