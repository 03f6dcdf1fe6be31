package agentsession

import (
	"context"
	"log/slog"
	"time"

	"bailing/shared/apierr"
	"bailing/shared/canonical"
	"bailing/shared/registry"
	"bailing/shared/textlimit"
)

// Statuses of a display name (agent §2.13).
const (
	displayProvided = "provided"
	displayMissing  = "missing"
)

// display is the stored name, if it may be shown; anything else reads as missing.
func (s *Session) display() (*Display, string) {
	if !isDisplay(s.Display, s.Display) || textlimit.Trim(s.Display) != s.Display {
		return nil, displayMissing
	}
	return &Display{Name: s.Display}, displayProvided
}

// shown is the principal with a list of roles, be it empty.
func (p Principal) shown() Principal {
	if p.Roles == nil {
		p.Roles = []string{}
	}
	return p
}

// View is the session as its agent sees it (agent §2.9).
func (s *Session) View() SessionView {
	display, status := s.display()
	return SessionView{
		SessionID: s.ID, ClientAppID: s.ClientAppID, DeviceLabel: s.DeviceLabel, SubjectDisplay: display, SubjectDisplayStatus: status,
		Principal: s.Principal.shown(), OnBehalfOf: s.OnBehalfOf, AllowedRoutes: s.AllowedRoutes, CreatedAt: timestamp(s.CreatedAt),
		ExpiresAt: timestamp(s.AccessExpiresAt), RefreshExpiresAt: timestamp(s.RefreshExpiresAt),
	}
}

// item is the session as its business sees it (agent §2.12).
func (s *Session) item(now time.Time) SessionItem {
	display, status := s.display()
	return SessionItem{
		SessionID: s.ID, AuthorizationID: s.AuthorizationID, ClientAppID: s.ClientAppID, DeviceLabel: s.DeviceLabel,
		SubjectDisplay: display, SubjectDisplayStatus: status, Principal: s.Principal.shown(), OnBehalfOf: s.OnBehalfOf,
		AllowedRoutes: s.AllowedRoutes, State: s.StateAt(now), CreatedAt: timestamp(s.CreatedAt), ExpiresAt: timestamp(s.RefreshExpiresAt),
		LastSeenAt: timestamp(s.LastSeenAt), RevokedAt: timestamp(s.RevokedAt),
	}
}

// linked is the session as a consumed request shows it (agent §2.3).
func (s *Session) linked(now time.Time) *LinkedSession {
	display, status := s.display()
	return &LinkedSession{
		SessionID: s.ID, State: s.StateAt(now), ExpiresAt: timestamp(s.RefreshExpiresAt), SubjectDisplay: display,
		SubjectDisplayStatus: status, RevokedAt: timestamp(s.RevokedAt),
	}
}

// SetSubjectDisplay replaces the name under which a session's subject is shown (agent §2.13). It is one conditional write of that
// member alone: the last one wins, and neither tokens nor identity change. One trip.
func (s *Service) SetSubjectDisplay(ctx context.Context, client *registry.Client, sessionID string, body canonical.Value) (SessionItem, error) {
	id, ok := textlimit.NormalizeUUID(sessionID)
	if !ok {
		return SessionItem{}, notFound()
	}
	name, err := parseDisplay(body)
	if err != nil {
		return SessionItem{}, err
	}
	now := s.now()
	session, active, err := s.Store.SetDisplay(ctx, id, client.AppID, name, now)
	switch {
	case err != nil:
		return SessionItem{}, unavailable(unavailableDisplay, err)
	case session == nil:
		return SessionItem{}, notFound()
	case !active:
		return SessionItem{}, apierr.New(apierr.Conflict, "session_inactive")
	}
	s.log(ctx, slog.LevelInfo, "subject display of an agent session set", slog.String("session_id", id), slog.String("client", client.AppID))
	return session.item(now), nil
}
