package provider

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"bailing/scripts/bailing/cli"
	"bailing/scripts/bailing/hub"
	"bailing/shared/capability"
)

func refreshCommand() *cli.Command {
	return &cli.Command{
		Name: "refresh", Args: "NAME",
		Short: "Lets a hub read the specification of a provider again, and shows what changed.",
		Long: `
The hub reads the specification from its URL, checks who else may read it, compiles it, and asks the business whether it refuses a
made-up subject. When it refuses the specification, what it had before keeps serving.

Exit status: 0 refreshed; 1 the hub refused the specification; 2 wrong usage, no such provider, or no answer.

` + hub.Help,
		// Three reads, one after two of which run side by side, and a probe: 10 + 10 + 8 s when all of them are slow.
		New: asking(60*time.Second, func(ctx context.Context, e *cli.Env, h *hub.Hub, name string, asJSON bool) error {
			a, err := h.Ask(ctx, e, http.MethodPost, providerPath(name, "/refresh"), nil, "the hub refreshes "+name)
			if err != nil {
				return about(name, a, err)
			}
			return showRefresh(e, a, name, asJSON)
		}),
	}
}

// refreshed is the answer to a refresh.
type refreshed struct {
	Tools int `json:"tools"`
	comparison
	Warnings []struct {
		Code       string `json:"code"`
		Message    string `json:"message"`
		Suggestion string `json:"suggestion"`
	} `json:"warnings"`
	AuthzProbe      *authzProbe             `json:"authz_probe"`
	SpecAccessProbe *accessProbe            `json:"spec_access_probe"`
	Diagnostics     []capability.Diagnostic `json:"diagnostics"`
	Total           int                     `json:"diagnostics_total"` // when not all are listed
}

func showRefresh(e *cli.Env, a hub.Answer, name string, asJSON bool) error {
	var r refreshed
	if err := a.Into(&r); err != nil {
		return err
	}
	var verdict error
	if a.Status != http.StatusOK {
		verdict = cli.ErrNotFine
	}
	if asJSON {
		if err := e.JSON(a.Body); err != nil {
			return err
		}
		return verdict
	}
	if verdict != nil {
		fmt.Fprintln(e.Stdout, cli.Hang(e.Style().Red("Not refreshed")+": ", a.Reason(), e.TextWidth()))
		fmt.Fprintln(e.Stdout, "The hub keeps the specification that it had.")
		if r.SpecAccessProbe != nil {
			r.SpecAccessProbe.Reason = "" // it is what the hub said above
		}
	} else {
		r.comparison.print(e)
	}
	if len(r.Diagnostics) > 0 {
		fmt.Fprintln(e.Stdout)
		printFindings(e, "", findings(r.Diagnostics))
	}
	if r.Total > len(r.Diagnostics) {
		fmt.Fprintf(e.Stdout, "These are the first of %d findings; 'bailing provider lint' shows all.\n", r.Total)
	}
	if len(r.Diagnostics) == 0 {
		fmt.Fprintln(e.Stdout)
	}
	for _, w := range r.Warnings {
		printFinding(e.Stdout, e.Style(), e.TextWidth(), finding{Diagnostic: capability.Diagnostic{
			Severity: capability.SeverityWarning, Code: w.Code, Message: w.Message, Suggestion: w.Suggestion,
		}}, "")
	}
	printAccess(e, r.SpecAccessProbe)
	printAuthz(e, r.AuthzProbe)
	if verdict == nil {
		fmt.Fprintf(e.Stdout, "%s is refreshed: %s\n", name, cli.Count(r.Tools, "tool"))
	}
	return verdict
}

func findings(diagnostics []capability.Diagnostic) []finding {
	out := make([]finding, len(diagnostics))
	for i, d := range diagnostics {
		out[i].Diagnostic = d
	}
	return out
}
