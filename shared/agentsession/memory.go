package agentsession

import (
	"sync"
	"time"
)

// memoryMax bounds what is remembered, in tokens of one generation.
const memoryMax = 4096

// memory is whose tokens are, by their hashes, as this process has learned it: what never changes, so that a row is read in one trip
// instead of two (architecture §3). Nothing is decided by it. The least recently used generation is dropped when one is full.
type memory struct {
	mu         sync.Mutex
	young, old map[string]remembered
}

type remembered struct {
	owner Owner
	seen  time.Time // when the session was last noted as seen, as far as this process knows
}

func (m *memory) get(hash string) (Owner, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.find(hash)
	return r.owner, ok
}

// find also makes what it finds young again.
func (m *memory) find(hash string) (remembered, bool) {
	if r, ok := m.young[hash]; ok {
		return r, true
	}
	r, ok := m.old[hash]
	if ok {
		m.store(hash, r)
	}
	return r, ok
}

func (m *memory) put(hash string, o Owner) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, ok := m.find(hash); !ok || r.owner != o {
		m.store(hash, remembered{owner: o})
	}
}

func (m *memory) store(hash string, r remembered) {
	if len(m.young) >= memoryMax || m.young == nil {
		m.old, m.young = m.young, map[string]remembered{}
	}
	m.young[hash] = r
}

// due reports whether a session is to be noted as seen.
func (m *memory) due(hash string, now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, _ := m.find(hash)
	return r.seen.IsZero() || !now.Before(r.seen.Add(seenEvery)) || now.Before(r.seen)
}

// noted remembers when the session was noted as seen.
func (m *memory) noted(hash string, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r, ok := m.find(hash); ok {
		r.seen = at
		m.store(hash, r)
	}
}
