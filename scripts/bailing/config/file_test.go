package config

import (
	"errors"
	"strings"
	"testing"

	"bailing/shared/canonical"
)

func TestMistakesInAFileAreNamedBeforeAnythingIsAsked(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ src, want string }{
		{"", "EOF"}, {"[]", "it is no object"}, {"targets: []", "version must be 1"}, {"version: 2", "version must be 1"},
		{"version: 1\nroute: []", "route is no kind of objects"}, {"version: 1\nroutes: {}", "routes must be a list"},
		{"version: 1\nroutes: [x]", "routes[0]: must be an object"}, {"version: 1\nroutes: [{name: x}]", "routes[0]: route_key must be"},
		{"version: 1\nclients: [{app_id: A}]", "clients[0]: app_id must be 2 to 64"},
		{"version: 1\nclients: [{app_id: crm}, {app_id: crm}]", "clients[1]: crm is there twice"},
		{"version: 1\nclients: [{app_id: crm, token: abc}]", "token has no place in a file"},
		{"version: 1\ncredentials: [{name: models, api_key: s3cret}]", "a secret is never in a file"},
		{"version: 1\ncredentials: [{name: models, api_key: {env: A, file: b}}]", "a secret is never in a file"},
		{"version: 1\ncredentials: [{name: models, api_key: {env: 'A B'}}]", "a secret is never in a file"},
		{"version: 1\ntool-providers: [{name: shop, spec_json: 3}]", "shop.spec_json: must be a text"},
		{"version: 1\ntool-providers: [{name: shop, spec_json: {file: gone}}]", "shop.spec_json: gone is gone"},
		{"version: 1\nversion: 1", "line 2: version is there twice"}, {"a: &x 1\nb: *x", "line 1: anchors and aliases are not read"},
		{"version: 1\n---\nversion: 1", "a file holds one document"}, {"version: .nan", "no number that JSON has"},
		{"version: !!binary aGk=", "!!binary is not read"}, {"? [a]\n: b", "a member needs a name"},
		{`{"version": 1, "version": 1}`, "duplicate key"}, {strings.Repeat("[", 70), "nested more than 64 deep"},
	} {
		_, err := parseFile([]byte(tc.src), func(name string) ([]byte, error) { return nil, errors.New(name + " is gone") })
		if tc.want == "nested more than 64 deep" {
			_, err = parse([]byte(strings.Repeat("- ", 70) + "x"))
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v, want %q", tc.src, err, tc.want)
		}
	}
}

func TestAFileLargerThanTheLimitIsRefused(t *testing.T) {
	t.Parallel()
	for over, want := range map[int]string{0: "version must be 1", 1: "larger than 8 MiB"} {
		s := session(t)
		s.Pipe("a: 1 #" + strings.Repeat("x", maxFile-len("a: 1 #")+over))
		s.Want(2, want, "apply -f -")
	}
}

// Whatever JSON can say comes back from YAML as it was.
func TestYAMLKeepsEveryValue(t *testing.T) {
	t.Parallel()
	for _, src := range []string{
		`{"a":"yes","b":"no","c":"1","d":"1.0","e":"null","f":"~","g":"","h":" x ","i":"2026-03-10","j":"0x10","k":"1e3","l":"true","m":"=","n":"<<"}`,
		`{"text":"two\nlines","more":"ends\n","blank":"\n\n","tab":"\tx","cr":"a\r\nb","space":"a \nb","lead":"  a\nb","colon":"a: b","hash":"a #b"}`,
		`{"star":["*"],"stars":["orders.*","a"],"pipe":"|","dash":"- x","quote":"it's \"so\"","uni":"größer \u2028 \u0007 🙂","pct":"%x","at":"@x","excl":"!x","amp":"&x"}`,
		`{"n":[0,-1,1.5,9007199254740993,1e30,true,false,null],"o":{},"l":[],"deep":{"a":{"b":[{"c":[[1,2],[]]}]}},"1":"key","yes":"key","a b":"key","":"key"}`,
		`{"env":{"env":"NAME"},"file":{"file":"x.yaml"},"long":["` + strings.Repeat("x", 100) + `"],"many":"` + strings.Repeat("word ", 60) + `"}`,
	} {
		v, err := canonical.Parse([]byte(src), limits)
		if err != nil {
			t.Fatalf("%v: %s", err, src)
		}
		b, err := writeYAML(v)
		if err != nil {
			t.Fatal(err)
		}
		back, err := parse(append([]byte("# not JSON\n"), b...))
		if err != nil || !canonical.Equal(v, back) {
			t.Errorf("%v\n%s\nwas %s\nis  %s", err, b, v.AppendCompact(nil), back.AppendCompact(nil))
		}
	}
}

func TestNumbersOfYAMLAreThoseOfJSON(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]string{
		"a: 0x10": `{"a":16}`, "a: 0o17": `{"a":15}`, "a: 1_000": `{"a":1000}`, "a: +5": `{"a":5}`, "a: 1.50": `{"a":1.5}`,
		"a: yes": `{"a":"yes"}`, "a: 2026-03-10": `{"a":"2026-03-10"}`, "a:": `{"a":null}`,
	} {
		v, err := parse([]byte(src))
		if got := string(v.AppendCompact(nil)); err != nil || got != want {
			t.Errorf("%s: %s %v, want %s", src, got, err, want)
		}
	}
}
