package registry

import (
	"errors"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"bailing/shared/textlimit"
)

// CheckAuthorizeURL decides whether raw may be a client's agent_authorize_url (agent §2.2): https, or http to the literal
// 127.0.0.1 or [::1] with an explicit port; at most 2048 characters, no user info, no fragment. It judges the raw text: browsers
// repair what Go's parser refuses or reads in another way, and a person's browser is what opens the address. The hub itself
// never requests it. Its error completes "agent_authorize_url ".
func CheckAuthorizeURL(raw string) error {
	if !textlimit.Fits(raw, maxURL) {
		return errors.New("must have at most 2048 characters")
	}
	if strings.ContainsFunc(raw, func(r rune) bool {
		return unicode.IsControl(r) || unicode.IsSpace(r) || r == '\\' || r == unicode.ReplacementChar
	}) {
		return errors.New("must not contain spaces, control characters or backslashes")
	}
	if strings.Contains(raw, "#") {
		return errors.New("must not have a fragment")
	}
	u, err := url.Parse(raw)
	if err != nil {
		return errors.New("is not a URL")
	}
	scheme, rest, found := strings.Cut(raw, "://")
	authority := rest
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		authority = rest[:i]
	}
	switch {
	case !found || u.Opaque != "" || u.Hostname() == "" || authority == "":
		return errors.New("must be an absolute URL with a host")
	case u.User != nil || strings.Contains(authority, "@"):
		return errors.New("must not have user info")
	case strings.EqualFold(scheme, "https"):
		if strings.HasSuffix(authority, ":") || u.Port() != "" && !validPort(u.Port()) {
			return errors.New("has no valid port")
		}
		return nil
	}
	port, loopback := loopbackPort(authority)
	if scheme != "http" || !loopback {
		return errors.New("must be https, or http to 127.0.0.1 or [::1] with a port")
	}
	if !validPort(port) {
		return errors.New("needs an explicit port from 1 to 65535")
	}
	return nil
}

// loopbackPort is what follows a literal loopback host.
func loopbackPort(authority string) (port string, loopback bool) {
	for _, host := range []string{"127.0.0.1", "[::1]"} {
		if after, ok := strings.CutPrefix(authority, host); ok && (after == "" || after[0] == ':') {
			return strings.TrimPrefix(after, ":"), true
		}
	}
	return "", false
}

// validPort reports whether s is a decimal port: digits alone, 1 to 65535.
func validPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0 && s[0] != '+'
}

// authorizeURL is an optional member that CheckAuthorizeURL admits; "" when absent.
func (o *object) authorizeURL(name string) string {
	s := o.text(name, 0)
	if s == "" || o.err != nil {
		return ""
	}
	if err := CheckAuthorizeURL(s); err != nil {
		o.fail(name, "%s", err.Error())
	}
	return s
}
