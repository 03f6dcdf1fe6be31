package attr

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
)

// decode reads the wire form from JSON text.
func decode(t testing.TB, text string) (Value, error) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("test data %s: %v", text, err)
	}
	return FromWire(v)
}

func mustDecode(t testing.TB, text string) Value {
	t.Helper()
	v, err := decode(t, text)
	if err != nil {
		t.Fatalf("decode %s: %v", text, err)
	}
	return v
}

var oneOfEach = []string{
	`{"S":""}`, `{"S":"a \"quoted\"\u0000\n line \u00e9 😀"}`, `{"N":"-1.5"}`, `{"B":"AAH//g=="}`, `{"B":""}`, `{"BOOL":true}`, `{"BOOL":false}`,
	`{"NULL":true}`, `{"SS":["b","a"]}`, `{"NS":["2","1.0"]}`, `{"BS":["AQ==","Ag=="]}`, `{"L":[]}`, `{"M":{}}`,
	`{"L":[{"S":"x"},{"L":[{"N":"1"}]}]}`, `{"M":{"a":{"M":{"b":{"NULL":true}}},"c":{"S":"d"}}}`,
}

func TestEveryTypeSurvivesBothEncodings(t *testing.T) {
	t.Parallel()
	for _, text := range oneOfEach {
		v := mustDecode(t, text)
		if again := mustDecode(t, string(AppendWire(nil, v))); !Equal(v, again) {
			t.Errorf("%s came back from the wire as %s", text, AppendWire(nil, again))
		}
		again, rest, err := DecodeBinary(append(AppendBinary(nil, v), "rest"...))
		if err != nil || string(rest) != "rest" || !Equal(v, again) {
			t.Errorf("%s came back from the binary form as %v, rest %q, error %v", text, again, rest, err)
		}
	}
}

func TestBinaryFormIsDeterministic(t *testing.T) {
	t.Parallel()
	a := mustDecode(t, `{"M":{"x":{"N":"1"},"y":{"N":"2"},"z":{"N":"3"}}}`)
	b := mustDecode(t, `{"M":{"z":{"N":"3.0"},"y":{"N":"02"},"x":{"N":"1e0"}}}`)
	if !bytes.Equal(AppendBinary(nil, a), AppendBinary(nil, b)) {
		t.Error("equal values have different bytes")
	}
}

func nested(levels int) string {
	return strings.Repeat(`{"L":[`, levels-1) + `{"S":"x"}` + strings.Repeat(`]}`, levels-1)
}

func TestValuesThatDynamoDBRefuses(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no type":                            `{}`,
		"two types":                          `{"S":"a","N":"1"}`,
		"unknown type":                       `{"X":"a"}`,
		"not an object":                      `"a"`,
		"number as a JSON number":            `{"N":1}`,
		"string as a JSON number":            `{"S":1}`,
		"boolean as a string":                `{"BOOL":"true"}`,
		"null that is false":                 `{"NULL":false}`,
		"base64 with a wrong character":      `{"B":"a*=="}`,
		"empty string set":                   `{"SS":[]}`,
		"empty number set":                   `{"NS":[]}`,
		"empty binary set":                   `{"BS":[]}`,
		"null as a set":                      `{"SS":null}`,
		"null in a set":                      `{"SS":[null]}`,
		"equal strings in a set":             `{"SS":["a","a"]}`,
		"numbers in a set, equal by value":   `{"NS":["1","1.0"]}`,
		"equal binaries in a set":            `{"BS":["AQ==","AQ=="]}`,
		"wrong member type in a set":         `{"SS":[1]}`,
		"list that is no array":              `{"L":{}}`,
		"map that is no object":              `{"M":[]}`,
		"bad element in depth":               `{"L":[{"M":{"a":{"N":"x"}}}]}`,
		"empty attribute name":               `{"M":{"":{"S":"a"}}}`,
		"33 levels":                          nested(33),
		"attribute name of 65,536 bytes":     `{"M":{"` + strings.Repeat("n", 65536) + `":{"S":"a"}}}`,
		"39 digits in a set":                 `{"NS":["123456789012345678901234567890123456789"]}`,
		"nested null as attribute value":     `{"L":[null]}`,
		"nested attribute value as a string": `{"M":{"a":"b"}}`,
	} {
		var e *Error
		if v, err := decode(t, text); !errors.As(err, &e) {
			t.Errorf("%s: got %v, %v, want *Error", name, v, err)
		}
	}
}

func TestLimitsOfNestingAndNamesAreInclusive(t *testing.T) {
	t.Parallel()
	mustDecode(t, nested(32))
	mustDecode(t, `{"M":{"`+strings.Repeat("n", 65535)+`":{"S":"a"}}}`)

	at := Map{"a": mustDecode(t, nested(32))}
	if err := CheckDepth(at); err != nil {
		t.Errorf("32 levels: %v", err)
	}
	if err := CheckDepth(Map{"a": List{at["a"]}}); err == nil {
		t.Error("33 levels are accepted")
	}
}

func TestSizesFollowTheDeveloperGuide(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, text string
		want       int
	}{
		{"string counts UTF-8 bytes", `{"S":"aé😀"}`, 7},
		{"binary counts raw bytes", `{"B":"AAH//g=="}`, 4},
		{"boolean", `{"BOOL":false}`, 1},
		{"null", `{"NULL":true}`, 1},
		{"number: a byte per two digits and one", `{"N":"12345"}`, 4},
		{"number: zeros around do not count", `{"N":"0.00120"}`, 2},
		{"string set", `{"SS":["ab","c"]}`, 3},
		{"number set", `{"NS":["12","3"]}`, 4},
		{"empty list", `{"L":[]}`, 3},
		{"list: one more per element", `{"L":[{"S":"ab"},{"NULL":true}]}`, 3 + 1 + 2 + 1 + 1},
		{"map: names count too", `{"M":{"ab":{"S":"c"}}}`, 3 + 1 + 2 + 1},
	}
	for _, c := range cases {
		if got := mustDecode(t, c.text).Size(); got != c.want {
			t.Errorf("%s: %d bytes, want %d", c.name, got, c.want)
		}
	}
	if got := ItemSize(Map{"pk": String("a"), "n": mustNumber(t, "7")}); got != 2+1+1+2 {
		t.Errorf("item of 6 bytes counts %d", got)
	}
}

func TestEqualityIsByTypeAndValue(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name, a, b string
		want       bool
	}{
		{"numbers by value", `{"N":"1"}`, `{"N":"1.00"}`, true},
		{"number is no string", `{"N":"1"}`, `{"S":"1"}`, false},
		{"string is no binary", `{"S":"YQ=="}`, `{"B":"YQ=="}`, false},
		{"sets without order", `{"NS":["1","2"]}`, `{"NS":["2.0","1"]}`, true},
		{"set with another member", `{"SS":["a","b"]}`, `{"SS":["a","c"]}`, false},
		{"lists with order", `{"L":[{"N":"1"},{"N":"2"}]}`, `{"L":[{"N":"2"},{"N":"1"}]}`, false},
		{"maps in depth", `{"M":{"a":{"L":[{"N":"1"}]}}}`, `{"M":{"a":{"L":[{"N":"1.0"}]}}}`, true},
		{"map with another name", `{"M":{"a":{"N":"1"}}}`, `{"M":{"b":{"N":"1"}}}`, false},
	}
	for _, c := range cases {
		a, b := mustDecode(t, c.a), mustDecode(t, c.b)
		if Equal(a, b) != c.want || Equal(b, a) != c.want {
			t.Errorf("%s: equal is %v, want %v", c.name, !c.want, c.want)
		}
	}
}

func TestKeysSortLikeTheirValuesAndConcatenate(t *testing.T) {
	t.Parallel()
	inOrder := []Value{
		String("\x00"), String("\x00\x00"), String("\x00\x01"), String("a"), String("a\x00"), String("a\x00b"), String("a\x01"), String("aa"), String("b"), String("é"),
	}
	for i, a := range inOrder {
		for j, b := range inOrder {
			got := bytes.Compare(AppendKey(nil, a), AppendKey(nil, b))
			if want := cmpInt(i, j); got != want {
				t.Errorf("%q against %q: %d, want %d", a, b, got, want)
			}
			// A shorter first part must sort first whatever follows it.
			if i < j && bytes.Compare(append(AppendKey(nil, a), 0xFF), AppendKey(nil, b)) >= 0 {
				t.Errorf("%q and anything sorts after %q", a, b)
			}
		}
	}
	if !bytes.HasPrefix(AppendKey(nil, String("a\x00bc")), AppendKeyPrefix(nil, String("a\x00b"))) {
		t.Error("the prefix of a key is not a prefix of its encoding")
	}
}

func cmpInt(a, b int) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func TestSetArithmeticKeepsMembersDistinct(t *testing.T) {
	t.Parallel()
	union, ok := Union(mustDecode(t, `{"NS":["1","2"]}`), mustDecode(t, `{"NS":["2.0","3"]}`))
	if !ok || !Equal(union, mustDecode(t, `{"NS":["1","2","3"]}`)) {
		t.Errorf("union is %v", union)
	}
	rest, ok := Difference(mustDecode(t, `{"SS":["a","b"]}`), mustDecode(t, `{"SS":["b","c"]}`))
	if !ok || !Equal(rest, mustDecode(t, `{"SS":["a"]}`)) {
		t.Errorf("difference is %v", rest)
	}
	if rest, ok := Difference(mustDecode(t, `{"BS":["AQ=="]}`), mustDecode(t, `{"BS":["AQ=="]}`)); !ok || rest != nil {
		t.Errorf("nothing left is %v, want nil", rest)
	}
	if _, ok := Union(mustDecode(t, `{"SS":["a"]}`), mustDecode(t, `{"NS":["1"]}`)); ok {
		t.Error("sets of different types have a union")
	}
}

func FuzzDecodeBinary(f *testing.F) {
	for _, text := range oneOfEach {
		f.Add(AppendBinary(nil, mustDecode(f, text)))
	}
	f.Add([]byte{tagList, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F})
	f.Fuzz(func(t *testing.T, b []byte) {
		v, rest, err := DecodeBinary(b)
		if err != nil {
			return
		}
		again, _, err := DecodeBinary(slices.Concat(AppendBinary(nil, v), rest))
		if err != nil || again.Kind() != v.Kind() {
			t.Errorf("% x decodes, but not its encoding: %v", b, err)
		}
	})
}
