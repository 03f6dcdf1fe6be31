package catalog

import "cmp"

// CompareNames orders the names of tools (agent §1.7): `_` before digits before letters, letters without regard to case; of two
// names that differ in case alone, the one with the lower-case letter at the first difference comes first. It is what the root
// collation of ICU does to names of the form TOOL; other characters follow the letters, in byte order. Zero means equal.
func CompareNames(a, b string) int {
	byCase := 0
	for i := range min(len(a), len(b)) {
		x, y := a[i], b[i]
		if x == y {
			continue
		}
		if c := cmp.Compare(weights[x], weights[y]); c != 0 {
			return c
		}
		if byCase == 0 {
			byCase = cmp.Compare(y, x) // a lower-case letter is the larger byte
		}
	}
	if c := cmp.Compare(len(a), len(b)); c != 0 {
		return c
	}
	return byCase
}

// weights tells the characters of a name apart when case does not count.
var weights = func() (w [256]uint16) {
	for c := range w {
		w[c] = 256 + uint16(c)
	}
	next := uint16(1)
	for _, c := range "_0123456789abcdefghijklmnopqrstuvwxyz" {
		w[c] = next
		if 'a' <= c && c <= 'z' {
			w[c-'a'+'A'] = next
		}
		next++
	}
	return w
}()
