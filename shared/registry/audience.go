package registry

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"bailing/shared/audience"
	"bailing/shared/canonical"
	"bailing/shared/textlimit"
)

// Lengths of the entries of an audience policy, in characters: those of the values that they are compared with (core §1.3).
const (
	maxAudienceText  = 128 // of keywords, too
	maxAudienceShort = 64
)

// audience reads the audience policy of a route (core §1.3). Every member is optional; none is guessed.
func (o *object) audience(name string) *audience.Policy {
	v, ok := o.get(name)
	if !ok {
		return nil
	}
	c := o.child(name, v)
	p := &audience.Policy{
		Enabled:    c.optionalBool("enabled"),
		Anonymous:  c.optionalBool("anonymous"),
		Clients:    c.words("clients", maxAudienceText),
		Channels:   c.words("channels", maxAudienceText),
		Tenants:    c.words("tenants", maxAudienceText),
		Roles:      c.words("roles", maxAudienceShort),
		Principals: c.words("principals", maxAudienceText),
		Audiences:  c.words("audiences", maxAudienceShort),
		Auto:       c.optionalBool("auto"),
		Keywords:   c.words("keywords", maxAudienceText),
	}
	if _, ok := c.get("priority"); ok {
		n := c.integer("priority", 0, audience.MinPriority, audience.MaxPriority)
		p.Priority = &n
	}
	o.adopt(c.done())
	return p
}

func (o *object) optionalBool(name string) *bool {
	if _, ok := o.get(name); !ok {
		return nil
	}
	b := o.boolean(name, false)
	return &b
}

// words is a list of at most [audience.MaxEntries] words; nil when absent. A word that stands there twice is kept once. Spaces
// around a word and control characters are refused: the values that it is compared with are trimmed, so it could never match.
func (o *object) words(name string, max int) []string {
	v, ok := o.get(name)
	if !ok {
		return nil
	}
	if v.Kind() != canonical.Array {
		o.fail(name, "must be a list of strings")
		return nil
	}
	if v.Len() > audience.MaxEntries {
		o.fail(name, "must have at most %d entries", audience.MaxEntries)
		return nil
	}
	out := []string{}
	for _, e := range v.Elems() {
		if err := checkWord(e, max); err != nil {
			o.fail(name, "%s", err.Error())
			return nil
		}
		if !slices.Contains(out, e.Text()) {
			out = append(out, e.Text())
		}
	}
	return out
}

func checkWord(v canonical.Value, max int) error {
	w := v.Text()
	switch err := textlimit.Strict(w, max); {
	case v.Kind() != canonical.String || textlimit.Blank(w):
		return errors.New("must be a list of strings that are not blank")
	case errors.Is(err, textlimit.ErrTooLong):
		return fmt.Errorf("must have entries of at most %d characters", max)
	case err != nil, textlimit.Trim(w) != w, strings.ContainsAny(w, "\t\r\n"), !utf8.ValidString(w):
		return errors.New("must have entries of valid Unicode, without control characters and without spaces around them")
	}
	return nil
}

// AutoRoutes is what the choice of `route: "auto"` needs of the routes, for a client; nil is an administrator, who may use every
// route. A client may use what its allowlist holds and it could also name itself (core §1.1); a disabled one nothing.
func AutoRoutes(routes []Route, client *Client) []audience.Route {
	out := make([]audience.Route, len(routes))
	for i := range routes {
		r := &routes[i]
		allowed := client == nil || client.Enabled && client.MayUse(r.RouteKey) && textlimit.AgentRoute(r.RouteKey)
		out[i] = audience.Route{Key: r.RouteKey, Name: r.Name, Enabled: r.Enabled, Allowed: allowed, Policy: r.Audience}
	}
	return out
}
