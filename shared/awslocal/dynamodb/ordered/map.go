package ordered

import (
	"iter"
	"slices"
	"sort"
)

// maxBlock bounds how many entries one insert may move.
const maxBlock = 256

type entry[V any] struct {
	key   string
	value V
}

// Map is a sorted map. The zero value is empty and ready to use.
type Map[V any] struct {
	blocks [][]entry[V] // each sorted and not empty; blocks are in order
	n      int
}

// Len is the number of keys.
func (m *Map[V]) Len() int { return m.n }

// seek finds the position of the first key not below key: the block (len(blocks) when there is none) and the index in it.
func (m *Map[V]) seek(key string) (block, index int) {
	block = sort.Search(len(m.blocks), func(i int) bool {
		b := m.blocks[i]
		return b[len(b)-1].key >= key
	})
	if block == len(m.blocks) {
		return block, 0
	}
	b := m.blocks[block]
	return block, sort.Search(len(b), func(i int) bool { return b[i].key >= key })
}

// Get returns the value at key.
func (m *Map[V]) Get(key string) (value V, ok bool) {
	b, i := m.seek(key)
	if b == len(m.blocks) || m.blocks[b][i].key != key {
		return value, false
	}
	return m.blocks[b][i].value, true
}

// Set stores value at key.
func (m *Map[V]) Set(key string, value V) {
	b, i := m.seek(key)
	switch {
	case len(m.blocks) == 0:
		m.blocks = [][]entry[V]{nil}
	case b == len(m.blocks): // above every key: goes to the end of the last block
		b--
		i = len(m.blocks[b])
	case m.blocks[b][i].key == key:
		m.blocks[b][i].value = value
		return
	}
	m.n++
	block := slices.Insert(m.blocks[b], i, entry[V]{key, value})
	m.blocks[b] = block
	if len(block) > maxBlock {
		m.split(b)
	}
}

// split halves a full block. Keys that arrive in order fill blocks at the end, so there the left part stays nearly full.
func (m *Map[V]) split(b int) {
	block := m.blocks[b]
	at := len(block) / 2
	if b == len(m.blocks)-1 {
		at = len(block) * 7 / 8
	}
	left, right := slices.Clone(block[:at]), slices.Clone(block[at:])
	m.blocks[b] = left
	m.blocks = slices.Insert(m.blocks, b+1, right)
}

// Delete removes key and reports whether it was there.
func (m *Map[V]) Delete(key string) bool {
	b, i := m.seek(key)
	if b == len(m.blocks) || m.blocks[b][i].key != key {
		return false
	}
	m.n--
	m.blocks[b] = slices.Delete(m.blocks[b], i, i+1)
	if len(m.blocks[b]) == 0 {
		m.blocks = slices.Delete(m.blocks, b, b+1)
		return true
	}
	// Without joining, a long row of deletions would leave as many blocks as there once were entries / maxBlock.
	if b+1 < len(m.blocks) && len(m.blocks[b])+len(m.blocks[b+1]) <= maxBlock/2 {
		m.blocks[b] = append(m.blocks[b], m.blocks[b+1]...)
		m.blocks = slices.Delete(m.blocks, b+1, b+2)
	}
	return true
}

// Ascend yields the entries with from <= key < to in rising order; an empty to means no upper end. The map must not
// change meanwhile.
func (m *Map[V]) Ascend(from, to string) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		b, i := m.seek(from)
		for ; b < len(m.blocks); b, i = b+1, 0 {
			for _, e := range m.blocks[b][i:] {
				if to != "" && e.key >= to || !yield(e.key, e.value) {
					return
				}
			}
		}
	}
}

// Descend yields the entries of [Map.Ascend] in falling order.
func (m *Map[V]) Descend(from, to string) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		b, i := len(m.blocks), 0
		if to != "" {
			b, i = m.seek(to)
		}
		for {
			for i--; i >= 0; i-- {
				e := m.blocks[b][i]
				if e.key < from || !yield(e.key, e.value) {
					return
				}
			}
			if b--; b < 0 {
				return
			}
			i = len(m.blocks[b])
		}
	}
}
