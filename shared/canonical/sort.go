package canonical

import (
	"cmp"
	"math"
	"slices"
)

// sortProperties brings members into ECMAScript property order.
func (d *document) sortProperties(refs []ref) {
	for i, r := range refs {
		if n := arrayIndex(d.key(r.key)); n >= 0 {
			refs[i].prefix = uint32(n)
		} else {
			refs[i].prefix = 1<<32 - 1 // which is no index: names come last, as they came
		}
	}
	slices.SortStableFunc(refs, func(a, b ref) int { return cmp.Compare(a.prefix, b.prefix) })
}

// canonicalMembers is the members of the object at pos, which is not empty, in canonical order. It is not to be changed.
func (d *document) canonicalMembers(pos, tab uint32) []ref {
	if kept, ok := d.sorted[tab]; ok {
		return kept
	}
	refs := d.gather(nil, pos, tab)
	d.sortCanonical(refs)
	return refs
}

// sortCanonical brings members into canonical order and reports whether no two keys are the same. If some are, the order may
// be another.
func (d *document) sortCanonical(refs []ref) (unique bool) { return d.sortLevel(refs, maxLevels) }

const (
	maxLevels = 8  // of four bytes each; keys made to differ later than that are compared whole
	fewRefs   = 12 // are compared whole too: looking for what they differ in would cost more
	someRefs  = 64 // are compared by what they differ in: counting bytes would cost more
)

// sortLevel sorts members with at most so many levels of radix sort. What the keys of a large object differ in is copied beside
// their places, because looking into the text at every comparison would miss the processor's caches.
func (d *document) sortLevel(refs []ref, levels int) (unique bool) {
	if len(refs) > fewRefs && levels > 0 {
		d.setPrefixes(refs)
		return d.sortPrefixes(refs, 24, levels)
	}
	unique = true
	slices.SortFunc(refs, func(a, b ref) int {
		c := compareKeys(d.text[a.key+1:], d.text[b.key+1:])
		unique = unique && (c != 0 || a.key == b.key)
		return c
	})
	return unique
}

// setPrefixes gives every member the four bytes of its key that follow what all the keys have in common.
func (d *document) setPrefixes(refs []ref) {
	plain, common := math.MaxInt, math.MaxInt // bytes; the plain ones need no orderReader
	first := d.text[refs[0].key+1:]
	for _, r := range refs[1:] {
		key, n := d.text[r.key+1:], 0
		for n < plain && key[n] == first[n] && !special(key[n]) {
			n++
		}
		plain = n
		a, b := orderReader{text: first, i: n}, orderReader{text: key, i: n}
		for n < common {
			x := a.next()
			if x != b.next() || x == 0 {
				break
			}
			n++
		}
		common = n
	}
	for i := range refs {
		r := orderReader{text: d.text[refs[i].key+1:], i: plain}
		for range common - plain {
			r.next()
		}
		refs[i].prefix = r.prefix()
	}
}

// sortPrefixes sorts by the byte of the prefix at shift, those after it, and what follows the prefix.
func (d *document) sortPrefixes(refs []ref, shift, levels int) (unique bool) {
	if len(refs) > someRefs && shift >= 0 {
		from := 0
		for _, to := range partition(refs, shift) {
			if to > from && !d.sortPrefixes(refs[from:to], shift-8, levels) {
				return false
			}
			from = to
		}
		return true
	}
	for i, r := range refs {
		for ; i > 0 && r.prefix < refs[i-1].prefix; i-- {
			refs[i] = refs[i-1]
		}
		refs[i] = r
	}
	for from, to := 0, 0; from < len(refs); from = to {
		prefix := refs[from].prefix
		for to < len(refs) && refs[to].prefix == prefix {
			to++
		}
		if to-from == 1 {
			continue
		}
		if byte(prefix) == 0 { // the keys have ended
			return false
		}
		if !d.sortLevel(refs[from:to], levels-1) {
			return false
		}
	}
	return true
}

// partition sorts by the byte of the prefix at shift, in place (American flag sort), and returns where the members with
// each byte end.
func partition(refs []ref, shift int) [256]int {
	var next, end [256]int
	for _, r := range refs {
		end[byte(r.prefix>>shift)]++
	}
	for b, sum := 0, 0; b < len(end); b++ {
		next[b] = sum
		sum += end[b]
		end[b] = sum
	}
	for b := range end {
		for next[b] < end[b] {
			r := refs[next[b]]
			for at := byte(r.prefix >> shift); int(at) != b; at = byte(r.prefix >> shift) {
				r, refs[next[at]] = refs[next[at]], r
				next[at]++
			}
			refs[next[b]] = r
			next[b]++
		}
	}
	return end
}
