package textlimit

import "strings"

// class is a set of ASCII characters.
type class [4]uint32

func newClass(chars string) (c class) {
	for i := range len(chars) {
		c[chars[i]>>5] |= 1 << (chars[i] & 31)
	}
	return c
}

func (c *class) has(b byte) bool { return b < 0x80 && c[b>>5]&(1<<(b&31)) != 0 }

const (
	digit = "0123456789"
	lower = "abcdefghijklmnopqrstuvwxyz"
	upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

var (
	lowerDigit = newClass(lower + digit)
	slug       = newClass(lower + digit + "_-")
	alnum      = newClass(lower + upper + digit)
	keyChars   = newClass(lower + upper + digit + "_.:-")
	wordStart  = newClass(lower + upper + "_")
	word       = newClass(lower + upper + digit + "_")
	lowerHex   = newClass(digit + "abcdef")
	anyHex     = newClass(digit + "abcdefABCDEF")
)

// matches reports whether s has min to max characters, the first in head and the others in tail.
func matches(s string, min, max int, head, tail *class) bool {
	if len(s) < min || len(s) > max || !head.has(s[0]) {
		return false
	}
	for i := 1; i < len(s); i++ {
		if !tail.has(s[i]) {
			return false
		}
	}
	return true
}

// ResourceName reports whether s matches ^[a-z0-9][a-z0-9_-]{1,63}$ (core §10.4): names of clients, providers,
// targets and other configuration objects.
func ResourceName(s string) bool { return matches(s, 2, 64, &lowerDigit, &slug) }

// ClientRoute reports whether s is a route key that a client may call: the form of [ResourceName] (core §1.1). The word
// "auto" has that form; see [AgentRoute].
func ClientRoute(s string) bool { return ResourceName(s) }

// AgentRoute is [ClientRoute] without "auto" (agent §1.4, ROUTE).
func AgentRoute(s string) bool { return ResourceName(s) && s != "auto" }

// RouteKey reports whether s matches ^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}$: route keys as an administrator may name them
// (core §10.4).
func RouteKey(s string) bool { return matches(s, 1, 128, &alnum, &keyChars) }

// MessageID reports whether s, already trimmed, is a conversation, turn or message id (agent §1.4, MSGID): the form of
// [RouteKey].
func MessageID(s string) bool { return RouteKey(s) }

// ToolName reports whether s matches ^[A-Za-z_][A-Za-z0-9_]{0,63}$ (core §4.6, agent §1.4 TOOL).
func ToolName(s string) bool { return matches(s, 1, 64, &wordStart, &word) }

// UUID reports whether s is a UUID of version 1 to 5 in the usual grouping, in any case (agent §1.4, D46).
func UUID(s string) bool {
	if len(s) != 36 || s[14] < '1' || s[14] > '5' || strings.IndexByte("89abAB", s[19]) < 0 {
		return false
	}
	for i := range len(s) {
		switch i {
		case 8, 13, 18, 23:
			if s[i] != '-' {
				return false
			}
		default:
			if !anyHex.has(s[i]) {
				return false
			}
		}
	}
	return true
}

// NormalizeUUID is s in lower case, and whether s is a [UUID] at all; otherwise "".
func NormalizeUUID(s string) (string, bool) {
	if !UUID(s) {
		return "", false
	}
	return strings.ToLower(s), true
}

// Hex64 reports whether s is 64 lower-case hexadecimal digits: hashes, revisions, invocation ids (agent §1.4, D46).
func Hex64(s string) bool { return matches(s, 64, 64, &lowerHex, &lowerHex) }

// Hex32 reports whether s is 32 lower-case hexadecimal digits: client and executor tokens (core §0.2).
func Hex32(s string) bool { return matches(s, 32, 32, &lowerHex, &lowerHex) }
