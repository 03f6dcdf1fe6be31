package canonical

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// FromGo makes a Value of nil, bool, string, every integer type, float64, [json.Number], []any, []string, map[string]any
// (keys in canonical order) and Value, nested at most [DefaultMaxDepth] deep. It fails for other types, NaN, infinities,
// malformed numbers, and strings that are neither UTF-8 nor WTF-8.
func FromGo(v any) (Value, error) {
	text, err := appendGo(nil, v, 0)
	if err != nil {
		return Value{}, fmt.Errorf("canonical: %w", err)
	}
	out, err := Parse(text, Limits{MaxBytes: MaxMaxBytes, MaxNodes: MaxMaxBytes})
	if err != nil {
		return Value{}, fmt.Errorf("canonical: %w", err)
	}
	return out, nil
}

func appendGo(dst []byte, v any, depth int) ([]byte, error) {
	if depth > DefaultMaxDepth {
		return nil, ErrTooDeep // also what ends a value that contains itself
	}
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case string:
		return appendText(dst, v)
	case Value:
		if v.doc == nil {
			return nil, fmt.Errorf("the invalid value inside a value")
		}
		return v.AppendCompact(dst), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("a number that JSON cannot express")
		}
		return AppendFloat(dst, v), nil
	case json.Number:
		return appendNumber(dst, v)
	case []any:
		return appendList(dst, v, depth)
	case []string:
		list := make([]any, len(v))
		for i, s := range v {
			list[i] = s
		}
		return appendList(dst, list, depth)
	case map[string]any:
		return appendObject(dst, v, depth)
	}
	return appendInteger(dst, v)
}

func appendInteger(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case int:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case int8:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case int16:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case int32:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case uint:
		return strconv.AppendUint(dst, uint64(v), 10), nil
	case uint8:
		return strconv.AppendUint(dst, uint64(v), 10), nil
	case uint16:
		return strconv.AppendUint(dst, uint64(v), 10), nil
	case uint32:
		return strconv.AppendUint(dst, uint64(v), 10), nil
	case uint64:
		return strconv.AppendUint(dst, v, 10), nil
	}
	return nil, fmt.Errorf("no JSON form for %T", v)
}

// appendNumber checks that n is one number and nothing else, so that it cannot smuggle structure into the text.
func appendNumber(dst []byte, n json.Number) ([]byte, error) {
	num, err := Parse([]byte(n), Limits{})
	if err != nil || num.Kind() != Number || n[0] <= ' ' || n[len(n)-1] <= ' ' {
		return nil, fmt.Errorf("malformed number")
	}
	return append(dst, num.Number()...), nil
}

func appendText(dst []byte, s string) ([]byte, error) {
	if !utf8.ValidString(s) {
		for i := 0; i < len(s); {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				if _, ok := surrogateAt(s, i); !ok {
					return nil, ErrInvalidUTF8
				}
				n = 3
			}
			i += n
		}
	}
	return AppendString(dst, s), nil
}

func appendList(dst []byte, list []any, depth int) ([]byte, error) {
	dst = append(dst, '[')
	for i, e := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendGo(dst, e, depth+1); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

func appendObject(dst []byte, object map[string]any, depth int) ([]byte, error) {
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, compareText)
	dst = append(dst, '{')
	for i, key := range keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendText(dst, key); err != nil {
			return nil, err
		}
		if dst, err = appendGo(append(dst, ':'), object[key], depth+1); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}
