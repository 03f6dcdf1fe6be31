package registry

import (
	"context"
	"strings"

	"bailing/shared/apierr"
	"bailing/shared/canonical"
	"bailing/shared/capability"
)

// Defaults and bounds of core §4.1.
const (
	defaultProviderTimeoutMS = 10_000
	minProviderTimeoutMS     = 1_000
	maxProviderTimeoutMS     = 60_000
	defaultProviderRate      = 120
	maxAutoRefreshMin        = 1_440
	// A body may be large for its specification's sake. A list of all providers fits into one answer, and a job reads the record.
	maxProviderDescription = 10_000
)

// MaxInlineSpecBytes is the longest specification text that a save accepts (D32).
const MaxInlineSpecBytes = 3 << 20

// Where a specification comes from (core §4.1).
const (
	SpecInline    = "inline" // sent with the record
	SpecURLSource = "url"    // read from spec_url by a refresh
)

// ProviderView is a provider as lists show it.
type ProviderView struct {
	Name            string          `json:"name"`
	BaseURL         string          `json:"base_url"`
	SpecSource      string          `json:"spec_source"`
	SpecPolicy      SpecPolicy      `json:"spec_access_policy,omitempty"`
	SpecURL         string          `json:"spec_url,omitempty"`
	SpecRefreshedAt string          `json:"spec_refreshed_at,omitempty"`
	SpecAccessProbe *AccessProbe    `json:"spec_access_probe,omitempty"`
	AuthzProbe      *AuthzProbe     `json:"authz_probe,omitempty"`
	Secret          string          `json:"secret"` // masked
	LogPayload      bool            `json:"log_payload"`
	TimeoutMS       int             `json:"timeout_ms"`
	RateLimitPerMin int             `json:"rate_limit_per_min"`
	ToolRateLimits  *ToolRateLimits `json:"tool_rate_limits,omitempty"`
	AutoRefreshMin  int             `json:"auto_refresh_min"`
	Enabled         bool            `json:"enabled"`
	Description     string          `json:"description,omitempty"`
	HasSpec         bool            `json:"has_spec"`
	Revision        string          `json:"revision"`
}

// ProviderSaved is the answer to a saved provider.
type ProviderSaved struct {
	// Diagnostics is what the author of this save's specification should look at: operations that did not become tools,
	// then warnings, at most [MaxDiagnostics]. Empty when the save brought no specification.
	Diagnostics []capability.Diagnostic
	// Total is how many there are.
	Total int
	// Warnings name routes that this provider's tools leave without any (core §4.6).
	Warnings []string
}

type providerRequest struct {
	provider Provider
	secret   string
	spec     []byte // nil: keep
	expected expectation
}

func (s *Service) decodeProvider(body canonical.Value) (providerRequest, error) {
	o := readObject(body, "", s.o.CheckURL)
	r := providerRequest{provider: Provider{
		Name:            o.resourceName("name"),
		BaseURL:         o.baseURL("base_url"),
		SpecSource:      o.oneOf("spec_source", SpecInline, SpecInline, SpecURLSource),
		LogPayload:      o.boolean("log_payload", true),
		TimeoutMS:       o.clamped("timeout_ms", defaultProviderTimeoutMS, minProviderTimeoutMS, maxProviderTimeoutMS),
		RateLimitPerMin: o.integer("rate_limit_per_min", defaultProviderRate, 0, maxCount),
		ToolRateLimits:  o.toolRateLimits("tool_rate_limits"),
		AutoRefreshMin:  o.clamped("auto_refresh_min", 0, 0, maxAutoRefreshMin),
		Enabled:         o.boolean("enabled", true),
		Description:     o.text("description", maxProviderDescription),
	}}
	o.specSource(&r.provider)
	r.secret = o.secret("secret")
	r.spec = o.spec("spec_json")
	if r.spec != nil && r.provider.SpecSource == SpecURLSource {
		o.fail("spec_json", "must be left out with spec_source url: a refresh reads it from spec_url")
	}
	r.expected = o.expectation()
	o.readOnly("has_spec", "spec_refreshed_at", "spec_access_probe", "authz_probe")
	o.refuse("embed_credential", "embed_model", "embed_dim")
	return r, o.done()
}

// specSource reads the members that say where a specification comes from and who may read it (core §4.1). The policy stays
// empty when it is not named.
func (o *object) specSource(p *Provider) {
	p.SpecURL = o.url("spec_url")
	policy := o.text("spec_access_policy", 0)
	if p.SpecSource != SpecURLSource {
		if p.SpecURL != "" {
			o.fail("spec_url", "needs spec_source url")
		}
		if policy != "" {
			o.fail("spec_access_policy", "needs spec_source url")
		}
		if p.AutoRefreshMin > 0 {
			o.fail("auto_refresh_min", "needs spec_source url; a specification that was sent inline cannot be read again")
		}
		return
	}
	if p.SpecURL == "" {
		o.fail("spec_url", "is required with spec_source url")
	}
	p.SpecAccessPolicy = SpecPolicy(policy)
	switch p.SpecAccessPolicy {
	case "", SignedRequired, PublicAllowed:
	default:
		o.fail("spec_access_policy", "must be %s or %s", SignedRequired, PublicAllowed)
	}
}

// spec is the specification's text: a string holds JSON or YAML as it is, an object is the document itself.
func (o *object) spec(name string) []byte {
	v, ok := o.get(name)
	if !ok {
		return nil
	}
	var text []byte
	switch v.Kind() {
	case canonical.String:
		if strings.TrimSpace(v.Text()) == "" {
			return nil
		}
		text = []byte(v.Text())
	case canonical.Object:
		text = v.AppendCompact(nil)
	default:
		o.fail(name, "must be a text of JSON or YAML, or an object")
		return nil
	}
	if len(text) > MaxInlineSpecBytes && o.err == nil {
		o.err = apierr.Newf(apierr.PayloadTooLarge, "%s is larger than the %d bytes that can be sent inline", o.full(name), MaxInlineSpecBytes).
			With("max_bytes", MaxInlineSpecBytes)
	}
	return text
}

// SaveProvider creates or replaces a provider. Without a secret or a specification the stored one stays. Operations that
// do not compile are reported and do not keep the others from being saved; a document that cannot be read at all does.
func (s *Service) SaveProvider(ctx context.Context, body canonical.Value, c Change) (ProviderSaved, error) {
	r, err := s.decodeProvider(body)
	if err != nil {
		return ProviderSaved{}, err
	}
	saved, spec, err := s.takeSpec(ctx, r.provider.Name, r.spec)
	if err != nil {
		return ProviderSaved{}, err
	}
	err = attempt(func() error {
		stored, err := current(ctx, s.o.Store.Providers(), r.provider.Name)
		if err != nil {
			return err
		}
		if err := r.expected.met(stored.Revision, stored.Value.configuration()); err != nil {
			return err
		}
		p := r.provider
		p.Secret, p.SecretMask, err = s.sealSecret(ctx, r.secret, stored.Value.Secret, stored.Value.SecretMask, ProviderSecretContext(p.Name))
		if err != nil {
			return err
		}
		p.follow(&stored.Value)
		if spec.Hash != "" {
			p.Take(spec, s.o.Clock.Now())
		}
		if !p.SameBusiness(&stored.Value) {
			p.AuthzProbe = nil
		}
		return s.o.Store.Providers().Put(ctx, p.Name, Versioned[Provider]{Value: p, Revision: stored.Revision}, s.stamp(c))
	})
	if err != nil {
		return ProviderSaved{}, err
	}
	return saved, nil
}

// follow takes over from the stored record what a save does not bring: the specification always, since an earlier one keeps
// serving until another is read, and what was found out about a source as long as it is the same one.
func (p *Provider) follow(stored *Provider) {
	if p.SpecSource == SpecURLSource && p.SpecAccessPolicy == "" {
		p.SpecAccessPolicy = SignedRequired
		if stored.SpecSource == SpecURLSource {
			p.SpecAccessPolicy = stored.SpecAccessPolicy
		}
	}
	p.SpecHash, p.CatalogHash, p.CatalogVersion, p.SpecRefreshedAt = stored.SpecHash, stored.CatalogHash, stored.CatalogVersion, stored.SpecRefreshedAt
	p.AuthzProbe = stored.AuthzProbe
	if p.SameSource(stored) {
		p.SpecAccessProbe, p.RefreshTriedAt = stored.SpecAccessProbe, stored.RefreshTriedAt
	}
}

// takeSpec compiles and stores the specification of a save, if it brings one, and says what its author should know.
func (s *Service) takeSpec(ctx context.Context, provider string, text []byte) (ProviderSaved, StoredSpec, error) {
	if text == nil {
		return ProviderSaved{}, StoredSpec{}, nil
	}
	catalog := s.o.Compile(text)
	saved := ProviderSaved{Diagnostics: Worst(catalog.Diagnostics), Total: len(catalog.Diagnostics)}
	if catalog.Failed() {
		return ProviderSaved{}, StoredSpec{}, apierr.New(apierr.Invalid, "spec_json cannot be used: "+FirstError(catalog.Diagnostics)).
			With("diagnostics", saved.Diagnostics)
	}
	spec, err := PutSpec(ctx, s.o.Store, text, catalog, s.o.CompilerVersion)
	if err != nil {
		return ProviderSaved{}, StoredSpec{}, err
	}
	saved.Warnings, err = Clashes(ctx, s.o.Store, provider, catalog)
	return saved, spec, err
}

// wireTime is the form of times in answers (core §0.1).
const wireTime = "2006-01-02T15:04:05.000Z"

// ListProviders returns every provider by name, secrets masked.
func (s *Service) ListProviders(ctx context.Context) ([]ProviderView, error) {
	return views(ctx, s.o.Store.Providers(), func(p *Provider) (ProviderView, error) {
		v := ProviderView{
			Name: p.Name, BaseURL: p.BaseURL, SpecSource: p.SpecSource, SpecPolicy: p.SpecAccessPolicy, SpecURL: p.SpecURL,
			SpecAccessProbe: p.SpecAccessProbe, AuthzProbe: p.AuthzProbe, Secret: p.SecretMask, LogPayload: p.LogPayload,
			TimeoutMS: p.TimeoutMS, RateLimitPerMin: p.RateLimitPerMin, ToolRateLimits: p.ToolRateLimits, AutoRefreshMin: p.AutoRefreshMin,
			Enabled: p.Enabled, Description: p.Description, HasSpec: p.SpecHash != "",
		}
		if !p.SpecRefreshedAt.IsZero() {
			v.SpecRefreshedAt = p.SpecRefreshedAt.UTC().Format(wireTime)
		}
		var err error
		v.Revision, err = revisionOf(p.configuration())
		return v, err
	})
}

// ProviderCatalog returns what the specification of the provider called name compiled to, nil when it has none yet. NotFound:
// there is no such provider.
func (s *Service) ProviderCatalog(ctx context.Context, name string) (*capability.Catalog, error) {
	p, err := s.provider(ctx, name)
	if err != nil {
		return nil, err
	}
	return LoadCatalog(ctx, s.o.Store, p)
}

// RequireProvider is NotFound when there is no provider called name.
func (s *Service) RequireProvider(ctx context.Context, name string) error {
	_, err := s.provider(ctx, name)
	return err
}

func (s *Service) provider(ctx context.Context, name string) (*Provider, error) {
	v, err := s.o.Store.Providers().Get(ctx, name)
	if err != nil {
		return nil, err
	}
	if v == nil {
		return nil, apierr.New(apierr.NotFound, "the tool provider does not exist")
	}
	return &v.Value, nil
}
