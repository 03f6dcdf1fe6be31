package audience

import (
	"slices"
	"strings"
	"unicode/utf8"

	"bailing/shared/canonical"
	"bailing/shared/textlimit"
)

// Caps of a principal, in characters (core §1.3).
const (
	maxID        = 128
	maxTenant    = 128
	maxRole      = 64
	maxAudience  = 64
	maxLedgerKey = 191
)

// Principal is on whose behalf a request is made (core §1.3). Without an ID it is nobody: then only the members that the hub
// itself knows, Channel and ClientAppID, may be set.
type Principal struct {
	ID          string   `json:"id"`
	Tenant      string   `json:"tenant,omitempty"`
	Roles       []string `json:"roles"`
	Audience    string   `json:"audience,omitempty"`
	Channel     string   `json:"channel,omitempty"` // where the request came in; metadata cannot say it
	ClientAppID string   `json:"client_app_id,omitempty"`
}

// Known reports whether the principal names somebody.
func (p Principal) Known() bool { return p.ID != "" }

// LedgerKey names the principal in the conversation ledger: `t:<tenant>|p:<id>`, or `p:<id>` without a tenant, cut to 191
// characters; "" for nobody (core §1.3).
func (p Principal) LedgerKey() string {
	switch {
	case !p.Known():
		return ""
	case p.Tenant == "":
		return textlimit.Cut("p:"+p.ID, maxLedgerKey)
	}
	return textlimit.Cut("t:"+p.Tenant+"|p:"+p.ID, maxLedgerKey)
}

// Where each attribute may stand: members of an object under one of these names, or members of metadata itself. The first hit
// wins (core §1.3).
var (
	objects = []string{"principal", "subject", "operator"}

	nestedID       = []string{"id", "principal_id", "user_id", "uid", "openid", "userid"}
	flatID         = []string{"principal_id", "principal", "subject", "user_id", "uid", "operator_id", "wecom_userid", "visitor_uid"}
	tenantNames    = []string{"tenant", "tenant_id", "org_id", "workspace_id"}
	roleNames      = []string{"roles", "role"}
	nestedAudience = []string{"audience", "kind", "type"}
	flatAudience   = []string{"audience", "principal_type", "user_type"}
)

// Resolve is the principal that the metadata of a request names, submitted by the client appID ("" for an administrator).
//
// Only the first object among `principal`, `subject` and `operator` is read, so that one person's id never meets another one's
// roles; members of metadata itself fill what it leaves out. Texts are trimmed; a number counts as the text that it is written
// as. Over-long values are cut, as the contract's caps say: flat members such as `subject` often hold ordinary text that must
// not fail a request. A text with half a surrogate pair is none: it is kept nowhere, and two such ids would become one. Metadata
// without an id names nobody, whatever roles it has.
func Resolve(metadata canonical.Value, appID string) Principal {
	var nested canonical.Value
	for _, name := range objects {
		if v, ok := metadata.Get(name); ok && v.Kind() == canonical.Object {
			nested = v
			break
		}
	}
	p := Principal{ID: attribute(nested, nestedID, metadata, flatID, maxID), Roles: []string{}, ClientAppID: appID}
	if !p.Known() {
		return p
	}
	p.Tenant = attribute(nested, tenantNames, metadata, tenantNames, maxTenant)
	p.Audience = attribute(nested, nestedAudience, metadata, flatAudience, maxAudience)
	for _, o := range []canonical.Value{nested, metadata} {
		if roles := rolesIn(o); len(roles) > 0 {
			p.Roles = roles
			break
		}
	}
	return p
}

// attribute is the first text under one of the names, in the object before metadata; at most max characters of it.
func attribute(nested canonical.Value, nestedNames []string, flat canonical.Value, flatNames []string, max int) string {
	s := textIn(nested, nestedNames)
	if s == "" {
		s = textIn(flat, flatNames)
	}
	return textlimit.Cut(s, max)
}

func textIn(object canonical.Value, names []string) string {
	for _, name := range names {
		v, _ := object.Get(name)
		switch v.Kind() {
		case canonical.String:
			if s := textlimit.Trim(v.Text()); s != "" && utf8.ValidString(s) {
				return s
			}
		case canonical.Number:
			return v.Number()
		}
	}
	return ""
}

func rolesIn(object canonical.Value) []string {
	for _, name := range roleNames {
		v, _ := object.Get(name)
		if roles := rolesOf(v); len(roles) > 0 {
			return roles
		}
	}
	return nil
}

// rolesOf reads an array, of which only strings count, or a comma-separated string.
func rolesOf(v canonical.Value) (roles []string) {
	var found []string
	switch v.Kind() {
	case canonical.String:
		found = strings.Split(v.Text(), ",")
	case canonical.Array:
		for _, e := range v.Elems() {
			found = append(found, e.Text())
		}
	}
	for _, s := range found {
		if s = textlimit.Trim(s); s != "" && utf8.ValidString(s) {
			roles = append(roles, textlimit.Cut(s, maxRole))
		}
	}
	return slices.Clip(roles)
}
