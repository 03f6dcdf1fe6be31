package accounttest

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"bailing/shared/account"
	"bailing/shared/registry"
)

// Store keeps accounts in memory. Rows go through JSON, as they do in a database. It is safe for concurrent use.
type Store struct {
	mu       sync.Mutex
	accounts map[string]row
	roster   row
	sessions map[string]account.Session
	failures map[string]account.Failures
	changes  []registry.Change
	reads    int
	made     int64 // rows so far
}

type row struct {
	doc []byte
	rev int64
}

var _ account.Store = (*Store)(nil)

// NewStore returns an empty store.
func NewStore() *Store {
	return &Store{accounts: map[string]row{}, sessions: map[string]account.Session{}, failures: map[string]account.Failures{}}
}

func decode[T any](r row) (*account.Versioned[T], error) {
	if r.rev == 0 {
		return nil, nil
	}
	v := &account.Versioned[T]{Revision: r.rev}
	return v, json.Unmarshal(r.doc, &v.Value)
}

// next is the row after a write of v at its revision.
func next[T any](s *Store, stored row, v account.Versioned[T]) (row, error) {
	if stored.rev != v.Revision {
		return row{}, account.ErrStale
	}
	rev := v.Revision + 1
	if v.Revision == 0 {
		s.made++
		rev = s.made << 32
	}
	doc, err := json.Marshal(v.Value)
	return row{doc, rev}, err
}

func (s *Store) readRoster() (account.Versioned[account.Roster], error) {
	v, err := decode[account.Roster](s.roster)
	if v == nil || err != nil {
		return account.Versioned[account.Roster]{}, err
	}
	return *v, nil
}

// ReadLogin implements account.Store.
func (s *Store) ReadLogin(_ context.Context, username, failureKey string) (rows account.LoginRows, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	rows.Failures = clone(s.failures[failureKey])
	if rows.Roster, err = s.readRoster(); err == nil {
		rows.Account, err = decode[account.Account](s.accounts[username])
	}
	return rows, err
}

// ReadAccount implements account.Store.
func (s *Store) ReadAccount(_ context.Context, username string) (account.Versioned[account.Roster], *account.Versioned[account.Account], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	roster, err := s.readRoster()
	if err != nil {
		return roster, nil, err
	}
	a, err := decode[account.Account](s.accounts[username])
	return roster, a, err
}

// ListAccounts implements account.Store.
func (s *Store) ListAccounts(context.Context) ([]account.Account, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	roster, err := s.readRoster()
	if err != nil {
		return nil, err
	}
	var out []account.Account
	for _, name := range roster.Value.Names() {
		v, err := decode[account.Account](s.accounts[name])
		if err != nil {
			return nil, err
		}
		out = append(out, v.Value)
	}
	return out, nil
}

// PutAccount implements account.Store.
func (s *Store) PutAccount(_ context.Context, a account.Versioned[account.Account], roster *account.Versioned[account.Roster], c registry.Change) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := next(s, s.accounts[a.Value.Username], a)
	if err != nil {
		return err
	}
	if roster != nil {
		names, err := next(s, s.roster, *roster)
		if err != nil {
			return err
		}
		s.roster = names
	}
	s.accounts[a.Value.Username] = r
	s.changes = append(s.changes, c)
	return nil
}

// DeleteAccount implements account.Store.
func (s *Store) DeleteAccount(_ context.Context, a account.Versioned[account.Account], roster account.Versioned[account.Roster], c registry.Change) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.accounts[a.Value.Username].rev != a.Revision {
		return account.ErrStale
	}
	names, err := next(s, s.roster, roster)
	if err != nil {
		return err
	}
	s.roster = names
	delete(s.accounts, a.Value.Username)
	s.changes = append(s.changes, c)
	return nil
}

// ChangePassword implements account.Store.
func (s *Store) ChangePassword(_ context.Context, a account.Versioned[account.Account], session account.Session, c registry.Change) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := next(s, s.accounts[a.Value.Username], a)
	if err != nil {
		return err
	}
	stored, ok := s.sessions[session.Hash]
	if !ok || stored.Epoch != session.Epoch {
		return account.ErrStale
	}
	stored.Epoch = a.Value.Epoch
	s.sessions[session.Hash], s.accounts[a.Value.Username] = stored, r
	s.changes = append(s.changes, c)
	return nil
}

// OpenSession implements account.Store.
func (s *Store) OpenSession(_ context.Context, session account.Session, a account.Versioned[account.Account], rehashed bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, err := next(s, s.accounts[a.Value.Username], a)
	if err != nil {
		return err
	}
	if _, taken := s.sessions[session.Hash]; taken {
		return account.ErrStale
	}
	if rehashed {
		s.accounts[a.Value.Username] = r
	}
	s.sessions[session.Hash] = session
	return nil
}

// ReadSession implements account.Store.
func (s *Store) ReadSession(_ context.Context, hash, guess string) (*account.Session, *account.Account, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reads++
	session, ok := s.sessions[hash]
	if !ok {
		return nil, nil, nil
	}
	if session.Username != guess {
		s.reads++
	}
	v, err := decode[account.Account](s.accounts[session.Username])
	if v == nil || err != nil {
		return &session, nil, err
	}
	return &session, &v.Value, nil
}

// ExtendSession implements account.Store.
func (s *Store) ExtendSession(_ context.Context, session account.Session, until, now time.Time) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stored, ok := s.sessions[session.Hash]
	if !ok || stored.Epoch != session.Epoch {
		return false, nil
	}
	if !stored.ExpiresAt.After(now) || !stored.ExpiresAt.Before(until) {
		return stored.ExpiresAt.Equal(until), nil
	}
	stored.ExpiresAt = until
	s.sessions[session.Hash] = stored
	return true, nil
}

// CloseSession implements account.Store.
func (s *Store) CloseSession(_ context.Context, hash string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, hash)
	return nil
}

func clone(f account.Failures) account.Failures {
	return account.Failures{Revision: f.Revision, At: slices.Clone(f.At)}
}

// WriteFailures implements account.Store.
func (s *Store) WriteFailures(_ context.Context, key string, f account.Failures) (account.Failures, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stored := s.failures[key]; stored.Revision != f.Revision {
		return clone(stored), false, nil
	}
	f = clone(f)
	f.Revision++
	s.failures[key] = f
	return clone(f), true, nil
}

// Changes is the audit records, oldest first.
func (s *Store) Changes() []registry.Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.changes)
}

// Reads is how many trips have read something.
func (s *Store) Reads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads
}

// FailureRows are the stored failures, for tests of what is kept about a login.
func (s *Store) FailureRows() map[string]account.Failures {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.failures)
}

// Dump is every stored byte, for tests that look for what must not be there.
func (s *Store) Dump() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	docs := map[string]string{"roster": string(s.roster.doc)}
	for name, r := range s.accounts {
		docs[name] = string(r.doc)
	}
	b, _ := json.Marshal([]any{docs, s.sessions, s.failures, s.changes}) // plain data
	return b
}
