package registry

import (
	"context"
	"encoding/json"
	"fmt"

	"bailing/shared/apierr"
	"bailing/shared/canonical"
	"bailing/shared/textlimit"
)

// Bounds and defaults of a route (core §10.4, §1.5).
const (
	defaultProfile   = "readonly"
	maxProfile       = 64
	maxPermission    = 64
	maxProject       = 128
	maxSession       = 191
	maxRetry         = 5
	minBackoffMS     = 500
	maxBackoffMS     = 300_000
	defaultBackoffMS = 5_000
	minRouteTimeout  = 1_000
)

// previewPath is the command that stands beside the keys of routes in paths. The gateway prefers it: a route of that key could be
// saved and never be deleted.
const previewPath = "auto-preview"

// RouteSaved is the answer to a saved route.
type RouteSaved struct {
	// Warnings name what was saved as asked and will probably not work as meant.
	Warnings []string
}

// RouteView is a route as lists show it.
type RouteView struct {
	Route
	Revision string `json:"revision"`
}

func (s *Service) decodeRoute(body canonical.Value) (Route, expectation, error) {
	o := readObject(body, "", s.o.CheckURL)
	r := Route{
		RouteKey:           o.routeKey("route_key"),
		Name:               o.name("name", maxName),
		Enabled:            o.boolean("enabled", true),
		Target:             o.resourceName("target"),
		Project:            o.text("project", maxProject),
		Profile:            o.text("profile", maxProfile),
		Permission:         o.text("permission", maxPermission),
		SessionPolicy:      o.sessionPolicy("session_policy"),
		SessionFixedID:     o.text("session_fixed_id", maxSession),
		SessionKeyField:    o.text("session_key_field", maxSession),
		DefaultCallbackURL: o.url("default_callback_url"),
		Description:        o.text("description", 0),
	}
	if r.Profile == "" {
		r.Profile = defaultProfile
	}
	if r.SessionPolicy == SessionFixed && textlimit.Blank(r.SessionFixedID) {
		o.fail("session_fixed_id", "is required with session_policy fixed")
	}
	if r.SessionPolicy == SessionPerKey && textlimit.Blank(r.SessionKeyField) {
		o.fail("session_key_field", "is required with session_policy per_key")
	}
	r.TargetConfig = o.targetConfig("target_config", r.Target == TargetLLM)
	r.Retry = o.retry("retry")
	r.Tools = o.tools("tools")
	r.Delivery = o.delivery("delivery")
	r.Audience = o.audience("audience")
	r.Budget = o.budget("budget")
	o.refuse("knowledge", "memory")
	r.AgentClient = o.agentClient("agent_client")
	expected := o.expectation()
	return r, expected, o.done()
}

func (o *object) routeKey(name string) string {
	s := o.name(name, 0)
	if o.err == nil && !textlimit.RouteKey(s) {
		o.fail(name, "must be 1 to 128 letters, digits, dots, colons, hyphens and underscores, and begin with a letter or digit")
	}
	if s == previewPath {
		o.fail(name, "must not be %s: below routes/ that is a command, which would hide the route", previewPath)
	}
	return s
}

// sessionPolicy is required: each policy decides which jobs share a conversation, and none of them is a safe guess.
func (o *object) sessionPolicy(name string) SessionPolicy {
	return SessionPolicy(o.oneOf(name, "", string(SessionNew), string(SessionFixed), string(SessionPerKey), string(SessionPassthrough)))
}

// delivery allows the types that this version executes. None is the same as no delivery and is not kept.
func (o *object) delivery(name string) *Delivery {
	v, ok := o.get(name)
	if !ok {
		return nil
	}
	c := o.child(name, v)
	var d *Delivery
	switch kind := c.name("type", 0); {
	case c.err != nil:
	case kind == DeliveryWebhook:
		d = &Delivery{Type: kind, URL: c.url("url")}
		if d.URL == "" {
			c.fail("url", "is required with type webhook")
		}
		o.adopt(c.done())
		return d
	case kind != "none":
		c.fail("type", "can only be webhook or none in this version")
	}
	o.adopt(c.err)
	return nil
}

func (o *object) retry(name string) *Retry {
	v, ok := o.get(name)
	if !ok {
		return nil
	}
	c := o.child(name, v)
	r := &Retry{
		Max:       c.integer("max", 0, 0, maxRetry),
		BackoffMS: c.integer("backoff_ms", defaultBackoffMS, minBackoffMS, maxBackoffMS),
	}
	o.adopt(c.done())
	return r
}

// targetConfig is an open object. The hub reads the time limit of every target's, and all of the llm target's.
func (o *object) targetConfig(name string, llm bool) json.RawMessage {
	v, ok := o.get(name)
	if !ok {
		if llm {
			o.fail(name+".credential", "is required for the target llm")
		}
		return json.RawMessage("{}")
	}
	c := o.child(name, v)
	c.integer("timeout_ms", 0, minRouteTimeout, maxTargetTimeoutMS)
	if llm {
		c.llm()
	}
	o.adopt(c.open())
	return v.AppendCompact(nil)
}

// llm checks the configuration of the in-hub model target (core §10.4, llmTargetConfig).
func (o *object) llm() {
	o.resourceName("credential")
	o.text("model", 0)
	o.text("system_prompt", 0)
	if v, ok := o.get("temperature"); ok {
		if f := v.Float(); v.Kind() != canonical.Number || f < 0 || f > 2 {
			o.fail("temperature", "must be a number from 0 to 2")
		}
	}
	o.boolean("streaming", true)
	in, ok := o.get("input")
	if !ok {
		return
	}
	c := o.child("input", in)
	for _, kind := range []string{"image", "audio", "file"} {
		v, ok := c.get(kind)
		if !ok {
			continue
		}
		m := c.child(kind, v)
		if mode := m.name("mode", 0); m.err == nil && mode != "off" {
			m.fail("mode", "can only be off in this version")
		}
		c.adopt(m.err)
	}
	o.adopt(c.done())
}

// SaveRoute creates or replaces a route.
func (s *Service) SaveRoute(ctx context.Context, body canonical.Value, c Change) (RouteSaved, error) {
	r, expected, err := s.decodeRoute(body)
	if err != nil {
		return RouteSaved{}, err
	}
	var warnings []string
	err = attempt(func() error {
		stored, err := current(ctx, s.o.Store.Routes(), r.RouteKey)
		if err != nil {
			return err
		}
		if err := expected.met(stored.Revision, &stored.Value); err != nil {
			return err
		}
		if warnings, err = s.checkReferences(ctx, &r); err != nil {
			return err
		}
		next := Versioned[Route]{Value: r, Revision: stored.Revision}
		return s.o.Store.Routes().PutReferring(ctx, next, r.references(), s.stamp(c))
	})
	if err != nil {
		return RouteSaved{}, err
	}
	return RouteSaved{Warnings: append(keyWarnings(r.RouteKey), warnings...)}, nil
}

// keyWarnings tells that clients cannot call a route (core §1.8): their pattern is narrower than an administrator's, and
// one word of it means something else.
func keyWarnings(key string) []string {
	switch {
	case !textlimit.ClientRoute(key):
		return []string{"clients cannot call this route: they may only send 2 to 64 of a-z, 0-9, - and _, beginning with a letter or digit"}
	case key == "auto":
		return []string{`clients cannot call this route: "auto" asks the hub to choose a route`}
	}
	return nil
}

// checkReferences refuses a route that names what does not exist, and warns of what exists and does not fit.
func (s *Service) checkReferences(ctx context.Context, r *Route) (warnings []string, err error) {
	t, err := s.target(ctx, r.Target)
	if err != nil {
		return nil, err
	}
	if t == nil {
		return nil, apierr.Newf(apierr.Invalid, "unknown target: %s (save it under targets first)", r.Target)
	}
	if t.NeedsProject && r.Project == "" {
		warnings = append(warnings, fmt.Sprintf("the target %s needs a project and the route names none: clients cannot run it", r.Target))
	}
	if r.Target == TargetLLM {
		found, err := s.checkModel(ctx, r.TargetConfig)
		if err != nil {
			return nil, err
		}
		warnings = append(warnings, found...)
	}
	clashes, err := s.checkSources(ctx, r.Tools)
	return append(warnings, clashes...), err
}

func (s *Service) checkModel(ctx context.Context, config json.RawMessage) (warnings []string, err error) {
	var cfg LLMConfig
	if err := json.Unmarshal(config, &cfg); err != nil {
		return nil, fmt.Errorf("registry: target_config: %w", err)
	}
	v, err := s.o.Store.Credentials().Get(ctx, cfg.Credential)
	if err != nil {
		return nil, err
	}
	if v == nil {
		return nil, apierr.Newf(apierr.Invalid, "unknown credential: %s (save it under credentials first)", cfg.Credential)
	}
	if v.Value.Kind == CredentialEmbedding {
		warnings = append(warnings, fmt.Sprintf("the credential %s is for embeddings only", cfg.Credential))
	}
	if cfg.Model == "" && v.Value.DefaultModel == "" {
		warnings = append(warnings, fmt.Sprintf("no model: neither target_config.model nor the default model of the credential %s is set", cfg.Credential))
	}
	return warnings, nil
}

// references are the stored records that the route needs. The built-in target is always there.
func (r *Route) references() []Reference {
	var refs []Reference
	if _, builtin := BuiltinTarget(r.Target); !builtin {
		refs = append(refs, Reference{KindTarget, r.Target})
	}
	if name := r.credential(); name != "" {
		refs = append(refs, Reference{KindCredential, name})
	}
	return append(refs, r.Tools.references()...)
}

// credential names the model credential of a route that needs one.
func (r *Route) credential() string {
	var cfg struct {
		Credential string `json:"credential"`
	}
	if r.Target != TargetLLM || json.Unmarshal(r.TargetConfig, &cfg) != nil {
		return ""
	}
	return cfg.Credential
}

// ListRoutes returns every route by key.
func (s *Service) ListRoutes(ctx context.Context) ([]RouteView, error) {
	return views(ctx, s.o.Store.Routes(), func(r *Route) (RouteView, error) {
		revision, err := revisionOf(r)
		return RouteView{*r, revision}, err
	})
}
