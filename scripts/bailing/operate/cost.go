package operate

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"

	"bailing/scripts/bailing/cli"
	"bailing/scripts/bailing/hub"
)

// maxCostDays is the longest report of a hub.
const maxCostDays = 366

// spent is what some jobs used. The amount stays as the hub wrote it, with every digit.
type spent struct {
	Day      string      `json:"day"`
	Target   string      `json:"target"`
	Route    string      `json:"route"`
	RouteKey string      `json:"route_key"`
	Jobs     int64       `json:"jobs"`
	Tokens   int64       `json:"tokens"`
	CostUSD  json.Number `json:"cost_usd"`
}

func (s spent) row(name string) []string {
	return []string{name, fmt.Sprint(s.Jobs), fmt.Sprint(s.Tokens), s.CostUSD.String()}
}

func costCommand() *cli.Command {
	return &cli.Command{
		Name: "cost", Args: "",
		Short: "Shows how many tokens and dollars the jobs of the last days used.",
		Long: `
By day (in UTC), by target and by route. A job counts on the day on which it ended. Dollars are what executors report: a hub knows
the tokens of its own model calls, and not their price.

Exit status: 0 shown; 2 wrong usage or no answer.

` + hub.Help,
		New: asking(0, "cost takes no arguments", func(fs *flag.FlagSet) run {
			days := fs.Int("days", 30, "show the last `N` days, today included")
			return func(ctx context.Context, e *cli.Env, h *hub.Hub, _ []string, asJSON bool) error {
				if *days < 1 || *days > maxCostDays {
					return cli.Usagef("--days is from 1 to %d", maxCostDays)
				}
				var report struct {
					Days     int     `json:"days"`
					Total    spent   `json:"total"`
					ByDay    []spent `json:"by_day"`
					ByTarget []spent `json:"by_target"`
					ByRoute  []spent `json:"by_route"`
				}
				a, err := h.Get(ctx, e, fmt.Sprintf("/admin/api/cost?days=%d", *days), "reading what jobs used", &report)
				if err != nil || asJSON {
					return orJSON(e, a, err)
				}
				fmt.Fprintf(e.Stdout, "%s: %s, %s, %s USD\n", cli.Count(report.Days, "day"), cli.Count(int(report.Total.Jobs), "job"),
					cli.Count(int(report.Total.Tokens), "token"), cli.Clean(report.Total.CostUSD.String()))
				for _, part := range []struct {
					head string
					rows []spent
					name func(spent) string
				}{
					{"DAY", report.ByDay, func(s spent) string { return s.Day }},
					{"TARGET", report.ByTarget, func(s spent) string { return s.Target }},
					{"ROUTE", report.ByRoute, routeOf},
				} {
					if len(part.rows) == 0 {
						continue
					}
					t := cli.Table{Head: []string{part.head, "JOBS", "TOKENS", "USD"}}
					for _, s := range part.rows {
						t.Rows = append(t.Rows, s.row(part.name(s)))
					}
					fmt.Fprintln(e.Stdout)
					t.PrintOrStack(e)
				}
				return nil
			}
		}),
	}
}

// routeOf is the name of a route, with the key by which commands know it.
func routeOf(s spent) string {
	if s.RouteKey == "" || s.RouteKey == s.Route {
		return s.Route
	}
	return s.Route + " (" + s.RouteKey + ")"
}
