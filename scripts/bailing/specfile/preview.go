package specfile

import (
	"strings"

	"bailing/shared/canonical"
)

// EnableAll returns the document, as JSON, with every operation enabled: one without x-agent-capability gets a scope that is made
// of its path, one that is switched off is switched on. Proposed holds the operations, as "METHOD /path", whose scope is such a
// proposal. False: the document cannot be read.
//
// What comes out is for looking at only. Which operations agents may use is for the owner of the API to say, one by one.
func EnableAll(src []byte) (out []byte, proposed map[string]bool, ok bool) {
	root, ok := parsed(src)
	if !ok || root.Kind() != canonical.Object {
		return nil, nil, false
	}
	proposed = map[string]bool{}
	out = object(nil, root, func(dst []byte, key string, v canonical.Value) []byte {
		if key != "paths" || v.Kind() != canonical.Object {
			return v.AppendCompact(dst)
		}
		return object(dst, v, func(dst []byte, path string, item canonical.Value) []byte {
			item = follow(root, item)
			if item.Kind() != canonical.Object {
				return item.AppendCompact(dst)
			}
			return object(dst, item, func(dst []byte, method string, op canonical.Value) []byte {
				if !isMethod(method) || op.Kind() != canonical.Object {
					return op.AppendCompact(dst)
				}
				return enable(dst, op, proposedScope(method, path), func() { proposed[strings.ToUpper(method)+" "+path] = true })
			})
		})
	})
	return out, proposed, true
}

// object writes an object whose values go through write.
func object(dst []byte, v canonical.Value, write func(dst []byte, key string, v canonical.Value) []byte) []byte {
	dst = append(dst, '{')
	first := true
	for key, member := range v.Members() {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(canonical.AppendString(dst, key), ':')
		dst = write(dst, key, member)
	}
	return append(dst, '}')
}

const extensionKey = "x-agent-capability"

// enable writes an operation that is enabled. An extension that is no object stays, for compiling to report.
func enable(dst []byte, op canonical.Value, scope string, propose func()) []byte {
	extension, has := op.Get(extensionKey)
	dst = object(dst, op, func(dst []byte, key string, v canonical.Value) []byte {
		if key != extensionKey || v.Kind() != canonical.Object {
			return v.AppendCompact(dst)
		}
		return switchOn(dst, v)
	})
	if has && extension.Kind() != canonical.Invalid {
		return dst
	}
	propose()
	dst = dst[:len(dst)-1]
	if op.Len() > 0 {
		dst = append(dst, ',')
	}
	dst = append(dst, `"`+extensionKey+`":{"version":1,"enabled":true,"scope":`...)
	return append(canonical.AppendString(dst, scope), '}', '}')
}

// switchOn writes x-agent-capability with enabled: true.
func switchOn(dst []byte, extension canonical.Value) []byte {
	dst = object(dst, extension, func(dst []byte, key string, v canonical.Value) []byte {
		if key == "enabled" {
			return append(dst, "true"...)
		}
		return v.AppendCompact(dst)
	})
	if _, has := extension.Get("enabled"); has {
		return dst
	}
	dst = dst[:len(dst)-1]
	if extension.Len() > 0 {
		dst = append(dst, ',')
	}
	return append(dst, `"enabled":true}`...)
}

// proposedScope is the first named segment of the path, and what the method does: orders.read.
func proposedScope(method, path string) string {
	name := "api"
	for segment := range strings.SplitSeq(path, "/") {
		if word := scopeWord(segment); word != "" && !strings.HasPrefix(segment, "{") {
			name = word
			break
		}
	}
	if strings.EqualFold(method, "get") || strings.EqualFold(method, "head") {
		return name + ".read"
	}
	return name + ".write"
}

// scopeWord keeps the letters and digits of a segment; "" for a version such as v2.
func scopeWord(segment string) string {
	word := strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r == '-', r == '_':
			return r
		case 'A' <= r && r <= 'Z':
			return r + 'a' - 'A'
		}
		return -1
	}, segment)
	if len(word) > 1 && word[0] == 'v' && strings.Trim(word[1:], "0123456789") == "" {
		return ""
	}
	return word[:min(len(word), 64)]
}
