package provider

import (
	"context"
	"flag"
	"fmt"

	"bailing/scripts/bailing/cli"
	"bailing/scripts/bailing/specfile"
	"bailing/shared/capability"
	"bailing/shared/capability/compile"
)

func lintCommand() *cli.Command {
	return &cli.Command{
		Name: "lint", Args: "FILE|URL|-",
		Short: "Shows the tools that a specification becomes, and what to change in it. Needs no hub.",
		Long: `
The document is JSON or YAML, OpenAPI 3.0 or 3.1, of at most 5 MiB. "-" is standard input. Operations become tools when their
x-agent-capability says enabled: true; an operation with an error does not become one.

A URL is read as a hub reads it: redirects are not followed. With --secret-env the read is signed, and two more reads, one unsigned
and one with a wrong signature, tell whether the access policy signed_required would hold.

Exit status: 0 no errors; 1 errors (with --strict warnings, too); 2 wrong usage or a document that cannot be read.

Examples:
  bailing provider lint openapi.yaml
  bailing provider lint --enable-all openapi.yaml       what could become a tool?
  SECRET=... bailing provider lint --secret-env SECRET https://shop.example/.well-known/bailing/tools.json`,
		New: func(fs *flag.FlagSet) cli.Run {
			var f sourceFlags
			f.declare(fs, ", and see who else may read")
			asJSON := jsonFlag(fs)
			strict := fs.Bool("strict", false, "fail for warnings, too")
			all := fs.Bool("enable-all", false, "preview: compile as if every operation were enabled for agents")
			return func(ctx context.Context, e *cli.Env, args []string) error {
				if len(args) != 1 {
					return cli.Usagef("lint takes one document: a file, a URL, or - for standard input")
				}
				o, err := f.options(e, args...)
				if err != nil {
					return err
				}
				o.Judge = true
				d, err := specfile.Read(ctx, e, args[0], o)
				if err != nil {
					return err
				}
				r := lint(d, *all)
				r.strict = *strict
				r.OK = r.Counts.Errors == 0 && (!*strict || r.Counts.Warnings == 0)
				if *asJSON {
					err = e.JSON(r)
				} else {
					r.print(e)
				}
				if err == nil && !r.OK {
					err = cli.ErrNotFine
				}
				return err
			}
		},
	}
}

// report is what lint finds; its JSON is a stable interface.
type report struct {
	Source  string `json:"source"`
	OK      bool   `json:"ok"`
	Preview bool   `json:"preview"` // --enable-all: nothing here is what a hub would do
	OpenAPI string `json:"openapi"`
	Hash    string `json:"hash"` // lower-case hex SHA-256 of the document's bytes
	Counts  struct {
		Operations int `json:"operations"`
		Tools      int `json:"tools"`
		Errors     int `json:"errors"`
		Warnings   int `json:"warnings"`
	} `json:"counts"`
	Tools          []capability.AdminTool `json:"tools"` // as the hub's admin API shows them
	ProposedScopes []string               `json:"proposed_scopes,omitempty"`
	NotEnabled     []string               `json:"not_enabled"` // "METHOD /path"
	Diagnostics    []finding              `json:"diagnostics"`
	Access         *specfile.Access       `json:"access,omitempty"`

	strict bool
}

// finding is a diagnostic with its line in the document, from 1; 0 when it has none.
type finding struct {
	capability.Diagnostic
	Line int `json:"line,omitempty"`
}

// lint compiles a document and collects what its author should know.
func lint(d *specfile.Document, enableAll bool) *report {
	r := &report{Source: d.Name, Access: d.Access, Tools: []capability.AdminTool{}, NotEnabled: []string{}, Diagnostics: []finding{}}
	outline := specfile.Outlined(d.Bytes)
	r.OpenAPI = outline.OpenAPI
	catalog := compile.Compile(d.Bytes)
	r.Hash = catalog.Hash
	var proposed map[string]bool
	if enableAll {
		if src, p, ok := specfile.EnableAll(d.Bytes); ok {
			catalog, proposed, r.Preview = compile.Compile(src), p, true
		}
	}
	for i := range catalog.Tools {
		t := &catalog.Tools[i]
		r.Tools = append(r.Tools, t.AdminView())
		if proposed[t.Method+" "+t.Path] {
			r.ProposedScopes = append(r.ProposedScopes, t.Name)
		}
	}
	for _, op := range outline.Operations {
		if !op.Enabled && !r.Preview {
			r.NotEnabled = append(r.NotEnabled, op.Method+" "+op.Path)
		}
	}
	r.Counts.Operations, r.Counts.Tools = len(outline.Operations), len(r.Tools)
	r.place(d.Bytes, catalog.Diagnostics)
	if !catalog.Failed() {
		r.ownFindings()
	}
	return r
}

// place adds the compiler's diagnostics with their lines.
func (r *report) place(src []byte, diagnostics []capability.Diagnostic) {
	var pointers []string
	for _, d := range diagnostics {
		if d.Pointer != "" {
			pointers = append(pointers, d.Pointer)
		}
	}
	var lines map[string]int
	if len(pointers) > 0 {
		lines = specfile.Lines(src, pointers)
	}
	for _, d := range diagnostics {
		f := finding{d, lines[d.Pointer]}
		if d.Path == capability.DocumentPath && d.Pointer == "" {
			f.Line = specfile.SyntaxLine(src)
		}
		r.add(f)
	}
}

func (r *report) add(f finding) {
	r.Diagnostics = append(r.Diagnostics, f)
	switch f.Severity {
	case capability.SeverityError:
		r.Counts.Errors++
	case capability.SeverityWarning:
		r.Counts.Warnings++
	}
}

// warn adds a finding about the document as a whole that is not the compiler's.
func (r *report) warn(code, message, suggestion string) {
	r.add(finding{Diagnostic: capability.Diagnostic{
		Severity: capability.SeverityWarning, Path: capability.DocumentPath, Code: code, Message: message, Suggestion: suggestion,
	}})
}

// ownFindings says what only shows from outside of the compiler.
func (r *report) ownFindings() {
	if len(r.Tools) == 0 && r.Counts.Errors == 0 {
		message := "no operation is enabled for agents"
		if r.Counts.Operations == 0 {
			message = "the document has no operations"
		}
		r.warn("no_tools", message, "Add x-agent-capability with version: 1, enabled: true and a scope to the operations that agents "+
			"may use; --enable-all previews them.")
	}
	if r.Access == nil {
		return
	}
	const check = "Verify the signature before the document is served; signed_required refuses it as it is."
	switch r.Access.Status {
	case specfile.Public:
		r.warn("spec_access_public", r.Access.Reason, check+" If everybody may read it, use public_allowed.")
	case specfile.Inconclusive:
		r.warn("spec_access_inconclusive", r.Access.Reason,
			"Answer reads without a good signature with 401, 403 or 404; signed_required refuses it as it is.")
	}
	if r.Access.Status != specfile.Public && !r.Access.Uncached {
		message := "the signed answer may be kept by a cache and given to others"
		r.warn("spec_cacheable", fmt.Sprintf("%s (Cache-Control: %s)", message, orNone(r.Access.CacheControl)),
			"Answer signed reads of the specification with Cache-Control: private, no-store.")
	}
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
