package provider

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"bailing/scripts/bailing/cli"
	"bailing/shared/canonical"
	"bailing/shared/capability"
)

// comparison is what became of the tools of a provider, in the shape of the hub's answer to a refresh.
type comparison struct {
	Added    []string `json:"added"`
	Removed  []string `json:"removed"`
	Changed  []string `json:"changed"`  // in method, path, scope or what governs calls (core §4.3)
	Weakened []string `json:"weakened"` // tools whose protection became weaker
	Changes  []change `json:"changes"`
	Other    []string `json:"other"` // changed in what governs nothing: inputs, texts, time limits
	// NowIdempotent are tools whose calls the journal no longer keeps from being repeated.
	NowIdempotent []string `json:"now_idempotent"`
}

// change is what changed in one tool.
type change struct {
	Tool     string                 `json:"tool"`
	Fields   []fieldChange          `json:"fields"`
	Weakened []capability.Weakening `json:"weakened"`
}

type fieldChange struct {
	Field string          `json:"field"`
	Was   json.RawMessage `json:"was"`
	Now   json.RawMessage `json:"now"`
}

// compare compares what two specifications compiled to.
func compare(before, after *capability.Catalog) comparison {
	d := capability.DiffCatalogs(before, after)
	c := comparison{
		Added: d.Added, Removed: d.Removed, Changed: []string{}, Weakened: slices.Clone(d.NowIdempotent), Changes: []change{},
		Other: d.Other, NowIdempotent: d.NowIdempotent,
	}
	for _, ch := range d.Changed {
		c.Changed = append(c.Changed, ch.Tool)
		if len(ch.Weakened) > 0 {
			c.Weakened = append(c.Weakened, ch.Tool)
		}
		out := change{Tool: ch.Tool, Weakened: ch.Weakened}
		for _, f := range ch.Fields {
			out.Fields = append(out.Fields, fieldChange{f.Field, quoted(f.Was), quoted(f.Now)})
		}
		c.Changes = append(c.Changes, out)
	}
	slices.Sort(c.Weakened)
	c.Weakened = slices.Compact(c.Weakened)
	return c
}

func quoted(s string) json.RawMessage { return canonical.AppendString(nil, s) }

func (c *comparison) same() bool {
	return len(c.Added)+len(c.Removed)+len(c.Changed)+len(c.Weakened)+len(c.Other)+len(c.NowIdempotent) == 0
}

// print writes the comparison for a person: first what became weaker.
func (c *comparison) print(e *cli.Env) {
	style, w := e.Style(), e.Stdout
	if c.same() {
		fmt.Fprintln(w, "The tools are the same.")
		return
	}
	if len(c.Weakened) > 0 {
		fmt.Fprintln(w, style.Red("WEAKER PROTECTION"))
		for _, name := range c.Weakened {
			c.printChange(e, name, style.Red("! "))
		}
		fmt.Fprintln(w)
	}
	for _, name := range c.Removed {
		fmt.Fprintln(w, style.Red("- ")+cli.Clean(name)+"  removed")
	}
	for _, name := range c.Added {
		fmt.Fprintln(w, style.Green("+ ")+cli.Clean(name)+"  added")
	}
	for _, name := range c.Changed {
		if !slices.Contains(c.Weakened, name) {
			c.printChange(e, name, style.Yellow("~ "))
		}
	}
	for _, name := range c.Other {
		if !slices.Contains(c.Weakened, name) {
			fmt.Fprintln(w, style.Faint("~ ")+cli.Clean(name)+"  inputs, texts or limits")
		}
	}
	fmt.Fprintf(w, "%d added, %d removed, %d changed, %d with weaker protection\n", len(c.Added), len(c.Removed),
		len(c.Changed)+len(c.Other), len(c.Weakened))
}

// printChange writes what changed in the tool called name.
func (c *comparison) printChange(e *cli.Env, name, mark string) {
	fmt.Fprintln(e.Stdout, mark+cli.Clean(name))
	idempotent := slices.Contains(c.NowIdempotent, name)
	for _, change := range c.Changes {
		if change.Tool != name {
			continue
		}
		for _, f := range change.Fields {
			f.print(e)
		}
		idempotent = idempotent || slices.Contains(change.Weakened, capability.BecameIdempotent)
	}
	if idempotent {
		const effect = "false -> true (a call may be repeated; the journal no longer prevents it)"
		fmt.Fprintln(e.Stdout, cli.Hang("    idempotent: ", effect, e.TextWidth()))
	}
}

// print writes what a field was and is; of approval rules only those that came or went.
func (f fieldChange) print(e *cli.Env) {
	was, now, isRules := f.rules()
	if !isRules {
		fmt.Fprintln(e.Stdout, cli.Hang("    "+cli.Clean(f.Field)+": ", shown(f.Was)+" -> "+shown(f.Now), e.TextWidth()))
		return
	}
	fmt.Fprintf(e.Stdout, "    %s:\n", cli.Clean(f.Field))
	for _, rule := range was {
		if !slices.Contains(now, rule) {
			fmt.Fprintln(e.Stdout, cli.Hang("      "+e.Style().Red("- "), rule, e.TextWidth()))
		}
	}
	for _, rule := range now {
		if !slices.Contains(was, rule) {
			fmt.Fprintln(e.Stdout, cli.Hang("      "+e.Style().Green("+ "), rule, e.TextWidth()))
		}
	}
}

// rules are both values as texts of approval rules; false when the field holds something else.
func (f fieldChange) rules() (was, now []string, ok bool) {
	if f.Field != "confirm_when" {
		return nil, nil, false
	}
	was, ok = ruleTexts(f.Was)
	if !ok {
		return nil, nil, false
	}
	now, ok = ruleTexts(f.Now)
	return was, now, ok
}

// ruleTexts reads rules, which travel as JSON or as a string of JSON.
func ruleTexts(raw json.RawMessage) ([]string, bool) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		raw = json.RawMessage(text)
	}
	var rules []capability.Rule
	if json.Unmarshal(raw, &rules) != nil {
		return nil, false
	}
	texts := make([]string, len(rules))
	for i, r := range rules {
		texts[i] = ruleText(r)
		if r.Label != "" {
			texts[i] += " (" + r.Label + ")"
		}
	}
	return texts, true
}

// ruleText is the condition of an approval rule, such as "amount > 100".
func ruleText(r capability.Rule) string {
	return strings.TrimSpace(r.Param + " " + r.Op + " " + string(r.Value))
}

// shown is a value of a field for a person: text without quotation marks, everything else as JSON, cut to what is readable.
func shown(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) != nil {
		s = string(v)
	}
	const most = 400
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "..."
	}
	if s == "" {
		return "none"
	}
	return s
}
