package operate

import (
	"context"
	"flag"
	"fmt"

	"bailing/scripts/bailing/cli"
	"bailing/scripts/bailing/hub"
)

// finding is what a hub says about its configuration.
type finding struct {
	Severity   string `json:"severity"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	Code       string `json:"code"`
	Message    string `json:"message"`
	Suggestion string `json:"suggestion"`
}

func diagnoseCommand() *cli.Command {
	return &cli.Command{
		Name: "diagnose", Args: "",
		Short: "Shows what the configuration of a hub lacks, the worst first.",
		Long:  "Exit status: 0 no errors (with --strict no warnings, too); 1 there are; 2 wrong usage or no answer.\n\n" + hub.Help,
		New: asking(0, "diagnose takes no arguments", func(fs *flag.FlagSet) run {
			strict := fs.Bool("strict", false, "fail for warnings, too")
			return func(ctx context.Context, e *cli.Env, h *hub.Hub, _ []string, asJSON bool) error {
				var all []finding
				a, err := h.Get(ctx, e, "/admin/api/config-diagnostics", "looking at the configuration", &all)
				if err != nil {
					return err
				}
				if asJSON {
					err = e.JSON(a.Body)
				} else {
					printFindings(e, all)
				}
				if err == nil && (count(all, "error") > 0 || *strict && count(all, "warning") > 0) {
					err = cli.ErrNotFine
				}
				return err
			}
		}),
	}
}

func count(all []finding, severity string) (n int) {
	for _, f := range all {
		if f.Severity == severity {
			n++
		}
	}
	return n
}

// printFindings writes a table of what is wrong where, and below it what to do about each.
func printFindings(e *cli.Env, all []finding) {
	style := e.Style()
	if len(all) > 0 {
		t := cli.Table{Head: []string{"SEVERITY", "OBJECT", "CODE"}}
		for _, f := range all {
			t.Rows = append(t.Rows, []string{f.Severity, f.Kind + " " + f.Name, f.Code})
		}
		t.PrintOrStack(e)
		fmt.Fprintln(e.Stdout)
	}
	for _, f := range all {
		fmt.Fprintln(e.Stdout, cli.Hang(style.Bold(cli.Clean(f.Kind+" "+f.Name))+"  ", f.Message, e.TextWidth()))
		if f.Suggestion != "" {
			fmt.Fprintln(e.Stdout, cli.Hang("  "+style.Green("fix: "), f.Suggestion, e.TextWidth()))
		}
	}
	if len(all) > 0 {
		fmt.Fprintln(e.Stdout)
	}
	errors, warnings := cli.Count(count(all, "error"), "error"), cli.Count(count(all, "warning"), "warning")
	if count(all, "error") > 0 {
		errors = style.Red(errors)
	}
	if count(all, "warning") > 0 {
		warnings = style.Yellow(warnings)
	}
	fmt.Fprintf(e.Stdout, "%s, %s\n", errors, warnings)
}
