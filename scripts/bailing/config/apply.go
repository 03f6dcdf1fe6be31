package config

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"bailing/scripts/bailing/cli"
	"bailing/scripts/bailing/hub"
)

// ApplyCommand is `bailing apply`.
func ApplyCommand() *cli.Command {
	return &cli.Command{
		Name: "apply", Args: "",
		Short: "Makes the configuration of a hub as a file says, and shows what that changes.",
		Long: `
The file is YAML or JSON as 'bailing export' writes it: version: 1, and lists of objects under targets, credentials,
tool-providers, routes and clients. An object replaces the one of its name as a whole: a member that is left out takes its
default. Objects that the file does not name stay, unless --prune is given.

Secrets are references: {env: NAME}. A secret is needed for a new object only; what the hub has stays when the variable is not
set. A specification is a text, a document, or {file: NAME} beside the file; one with spec_source: url is refreshed.

What is different is shown first. Each object is written only if it still is what it was compared with. Applying twice changes
nothing; after an error, apply again.

Exit status: 0 the hub is as the file says; 1 it is not: with --dry-run something is different, or a specification was not
refreshed; 2 wrong usage, a mistake in the file, or a hub that refused.

Examples:
  bailing apply --dry-run -f hub.yaml        is the hub up to date?
  MODEL_KEY=... bailing apply -f hub.yaml

` + hub.Help,
		New: func(fs *flag.FlagSet) cli.Run {
			var f hub.Flags
			f.Declare(fs, 60*time.Second)
			var o options
			file := fs.String("f", "", "`FILE` with the configuration, - for standard input")
			dry := fs.Bool("dry-run", false, "show what is different, and change nothing")
			yes := fs.Bool("yes", false, "do not ask before objects are deleted")
			fs.BoolVar(&o.prune, "prune", false, "delete objects that the file does not name, of kinds that it has a list of")
			fs.BoolVar(&o.force, "force", false, "send secrets and specifications even when they look the same")
			return func(ctx context.Context, e *cli.Env, args []string) error {
				if len(args) > 0 || *file == "" {
					return cli.Usagef("apply takes one file: -f FILE")
				}
				wanted, err := ReadFile(e, *file)
				if err != nil {
					return err
				}
				h, err := f.Connect(e)
				if err != nil {
					return err
				}
				s, err := readState(ctx, e, h, wanted.Kinds)
				if err != nil {
					return err
				}
				p, err := makePlan(ctx, e, h, wanted, s, o)
				if err != nil {
					return err
				}
				return p.run(ctx, e, h, *dry, *yes, f.JSON)
			}
		},
	}
}

// run shows the plan and, unless it is a dry run, carries it out.
func (p *plan) run(ctx context.Context, e *cli.Env, h *hub.Hub, dry, yes, asJSON bool) error {
	if !asJSON {
		p.print(e)
	}
	if dry {
		for _, m := range p.missing {
			fmt.Fprintln(e.Stderr, "note: "+cli.Clean(m))
		}
		if asJSON {
			if err := p.json(e, true, nil); err != nil {
				return err
			}
		} else {
			fmt.Fprintln(e.Stdout, p.summary(toDo, func(*Step) bool { return true }))
		}
		if len(p.steps) > 0 {
			return cli.ErrNotFine
		}
		return nil
	}
	if len(p.missing) > 0 {
		return &cli.HintError{
			Err: errors.New(strings.Join(p.missing, "; ")), Hint: "Nothing was changed. Set the variables, and apply again.",
		}
	}
	if n := p.count(Delete, func(*Step) bool { return true }); n > 0 && !yes {
		if err := e.Confirm(ctx, fmt.Sprintf("Delete %s from %s?", cli.Count(n, "object"), h.URL)); err != nil {
			return err
		}
	}
	problems, err := p.apply(ctx, e, h)
	if err == nil {
		var different []string
		different, err = p.verify(ctx, e, h)
		problems = append(problems, different...)
	}
	if asJSON {
		if jsonErr := p.json(e, false, problems); jsonErr != nil {
			return jsonErr
		}
	}
	if err != nil {
		return err
	}
	if !asJSON {
		for _, problem := range problems {
			fmt.Fprintln(e.Stdout, cli.Hang(e.Style().Red("problem: "), problem, e.TextWidth()))
		}
		fmt.Fprintln(e.Stdout, p.summary(done, func(s *Step) bool { return s.Done }))
	}
	if len(problems) > 0 {
		return cli.ErrNotFine
	}
	return nil
}

// apply carries the steps out in their order, and stops at the first that the hub refuses. Problems are specifications that could
// not be refreshed: they keep nothing else from being done.
func (p *plan) apply(ctx context.Context, e *cli.Env, h *hub.Hub) (problems []string, err error) {
	for i, s := range p.steps {
		if err := s.write(ctx, e, h); err != nil {
			return problems, fmt.Errorf("%s: %w (%d of %d changes are made; apply again)", s, err, i, len(p.steps))
		}
		if s.refresh {
			reason, err := refresh(ctx, e, h, s)
			if err != nil {
				return problems, err
			}
			if reason != "" {
				problems = append(problems, fmt.Sprintf("%s: its specification was not refreshed: %s", s, reason))
			}
			if reason != "" && s.Action == Refresh {
				continue
			}
		}
		s.Done = true
	}
	return problems, nil
}

// verify reads what was written, and names what the hub has otherwise than the file: it may know members that this command does
// not.
func (p *plan) verify(ctx context.Context, e *cli.Env, h *hub.Hub) (different []string, err error) {
	var kinds []*Kind
	for _, s := range p.steps {
		if s.Action != Delete && !slices.Contains(kinds, s.kind) {
			kinds = append(kinds, s.kind)
		}
	}
	now, err := readState(ctx, e, h, kinds)
	if err != nil {
		return nil, err
	}
	for _, s := range p.steps {
		if s.Action != Create && s.Action != Update {
			continue
		}
		has, _ := now.find(s.kind, s.Name)
		var members []string
		for _, d := range differences(s.kind.normal(s.body), s.kind.normal(has), "") {
			if d.Member != "spec_json" && d.Member != "expected_revision" {
				members = append(members, d.Member)
			}
		}
		if len(members) > 0 {
			problem := fmt.Sprintf("%s: the hub has it otherwise than the file says: %s", s, strings.Join(members, ", "))
			different = append(different, problem)
		}
	}
	return different, nil
}

// write makes one write.
func (s *Step) write(ctx context.Context, e *cli.Env, h *hub.Hub) (err error) {
	var a hub.Answer
	switch s.Action {
	case Refresh:
		return nil
	case Delete:
		a, err = h.Ask(ctx, e, http.MethodDelete, s.kind.path(s.Name, ""), nil, "deleting "+s.String())
	default:
		a, err = h.Ask(ctx, e, http.MethodPost, "/admin/api/"+s.kind.Path, s.body, "saving "+s.String())
	}
	if err != nil {
		return err
	}
	return accepted(e, s.String(), a)
}

// accepted passes on what the hub warns of, and is its refusal as an error.
func accepted(e *cli.Env, what string, a hub.Answer) error {
	var r struct {
		Reason     string   `json:"reason"`
		ReferredBy []string `json:"referred_by"`
		Warnings   []string `json:"warnings"`
		AuthzProbe *struct {
			Status string `json:"status"`
			Reason string `json:"reason"`
		} `json:"authz_probe"`
	}
	if err := a.Into(&r); err != nil {
		return err
	}
	switch {
	case r.Reason == "revision_conflict":
		return errors.New("somebody else changed it meanwhile; it was left as it is")
	case len(r.ReferredBy) > 0:
		return fmt.Errorf("%s: %s", a.Reason(), strings.Join(r.ReferredBy, ", "))
	case !a.OK():
		return errors.New(a.Reason())
	}
	for _, w := range r.Warnings {
		fmt.Fprintln(e.Stderr, cli.Hang("warning: ", what+": "+w, e.TextWidth()))
	}
	if r.AuthzProbe != nil && r.AuthzProbe.Status == "suspect" {
		fmt.Fprintln(e.Stderr, cli.Hang("warning: ", what+": the business let a subject in that does not exist", e.TextWidth()))
	}
	return nil
}

// refresh lets the hub read the specification of a provider; reason says why it did not.
func refresh(ctx context.Context, e *cli.Env, h *hub.Hub, s *Step) (reason string, err error) {
	a, err := h.Ask(ctx, e, http.MethodPost, s.kind.path(s.Name, "/refresh"), nil, "the hub refreshes "+s.Name)
	if err != nil {
		return "", err
	}
	if !a.OK() {
		return a.Reason(), nil
	}
	return "", nil
}
