package canonical

import "slices"

// Equal reports whether a and b have the same canonical form. Two Invalid values are equal.
func Equal(a, b Value) bool {
	if a.doc == nil || b.doc == nil {
		return a.doc == b.doc
	}
	x, y := a.text(), b.text()
	if len(x) != len(y) || x[0] != y[0] {
		return false // spellings are unique and order does not change length
	}
	if x == y || a.flags()&b.flags()&flagCanonical != 0 {
		return x == y
	}
	if a.Kind() == Array {
		return equalArrays(a, b)
	}
	return equalObjects(a, b)
}

func equalArrays(a, b Value) bool {
	posA, tabA, posB, tabB := a.pos+1, a.tab+1, b.pos+1, b.tab+1
	for {
		if !Equal(Value{a.doc, posA, tabA}, Value{b.doc, posB, tabB}) {
			return false
		}
		posA, tabA = a.doc.skip(posA, tabA)
		posB, tabB = b.doc.skip(posB, tabB)
		if a.doc.text[posA] != b.doc.text[posB] {
			return false
		}
		if a.doc.text[posA] != ',' {
			return true
		}
		posA, posB = posA+1, posB+1
	}
}

func equalObjects(a, b Value) bool {
	left, right := a.doc.canonicalMembers(a.pos, a.tab), b.doc.canonicalMembers(b.pos, b.tab)
	return slices.EqualFunc(left, right, func(x, y ref) bool {
		return a.doc.key(x.key) == b.doc.key(y.key) && Equal(a.doc.value(x), b.doc.value(y))
	})
}
