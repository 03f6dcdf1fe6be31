package dynamodb

import (
	"maps"
	"slices"
	"time"

	"bailing/shared/awslocal/dynamodb/attr"
)

// tokenLifetime is how long a ClientRequestToken makes a transaction idempotent.
const tokenLifetime = 10 * time.Minute

// state is everything that survives a restart. It changes only through [change.apply].
type state struct {
	tables map[string]*table
	tokens tokens
}

func newState() state {
	return state{tables: map[string]*table{}, tokens: tokens{entries: map[string]tokenEntry{}}}
}

// dump lists changes that rebuild the state from nothing. They refer to immutable items only, so they may be encoded after the
// lock is released.
func (st *state) dump() []change {
	var out []change
	for _, name := range slices.Sorted(maps.Keys(st.tables)) {
		t := st.tables[name]
		out = append(out, createTable{t.spec})
		if t.ttl != "" {
			out = append(out, setTTL{name, t.ttl})
		}
		for _, r := range t.items.Ascend("", "") {
			out = append(out, putItem{name, r.item})
		}
	}
	for _, t := range st.tokens.order {
		if e := st.tokens.entries[t.token]; e.expires.Equal(t.expires) {
			out = append(out, rememberToken{t.token, e})
		}
	}
	return out
}

// tokens remembers the transactions of the last ten minutes by their ClientRequestToken.
type tokens struct {
	entries map[string]tokenEntry
	order   []tokenExpiry // by expiry
}

type tokenEntry struct {
	fingerprint [32]byte // of the request
	expires     time.Time
}

type tokenExpiry struct {
	token   string
	expires time.Time
}

// add remembers a token and forgets those that had expired when it was made, which needs no clock and so gives the same
// result in every replay.
func (t *tokens) add(token string, e tokenEntry) {
	if old := t.entries[token]; old.fingerprint == e.fingerprint && old.expires.Equal(e.expires) {
		return // a replay over a snapshot
	}
	made := e.expires.Add(-tokenLifetime)
	n := 0
	for n < len(t.order) && !t.order[n].expires.After(made) {
		old := t.order[n]
		if t.entries[old.token].expires.Equal(old.expires) {
			delete(t.entries, old.token)
		}
		n++
	}
	t.order = append(t.order[n:], tokenExpiry{token, e.expires})
	t.entries[token] = e
}

// change is one step of the state, as the journal stores it: the outcome of a write, never its expression, so that replaying it
// depends on nothing else. Applying a change to a table that does not exist does nothing, because a replay may begin with
// a snapshot in which the table is already gone.
type change interface {
	encode(b []byte) []byte
	apply(st *state)
	// check refuses a change that no healthy service can have recorded, before apply trips over it.
	check(st *state) error
}

type (
	createTable struct{ spec tableSpec }
	dropTable   struct{ table string }
	addIndex    struct {
		table string
		index indexSpec
	}
	// setTTL with an empty attribute switches expiry off.
	setTTL  struct{ table, attribute string }
	putItem struct {
		table string
		item  attr.Map
	}
	deleteItem struct {
		table string
		key   attr.Map
	}
	rememberToken struct {
		token string
		tokenEntry
	}
)

func (c createTable) apply(st *state) {
	if st.tables[c.spec.name] == nil {
		st.tables[c.spec.name] = newTable(c.spec)
	}
}

func (c dropTable) apply(st *state) { delete(st.tables, c.table) }

func (c addIndex) apply(st *state) {
	if t := st.tables[c.table]; t != nil && t.index(c.index.name) == nil {
		t.addIndex(c.index)
	}
}

func (c setTTL) apply(st *state) {
	if t := st.tables[c.table]; t != nil {
		t.setTTL(c.attribute)
	}
}

func (c putItem) apply(st *state) {
	if t := st.tables[c.table]; t != nil {
		t.put(c.item)
	}
}

func (c deleteItem) apply(st *state) {
	if t := st.tables[c.table]; t != nil {
		t.remove(t.spec.key.encode(c.key))
	}
}

func (c rememberToken) apply(st *state) { st.tokens.add(c.token, c.tokenEntry) }

func (c createTable) check(*state) error { return c.spec.check() }

// check looks at the index alone: a replay over a snapshot may meet the next table of the same name.
func (c addIndex) check(*state) error { return c.index.check() }

// check asks nothing of index keys: the item may be older than an index that the snapshot has already.
func (c putItem) check(st *state) error {
	if t := st.tables[c.table]; t != nil {
		return t.spec.checkStored(c.item)
	}
	return nil
}

func (c deleteItem) check(st *state) error {
	if t := st.tables[c.table]; t != nil {
		return t.spec.checkKey(c.key)
	}
	return nil
}

func (dropTable) check(*state) error     { return nil }
func (setTTL) check(*state) error        { return nil }
func (rememberToken) check(*state) error { return nil }
