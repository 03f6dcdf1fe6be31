package dynamodb

import (
	"encoding/binary"
	"fmt"
	"time"

	"bailing/shared/awslocal/dynamodb/attr"
)

// A journal record is a version byte and a sequence of changes, each a tag and its fields. Lengths are varints. Tags and
// version are on disk: a new meaning needs a new number.
const recordVersion = 1

const (
	tagCreateTable byte = iota + 1
	tagDropTable
	tagSetTTL
	tagPutItem
	tagDeleteItem
	tagRememberToken
	tagAddIndex
)

func newRecord() []byte { return []byte{recordVersion} }

func (c createTable) encode(b []byte) []byte {
	b = attr.AppendText(append(b, tagCreateTable), c.spec.name)
	b = binary.AppendVarint(b, c.spec.created.UnixMilli())
	b = appendFlag(b, c.spec.protected)
	b = appendKeySchema(b, c.spec.key)
	b = binary.AppendUvarint(b, uint64(len(c.spec.indexes)))
	for _, ix := range c.spec.indexes {
		b = appendIndexSpec(b, ix)
	}
	return b
}

func (c dropTable) encode(b []byte) []byte {
	return attr.AppendText(append(b, tagDropTable), c.table)
}

func (c addIndex) encode(b []byte) []byte {
	return appendIndexSpec(attr.AppendText(append(b, tagAddIndex), c.table), c.index)
}

func (c setTTL) encode(b []byte) []byte {
	return attr.AppendText(attr.AppendText(append(b, tagSetTTL), c.table), c.attribute)
}

func (c putItem) encode(b []byte) []byte {
	return attr.AppendBinary(attr.AppendText(append(b, tagPutItem), c.table), c.item)
}

func (c deleteItem) encode(b []byte) []byte {
	return attr.AppendBinary(attr.AppendText(append(b, tagDeleteItem), c.table), c.key)
}

func (c rememberToken) encode(b []byte) []byte {
	b = attr.AppendText(append(b, tagRememberToken), c.token)
	b = append(b, c.fingerprint[:]...)
	return binary.AppendVarint(b, c.expires.UnixMilli())
}

func appendFlag(b []byte, f bool) []byte {
	if f {
		return append(b, 1)
	}
	return append(b, 0)
}

func appendIndexSpec(b []byte, ix indexSpec) []byte {
	b = attr.AppendText(b, ix.name)
	b = appendKeySchema(b, ix.key)
	b = attr.AppendText(b, ix.projection)
	b = binary.AppendUvarint(b, uint64(len(ix.include)))
	for _, name := range ix.include {
		b = attr.AppendText(b, name)
	}
	return b
}

func appendKeySchema(b []byte, k keySchema) []byte {
	b = binary.AppendUvarint(b, uint64(len(k)))
	for _, a := range k {
		b = attr.AppendText(attr.AppendText(b, a.name), string(a.kind))
	}
	return b
}

// decodeRecord reads the changes of a record; the error wraps [ErrCorruptRecord].
func decodeRecord(rec []byte) ([]change, error) {
	if len(rec) == 0 || rec[0] != recordVersion {
		return nil, fmt.Errorf("%w: unknown version", ErrCorruptRecord)
	}
	r := recordReader{rest: rec[1:]}
	var out []change
	for len(r.rest) > 0 && r.err == nil {
		out = append(out, r.change())
	}
	if r.err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorruptRecord, r.err)
	}
	return out, nil
}

// recordReader reads fields in order; after the first error everything is zero.
type recordReader struct {
	rest []byte
	err  error
}

func (r *recordReader) fail(err error) {
	r.err, r.rest = err, nil
}

func (r *recordReader) bytes(n int) []byte {
	if n > len(r.rest) {
		r.fail(attr.ErrCorrupt)
		return make([]byte, n)
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *recordReader) text() string {
	if r.err != nil {
		return ""
	}
	s, rest, err := attr.DecodeText(r.rest)
	if err != nil {
		r.fail(err)
		return ""
	}
	r.rest = rest
	return s
}

func (r *recordReader) milli() time.Time {
	n, w := binary.Varint(r.rest)
	if w <= 0 {
		r.fail(attr.ErrCorrupt)
		return time.Time{}
	}
	r.rest = r.rest[w:]
	return time.UnixMilli(n).UTC()
}

// count reads a number of elements, each of which takes at least one byte.
func (r *recordReader) count() int {
	n, w := binary.Uvarint(r.rest)
	if w <= 0 || n > uint64(len(r.rest)) {
		r.fail(attr.ErrCorrupt)
		return 0
	}
	r.rest = r.rest[w:]
	return int(n)
}

func (r *recordReader) item() attr.Map {
	if r.err != nil {
		return nil
	}
	v, rest, err := attr.DecodeBinary(r.rest)
	if err != nil {
		r.fail(err)
		return nil
	}
	item, ok := v.(attr.Map)
	if !ok {
		r.fail(attr.ErrCorrupt)
		return nil
	}
	r.rest = rest
	return item
}

func (r *recordReader) change() change {
	switch r.bytes(1)[0] {
	case tagCreateTable:
		return createTable{r.tableSpec()}
	case tagDropTable:
		return dropTable{r.text()}
	case tagSetTTL:
		return setTTL{r.text(), r.text()}
	case tagPutItem:
		return putItem{r.text(), r.item()}
	case tagDeleteItem:
		return deleteItem{r.text(), r.item()}
	case tagRememberToken:
		c := rememberToken{token: r.text()}
		copy(c.fingerprint[:], r.bytes(len(c.fingerprint)))
		c.expires = r.milli()
		return c
	case tagAddIndex:
		return addIndex{r.text(), r.indexSpec()}
	}
	r.fail(attr.ErrCorrupt)
	return nil
}

func (r *recordReader) tableSpec() tableSpec {
	spec := tableSpec{name: r.text(), created: r.milli(), protected: r.bytes(1)[0] == 1, key: r.keySchema()}
	for range r.count() {
		spec.indexes = append(spec.indexes, r.indexSpec())
	}
	return spec
}

func (r *recordReader) indexSpec() indexSpec {
	ix := indexSpec{name: r.text(), key: r.keySchema(), projection: r.text()}
	for range r.count() {
		ix.include = append(ix.include, r.text())
	}
	return ix
}

func (r *recordReader) keySchema() keySchema {
	var k keySchema
	for range r.count() {
		k = append(k, keyAttribute{r.text(), attr.Kind(r.text())})
	}
	return k
}
