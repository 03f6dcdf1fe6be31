package canonical

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sort"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
)

// generator writes random documents, with white space and keys in any order.
type generator struct {
	r      *rand.Rand
	simple bool // nothing that encoding/json spells differently
	b      strings.Builder
}

func (g *generator) space() {
	if !g.simple && g.r.IntN(4) == 0 {
		g.b.WriteString([]string{" ", "\n\t", "\r "}[g.r.IntN(3)])
	}
}

func (g *generator) text() string {
	alphabet := []string{"a", "b", "Z", "0", "7", "_", "é", "中", " "}
	if !g.simple {
		alphabet = append(alphabet, `\n`, `\u0041`, `\"`, `\\`, "😀", "\ue000", `\ud800`, `\udc00`, `\/`, `\u001F`, "\u2028")
	}
	var b strings.Builder
	for range g.r.IntN(5) {
		b.WriteString(alphabet[g.r.IntN(len(alphabet))])
	}
	return b.String()
}

func (g *generator) number() string {
	if g.simple {
		return strconv.Itoa(g.r.IntN(2_000_001) - 1_000_000)
	}
	switch g.r.IntN(4) {
	case 0:
		return strconv.FormatInt(g.r.Int64(), 10)
	case 1:
		return strconv.FormatFloat(g.r.NormFloat64(), 'e', g.r.IntN(18), 64)
	case 2:
		return fmt.Sprintf("%d.%d", g.r.IntN(100), g.r.IntN(1000))
	}
	return fmt.Sprintf("%de%d", g.r.IntN(1000), g.r.IntN(60)-30)
}

func (g *generator) value(depth int) {
	g.space()
	defer g.space()
	kind := g.r.IntN(8)
	if depth == 0 {
		kind %= 4
	}
	switch kind {
	case 0:
		g.b.WriteString([]string{"true", "false", "null"}[g.r.IntN(3)])
	case 1, 2:
		g.b.WriteString(g.number())
	case 3:
		g.b.WriteString(`"` + g.text() + `"`)
	case 4, 5:
		g.b.WriteByte('[')
		for i := range g.r.IntN(5) {
			if i > 0 {
				g.b.WriteByte(',')
			}
			g.value(depth - 1)
		}
		g.b.WriteByte(']')
	default:
		g.b.WriteByte('{')
		for i := range g.r.IntN(6) {
			if i > 0 {
				g.b.WriteByte(',')
			}
			// The index makes keys unique whatever their text.
			key := fmt.Sprintf("%s%d", g.text(), i)
			if g.r.IntN(3) == 0 {
				key = strconv.Itoa(1000*(5-i) + g.r.IntN(900))
			}
			g.b.WriteString(`"` + key + `"`)
			g.space()
			g.b.WriteByte(':')
			g.value(depth - 1)
		}
		g.b.WriteByte('}')
	}
}

func documents(t *testing.T, simple bool, check func(t *testing.T, src string)) {
	t.Helper()
	for seed := range uint64(1500) {
		g := generator{r: rand.New(rand.NewPCG(seed, 1)), simple: simple}
		g.value(5)
		check(t, g.b.String())
		if t.Failed() {
			t.Fatalf("seed %d: %s", seed, g.b.String())
		}
	}
}

func TestPropertyFormsAreStable(t *testing.T) {
	t.Parallel()
	documents(t, false, checkForms)
}

// checkForms holds for every document that Parse accepts.
func checkForms(t *testing.T, src string) {
	v, err := Parse([]byte(src), Limits{})
	if err != nil {
		t.Errorf("refused: %v", err)
		return
	}
	canon, compact := v.Canonical(), v.AppendCompact(nil)
	for form, text := range map[string][]byte{"canonical": canon, "compact": compact} {
		if !json.Valid(text) {
			t.Errorf("%s form is not JSON: %s", form, text)
		}
		again, err := Parse(text, Limits{MaxBytes: MaxMaxBytes})
		if err != nil {
			t.Errorf("%s form refused: %v", form, err)
			return
		}
		if got := again.Canonical(); !bytes.Equal(got, canon) {
			t.Errorf("canonical form of the %s form\n got %s\nwant %s", form, got, canon)
		}
		if !Equal(v, again) || again.Hash() != sum(canon) {
			t.Errorf("the %s form is another value", form)
		}
		if len(text) != v.Size() {
			t.Errorf("Size %d, %s form %d", v.Size(), form, len(text))
		}
		if form == "compact" && !bytes.Equal(again.AppendCompact(nil), compact) {
			t.Errorf("compact form is not stable")
		}
	}
	if v.Hash() != sum(canon) {
		t.Errorf("Hash is not that of the canonical form")
	}
	if rebuilt := rebuild(v); rebuilt != string(compact) {
		t.Errorf("walking gives %s\nwriting gives %s", rebuilt, compact)
	}
}

// rebuild writes the compact form with nothing but the accessors.
func rebuild(v Value) string {
	switch v.Kind() {
	case Array:
		var parts []string
		for _, e := range v.Elems() {
			parts = append(parts, rebuild(e))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case Object:
		var parts []string
		for key, m := range v.Members() {
			parts = append(parts, string(AppendString(nil, key))+":"+rebuild(m))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case String:
		return string(AppendString(nil, v.Text()))
	case Number:
		return v.Number()
	case Bool:
		return strconv.FormatBool(v.Bool())
	}
	return "null"
}

// naive is the canonical form by encoding/json, right for documents without anything tricky.
func naive(v any) string {
	switch v := v.(type) {
	case []any:
		parts := make([]string, len(v))
		for i, e := range v {
			parts[i] = naive(e)
		}
		return "[" + strings.Join(parts, ",") + "]"
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		sort.Slice(keys, func(i, j int) bool {
			a, b := utf16.Encode([]rune(keys[i])), utf16.Encode([]rune(keys[j]))
			for k := range min(len(a), len(b)) {
				if a[k] != b[k] {
					return a[k] < b[k]
				}
			}
			return len(a) < len(b)
		})
		for i, k := range keys {
			keys[i] = naive(k) + ":" + naive(v[k])
		}
		return "{" + strings.Join(keys, ",") + "}"
	}
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestPropertyAgreesWithANaiveEvaluator(t *testing.T) {
	t.Parallel()
	documents(t, true, func(t *testing.T, src string) {
		var v any
		if err := json.Unmarshal([]byte(src), &v); err != nil {
			t.Errorf("generator: %v", err)
			return
		}
		if got, want := string(mustParse(t, src).Canonical()), naive(v); got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

func FuzzParse(f *testing.F) {
	for seed := range uint64(40) {
		g := generator{r: rand.New(rand.NewPCG(seed, 2))}
		g.value(4)
		f.Add([]byte(g.b.String()))
	}
	for _, s := range []string{``, `{"a":1,"a":2}`, `"\ud800\udc00"`, `[1e400]`, `{"\u0031":0,"a":0}`, "[\xff]", `-0`, `1e-400`, `{"a":{"b":[]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		v, err := Parse(src, Limits{})
		if err == nil {
			if !json.Valid(src) {
				t.Fatalf("accepted what is not JSON: %q", src)
			}
			if _, err := Parse(v.Canonical(), Limits{MaxBytes: MaxMaxBytes, MaxDepth: MaxMaxDepth}); err != nil {
				t.Fatal(err)
			}
			checkForms(t, string(src))
		}
	})
}

// Large objects are sorted another way than small ones; both must give UTF-16 order.
func TestPropertyLargeObjectsSortLikeSmallOnes(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 3))
		alphabet := []string{"a", "b", "0", "~", "é", "\ud7ff"}
		if seed%2 == 1 {
			alphabet = append(alphabet, "😀", "\ue000", "\n", `\`, "\uffff", "\x01")
		}
		object := map[string]any{}
		for range 200 {
			key := []string{"", "common prefix"}[seed/2%2]
			for range r.IntN(7) {
				key += alphabet[r.IntN(len(alphabet))]
			}
			object[key] = float64(r.IntN(9))
		}
		keys := make([]string, 0, len(object))
		for k := range object {
			keys = append(keys, k)
		}
		var b strings.Builder
		for i, k := range keys { // in the map's random order
			sep := ","
			if i == 0 {
				sep = "{"
			}
			fmt.Fprintf(&b, "%s%s:%v", sep, AppendString(nil, k), object[k])
		}
		b.WriteString("}")
		v := mustParse(t, b.String())
		sorted, err := FromGo(object) // sorts decoded keys by their UTF-16 units
		if err != nil {
			t.Fatal(err)
		}
		if got, want := string(v.Canonical()), string(sorted.Canonical()); got != want || !Equal(v, sorted) {
			t.Fatalf("seed %d\n got %s\nwant %s", seed, got, want)
		}
		var order []string
		for key := range sorted.sourceMembers() {
			order = append(order, decode(key))
		}
		if !sort.SliceIsSorted(order, func(i, j int) bool { return compareText(order[i], order[j]) < 0 }) {
			t.Fatalf("seed %d: FromGo does not sort", seed)
		}
	}
}
