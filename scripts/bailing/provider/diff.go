package provider

import (
	"context"
	"flag"
	"fmt"
	"slices"

	"bailing/scripts/bailing/cli"
	"bailing/scripts/bailing/hub"
	"bailing/scripts/bailing/specfile"
	"bailing/shared/capability"
	"bailing/shared/capability/compile"
	"bailing/shared/textlimit"
)

func diffCommand() *cli.Command {
	return &cli.Command{
		Name: "diff", Args: "OLD|NAME NEW",
		Short: "Shows what a new specification does to the tools, weaker protection first.",
		Long: `
OLD and NEW are files or URLs, or - for standard input. Without a dot and a slash in it, the first argument is the NAME of a tool
provider, and what is compared is the tools that the hub has of it; write ./orders for a file of such a name.

Protection is weaker when fewer calls wait for a person, a subject is no longer required, a write passes for a read, or the like.

Exit status: 0; 1 as --fail-on says: for weaker protection (default), for any difference, or never; 2 wrong usage, or something
that cannot be read or compiled.

Examples:
  git show main:openapi.yaml | bailing provider diff - openapi.yaml
  bailing provider diff --fail-on changed orders openapi.yaml     is the hub up to date?

` + hub.Help,
		New: func(fs *flag.FlagSet) cli.Run {
			var f sourceFlags
			f.declare(fs, "")
			var hubs hub.Flags
			hubs.DeclareProfile(fs)
			asJSON := jsonFlag(fs)
			failOn := fs.String("fail-on", "weakened", "exit with 1 for `WHAT`: weakened protection, changed tools, or none")
			return func(ctx context.Context, e *cli.Env, args []string) error {
				if len(args) != 2 {
					return cli.Usagef("diff takes two: an old file, URL or provider's name, and a new file or URL")
				}
				if !slices.Contains([]string{"weakened", "changed", "none"}, *failOn) {
					return cli.Usagef("--fail-on is weakened, changed or none")
				}
				if args[0] == "-" && args[1] == "-" {
					return cli.Usagef("only one of the two can be standard input")
				}
				o, err := f.options(e, args...)
				if err != nil {
					return err
				}
				hubs.Timeout = o.Timeout
				before, err := side(ctx, e, args[0], &hubs, o)
				if err != nil {
					return err
				}
				after, err := side(ctx, e, args[1], nil, o)
				if err != nil {
					return err
				}
				return showDiff(e, before, after, *asJSON, *failOn)
			}
		},
	}
}

// compared is one side of a comparison.
type compared struct {
	Source string `json:"source"`
	Tools  int    `json:"tools"`
	Errors int    `json:"errors"` // each is an operation that is no tool, or the like

	catalog *capability.Catalog
	fromHub bool // the catalogue holds what the admin API shows of each tool
}

// side reads one side: a specification, or where hubs is not nil the tools that a hub has.
func side(ctx context.Context, e *cli.Env, arg string, hubs *hub.Flags, o specfile.Options) (*compared, error) {
	if hubs != nil && textlimit.ResourceName(arg) {
		h, err := hubs.Connect(e)
		if err != nil {
			return nil, err
		}
		_, t, err := readTools(ctx, e, h, arg)
		if err != nil {
			return nil, err
		}
		if t.Note != "" {
			fmt.Fprintln(e.Stderr, cli.Hang("note: ", t.Note, e.TextWidth()))
		}
		if t.Shortened > 0 {
			return nil, &cli.HintError{
				Err:  fmt.Errorf("the hub shows %s of %s without approval rules, so that they cannot be compared", cli.Count(t.Shortened, "tool"), arg),
				Hint: "Compare two versions of the specification instead: 'bailing provider diff OLD NEW'.",
			}
		}
		return fromHub(arg, &t), nil
	}
	d, err := specfile.Read(ctx, e, arg, o)
	if err != nil {
		return nil, err
	}
	catalog := compile.Compile(d.Bytes)
	if catalog.Failed() {
		return nil, &cli.HintError{Err: fmt.Errorf("%s cannot be compiled", d.Name), Hint: "See 'bailing provider lint " + arg + "'."}
	}
	return newCompared(d.Name, catalog), nil
}

func newCompared(source string, catalog *capability.Catalog) *compared {
	c := &compared{Source: source, Tools: len(catalog.Tools), catalog: catalog}
	for _, d := range catalog.Diagnostics {
		if d.Severity == capability.SeverityError {
			c.Errors++
		}
	}
	return c
}

// reduce leaves of compiled tools what the hub shows of them: the rest would look like a difference to shown. Of a very large
// catalogue the hub leaves inputs out; those are not compared.
func (c *compared) reduce(shown *capability.Catalog) {
	for i := range c.catalog.Tools {
		view := c.catalog.Tools[i].AdminView()
		if other := shown.Tool(view.Name); other != nil && string(other.InputSchema) == "{}" {
			view.Parameters, view.Extensions = other.InputSchema, other.Extensions
		}
		c.catalog.Tools[i] = asShown(&view)
	}
}

// asShown is a tool as far as the admin API shows it.
func asShown(t *capability.AdminTool) capability.Tool {
	return capability.Tool{
		SchemaVersion: t.SchemaVersion, Name: t.Name, Source: t.Source, Method: t.Method, Path: t.Path, Description: t.Description,
		Scope: t.Scope, Risk: t.Risk, ConfirmRequired: t.ConfirmRequired, RateLimitPerMin: t.RateLimitPerMin,
		RequiresSubject: t.RequiresSubject, Sensitive: t.Sensitive, Readonly: t.Readonly, Idempotent: t.Idempotent,
		TimeoutMs: t.TimeoutMs, ConfirmWhen: t.ConfirmWhen, ConfirmPrompt: t.ConfirmPrompt, Context: append([]string{}, t.Context...),
		Extensions: t.Extensions, InputSchema: t.Parameters, ParamIn: t.ParamIn,
	}
}

// difference is what diff prints with --json; a stable interface.
type difference struct {
	Same bool      `json:"same"`
	Old  *compared `json:"old"`
	New  *compared `json:"new"`
	comparison
}

func showDiff(e *cli.Env, before, after *compared, asJSON bool, failOn string) error {
	if before.fromHub {
		after.reduce(before.catalog)
	}
	d := difference{Old: before, New: after, comparison: compare(before.catalog, after.catalog)}
	d.Same = d.same()
	if asJSON {
		if err := e.JSON(d); err != nil {
			return err
		}
	} else {
		for _, c := range []*compared{before, after} {
			if c.Errors > 0 {
				note := fmt.Sprintf("%s has %s; operations with errors are no tools, see 'bailing provider lint'",
					c.Source, cli.Count(c.Errors, "error"))
				fmt.Fprintln(e.Stderr, cli.Hang("note: ", note, e.TextWidth()))
			}
		}
		d.print(e)
	}
	if failOn == "changed" && !d.Same || failOn == "weakened" && len(d.Weakened) > 0 {
		return cli.ErrNotFine
	}
	return nil
}
