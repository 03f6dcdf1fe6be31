package agentsession

import (
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"time"

	"bailing/shared/plainjson"
	"bailing/shared/textlimit"
)

// maxCursor is the length of a cursor.
const maxCursor = 2048

var errCursor = errors.New("agentsession: not a cursor of this list")

// cursor names a place in one list: binding says which (agent §2.12).
type cursor struct {
	Version   int    `json:"v"`
	Binding   string `json:"binding"`
	CreatedAt string `json:"created_at"`
	SessionID string `json:"session_id"`
}

// binding is the hash of the client and of every filter. limit is no filter.
func (q listQuery) binding() string {
	list := []*string{&q.filter.ClientAppID, q.authorizationID, q.filter.OnBehalfOf, q.filter.PrincipalID, q.filter.Tenant, q.state}
	b, err := plainjson.Marshal(list)
	if err != nil {
		return "" // strings always have a JSON form
	}
	return hash(string(b))
}

func formatCursor(p Position, binding string) string {
	b, err := plainjson.Marshal(cursor{1, binding, timestamp(p.CreatedAt), p.SessionID})
	if err != nil {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// parseCursor reads a cursor that formatCursor made for the same list.
func parseCursor(s, binding string) (Position, error) {
	if len(s) > maxCursor || !only(s, "-_") {
		return Position{}, errCursor
	}
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil {
		return Position{}, errCursor
	}
	var c cursor
	if err := json.Unmarshal(b, &c); err != nil {
		return Position{}, errCursor
	}
	at, err := time.Parse("2006-01-02T15:04:05.000Z", c.CreatedAt)
	id, ok := textlimit.NormalizeUUID(c.SessionID)
	if err != nil || !ok || c.Version != 1 || subtle.ConstantTimeCompare([]byte(c.Binding), []byte(binding)) != 1 || at.Unix() < 0 {
		return Position{}, errCursor
	}
	return Position{CreatedAt: at, SessionID: id}, nil
}

func (s *Session) position() Position { return Position{s.CreatedAt, s.ID} }

// position is where the item stands in its list.
func (i SessionItem) position() Position {
	at, _ := time.Parse("2006-01-02T15:04:05.000Z", i.CreatedAt) // timestamp wrote it
	return Position{at, i.SessionID}
}

// before reports whether p comes before other in a list; the zero Position comes before all.
func (p Position) before(other Position) bool {
	if p.SessionID == "" || !p.CreatedAt.Equal(other.CreatedAt) {
		return p.SessionID == "" || p.CreatedAt.After(other.CreatedAt)
	}
	return p.SessionID > other.SessionID
}
