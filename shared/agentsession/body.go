package agentsession

import (
	"slices"
	"strings"
	"unicode/utf8"

	"bailing/shared/apierr"
	"bailing/shared/canonical"
	"bailing/shared/textlimit"
)

// Bounds of members, in characters and entries (agent §2.2, §2.4, §2.13).
const (
	minState      = 8
	maxState      = 512
	maxRoutes     = 64
	maxDevice     = 128
	maxPrincipal  = 128
	maxTenant     = 128
	maxRoles      = 64
	maxRole       = 64
	maxAudience   = 64
	maxChannel    = 128
	maxOnBehalfOf = 191
	maxDisplay    = 120
)

func invalidRequest() error { return apierr.New(apierr.Invalid, "invalid_request") }

// body reads the members of an object. The first rule that breaks makes it bad; which one, no answer tells.
type body struct {
	members map[string]canonical.Value
	bad     bool
}

// readBody admits an object with members of these names only.
func readBody(v canonical.Value, names ...string) *body {
	b := &body{members: map[string]canonical.Value{}, bad: v.Kind() != canonical.Object}
	for name, m := range v.Members() {
		if !slices.Contains(names, name) {
			b.bad = true
		}
		b.members[name] = m
	}
	return b
}

// err is nil when no rule was broken.
func (b *body) err() error {
	if b.bad {
		return invalidRequest()
	}
	return nil
}

func (b *body) require(ok bool) {
	if !ok {
		b.bad = true
	}
}

// text is a required string of characters that can be stored.
func (b *body) text(name string) string {
	s, ok := textOf(b.members[name])
	b.require(ok)
	return s
}

// textOf is a string; one with a lone surrogate is no text that can be stored or sent on.
func textOf(v canonical.Value) (string, bool) {
	if v.Kind() != canonical.String {
		return "", false
	}
	s := v.Text()
	return s, utf8.ValidString(s)
}

// trimmed is a required string of 1 to max characters after trimming.
func (b *body) trimmed(name string, max int) string {
	s := textlimit.Trim(b.text(name))
	b.require(s != "" && textlimit.Fits(s, max))
	return s
}

// optional is a string of at most max characters after trimming; "" when absent, null or empty.
func (b *body) optional(name string, max int) string {
	if k := b.members[name].Kind(); k == canonical.Invalid || k == canonical.Null {
		return ""
	}
	s := textlimit.Trim(b.text(name))
	b.require(textlimit.Fits(s, max))
	return s
}

// routes is a list of 1 to 64 different routes; "auto" is none (agent §2.2).
func (b *body) routes(name string) (list []string) {
	v := b.members[name]
	b.require(v.Kind() == canonical.Array && v.Len() >= 1 && v.Len() <= maxRoutes)
	if b.bad {
		return nil
	}
	for _, e := range v.Elems() {
		s, ok := textOf(e)
		s = textlimit.Trim(s)
		b.require(ok && textlimit.AgentRoute(s) && !slices.Contains(list, s))
		list = append(list, s)
	}
	return list
}

// request is a checked body of agent §2.2.
func parseRequest(v canonical.Value) (Authorization, error) {
	b := readBody(v, "client_app_id", "redirect_uri", "state", "requested_routes", "device_label", "code_challenge", "code_challenge_method")
	a := Authorization{
		ClientAppID:     textlimit.Trim(b.text("client_app_id")),
		RedirectURI:     b.text("redirect_uri"),
		State:           b.text("state"),
		RequestedRoutes: b.routes("requested_routes"),
		DeviceLabel:     b.trimmed("device_label", maxDevice),
		Challenge:       b.text("code_challenge"),
	}
	b.require(textlimit.ResourceName(a.ClientAppID) && IsLoopback(a.RedirectURI) && isChallenge(a.Challenge))
	b.require(textlimit.Fits(a.State, maxState) && textlimit.Len(a.State) >= minState)
	b.require(b.text("code_challenge_method") == "S256")
	return a, b.err()
}

// parseGrant reads a body of agent §2.4.
func parseGrant(v canonical.Value) (Grant, error) {
	b := readBody(v, "principal", "on_behalf_of", "allowed_routes", "subject_display")
	p := readBody(b.members["principal"], "id", "tenant", "roles", "audience", "channel")
	g := Grant{
		Principal: Principal{
			ID: p.trimmed("id", maxPrincipal), Tenant: p.optional("tenant", maxTenant), Roles: p.roles("roles"),
			Audience: p.optional("audience", maxAudience), Channel: p.optional("channel", maxChannel),
		},
		OnBehalfOf: b.trimmed("on_behalf_of", maxOnBehalfOf),
		Routes:     b.routes("allowed_routes"),
	}
	b.require(!p.bad)
	if d, given := b.members["subject_display"]; given {
		g.Display = b.display(d)
	}
	return g, b.err()
}

// roles is a list of at most 64 different roles of 1 to 64 characters each, the first of equal ones kept. What is no list is an
// empty one.
func (b *body) roles(name string) []string {
	v := b.members[name]
	list := []string{}
	if v.Kind() != canonical.Array {
		return list
	}
	b.require(v.Len() <= maxRoles)
	for _, e := range v.Elems() {
		s, ok := textOf(e)
		s = textlimit.Trim(s)
		b.require(ok && s != "" && textlimit.Fits(s, maxRole))
		if b.bad {
			return list
		}
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// display is null, which is no name, or an object with a name alone (agent §2.13). The trimmed name is what is kept.
func (b *body) display(v canonical.Value) string {
	if v.Kind() == canonical.Null {
		return ""
	}
	d := readBody(v, "name")
	raw := d.text("name")
	name := textlimit.Trim(raw)
	b.require(!d.bad && isDisplay(raw, name))
	return name
}

// isDisplay reports whether a name may be shown: raw as it came, name trimmed. A stored name has to pass again to be shown.
func isDisplay(raw, name string) bool {
	return utf8.ValidString(raw) && name != "" && textlimit.Fits(name, maxDisplay) && !strings.ContainsFunc(raw, func(r rune) bool {
		return r < 0x20 || r >= 0x7F && r <= 0x9F || r == 0x2028 || r == 0x2029
	})
}

// parseDisplay reads a body of agent §2.13.
func parseDisplay(v canonical.Value) (string, error) {
	b := readBody(v, "subject_display")
	d, given := b.members["subject_display"]
	b.require(given)
	if b.bad {
		return "", b.err()
	}
	name := b.display(d)
	return name, b.err()
}
