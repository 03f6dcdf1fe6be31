package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"bailing/shared/capability"
	"bailing/shared/registry"
)

// Config is the configuration that is diagnosed; it is only read.
type Config = registry.Store

// Bounds of one diagnosis.
const (
	diagnosesMax  = 500 // findings in the answer
	catalogsMax   = 50  // providers whose catalogues and records are read, by name
	refreshesSeen = 20  // latest records of a provider in which the last refresh is looked for

	// surveyReserve is kept free for the answer, and for the catalogue that is being read when the time is nearly over.
	surveyReserve = 10 * time.Second
)

// Diagnostics serves GET /admin/api/config-diagnostics: what is not ready, and why, the most severe first. It reads the whole
// configuration, and the catalogues of at most catalogsMax providers while there is time.
func (h *Handler) Diagnostics(w http.ResponseWriter, r *http.Request) {
	s, err := h.survey(r.Context())
	if err != nil {
		answer(w, r, nil, err)
		return
	}
	answer(w, r, s.diagnose(), nil)
}

// survey is everything that is looked at, by name.
type survey struct {
	paused      bool
	targets     map[string]*registry.Target
	credentials map[string]*registry.Credential
	providers   map[string]*surveyedProvider
	routes      map[string]*registry.Route
	clients     []registry.Client
	unread      int // providers past catalogsMax, or for which no time was left
}

type surveyedProvider struct {
	registry.Provider
	broken  bool           // whether its catalogue cannot be read
	read    bool           // whether the following is known
	tools   []surveyedTool // what it compiles to
	left    []leftOut      // operations that did not become tools
	refresh *lastRefresh   // of its specification; nil when none is on record
}

// surveyedTool is what diagnoses look at; catalogues are too large for all of them to be kept.
type surveyedTool struct{ name, scope string }

type leftOut struct{ path, message string }

type lastRefresh struct {
	failed  bool
	summary string
}

func (h *Handler) survey(ctx context.Context) (*survey, error) {
	s := &survey{}
	c := h.d.Config
	g, gctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		s.paused, err = h.d.Runs.ReadPaused(gctx)
		return err
	})
	g.Go(func() (err error) {
		s.targets, err = byName(gctx, c.Targets().List, func(t *registry.Target) string { return t.Name })
		return err
	})
	g.Go(func() (err error) {
		s.credentials, err = byName(gctx, c.Credentials().List, func(c *registry.Credential) string { return c.Name })
		return err
	})
	g.Go(func() (err error) {
		s.routes, err = byName(gctx, c.Routes().List, func(r *registry.Route) string { return r.RouteKey })
		return err
	})
	g.Go(func() (err error) {
		s.clients, err = c.Clients().List(gctx)
		return err
	})
	var providers []registry.Provider
	g.Go(func() (err error) {
		providers, err = c.Providers().List(gctx)
		return err
	})
	if err := g.Wait(); err != nil {
		return nil, err
	}
	if t, ok := registry.BuiltinTarget(registry.TargetLLM); ok && s.targets[t.Name] == nil {
		s.targets[t.Name] = &t
	}
	return s, h.surveyProviders(ctx, s, providers)
}

// byName lists the records of one kind.
func byName[T any](ctx context.Context, list func(context.Context) ([]T, error), name func(*T) string) (map[string]*T,
	error) {
	all, err := list(ctx)
	if err != nil {
		return nil, err
	}
	out := make(map[string]*T, len(all))
	for i := range all {
		out[name(&all[i])] = &all[i]
	}
	return out, nil
}

// surveyProviders reads the catalogues one after another: of two large ones at once the function might not live.
func (h *Handler) surveyProviders(ctx context.Context, s *survey, all []registry.Provider) error {
	s.providers = make(map[string]*surveyedProvider, len(all))
	for i := range all {
		p := &surveyedProvider{Provider: all[i]}
		s.providers[p.Name] = p
		if i >= catalogsMax || h.late(ctx, surveyReserve) {
			s.unread++
			continue
		}
		catalog, err := registry.LoadCatalog(ctx, h.d.Config, &p.Provider)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		p.read, p.broken = err == nil, err != nil // one that cannot be read must not hide the others
		p.take(catalog)
		if p.SpecSource != registry.SpecURLSource {
			continue
		}
		if p.refresh, err = h.lastRefresh(ctx, p.Name); err != nil {
			return err
		}
	}
	return nil
}

// late reports whether less than reserve is left of the invocation's time.
func (h *Handler) late(ctx context.Context, reserve time.Duration) bool {
	deadline, limited := ctx.Deadline()
	return limited && deadline.Sub(h.d.Clock.Now()) < reserve
}

func (p *surveyedProvider) take(catalog *capability.Catalog) {
	if catalog == nil {
		return
	}
	for i := range catalog.Tools {
		p.tools = append(p.tools, surveyedTool{catalog.Tools[i].Name, catalog.Tools[i].Scope})
	}
	for _, d := range catalog.Diagnostics {
		if d.Severity == capability.SeverityError {
			p.left = append(p.left, leftOut{d.Path, d.Message})
		}
	}
}

// lastRefresh finds the last refresh of a provider among its latest records.
func (h *Handler) lastRefresh(ctx context.Context, name string) (*lastRefresh, error) {
	records, err := h.d.Ledger.ProviderEvents(ctx, name, refreshesSeen)
	if err != nil {
		return nil, err
	}
	for _, record := range records {
		var e struct{ Event, Summary string }
		if json.Unmarshal(record, &e) != nil {
			continue // a record that cannot be read says nothing
		}
		switch e.Event {
		case "spec_refreshed":
			return &lastRefresh{}, nil
		case "spec_refresh_failed":
			return &lastRefresh{failed: true, summary: e.Summary}, nil
		}
	}
	return nil, nil
}
