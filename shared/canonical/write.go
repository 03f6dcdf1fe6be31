package canonical

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"hash"
	"slices"
)

// Size is the length in bytes of the compact form, and of the canonical form, which differ in order only: the
// measure of the argument budget (core §5.2). It costs nothing for arrays and objects.
func (v Value) Size() int { return len(v.text()) }

// AppendCanonical appends the canonical form of v (core §5.7). The Invalid value appends nothing.
func (v Value) AppendCanonical(dst []byte) []byte { return v.appendOrdered(dst, flagCanonical) }

// AppendCompact appends v as JSON.stringify writes it, members in ECMAScript property order: the bytes of request
// bodies (core §3.3). The Invalid value appends nothing.
func (v Value) AppendCompact(dst []byte) []byte { return v.appendOrdered(dst, flagCompact) }

func (v Value) appendOrdered(dst []byte, order uint32) []byte {
	if v.doc == nil {
		return dst
	}
	if v.flags()&order != 0 {
		return append(dst, v.text()...)
	}
	from, to := len(dst), len(dst)+v.Size()
	dst = slices.Grow(dst, to-from)[:to]
	w := writer{buf: dst[from:], order: order}
	w.value(v)
	return dst
}

// Canonical is the canonical form of v in a slice of its own.
func (v Value) Canonical() []byte { return v.AppendCanonical(nil) }

// hashBlock is how much canonical text is handed to the hash at a time.
const hashBlock = 8 << 10

// Hash is the SHA-256 of the canonical form in lower-case hexadecimal: args_hash of core §5.7.
func (v Value) Hash() string {
	var sum [sha256.Size]byte
	if size := v.Size(); size <= hashBlock {
		sum = sha256.Sum256(v.Canonical())
	} else {
		w := writer{buf: make([]byte, hashBlock), order: flagCanonical, hash: sha256.New()}
		w.value(v)
		w.flush()
		w.hash.Sum(sum[:0])
	}
	return hex.EncodeToString(sum[:])
}

// writer writes values in one of the two orders, into buf or through it into a hash.
type writer struct {
	buf   []byte // has room for everything, unless there is a hash
	n     int    // bytes of buf in use
	hash  hash.Hash
	order uint32
	refs  []ref // stack of the members of objects being taken apart
}

func (w *writer) flush() {
	w.hash.Write(w.buf[:w.n]) // never fails
	w.n = 0
}

func (w *writer) text(s string) {
	for {
		n := copy(w.buf[w.n:], s)
		w.n += n
		if n == len(s) {
			return
		}
		s = s[n:]
		w.flush()
	}
}

// value writes v, copying whatever below it already is in order.
func (w *writer) value(v Value) {
	if v.flags()&w.order != 0 {
		w.text(v.text())
		return
	}
	if v.Kind() == Array {
		w.array(v)
		return
	}
	d, from := v.doc, len(w.refs)
	sep := "{"
	for _, r := range w.members(v) {
		w.text(sep)
		sep = ","
		m := d.value(r)
		if m.flags()&w.order != 0 {
			end, _ := d.skip(m.pos, m.tab)
			w.text(d.text[r.key:end])
			continue
		}
		w.text(d.text[r.key:m.pos])
		w.value(m)
	}
	w.text("}")
	w.refs = w.refs[:from]
}

// members is the members of an object in the order of the writer, on top of its stack or in the document.
func (w *writer) members(v Value) []ref {
	d, from := v.doc, len(w.refs)
	if kept, ok := d.sorted[v.tab]; ok && w.order == flagCanonical {
		return kept
	}
	if w.refs == nil {
		w.refs = make([]ref, 0, 16) // enough for most, and one allocation instead of several
	}
	w.refs = d.gather(w.refs, v.pos, v.tab)
	refs := w.refs[from:]
	if w.order == flagCanonical {
		d.sortCanonical(refs)
	} else {
		d.sortProperties(refs)
	}
	return refs
}

// array writes an array that holds something out of order, in runs of elements that are in order.
func (w *writer) array(v Value) {
	d := v.doc
	start := v.pos
	pos, tab := v.pos+1, v.tab+1
	for {
		e := Value{d, pos, tab}
		end, nextTab := d.skip(pos, tab)
		if e.flags()&w.order == 0 {
			w.text(d.text[start:pos])
			w.value(e)
			start = end
		}
		if d.text[end] != ',' {
			w.text(d.text[start : end+1])
			return
		}
		pos, tab = end+1, nextTab
	}
}

// MarshalJSON makes a Value usable inside structures given to encoding/json, which may escape more characters than the
// compact form does. Where bytes matter use [Value.AppendCompact]. The Invalid value is an error.
func (v Value) MarshalJSON() ([]byte, error) {
	if v.doc == nil {
		return nil, errors.New("canonical: the invalid value has no JSON form")
	}
	return v.AppendCompact(nil), nil
}

// ToGo is v as map[string]any, []any, string, [json.Number], bool or nil. The Invalid value is nil too.
func (v Value) ToGo() any {
	switch v.Kind() {
	case Bool:
		return v.Bool()
	case Number:
		return json.Number(v.Number())
	case String:
		return v.Text()
	case Array:
		list := make([]any, 0, v.Len())
		for _, e := range v.Elems() {
			list = append(list, e.ToGo())
		}
		return list
	case Object:
		object := make(map[string]any, v.Len())
		for key, m := range v.sourceMembers() {
			object[decode(key)] = m.ToGo()
		}
		return object
	}
	return nil
}
