package registrytest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"

	"bailing/shared/registry"
)

// Store keeps a registry in memory. Records go through JSON, as they do in a database. It is safe for concurrent use.
type Store struct {
	// BeforePut, when set, runs before each write of a record, outside the lock: what a concurrent writer would do.
	BeforePut func(kind, name string)
	// BeforeNote, when set, runs before audit records are written by themselves; its error is the write's.
	BeforeNote func(name string) error

	mu      sync.Mutex
	rows    map[string]row
	buried  map[string]int64 // the last revisions of deleted records
	values  map[string][]byte
	changes []registry.Change
	events  []registry.Event
	paused  bool
}

type row struct {
	doc []byte
	rev int64
}

var _ registry.Store = (*Store)(nil)

// NewStore returns an empty store.
func NewStore() *Store {
	return &Store{rows: map[string]row{}, buried: map[string]int64{}, values: map[string][]byte{}}
}

// Targets implements registry.Store.
func (s *Store) Targets() registry.Records[registry.Target] {
	return &records[registry.Target]{s, "target"}
}

// Credentials implements registry.Store.
func (s *Store) Credentials() registry.Records[registry.Credential] {
	return &records[registry.Credential]{s, "credential"}
}

// Providers implements registry.Store.
func (s *Store) Providers() registry.Providers {
	return &providers{records[registry.Provider]{s, "provider"}}
}

// Routes implements registry.Store.
func (s *Store) Routes() registry.Routes {
	return &routes{records[registry.Route]{s, "route"}}
}

// Clients implements registry.Store.
func (s *Store) Clients() registry.Clients {
	return &clients{records[registry.Client]{s, "client"}}
}

// Token is the row of the token with this hash, nil when there is none.
func (s *Store) Token(_ context.Context, hash string) (*registry.Token, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.rows["token#"+hash]
	if !ok {
		return nil, nil
	}
	t := &registry.Token{Hash: hash}
	return t, json.Unmarshal(r.doc, &t.Client)
}

// SetPaused implements registry.Store.
func (s *Store) SetPaused(_ context.Context, paused bool, c registry.Change) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused = paused
	s.changes = append(s.changes, c)
	return nil
}

// Note implements registry.Store.
func (s *Store) Note(_ context.Context, c registry.Change) error {
	if s.BeforeNote != nil {
		if err := s.BeforeNote(c.Path); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changes = append(s.changes, c)
	return nil
}

// Paused is the kill switch.
func (s *Store) Paused() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.paused
}

// Changes is the audit records, oldest first.
func (s *Store) Changes() []registry.Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.changes)
}

// Dump is every stored byte, for tests that look for what must not be there.
func (s *Store) Dump() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b []byte
	for _, key := range slices.Sorted(maps.Keys(s.rows)) {
		b = append(append(append(b, key...), s.rows[key].doc...), '\n')
	}
	return b
}

// PutValue implements registry.Store.
func (s *Store) PutValue(_ context.Context, b []byte) (string, error) {
	sum := sha256.Sum256(b)
	address := hex.EncodeToString(sum[:])
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values[address] = slices.Clone(b)
	return address, nil
}

// GetValue implements registry.Store.
func (s *Store) GetValue(_ context.Context, address string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.values[address]
	if !ok {
		return nil, errors.New("registrytest: no value at " + address)
	}
	return b, nil
}

type records[T any] struct {
	s    *Store
	kind string
}

func (r *records[T]) Get(_ context.Context, name string) (*registry.Versioned[T], error) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	stored, ok := r.s.rows[r.kind+"#"+name]
	if !ok {
		return nil, nil
	}
	v := &registry.Versioned[T]{Revision: stored.rev}
	return v, json.Unmarshal(stored.doc, &v.Value)
}

func (r *records[T]) List(context.Context) ([]T, error) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	out := []T{}
	for _, key := range slices.Sorted(maps.Keys(r.s.rows)) {
		if len(key) <= len(r.kind) || key[:len(r.kind)+1] != r.kind+"#" {
			continue
		}
		var v T
		if err := json.Unmarshal(r.s.rows[key].doc, &v); err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, nil
}

func (r *records[T]) Put(_ context.Context, name string, v registry.Versioned[T], c registry.Change) error {
	return r.write(name, v, &c, func() error { return nil }, nil)
}

// write is one transaction: check may refuse it, also may add rows.
func (r *records[T]) write(name string, v registry.Versioned[T], c *registry.Change, check func() error, also func(doc []byte)) error {
	doc, err := json.Marshal(v.Value)
	if err != nil {
		return err
	}
	if r.s.BeforePut != nil {
		r.s.BeforePut(r.kind, name)
	}
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	key := r.kind + "#" + name
	if r.s.rows[key].rev != v.Revision {
		return registry.ErrStale
	}
	if err := check(); err != nil {
		return err
	}
	r.s.rows[key] = row{doc: doc, rev: v.Revision + r.s.buried[key] + 1}
	delete(r.s.buried, key)
	if also != nil {
		also(doc)
	}
	if c != nil {
		r.s.changes = append(r.s.changes, *c)
	}
	return nil
}

func (r *records[T]) Delete(_ context.Context, name string, revision int64, c registry.Change) error {
	return r.remove(name, revision, c, "")
}

// remove is one transaction: the record, the row at also, and the change.
func (r *records[T]) remove(name string, revision int64, c registry.Change, also string) error {
	if r.s.BeforePut != nil {
		r.s.BeforePut(r.kind, name)
	}
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	key := r.kind + "#" + name
	stored, ok := r.s.rows[key]
	if !ok || stored.rev != revision {
		return registry.ErrStale
	}
	delete(r.s.rows, key)
	delete(r.s.rows, also)
	r.s.buried[key] = revision
	r.s.changes = append(r.s.changes, c)
	return nil
}

type routes struct{ records[registry.Route] }

func (r *routes) ListNow(ctx context.Context) ([]registry.Route, error) { return r.List(ctx) }

func (r *routes) PutReferring(_ context.Context, v registry.Versioned[registry.Route], refs []registry.Reference, c registry.Change) error {
	key := func(ref registry.Reference) string { return string(ref.Kind) + "#" + ref.Name }
	check := func() error {
		for _, ref := range refs {
			if _, ok := r.s.rows[key(ref)]; !ok {
				return registry.ErrStale
			}
		}
		return nil
	}
	return r.write(v.Value.RouteKey, v, &c, check, func([]byte) {
		for _, ref := range refs {
			stored := r.s.rows[key(ref)]
			stored.rev++
			r.s.rows[key(ref)] = stored
		}
	})
}

type clients struct{ records[registry.Client] }

func (c *clients) Put(_ context.Context, v registry.Versioned[registry.Client], oldHash string, change registry.Change) error {
	key := "token#" + v.Value.TokenHash
	check := func() error {
		if _, taken := c.s.rows[key]; taken && oldHash != v.Value.TokenHash {
			return registry.ErrStale
		}
		return nil
	}
	return c.write(v.Value.AppID, v, &change, check, func(doc []byte) {
		delete(c.s.rows, "token#"+oldHash)
		c.s.rows[key] = row{doc: doc}
	})
}

func (c *clients) Delete(_ context.Context, v registry.Versioned[registry.Client], change registry.Change) error {
	return c.remove(v.Value.AppID, v.Revision, change, "token#"+v.Value.TokenHash)
}

type providers struct{ records[registry.Provider] }

func (p *providers) Observe(_ context.Context, v registry.Versioned[registry.Provider], c *registry.Change, events ...registry.Event) error {
	return p.write(v.Value.Name, v, c, func() error { return nil }, func([]byte) { p.s.events = append(p.s.events, events...) })
}

func (p *providers) Note(_ context.Context, name string, c *registry.Change, events ...registry.Event) error {
	if p.s.BeforeNote != nil {
		if err := p.s.BeforeNote(name); err != nil {
			return err
		}
	}
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	if c != nil {
		p.s.changes = append(p.s.changes, *c)
	}
	p.s.events = append(p.s.events, events...)
	return nil
}

// Events is the audit records about providers, oldest first.
func (s *Store) Events() []registry.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.events)
}
