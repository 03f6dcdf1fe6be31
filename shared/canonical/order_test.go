package canonical

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

// keyShapes make keys that are sorted in different ways; their order is known from encoding them by the standard library.
var keyShapes = map[string]func(r *rand.Rand) string{
	"short":             func(r *rand.Rand) string { return pick(r, 4, "a", "b", "-", "~", " ", "/") },
	"a common prefix":   func(r *rand.Rand) string { return "common prefix " + pick(r, 9, "a", "b", "c") },
	"differing late":    func(r *rand.Rand) string { return strings.Repeat("a", r.IntN(200)) + pick(r, 3, "b", "c") },
	"escapes":           func(r *rand.Rand) string { return "\n" + pick(r, 6, "\x00", "\x01", "\n", `\`, `"`, "a") },
	"zeros at the end":  func(r *rand.Rand) string { return "a" + pick(r, 9, "\x00") + pick(r, 9, "\x00", "b") },
	"several languages": func(r *rand.Rand) string { return pick(r, 5, "é", "中", "\ud7ff", "\ue000", "\uffff", "z") },
	"two units": func(r *rand.Rand) string {
		return pick(r, 4, "😀", "😁", "\U00010000", "\U0010ffff", "\ue000", "a")
	},
}

func pick(r *rand.Rand, most int, alphabet ...string) string {
	var b strings.Builder
	for range r.IntN(most + 1) {
		b.WriteString(alphabet[r.IntN(len(alphabet))])
	}
	return b.String()
}

func TestObjectsOfAnySizeAndShapeSortByCodeUnits(t *testing.T) {
	t.Parallel()
	for shape, key := range keyShapes {
		for _, size := range []int{fewRefs, fewRefs + 1, smallObject + 1, someRefs, someRefs + 1, largeObject - 1, largeObject, 2000} {
			t.Run(fmt.Sprint(shape, " ", size), func(t *testing.T) {
				t.Parallel()
				r := rand.New(rand.NewPCG(uint64(size), 5))
				values := map[string]string{}
				var keys []string
				for range 50 * size { // some shapes have fewer keys than that
					k := key(r)
					if _, known := values[k]; !known && len(keys) < size {
						values[k] = []string{`1`, `"x"`, `[1]`, `{"b":[2],"a":{}}`}[r.IntN(4)]
						keys = append(keys, k)
					}
				}
				src := object(keys, values)
				v := mustParse(t, src)
				if got := string(v.AppendCompact(nil)); got != src {
					t.Errorf("compact form\n got %.300s\nwant %.300s", got, src)
				}
				slices.SortFunc(keys, func(a, b string) int {
					return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
				})
				want := strings.ReplaceAll(object(keys, values), `{"b":[2],"a":{}}`, `{"a":{},"b":[2]}`)
				if got := string(v.Canonical()); got != want {
					t.Errorf("canonical form\n got %.300s\nwant %.300s", got, want)
				}
				if v.Hash() != sum([]byte(want)) || !Equal(v, mustParse(t, want)) || !Equal(mustParse(t, want), v) {
					t.Error("not the same value as its canonical form")
				}
			})
		}
	}
}

// object spells an object with the given values of its keys, in the order of the keys. No key is an array index.
func object(keys []string, values map[string]string) string {
	var b strings.Builder
	for i, k := range keys {
		b.WriteString([]string{",", "{"}[max(0, 1-i)])
		b.Write(AppendString(nil, k))
		b.WriteString(":" + values[k])
	}
	return b.String() + "}"
}

func TestDuplicatesOfAnyShapeAreFound(t *testing.T) {
	t.Parallel()
	for shape, key := range keyShapes {
		for _, size := range []int{fewRefs + 1, smallObject + 1, someRefs + 1, largeObject, 2000} {
			r := rand.New(rand.NewPCG(uint64(size), 6))
			var keys []string
			values := map[string]string{}
			for i := range size {
				k := fmt.Sprint(key(r), "#", i)
				keys, values[k] = append(keys, k), "0"
			}
			mustParse(t, object(keys, values))
			keys = append(keys, keys[r.IntN(size)])
			if _, err := Parse([]byte(object(keys, values)), Limits{}); err == nil {
				t.Errorf("%s, %d keys: the duplicate was accepted", shape, size)
			}
		}
	}
}

func TestLoneSurrogatesSortAmongPairsInLargeObjects(t *testing.T) {
	t.Parallel()
	units := []string{`\ud83c`, `\ud83d`, "😀", "😁", `\ude00`, `\udfff`, "\ue000"} // 😀 is d83d de00, 😁 is d83d de01
	var want, shuffled []string
	for _, a := range units {
		want = append(want, a)
		for i := range 60 {
			want = append(want, a+fmt.Sprintf("%02d", i)) // after a itself, and before the next: digits are below surrogates
		}
	}
	for i := range want {
		want[i] = `"` + want[i] + `":0`
	}
	shuffled = slices.Clone(want)
	rand.New(rand.NewPCG(1, 7)).Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	if got := string(mustParse(t, "{"+strings.Join(shuffled, ",")+"}").Canonical()); got != "{"+strings.Join(want, ",")+"}" {
		t.Errorf("got %s", got)
	}
}
