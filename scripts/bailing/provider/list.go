package provider

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"time"

	"bailing/scripts/bailing/cli"
	"bailing/scripts/bailing/hub"
)

func listCommand() *cli.Command {
	return &cli.Command{
		Name: "list", Args: "",
		Short: "Lists the tool providers of a hub.",
		Long:  "Exit status: 0 listed; 2 wrong usage or no answer.\n\n" + hub.Help,
		New: func(fs *flag.FlagSet) cli.Run {
			var f hub.Flags
			f.Declare(fs, 30*time.Second)
			return func(ctx context.Context, e *cli.Env, args []string) error {
				if len(args) > 0 {
					return cli.Usagef("list takes no arguments")
				}
				h, err := f.Connect(e)
				if err != nil {
					return err
				}
				a, err := h.AskList(ctx, e, "/admin/api/tool-providers", "reading the tool providers")
				if err != nil {
					return err
				}
				return showList(e, a, f.JSON)
			}
		},
	}
}

// listed is a provider in the hub's list (core §4.1).
type listed struct {
	Name            string       `json:"name"`
	BaseURL         string       `json:"base_url"`
	SpecSource      string       `json:"spec_source"`
	SpecURL         string       `json:"spec_url"`
	Policy          string       `json:"spec_access_policy"`
	RefreshedAt     string       `json:"spec_refreshed_at"`
	AutoRefreshMin  int          `json:"auto_refresh_min"`
	Enabled         bool         `json:"enabled"`
	HasSpec         bool         `json:"has_spec"`
	SpecAccessProbe *accessProbe `json:"spec_access_probe"`
	AuthzProbe      *authzProbe  `json:"authz_probe"`
}

func showList(e *cli.Env, a hub.Answer, asJSON bool) error {
	if a.Status != http.StatusOK {
		return fmt.Errorf("the hub did not list its tool providers: %s", a.Reason())
	}
	var all []listed
	if err := a.Into(&all); err != nil {
		return err
	}
	if asJSON {
		return e.JSON(a.Body)
	}
	if len(all) == 0 {
		fmt.Fprintln(e.Stdout, "The hub has no tool providers.")
		return nil
	}
	t := cli.Table{Head: []string{"PROVIDER", "ENABLED", "SPEC", "READ ACCESS", "AUTHZ PROBE", "REFRESHED", "BASE URL"}}
	for _, p := range all {
		t.Rows = append(t.Rows, []string{
			p.Name, yes(p.Enabled, "yes"), p.source(), p.access(), p.authz(), minutes(p.RefreshedAt), p.BaseURL,
		})
	}
	if t.Fits(e.Width) {
		t.Print(e.Stdout, e.Style())
		return nil
	}
	for _, row := range t.Rows {
		fmt.Fprintln(e.Stdout, e.Style().Bold(cli.Clean(row[0])))
		fmt.Fprintln(e.Stdout, cli.Indent(row[6], "  ", e.TextWidth()))
		fmt.Fprintln(e.Stdout, cli.Indent(fmt.Sprintf("enabled: %s, spec: %s, read access: %s, authorization probe: %s, refreshed: %s",
			row[1], row[2], row[3], row[4], row[5]), "  ", e.TextWidth()))
	}
	return nil
}

// source is where the specification comes from, and how often by itself.
func (p listed) source() string {
	switch {
	case !p.HasSpec:
		return p.SpecSource + ", none yet"
	case p.SpecSource == "url" && p.AutoRefreshMin > 0:
		return fmt.Sprintf("url, every %d min", p.AutoRefreshMin)
	}
	return p.SpecSource
}

// access is what the policy asks for and, in brackets, what was seen when it is something else.
func (p listed) access() string {
	if p.Policy == "" {
		return "-"
	}
	want, seen := map[string]string{"signed_required": "signed", "public_allowed": "public"}[p.Policy], "not checked"
	if want == "" {
		want = p.Policy
	}
	if p.SpecAccessProbe != nil {
		seen = string(p.SpecAccessProbe.Status)
	}
	if want == "signed" && seen == "protected" || want == seen {
		return want
	}
	return fmt.Sprintf("%s (%s)", want, seen)
}

func (p listed) authz() string {
	if p.AuthzProbe == nil || p.AuthzProbe.Status == "" {
		return "-"
	}
	return p.AuthzProbe.Status
}

// minutes is a time of the hub as people read it.
func minutes(at string) string {
	t, err := time.Parse(time.RFC3339Nano, at)
	if err != nil {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04Z")
}
