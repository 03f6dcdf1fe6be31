package dynamodb

import (
	"encoding/binary"
	"hash/fnv"
	"slices"
	"time"

	"bailing/shared/awslocal/dynamodb/attr"
)

// Limits on keys and items, in bytes.
const (
	maxHashKeyBytes = 2048
	maxSortKeyBytes = 1024
	maxItemBytes    = 400 * 1024
)

// Projection types of an index.
const (
	projectAll      = "ALL"
	projectKeysOnly = "KEYS_ONLY"
	projectInclude  = "INCLUDE"
)

// tableSpec is what CreateTable fixes for the life of a table, apart from the indexes that UpdateTable adds.
type tableSpec struct {
	name      string
	created   time.Time
	protected bool // deletion protection
	key       keySchema
	indexes   []indexSpec // never changed in place: a snapshot may still read them
}

type indexSpec struct {
	name       string
	key        keySchema
	projection string
	include    []string // non-key attributes of INCLUDE
}

type keyAttribute struct {
	name string
	kind attr.Kind
}

// keySchema is the key of a table or index: a hash attribute and perhaps a sort attribute.
type keySchema []keyAttribute

func (k keySchema) has(name string) bool {
	return slices.ContainsFunc(k, func(a keyAttribute) bool { return a.name == name })
}

// attributeKinds are the types of all key attributes, of the table and of its indexes, by name.
func (spec *tableSpec) attributeKinds() map[string]attr.Kind {
	kinds := map[string]attr.Kind{}
	for _, a := range spec.key {
		kinds[a.name] = a.kind
	}
	for _, ix := range spec.indexes {
		for _, a := range ix.key {
			kinds[a.name] = a.kind
		}
	}
	return kinds
}

// partition encodes a hash key value: four bytes of a hash, then the value. The hash spreads partitions, so that Scan shows
// no order and its segments are ranges.
func partition(hash attr.Value) []byte {
	value := attr.AppendKey(nil, hash)
	h := fnv.New64a()
	h.Write(value)
	// FNV alone hardly changes the high bits of short keys, and segments are cut by the high bits.
	mixed := h.Sum64() * 0x9E3779B97F4A7C15
	mixed ^= mixed >> 32
	mixed *= 0x9E3779B97F4A7C15
	return append(binary.BigEndian.AppendUint32(nil, uint32(mixed>>32)), value...)
}

// encode gives the position of an item that has all key attributes.
func (k keySchema) encode(item attr.Map) string {
	b := partition(item[k[0].name])
	for _, a := range k[1:] {
		b = attr.AppendKey(b, item[a.name])
	}
	return string(b)
}

// encodeIndex gives the position of an item in an index: by the index key, then by the table's.
func (spec *tableSpec) encodeIndex(ix *indexSpec, item attr.Map) string {
	b := []byte(ix.key.encode(item))
	for _, a := range spec.key {
		b = attr.AppendKey(b, item[a.name])
	}
	return string(b)
}

// covers reports whether item has every attribute of the key.
func (k keySchema) covers(item attr.Map) bool {
	for _, a := range k {
		if item[a.name] == nil {
			return false
		}
	}
	return true
}

// holds reports whether an item belongs into the index: it has every attribute of the index key, with a value that the key can
// have. Items older than the index may have others; like the service, the index leaves them out.
func (ix *indexSpec) holds(item attr.Map) bool {
	return ix.key.covers(item) && ix.checkKeys(item) == nil
}

// pick returns the key attributes of item.
func (k keySchema) pick(item attr.Map) attr.Map {
	out := make(attr.Map, len(k))
	for _, a := range k {
		out[a.name] = item[a.name]
	}
	return out
}

func isEmpty(v attr.Value) bool {
	return v == attr.String("") || v == attr.Binary("")
}

// tooLong reports whether v exceeds the limit of the i-th attribute of a key.
func tooLong(i int, v attr.Value) (limit int, exceeded bool) {
	limit = maxHashKeyBytes
	if i > 0 {
		limit = maxSortKeyBytes
	}
	return limit, v.Kind() != attr.KindNumber && v.Size() > limit
}

// checkKey accepts exactly the key attributes, with their types, not empty and not too long.
func (spec *tableSpec) checkKey(key attr.Map) error {
	if len(key) != len(spec.key) {
		return invalid("The provided key element does not match the schema")
	}
	for _, a := range spec.key {
		if v := key[a.name]; v == nil || v.Kind() != a.kind {
			return invalid("The provided key element does not match the schema")
		}
	}
	return spec.checkKeyValues(key)
}

func (spec *tableSpec) checkKeyValues(item attr.Map) error {
	for i, a := range spec.key {
		v := item[a.name]
		if isEmpty(v) {
			return invalid("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: %s", a.name)
		}
		if limit, exceeded := tooLong(i, v); exceeded {
			return invalidParameter("Size of key attribute %s has exceeded the maximum size limit of %d bytes", a.name, limit)
		}
	}
	return nil
}

// checkItem accepts an item that may be written: checkStored accepts it, and index key attributes have their types.
func (spec *tableSpec) checkItem(item attr.Map) error {
	if err := spec.checkStored(item); err != nil {
		return err
	}
	for i := range spec.indexes {
		if err := spec.indexes[i].checkKeys(item); err != nil {
			return err
		}
	}
	return nil
}

// checkStored accepts an item that the table can hold: the table's key attributes are there, and size and nesting are within
// limits. Of index keys it asks nothing, because the item may be older than the index.
func (spec *tableSpec) checkStored(item attr.Map) error {
	for _, a := range spec.key {
		v := item[a.name]
		if v == nil {
			return invalidParameter("Missing the key %s in the item", a.name)
		}
		if v.Kind() != a.kind {
			return invalidParameter("Type mismatch for key %s expected: %s actual: %s", a.name, a.kind, v.Kind())
		}
	}
	if err := spec.checkKeyValues(item); err != nil {
		return err
	}
	if size := attr.ItemSize(item); size > maxItemBytes {
		return invalid("Item size has exceeded the maximum allowed size of %d bytes: %d bytes", maxItemBytes, size)
	}
	return attr.CheckDepth(item)
}

func (ix *indexSpec) checkKeys(item attr.Map) error {
	for i, a := range ix.key {
		v := item[a.name]
		if v == nil {
			continue
		}
		if v.Kind() != a.kind {
			return invalidParameter("Type mismatch for Index Key %s Expected: %s Actual: %s IndexName: %s", a.name, a.kind, v.Kind(), ix.name)
		}
		if isEmpty(v) {
			return invalid("One or more parameter values are not valid. A value specified for a secondary index key is not supported. The AttributeValue for a key attribute cannot contain an empty string value. IndexName: %s, IndexKey: %s", ix.name, a.name)
		}
		if limit, exceeded := tooLong(i, v); exceeded {
			return invalidParameter("Size of index key attribute %s has exceeded the maximum size limit of %d bytes. IndexName: %s", a.name, limit, ix.name)
		}
	}
	return nil
}

// projects reports whether the index carries an attribute.
func (spec *tableSpec) projects(ix *indexSpec, name string) bool {
	return ix.projection == projectAll || spec.key.has(name) || ix.key.has(name) || slices.Contains(ix.include, name)
}

// project returns what an index carries of an item.
func (spec *tableSpec) project(ix *indexSpec, item attr.Map) attr.Map {
	if ix.projection == projectAll {
		return item
	}
	out := attr.Map{}
	for name, v := range item {
		if spec.projects(ix, name) {
			out[name] = v
		}
	}
	return out
}
