package registry

import (
	"context"
	"fmt"
	"slices"

	"bailing/shared/apierr"
	"bailing/shared/textlimit"
)

// maxReferrers bounds how many records an answer names that refer to another one.
const maxReferrers = 20

// Deleting an object is idempotent (core §10.3): one that is not there, or could not be, is deleted. The record, what is keyed
// by it, and the audit record are one transaction, conditional on the revision that was read.
//
// Targets, credentials and providers that a route refers to stay: 409 with `referred_by`. Saving a route makes a new revision of
// all that it refers to, so a deletion that looked before the route was saved meets a stale record and looks again, and a
// route that was checked before the deletion finds nothing to write a revision of and is checked again. Either the route is
// refused or the deletion. A route of an older release that refers to nothing refuses jobs (target), ends them with an error
// (credential) or offers no tools (provider, D22).
//
// Clients name routes that need not exist, so they keep no route from being deleted; the answer warns of them, because a later
// route of that key is theirs to use.
//
// An object that is created again under a deleted name starts from nothing: no secret, token, specification or probe of
// the earlier one, which a writer that still holds it cannot bring back either (see [Records.Delete]). What is kept by name
// elsewhere is kept: jobs of a client stay readable to a client of the same app_id, audit records stay.

// DeleteTarget deletes a stored target. The built-in one is what remains of its name.
func (s *Service) DeleteTarget(ctx context.Context, name string, c Change) error {
	_, builtin := BuiltinTarget(name)
	return remove(ctx, s, s.o.Store.Targets(), name, c, func(r *Route) bool { return r.Target == name && !builtin })
}

// DeleteCredential deletes a credential, with its key.
func (s *Service) DeleteCredential(ctx context.Context, name string, c Change) error {
	return remove(ctx, s, s.o.Store.Credentials(), name, c, func(r *Route) bool { return r.credential() == name })
}

// DeleteProvider deletes a tool provider, with its secret and specification.
func (s *Service) DeleteProvider(ctx context.Context, name string, c Change) error {
	return remove(ctx, s, s.o.Store.Providers(), name, c, func(r *Route) bool {
		return r.Tools != nil && slices.ContainsFunc(r.Tools.Sources, func(src ToolSource) bool { return src.Provider == name })
	})
}

// remove deletes the record called name unless a route refers to it.
func remove[T any](ctx context.Context, s *Service, records Records[T], name string, c Change, refers func(*Route) bool) error {
	if !textlimit.ResourceName(name) {
		return nil
	}
	return s.deletion(ctx, c, func() (func(Change) error, error) {
		v, err := records.Get(ctx, name)
		if err != nil || v == nil {
			return nil, err
		}
		routes, err := s.o.Store.Routes().ListNow(ctx)
		if err != nil {
			return nil, err
		}
		var referrers []string
		for i := range routes {
			if refers(&routes[i]) && len(referrers) < maxReferrers {
				referrers = append(referrers, routes[i].RouteKey)
			}
		}
		if len(referrers) > 0 {
			return nil, apierr.New(apierr.Conflict, "routes refer to it; change or delete them first").With("referred_by", referrers)
		}
		return func(c Change) error { return records.Delete(ctx, name, v.Revision, c) }, nil
	})
}

// deletion runs one read-decide-delete until it meets no other write. find returns what deletes the record that it read, nil when
// there is none; that somebody asked is on record then, too.
func (s *Service) deletion(ctx context.Context, c Change, find func() (func(Change) error, error)) error {
	return attempt(func() error {
		found, err := find()
		switch {
		case err != nil:
			return err
		case found == nil:
			return s.o.Store.Note(ctx, s.stamp(c))
		}
		return found(s.stamp(c))
	})
}

// RouteDeleted is the answer to a deleted route.
type RouteDeleted struct {
	// Warnings name clients, at most 20, that list the route by name.
	Warnings []string
}

// DeleteRoute deletes a route. Jobs that were accepted before run on as they were accepted, without tools.
func (s *Service) DeleteRoute(ctx context.Context, key string, c Change) (RouteDeleted, error) {
	if !textlimit.RouteKey(key) {
		return RouteDeleted{}, nil
	}
	err := s.deletion(ctx, c, func() (func(Change) error, error) {
		v, err := s.o.Store.Routes().Get(ctx, key)
		if err != nil || v == nil {
			return nil, err
		}
		return func(c Change) error { return s.o.Store.Routes().Delete(ctx, key, v.Revision, c) }, nil
	})
	if err != nil {
		return RouteDeleted{}, err
	}
	clients, err := s.o.Store.Clients().List(ctx)
	if err != nil {
		return RouteDeleted{}, err
	}
	var d RouteDeleted
	for _, client := range clients {
		if slices.Contains(client.AllowedRoutes, key) && len(d.Warnings) < maxReferrers {
			d.Warnings = append(d.Warnings, fmt.Sprintf("the client %s still lists this route: a new route of this key is allowed to it", client.AppID))
		}
	}
	return d, nil
}

// DeleteClient deletes a client. Its token is dead with the same write.
func (s *Service) DeleteClient(ctx context.Context, appID string, c Change) error {
	if !textlimit.ResourceName(appID) {
		return nil
	}
	return s.deletion(ctx, c, func() (func(Change) error, error) {
		v, err := s.o.Store.Clients().Get(ctx, appID)
		if err != nil || v == nil {
			return nil, err
		}
		return func(c Change) error { return s.o.Store.Clients().Delete(ctx, *v, c) }, nil
	})
}
