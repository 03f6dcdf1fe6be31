package agentsession

import (
	"context"
	"log/slog"
	"strings"

	"bailing/shared/canonical"
	"bailing/shared/registry"
	"bailing/shared/textlimit"
)

// Revoke ends the session of an agent (agent §2.10). A bearer, "" when there is none, decides alone: the session that holds it is
// revoked, though the token may have expired. Without one, a refresh token of the session does it. Nothing tells whether there was
// such a session.
//
// The revocation is one conditional write of the session, which every later use of its tokens is conditional on. Again, or beside another,
// it changes nothing more.
func (s *Service) Revoke(ctx context.Context, bearer string, body canonical.Value) error {
	if bearer != "" {
		if !strings.HasPrefix(bearer, accessPrefix) {
			return unauthorized()
		}
		return s.revokeByAccess(ctx, hash(bearer))
	}
	b := readBody(body, "client_app_id", "refresh_token")
	appID, token := b.text("client_app_id"), b.text("refresh_token")
	b.require(textlimit.ResourceName(appID) && strings.HasPrefix(token, refreshPrefix))
	if err := b.err(); err != nil {
		return err
	}
	row, err := s.Store.ReadRefreshToken(ctx, hash(token))
	if row == nil || err != nil {
		return unavailable(unavailableAuth, err)
	}
	return s.revokeOwn(ctx, row.SessionID, Match{ClientAppID: appID})
}

func (s *Service) revokeByAccess(ctx context.Context, access string) error {
	owner, err := s.owner(ctx, access)
	if owner == nil || err != nil {
		return unavailable(unavailableAuth, err)
	}
	return s.revokeOwn(ctx, owner.SessionID, Match{AccessHash: access})
}

func (s *Service) revokeOwn(ctx context.Context, id string, m Match) error {
	found, err := s.Store.Revoke(ctx, id, m, s.now())
	if err != nil {
		return unavailable(unavailableAuth, err)
	}
	if found {
		s.log(ctx, slog.LevelInfo, "agent session revoked by its agent", slog.String("session_id", id))
	}
	return nil
}

// RevokeSession ends a session of the client (agent §2.11). Again it changes nothing more. One trip.
func (s *Service) RevokeSession(ctx context.Context, client *registry.Client, sessionID string) error {
	id, ok := textlimit.NormalizeUUID(sessionID)
	if !ok {
		return notFound()
	}
	found, err := s.Store.Revoke(ctx, id, Match{ClientAppID: client.AppID}, s.now())
	if err != nil {
		return unavailable(unavailableAuth, err)
	}
	if !found {
		return notFound()
	}
	s.log(ctx, slog.LevelInfo, "agent session revoked by its business", slog.String("session_id", id), slog.String("client", client.AppID))
	return nil
}
