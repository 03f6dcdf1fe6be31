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

func toolsCommand() *cli.Command {
	return &cli.Command{
		Name: "tools", Args: "NAME",
		Short: "Shows the tools that a hub has of a provider, and what its specification lacks.",
		Long:  "Exit status: 0 shown; 2 wrong usage, no such provider, or no answer.\n\n" + hub.Help,
		New: asking(30*time.Second, func(ctx context.Context, e *cli.Env, h *hub.Hub, name string, asJSON bool) error {
			a, t, err := readTools(ctx, e, h, name)
			if err != nil {
				return err
			}
			if asJSON {
				return e.JSON(a.Body)
			}
			t.print(e, name)
			return nil
		}),
	}
}

// providerTools is the answer of GET /admin/api/tool-providers/{name}/tools (D36).
type providerTools struct {
	Tools       []capability.AdminTool  `json:"tools"`
	Diagnostics []capability.Diagnostic `json:"diagnostics"`
	Note        string                  `json:"note"`
	Shortened   int                     `json:"shortened"` // tools without parameters and approval rules
}

// readTools reads the tools that the hub has of a provider, page after page; the answer is the first one.
func readTools(ctx context.Context, e *cli.Env, h *hub.Hub, name string) (hub.Answer, providerTools, error) {
	var first hub.Answer
	var all providerTools
	for query := ""; ; {
		a, err := h.Ask(ctx, e, http.MethodGet, providerPath(name, "/tools")+query, nil, "reading the tools of "+name)
		if err != nil {
			return a, all, about(name, a, err)
		}
		if a.Status != http.StatusOK {
			return a, all, fmt.Errorf("%s: %s", name, a.Reason())
		}
		var page providerTools
		if err := a.Into(&page); err != nil {
			return a, all, err
		}
		next := a.Next()
		if first.Status == 0 {
			if first, all = a, page; next == "" {
				return first, all, nil
			}
			all.Note = "" // it is about a page
		} else {
			all.Tools, all.Shortened = append(all.Tools, page.Tools...), all.Shortened+page.Shortened
		}
		if next == "" || len(page.Tools) == 0 {
			return first, all, nil
		}
		query = next
	}
}

func (t *providerTools) print(e *cli.Env, name string) {
	if len(t.Tools) > 0 {
		printTools(e, t.Tools)
		fmt.Fprintln(e.Stdout)
	}
	printFindings(e, "", findings(t.Diagnostics))
	if t.Note != "" {
		fmt.Fprintln(e.Stdout, cli.Indent(t.Note, "", e.TextWidth()))
	}
	fmt.Fprintf(e.Stdout, "%s: %s\n", name, cli.Count(len(t.Tools), "tool"))
}
