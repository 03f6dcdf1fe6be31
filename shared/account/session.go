package account

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

const (
	// tokenBytes makes 48 hexadecimal characters (core §10.1).
	tokenBytes = 24
	tokenChars = 2 * tokenBytes
	// renewAfter is how old the end of a session gets before a request moves it: not each one is a write.
	renewAfter = time.Hour
)

// Live is what a live session authenticates.
type Live struct {
	Identity
	// Renewed says that the session was extended, so that its cookie must be, too.
	Renewed bool
}

// Authenticate returns what the session with this token authenticates, nil when it is none, or not any more. It reads session
// and account together, in one trip when this process has seen the session before, else in two; nothing of what they say is
// remembered. A session that was not used for a while is extended by one conditional write; it serves also when
// that fails.
func (s *Service) Authenticate(ctx context.Context, token string) (*Live, error) {
	if !isToken(token) {
		return nil, nil // nothing to read
	}
	hash := tokenHash(token)
	guess := s.guesses.get(hash)
	session, a, err := s.o.Store.ReadSession(ctx, hash, guess)
	if err != nil {
		return nil, err
	}
	now := s.now()
	if session == nil || a == nil || !a.Enabled || a.Epoch != session.Epoch || !session.ExpiresAt.After(now) {
		s.guesses.drop(hash)
		return nil, nil
	}
	s.guesses.put(hash, session.Username)
	live := &Live{Identity: Identity{
		Username: a.Username, Via: ViaSession, Role: a.Role, Perms: a.Permissions(), session: *session,
	}}
	if until := now.Add(SessionLife); until.Sub(session.ExpiresAt) >= renewAfter {
		live.Renewed, err = s.o.Store.ExtendSession(ctx, *session, until, now)
		if err != nil {
			s.o.Logger.LogAttrs(ctx, slog.LevelWarn, "session not extended", slog.String("error", err.Error()))
		}
	}
	return live, nil
}

// Logout ends the session with this token. It does nothing for one that does not exist, so it may run twice.
func (s *Service) Logout(ctx context.Context, token string) error {
	if !isToken(token) {
		return nil
	}
	hash := tokenHash(token)
	s.guesses.drop(hash)
	return s.o.Store.CloseSession(ctx, hash)
}

// isToken reports whether a text looks like a session's token.
func isToken(token string) bool {
	if len(token) != tokenChars {
		return false
	}
	for _, c := range []byte(token) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// maxGuesses bounds the memory of guesses.
const maxGuesses = 1024

// guesses remembers whose a session was, to read both rows at once. A wrong guess costs a trip and decides nothing.
type guesses struct {
	mu   sync.Mutex
	name map[string]string // by hash
}

func (g *guesses) get(hash string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.name[hash]
}

func (g *guesses) put(hash, username string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.name == nil || len(g.name) >= maxGuesses {
		g.name = map[string]string{}
	}
	g.name[hash] = username
}

func (g *guesses) drop(hash string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.name, hash)
}
