package attr

import (
	"cmp"
	"math/big"
	"strings"
)

// Limits of a number: significant digits, and the decimal exponent of the first of them when written as 0.ddd × 10^e.
const (
	maxDigits   = 38
	maxExponent = 126  // 9.99…E+125
	minExponent = -129 // 1E-130
)

// Number is an exact decimal: ±0.digits × 10^exp, digits without leading or trailing zeros. The zero value is 0, and two
// numbers are equal exactly when they are == .
type Number struct {
	neg    bool
	digits string
	exp    int16
}

// NumberFromInt makes a number of n.
func NumberFromInt(n int64) Number {
	v, _ := fromBig(big.NewInt(n), 0) // 19 digits always fit
	return v
}

// ParseNumber reads decimal notation with an optional exponent. It refuses more than 38 significant digits and
// magnitudes outside 1E-130 to 9.9…E+125.
func ParseNumber(s string) (Number, error) {
	bad := func() (Number, error) {
		return Number{}, invalid("The parameter cannot be converted to a numeric value: %s", clip(s))
	}
	rest, neg := s, false
	if rest != "" && (rest[0] == '-' || rest[0] == '+') {
		neg, rest = rest[0] == '-', rest[1:]
	}
	whole, rest := cutDigits(rest)
	var fraction string
	if strings.HasPrefix(rest, ".") {
		fraction, rest = cutDigits(rest[1:])
	}
	if whole == "" && fraction == "" {
		return bad()
	}
	exp := 0
	if rest != "" {
		var ok bool
		if exp, ok = parseExponent(rest); !ok {
			return bad()
		}
	}
	return normalise(neg, whole+fraction, len(whole)+exp)
}

func clip(s string) string {
	if len(s) > 60 {
		return s[:60] + "…"
	}
	return s
}

func cutDigits(s string) (digits, rest string) {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	return s[:i], s[i:]
}

// parseExponent reads e±ddd. Exponents far beyond the range saturate, so that no text can overflow an int.
func parseExponent(s string) (int, bool) {
	if s[0] != 'e' && s[0] != 'E' {
		return 0, false
	}
	s = s[1:]
	sign := 1
	if s != "" && (s[0] == '-' || s[0] == '+') {
		if s[0] == '-' {
			sign = -1
		}
		s = s[1:]
	}
	digits, rest := cutDigits(s)
	if digits == "" || rest != "" {
		return 0, false
	}
	const saturated = 1 << 30
	n := 0
	for _, d := range digits {
		n = min(n*10+int(d-'0'), saturated)
	}
	return sign * n, true
}

// normalise makes the canonical form of ±0.digits × 10^exp and applies the limits.
func normalise(neg bool, digits string, exp int) (Number, error) {
	trimmed := strings.TrimLeft(digits, "0")
	exp -= len(digits) - len(trimmed)
	trimmed = strings.TrimRight(trimmed, "0")
	switch {
	case trimmed == "":
		return Number{}, nil
	case len(trimmed) > maxDigits:
		return Number{}, invalid("Attempting to store more than %d significant digits in a Number", maxDigits)
	case exp > maxExponent:
		return Number{}, invalid("Number overflow. Attempting to store a number with magnitude larger than supported range")
	case exp < minExponent:
		return Number{}, invalid("Number underflow. Attempting to store a number with magnitude smaller than supported range")
	}
	return Number{neg, strings.Clone(trimmed), int16(exp)}, nil
}

// String is the plain notation in which DynamoDB answers: no exponent, no superfluous zeros.
func (v Number) String() string {
	if v.digits == "" {
		return "0"
	}
	sign := ""
	if v.neg {
		sign = "-"
	}
	exp := int(v.exp)
	switch {
	case exp <= 0:
		return sign + "0." + strings.Repeat("0", -exp) + v.digits
	case exp >= len(v.digits):
		return sign + v.digits + strings.Repeat("0", exp-len(v.digits))
	}
	return sign + v.digits[:exp] + "." + v.digits[exp:]
}

// Cmp is -1, 0 or 1 for v less than, equal to or greater than w.
func (v Number) Cmp(w Number) int {
	if v.sign() != w.sign() {
		return cmp.Compare(v.sign(), w.sign())
	}
	magnitude := cmp.Compare(v.exp, w.exp)
	if magnitude == 0 {
		magnitude = cmp.Compare(v.digits, w.digits)
	}
	return magnitude * v.sign()
}

func (v Number) sign() int {
	switch {
	case v.digits == "":
		return 0
	case v.neg:
		return -1
	}
	return 1
}

// Neg is -v.
func (v Number) Neg() Number {
	v.neg = !v.neg && v.digits != ""
	return v
}

// Add is the exact sum; it fails when the sum needs more than 38 digits or leaves the range.
func (v Number) Add(w Number) (Number, error) {
	scale := min(v.scale(), w.scale())
	return fromBig(new(big.Int).Add(v.atScale(scale), w.atScale(scale)), scale)
}

// Sub is the exact difference, with the limits of [Number.Add].
func (v Number) Sub(w Number) (Number, error) { return v.Add(w.Neg()) }

// Floor is the largest integer not above v; ok is false when it does not fit an int64.
func (v Number) Floor() (n int64, ok bool) {
	if v.exp > 19 {
		return 0, false
	}
	scale := min(v.scale(), 0)
	i := v.atScale(scale)
	i.Div(i, pow10(-scale)) // Euclidean division rounds down, because the divisor is positive
	return i.Int64(), i.IsInt64()
}

// scale is the power of ten of the last digit.
func (v Number) scale() int { return int(v.exp) - len(v.digits) }

func (v Number) atScale(scale int) *big.Int {
	i := new(big.Int)
	if v.digits == "" {
		return i
	}
	i.SetString(v.digits, 10)
	i.Mul(i, pow10(v.scale()-scale))
	if v.neg {
		i.Neg(i)
	}
	return i
}

func pow10(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

func fromBig(i *big.Int, scale int) (Number, error) {
	digits := new(big.Int).Abs(i).String()
	return normalise(i.Sign() < 0, digits, len(digits)+scale)
}
