package capability

import "strings"

// Allowed reports whether a route's allowlist admits scope (core §4.7). An entry is an exact scope, `prefix.*` for
// everything below prefix but not prefix itself, or `*`.
func Allowed(allow []string, scope string) bool {
	for _, entry := range allow {
		if entry == "*" || entry == scope {
			return true
		}
		if prefix, ok := strings.CutSuffix(entry, "*"); ok && strings.HasSuffix(prefix, ".") && strings.HasPrefix(scope, prefix) {
			return true
		}
	}
	return false
}
