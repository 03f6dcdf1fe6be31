package agentsession

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"bailing/shared/textlimit"
)

// maxRedirect is the length of a redirect_uri, in characters (agent §2.2).
const maxRedirect = 2048

// IsLoopback reports whether raw may be a redirect_uri (agent §2.2): http, literally 127.0.0.1 or [::1], an explicit decimal port
// from 1 to 65535, then nothing, a path or a query; no user info, no fragment, at most 2048 characters. It judges the raw text,
// because browsers read an address otherwise than any parser of ours. White space, control characters and backslashes are
// refused as well: browsers repair them, and an answer header that repeats the address would be cut in two.
func IsLoopback(raw string) bool {
	if !utf8.ValidString(raw) || !textlimit.Fits(raw, maxRedirect) || strings.ContainsFunc(raw, repaired) {
		return false
	}
	rest, ok := strings.CutPrefix(raw, "http://127.0.0.1:")
	if !ok {
		if rest, ok = strings.CutPrefix(raw, "http://[::1]:"); !ok {
			return false
		}
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(rest)
	}
	port, err := strconv.ParseUint(rest[:end], 10, 16)
	if err != nil || port == 0 || end > len("65535") {
		return false
	}
	return end == len(rest) || rest[end] == '/' || rest[end] == '?'
}

// repaired tells the characters that no address may hold as they are; # would begin a fragment.
func repaired(r rune) bool {
	return unicode.IsControl(r) || unicode.IsSpace(r) || r == '\\' || r == '#' || r == utf8.RuneError || r == 0x2028 || r == 0x2029 || r == 0xFEFF
}

// authorizationURL is the client's page with the id of the request; an authorization_id that was there is replaced (agent §2.2).
func authorizationURL(page, id string) string {
	return withQuery(page, func(q []pair) []pair { return setParam(q, "authorization_id", id) })
}

// redirectTo is the redirect of a decision (agent §2.4): other parameters survive, an old code or error does not. name is "code" or
// "error".
func redirectTo(redirectURI, name, value, state string) string {
	return withQuery(redirectURI, func(q []pair) []pair {
		q = dropParam(dropParam(q, "code"), "error")
		return setParam(setParam(q, name, value), "state", state)
	})
}

// withQuery changes the query of an address that has no fragment. An empty path becomes "/", as browsers write it.
func withQuery(raw string, change func([]pair) []pair) string {
	base, query, _ := strings.Cut(raw, "?")
	scheme, rest, _ := strings.Cut(base, "://")
	authority, path, _ := strings.Cut(rest, "/")
	return scheme + "://" + authority + "/" + escapePath(path) + "?" + formatQuery(change(parseQuery(query)))
}

// escapePath writes the characters that browsers escape in a path; escapes that are there stay.
func escapePath(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || strings.IndexByte("\"<>`{}^", c) >= 0 {
			escapeByte(&b, c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
