package admin

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"bailing/shared/job"
	"bailing/shared/money"
	"bailing/shared/registry"
)

// Costs reads what jobs used; see package store.
type Costs interface {
	// ReadCost returns the usage on the days from the one of from to the one of to, in UTC.
	ReadCost(ctx context.Context, from, to time.Time) ([]job.CostRow, error)
}

// Bounds of the cost report, in days.
const (
	costDays    = 30 // of a request that names no number
	costDaysMax = 366
)

// spent is what some jobs used up: those that ended for the first time are counted, and all that was used is summed up.
type spent struct {
	Jobs    int64     `json:"jobs"`
	CostUSD money.USD `json:"cost_usd"`
	Tokens  int64     `json:"tokens"`
}

func (s *spent) add(r job.CostRow) {
	sum := job.Usage{Tokens: s.Tokens, CostUSD: s.CostUSD}.Add(r.Usage)
	s.Jobs, s.Tokens, s.CostUSD = s.Jobs+r.Jobs, sum.Tokens, sum.CostUSD
}

// more orders the larger first: by cost, tokens and jobs.
func (s spent) more(o spent) int {
	return cmp.Or(o.CostUSD.Cmp(s.CostUSD), cmp.Compare(o.Tokens, s.Tokens), cmp.Compare(o.Jobs, s.Jobs))
}

// costReport is what the jobs of the last days used (the members are those of the reference, with tokens everywhere).
type costReport struct {
	Days     int          `json:"days"`
	Total    spent        `json:"total"`
	ByDay    []dayCost    `json:"by_day"`    // in order of time; a day without jobs is left out
	ByTarget []targetCost `json:"by_target"` // the most expensive first
	ByRoute  []routeCost  `json:"by_route"`  // the most expensive first
}

type dayCost struct {
	Day string `json:"day"`
	spent
}

type targetCost struct {
	Target string `json:"target"`
	spent
}

type routeCost struct {
	Route string `json:"route"` // its name now; its key when there is no such route any more
	Key   string `json:"route_key"`
	spent
}

// Cost serves GET /admin/api/cost. days is pulled into 1 to 366, today in UTC included; without a number it is 30.
func (h *Handler) Cost(w http.ResponseWriter, r *http.Request) {
	days, err := strconv.Atoi(r.URL.Query().Get("days"))
	if err != nil {
		days = costDays
	}
	days = min(max(days, 1), costDaysMax)
	report, err := h.cost(r.Context(), days)
	answer(w, r, report, err)
}

func (h *Handler) cost(ctx context.Context, days int) (costReport, error) {
	now := h.d.Clock.Now()
	var rows []job.CostRow
	var routes []registry.RouteView
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		rows, err = h.d.Cost.ReadCost(ctx, now.AddDate(0, 0, 1-days), now)
		return err
	})
	g.Go(func() (err error) {
		routes, err = h.d.Registry.ListRoutes(ctx)
		return err
	})
	if err := g.Wait(); err != nil {
		return costReport{}, err
	}
	names := map[string]string{}
	for _, route := range routes {
		names[route.RouteKey] = route.Name
	}
	return reportOf(days, rows, names), nil
}

func reportOf(days int, rows []job.CostRow, names map[string]string) costReport {
	report := costReport{Days: days, ByDay: []dayCost{}, ByTarget: []targetCost{}, ByRoute: []routeCost{}}
	byDay, byTarget, byRoute := map[string]*spent{}, map[string]*spent{}, map[string]*spent{}
	add := func(to map[string]*spent, name string, r job.CostRow) {
		if to[name] == nil {
			to[name] = &spent{}
		}
		to[name].add(r)
	}
	for _, r := range rows {
		report.Total.add(r)
		add(byDay, r.Day, r)
		add(byTarget, r.Target, r)
		add(byRoute, r.Route, r)
	}
	for day, s := range byDay {
		report.ByDay = append(report.ByDay, dayCost{day, *s})
	}
	for target, s := range byTarget {
		report.ByTarget = append(report.ByTarget, targetCost{target, *s})
	}
	for key, s := range byRoute {
		report.ByRoute = append(report.ByRoute, routeCost{cmp.Or(names[key], key), key, *s})
	}
	slices.SortFunc(report.ByDay, func(a, b dayCost) int { return strings.Compare(a.Day, b.Day) })
	slices.SortFunc(report.ByTarget, func(a, b targetCost) int {
		return cmp.Or(a.more(b.spent), strings.Compare(a.Target, b.Target))
	})
	slices.SortFunc(report.ByRoute, func(a, b routeCost) int { return cmp.Or(a.more(b.spent), strings.Compare(a.Key, b.Key)) })
	return report
}
