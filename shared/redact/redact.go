package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// What stands in place of a hidden value.
const (
	Email        = "[REDACTED_EMAIL]"
	Phone        = "[REDACTED_PHONE]"
	Identity     = "[REDACTED_ID]"
	Token        = "Bearer [REDACTED_TOKEN]"
	Secret       = "[REDACTED_SECRET]"
	SecretObject = "[REDACTED_SECRET_OBJECT]"
	TooDeep      = "[REDACTED_MAX_DEPTH]"
)

// MaxDepth is how many levels of a value are shown.
const MaxDepth = 12

// rules are applied in order: a credential that holds an address is a credential.
var rules = []struct {
	find    *regexp.Regexp
	replace string
}{
	{regexp.MustCompile(`(?i)\bbearer\s+[A-Za-z0-9._~+/=-]{16,}`), Token},
	{regexp.MustCompile(`\b(?:sk|pk|ak|tk|eyJ)[A-Za-z0-9._-]{18,}`), Secret},
	{regexp.MustCompile(`[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}`), Email},
	{regexp.MustCompile(`\b[1-9]\d{16}[0-9Xx]\b`), Identity},
	{regexp.MustCompile(`\b1[3-9]\d{9}\b`), Phone},
}

// keys are parts of member names whose values are hidden, spelled without separators.
var keys = []string{"password", "passwd", "pwd", "secret", "token", "apikey", "accesskey", "authorization", "cookie", "credential"}

var separators = strings.NewReplacer("_", "", "-", "", " ", "", ".", "")

// Key reports whether values under this name are hidden.
func Key(name string) bool {
	name = separators.Replace(strings.ToLower(name))
	for _, k := range keys {
		if strings.Contains(name, k) {
			return true
		}
	}
	return false
}

// Text hides what looks like personal data or a credential inside s.
func Text(s string) string {
	for _, r := range rules {
		s = r.find.ReplaceAllString(s, r.replace)
	}
	return s
}

// JSON hides values of a JSON text. Member order is not kept; numbers keep their digits.
func JSON(text []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("redact: %w", err)
	}
	out, err := json.Marshal(value(v, 0))
	if err != nil {
		return nil, fmt.Errorf("redact: %w", err)
	}
	return out, nil
}

func value(v any, depth int) any {
	switch v := v.(type) {
	case string:
		return Text(v)
	case []any:
		if depth >= MaxDepth {
			return TooDeep
		}
		for i := range v {
			v[i] = value(v[i], depth+1)
		}
	case map[string]any:
		if depth >= MaxDepth {
			return TooDeep
		}
		for k := range v {
			v[k] = member(k, v[k], depth+1)
		}
	}
	return v
}

func member(name string, v any, depth int) any {
	if !Key(name) {
		return value(v, depth)
	}
	switch v := v.(type) {
	case string:
		if v == "" {
			return v
		}
		return Secret
	case []any, map[string]any:
		return SecretObject
	default:
		return v
	}
}
