package redact

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"bailing/shared/canonical"
	"bailing/shared/plainjson"
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

// MaxDepth is how many levels of a value are shown. JSON inside a text counts on from the text's own level.
const MaxDepth = 12

// JSON hides values of a JSON text. Member order is not kept; numbers keep their digits.
func JSON(text []byte) ([]byte, error) {
	v, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("redact: %w", err)
	}
	v, _ = value(v, 0)
	out, err := plainjson.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("redact: %w", err)
	}
	return out, nil
}

// decode reads exactly one value.
func decode(text []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the value")
	}
	return v, nil
}

// value is v with its secrets hidden; changed reports whether there were any.
func value(v any, depth int) (shown any, changed bool) {
	switch v := v.(type) {
	case string:
		return inner(v, depth)
	case json.Number:
		// A telephone or identity number stays one without its quotes.
		if s := v.String(); digits.MatchString(s) {
			if hidden := Text(s); hidden != s {
				return hidden, true
			}
		}
		return v, false
	case []any:
		if depth >= MaxDepth {
			return TooDeep, true
		}
		for i := range v {
			var c bool
			v[i], c = value(v[i], depth+1)
			changed = changed || c
		}
		return v, changed
	case map[string]any:
		if depth >= MaxDepth {
			return TooDeep, true
		}
		return object(v, depth)
	}
	return v, false
}

// object hides values by their names, and what looks like personal data or a credential in a name. Names that become equal are
// numbered, in the order that they had: no member is lost.
func object(v map[string]any, depth int) (shown any, changed bool) {
	out := make(map[string]any, len(v))
	var renamed []string
	for _, name := range slices.Sorted(maps.Keys(v)) {
		e, c := member(name, v[name], depth+1)
		changed = changed || c
		v[name] = e
		if Text(name) == name {
			out[name] = e
		} else {
			renamed = append(renamed, name)
		}
	}
	// last is the number that a hidden name was given last: an object may be made of little but names that become equal, and
	// beginning at 2 for each would take the square of its size.
	last := make(map[string]int, len(renamed))
	for _, name := range renamed {
		hidden := Text(name)
		unique := hidden
		for n := last[hidden] + 1; ; n++ {
			if n > 1 {
				unique = fmt.Sprintf("%s %d", hidden, n)
			}
			if _, taken := out[unique]; !taken {
				last[hidden] = n
				break
			}
		}
		out[unique] = v[name]
	}
	return out, changed || len(renamed) > 0
}

func member(name string, v any, depth int) (shown any, changed bool) {
	if !Key(name) {
		return value(v, depth)
	}
	switch v := v.(type) {
	case string:
		if v == "" || v == Secret || v == SecretObject {
			return v, false
		}
		return Secret, true
	case []any, map[string]any:
		return SecretObject, true
	}
	return v, false
}

// inner hides what a text says. A text that is itself JSON is looked through by its names, and written anew when something in it
// is hidden, or when it says more than was looked at: of members of one name all but the last are lost.
func inner(s string, depth int) (shown any, changed bool) {
	if trimmed := strings.TrimSpace(s); strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
		if v, err := decode([]byte(s)); err == nil {
			v, changed := value(v, depth+1)
			if !changed && plain(s) {
				return s, false
			}
			if out, err := plainjson.Marshal(v); err == nil {
				return string(out), true
			}
			return Secret, true
		}
	}
	hidden := Text(s)
	return hidden, hidden != s
}

// plain reports whether a JSON text says nothing beside its value: no object in it has a name twice.
func plain(text string) bool {
	_, err := canonical.Parse([]byte(text), canonical.Limits{MaxBytes: len(text), MaxDepth: canonical.MaxMaxDepth, MaxNodes: len(text)})
	return err == nil
}
