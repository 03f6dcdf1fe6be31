package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"bailing/shared/apierr"
	"bailing/shared/canonical"
	"bailing/shared/textlimit"
)

// Bounds of core §5.1.
const (
	defaultMaxCalls = 5
	maxMaxCalls     = 50
)

// maxSources keeps the transaction that saves a route, with everything that the route refers to, below the store's limit of a
// hundred parts.
const maxSources = 64

// legacyTools are the members of an older, flat form. Accepting them silently would attach no tools.
var legacyTools = []string{"provider", "allow", "subject_field", "send_channels", "approver", "source"}

func (o *object) tools(name string) *RouteTools {
	v, ok := o.get(name)
	if !ok {
		return nil
	}
	c := o.child(name, v)
	for _, key := range legacyTools {
		if _, ok := c.get(key); ok {
			c.fail(key, "belongs to an older form; use sources, max_calls and approval")
		}
	}
	t := &RouteTools{
		MaxCalls:    c.integer("max_calls", defaultMaxCalls, 1, maxMaxCalls),
		Approval:    c.approval("approval"),
		AgentDirect: c.agentDirect("agent_direct"),
	}
	// Without the member a route attaches no tools; an empty list is more likely a mistake than a wish.
	if _, given := c.get("sources"); given {
		if t.Sources = c.sources("sources"); len(t.Sources) == 0 {
			c.fail("sources", "must be a list with at least one source; leave it out for none")
		}
	}
	c.refuse("builtin")
	o.adopt(c.open())
	for _, key := range c.rest() {
		if t.Rest == nil {
			t.Rest = map[string]json.RawMessage{}
		}
		t.Rest[key] = c.members[key].AppendCompact(nil)
	}
	return t
}

// sources is a required list of sources, which may be empty.
func (o *object) sources(name string) []ToolSource {
	v, ok := o.get(name)
	if !ok || v.Kind() != canonical.Array || v.Len() > maxSources {
		o.fail(name, "must be a list of at most %d sources", maxSources)
		return nil
	}
	var out []ToolSource
	seen := map[string]bool{}
	for i, e := range v.Elems() {
		c := o.child(fmt.Sprintf("%s[%d]", name, i), e)
		s := ToolSource{
			Provider:     c.resourceName("provider"),
			Allow:        c.allow("allow"),
			SubjectField: c.text("subject_field", maxSession),
		}
		if seen[s.Provider] {
			c.fail("provider", "%s appears twice; put its scopes into one allow list", s.Provider)
		}
		seen[s.Provider] = true
		c.refuse("retrieval")
		o.adopt(c.done())
		if o.err != nil {
			return nil
		}
		out = append(out, s)
	}
	return out
}

// allow is a scope allowlist (core §4.7). An entry with a wildcard anywhere else would never match anything.
func (o *object) allow(name string) []string {
	list := o.strings(name)
	if len(list) == 0 {
		o.fail(name, `must have at least one scope, "prefix.*" or "*"`)
	}
	for _, entry := range list {
		prefix, wild := strings.CutSuffix(entry, ".*")
		if strings.Contains(prefix, "*") && entry != "*" || wild && prefix == "" {
			o.fail(name, `may use the wildcard only as "*" or at the end of "prefix.*"`)
		}
	}
	return list
}

// approval is how people hear of a pending approval (core §5.1, §6.4).
func (o *object) approval(name string) json.RawMessage {
	v, ok := o.get(name)
	if !ok {
		return nil
	}
	c := o.child(name, v)
	c.integer("expires_in_s", defaultApprovalExpiry, minApprovalExpiry, maxApprovalExpiry)
	kind := c.name("type", maxName)
	url := c.url("url")
	switch kind {
	case "business_webhook", "approval_webhook", "webhook":
		if url == "" {
			c.fail("url", "is required for the type %s", kind)
		}
		c.recipients("to")
	default:
		if c.recipients("to") == 0 {
			c.fail("to", "is required for the type %s", kind)
		}
		if !textlimit.ResourceName(kind + "-notify") {
			c.fail("type", "must be a webhook type, or X for the executor target X-notify")
		}
	}
	o.adopt(c.done())
	return v.AppendCompact(nil)
}

// Bounds of tools.approval.expires_in_s, in seconds (D9).
const (
	defaultApprovalExpiry = 604_800
	minApprovalExpiry     = 60
	maxApprovalExpiry     = 31_104_000
)

// ApprovalExpiry is how long a ticket of the route waits for a person (D9): expires_in_s, seven days by default, and between a
// minute and 360 days whatever an older release stored.
func (t *RouteTools) ApprovalExpiry() time.Duration {
	var a struct {
		ExpiresInS int64 `json:"expires_in_s"`
	}
	seconds := int64(defaultApprovalExpiry)
	if t != nil && json.Unmarshal(t.Approval, &a) == nil && a.ExpiresInS != 0 {
		seconds = min(max(a.ExpiresInS, minApprovalExpiry), maxApprovalExpiry)
	}
	return time.Duration(seconds) * time.Second
}

// maxRecipients is how many people one message may go to (core §2.5).
const maxRecipients = 1000

// recipients is a list of names, or one text of names with "|" between them; it returns how many there are.
func (o *object) recipients(name string) int {
	v, ok := o.get(name)
	if !ok {
		return 0
	}
	var list []string
	if v.Kind() == canonical.Array {
		list = o.strings(name)
	} else {
		for _, s := range strings.Split(o.text(name, 0), "|") {
			if !textlimit.Blank(s) {
				list = append(list, s)
			}
		}
	}
	if len(list) > maxRecipients {
		o.fail(name, "must have at most %d recipients", maxRecipients)
	}
	return len(list)
}

// references are the providers of the sources.
func (t *RouteTools) references() []Reference {
	if t == nil {
		return nil
	}
	refs := make([]Reference, len(t.Sources))
	for i, src := range t.Sources {
		refs[i] = Reference{KindProvider, src.Provider}
	}
	return refs
}

// checkSources refuses unknown providers and warns of tools that two providers of the route have in common: such a route
// gets no tools at all when a job runs (core §4.6).
func (s *Service) checkSources(ctx context.Context, t *RouteTools) (warnings []string, err error) {
	if t == nil {
		return nil, nil
	}
	owner := map[string]string{}
	for _, src := range t.Sources {
		v, err := s.o.Store.Providers().Get(ctx, src.Provider)
		if err != nil {
			return nil, err
		}
		if v == nil {
			return nil, apierr.Newf(apierr.Invalid, "unknown tool provider: %s (save it under tool-providers first)", src.Provider)
		}
		if len(t.Sources) == 1 {
			return nil, nil
		}
		catalog, err := LoadCatalog(ctx, s.o.Store, &v.Value)
		if err != nil {
			return nil, err
		}
		if catalog != nil {
			warnings = append(warnings, takeNames(owner, src, catalog)...)
			warnings = warnings[:min(len(warnings), maxClashes)]
		}
	}
	return warnings, nil
}

// MarshalJSON writes the members of Rest beside the known ones.
func (t RouteTools) MarshalJSON() ([]byte, error) {
	type known RouteTools
	b, err := json.Marshal(known(t))
	if err != nil || len(t.Rest) == 0 {
		return b, err
	}
	b = b[:len(b)-1]
	for _, key := range slices.Sorted(maps.Keys(t.Rest)) {
		b = append(b, ',')
		b = canonical.AppendString(b, key)
		b = append(b, ':')
		b = append(b, t.Rest[key]...)
	}
	return append(b, '}'), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (t *RouteTools) UnmarshalJSON(data []byte) error {
	type known RouteTools
	var k known
	if err := json.Unmarshal(data, &k); err != nil {
		return err
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	for _, key := range []string{"sources", "max_calls", "approval", "agent_direct"} {
		delete(all, key)
	}
	if len(all) > 0 {
		k.Rest = all
	}
	*t = RouteTools(k)
	return nil
}
