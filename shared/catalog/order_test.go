package catalog_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"

	"bailing/shared/catalog"
)

func TestNamesAreOrderedLikeTheSample(t *testing.T) {
	t.Parallel()
	want := strings.Split("_x, a, A, a_b, a1, ab, aB, Ab, b, B, order_2, order_list, order2, orderList, orders, z, z9, Z9", ", ")
	got := slices.Clone(want)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(got), func(i, j int) { got[i], got[j] = got[j], got[i] })
	slices.SortFunc(got, catalog.CompareNames)
	if !slices.Equal(got, want) {
		t.Errorf("%v\nwant\n%v", got, want)
	}
}

const (
	nameStart = "_abcABCyzYZ"
	nameTail  = nameStart + "0189"
)

// name is a random name of the form TOOL, of few characters so that names have much in common.
func name(r *rand.Rand, max int) string {
	b := []byte{nameStart[r.IntN(len(nameStart))]}
	for range r.IntN(max) {
		b = append(b, nameTail[r.IntN(len(nameTail))])
	}
	return string(b)
}

// The root collation of CLDR is what the order comes from. It does not ignore the underscore, which package collate does unless
// it is told not to.
func TestNamesAreOrderedAsTheRootCollationDoes(t *testing.T) {
	t.Parallel()
	c := collate.New(language.MustParse("und-u-ka-noignore"))
	r := rand.New(rand.NewPCG(3, 4))
	for range 50_000 {
		a, b := name(r, 6), name(r, 6)
		if r.IntN(4) == 0 {
			b = flipCase(r, a)
		}
		if got, want := catalog.CompareNames(a, b), c.CompareString(a, b); got != want {
			t.Fatalf("CompareNames(%q, %q) = %d, the collation says %d", a, b, got, want)
		}
	}
}

func flipCase(r *rand.Rand, s string) string {
	b := []byte(s)
	for i, c := range b {
		if c >= 'A' && r.IntN(3) == 0 && c != '_' {
			b[i] = c ^ 0x20
		}
	}
	return string(b)
}

// Equal means the same name: no two tools of a surface are left in the order in which they came.
func TestOrderOfNamesIsTotal(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	for range 20_000 {
		a, b, c := name(r, 4), name(r, 4), name(r, 4)
		if x := catalog.CompareNames(a, b); (x == 0) != (a == b) || x != -catalog.CompareNames(b, a) {
			t.Fatalf("CompareNames(%q, %q) = %d", a, b, x)
		}
		abc := []string{a, b, c}
		slices.SortFunc(abc, catalog.CompareNames)
		if abc[0] != abc[2] && catalog.CompareNames(abc[0], abc[2]) >= 0 {
			t.Fatalf("%q is not in order", abc)
		}
	}
}
