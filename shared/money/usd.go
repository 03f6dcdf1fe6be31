package money

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

// Decimals is how many decimals an amount keeps.
const Decimals = 12

// Max is the largest amount that Parse accepts, in US dollars.
const Max = 1_000_000_000_000

var (
	// ErrSyntax says that a text is not a number as JSON writes it.
	ErrSyntax = errors.New("money: not a number")
	// ErrRange says that an amount is negative or larger than Max.
	ErrRange = errors.New("money: out of range")
	// ErrDecimals says that an amount has more decimals than [Decimals].
	ErrDecimals = errors.New("money: too many decimals")
)

// scale is how many units of the last decimal one dollar has.
var scale = new(big.Int).Exp(big.NewInt(10), big.NewInt(Decimals), nil)

// USD is an amount of US dollars that is not negative. The zero value is no money. It is immutable.
type USD struct {
	units *big.Int // of the last decimal; nil is zero
}

// maxLiteral bounds the texts that Parse reads: no number of a usage or a budget is written longer.
const maxLiteral = 400

// Parse reads a number as JSON writes it. What is smaller than the last decimal counts as one of it, so that a sum errs towards
// more, never towards nothing.
func Parse(literal string) (USD, error) {
	a, _, err := parse(literal)
	return a, err
}

// ParseExact is Parse for amounts that must be what they say: one with more decimals is ErrDecimals.
func ParseExact(literal string) (USD, error) {
	a, exact, err := parse(literal)
	if err == nil && !exact {
		return USD{}, fmt.Errorf("%w: %s", ErrDecimals, literal)
	}
	return a, err
}

func parse(literal string) (a USD, exact bool, err error) {
	if len(literal) > maxLiteral {
		return USD{}, false, fmt.Errorf("%w: longer than %d digits", ErrRange, maxLiteral)
	}
	mantissa, exponent, err := split(literal)
	if err != nil {
		return USD{}, false, err
	}
	digits, ok := new(big.Int).SetString(mantissa, 10)
	switch {
	case !ok:
		return USD{}, false, fmt.Errorf("%w: %s", ErrSyntax, literal)
	case digits.Sign() == 0:
		return USD{}, true, nil
	case digits.Sign() < 0:
		return USD{}, false, fmt.Errorf("%w: %s", ErrRange, literal)
	}
	exact = true
	switch shift := exponent + Decimals; {
	case shift > 2*maxLiteral:
		return USD{}, false, fmt.Errorf("%w: %s", ErrRange, literal)
	case shift >= 0:
		digits.Mul(digits, power(shift))
	case shift < -maxLiteral:
		digits.SetInt64(1)
		exact = false
	default:
		rest := new(big.Int)
		if digits.QuoRem(digits, power(-shift), rest); rest.Sign() > 0 {
			digits.Add(digits, big.NewInt(1))
			exact = false
		}
	}
	if digits.Cmp(new(big.Int).Mul(big.NewInt(Max), scale)) > 0 {
		return USD{}, false, fmt.Errorf("%w: %s", ErrRange, literal)
	}
	return USD{digits}, exact, nil
}

func power(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

// split takes a literal apart: its digits without the point, and the power of ten that they count.
func split(literal string) (mantissa string, exponent int, err error) {
	syntax := fmt.Errorf("%w: %s", ErrSyntax, literal)
	mantissa = literal
	if i := strings.IndexAny(literal, "eE"); i >= 0 {
		mantissa = literal[:i]
		exponent, err = strconv.Atoi(literal[i+1:])
		switch {
		case errors.Is(err, strconv.ErrRange) && strings.HasPrefix(literal[i+1:], "-"):
			exponent = -4 * maxLiteral
		case errors.Is(err, strconv.ErrRange):
			exponent = 4 * maxLiteral
		case err != nil:
			return "", 0, syntax
		}
		exponent = max(-4*maxLiteral, min(exponent, 4*maxLiteral))
	}
	whole, fraction, point := strings.Cut(mantissa, ".")
	digits := strings.TrimPrefix(whole, "-")
	if digits == "" || !onlyDigits(digits) || point && (fraction == "" || !onlyDigits(fraction)) {
		return "", 0, syntax
	}
	return whole + fraction, exponent - len(fraction), nil
}

func onlyDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }

func (a USD) int() *big.Int {
	if a.units == nil {
		return new(big.Int)
	}
	return a.units
}

// IsZero reports whether a is no money.
func (a USD) IsZero() bool { return a.int().Sign() == 0 }

// Add is a and b together.
func (a USD) Add(b USD) USD { return USD{new(big.Int).Add(a.int(), b.int())} }

// Less is what a is more than b; no money when it is not more.
func (a USD) Less(b USD) USD {
	if a.Cmp(b) <= 0 {
		return USD{}
	}
	return USD{new(big.Int).Sub(a.int(), b.int())}
}

// Cmp is -1, 0 or 1 as a is less than, equal to or more than b.
func (a USD) Cmp(b USD) int { return a.int().Cmp(b.int()) }

// String is the amount as a decimal number, without an exponent and without zeros at the end.
func (a USD) String() string {
	whole, rest := new(big.Int).QuoRem(a.int(), scale, new(big.Int))
	if rest.Sign() == 0 {
		return whole.String()
	}
	return whole.String() + "." + strings.TrimRight(fmt.Sprintf("%0*s", Decimals, rest.String()), "0")
}

// MarshalJSON is the amount as a JSON number with every digit.
func (a USD) MarshalJSON() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalJSON reads what MarshalJSON wrote, and every other number that Parse reads.
func (a *USD) UnmarshalJSON(b []byte) error {
	parsed, err := Parse(string(b))
	if err == nil {
		*a = parsed
	}
	return err
}
