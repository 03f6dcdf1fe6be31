package canonical

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
)

func mustParse(t testing.TB, src string) Value {
	t.Helper()
	v, err := Parse([]byte(src), Limits{})
	if err != nil {
		t.Fatalf("Parse(%.80q): %v", src, err)
	}
	return v
}

func vectors(t testing.TB, into any) {
	t.Helper()
	raw, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatal(err)
	}
}

func sum(b []byte) string {
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:])
}

func TestGoldenArgumentHashes(t *testing.T) {
	t.Parallel()
	var file struct {
		Cases []struct {
			ID        string
			JSON      string `json:"arguments_json"`
			Canonical string
			Hash      string `json:"args_hash"`
		} `json:"args_hash"`
	}
	vectors(t, &file)
	if len(file.Cases) != 7 {
		t.Fatalf("%d vectors, want 7", len(file.Cases))
	}
	for _, c := range file.Cases {
		t.Run(c.ID, func(t *testing.T) {
			t.Parallel()
			v := mustParse(t, c.JSON)
			if got := string(v.Canonical()); got != c.Canonical {
				t.Errorf("canonical form\n got %s\nwant %s", got, c.Canonical)
			}
			if got := v.Hash(); got != c.Hash {
				t.Errorf("hash %s, want %s", got, c.Hash)
			}
		})
	}
}

// The ids of form submissions and message digests hash the compact form of arrays and objects in their own order.
func TestGoldenCompactForms(t *testing.T) {
	t.Parallel()
	var file struct {
		Forms []struct {
			ID        string
			Parts     []string
			JSON      string
			RequestID string `json:"request_id"`
		} `json:"chat_form_request_id"`
		Messages []struct{ ID, JSON, Hash string } `json:"send_message_hash"`
	}
	vectors(t, &file)
	for _, c := range file.Forms {
		v, err := FromGo(c.Parts)
		if err != nil {
			t.Fatal(err)
		}
		compact := v.AppendCompact(nil)
		if string(compact) != c.JSON {
			t.Errorf("%s: compact %s, want %s", c.ID, compact, c.JSON)
		}
		if got := "chat_form_" + sum(compact)[:48]; got != c.RequestID {
			t.Errorf("%s: %s, want %s", c.ID, got, c.RequestID)
		}
	}
	for _, c := range file.Messages {
		if got := sum(mustParse(t, c.JSON).AppendCompact(nil)); got != c.Hash {
			t.Errorf("%s: %s, want %s", c.ID, got, c.Hash)
		}
	}
	if len(file.Forms) == 0 || len(file.Messages) == 0 {
		t.Error("no vectors")
	}
}

func TestSpelling(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rule, src, want string }{
		{"white space between tokens goes", " {\n\"a\" :\t[ 1 , 2 ]\r} ", `{"a":[1,2]}`},
		{"empty containers", `[ { } , [ ] ]`, `[{},[]]`},
		{"scalars stand alone", ` true `, `true`},
		{"a whole fraction is an integer", `[1.0,10.50,-2.0]`, `[1,10.5,-2]`},
		{"minus zero is zero", `[-0,-0.0,-0e5,0.0]`, `[0,0,0,0]`},
		{"exponent form from 1e21", `[1e20,1e21,123e19]`, `[100000000000000000000,1e+21,1.23e+21]`},
		{"exponent form below 1e-6", `[0.000001,0.0000001,1E-7,0.00000123]`, `[0.000001,1e-7,1e-7,0.00000123]`},
		{"two-digit negative exponents", `[1e-10,1.5E-300]`, `[1e-10,1.5e-300]`},
		{"exponents that name whole numbers", `[1e2,12.5e1,1E+2]`, `[100,125,100]`},
		{"shortest form of a long fraction", `0.1000000000000000055511151231257827`, `0.1`},
		{"sixteen digits go through the double", `[0.1234567890123456,9007199254740993.0]`, `[0.1234567890123456,9007199254740992]`},
		{"underflow is zero", `[1e-400,-1e-400]`, `[0,0]`},
		{"the smallest and largest doubles", `[5e-324,1.7976931348623157e308]`, `[5e-324,1.7976931348623157e+308]`},
		{"D16: integers to 2^53 as doubles print them", `[9007199254740992,-9007199254740992]`, `[9007199254740992,-9007199254740992]`},
		{"D16: integer literals beyond 2^53 keep their digits", `[9007199254740993,-12345678901234567890123]`, `[9007199254740993,-12345678901234567890123]`},
		{"short escapes", `"\u0008\u0009\u000a\u000C\u000d\u0022\u005c"`, `"\b\t\n\f\r\"\\"`},
		{"other control characters in lower case", `"\u001F\u0000\u000B"`, `"\u001f\u0000\u000b"`},
		{"a solidus is never escaped", `"a\/b"`, `"a/b"`},
		{"nothing else is escaped", `"\u003c\u003E\u0026\u007f\u2028\u2029\u00e9"`, "\"<>&\x7f\u2028\u2029é\""},
		{"a surrogate pair becomes its character", `"\uD83D\ude00"`, `"😀"`},
		{"lone surrogates stay escapes", `"\uD800x\uDFFF\ud83d\ud83d\ude00\ude00"`, `"\ud800x\udfff\ud83d😀\ude00"`},
		{"a high surrogate before another escape", `"\ud800\n\ud800\u0041"`, `"\ud800\n\ud800A"`},
		{"keys are spelled like strings", `{"\u0061\/":1}`, `{"a/":1}`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			v := mustParse(t, c.src)
			for form, got := range map[string][]byte{"canonical": v.Canonical(), "compact": v.AppendCompact(nil)} {
				if string(got) != c.want {
					t.Errorf("%s form %s, want %s", form, got, c.want)
				}
			}
			if v.Size() != len(c.want) {
				t.Errorf("Size %d, want %d", v.Size(), len(c.want))
			}
		})
	}
}

func TestOrders(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rule, src, compact, canonical string }{
		{"source order against sorted", `{"b":1,"a":2}`, `{"b":1,"a":2}`, `{"a":2,"b":1}`},
		{"integer-like keys first, by value", `{"b":1,"10":2,"9":3,"a":4}`, `{"9":3,"10":2,"b":1,"a":4}`, `{"10":2,"9":3,"a":4,"b":1}`},
		{"ascending text can still be out of property order", `{"10":1,"9":2}`, `{"9":2,"10":1}`, `{"10":1,"9":2}`},
		{"leading zeros, signs and points are names", `{"01":1,"-1":2,"1.0":3,"0":4}`, `{"0":4,"01":1,"-1":2,"1.0":3}`, `{"-1":2,"0":4,"01":1,"1.0":3}`},
		{"4294967294 is the last index", `{"x":0,"4294967295":1,"4294967294":2}`, `{"4294967294":2,"x":0,"4294967295":1}`, `{"4294967294":2,"4294967295":1,"x":0}`},
		{"an escaped digit is a digit", `{"a":1,"\u0031":2}`, `{"1":2,"a":1}`, `{"1":2,"a":1}`},
		{"nested objects in arrays", `[1,{"b":{"2":0,"1":0},"a":[]},"x",{"a":1}]`, `[1,{"b":{"1":0,"2":0},"a":[]},"x",{"a":1}]`, `[1,{"a":[],"b":{"1":0,"2":0}},"x",{"a":1}]`},
		{"characters of two units sort before U+E000", `{"\ue000":1,"😀":2,"\ud7ff":3,"\uffff":4}`, `{"` + "\ue000" + `":1,"😀":2,"` + "\ud7ff" + `":3,"` + "\uffff" + `":4}`,
			`{"` + "\ud7ff" + `":3,"😀":2,"` + "\ue000" + `":1,"` + "\uffff" + `":4}`},
		{"lone surrogates sort among the pairs", `{"\udc00":1,"😀":2,"\ud800":3,"é":4}`, `{"\udc00":1,"😀":2,"\ud800":3,"é":4}`, `{"é":4,"\ud800":3,"😀":2,"\udc00":1}`},
		{"escaped characters sort by what they are", `{"\\":1,"A":2,"\n":3,"\"":4,"\u0001":5,"z":6}`, `{"\\":1,"A":2,"\n":3,"\"":4,"\u0001":5,"z":6}`, `{"\u0001":5,"\n":3,"\"":4,"A":2,"\\":1,"z":6}`},
		{"a prefix comes first", `{"ab":1,"a":2,"":3,"a\n":4}`, `{"ab":1,"a":2,"":3,"a\n":4}`, `{"":3,"a":2,"a\n":4,"ab":1}`},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			v := mustParse(t, c.src)
			if got := string(v.AppendCompact([]byte("x"))); got != "x"+c.compact {
				t.Errorf("compact %s, want %s", got, c.compact)
			}
			if got := string(v.Canonical()); got != c.canonical {
				t.Errorf("canonical %s, want %s", got, c.canonical)
			}
			if got, want := v.Hash(), sum([]byte(c.canonical)); got != want {
				t.Errorf("hash %s, want %s", got, want)
			}
			if !Equal(v, mustParse(t, c.canonical)) {
				t.Error("not equal to its own canonical form")
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule, src string
		want      error
		offset    int
	}{
		{"nothing", "", ErrSyntax, 0},
		{"only white space", " \n", ErrSyntax, 2},
		{"trailing data", `{} x`, ErrSyntax, 3},
		{"two documents", `1 2`, ErrSyntax, 2},
		{"a byte order mark", "\xef\xbb\xbf{}", ErrSyntax, 0},
		{"a trailing comma in an array", `[1,]`, ErrSyntax, 3},
		{"a trailing comma in an object", `{"a":1,}`, ErrSyntax, 7},
		{"a missing comma", `[1 2]`, ErrSyntax, 3},
		{"the wrong closing bracket", `[1}`, ErrSyntax, 2},
		{"a missing colon", `{"a" 1}`, ErrSyntax, 5},
		{"a key that is not a string", `{a:1}`, ErrSyntax, 1},
		{"an object that never ends", `{"a":1`, ErrSyntax, 6},
		{"a string that never ends", `"abc`, ErrSyntax, 4},
		{"an escape that never ends", `"\`, ErrSyntax, 2},
		{"a short escape", `"\u12"`, ErrSyntax, 2},
		{"an unknown escape", `"\x41"`, ErrSyntax, 2},
		{"a raw control character", "\"a\nb\"", ErrSyntax, 2},
		{"a leading zero", `01`, ErrSyntax, 1},
		{"a leading plus", `+1`, ErrSyntax, 0},
		{"a bare minus", `-`, ErrSyntax, 1},
		{"a point without digits", `1.`, ErrSyntax, 2},
		{"a point without an integer", `.5`, ErrSyntax, 0},
		{"an exponent without digits", `[1e]`, ErrSyntax, 3},
		{"NaN", `NaN`, ErrSyntax, 0},
		{"a misspelled literal", `trux`, ErrSyntax, 3},
		{"a half literal", `tru`, ErrSyntax, 3},
		{"a double that overflows", `[1e309]`, ErrSyntax, 1},
		{"white space that JSON does not know", "[1,\u00a02]", ErrSyntax, 3},
		{"a comment", `[1/*x*/]`, ErrSyntax, 2},
		{"adjacent duplicate keys", `{"a":1,"a":2}`, ErrDuplicateKey, 0},
		{"distant duplicate keys", `[{"a":1,"b":2,"a":3}]`, ErrDuplicateKey, 1},
		{"keys that are equal once decoded", `{"a":1,"\u0061":2}`, ErrDuplicateKey, 0},
		{"equal lone surrogates", `{"\uD800":1,"\ud800":2}`, ErrDuplicateKey, 0},
		{"an overlong encoding", "\"\xc0\xaf\"", ErrInvalidUTF8, 1},
		{"a raw surrogate", "\"\xed\xa0\x80\"", ErrInvalidUTF8, 1},
		{"a cut character", "\"é\xe4\xb8\"", ErrInvalidUTF8, 3},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			v, err := Parse([]byte(c.src), Limits{})
			var syntax *SyntaxError
			if !errors.Is(err, c.want) || !errors.Is(err, ErrSyntax) || !errors.As(err, &syntax) {
				t.Fatalf("error %v, want %v", err, c.want)
			}
			if syntax.Offset != c.offset {
				t.Errorf("offset %d, want %d (%v)", syntax.Offset, c.offset, err)
			}
			if v.Kind() != Invalid {
				t.Error("a value came with the error")
			}
		})
	}
}

// A large object finds its duplicates another way than a small one.
func TestDuplicateKeysInObjectsOfAnySize(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, smallObject - 1, smallObject, smallObject + 1, 100, 3000} {
		for _, at := range []int{0, n / 2, n - 1} {
			var b strings.Builder
			b.WriteByte('{')
			for i := range n {
				fmt.Fprintf(&b, "%q:%d,", fmt.Sprint("k", (i*7919)%n*10), i)
			}
			unique := b.String() + `"last":0}`
			if v := mustParse(t, unique); v.Len() != n+1 {
				t.Errorf("n=%d: Len %d", n, v.Len())
			}
			doubled := b.String() + fmt.Sprintf(`"k%d":0}`, (at*7919)%n*10)
			if _, err := Parse([]byte(doubled), Limits{}); !errors.Is(err, ErrDuplicateKey) {
				t.Errorf("n=%d at=%d: %v, want a duplicate key", n, at, err)
			}
		}
	}
}

func TestLimitsHoldAtTheLimitAndOnePast(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	deepObject := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	for _, c := range []struct {
		rule, at, past string
		lim            Limits
		want           error
	}{
		{"bytes", `"1234"`, `"12345"`, Limits{MaxBytes: 6}, ErrTooLarge},
		{"depth", deep(3), deep(4), Limits{MaxDepth: 3}, ErrTooDeep},
		{"default depth", deep(DefaultMaxDepth), deep(DefaultMaxDepth + 1), Limits{}, ErrTooDeep},
		{"default depth of objects", deepObject(DefaultMaxDepth), deepObject(DefaultMaxDepth + 1), Limits{}, ErrTooDeep},
		{"maximum depth", deep(MaxMaxDepth), deep(MaxMaxDepth + 1), Limits{MaxDepth: math.MaxInt}, ErrTooDeep},
		{"values", `{"a":[1,2]}`, `{"a":[1,2,3]}`, Limits{MaxNodes: 4}, ErrTooLarge},
		{"default bytes", `"` + strings.Repeat("a", DefaultMaxBytes-2) + `"`, `"` + strings.Repeat("a", DefaultMaxBytes-1) + `"`, Limits{}, ErrTooLarge},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			if _, err := Parse([]byte(c.at), c.lim); err != nil {
				t.Errorf("at the limit: %v", err)
			}
			if _, err := Parse([]byte(c.past), c.lim); !errors.Is(err, c.want) || errors.Is(err, ErrSyntax) {
				t.Errorf("one past: %v, want %v", err, c.want)
			}
		})
	}
}

func TestErrorsNeverQuoteTheDocument(t *testing.T) {
	t.Parallel()
	for _, src := range []string{`{"hunter2":hunter2}`, `{"hunter2":1,"hunter2":2}`, `["hunter2`, `[hunter2]`, "\"hunter2\xff\"", `[1e999, "hunter2"]`} {
		if _, err := Parse([]byte(src), Limits{}); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("error for %q: %v", src, err)
		}
	}
}

func TestParseKeepsNothingOfItsSource(t *testing.T) {
	t.Parallel()
	src := []byte(`{"a":"secret"}`)
	v, err := Parse(src, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	clear(src)
	if got := string(v.Canonical()); got != `{"a":"secret"}` {
		t.Errorf("changed with its source: %q", got)
	}
}
