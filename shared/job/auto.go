package job

import (
	"context"

	"bailing/shared/apierr"
	"bailing/shared/audience"
	"bailing/shared/registry"
)

// routeAuto asks the hub to choose a route (core §1.4).
const routeAuto = "auto"

// launchAuto launches a submission whose route the hub chooses. A request id that has a job is not routed again (I9).
func (l *Launcher) launchAuto(ctx context.Context, client *registry.Client, s Submission, view LaunchView) (Accepted, error) {
	if view.Request != nil {
		return l.replay(ctx, client, s, *view.Request, nil)
	}
	route, why, err := l.chooseRoute(ctx, client, s)
	if err != nil {
		return Accepted{}, err
	}
	view.Route, s.Chosen = route, &why
	return l.create(ctx, client, s, view)
}

// chooseRoute finds the route that `route: "auto"` means for a submission, and why it is that one (core §1.4). A tie is 409, no
// route 400, both with the decision; nothing is stored or charged. It takes two trips.
func (l *Launcher) chooseRoute(ctx context.Context, client *registry.Client, s Submission) (*registry.Route, audience.Candidate, error) {
	routes, err := l.Store.ReadAutoRoutes(ctx)
	if err != nil {
		return nil, audience.Candidate{}, err
	}
	d, _ := audience.Decide(registry.AutoRoutes(routes, client), s.Principal, audience.SearchText(s.Input, s.Metadata))
	if !d.OK {
		code := apierr.Invalid
		if d.Error == audience.Ambiguous {
			code = apierr.Conflict
		}
		return nil, audience.Candidate{}, apierr.New(code, d.Error).With("decision", d)
	}
	for i := range routes {
		if routes[i].RouteKey == d.RouteKey {
			return &routes[i], d.Candidates[0], nil
		}
	}
	return nil, audience.Candidate{}, apierr.New(apierr.Internal, "the chosen route is gone") // cannot happen: it is one of routes
}

// named is the route if the caller named it, nil if the hub chose it.
func named(s Submission, r *registry.Route) *registry.Route {
	if s.Chosen != nil {
		return nil
	}
	return r
}
