package provider

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"bailing/scripts/bailing/cli"
	"bailing/scripts/bailing/specfile"
	"bailing/shared/capability"
)

const previewNotice = "Compiled as if every operation were enabled. This is not what a hub makes of the document: " +
	"enable operations one by one with x-agent-capability. Scopes with * are proposals."

// print writes the report for a person.
func (r *report) print(e *cli.Env) {
	w, style, width := e.Stdout, e.Style(), e.TextWidth()
	if r.Preview {
		fmt.Fprintln(w, style.Yellow(cli.Hang("PREVIEW  ", previewNotice, width)))
		fmt.Fprintln(w)
	}
	if len(r.Tools) > 0 {
		tools := slices.Clone(r.Tools)
		for i := range tools {
			if slices.Contains(r.ProposedScopes, tools[i].Name) {
				tools[i].Scope += " *"
			}
		}
		printTools(e, tools)
		fmt.Fprintln(w)
	}
	if a := r.Access; a != nil {
		verdict := style.Yellow(string(a.Status))
		if a.Status == specfile.Protected {
			verdict = style.Green(string(a.Status))
		}
		fmt.Fprintf(w, "Read access: %s (signed %s, unsigned %s, wrong signature %s)\n\n", verdict,
			status(a.SignedHTTP), status(a.UnsignedHTTP), status(a.InvalidHTTP))
	}
	printFindings(e, r.Source, r.Diagnostics)
	if len(r.NotEnabled) > 0 {
		fmt.Fprintln(w, cli.Hang("Not enabled for agents: ", some(r.NotEnabled, 8), width))
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w, r.summary(style))
}

func status(code int) string {
	if code == 0 {
		return "no answer"
	}
	return fmt.Sprint(code)
}

// some names the first of a list, and counts the rest.
func some(list []string, most int) string {
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s, and %d more", strings.Join(list[:most], ", "), len(list)-most)
}

func (r *report) summary(style cli.Style) string {
	errors, warnings := cli.Count(r.Counts.Errors, "error"), cli.Count(r.Counts.Warnings, "warning")
	if r.Counts.Errors > 0 {
		errors = style.Red(errors)
	}
	if r.Counts.Warnings > 0 {
		warnings = style.Yellow(warnings)
	}
	become := "become"
	if r.Counts.Tools == 1 {
		become = "becomes"
	}
	if r.Preview {
		become = "would " + strings.TrimSuffix(become, "s")
	}
	noun := "a tool"
	if r.Counts.Tools != 1 {
		noun = "tools"
	}
	text := fmt.Sprintf("%s: %d of %s %s %s; %s, %s", cli.Clean(r.Source), r.Counts.Tools,
		cli.Count(r.Counts.Operations, "operation"), become, noun, errors, warnings)
	if r.strict && r.Counts.Errors == 0 && r.Counts.Warnings > 0 {
		text += " (--strict: warnings fail)"
	}
	return text
}

// printTools writes the tools as a table or, where that is too wide, as a block of lines each.
func printTools(e *cli.Env, tools []capability.AdminTool) {
	t := cli.Table{Head: []string{"TOOL", "METHOD", "PATH", "SCOPE", "RISK", "APPROVAL", "SUBJECT", "READ-ONLY"}}
	for _, tool := range tools {
		t.Rows = append(t.Rows, []string{
			tool.Name, tool.Method, tool.Path, tool.Scope, string(tool.Risk), approval(tool, 28),
			yes(tool.RequiresSubject, "required"), yes(tool.Readonly, "yes"),
		})
	}
	if t.Fits(e.Width) {
		t.Print(e.Stdout, e.Style())
		return
	}
	for _, tool := range tools {
		facts := []string{"scope " + tool.Scope, "risk " + string(tool.Risk), "approval: " + approval(tool, 1000)}
		if tool.RequiresSubject {
			facts = append(facts, "subject required")
		}
		if tool.Readonly {
			facts = append(facts, "read-only")
		}
		fmt.Fprintln(e.Stdout, e.Style().Bold(cli.Clean(tool.Name))+"  "+cli.Clean(tool.Method+" "+tool.Path))
		fmt.Fprintln(e.Stdout, cli.Indent(strings.Join(facts, ", "), "  ", e.TextWidth()))
	}
}

func yes(b bool, word string) string {
	if b {
		return word
	}
	return "no"
}

// approval says when a call waits for a person. Rules that would take more than room characters are only counted.
func approval(t capability.AdminTool, room int) string {
	if t.Risk == capability.RiskHigh || t.ConfirmRequired {
		return "always"
	}
	if len(t.ConfirmWhen) == 0 {
		return "no"
	}
	rules := make([]string, len(t.ConfirmWhen))
	for i, rule := range t.ConfirmWhen {
		rules[i] = ruleText(rule)
	}
	if text := strings.Join(rules, " or "); len(text) <= room {
		return text
	}
	return cli.Count(len(rules), "rule")
}

// printFindings writes diagnostics by operation, in the order in which the document has them.
func printFindings(e *cli.Env, source string, findings []finding) {
	var order []string
	groups := map[string][]finding{}
	for _, f := range findings {
		if groups[f.Path] == nil {
			order = append(order, f.Path)
		}
		groups[f.Path] = append(groups[f.Path], f)
	}
	for _, path := range order {
		title := path
		if path == capability.DocumentPath {
			title = "The document"
		}
		fmt.Fprintln(e.Stdout, e.Style().Bold(cli.Clean(title)))
		group := groups[path]
		slices.SortStableFunc(group, func(a, b finding) int { return cmp.Compare(weight(a.Severity), weight(b.Severity)) })
		place := ""
		for _, f := range group {
			at := strings.TrimSpace(cli.Clean(specfile.At(source, f.Line)) + "  " + cli.Clean(f.Pointer))
			if at == place || f.Line == 0 && f.Pointer == "" {
				at = ""
			} else {
				place = at
			}
			printFinding(e.Stdout, e.Style(), e.TextWidth(), f, at)
		}
		fmt.Fprintln(e.Stdout)
	}
}

func weight(s capability.Severity) int {
	return slices.Index([]capability.Severity{capability.SeverityError, capability.SeverityWarning, capability.SeverityInfo}, s)
}

// printFinding writes one diagnostic: where, what is wrong, what to change.
func printFinding(w io.Writer, style cli.Style, width int, f finding, at string) {
	if at != "" {
		fmt.Fprintln(w, "  "+style.Faint(at)) // not wrapped: editors open it
	}
	label := fmt.Sprintf("  %-7s  ", f.Severity)
	text := cli.Hang(label, fmt.Sprintf("%s [%s]", f.Message, f.Code), width)
	switch f.Severity {
	case capability.SeverityError:
		text = strings.Replace(text, string(f.Severity), style.Red(string(f.Severity)), 1)
	case capability.SeverityWarning:
		text = strings.Replace(text, string(f.Severity), style.Yellow(string(f.Severity)), 1)
	}
	fmt.Fprintln(w, text)
	if f.Suggestion != "" {
		fmt.Fprintln(w, cli.Hang("  fix      ", f.Suggestion, width))
	}
}
