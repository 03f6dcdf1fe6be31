package config

import (
	"fmt"

	"bailing/scripts/bailing/cli"
	"bailing/shared/canonical"
)

// print shows the steps, each with its members.
func (p *plan) print(e *cli.Env) {
	style := e.Style()
	marks := map[Action]string{
		Create: style.Green("+ "), Update: style.Yellow("~ "), Refresh: style.Faint("~ "), Delete: style.Red("- "),
	}
	for _, s := range p.steps {
		line := marks[s.Action] + cli.Clean(s.String())
		switch {
		case s.Action == Refresh:
			line += "  its specification is read"
		case s.Action == Update && s.refresh:
			line += "  and its specification is read"
		}
		fmt.Fprintln(e.Stdout, line)
		for _, d := range s.Differences {
			if d.Member == s.kind.Key {
				continue // it stands above
			}
			fmt.Fprintln(e.Stdout, cli.Hang("    "+cli.Clean(d.Member)+": ", d.text(s.Action), e.TextWidth()))
		}
		if s.Tools != nil && s.Action == Update {
			s.Tools.Print(e)
		}
	}
	if len(p.steps) > 0 {
		fmt.Fprintln(e.Stdout)
	}
}

// text is the value, and for a change what it was.
func (d Difference) text(a Action) string {
	if a == Create {
		return shown(d.Now)
	}
	return shown(d.Was) + " -> " + shown(d.Now)
}

// shown is a value for a person: texts as they are, everything else as JSON, cut to what is readable.
func shown(v canonical.Value) string {
	s := v.Text()
	switch v.Kind() {
	case canonical.Invalid:
		return "none"
	case canonical.String:
		if s == "" {
			return `""`
		}
	default:
		s = string(v.AppendCompact(nil))
	}
	const most = 400
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "..."
	}
	return s
}

// json prints the plan as one document; a stable interface.
func (p *plan) json(e *cli.Env, dry bool, problems []string) error {
	steps := p.steps
	if steps == nil {
		steps = []*Step{}
	}
	return e.JSON(struct {
		DryRun   bool     `json:"dry_run"`
		Steps    []*Step  `json:"steps"`
		Same     int      `json:"same"`
		Problems []string `json:"problems,omitempty"`
		Missing  []string `json:"missing,omitempty"`
	}{dry, steps, p.same, problems, p.missing})
}
