package attr

import (
	"errors"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

func mustNumber(t testing.TB, s string) Number {
	t.Helper()
	n, err := ParseNumber(s)
	if err != nil {
		t.Fatalf("ParseNumber(%q): %v", s, err)
	}
	return n
}

func TestNumbersAreAnsweredInPlainNotation(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, in, want string }{
		{"zero", "0", "0"},
		{"negative zero is zero", "-0.000", "0"},
		{"zero with any exponent", "0e1000", "0"},
		{"leading zeros go", "0001.23", "1.23"},
		{"trailing zeros go", "1.500", "1.5"},
		{"plus sign goes", "+3", "3"},
		{"no digit before the point", ".123", "0.123"},
		{"no digit after the point", "5.", "5"},
		{"exponent up", "-17.4E3", "-17400"},
		{"exponent down", "-17e-5", "-0.00017"},
		{"exponent inside the digits", "123456e-3", "123.456"},
		{"whole number with zeros", "100", "100"},
		{"largest magnitude", "9.9999999999999999999999999999999999999E+125", strings.Repeat("9", 38) + strings.Repeat("0", 88)},
		{"smallest magnitude", "1E-130", "0." + strings.Repeat("0", 129) + "1"},
		{"38 digits", "12345678901234567890123456789012345678", "12345678901234567890123456789012345678"},
		{"38 digits and zeros around", "0.0012345678901234567890123456789012345678000", "0.0012345678901234567890123456789012345678"},
	}
	for _, c := range cases {
		if got := mustNumber(t, c.in).String(); got != c.want {
			t.Errorf("%s: %q is answered as %q, want %q", c.name, c.in, got, c.want)
		}
	}
}

func TestNumbersOutsideTheLimitsAreRefused(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, in string }{
		{"39 digits", "123456789012345678901234567890123456789"},
		{"39 digits after the point", "0.123456789012345678901234567890123456789"},
		{"magnitude 1E126", "1E126"},
		{"magnitude 11E125", "-11e125"},
		{"magnitude 1E-131", "1e-131"},
		{"magnitude 0.9E-130", "0.9E-130"},
		{"exponent beyond any integer", "1e99999999999999999999"},
		{"negative exponent beyond any integer", "1e-99999999999999999999"},
		{"empty", ""}, {"sign only", "-"}, {"point only", "."}, {"two points", "1.2.3"}, {"exponent without digits", "1e"},
		{"exponent only", "e5"}, {"space before", " 1"}, {"space after", "1 "}, {"word", "dog"}, {"NaN", "NaN"}, {"Infinity", "-Infinity"},
		{"hexadecimal", "0x10"}, {"underscore", "1_000"}, {"two signs", "--1"},
	}
	for _, c := range cases {
		var e *Error
		if n, err := ParseNumber(c.in); !errors.As(err, &e) {
			t.Errorf("%s: %q became %v with error %v, want *Error", c.name, c.in, n, err)
		}
	}
}

func TestSumsAreExactOrRefused(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, a, b, want string }{ // an empty want is a refusal
		{"binary floats would miss this", "0.1", "0.2", "0.3"},
		{"past 2^53", "9007199254740993", "1", "9007199254740994"},
		{"38 digits carry", "12345678901234567890123456789012345679", "1", "12345678901234567890123456789012345680"},
		{"cancels to zero", "5.5", "-5.5", "0"},
		{"different scales", "10000000000000000000000", "1", "10000000000000000000001"},
		{"zero is neutral", "0", "-2.5", "-2.5"},
		{"needs 51 digits", "1e50", "1", ""},
		{"leaves the range", "9e125", "9e125", ""},
		{"39 digits carry away", "99999999999999999999999999999999999999", "1", "1" + strings.Repeat("0", 38)},
	}
	for _, c := range cases {
		got, err := mustNumber(t, c.a).Add(mustNumber(t, c.b))
		if c.want == "" {
			if err == nil {
				t.Errorf("%s: %s + %s = %s, want a refusal", c.name, c.a, c.b, got)
			}
			continue
		}
		if err != nil || got.String() != c.want {
			t.Errorf("%s: %s + %s = %s, %v, want %s", c.name, c.a, c.b, got, err, c.want)
		}
	}
}

// randomNumber gives a number whose sums with its like often fit 38 digits, and its exact value.
func randomNumber(r *rand.Rand) (string, *big.Rat) {
	s := ""
	if r.IntN(2) == 0 {
		s = "-"
	}
	for range 1 + r.IntN(20) {
		s += string(rune('0' + r.IntN(10)))
	}
	if r.IntN(2) == 0 {
		s += "."
		for range 1 + r.IntN(15) {
			s += string(rune('0' + r.IntN(10)))
		}
	}
	if r.IntN(3) == 0 {
		s += "E" + big.NewInt(r.Int64N(21)-10).String()
	}
	exact, _ := new(big.Rat).SetString(s)
	return s, exact
}

func TestNumbersAgreeWithBigRationals(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	value := func(n Number) *big.Rat {
		v, _ := new(big.Rat).SetString(n.String())
		return v
	}
	for range 5000 {
		as, a := randomNumber(r)
		bs, b := randomNumber(r)
		x, err := ParseNumber(as)
		if err != nil {
			continue // more than 38 digits
		}
		y, err := ParseNumber(bs)
		if err != nil {
			continue
		}
		if value(x).Cmp(a) != 0 {
			t.Fatalf("%s became %s", as, x)
		}
		if got, want := x.Cmp(y), a.Cmp(b); got != want {
			t.Fatalf("compare %s with %s: %d, want %d", as, bs, got, want)
		}
		if got := strings.Compare(string(AppendKey(nil, x)), string(AppendKey(nil, y))); got != a.Cmp(b) {
			t.Fatalf("keys of %s and %s compare %d, want %d", as, bs, got, a.Cmp(b))
		}
		if (x == y) != (a.Cmp(b) == 0) {
			t.Fatalf("%s == %s is %v", as, bs, x == y)
		}
		if sum, err := x.Add(y); err == nil && value(sum).Cmp(new(big.Rat).Add(a, b)) != 0 {
			t.Fatalf("%s + %s = %s", as, bs, sum)
		}
		if difference, err := x.Sub(y); err == nil && value(difference).Cmp(new(big.Rat).Sub(a, b)) != 0 {
			t.Fatalf("%s - %s = %s", as, bs, difference)
		}
	}
}

func TestFloorRoundsDown(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int64{"0": 0, "1.9": 1, "-1.1": -2, "1700000000.5": 1700000000, "9223372036854775807": 1<<63 - 1} {
		if got, ok := mustNumber(t, in).Floor(); !ok || got != want {
			t.Errorf("floor of %s is %d, %v, want %d", in, got, ok, want)
		}
	}
	for _, in := range []string{"9223372036854775808", "1e100", "-1e100"} {
		if got, ok := mustNumber(t, in).Floor(); ok {
			t.Errorf("floor of %s is %d, want none: it does not fit", in, got)
		}
	}
}

func FuzzParseNumber(f *testing.F) {
	for _, s := range []string{"0", "-1.5e-3", "00.100", "1e125", "9e-130", ".", "1e+", "12345678901234567890123456789012345678"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseNumber(s)
		if err != nil {
			return
		}
		again, err := ParseNumber(n.String())
		if err != nil || again != n {
			t.Errorf("%q is answered as %q, which reads as %v, %v", s, n, again, err)
		}
	})
}
