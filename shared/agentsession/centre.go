package agentsession

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"time"

	"bailing/shared/apierr"
	"bailing/shared/clock"
	"bailing/shared/registry"
)

// Limits of lists for administrators (agent §10.4).
const (
	DefaultCentrePage = 50
	maxCentrePage     = 200
	// centreMax bounds how many sessions one call looks at. Each client has its share of them, and at least centreShare: the newest ones.
	centreMax   = 5000
	centreShare = 20
)

// CentreStore is what administrators do with the sessions of all clients.
type CentreStore interface {
	ListSessions(ctx context.Context, f Filter, after Position, n int) (list []*Session, examined Position, more bool, err error)
	// RevokeNoted revokes a session with all its tokens and writes the change to the audit records, in one transaction. already says
	// that it was revoked before: then nothing is written. found is false when there is none.
	RevokeNoted(ctx context.Context, id string, now time.Time, c registry.Change) (found, already bool, err error)
}

// Centre is the commands of administrators (agent §10.4). It is safe for concurrent use.
type Centre struct {
	Store  CentreStore
	Clock  clock.Clock
	Logger *slog.Logger
}

// CentreQuery narrows a list of sessions; "" as the state is every state. Limits are pulled into 1 to 200, the offset to 0 or more.
type CentreQuery struct {
	State         SessionState
	Limit, Offset int
}

// CentreItem is a session as administrators see it.
type CentreItem struct {
	SessionID            string       `json:"session_id"`
	ClientAppID          string       `json:"client_app_id"`
	DeviceLabel          string       `json:"device_label"`
	SubjectDisplay       *Display     `json:"subject_display"`
	SubjectDisplayStatus string       `json:"subject_display_status"`
	Principal            Principal    `json:"principal"`
	OnBehalfOf           string       `json:"on_behalf_of"`
	AllowedRoutes        []string     `json:"allowed_routes"`
	State                SessionState `json:"state"`
	CreatedAt            string       `json:"created_at"`
	AccessExpiresAt      string       `json:"access_expires_at"`
	RefreshExpiresAt     string       `json:"refresh_expires_at"`
	LastSeenAt           string       `json:"last_seen_at,omitempty"`
	RevokedAt            string       `json:"revoked_at,omitempty"`
}

// CentrePage is a part of the list. Total counts every session that the query lets through; Truncated says that there are older
// ones which were not looked at.
type CentrePage struct {
	List      []CentreItem `json:"list"`
	Total     int          `json:"total"`
	Truncated bool         `json:"truncated,omitempty"`
}

// List shows the sessions of the clients, newest first.
func (c *Centre) List(ctx context.Context, clients []string, q CentreQuery) (CentrePage, error) {
	page := CentrePage{List: []CentreItem{}}
	all, truncated, err := c.walk(ctx, clients)
	if err != nil {
		return page, err
	}
	now := c.now()
	found := slices.DeleteFunc(all, func(s *Session) bool { return q.State != "" && s.StateAt(now) != q.State })
	page.Total, page.Truncated = len(found), truncated
	offset, limit := max(q.Offset, 0), min(max(q.Limit, 1), maxCentrePage)
	for _, s := range found[min(offset, len(found)):min(offset+limit, len(found))] {
		page.List = append(page.List, s.centreItem(now))
	}
	return page, nil
}

// Counts are the sessions of a client by their state, and when its agents were last seen; the zero time for never.
type Counts struct {
	Active, Expired, Revoked int
	LastSeenAt               time.Time
}

// Count counts the sessions of the clients, those that List looks at.
func (c *Centre) Count(ctx context.Context, clients []string) (map[string]Counts, error) {
	all, _, err := c.walk(ctx, clients)
	if err != nil {
		return nil, err
	}
	now, counts := c.now(), map[string]Counts{}
	for _, s := range all {
		n := counts[s.ClientAppID]
		switch s.StateAt(now) {
		case SessionActive:
			n.Active++
		case SessionExpired:
			n.Expired++
		case SessionRevoked:
			n.Revoked++
		}
		if s.LastSeenAt.After(n.LastSeenAt) {
			n.LastSeenAt = s.LastSeenAt
		}
		counts[s.ClientAppID] = n
	}
	return counts, nil
}

// Revoke revokes a session, whoever's it is, and says whether it was revoked already; 404 when there is none.
func (c *Centre) Revoke(ctx context.Context, id string, change registry.Change) (already bool, err error) {
	change.Event, change.At = "agent_session_admin_revoked", c.now()
	found, already, err := c.Store.RevokeNoted(ctx, id, change.At, change)
	switch {
	case err != nil:
		return false, err
	case !found:
		return false, apierr.New(apierr.NotFound, "there is no such session")
	case !already:
		c.Logger.LogAttrs(ctx, slog.LevelInfo, "agent session revoked by an administrator", slog.String("session_id", id))
	}
	return already, nil
}

func (c *Centre) now() time.Time { return c.Clock.Now().UTC().Truncate(time.Millisecond) }

// walk reads the newest sessions of the clients, newest first, two trips for each 100 of a client.
func (c *Centre) walk(ctx context.Context, clients []string) (all []*Session, truncated bool, err error) {
	for _, app := range clients {
		at, room := Position{}, max(centreMax/len(clients), centreShare)
		for more := true; more; {
			if room == 0 {
				truncated = true
				break
			}
			n := min(room, maxPage)
			var list []*Session
			if list, at, more, err = c.Store.ListSessions(ctx, Filter{ClientAppID: app}, at, n); err != nil {
				return nil, false, err
			}
			all, room = append(all, list...), room-n
		}
	}
	slices.SortFunc(all, func(a, b *Session) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(b.ID, a.ID))
	})
	return all, truncated, nil
}

func (s *Session) centreItem(now time.Time) CentreItem {
	display, status := s.display()
	return CentreItem{
		SessionID: s.ID, ClientAppID: s.ClientAppID, DeviceLabel: s.DeviceLabel, SubjectDisplay: display, SubjectDisplayStatus: status,
		Principal: s.Principal.shown(), OnBehalfOf: s.OnBehalfOf, AllowedRoutes: s.AllowedRoutes, State: s.StateAt(now),
		CreatedAt: timestamp(s.CreatedAt), AccessExpiresAt: timestamp(s.AccessExpiresAt), RefreshExpiresAt: timestamp(s.RefreshExpiresAt),
		LastSeenAt: timestamp(s.LastSeenAt), RevokedAt: timestamp(s.RevokedAt),
	}
}
