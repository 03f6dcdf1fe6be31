package agentsession

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"bailing/shared/apierr"
	"bailing/shared/canonical"
	"bailing/shared/registry"
	"bailing/shared/textlimit"
)

// owned reads a request of the client; 404 for any other, and for what is no id. code is what a failure of the store is called.
func (s *Service) owned(ctx context.Context, client *registry.Client, id, code string) (*Authorization, error) {
	id, ok := textlimit.NormalizeUUID(id)
	if !ok {
		return nil, notFound()
	}
	a, err := s.Store.ReadAuthorization(ctx, id)
	if err != nil {
		return nil, unavailable(code, err)
	}
	if a == nil || a.ClientAppID != client.AppID {
		return nil, notFound()
	}
	return a, nil
}

// Context shows a request to the business that it is addressed to (agent §2.3). One trip; a consumed one takes two.
func (s *Service) Context(ctx context.Context, client *registry.Client, id string) (AuthorizationView, error) {
	a, err := s.owned(ctx, client, id, unavailableLifecycle)
	if err != nil {
		return AuthorizationView{}, err
	}
	now := s.now()
	v := AuthorizationView{
		AuthorizationID: a.ID, Client: ClientName{client.AppID, client.Name}, Device: DeviceName{a.DeviceLabel},
		RequestedRoutes: a.RequestedRoutes, Status: a.StatusAt(now), ExpiresAt: timestamp(a.ExpiresAt),
	}
	if v.Status != Consumed {
		return v, nil
	}
	var linked *LinkedSession
	if a.SessionID != "" {
		session, _, err := s.Store.ReadSession(ctx, a.SessionID, "")
		if err != nil {
			return AuthorizationView{}, unavailable(unavailableLifecycle, err)
		}
		if session != nil && session.AuthorizationID == a.ID && session.ClientAppID == a.ClientAppID {
			linked = session.linked(now)
		}
	}
	v.Session = linked // a nil *LinkedSession is shown as null
	return v, nil
}

// Approve lets the agent in as the business says (agent §2.4): with a code that the redirect carries and that is kept nowhere else.
//
// The change of the request and the code's row are one transaction, conditional on a pending request that has not expired. Of two
// approvals, or an approval and a denial, one is carried out and the other is a conflict; so is the same approval again. One
// that dies before its transaction did nothing; after it, the code is lost, and the person has to begin again. Two trips.
func (s *Service) Approve(ctx context.Context, client *registry.Client, id string, body canonical.Value) (Redirect, error) {
	grant, err := parseGrant(body)
	if err != nil {
		return Redirect{}, err
	}
	a, err := s.owned(ctx, client, id, unavailableAuth)
	if err != nil {
		return Redirect{}, err
	}
	if !allows(client, grant.Routes) || slices.ContainsFunc(grant.Routes, func(r string) bool { return !slices.Contains(a.RequestedRoutes, r) }) {
		return Redirect{}, apierr.New(apierr.Forbidden, "route_not_allowed")
	}
	code, err := draw(s.Random, codePrefix)
	if err != nil {
		return Redirect{}, unavailable(unavailableAuth, err)
	}
	err = s.transition(ctx, client, a, Approved, func(now time.Time) error {
		approved := *a
		approved.Status, approved.Grant = Approved, grant
		approved.CodeHash, approved.CodeExpiresAt = hash(code), now.Add(CodeLife)
		return s.Store.Approve(ctx, &approved, now)
	})
	if err != nil {
		return Redirect{}, err
	}
	return Redirect{redirectTo(a.RedirectURI, "code", code, a.State)}, nil
}

// Deny refuses the agent (agent §2.5). A body that is no object counts as an empty one; one with a member is an error. It is one
// conditional write, with the outcomes of [Service.Approve]. Two trips.
func (s *Service) Deny(ctx context.Context, client *registry.Client, id string, body canonical.Value) (Redirect, error) {
	if body.Kind() == canonical.Object && body.Len() > 0 {
		return Redirect{}, invalidRequest()
	}
	a, err := s.owned(ctx, client, id, unavailableAuth)
	if err != nil {
		return Redirect{}, err
	}
	err = s.transition(ctx, client, a, Denied, func(now time.Time) error { return s.Store.End(ctx, a.ID, Denied, now) })
	if err != nil {
		return Redirect{}, err
	}
	return Redirect{redirectTo(a.RedirectURI, "error", "access_denied", a.State)}, nil
}

// transition moves a pending request to another state, or says why not: its expiry is looked at before its state, so that an old
// approved request has expired rather than been decided (agent §2.4).
func (s *Service) transition(ctx context.Context, client *registry.Client, a *Authorization, to Status, change func(now time.Time) error) error {
	now := s.now()
	if err := s.refusal(ctx, client, a, now); err != nil {
		return err
	}
	err := change(now)
	var moved *Moved
	if errors.As(err, &moved) {
		if err := s.refusal(ctx, client, moved.Now, now); err != nil {
			return err
		}
	}
	if err != nil {
		return unavailable(unavailableAuth, err)
	}
	s.log(ctx, slog.LevelInfo, "agent authorization decided", slog.String("authorization_id", a.ID), slog.String("client", a.ClientAppID),
		slog.String("status", string(to)))
	return nil
}

// refusal is why nobody can decide about a request any more; nil while somebody can. A pending one that has expired is stored so.
func (s *Service) refusal(ctx context.Context, client *registry.Client, a *Authorization, now time.Time) error {
	switch {
	case a == nil:
		return notFound()
	case a.ClientAppID != client.AppID:
		return apierr.New(apierr.NotFound, "wrong_client")
	case a.ExpiredAt(now):
		if a.Status == Pending {
			err := s.Store.End(ctx, a.ID, Expired, now)
			var moved *Moved // somebody else ended it: it is over all the same
			if err != nil && !errors.As(err, &moved) {
				return unavailable(unavailableAuth, err)
			}
		}
		return apierr.New(apierr.Gone, "expired")
	case a.Status != Pending:
		return apierr.New(apierr.Conflict, "invalid_state")
	}
	return nil
}

// RevokeAuthorization takes a request back, and the session that came of it (agent §2.6).
//
// A pending or approved request becomes revoked by one conditional write, which an exchange of its code is conditional on as well: if
// the exchange is first, the write fails, tells that the request is consumed, and the session is revoked by a second one. So
// no session outlives it, whichever is first. Run again it changes nothing more, also when it died between the two. Two trips,
// three when it loses that race.
func (s *Service) RevokeAuthorization(ctx context.Context, client *registry.Client, id string, body canonical.Value) (AuthorizationRevoked, error) {
	if body.Kind() != canonical.Object || body.Len() > 0 {
		return AuthorizationRevoked{}, invalidRequest()
	}
	a, err := s.owned(ctx, client, id, unavailableLifecycle)
	if err != nil {
		return AuthorizationRevoked{}, err
	}
	now := s.now()
	if a.Status == Pending || a.Status == Approved {
		err := s.Store.End(ctx, a.ID, Revoked, now)
		var moved *Moved
		switch {
		case errors.As(err, &moved):
			if a = moved.Now; a == nil {
				return AuthorizationRevoked{}, notFound()
			}
		case err != nil:
			return AuthorizationRevoked{}, unavailable(unavailableLifecycle, err)
		}
	}
	done := AuthorizationRevoked{AuthorizationID: a.ID, Revoked: true}
	if a.Status == Consumed {
		if a.SessionID == "" {
			return AuthorizationRevoked{}, notFound()
		}
		found, err := s.Store.Revoke(ctx, a.SessionID, Match{ClientAppID: client.AppID, AuthorizationID: a.ID}, now)
		if err != nil {
			return AuthorizationRevoked{}, unavailable(unavailableLifecycle, err)
		}
		if !found {
			return AuthorizationRevoked{}, notFound()
		}
		done.SessionID = a.SessionID
	}
	s.log(ctx, slog.LevelInfo, "agent authorization revoked", slog.String("authorization_id", a.ID), slog.String("client", client.AppID),
		slog.String("session_id", done.SessionID))
	return done, nil
}
