package catalog_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"

	"bailing/shared/catalog"
)

// Expected values are those of String.prototype.toLowerCase.
func TestLowerCaseIsThatOfECMAScript(t *testing.T) {
	t.Parallel()
	for rule, tc := range map[string]struct{ in, want string }{
		"ASCII":                                {"Bay_STOCK 9", "bay_stock 9"},
		"letters elsewhere":                    {"ÄÉЖ", "äéж"},
		"beyond the basic plane":               {"\U00010400", "\U00010428"},
		"no case":                              {"查询 ß", "查询 ß"},
		"capital sharp s":                      {"ẞ", "ß"},
		"title case":                           {"ǅ", "ǆ"},
		"Kelvin":                               {"\u212A", "k"},
		"capital I with a dot becomes two":     {"İstanbul", "i\u0307stanbul"},
		"without a language, I is i":           {"DIYARBAKIR", "diyarbakir"},
		"sigma within a word":                  {"ΣΑΣΑ", "σασα"},
		"sigma at the end of a word":           {"ΟΔΟΣ", "οδος"},
		"sigma before a space":                 {"ΟΔΟΣ ΟΔΟΣ", "οδος οδος"},
		"sigma alone":                          {"Σ", "σ"},
		"sigma after a digit":                  {"1Σ", "1σ"},
		"what case ignores does not end words": {"ΑΣ'Α ΑΣ' ΑΣ.", "ασ'α ας' ας."},
		"marks before sigma":                   {"Α\u0301Σ", "α\u0301ς"},
		"a modifier letter alone is not cased": {"ʰΣ", "ʰσ"},
		"nor does it keep a letter away":       {"AʰΣ", "aʰς"},
		"an underscore ends a word":            {"ΑΣ_Α", "ας_α"},
		"bytes that are no text":               {"A\xff\xed\xa0\x80Σ", "a\uFFFD\uFFFD\uFFFD\uFFFDσ"},
	} {
		if got := catalog.Lower(tc.in); got != tc.want {
			t.Errorf("%s: %q, want %q", rule, got, tc.want)
		}
	}
}

func TestLowerCaseOfEveryCharacter(t *testing.T) {
	t.Parallel()
	c := cases.Lower(language.Und)
	for r := rune(0); r <= 0x1FFFF; r++ { // no letter beyond has case
		if s := string(r); s != "\uFFFD" && catalog.Lower(s) != c.String(s) {
			t.Errorf("%U: %q, want %q", r, catalog.Lower(s), c.String(s))
		}
	}
}

// Modifier letters are left out: package cases lets them count as cased, ECMAScript's engines do not.
func TestLowerCaseInContext(t *testing.T) {
	t.Parallel()
	c := cases.Lower(language.Und)
	r := rand.New(rand.NewPCG(7, 8))
	alphabet := []rune("ΣΣΣΑαaA1 .':_-\u0301\u00AD\u2019İ😀中")
	for range 20_000 {
		var b strings.Builder
		for range 1 + r.IntN(8) {
			b.WriteRune(alphabet[r.IntN(len(alphabet))])
		}
		if s := b.String(); catalog.Lower(s) != c.String(s) {
			t.Fatalf("%+q: %+q, want %+q", s, catalog.Lower(s), c.String(s))
		}
	}
}
