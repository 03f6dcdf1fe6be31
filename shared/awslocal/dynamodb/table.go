package dynamodb

import (
	"encoding/binary"
	"slices"

	"bailing/shared/awslocal/dynamodb/attr"
	"bailing/shared/awslocal/dynamodb/ordered"
)

// table holds the items of one table in order of their encoded keys, and again in each index that has them.
type table struct {
	spec     tableSpec
	ttl      string // attribute that holds the expiry time, empty when switched off
	items    ordered.Map[*record]
	indexes  []*index // as in spec.indexes
	expiries ordered.Map[*record]
	bytes    int
}

type index struct {
	spec  *indexSpec
	items ordered.Map[*record]
}

// record is one stored item. It is never changed, only replaced, so readers may keep it after they released the lock.
type record struct {
	key  string
	item attr.Map
	size int
}

func newTable(spec tableSpec) *table {
	t := &table{spec: spec}
	for i := range spec.indexes {
		t.indexes = append(t.indexes, &index{spec: &spec.indexes[i]})
	}
	return t
}

func (t *table) newRecord(item attr.Map) *record {
	return &record{t.spec.key.encode(item), item, attr.ItemSize(item)}
}

func (t *table) get(key string) *record {
	r, _ := t.items.Get(key)
	return r
}

func (t *table) index(name string) *index {
	for _, ix := range t.indexes {
		if ix.spec.name == name {
			return ix
		}
	}
	return nil
}

// put stores an item that was checked before.
func (t *table) put(item attr.Map) {
	r := t.newRecord(item)
	t.remove(r.key)
	t.items.Set(r.key, r)
	t.bytes += r.size
	for _, ix := range t.indexes {
		if ix.spec.holds(item) {
			ix.items.Set(t.spec.encodeIndex(ix.spec, item), r)
		}
	}
	if at, ok := t.expiry(r); ok {
		t.expiries.Set(at, r)
	}
}

func (t *table) remove(key string) {
	r := t.get(key)
	if r == nil {
		return
	}
	t.items.Delete(key)
	t.bytes -= r.size
	for _, ix := range t.indexes {
		if ix.spec.holds(r.item) {
			ix.items.Delete(t.spec.encodeIndex(ix.spec, r.item))
		}
	}
	if at, ok := t.expiry(r); ok {
		t.expiries.Delete(at)
	}
}

// addIndex makes an index and fills it with the items that are there. It changes nothing that a copy of t shares.
func (t *table) addIndex(spec indexSpec) {
	ix := &index{spec: &spec}
	for _, r := range t.items.Ascend("", "") {
		if spec.holds(r.item) {
			ix.items.Set(t.spec.encodeIndex(&spec, r.item), r)
		}
	}
	t.spec.indexes = append(slices.Clip(t.spec.indexes), spec)
	t.indexes = append(slices.Clip(t.indexes), ix)
}

func (t *table) setTTL(attribute string) {
	t.ttl = attribute
	t.expiries = ordered.Map[*record]{}
	for _, r := range t.items.Ascend("", "") {
		if at, ok := t.expiry(r); ok {
			t.expiries.Set(at, r)
		}
	}
}

// expiry is the position of a record among the expiring ones. ok is false when it never expires.
func (t *table) expiry(r *record) (at string, ok bool) {
	n, ok := r.item[t.ttl].(attr.Number)
	if !ok {
		return "", false
	}
	seconds, ok := n.Floor()
	if !ok || seconds < 0 {
		return "", false
	}
	return expiryBound(seconds) + r.key, true
}

// expiryBound is below every expiry at or after the second, and above every one before it.
func expiryBound(second int64) string {
	return string(binary.BigEndian.AppendUint64(nil, uint64(second)))
}
