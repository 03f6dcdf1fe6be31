package dynamodb

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"bailing/shared/awslocal/dynamodb/attr"
)

// Limits of one group commit, so that a record stays of a sane size and nobody waits for a very long batch.
const (
	maxGroupWrites = 256
	maxGroupBytes  = 4 << 20
)

// mutation decides a write: it reads the state through v and stages changes. One that returns an error has staged nothing.
type mutation func(v *view) error

// committer decides writes one after the other and makes them durable in groups. There is no goroutine of its own: among the
// waiting callers one holds the lead token, decides every queued write, appends one record for all of them, makes the result
// visible and wakes the others; then the next caller leads.
//
// While a record is being appended, readers still see the state before it, so nobody ever sees what a crash could lose.
type committer struct {
	lead chan struct{}

	mu    sync.Mutex
	queue []*write

	failed error // of the journal; used by the leader only
}

type write struct {
	mutate mutation
	alone  bool // changes tables themselves: decided in a group of its own
	done   chan struct{}
	err    error
}

func newCommitter() committer { return committer{lead: make(chan struct{}, 1)} }

// commit runs a mutation of items and returns when its outcome is durable and visible.
func (s *Service) commit(m mutation) error { return s.enqueue(&write{mutate: m}) }

// commitAlone is commit for changes of tables.
func (s *Service) commitAlone(m mutation) error { return s.enqueue(&write{mutate: m, alone: true}) }

func (s *Service) enqueue(w *write) error {
	c := &s.commits
	w.done = make(chan struct{})
	c.mu.Lock()
	c.queue = append(c.queue, w)
	c.mu.Unlock()
	for {
		select {
		case <-w.done:
			return w.err
		case c.lead <- struct{}{}:
			s.commitGroup()
		}
	}
}

// take removes the next write of a group that has n writes so far.
func (c *committer) take(n int) *write {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) == 0 || n > 0 && c.queue[0].alone {
		return nil
	}
	w := c.queue[0]
	c.queue[0] = nil
	c.queue = c.queue[1:]
	return w
}

// commitGroup is one turn of the leader, who gives the lead away at the end.
func (s *Service) commitGroup() {
	defer func() { <-s.commits.lead }()
	v := &view{state: &s.state, now: s.clock.Now(), items: map[itemID]*record{}, tokens: map[string]tokenEntry{}}
	var group []*write
	var err error = internalError() // stands if a mutation panics: nothing of the group is persisted then
	defer func() {
		for _, w := range group {
			// Refused writes fail too: their refusal may rest on changes that are lost now.
			if err != nil {
				w.err = err
			}
			close(w.done)
		}
	}()
	for len(group) < maxGroupWrites && v.bytes < maxGroupBytes {
		w := s.commits.take(len(group))
		if w == nil {
			break
		}
		group = append(group, w)
		w.err = w.mutate(v)
		if w.alone {
			break
		}
	}
	err = s.persist(v.staged)
}

// persist appends changes to the journal and then makes them visible.
func (s *Service) persist(changes []change) error {
	if len(changes) == 0 {
		return nil
	}
	if s.journal != nil {
		if s.commits.failed != nil {
			return s.commits.failed
		}
		rec := newRecord()
		for _, c := range changes {
			rec = c.encode(rec)
		}
		s.setInFlight(rec)
		if err := s.journal.Append(rec); err != nil {
			// What is on disk is unknown now; a later write could contradict it. Only a restart knows.
			s.log.Error("dynamodb journal failed; writes are refused until a restart", "error", err)
			s.commits.failed = errors.Join(internalError(), fmt.Errorf("append to journal: %w", err))
			return s.commits.failed
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range changes {
		c.apply(&s.state)
	}
	s.inFlight = nil
	return nil
}

func (s *Service) setInFlight(rec []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight = rec
}

// view is the state as the next write of a group must see it: what is visible, and on top what earlier writes of the group staged.
// The leader is the only one who changes the state, so it reads without the lock.
type view struct {
	state  *state
	now    time.Time
	items  map[itemID]*record // nil record: deleted
	tokens map[string]tokenEntry
	staged []change
	bytes  int
}

type itemID struct{ table, key string }

func (v *view) table(name string) (*table, error) {
	t := v.state.tables[name]
	if t == nil {
		return nil, tableNotFound(name)
	}
	return t, nil
}

// get returns nil for an item that does not exist.
func (v *view) get(t *table, key string) *record {
	if r, ok := v.items[itemID{t.spec.name, key}]; ok {
		return r
	}
	return t.get(key)
}

// token finds an unexpired idempotency token.
func (v *view) token(token string) (tokenEntry, bool) {
	e, ok := v.tokens[token]
	if !ok {
		e, ok = v.state.tokens.entries[token]
	}
	return e, ok && e.expires.After(v.now)
}

func (v *view) stage(c change) { v.staged = append(v.staged, c) }

// put stages an item that was checked before.
func (v *view) put(t *table, item attr.Map) {
	r := t.newRecord(item)
	v.items[itemID{t.spec.name, r.key}] = r
	v.bytes += r.size
	v.stage(putItem{t.spec.name, item})
}

func (v *view) remove(t *table, r *record) {
	v.items[itemID{t.spec.name, r.key}] = nil
	v.stage(deleteItem{t.spec.name, t.spec.key.pick(r.item)})
}

func (v *view) remember(token string, fingerprint [32]byte) {
	// The journal stores milliseconds; a restart must not move the expiry.
	e := tokenEntry{fingerprint, v.now.Add(tokenLifetime).Truncate(time.Millisecond)}
	v.tokens[token] = e
	v.stage(rememberToken{token, e})
}
