package audience

import "slices"

// Reason is why a policy does not admit a request; "" when it does. The values are wire codes (core §1.3, D45).
type Reason string

// The reasons, in the order in which they are looked for.
const (
	Admitted          Reason = ""
	RequiresPrincipal Reason = "route_requires_principal"
	ClientRefused     Reason = "client_not_allowed"
	ChannelRefused    Reason = "channel_not_allowed"
	TenantRefused     Reason = "tenant_not_allowed"
	RoleRefused       Reason = "role_not_allowed"
	PrincipalRefused  Reason = "principal_not_allowed"
	AudienceRefused   Reason = "audience_not_allowed"
)

// Wildcard admits everything where it stands in a list, also what has no value.
const Wildcard = "*"

// Bounds of a policy (core §1.3).
const (
	MinPriority = -1000
	MaxPriority = 1000
	MaxEntries  = 100 // of each list
)

// Policy is the audience policy of a route (core §1.3). Every member is optional and keeps whether it was given, so that a
// policy reads as it was written.
type Policy struct {
	Enabled   *bool `json:"enabled,omitempty"`   // false: everybody is admitted
	Anonymous *bool `json:"anonymous,omitempty"` // see Admit

	Clients    []string `json:"clients,omitzero"` // app ids
	Channels   []string `json:"channels,omitzero"`
	Tenants    []string `json:"tenants,omitzero"`
	Roles      []string `json:"roles,omitzero"`
	Principals []string `json:"principals,omitzero"` // ids
	Audiences  []string `json:"audiences,omitzero"`

	// What makes the route a candidate of `route: "auto"` (core §1.4).
	Auto     *bool    `json:"auto,omitempty"`
	Priority *int     `json:"priority,omitempty"` // MinPriority to MaxPriority
	Keywords []string `json:"keywords,omitzero"`
}

// active reports whether the policy restricts anything.
func (l *Policy) active() bool { return l != nil && (l.Enabled == nil || *l.Enabled) }

// requester is a principal that is ready to be compared with many lists. A request may have some hundred thousand roles: looking
// through all of them for every entry of every route would cost its sender nothing.
type requester struct {
	Principal
	roles map[string]bool
}

func newRequester(p Principal) requester {
	r := requester{p, make(map[string]bool, len(p.Roles))}
	for _, role := range p.Roles {
		r.roles[role] = true
	}
	return r
}

// rule is one list of a policy with what it is compared with.
type rule struct {
	list     []string
	has      func(entry string) bool // whether the principal has this value
	refused  Reason
	personal bool // about the person rather than the way in
	positive string
}

func (l *Policy) rules(p requester) []rule {
	return []rule{
		{list: l.Clients, has: is(p.ClientAppID), refused: ClientRefused, positive: "client"},
		{list: l.Channels, has: is(p.Channel), refused: ChannelRefused},
		{list: l.Tenants, has: is(p.Tenant), refused: TenantRefused, personal: true, positive: "tenant"},
		{list: l.Roles, has: func(e string) bool { return p.roles[e] }, refused: RoleRefused, personal: true, positive: "role"},
		{list: l.Principals, has: is(p.ID), refused: PrincipalRefused, personal: true},
		{list: l.Audiences, has: is(p.Audience), refused: AudienceRefused, personal: true, positive: "audience"},
	}
}

// is compares with a value, which "" is not.
func is(value string) func(string) bool {
	return func(entry string) bool { return value != "" && entry == value }
}

// matched reports whether an entry of the list is a value of the principal, letter by letter.
func (r rule) matched() bool { return slices.ContainsFunc(r.list, r.has) }

// open reports whether the list asks nothing.
func (r rule) open() bool { return len(r.list) == 0 || slices.Contains(r.list, Wildcard) }

// Admit is why the policy does not admit the principal, or [Admitted]. No policy, and one with `enabled: false`, admit everybody.
// Otherwise every list that is not empty must contain "*" or a value of the principal (core §1.3, agent §3.1).
//
// `anonymous` says what holds for requests that name nobody. false: they are refused. true: they need no principal, and the lists
// decide; nobody has no tenant, role, id and audience, so that only "*" admits it. Not given: a principal is needed if one of the
// lists about persons (tenants, roles, principals, audiences) asks for a value, which nobody could have.
func (l *Policy) Admit(p Principal) Reason {
	return l.admit(newRequester(p))
}

func (l *Policy) admit(p requester) Reason {
	if !l.active() {
		return Admitted
	}
	rules := l.rules(p)
	if !p.Known() && l.needsPrincipal(rules) {
		return RequiresPrincipal
	}
	for _, r := range rules {
		if !r.open() && !r.matched() {
			return r.refused
		}
	}
	return Admitted
}

func (l *Policy) needsPrincipal(rules []rule) bool {
	if l.Anonymous != nil {
		return !*l.Anonymous
	}
	return slices.ContainsFunc(rules, func(r rule) bool { return r.personal && !r.open() })
}

// Routable reports whether the route takes part in `route: "auto"` (core §1.4), whether or not its lists are switched on.
func (l *Policy) Routable() bool { return l != nil && (l.auto() || len(l.Keywords) > 0) }

func (l *Policy) auto() bool { return l.Auto != nil && *l.Auto }
