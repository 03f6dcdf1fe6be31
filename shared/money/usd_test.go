package money_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"bailing/shared/money"
)

func usd(t *testing.T, literal string) money.USD {
	t.Helper()
	a, err := money.Parse(literal)
	if err != nil {
		t.Fatalf("%s: %v", literal, err)
	}
	return a
}

func TestParseReadsJSONNumbersExactly(t *testing.T) {
	t.Parallel()
	for literal, want := range map[string]string{
		"0": "0", "-0": "0", "0.00": "0", "1": "1", "0.06": "0.06", "10.50": "10.5", "1e-5": "0.00001", "1.5E+2": "150", "100e-2": "1",
		"0.000000000001": "0.000000000001", "0.0000000000011": "0.000000000002", // the thirteenth decimal counts as one of the twelfth
		"1e-13": "0.000000000001", "1e-999999999999": "0.000000000001", "0e999999999999": "0",
		"1000000000000": "1000000000000", "1e12": "1000000000000", "0.30000000000000004": "0.300000000001",
	} {
		if got := usd(t, literal).String(); got != want {
			t.Errorf("%s is %s, want %s", literal, got, want)
		}
	}
}

func TestParseRefusesWhatIsNoAmount(t *testing.T) {
	t.Parallel()
	for literal, want := range map[string]error{
		"": money.ErrSyntax, "-": money.ErrSyntax, ".5": money.ErrSyntax, "5.": money.ErrSyntax, "1e": money.ErrSyntax, "1e1.5": money.ErrSyntax,
		"abc": money.ErrSyntax, `"1"`: money.ErrSyntax, "null": money.ErrSyntax, "0x1": money.ErrSyntax, "1_000": money.ErrSyntax, "--1": money.ErrSyntax,
		"+1": money.ErrSyntax, "NaN": money.ErrSyntax, "1 ": money.ErrSyntax,
		"-1": money.ErrRange, "-1e-20": money.ErrRange, "1000000000000.000000000001": money.ErrRange, "1e13": money.ErrRange,
		"1e999999999999": money.ErrRange, "0." + strings.Repeat("0", 400) + "1": money.ErrRange,
	} {
		if got, err := money.Parse(literal); !errors.Is(err, want) {
			t.Errorf("%.40q is %s, %v, want %v", literal, got, err, want)
		}
	}
}

func TestParseExactRefusesADigitTooMany(t *testing.T) {
	t.Parallel()
	if a, err := money.ParseExact("0.000000000001"); err != nil || a.String() != "0.000000000001" {
		t.Errorf("%s, %v", a, err)
	}
	for _, literal := range []string{"0.0000000000001", "1.0000000000001", "1e-13", "1e-999"} {
		if a, err := money.ParseExact(literal); !errors.Is(err, money.ErrDecimals) {
			t.Errorf("%s is %s, %v", literal, a, err)
		}
	}
	if a, err := money.ParseExact("0.1000000000000000000"); err != nil || a.String() != "0.1" {
		t.Errorf("zeros at the end are digits: %s, %v", a, err)
	}
}

func TestSumsDoNotDrift(t *testing.T) {
	t.Parallel()
	var sum money.USD
	for range 1000 {
		sum = sum.Add(usd(t, "0.1"))
	}
	if sum.String() != "100" || sum.Cmp(usd(t, "100")) != 0 {
		t.Errorf("a thousand times 0.1 is %s", sum)
	}
	if got := usd(t, "0.3").Less(usd(t, "0.1")).String(); got != "0.2" {
		t.Errorf("0.3 less 0.1 is %s", got)
	}
	if got := usd(t, "0.1").Less(usd(t, "0.3")); !got.IsZero() || got.String() != "0" {
		t.Errorf("0.1 less 0.3 is %s", got)
	}
	if !(money.USD{}).IsZero() || usd(t, "0.000000000001").IsZero() {
		t.Error("IsZero does not tell no money from some")
	}
}

func TestJSONKeepsEveryDigit(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal(map[string]money.USD{"a": usd(t, "123456789012.000000000001"), "b": {}})
	if err != nil || string(b) != `{"a":123456789012.000000000001,"b":0}` {
		t.Errorf("%s, %v", b, err)
	}
	var back map[string]money.USD
	if err := json.Unmarshal(b, &back); err != nil || back["a"].Cmp(usd(t, "123456789012.000000000001")) != 0 {
		t.Errorf("%v, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`{"a":"1"}`), &back); err == nil {
		t.Error("a text was read as an amount")
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"0", "1e-7", "0.06", "12.5E3", "-1", "1e99999", "."} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, literal string) {
		a, err := money.Parse(literal)
		if err != nil {
			return
		}
		if back, err := money.Parse(a.String()); err != nil || back.Cmp(a) != 0 {
			t.Errorf("%q is %s, and that is %s, %v", literal, a, back, err)
		}
	})
}
