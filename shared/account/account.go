package account

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"bailing/shared/permission"
	"bailing/shared/registry"
)

// SessionLife is how long a session lives without a request (core §10.1).
const SessionLife = 7 * 24 * time.Hour

// Account is one administrator.
type Account struct {
	Username     string          `json:"username"` // lower case
	DisplayName  string          `json:"display_name"`
	Role         permission.Role `json:"role"`
	Perms        permission.Set  `json:"perms,omitempty"` // instead of the role's, when there are any
	Enabled      bool            `json:"enabled"`
	PasswordHash string          `json:"password_hash"` // see [Cost]
	Epoch        string          `json:"epoch"`         // sessions of another epoch are dead
	CreatedAt    time.Time       `json:"created_at"`
	UpdatedAt    time.Time       `json:"updated_at"`
}

// Permissions are what the account may do.
func (a Account) Permissions() permission.Set {
	if len(a.Perms) > 0 {
		return a.Perms
	}
	return a.Role.Permissions()
}

// manages reports whether the account may manage accounts.
func (a Account) manages() bool { return a.Enabled && a.Permissions().Has(permission.AdminsManage) }

// Roster names every account.
type Roster struct {
	// Accounts says of each user name whether the account may manage accounts: it is enabled and has the permission.
	Accounts map[string]bool `json:"accounts"`
}

// Names are all user names, sorted.
func (r Roster) Names() []string { return slices.Sorted(maps.Keys(r.Accounts)) }

// Session is one login.
type Session struct {
	Hash      string // SHA-256 of the token in lower-case hexadecimal
	Username  string
	Epoch     string // of the account when the session began
	CreatedAt time.Time
	ExpiresAt time.Time
}

// Via is how an administrator was recognised.
type Via string

const (
	ViaSession Via = "session"
	ViaToken   Via = "token"
)

// Identity is an administrator who makes a request.
type Identity struct {
	Username string // "(token)" for the server token
	Via      Via
	Role     permission.Role
	Perms    permission.Set

	session Session
}

// ServerToken is the identity of the server token: it may do everything (core §0.2).
func ServerToken() Identity {
	return Identity{Username: "(token)", Via: ViaToken, Role: permission.Admin, Perms: permission.Admin.Permissions()}
}

// By names the administrator in audit records: the user name, or "token".
func (i Identity) By() string {
	if i.Via == ViaToken {
		return byToken
	}
	return i.Username
}

// is reports whether i is logged in as the account called username.
func (i Identity) is(username string) bool { return i.Via == ViaSession && i.Username == username }

// Names that audit records give to what is no account, so no account may have them.
const (
	byToken     = "token"
	bySchedule  = "schedule"
	byBootstrap = "bootstrap"
)

var reserved = []string{byToken, bySchedule, byBootstrap}

var usernames = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{1,63}$`)

// usernameRule completes "username ".
const usernameRule = "must be 2 to 64 letters, digits, - and _, and begin with a letter or digit"

// Normalize returns the stored form of a user name: names are accepted in any case and kept in lower case, so that no two
// accounts differ only in case. ok is false for what is no user name.
func Normalize(username string) (name string, ok bool) {
	if !usernames.MatchString(username) {
		return "", false
	}
	return strings.ToLower(username), true
}

// Versioned is a stored value and its revision, 0 for one that is not stored.
type Versioned[T any] = registry.Versioned[T]
