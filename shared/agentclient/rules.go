package agentclient

import (
	"errors"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"bailing/shared/textlimit"
)

// Limits of agent §13.1 and §13.2.
const (
	maxAnswer           = 1 << 20 // bytes
	maxToken            = 8192
	minToken            = 40
	maxAuthorizationURL = 4096
	maxAuthorization    = 3600     // seconds that a request for consent may last
	maxAccessLife       = 2678400  // seconds
	maxRefreshLife      = 31622400 // seconds
	maxOnBehalfOf       = 256
	maxRoute            = 64
	maxDevice           = 128
	maxRoutes           = 64
	maxDisplayName      = 120
)

// Prefixes of tokens and codes (agent §1.2).
const (
	accessPrefix  = "bha_"
	refreshPrefix = "bhr_"
	codePrefix    = "bhc_"
)

// credential reports whether s is a token or code with a prefix: long enough, not too long, and nothing in it that a header
// could not carry.
func credential(s, prefix string) bool {
	return strings.HasPrefix(s, prefix) && len(s) >= minToken && len(s) <= maxToken &&
		!strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// strange reports whether raw has characters with which two readers could see two URLs.
func strange(raw string) bool {
	return !utf8.ValidString(raw) || strings.ContainsFunc(raw, func(r rune) bool {
		return unicode.IsControl(r) || unicode.IsSpace(r) || r == '\\'
	})
}

// loopback reports whether host is 127.0.0.1 or [::1], written so.
func loopback(host string) bool { return host == "127.0.0.1" || host == "::1" }

func validPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0
}

// checkAuthorizationURL decides whether a browser may be sent to raw (agent §13.2): https, or http on 127.0.0.1 or [::1] with a
// port; no user info, at most 4096 characters. Its error completes "authorization_url ".
func checkAuthorizationURL(raw string) error {
	if !textlimit.Fits(raw, maxAuthorizationURL) {
		return errors.New("has at most 4096 characters")
	}
	if strange(raw) {
		return errors.New("has no spaces, control characters or backslashes")
	}
	u, err := url.Parse(raw)
	if err != nil || u.Opaque != "" || u.Hostname() == "" {
		return errors.New("is an absolute URL")
	}
	if u.User != nil || strings.Contains(u.Host, "@") {
		return errors.New("has no user info")
	}
	if u.Port() != "" && !validPort(u.Port()) || strings.HasSuffix(u.Host, ":") {
		return errors.New("has a port from 1 to 65535, if any")
	}
	if u.Scheme == "https" {
		return nil
	}
	if u.Scheme != "http" || !loopback(u.Hostname()) || u.Port() == "" {
		return errors.New("is https, or http on 127.0.0.1 or [::1] with a port")
	}
	return nil
}

// CheckHubURL decides whether raw may be the address of a hub, and returns it without slashes at its end: https, or http on
// 127.0.0.1 or [::1]; no user info, query or fragment. Tokens are sent there.
func CheckHubURL(raw string) (string, error) {
	if strange(raw) || len(raw) > maxAuthorizationURL {
		return "", errors.New("the address of the hub has spaces, control characters or backslashes, or is too long")
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Opaque != "" || u.Hostname() == "":
		return "", errors.New("the address of the hub is no absolute URL, such as https://hub.example")
	case u.User != nil:
		return "", errors.New("the address of the hub has user info")
	case strings.ContainsAny(raw, "?#"):
		return "", errors.New("the address of the hub has a query or a fragment")
	case u.Port() != "" && !validPort(u.Port()) || strings.HasSuffix(u.Host, ":"):
		return "", errors.New("the address of the hub has no valid port")
	case u.Scheme == "https":
	case u.Scheme != "http":
		return "", errors.New("the address of the hub begins with https://")
	case u.Hostname() == "localhost":
		return "", errors.New("the address of the hub is http: write 127.0.0.1 in place of localhost, which may be any machine")
	case !loopback(u.Hostname()):
		return "", errors.New("the address of the hub is http, which others can read: https is needed, except on 127.0.0.1 and [::1]")
	}
	if a, err := netip.ParseAddr(u.Hostname()); err == nil && a.Zone() != "" {
		return "", errors.New("the address of the hub has a zone")
	}
	return strings.TrimRight(raw, "/"), nil
}

// errorCode reports whether s has the form of an error code.
func errorCode(s string) bool {
	if s == "" || len(s) > 64 {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_'
	})
}

// displayName is the rule of names for people (agent §2.13).
func displayName(s string) bool {
	trimmed := textlimit.Trim(s)
	return trimmed != "" && textlimit.Fits(trimmed, maxDisplayName) && !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) || r == '\u2028' || r == '\u2029'
	})
}

// plainText reports whether s has 1 to max characters, and no control character.
func plainText(s string, max int) bool {
	return s != "" && textlimit.Fits(s, max) && !strings.ContainsFunc(s, unicode.IsControl)
}

// parseTime reads the form of agent §1.5, with or without a fraction.
func parseTime(s string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339, s)
	return t.UTC(), err == nil
}
