package agentsession

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bailing/shared/limit"
	"bailing/shared/registry"
)

// Moved says that a request is no longer as its change needs it. Now is the request as it is, nil when it is gone.
type Moved struct{ Now *Authorization }

func (e *Moved) Error() string {
	if e.Now == nil {
		return "agentsession: the authorization is gone"
	}
	return fmt.Sprintf("agentsession: the authorization is %s", e.Now.Status)
}

// ErrMoved says that a session or a token is no longer as its change needs it.
var ErrMoved = errors.New("agentsession: the session or its token has moved on")

// RefreshRows is what decides about a refresh; each is nil when it does not exist.
type RefreshRows struct {
	Client  *registry.Client
	Token   *RefreshToken
	Session *Session
}

// Rotation replaces the tokens of a session.
type Rotation struct {
	SessionID       string
	ClientAppID     string // the session's
	Old, New        string // hashes of refresh tokens
	OldAccess       string // hashes of access tokens
	NewAccess       string
	AccessExpiresAt time.Time
	ExpiresAt       time.Time // of the new refresh token: the session's
	Now             time.Time
}

// Owner is whose an access token is or was. It never changes.
type Owner struct{ SessionID, ClientAppID string }

// Match is what must hold of a session for it to be revoked; "" is not looked at.
type Match struct {
	ClientAppID     string
	AccessHash      string
	AuthorizationID string
}

// Filter narrows a list of sessions to those of exactly these values; nil does not narrow. A Tenant of "" is no tenant.
type Filter struct {
	ClientAppID string
	OnBehalfOf  *string
	PrincipalID *string
	Tenant      *string
}

// Position is a place in a list of sessions: newest first, then by id, the largest first. The zero Position is its beginning.
type Position struct {
	CreatedAt time.Time
	SessionID string
}

// Store keeps authorizations and sessions. Every change is one conditional write or one transaction, which happens whole or not at all,
// also when the request for it is repeated because its answer was lost.
type Store interface {
	limit.Writer // the limits of Create

	// Token reads what a business's token authenticates, nil when it is unknown; one trip.
	Token(ctx context.Context, hash string) (*registry.Token, error)

	// ReadCreate reads a client, nil when there is none, and the bucket called name; one trip.
	ReadCreate(ctx context.Context, appID, name string) (*registry.Client, limit.Row, error)
	// CreateAuthorization stores a new request.
	CreateAuthorization(ctx context.Context, a *Authorization) error
	// ReadAuthorization reads a request, nil when there is none; one trip.
	ReadAuthorization(ctx context.Context, id string) (*Authorization, error)
	// Approve makes a pending request that has not expired approved, with a.Grant and a code by whose hash it is found; else *Moved.
	Approve(ctx context.Context, a *Authorization, now time.Time) error
	// End makes a request Denied (while it is pending and has not expired), Expired (while it is pending and has), or Revoked (while it
	// is pending or approved, whose code is forgotten); else *Moved.
	End(ctx context.Context, id string, to Status, now time.Time) error

	// ReadCode reads a client, and the request that a code belongs to; one trip and, for a known code, a second.
	ReadCode(ctx context.Context, appID, codeHash string) (*registry.Client, *Authorization, error)
	// Exchange makes an approved request, whose code is still a.CodeHash and has not expired, consumed, and stores the session that
	// comes of it with its first refresh token, in one transaction; else *Moved.
	Exchange(ctx context.Context, a *Authorization, s *Session, refreshHash string, now time.Time) error

	// ReadRefresh reads what decides about a refresh token; one trip when session names the token's session, else two.
	ReadRefresh(ctx context.Context, appID, tokenHash, session string) (RefreshRows, error)
	// Rotate makes the old refresh token used and stores the new one, and replaces the session's access token, in one transaction: while
	// the old one is active and the session not revoked; else ErrMoved.
	Rotate(ctx context.Context, r Rotation) error
	// Reuse makes a token replayed and revokes its session with all other tokens, in one transaction. A second time changes nothing.
	Reuse(ctx context.Context, tokenHash, sessionID string, now time.Time) error
	// ReadRefreshToken reads one refresh token, nil when it is unknown; one trip.
	ReadRefreshToken(ctx context.Context, tokenHash string) (*RefreshToken, error)

	// ReadAccess reads whose an access token is, nil when it is unknown; one trip.
	ReadAccess(ctx context.Context, hash string) (*Owner, error)
	// ReadSession reads a session and, unless appID is "", a client; one trip. Either is nil when it does not exist.
	ReadSession(ctx context.Context, id, appID string) (*Session, *registry.Client, error)
	// Touch notes that the session was seen now, if the access token is the one that works and nobody noted it after since; else it
	// does nothing. It changes no other member.
	Touch(ctx context.Context, id, accessHash string, now, since time.Time) error
	// Revoke revokes a session with all its tokens. One that is revoked keeps its time. found is false when no session matches.
	Revoke(ctx context.Context, id string, m Match, now time.Time) (found bool, err error)
	// SetDisplay replaces the display name, "" for none, of an active session of the client, and returns the session: nil when there is
	// none, and active false when nothing was changed because it is not.
	SetDisplay(ctx context.Context, id, appID, name string, now time.Time) (s *Session, active bool, err error)
	// ListSessions reads up to n sessions behind after that the filter lets through, two trips. examined is the place up to which it
	// looked; more says that there are others behind it.
	ListSessions(ctx context.Context, f Filter, after Position, n int) (list []*Session, examined Position, more bool, err error)
}
