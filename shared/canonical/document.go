package canonical

// document is the text of a whole parsed document in compact form, every string and number in its canonical spelling,
// members in source order, with the table that makes walking it cheap.
type document struct {
	text   string
	tab    []entry
	sorted map[uint32][]ref // by their entries: large objects not in canonical order, their members in canonical order
}

// entry describes one container that is not empty; entries are in the order in which their containers open.
type entry struct {
	size uint32 // bytes of text, brackets included
	span uint32 // entries from this one to the last inside it, and two flags
}

const entrySize = 8 // bytes

const (
	flagCompact   = 1 << 31 // the text is in ECMAScript property order all the way down
	flagCanonical = 1 << 30 // the text is in canonical order all the way down
	spanMask      = flagCanonical - 1
)

// member is the place of one object member. Its key is spelled text[key+1:val-2]; tab is the first entry at or after
// its value.
type member struct{ key, val, tab uint32 }

// ref is a member in a list to be sorted, with room for what the order depends on. There may be more bytes of refs than of
// text, so it has no place for what the text tells.
type ref struct{ key, tab, prefix uint32 }

// skip returns the place after the value at pos, and the first table entry after it.
func (d *document) skip(pos, tab uint32) (uint32, uint32) {
	switch c := d.text[pos]; c {
	case '{', '[':
		if d.text[pos+1] == c+2 { // '}' and ']' follow their opening brackets by two
			return pos + 2, tab
		}
		e := d.tab[tab]
		return pos + e.size, tab + e.span&spanMask
	case '"':
		return d.stringEnd(pos), tab
	case 't', 'n':
		return pos + 4, tab
	case 'f':
		return pos + 5, tab
	}
	for pos++; int(pos) < len(d.text); pos++ {
		if c := d.text[pos]; c == ',' || c == ']' || c == '}' {
			break
		}
	}
	return pos, tab
}

// stringEnd returns the place after the string that opens at pos. Most are so short that looking at every byte is faster
// than calling what skips many at once.
func (d *document) stringEnd(pos uint32) uint32 {
	text := d.text
	for i := int(pos) + 1; ; i++ {
		switch text[i] {
		case '"':
			return uint32(i) + 1
		case '\\':
			i++
		}
	}
}

// member reads the member whose key opens at pos. next is the place of the following key; more is false after the last.
func (d *document) member(pos, tab uint32) (m member, next, nextTab uint32, more bool) {
	m = member{key: pos, val: d.stringEnd(pos) + 1, tab: tab}
	end, nextTab := d.skip(m.val, tab)
	return m, end + 1, nextTab, d.text[end] == ','
}

// key is the canonical spelling of the key that opens at pos, without its quotation marks. Equal spellings are equal keys.
func (d *document) key(pos uint32) string { return d.text[pos+1 : d.stringEnd(pos)-1] }

// value is the value of a member.
func (d *document) value(r ref) Value { return Value{d, d.stringEnd(r.key) + 1, r.tab} }

// gather appends the members of the object at pos, which is not empty, in source order.
func (d *document) gather(dst []ref, pos, tab uint32) []ref {
	if d.tab[tab].size > 4<<10 { // growing by steps would allocate several times as much
		if n := len(dst) + d.count(pos, tab); n > cap(dst) {
			dst = append(make([]ref, 0, n), dst...)
		}
	}
	return d.collect(dst, pos, tab)
}

// collect is gather where dst is known to have room.
func (d *document) collect(dst []ref, pos, tab uint32) []ref {
	pos, tab = pos+1, tab+1
	for {
		m, next, nextTab, more := d.member(pos, tab)
		dst = append(dst, ref{key: m.key, tab: m.tab})
		if !more {
			return dst
		}
		pos, tab = next, nextTab
	}
}

// count is the number of members of the object at pos, which is not empty.
func (d *document) count(pos, tab uint32) int {
	n := 0
	pos, tab = pos+1, tab+1
	for more := true; more; n++ {
		_, pos, tab, more = d.member(pos, tab)
	}
	return n
}

// empty reports whether the container at pos holds nothing.
func (d *document) empty(pos uint32) bool { return d.text[pos+1] == d.text[pos]+2 }
