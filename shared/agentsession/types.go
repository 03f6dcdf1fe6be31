package agentsession

import (
	"crypto/subtle"
	"time"

	"bailing/shared/registry"
)

// Lifetimes (agent §2.1).
const (
	AuthorizationLife = 600 * time.Second
	CodeLife          = 120 * time.Second
	AccessLife        = 900 * time.Second
	RefreshLife       = 30 * 24 * time.Hour // of a session; refreshing does not extend it
)

// Status is the state of an authorization request (agent §2.14).
type Status string

const (
	Pending  Status = "pending"
	Approved Status = "approved"
	Consumed Status = "consumed"
	Denied   Status = "denied"
	Expired  Status = "expired"
	Revoked  Status = "revoked"
)

// Principal is who the business says stands behind a session. It has exactly these members (agent §2.4).
type Principal struct {
	ID       string   `json:"id"`
	Tenant   string   `json:"tenant,omitempty"`
	Roles    []string `json:"roles"`
	Audience string   `json:"audience,omitempty"`
	Channel  string   `json:"channel,omitempty"`
}

// Grant is what the business approved.
type Grant struct {
	Principal  Principal
	OnBehalfOf string
	Routes     []string
	Display    string // "" = none
}

// complete reports whether a session can be made of the grant (agent §2.7).
func (g Grant) complete() bool {
	return g.Principal.ID != "" && g.OnBehalfOf != "" && len(g.Routes) > 0
}

// Authorization is one request of a local agent to be let in.
type Authorization struct {
	ID              string // lower-case UUID
	ClientAppID     string
	RedirectURI     string // as it came
	State           string // as it came
	RequestedRoutes []string
	DeviceLabel     string
	Challenge       string // PKCE, S256
	Status          Status // as stored; see StatusAt
	CreatedAt       time.Time
	ExpiresAt       time.Time

	Grant         Grant     // since the approval
	CodeHash      string    // SHA-256 hex, while approved
	CodeExpiresAt time.Time // while approved
	SessionID     string    // of the session, when consumed
}

// ExpiredAt reports whether nobody may decide about the request any more: from its expiry on.
func (a *Authorization) ExpiredAt(now time.Time) bool { return !now.Before(a.ExpiresAt) }

// StatusAt is the status as it is shown: a pending request whose expiry has passed reads as expired, before anything
// stores that. Only pending is re-labelled (agent §2.3).
func (a *Authorization) StatusAt(now time.Time) Status {
	if a.Status == Pending && a.ExpiredAt(now) {
		return Expired
	}
	return a.Status
}

// SessionState is the derived state of a session.
type SessionState string

const (
	SessionActive  SessionState = "active"
	SessionExpired SessionState = "expired"
	SessionRevoked SessionState = "revoked"
)

// Session is one login of a local agent.
type Session struct {
	ID              string // lower-case UUID
	AuthorizationID string
	ClientAppID     string
	DeviceLabel     string
	Principal       Principal
	OnBehalfOf      string
	AllowedRoutes   []string
	Display         string // "" = none

	CreatedAt        time.Time
	RefreshExpiresAt time.Time // fixed at the exchange
	AccessHash       string    // SHA-256 hex of the one access token that works
	AccessExpiresAt  time.Time
	RevokedAt        time.Time // zero while nobody revoked it
	ReusedAt         time.Time // when a refresh token was first used again; revokes every other token
	LastSeenAt       time.Time // zero until an agent was seen
}

// StateAt is the state of the session (agent §2.12).
func (s *Session) StateAt(now time.Time) SessionState {
	switch {
	case !s.RevokedAt.IsZero():
		return SessionRevoked
	case !s.RefreshExpiresAt.After(now):
		return SessionExpired
	}
	return SessionActive
}

// admits reports whether the access token with this hash works now (agent §1.2, points 2 and 3).
func (s *Session) admits(accessHash string, now time.Time) bool {
	return subtle.ConstantTimeCompare([]byte(s.AccessHash), []byte(accessHash)) == 1 &&
		s.RevokedAt.IsZero() && !s.AccessExpiresAt.Before(now) && !s.RefreshExpiresAt.Before(now)
}

// MayUse reports whether the session was let into the route. Its client's allowlist is another question (agent §2.16).
func (s *Session) MayUse(route string) bool {
	for _, r := range s.AllowedRoutes {
		if r == route {
			return true
		}
	}
	return false
}

// TokenState is the state of a refresh token (agent §2.14).
type TokenState string

const (
	TokenActive   TokenState = "active"
	TokenUsed     TokenState = "used"
	TokenReplayed TokenState = "replayed"
	TokenRevoked  TokenState = "revoked" // never stored; see StateIn
)

// RefreshToken is one refresh token of a session. Rows stay after their use: reuse is told by them.
type RefreshToken struct {
	Hash      string // SHA-256 hex
	SessionID string
	State     TokenState // as stored: active, used or replayed
	ExpiresAt time.Time
	Successor string // hash of the token that replaced it, when used
}

// StateIn is the token's state. A session has up to 2,880 tokens, more than a transaction can write, so that what revokes many of
// them is one member of the session: revoked_at revokes what was active, reused_at also what was used.
func (t *RefreshToken) StateIn(s *Session) TokenState {
	switch {
	case t.State == TokenReplayed:
		return TokenReplayed
	case !s.ReusedAt.IsZero(), !s.RevokedAt.IsZero() && t.State == TokenActive:
		return TokenRevoked
	}
	return t.State
}

// Usable reports whether agents may log in through the client: it is enabled and names a page for it (agent §1.2, point 4).
func Usable(c *registry.Client) bool {
	return c != nil && c.Enabled && c.AgentAuthorizeURL != "" && registry.CheckAuthorizeURL(c.AgentAuthorizeURL) == nil
}
