package canonical

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
)

func TestZeroValueIsInvalidAndHarmless(t *testing.T) {
	t.Parallel()
	var v Value
	n, ok := v.Int64()
	_, found := v.Get("a")
	if v.Kind() != Invalid || v.Bool() || v.Text() != "" || v.Number() != "" || v.Float() != 0 || v.IsInteger() || n != 0 || ok ||
		v.Len() != 0 || v.Elem(0).Kind() != Invalid || found || v.Size() != 0 || len(v.Canonical()) != 0 || v.ToGo() != nil {
		t.Error("an accessor of the zero value answered something")
	}
	for range v.Elems() {
		t.Error("an element")
	}
	for range v.Members() {
		t.Error("a member")
	}
	if !Equal(v, Value{}) || Equal(v, mustParse(t, "null")) || Equal(mustParse(t, "null"), v) {
		t.Error("the invalid value equals itself only")
	}
	if _, err := v.MarshalJSON(); err == nil {
		t.Error("MarshalJSON of the invalid value succeeded")
	}
}

func TestAccessors(t *testing.T) {
	t.Parallel()
	v := mustParse(t, `{"s":"a\n\"\\\t\b\f\r\u0001é😀","t":true,"f":false,"z":null,"n":12.5,"l":[[],[1,[2]],{},{"a":1},"]",3],"o":{"k":{"m":1}}}`)
	kinds := []Kind{String, Bool, Bool, Null, Number, Array, Object}
	i := 0
	for key, m := range v.Members() {
		if m.Kind() != kinds[i] {
			t.Errorf("%s is %v, want %v", key, m.Kind(), kinds[i])
		}
		if got, ok := v.Get(key); !ok || got != m {
			t.Errorf("Get(%q) finds another value", key)
		}
		i++
	}
	if i != 7 || v.Len() != 7 {
		t.Errorf("%d members, Len %d, want 7", i, v.Len())
	}
	get := func(keys ...string) Value {
		at := v
		for _, k := range keys {
			at, _ = at.Get(k)
		}
		return at
	}
	if got, want := get("s").Text(), "a\n\"\\\t\b\f\r\x01é😀"; got != want {
		t.Errorf("Text %q, want %q", got, want)
	}
	if !get("t").Bool() || get("f").Bool() || get("n").Float() != 12.5 || get("n").Number() != "12.5" {
		t.Error("scalars")
	}
	if got, ok := get("o", "k", "m").Int64(); got != 1 || !ok {
		t.Error("nested Get")
	}
	list := get("l")
	want := []string{`[]`, `[1,[2]]`, `{}`, `{"a":1}`, `"]"`, `3`}
	for i, e := range list.Elems() {
		if string(e.Canonical()) != want[i] || list.Elem(i) != e {
			t.Errorf("element %d is %s, want %s", i, e.Canonical(), want[i])
		}
	}
	if list.Len() != 6 || list.Elem(6).Kind() != Invalid || list.Elem(-1).Kind() != Invalid {
		t.Error("Len or Elem past the end")
	}
	if _, ok := v.Get("missing"); ok {
		t.Error("Get found what is not there")
	}
	if _, ok := list.Get("a"); ok {
		t.Error("Get on an array")
	}
}

func TestGetSpellsTheKey(t *testing.T) {
	t.Parallel()
	v := mustParse(t, `{"a\nb":1,"\ud800":2,"q\"":3,"한":4,"":5}`)
	for key, want := range map[string]int64{"a\nb": 1, "\xed\xa0\x80": 2, `q"`: 3, "한": 4, "": 5} {
		m, _ := v.Get(key)
		if got, ok := m.Int64(); !ok || got != want {
			t.Errorf("Get(%q) = %d, want %d", key, got, want)
		}
	}
}

func TestNumbersAsGo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		src     string
		integer bool
		n       int64
		exact   bool
		f       float64
	}{
		{"0", true, 0, true, 0},
		{"-7.0", true, -7, true, -7},
		{"1e3", true, 1000, true, 1000},
		{"1.5", false, 0, false, 1.5},
		{"1e-7", false, 0, false, 1e-7},
		{"1.5e21", true, 0, false, 1.5e21},
		{"9223372036854775807", true, math.MaxInt64, true, 9223372036854775807},
		{"9007199254740993", true, 9007199254740993, true, 9007199254740992},
		{strings.Repeat("9", 400), true, 0, false, math.Inf(1)},
		{`"1"`, false, 0, false, 0},
	} {
		v := mustParse(t, c.src)
		n, exact := v.Int64()
		if !exact {
			n = 0
		}
		if v.IsInteger() != c.integer || n != c.n || exact != c.exact || v.Float() != c.f {
			t.Errorf("%.30s: integer %v, Int64 %d %v, Float %v", c.src, v.IsInteger(), n, exact, v.Float())
		}
	}
}

func TestLoneSurrogatesSurviveTheRoundTrip(t *testing.T) {
	t.Parallel()
	v := mustParse(t, `["\ud800","a\udfffb"]`)
	back, err := FromGo([]any{v.Elem(0).Text(), v.Elem(1).Text()})
	if err != nil || !Equal(v, back) {
		t.Errorf("%v: %s, want %s", err, back.Canonical(), v.Canonical())
	}
}

func TestAppendString(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rule, in, want string }{
		{"plain", "abc", `"abc"`},
		{"escapes", "\"\\\b\t\n\f\r\x00\x1f/\x7f<", `"\"\\\b\t\n\f\r\u0000\u001f/` + "\x7f" + `<"`},
		{"UTF-8 as it is", "é\u2028😀", "\"é\u2028😀\""},
		{"a lone surrogate in three bytes", "x\xed\xa0\x80y", `"x\ud800y"`},
		{"a surrogate pair in six bytes", "\xed\xa0\xbd\xed\xb8\x80", `"😀"`},
		{"two high surrogates", "\xed\xa0\xbd\xed\xa0\xbd", `"\ud83d\ud83d"`},
		{"stray bytes", "a\xffb\xc3", "\"a\ufffdb\ufffd\""},
	} {
		if got := string(AppendString(nil, c.in)); got != c.want {
			t.Errorf("%s: %s, want %s", c.rule, got, c.want)
		}
	}
}

func TestEqualIsCanonicalEquality(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":[{"x":1,"y":2}]}`, `{"b":[{"y":2.0,"x":1e0}],"a":1}`, true},
		{`{"a":1,"b":2}`, `{"a":2,"b":1}`, false},
		{`{"b":1,"a":2}`, `{"c":1,"a":2}`, false},
		{`[1,2]`, `[2,1]`, false},
		{`[[2,1],{"b":0,"a":0}]`, `[[2,1],{"a":0,"b":0}]`, true},
		{`[{"b":0,"a":0},1]`, `[{"a":0,"b":0},2]`, false},
		{`[{"b":0,"a":0},1,1]`, `[{"a":0,"b":0},123]`, false},
		{`{}`, `[]`, false},
		{`"1"`, `1`, false},
		{`9007199254740993`, `9007199254740992`, false},
		{`"\u0041"`, `"A"`, true},
		{`{"b":0,"a":{}}`, `{"a":[],"b":0}`, false},
	} {
		a, b := mustParse(t, c.a), mustParse(t, c.b)
		if Equal(a, b) != c.want || Equal(b, a) != c.want {
			t.Errorf("Equal(%s, %s) is not %v", c.a, c.b, c.want)
		}
	}
}

func TestFromGo(t *testing.T) {
	t.Parallel()
	inner := mustParse(t, `{"z":1,"a":2}`)
	v, err := FromGo(map[string]any{
		"\ue000": nil, "😀": true, "list": []any{1, int8(-1), uint64(math.MaxUint64), 1.50, json.Number("9007199254740993"), []string{"x"}},
		"value": inner, "float": math.Copysign(0, -1), "empty": map[string]any{},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"empty":{},"float":0,"list":[1,-1,18446744073709551615,1.5,9007199254740993,["x"]],"value":{"z":1,"a":2},"😀":true,"` + "\ue000" + `":null}`
	if got := string(v.AppendCompact(nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	cycle := map[string]any{}
	cycle["self"] = cycle
	for rule, bad := range map[string]any{
		"NaN": math.NaN(), "infinity": math.Inf(-1), "structure in a number": json.Number("[1]"), "space in a number": json.Number("1 "),
		"empty number": json.Number(""), "another type": struct{}{}, "stray byte": "\xff", "a cycle": cycle, "invalid value": Value{}, "stray byte in a key": map[string]any{"\xff": 1},
	} {
		if v, err := FromGo(bad); err == nil {
			t.Errorf("%s: accepted as %s", rule, v.Canonical())
		}
	}
}

func TestToGoGivesEncodingJSONsTypes(t *testing.T) {
	t.Parallel()
	src := `{"b":[1,2.5,"x\ny",null,true],"a":{"10":{},"9":[]}}`
	dec := json.NewDecoder(strings.NewReader(src))
	dec.UseNumber()
	var want any
	if err := dec.Decode(&want); err != nil {
		t.Fatal(err)
	}
	if got := mustParse(t, src).ToGo(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %#v\nwant %#v", got, want)
	}
}

func TestMarshalJSONInsideAStructure(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(map[string]any{"v": mustParse(t, `{"b":1.0,"2":0,"1":0}`)})
	if err != nil || string(got) != `{"v":{"1":0,"2":0,"b":1}}` {
		t.Errorf("%s, %v", got, err)
	}
}

func TestPartsAreWrittenLikeWholes(t *testing.T) {
	t.Parallel()
	v := mustParse(t, `[{"b":[{"d":1,"c":{"2":1,"1":2}}],"a":0},[]]`)
	part, _ := v.Elem(0).Get("b")
	if got, want := string(part.Canonical()), `[{"c":{"1":2,"2":1},"d":1}]`; got != want {
		t.Errorf("canonical part %s, want %s", got, want)
	}
	if got, want := string(part.AppendCompact(nil)), `[{"d":1,"c":{"1":2,"2":1}}]`; got != want {
		t.Errorf("compact part %s, want %s", got, want)
	}
}
