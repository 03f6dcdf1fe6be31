package registry

import (
	"context"
	"errors"
	"maps"
	"slices"

	"bailing/shared/apierr"
	"bailing/shared/canonical"
	"bailing/shared/textlimit"
)

// Sizes of the bodies that write a setup, in bytes (agent §1.3).
const (
	MaxRouteSetupBytes  = 256 << 10
	MaxClientSetupBytes = 32 << 10
)

// Codes of the setups (agent §10.1, §10.2).
const (
	CodeSetupConflict       = "agent_setup_conflict"
	CodeInvalidRequest      = "invalid_request"
	CodeInvalidSetup        = "invalid_agent_setup"
	CodeRouteNotFound       = "route_not_found"
	CodeClientNotFound      = "client_not_found"
	setupConflictExplained  = "the record has changed since it was read; nothing was saved, read it again"
	expectedRevisionMissing = "expected_revision must be the revision of the last reading: 64 lower-case hexadecimal digits"
)

// RouteSetup is the part of a route that connects local agents (agent §10.1); nothing else of the route is shown.
type RouteSetup struct {
	RouteKey    string       `json:"route_key"`
	Name        string       `json:"name"`
	Enabled     bool         `json:"enabled"`
	Permission  string       `json:"permission,omitempty"`
	Revision    string       `json:"revision"` // of the whole route, so that any edit of it conflicts
	AgentClient *AgentClient `json:"agent_client"`
	ToolSources []ToolSource `json:"tool_sources"`
	AgentDirect *AgentDirect `json:"agent_direct"`
}

func routeSetup(r *Route) (RouteSetup, error) {
	revision, err := revisionOf(r)
	setup := RouteSetup{
		RouteKey: r.RouteKey, Name: r.Name, Enabled: r.Enabled, Permission: r.Permission, Revision: revision,
		AgentClient: r.AgentClient, ToolSources: []ToolSource{},
	}
	if r.Tools != nil {
		setup.ToolSources = append(setup.ToolSources, r.Tools.Sources...)
		setup.AgentDirect = r.Tools.AgentDirect
	}
	return setup, err
}

// storedRoute reads the route called key: 400 when nothing can be called that, 404 when there is none.
func (s *Service) storedRoute(ctx context.Context, key string) (*Versioned[Route], error) {
	if !textlimit.RouteKey(key) {
		return nil, apierr.New(apierr.Invalid, CodeInvalidRequest).With("message", "the route key is malformed")
	}
	v, err := s.o.Store.Routes().Get(ctx, key)
	if err == nil && v == nil {
		err = apierr.New(apierr.NotFound, CodeRouteNotFound)
	}
	return v, err
}

// RouteSetup reads the setup of a route. Errors: 400 invalid_request for a malformed key, 404 route_not_found.
func (s *Service) RouteSetup(ctx context.Context, key string) (RouteSetup, error) {
	v, err := s.storedRoute(ctx, key)
	if err != nil {
		return RouteSetup{}, err
	}
	return routeSetup(&v.Value)
}

// SaveRouteSetup replaces the setup of a route, and only that: other members of the route and of its `tools` stay, whoever
// wrote them (agent §10.1). The body has exactly expected_revision, agent_client (object or null), tool_sources (a list; an
// empty one clears) and agent_direct (object or null).
//
// Errors, in this order: 400 invalid_request, 404 route_not_found, 409 agent_setup_conflict, 400 with the text of the broken
// rule, and again 409 or 404 when the route changes while it is written. It is one write, conditional on what was read: sent
// twice, the second one conflicts unless the first changed nothing; of two at the same time one conflicts.
func (s *Service) SaveRouteSetup(ctx context.Context, key string, body canonical.Value, c Change) (RouteSetup, error) {
	expected, err := readSetup(body, CodeInvalidRequest, map[string][]canonical.Kind{
		"agent_client": {canonical.Object, canonical.Null}, "tool_sources": {canonical.Array},
		"agent_direct": {canonical.Object, canonical.Null},
	})
	if err != nil {
		return RouteSetup{}, err
	}
	o := readObject(body, "", s.o.CheckURL)
	agents, sources, direct := o.agentClient("agent_client"), o.sources("tool_sources"), o.agentDirect("agent_direct")
	var saved RouteSetup
	err = attempt(func() error {
		v, err := s.storedRoute(ctx, key)
		if err != nil {
			return err
		}
		if now, err := revisionOf(&v.Value); err != nil || now != expected {
			return orConflict(err)
		}
		if o.err != nil {
			return o.err
		}
		v.Value.AgentClient = agents
		v.Value.Tools = v.Value.Tools.withSetup(sources, direct)
		if _, err := s.checkSources(ctx, v.Value.Tools); err != nil {
			return err
		}
		if saved, err = routeSetup(&v.Value); err != nil {
			return err
		}
		return s.o.Store.Routes().PutReferring(ctx, *v, v.Value.Tools.references(), s.stamp(c))
	})
	if err != nil {
		return RouteSetup{}, orConflict(err)
	}
	return saved, nil
}

// withSetup is t with other sources and another policy. Tools come into being with the default limit of calls.
func (t *RouteTools) withSetup(sources []ToolSource, direct *AgentDirect) *RouteTools {
	next := RouteTools{MaxCalls: defaultMaxCalls}
	if t != nil {
		next = *t
	} else if len(sources) == 0 && direct == nil {
		return nil
	}
	next.Sources, next.AgentDirect = sources, direct
	return &next
}

// readSetup checks that a body has expected_revision and exactly the members of kinds, each of one of its kinds.
func readSetup(body canonical.Value, code string, kinds map[string][]canonical.Kind) (revision string, err error) {
	refuse := func(text string) error { return apierr.New(apierr.Invalid, code).With("message", text) }
	if body.Kind() != canonical.Object {
		return "", refuse("the body must be a JSON object")
	}
	v, _ := body.Get("expected_revision")
	if v.Kind() != canonical.String || !textlimit.Hex64(v.Text()) {
		return "", refuse(expectedRevisionMissing)
	}
	for name := range body.Members() {
		if _, known := kinds[name]; !known && name != "expected_revision" {
			return "", refuse("the body has members beside the ones that it must have")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		if m, ok := body.Get(name); !ok || !slices.Contains(kinds[name], m.Kind()) {
			return "", refuse(name + " is missing or of the wrong type")
		}
	}
	return v.Text(), nil
}

// orConflict is err, or the conflict of a setup; writers that are always faster are one, too.
func orConflict(err error) error {
	if err != nil && !errors.Is(err, errBusy) {
		return err
	}
	return apierr.New(apierr.Conflict, CodeSetupConflict).With("message", setupConflictExplained)
}
