package agentsession

// Created is the answer to a new authorization request (agent §2.2).
type Created struct {
	AuthorizationID  string `json:"authorization_id"`
	AuthorizationURL string `json:"authorization_url"`
	ExpiresIn        int    `json:"expires_in"` // seconds
}

// AuthorizationView is a request as the business sees it (agent §2.3).
type AuthorizationView struct {
	AuthorizationID string     `json:"authorization_id"`
	Client          ClientName `json:"client"`
	Device          DeviceName `json:"device"`
	RequestedRoutes []string   `json:"requested_routes"`
	Status          Status     `json:"status"`
	ExpiresAt       string     `json:"expires_at"` // of the request

	// Session is a *LinkedSession, or null, of a consumed request; absent from any other.
	Session any `json:"session,omitempty"`
}

// ClientName names a client.
type ClientName struct {
	AppID string `json:"app_id"`
	Name  string `json:"name"`
}

// DeviceName names the device that asks.
type DeviceName struct {
	Name string `json:"name"`
}

// Display is the name under which the business shows a subject; it proves nothing (agent §2.13).
type Display struct {
	Name string `json:"name"`
}

// LinkedSession is the session that a consumed request led to.
type LinkedSession struct {
	SessionID            string       `json:"session_id"`
	State                SessionState `json:"state"`
	ExpiresAt            string       `json:"expires_at"` // of the refresh tokens
	SubjectDisplay       *Display     `json:"subject_display"`
	SubjectDisplayStatus string       `json:"subject_display_status"`
	RevokedAt            string       `json:"revoked_at,omitempty"`
}

// Redirect is where the business's page sends the browser (agent §2.4, §2.5).
type Redirect struct {
	RedirectURI string `json:"redirect_uri"`
}

// AuthorizationRevoked is the answer of agent §2.6.
type AuthorizationRevoked struct {
	AuthorizationID string `json:"authorization_id"`
	Revoked         bool   `json:"revoked"`
	SessionID       string `json:"session_id,omitempty"` // only when a session was revoked
}

// Tokens is the answer of both grants (agent §2.8).
type Tokens struct {
	TokenType            string   `json:"token_type"`
	AccessToken          string   `json:"access_token"`
	ExpiresIn            int      `json:"expires_in"` // seconds
	RefreshToken         string   `json:"refresh_token"`
	RefreshExpiresIn     int64    `json:"refresh_expires_in"` // whole seconds left, never negative
	SessionID            string   `json:"session_id"`
	ClientAppID          string   `json:"client_app_id"`
	SubjectDisplay       *Display `json:"subject_display"`
	SubjectDisplayStatus string   `json:"subject_display_status"`
}

// SessionView is a session as its agent sees it (agent §2.9).
type SessionView struct {
	SessionID            string    `json:"session_id"`
	ClientAppID          string    `json:"client_app_id"`
	DeviceLabel          string    `json:"device_label"`
	SubjectDisplay       *Display  `json:"subject_display"`
	SubjectDisplayStatus string    `json:"subject_display_status"`
	Principal            Principal `json:"principal"`
	OnBehalfOf           string    `json:"on_behalf_of"`
	AllowedRoutes        []string  `json:"allowed_routes"`
	CreatedAt            string    `json:"created_at"`
	ExpiresAt            string    `json:"expires_at"` // of the access token
	RefreshExpiresAt     string    `json:"refresh_expires_at"`
}

// SessionItem is a session as its business sees it (agent §2.12).
type SessionItem struct {
	SessionID            string       `json:"session_id"`
	AuthorizationID      string       `json:"authorization_id,omitempty"`
	ClientAppID          string       `json:"client_app_id"`
	DeviceLabel          string       `json:"device_label"`
	SubjectDisplay       *Display     `json:"subject_display"`
	SubjectDisplayStatus string       `json:"subject_display_status"`
	Principal            Principal    `json:"principal"`
	OnBehalfOf           string       `json:"on_behalf_of"`
	AllowedRoutes        []string     `json:"allowed_routes"`
	State                SessionState `json:"state"`
	CreatedAt            string       `json:"created_at"`
	ExpiresAt            string       `json:"expires_at"` // of the refresh tokens
	LastSeenAt           string       `json:"last_seen_at,omitempty"`
	RevokedAt            string       `json:"revoked_at,omitempty"`
}

// ListPage is one page of sessions, newest first (agent §2.12). A page may hold fewer than it was asked for, or none, and
// still name a next one.
type ListPage struct {
	List       []SessionItem `json:"list"`
	NextCursor *string       `json:"next_cursor"` // null on the last page
}
