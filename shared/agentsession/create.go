package agentsession

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"bailing/shared/apierr"
	"bailing/shared/canonical"
	"bailing/shared/limit"
	"bailing/shared/ratelimit"
	"bailing/shared/registry"
)

// createLimit is how many requests one address may make for one client (agent §2.2).
var createLimit = ratelimit.Policy{Count: 10, Window: time.Minute}

// Create stores a request of a local agent to be let in (agent §2.2). source is the address that the call came from (D24).
//
// Run twice it makes two requests, each of which nobody has decided about; one that dies leaves at most a charge of the limit, or a
// request that expires by itself. Three trips; a lost race for the limit is one more each.
func (s *Service) Create(ctx context.Context, body canonical.Value, source string) (Created, error) {
	a, err := parseRequest(body)
	if err != nil {
		return Created{}, err
	}
	client, row, err := s.Store.ReadCreate(ctx, a.ClientAppID, hash(a.ClientAppID+"\x00"+source))
	if err != nil {
		return Created{}, unavailable(unavailableAuth, err)
	}
	if client == nil || !client.Enabled || client.AgentAuthorizeURL == "" || !allows(client, a.RequestedRoutes) {
		return Created{}, apierr.New(apierr.Invalid, "invalid_client")
	}
	now := s.now()
	_, decision, err := limit.Take(ctx, s.Store, row, createLimit, now)
	if err != nil {
		return Created{}, unavailable(unavailableAuth, err)
	}
	if !decision.Allowed {
		return Created{}, apierr.New(apierr.RateLimited, "rate_limited")
	}
	if registry.CheckAuthorizeURL(client.AgentAuthorizeURL) != nil {
		return Created{}, apierr.New(apierr.Unavailable, "agent_authorize_url_invalid")
	}
	a.ID, a.Status, a.CreatedAt, a.ExpiresAt = s.NewID(), Pending, now, now.Add(AuthorizationLife)
	if err := s.Store.CreateAuthorization(ctx, &a); err != nil {
		return Created{}, unavailable(unavailableAuth, err)
	}
	s.log(ctx, slog.LevelInfo, "agent authorization requested", slog.String("authorization_id", a.ID), slog.String("client", a.ClientAppID))
	return Created{
		AuthorizationID: a.ID, AuthorizationURL: authorizationURL(client.AgentAuthorizeURL, a.ID),
		ExpiresIn: int(AuthorizationLife / time.Second),
	}, nil
}

// allows reports whether the client may use every one of routes.
func allows(c *registry.Client, routes []string) bool {
	return !slices.ContainsFunc(routes, func(r string) bool { return !c.MayUse(r) })
}
