package redact

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTextHidesWhatTheRulesName(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 18)
	for _, tc := range []struct{ name, in, want string }{
		{"an e-mail address", "write to ada.l+x@mail.example.com now", "write to " + Email + " now"},
		{"a mobile number", "call 13812345678.", "call " + Phone + "."},
		{"twelve digits are none", "call 138123456789", "call 138123456789"},
		{"an identity number", "id 11010519491231002X", "id " + Identity},
		{"a bearer token of 16", "Authorization: Bearer abcdefghijklmnop", "Authorization: " + Token},
		{"a bearer token of 15 stays", "Bearer abcdefghijklmno", "Bearer abcdefghijklmno"},
		{"a key with 18 more characters", "sk" + long, Secret},
		{"a key with 17 more stays", "sk" + long[1:], "sk" + long[1:]},
		{"a JWT", "eyJ" + long + ".x.y", Secret},
		{"a word that begins like one", "skating is fun", "skating is fun"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := Text(tc.in); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestJSONHidesByNameAndByContent(t *testing.T) {
	t.Parallel()
	in := `{"api-key":"x","Access Key":"y","nested":{"password":{"a":1},"cookies":["c"],"ok":"a@b.example"},
		"tokens":178,"token":"","has_secret":true,"big":12345678901234567890,"list":["13812345678",null]}`
	want := `{"api-key":"` + Secret + `","Access Key":"` + Secret + `","nested":{"password":"` + SecretObject + `","cookies":"` + SecretObject +
		`","ok":"` + Email + `"},"tokens":178,"token":"","has_secret":true,"big":12345678901234567890,"list":["` + Phone + `",null]}`
	got, err := JSON([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	if !sameJSON(t, got, []byte(want)) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestJSONStopsAtTheDepthLimit(t *testing.T) {
	t.Parallel()
	shown, err := JSON([]byte(strings.Repeat("[", MaxDepth) + `"x"` + strings.Repeat("]", MaxDepth)))
	if err != nil || !strings.Contains(string(shown), `"x"`) {
		t.Errorf("%d levels: %s, %v", MaxDepth, shown, err)
	}
	hidden, err := JSON([]byte(strings.Repeat("[", MaxDepth+1) + `"x"` + strings.Repeat("]", MaxDepth+1)))
	if err != nil || !strings.Contains(string(hidden), TooDeep) || strings.Contains(string(hidden), `"x"`) {
		t.Errorf("%d levels: %s, %v", MaxDepth+1, hidden, err)
	}
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal(a, &x); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &y); err != nil {
		t.Fatal(err)
	}
	return reflect.DeepEqual(x, y)
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"a":{"token":"t"}}`))
	f.Add([]byte(`[1e400]`))
	f.Add([]byte(`{"a":"{\"pwd\":\"p\"}","b@c.de":[13812345678]}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		out, err := JSON(in)
		if err != nil {
			return
		}
		if !json.Valid(out) || len(out) > 20*len(in)+64 {
			t.Errorf("%q became %q", in, out)
		}
		if again, err := JSON(out); err != nil || string(again) != string(out) {
			t.Errorf("%q became %q, and then %q, %v", in, out, again, err)
		}
	})
}

func TestTextHidesByNameInsideTexts(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, in, want string }{
		{"JSON behind words", `LLM 503: {"api_key":"abc","model":"m"}`, `LLM 503: {"api_key":"` + Secret + `","model":"m"}`},
		{"JSON that is cut off", `{"note":"n","password":"hunt`, `{"note":"n","password":"` + Secret},
		{"a quote inside the value", `x {"password":"a\"b","c":1}`, `x {"password":"` + Secret + `","c":1}`},
		{"JSON inside JSON", `body "{\"client_secret\":\"abc\",\"n\":1}"`, `body "{\"client_secret\":\"` + Secret + `\",\"n\":1}"`},
		{"a query", "GET /x?access_token=abc&page=2", "GET /x?access_token=" + Secret + "&page=2"},
		{"a setting in quotes", `DB_PASSWORD="a b" next`, `DB_PASSWORD=` + Secret + ` next`},
		{"a header", "Authorization: Basic dXNlcjpw", "Authorization: Basic " + Secret},
		{"cookies", "Cookie: a=1; b=2", "Cookie: " + Secret},
		{"a sentence stays", "the token was refused: no cookie, no password", "the token was refused: no cookie, no password"},
		{"an empty value stays", `x {"password":""}`, `x {"password":""}`},
		{"a number of another country's form", "call +8613812345678 or 138-1234-5678", "call +" + Phone + " or " + Phone},
		{"digits inside a hash stay", "a13812345678f0", "a13812345678f0"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := Text(tc.in); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestJSONLooksIntoTextsNamesAndNumbers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, in, want string }{
		{"JSON in a text", `{"args":"{\"password\":\"p\",\"n\":1}"}`, `{"args":"{\"n\":1,\"password\":\"` + Secret + `\"}"}`},
		{"JSON in JSON in a text", `["[\"{\\\"pwd\\\":\\\"p\\\"}\"]"]`, `["[\"{\\\"pwd\\\":\\\"` + Secret + `\\\"}\"]"]`},
		{"without a secret it keeps its form", `["{ \"b\": 1,  \"a\": 2 }"]`, `["{ \"b\": 1,  \"a\": 2 }"]`},
		{"a name that comes twice", `["{\"password\":\"p\",\"password\":\"\",\"n\":1}"]`, `["{\"n\":1,\"password\":\"\"}"]`},
		{"an address that comes before another value", `["[{\"a\":\"a\\u0040b.example\",\"\\u0061\":1}]"]`, `["[{\"a\":1}]"]`},
		{"a name that is an address", `{"a@b.example":1,"c@d.example":2}`, `{"` + Email + `":1,"` + Email + ` 2":2}`},
		{"a telephone number without quotes", `{"phone":13812345678,"n":1381234567,"f":13812345678.5}`,
			`{"phone":"` + Phone + `","n":1381234567,"f":13812345678.5}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, err := JSON([]byte(tc.in))
			if err != nil {
				t.Fatal(err)
			}
			if !sameJSON(t, got, []byte(tc.want)) {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
	if out, err := JSON([]byte(`{} {}`)); err == nil {
		t.Errorf("two values became %s", out)
	}
}

func TestJSONInTextsCountsTowardsTheDepth(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(strings.Repeat("[", MaxDepth-1) + `"x"` + strings.Repeat("]", MaxDepth-1))
	if err != nil {
		t.Fatal(err)
	}
	shown, err := JSON(text)
	if err != nil || !strings.Contains(string(shown), "x") {
		t.Errorf("%d levels below a text: %s, %v", MaxDepth-1, shown, err)
	}
	hidden, err := JSON([]byte("[" + string(text) + "]"))
	if err != nil || !strings.Contains(string(hidden), TooDeep) || strings.Contains(string(hidden), "x") {
		t.Errorf("%d levels in all: %s, %v", MaxDepth+1, hidden, err)
	}
}

// pieces are what texts of the property test are made of: secrets, their beginnings, and what may stand between them.
var pieces = []string{
	"ada@mail.example", "13812345678", "86", "11010519491231002X", "Bearer ", "abcdefghijklmnopqrstuvwxyz", "sk-", "eyJ", `"password":"`, `\"token\":\"`,
	`"`, `\`, "{", "}", "[", "]", ":", ",", "=", "secret=", "&", " ", "-", "@", ".", "é", "密", "\x00", "\xff", "cookie: a=b", "Authorization: Basic ",
	Email, Secret, "1", "X",
}

func TestPropertyTextIsIdempotentBoundedAndKeepsUTF8(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(11, 7))
	for range 5_000 {
		var b strings.Builder
		for range 1 + r.IntN(12) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		checkText(t, b.String())
	}
}

func checkText(t *testing.T, in string) {
	t.Helper()
	out := Text(in)
	if again := Text(out); again != out {
		t.Errorf("%q became %q, and then %q", in, out, again)
	}
	if len(out) > 6*len(in)+64 {
		t.Errorf("%d bytes became %d: %q", len(in), len(out), in)
	}
	if utf8.ValidString(in) && !utf8.ValidString(out) {
		t.Errorf("%q became %q, which is no UTF-8", in, out)
	}
}

func FuzzText(f *testing.F) {
	for _, p := range pieces {
		f.Add(p + p)
	}
	f.Fuzz(checkText)
}

// An object of little but addresses must not keep an administrator's page busy for minutes: the work is counted in allocations.
func TestNamesThatBecomeEqualAreNumberedInOneGo(t *testing.T) {
	const names = 3_000
	var b strings.Builder
	for i := range names {
		fmt.Fprintf(&b, `,"a%d@mail.example":%d`, i, i)
	}
	text := []byte("{" + b.String()[1:] + "}")
	var out []byte
	work := testing.AllocsPerRun(1, func() {
		var err error
		if out, err = JSON(text); err != nil {
			t.Fatal(err)
		}
	})
	if work > 200*names {
		t.Errorf("%d names take %.0f allocations", names, work)
	}
	var got map[string]int
	if err := json.Unmarshal(out, &got); err != nil || len(got) != names {
		t.Fatalf("%d members, %v", len(got), err)
	}
	if got[Email] != 0 || got[Email+" 2"] != 1000 || got[Email+" 12"] != 100 {
		t.Errorf("numbered %d, %d, %d", got[Email], got[Email+" 2"], got[Email+" 12"])
	}
}
