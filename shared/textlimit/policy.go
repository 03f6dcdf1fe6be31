package textlimit

import (
	"errors"
	"strings"
)

// Why strict text was refused.
var (
	ErrTooLong = errors.New("text is too long")
	ErrControl = errors.New("text contains a control character")
	ErrBlank   = errors.New("text is blank")
)

// isControl tells the characters that neither policy lets through: C0 without TAB, LF and CR, and DEL. All are single bytes.
func isControl(c byte) bool {
	return c < ' ' && c != '\t' && c != '\n' && c != '\r' || c == 0x7F
}

// Strict checks text from a client that is stored byte for byte as it came (agent §1.4, "strict text"): at most max UTF-16
// units ([ErrTooLong]), no control character but TAB, LF and CR ([ErrControl]).
func Strict(s string, max int) error {
	if !Fits(s, max) {
		return ErrTooLong
	}
	for i := range len(s) {
		if isControl(s[i]) {
			return ErrControl
		}
	}
	return nil
}

// StrictRequired is [Strict] for text that must not be blank ([ErrBlank]).
func StrictRequired(s string, max int) error {
	if err := Strict(s, max); err != nil {
		return err
	}
	if Blank(s) {
		return ErrBlank
	}
	return nil
}

// Safe makes text from a server fit to show (agent §1.4, "safe text"): each control character that [Strict] refuses
// becomes a space, the result is trimmed, then cut to max UTF-16 units.
func Safe(s string, max int) string {
	if i := strings.IndexFunc(s, func(r rune) bool { return r < 0x80 && isControl(byte(r)) }); i >= 0 {
		b := []byte(s)
		for ; i < len(b); i++ {
			if isControl(b[i]) {
				b[i] = ' '
			}
		}
		s = string(b)
	}
	return Cut(Trim(s), max)
}
