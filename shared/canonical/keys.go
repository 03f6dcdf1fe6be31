package canonical

import (
	"slices"
	"unicode/utf8"
)

// keyOrder follows the keys of one object while it is read. Objects whose keys ascend, as most machines write
// them, need no further work: they have no duplicates and are in canonical order.
type keyOrder struct {
	ascending bool  // by UTF-16 code units, strictly
	ordered   bool  // integer-like keys first and ascending: ECMAScript property order
	escaped   bool  // a key had escapes: what else is known may not hold for its final spelling
	named     bool  // a key that is not integer-like was seen
	last      int64 // the last integer-like key
	from, to  int   // the last key
	count     int
}

// newKeyOrder is what is known before the first key.
func newKeyOrder() keyOrder { return keyOrder{ascending: true, ordered: true, last: -1} }

// addKey looks at one more key, text[from:to], which a quotation mark follows; all keys of an object lie in the same text.
func addKey[T ~string | ~[]byte](o *keyOrder, text T, from, to int) {
	key := text[from:to]
	if o.count > 0 && o.ascending {
		o.ascending = compareKeys(text[o.from:o.to+1], text[from:to+1]) < 0
	}
	o.from, o.to = from, to
	o.count++
	o.follow(arrayIndex(key))
}

// follow keeps ordered up to date with one more key, which is the array index n, or a name if n is negative.
func (o *keyOrder) follow(n int64) {
	if n < 0 {
		o.named = true
		return
	}
	if o.named || n <= o.last {
		o.ordered = false
	}
	o.last = n
}

const (
	smallObject = 24  // up to so many members, keys are compared in pairs to find duplicates
	largeObject = 256 // from so many members on, a document keeps their canonical order
)

// span is a stretch of a document's text.
type span struct{ from, to uint32 }

// checkKeys finds duplicates and the true order of an object whose keys did not visibly ascend. Its text is complete.
func (p *parser) checkKeys(f *frame) error {
	d := &document{text: p.out.String(), tab: p.tab}
	if f.keys.escaped {
		f.keys = d.keyOrder(f.pos, f.tab)
	}
	unique := true
	switch {
	case f.keys.ascending:
	case f.keys.count <= smallObject:
		unique = d.differ(p.keys[f.first:])
	default:
		unique = p.sortKeys(d, f)
	}
	if !unique {
		return &SyntaxError{f.src, "duplicate key", ErrDuplicateKey}
	}
	return nil
}

// keyOrder looks at the keys of the object at pos, which is not empty, in their final spelling.
func (d *document) keyOrder(pos, tab uint32) keyOrder {
	o := newKeyOrder()
	pos, tab = pos+1, tab+1
	for more := true; more; {
		var m member
		m, pos, tab, more = d.member(pos, tab)
		addKey(&o, d.text, int(m.key)+1, int(m.val)-2)
	}
	return o
}

// differ reports whether no two of the keys are the same.
func (d *document) differ(keys []span) bool {
	text := d.text
	for i, a := range keys {
		for _, b := range keys[:i] {
			// Most keys differ at once, in their first bytes or their closing quotation marks.
			if text[a.from] == text[b.from] && text[a.from:a.to] == text[b.from:b.to] {
				return false
			}
		}
	}
	return true
}

// sortKeys sorts the members of an object, keeps their order if finding it again would be much work, and reports whether
// no two of the keys are the same.
func (p *parser) sortKeys(d *document, f *frame) bool {
	refs := p.refs[:0]
	if cap(refs) < f.keys.count {
		refs = make([]ref, 0, f.keys.count)
	}
	refs = d.collect(refs, f.pos, f.tab)
	unique := d.sortCanonical(refs)
	if p.refs = refs; len(refs) >= largeObject {
		if p.sorted == nil {
			p.sorted = make(map[uint32][]ref)
		}
		p.sorted[f.tab], p.refs = refs, nil
	}
	return unique
}

// arrayIndex is the value of an integer-like key, 0 to 2^32-2 without leading zeros, or -1. No such key has escapes in its
// final spelling; a key that still has some is looked at again by checkKeys.
func arrayIndex[T ~string | ~[]byte](key T) int64 {
	if len(key) == 0 || len(key) > 10 || key[0] == '0' && len(key) > 1 {
		return -1
	}
	n := int64(0)
	for i := range len(key) {
		c := key[i]
		if c < '0' || c > '9' {
			return -1
		}
		n = n*10 + int64(c-'0')
	}
	if n > 1<<32-2 {
		return -1
	}
	return n
}

// appendUnits appends the UTF-16 form of WTF-8 text; a byte that belongs to nothing becomes U+FFFD.
func appendUnits(dst []uint16, s string) []uint16 {
	for i := 0; i < len(s); {
		if u, ok := surrogateAt(s, i); ok {
			dst, i = append(dst, u), i+3
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if i += n; r > 0xFFFF {
			high, low := surrogates(r)
			dst = append(dst, high, low)
			continue
		}
		dst = append(dst, uint16(r))
	}
	return dst
}

// compareText orders two decoded keys by UTF-16 code units.
func compareText(a, b string) int {
	return slices.Compare(appendUnits(nil, a), appendUnits(nil, b))
}
