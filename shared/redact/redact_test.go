package redact

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
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
	f.Fuzz(func(t *testing.T, in []byte) {
		if out, err := JSON(in); err == nil && !json.Valid(out) {
			t.Errorf("%q became %q", in, out)
		}
	})
}
