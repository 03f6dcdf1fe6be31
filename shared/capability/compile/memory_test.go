package compile

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// repeated is a document of MaxDocumentBytes or a little less: head, then units, then tail. A %d in the unit counts them.
func repeated(head, unit, tail string) []byte {
	b := append(make([]byte, 0, MaxDocumentBytes), head...)
	for i := 0; ; i++ {
		next := unit
		if strings.Contains(unit, "%d") {
			next = fmt.Sprintf(unit, i)
		}
		if len(b)+len(next)+len(tail) > MaxDocumentBytes {
			return append(b, tail...)
		}
		b = append(b, next...)
	}
}

// hostile are shapes of YAML that make a parser spend much for each byte.
var hostile = []struct{ shape, head, unit, tail string }{
	{"empty sequences", "a: [", "[],", "]\n"},
	{"words in a sequence", "a: [", "x,", "]\n"},
	{"mappings without values", "a: [", "{a},", "]\n"},
	{"pairs in a sequence", "a: [", "?:,", "]\n"},
	{"explicit keys in braces", "a: {", "?,", "}\n"},
	{"keys on lines of their own in braces", "a: {", "a\n,", "}\n"},
	{"block entries", "a:\n", "- a\n", ""},
	{"empty block entries", "a:\n", "-\n", ""},
	{"dashes in a row", "a:\n ", "- ", "\n"},
	{"rows of dashes", "a:\n", strings.Repeat("- ", 4000) + "\n", ""},
	{"question marks in a row", "", "? ", "\n"},
	{"lines of question marks", "", "?\n", ""},
	{"rows of question marks", "a:\n", strings.Repeat("? ", 4000) + "\n", ""},
	{"mapping keys", "", "%d:\n", ""},
	{"the same key", "", "a:\n", ""},
	{"quoted keys", "", "'%d':\n", ""},
	{"keys beyond ASCII", "", "é%d: é\n", ""},
	{"keys and values by explicit marks", "", "? a\n: b\n", ""},
	{"small mappings in a sequence", "", "- a: b\n  c: d\n", ""},
	{"anchors", "", "- &a%d x\n", ""},
	{"aliases", "a: &a 1\nb: [", "*a,", "]\n"},
	{"merges", "a: &a {x: 1}\nb:\n", "- {<<: *a, k: %d}\n", ""},
	{"tags", "a: [", "!a ,", "]\n"},
	{"quoted strings", "a: [", `"",`, "]\n"},
	{"JSON with a mistake", `{"a": [`, `{"b":1},`, "1,]}\n"},
	{"many texts", "a:\n", "- |\n", ""},
	{"comments before keys", "", "# c\nk%d: 1\n", ""},
	{"comments behind keys", "", "k%d: 1 # c\n", ""},
	{"comments below keys", "", "k%d:\n  a: 1\n  # c\n\n", ""},
	{"comments in a sequence", "a:\n", "# c\n- x\n", ""},
	{"comments at two depths", "a:\n", "  # c\n - x\n # d\n\n", ""},
	{"comments without space before", "a:\n", "- ''#/\n", ""},
	{"nested brackets", "a: ", "[", ""},
	{"many nested brackets", "a: [", strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + ",", "]\n"},
	{"wide inside deep", "a: " + strings.Repeat("[", 9000), "a,", ""},
	{"other line breaks", "a:\n", "- a\u2028", "\n"},
	{"tag directives", "", "%%TAG !a%d! x\n", "--- a\n"},
	{"tag directives after a document", "a: 1\n...\n", "%%TAG !a%d! x\n", "--- a\n"},
}

// dearest are the shapes that cost most for their weight.
var dearest = []string{"mapping keys", "keys beyond ASCII", "lines of question marks", "comments below keys", "comments at two depths"}

// cheap are shapes that cost no more than the bytes that they have, and are left to the parser.
var cheap = []struct{ shape, head, unit, tail string }{
	{"one quoted text", `a: "`, "x", "\"\n"},
	{"one quoted text of escapes", `a: "`, `\x41`, "\"\n"},
	{"one plain text", "a: ", "x ", "\n"},
	{"one plain text of many lines", "a:\n", " x\n\n", "\n"},
	{"one block of empty lines", "a: |\n", "\n", ""},
	{"one folded block", "a: >\n", "  x\n", ""},
	{"one number", "a: ", "1", "\n"},
	{"one number with underscores", "a: 1", "_1", "\n"},
	{"one comment", "a: 1 #", "x", "\n"},
	{"empty lines", "a: 1\n", "\n", "b: 1\n"},
	{"one tag", "a: !<", "%41", "> x\n"},
	{"document ends", "a: 1\n", "...\n", ""},
}

// allocated is what Compile allocates in all, in bytes; a test that asks must not be parallel.
func allocated(src []byte) (n uint64, code string) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c := Compile(src)
	runtime.ReadMemStats(&after)
	if len(c.Diagnostics) > 0 {
		code = c.Diagnostics[0].Code
	}
	return after.TotalAlloc - before.TotalAlloc, code
}

// A document of the largest size costs a few times its size to refuse, whatever is in it.
func TestHostileYAMLIsRefusedCheaply(t *testing.T) {
	if RaceDetector {
		t.Skip("measures cost")
	}
	for _, h := range hostile {
		t.Run(h.shape, func(t *testing.T) {
			n, code := allocated(repeated(h.head, h.unit, h.tail))
			if code != codeDocumentLimits && code != codeInvalidSpec {
				t.Errorf("accepted: %q", code)
			}
			if n > 10*MaxDocumentBytes {
				t.Errorf("%d MiB allocated", n>>20)
			}
		})
	}
}

// What is just below the limits is the dearest that is accepted.
func TestYAMLBelowTheLimitsStaysAffordable(t *testing.T) {
	if RaceDetector {
		t.Skip("measures cost")
	}
	const affordable = 50 * MaxDocumentBytes // over the whole run; half of it at any time
	for _, h := range hostile {
		if !slices.Contains(dearest, h.shape) {
			continue
		}
		t.Run(h.shape, func(t *testing.T) {
			src := lighter(repeated(h.head, h.unit, h.tail), h.tail)
			if w := yamlWeight(src); w > MaxYAMLWeight || w < MaxYAMLWeight*9/10 {
				t.Fatalf("weight %d", w)
			}
			if n, _ := allocated(src); n > affordable {
				t.Errorf("%d MiB allocated", n>>20)
			}
		})
	}
	for _, h := range cheap {
		t.Run(h.shape, func(t *testing.T) {
			if n, _ := allocated(repeated(h.head, h.unit, h.tail)); n > affordable {
				t.Errorf("%d MiB allocated", n>>20)
			}
		})
	}
}

// lighter is a beginning of src, up to a line or a comma, that is just within the limits, and tail. The weight of src is spread
// nearly evenly.
func lighter(src []byte, tail string) []byte {
	n := int(int64(len(src)) * (MaxYAMLWeight - 100) / int64(yamlWeight(src)))
	for yamlWeight(src[:n]) > MaxYAMLWeight-100 {
		n -= n / 100
	}
	cut := bytes.LastIndexAny(src[:n], ",\n") + 1
	return append(bytes.Clone(src[:cut]), tail...)
}

// A list that every operation reaches by reference is walked by each: the work of the document is counted, too.
func TestSharedListsStayAffordable(t *testing.T) {
	if RaceDetector {
		t.Skip("measures cost")
	}
	var required, paths []string
	for i := range 5000 {
		required = append(required, fmt.Sprintf(`"r%d"`, i))
		paths = append(paths, fmt.Sprintf(`"/p%d":{"post":{"requestBody":{"$ref":"#/components/requestBodies/B"},%s}}`, i, enabled))
	}
	src := []byte(`{"paths":{` + strings.Join(paths, ",") + `},"components":{"requestBodies":{"B":{"content":{"application/json":{"schema":` +
		`{"type":"object","required":[` + strings.Join(required, ",") + `]}}}}}}}`)
	if n, code := allocated(src); n > 1<<30 || code != codeRequiredParamUndeclared {
		t.Errorf("%d MiB allocated, %s", n>>20, code)
	}
}

// JSON with a mistake is read as YAML; when it weighs too much for that, the mistake is what its author wants to know.
func TestLargeJSONWithAMistakeIsTold(t *testing.T) {
	t.Parallel()
	got := Compile(repeated(`{"a": [`, `{"b":1},`, "1,]}\n")).Diagnostics[0]
	if got.Code != codeDocumentLimits { // as JSON it has too many values before the mistake comes
		t.Errorf("got %+v", got)
	}
	mistaken := []byte(`{"a": [` + strings.Repeat(`{"b":1},`, MaxYAMLWeight/4) + "1,]}\n")
	got = Compile(mistaken).Diagnostics[0]
	if got.Code != codeInvalidSpec || !strings.Contains(got.Message, fmt.Sprint("at byte ", len(mistaken)-3)) {
		t.Errorf("got %+v", got)
	}
}

func TestYAMLWeight(t *testing.T) {
	t.Parallel()
	cases := []struct {
		rule, src string
		want      int
	}{
		{"words and addresses weigh nothing", "see-also https://h.example/a-b#c=d", 0},
		{"a key and its value", "a: b\n", 2},
		{"a key without value", "a:\n", 2},
		{"a key before a bracket", "a:[", 3},
		{"block entries", "- a\n- b\n", 2},
		{"entries and mappings in brackets", "[a, {b}]", 5},
		{"a quoted key without space", `{"a":b}`, 4},
		{"a value without key", "[ :b]", 3},
		{"an explicit key", "? a", 2},
		{"an anchor", "&a x", 1},
		{"a comment", "a #b", 3},
		{"no comment", "a#b", 0},
		{"a reference", "'#/components'", 1},
		{"a break that is not ASCII", "a:\u2028-\u2028", 3},
	}
	for _, c := range cases {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			if got := yamlWeight([]byte(c.src)); got != c.want {
				t.Errorf("got %d, want %d", got, c.want)
			}
		})
	}
}

// FuzzYAMLWeight checks that the parser makes no more of a document than it weighs, by half at most.
func FuzzYAMLWeight(f *testing.F) {
	for _, h := range hostile {
		if len(h.head+h.unit) < 100 {
			f.Add([]byte(h.head + h.unit + h.unit + h.tail))
		}
	}
	f.Add([]byte("a: [? b, :c, \"d\":e, {f}, {g: h}, [i: j], *k, &l m]\n? n\n? - o\n: p\n#q\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		weight := yamlWeight(src)
		if directives(src) > MaxYAMLDirectives || weight > 10_000 {
			return
		}
		dec := yaml.NewDecoder(bytes.NewReader(src))
		nodes := 0
		for range 2 { // documents that decodeYAML looks at
			var root yaml.Node
			if func() (err error) {
				defer func() {
					if p := recover(); p != nil {
						err = fmt.Errorf("%v", p)
					}
				}()
				return dec.Decode(&root)
			}() != nil {
				break
			}
			nodes += countNodes(&root)
		}
		if 2*nodes > 3*weight+8 {
			t.Errorf("%d nodes of weight %d in %q", nodes, weight, src)
		}
	})
}

func countNodes(n *yaml.Node) int {
	count := 1
	for _, c := range n.Content {
		count += countNodes(c)
	}
	return count
}

func TestYAMLAtTheLimits(t *testing.T) {
	t.Parallel()
	weigh := func(n int) []byte {
		return []byte("a: [" + strings.Repeat("[", 1) + strings.Repeat("x,", (n-4)/2) + "]]\n")
	}
	directive := func(n int) []byte { return []byte(strings.Repeat("%TAG !x! y\n", n)) }
	if f := checkYAML(weigh(MaxYAMLWeight)); f != nil || yamlWeight(weigh(MaxYAMLWeight)) != MaxYAMLWeight {
		t.Errorf("at the limit: %v, weight %d", f, yamlWeight(weigh(MaxYAMLWeight)))
	}
	if f := checkYAML(append(weigh(MaxYAMLWeight), "- b"...)); f == nil || f.code != codeDocumentLimits {
		t.Errorf("one past the limit: %v", f)
	}
	if f := checkYAML(directive(MaxYAMLDirectives)); f != nil {
		t.Errorf("directives at the limit: %v", f)
	}
	if f := checkYAML(directive(MaxYAMLDirectives + 1)); f == nil || f.code != codeDocumentLimits {
		t.Errorf("one directive past the limit: %v", f)
	}
	if c := Compile([]byte("\xFF\xFEa\x00:\x00 \x00")); c.Diagnostics[0].Code != codeInvalidSpec || !strings.Contains(c.Diagnostics[0].Suggestion, "UTF-8") {
		t.Errorf("UTF-16: %+v", c.Diagnostics)
	}
}
