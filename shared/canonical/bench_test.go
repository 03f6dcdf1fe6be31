package canonical

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
)

// mebibyte repeats item into an array or object of 1 MiB.
func mebibyte(open, end string, item func(i int) string) []byte {
	var b strings.Builder
	b.WriteString(open)
	for i := 0; b.Len() < 1<<20-200; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(item(i))
	}
	b.WriteString(end)
	return []byte(b.String())
}

func benchDocuments() map[string][]byte {
	r := rand.New(rand.NewPCG(1, 1))
	record := func(i int) string {
		return fmt.Sprintf(`{"order_no":"SO-%d","amount":%d.%02d,"lines":[{"sku":"A-%d","qty":%d}],"note":"重复支付 – customer asked\nfor it","paid":true}`,
			i, r.IntN(1000), r.IntN(100), i%77, r.IntN(9))
	}
	row := "{"
	for i := range 40 { // too many for pairs, in no order
		row += fmt.Sprintf(`"%d":0,`, i*17%41)
	}
	row += `"x":0}`
	return map[string][]byte{
		"records":  mebibyte("[", "]", record),
		"indented": mebibyte("[\n", "]", func(i int) string { return strings.ReplaceAll(record(i), ",", ",\n    ") }),
		"text":     mebibyte("[", "]", func(int) string { return `"` + strings.Repeat("Lorem ipsum dolor sit amet. ", 40) + `"` }),
		"numbers":  mebibyte("[", "]", func(int) string { return fmt.Sprint(r.IntN(10)) }),
		"floats":   mebibyte("[", "]", func(int) string { return fmt.Sprintf("%.17g", r.Float64()) }),
		"escapes":  mebibyte("[", "]", func(int) string { return `"\u4e2d\u6587\n\/\u0041"` }),
		"flat":     mebibyte("{", "}", func(i int) string { return fmt.Sprintf(`"k%07x":%d`, i*0x9E3779B1&0xFFFFFFF, i) }),
		"pairs":    mebibyte("[", "]", func(int) string { return `{"b":1,"a":2}` }),
		"rows":     mebibyte("[", "]", func(int) string { return row }),
		"escaped":  mebibyte("{", "}", func(i int) string { return fmt.Sprintf(`"\u006b%07x":%d`, i*0x9E3779B1&0xFFFFFFF, i) }),
		"prefix": mebibyte("{", "}", func(i int) string {
			return fmt.Sprintf(`"a_rather_long_common_prefix_%07x":%d`, i*0x9E3779B1&0xFFFFFFF, i)
		}),
		"short":  mebibyte("{", "}", func(i int) string { return fmt.Sprintf(`"%05x":0`, i*0x9E3B1&0xFFFFF) }),
		"tiny":   mebibyte("[", "]", func(int) string { return `[1]` }),
		"deep":   mebibyte("[", "]", func(int) string { return strings.Repeat("[", 100) + strings.Repeat("]", 100) }),
		"nested": mebibyte("[", "]", func(int) string { return `[[{"b":[1],"a":{}}]]` }),
	}
}

// BenchmarkMebibyte compares with json.Valid on the same bytes (architecture §7: at most 4 times its time, and 3 times
// their size allocated).
func BenchmarkMebibyte(b *testing.B) {
	for name, src := range benchDocuments() {
		b.Run(name+"/valid", func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			for b.Loop() {
				if !json.Valid(src) {
					b.Fatal("not JSON")
				}
			}
		})
		b.Run(name+"/canonical", func(b *testing.B) {
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				v, err := Parse(src, Limits{})
				if err != nil {
					b.Fatal(err)
				}
				_ = v.Hash()
			}
		})
	}
}

// Not parallel: it reads the process's allocation counter.
func TestMebibyteAllocatesAtMostThreeTimesItsSize(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates too")
	}
	for name, src := range benchDocuments() {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		v, err := Parse(src, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		_ = v.Hash()
		runtime.ReadMemStats(&after)
		limit := uint64(3 * len(src))
		if name == "tiny" || name == "deep" {
			limit = uint64(5*len(src)) + 16<<10 // where a container takes less than five bytes, its entry is most of it
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > limit {
			t.Errorf("%s: %d bytes allocated for %d", name, got, len(src))
		}
	}
}

// BenchmarkCall is what a governed call with 2 KiB of arguments pays, beside encoding/json sorting the same document.
func BenchmarkCall(b *testing.B) {
	src := benchDocuments()["records"]
	src = append(src[:strings.LastIndex(string(src[:2048]), ",{")], ']')
	b.Run("canonical", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			v, err := Parse(src, Limits{})
			if err != nil {
				b.Fatal(err)
			}
			_ = v.Hash()
			_ = v.AppendCompact(nil)
		}
	})
	b.Run("encoding_json", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var v any
			if err := json.Unmarshal(src, &v); err != nil {
				b.Fatal(err)
			}
			if _, err := json.Marshal(v); err != nil {
				b.Fatal(err)
			}
		}
	})
}
