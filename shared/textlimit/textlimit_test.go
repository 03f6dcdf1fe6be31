package textlimit

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"
)

func TestLenCountsUTF16Units(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule, s string
		want    int
	}{
		{"nothing", "", 0},
		{"ASCII", "abc", 3},
		{"two and three bytes are one unit", "é中", 2},
		{"four bytes are two units", "😀", 2},
		{"a lone surrogate in three bytes is one unit", "\xed\xa0\x80", 1},
		{"a surrogate pair in six bytes is two units", "\xed\xa0\xbd\xed\xb8\x80", 2},
		{"each stray byte is one unit", "\xff\xfe", 2},
		{"a cut character is its stray bytes", "\xe4\xb8", 2},
		{"a cut surrogate is its stray bytes", "\xed\xa0", 2},
	} {
		if got := Len(c.s); got != c.want {
			t.Errorf("%s: Len(%q) = %d, want %d", c.rule, c.s, got, c.want)
		}
		for max := -1; max <= c.want+1; max++ {
			if got := Fits(c.s, max); got != (c.want <= max) {
				t.Errorf("%s: Fits(%q, %d) = %v", c.rule, c.s, max, got)
			}
		}
	}
}

func TestCutEndsBetweenCodePoints(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s           string
		max         int
		cut, cutRun string
	}{
		{"abc", 3, "abc", "abc"},
		{"abc", 2, "ab", "ab"},
		{"abc", 0, "", ""},
		{"abc", -1, "", ""},
		{"a😀b", 1, "a", "a"},
		{"a😀b", 2, "a", "a😀"},
		{"a😀b", 3, "a😀", "a😀b"},
		{"中文字", 2, "中文", "中文"},
		{"\xed\xa0\x80x", 1, "\xed\xa0\x80", "\xed\xa0\x80"},
	} {
		if got := Cut(c.s, c.max); got != c.cut {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.s, c.max, got, c.cut)
		}
		if got := CutRunes(c.s, c.max); got != c.cutRun {
			t.Errorf("CutRunes(%q, %d) = %q, want %q", c.s, c.max, got, c.cutRun)
		}
	}
}

// What String.prototype.trim removes (ECMAScript WhiteSpace and LineTerminator).
const ecmaSpace = "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"

func TestTrimAndBlankKnowECMAScriptWhiteSpace(t *testing.T) {
	t.Parallel()
	if got := Trim(ecmaSpace + "a" + ecmaSpace + "b" + ecmaSpace); got != "a"+ecmaSpace+"b" {
		t.Errorf("Trim gives %q", got)
	}
	if !Blank(ecmaSpace) || !Blank("") || Blank(ecmaSpace+"x") {
		t.Error("Blank")
	}
	for _, s := range []string{"\u0085", "\u200b", "\u180e", "\x00", "\x1c", "\u2060", "\xff"} {
		if Blank(s) || Trim(s) != s {
			t.Errorf("%q is taken for white space", s)
		}
	}
}

func TestStrictText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rule, s            string
		optional, required error
	}{
		{"at the limit", "12345", nil, nil},
		{"one past", "123456", ErrTooLong, ErrTooLong},
		{"two units past", "1234😀", ErrTooLong, ErrTooLong},
		{"TAB, LF and CR pass", "a\t\n\rb", nil, nil},
		{"NUL", "a\x00", ErrControl, ErrControl},
		{"U+0008", "\x08", ErrControl, ErrControl},
		{"vertical tab", "\v", ErrControl, ErrControl},
		{"form feed", "\f", ErrControl, ErrControl},
		{"U+000E", "\x0e", ErrControl, ErrControl},
		{"U+001F", "\x1f", ErrControl, ErrControl},
		{"DEL", "\x7f", ErrControl, ErrControl},
		{"C1 passes", "\u0080\u009f", nil, nil},
		{"blank", " \u3000\n", nil, ErrBlank},
		{"empty", "", nil, ErrBlank},
	} {
		if err := Strict(c.s, 5); !errors.Is(err, c.optional) {
			t.Errorf("%s: Strict = %v, want %v", c.rule, err, c.optional)
		}
		if err := StrictRequired(c.s, 5); !errors.Is(err, c.required) {
			t.Errorf("%s: StrictRequired = %v, want %v", c.rule, err, c.required)
		}
	}
}

func TestSafeText(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rule, in, want string }{
		{"control characters become spaces", "a\x00b\x1fc\x7fd", "a b c d"},
		{"TAB, LF and CR stay", "a\t\n\rb", "a\t\n\rb"},
		{"trimmed after the replacement", "\x00 a \x0b", "a"},
		{"cut after trimming", "  1234567890", "12345678"},
		{"a lone surrogate stays", "a\x00\xed\xa0\x80", "a \xed\xa0\x80"},
		{"cut between code points", "1234567😀", "1234567"},
	} {
		if got := Safe(c.in, 8); got != c.want {
			t.Errorf("%s: %q, want %q", c.rule, got, c.want)
		}
	}
}

// Each predicate is compared with the pattern of the specification.
func TestNamesMatchTheirPatterns(t *testing.T) {
	t.Parallel()
	resource := `^[a-z0-9][a-z0-9_-]{1,63}$`
	key := `^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$`
	predicates := []struct {
		name, pattern string
		is            func(string) bool
	}{
		{"ResourceName", resource, ResourceName},
		{"ClientRoute", resource, ClientRoute},
		{"RouteKey", key, RouteKey},
		{"MessageID", key, MessageID},
		{"ToolName", `^[A-Za-z_][A-Za-z0-9_]{0,63}$`, ToolName},
		{"UUID", `(?i)^[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, UUID},
		{"Hex64", `^[a-f0-9]{64}$`, Hex64},
		{"Hex32", `^[a-f0-9]{32}$`, Hex32},
	}
	id := "8d0f6c1e-3a52-4a7b-9c55-0f8b1f0c2a11"
	samples := []string{"", "auto", id, strings.ToUpper(id), "8d0f6c1e-3a52-6a7b-9c55-0f8b1f0c2a11", "8d0f6c1e-3a52-0a7b-9c55-0f8b1f0c2a11",
		"8d0f6c1e-3a52-4a7b-cc55-0f8b1f0c2a11", "8d0f6c1e-3a52-4a7b-7c55-0f8b1f0c2a11", "8d0f6c1e-3a52-4a7b-Bc55-0f8b1f0c2a11", "8d0f6c1e_3a52-4a7b-9c55-0f8b1f0c2a11",
		"8g0f6c1e-3a52-4a7b-9c55-0f8b1f0c2a11", id + "0", "a\n", "é", "aé", "a\u212a"}
	for _, n := range []int{1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129} {
		samples = append(samples, strings.Repeat("a", n), strings.Repeat("A", n), strings.Repeat("g", n))
	}
	for c := range 256 {
		samples = append(samples, string([]byte{byte(c)}), string([]byte{'a', byte(c)}), string([]byte{byte(c), 'a'}),
			strings.Repeat("0", 31)+string([]byte{byte(c)}), strings.Repeat("0", 63)+string([]byte{byte(c)}), id[:35]+string([]byte{byte(c)}))
	}
	for _, p := range predicates {
		re := regexp.MustCompile(p.pattern)
		for _, s := range samples {
			if p.is(s) != re.MatchString(s) {
				t.Errorf("%s(%q) = %v, unlike %s", p.name, s, p.is(s), p.pattern)
			}
		}
	}
}

func TestAgentRouteIsNotAuto(t *testing.T) {
	t.Parallel()
	if AgentRoute("auto") || !AgentRoute("auto-1") || AgentRoute("A1") {
		t.Error("AgentRoute")
	}
}

func TestNormalizeUUID(t *testing.T) {
	t.Parallel()
	if got, ok := NormalizeUUID("8D0F6C1E-3A52-4A7B-9C55-0F8B1F0C2A11"); !ok || got != "8d0f6c1e-3a52-4a7b-9c55-0f8b1f0c2a11" {
		t.Errorf("%q, %v", got, ok)
	}
	if got, ok := NormalizeUUID("8D0F6C1E"); ok || got != "" {
		t.Errorf("%q, %v", got, ok)
	}
}

func FuzzCut(f *testing.F) {
	for _, s := range []string{"", "abc", "a😀b", "\xed\xa0\x80", "\xff中\xe4", "\xed\xa0\xbd\xed\xb8\x80"} {
		f.Add(s, 2)
	}
	f.Fuzz(func(t *testing.T, s string, max int) {
		cut := Cut(s, max)
		if !strings.HasPrefix(s, cut) || max >= 0 && Len(cut) > max {
			t.Fatalf("Cut(%q, %d) = %q", s, max, cut)
		}
		if rest := s[len(cut):]; rest != "" && max >= 0 {
			if b, u := next(rest); Len(cut)+u <= max {
				t.Fatalf("Cut(%q, %d) leaves %q out", s, max, rest[:b])
			}
		}
		if Fits(s, max) != (Len(s) <= max) {
			t.Fatalf("Fits(%q, %d) = %v, Len %d", s, max, Fits(s, max), Len(s))
		}
		if utf8.ValidString(s) && Len(s) != len(utf16.Encode([]rune(s))) {
			t.Fatalf("Len(%q) = %d", s, Len(s))
		}
	})
}
