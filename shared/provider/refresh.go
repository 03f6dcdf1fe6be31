package provider

import (
	"context"
	"errors"
	"fmt"

	"bailing/shared/apierr"
	"bailing/shared/capability"
	"bailing/shared/registry"
)

// Refreshed is what a refresh did (core §4.3).
type Refreshed struct {
	Tools       int
	Diff        capability.Diff
	Warnings    []Warning
	Diagnostics []capability.Diagnostic // the worst, at most registry.MaxDiagnostics
	Total       int                     // of diagnostics
	AccessProbe registry.AccessProbe
	AuthzProbe  registry.AuthzProbe
}

// Refresh reads the specification of the provider called name from its URL and, when the access policy is kept and it
// compiles, makes it the provider's; then the authorization probe runs. Otherwise the earlier one keeps serving, what was seen
// is recorded, and the error is Invalid with the reason, `spec_access_probe` and, for a specification that does not compile,
// `diagnostics`. NotFound: there is no such provider. Conflict: its source was changed, or another text was stored, meanwhile.
// Unavailable: no time was left to store what was read.
//
// Running twice at once does the same twice. Dying before the record is written changes nothing; dying after it leaves the
// probe for the next refresh.
func (s *Service) Refresh(ctx context.Context, name string, b By) (Refreshed, error) {
	v, err := s.get(ctx, name)
	if err != nil {
		return Refreshed{}, err
	}
	p := &v.Value
	if p.SpecSource != registry.SpecURLSource {
		return Refreshed{}, apierr.New(apierr.Invalid, "the specification of this tool provider was sent inline; save it again with a new spec_json instead")
	}
	return s.refresh(ctx, p, b)
}

// refresh does the work for the record as it was read.
func (s *Service) refresh(ctx context.Context, p *registry.Provider, b By) (Refreshed, error) {
	var secret []byte
	if p.SpecAccessPolicy != registry.PublicAllowed {
		var err error
		if secret, err = s.secret(ctx, p); err != nil {
			return Refreshed{}, err
		}
	}
	r := s.read(ctx, p, secret)
	if r.refusal != "" {
		return Refreshed{}, s.refused(ctx, p, b, r.probe, apierr.New(apierr.Invalid, r.refusal))
	}
	spec, out, err := s.digest(ctx, p, &r)
	var refusal *apierr.Error
	if errors.As(err, &refusal) {
		return Refreshed{}, s.refused(ctx, p, b, r.probe, refusal)
	}
	if err != nil {
		return Refreshed{}, err
	}
	// Another refresh may have stored another text meanwhile. Which of the two is the later one only another reading can tell.
	same := func(now, seen *registry.Provider) bool {
		return now.SameSource(seen) && (now.SpecHash == seen.SpecHash || now.SpecHash == spec.Hash)
	}
	err = s.observe(ctx, p, same, func(p *registry.Provider) {
		if p.CatalogHash != spec.Catalog {
			p.AuthzProbe = nil // it was about other tools
		}
		p.Take(spec, s.Clock.Now())
		p.SpecAccessProbe, p.RefreshTriedAt = &r.probe, s.Clock.Now()
	}, s.change(b), s.refreshedEvent(p, b, spec, &out))
	if errors.Is(err, errMoved) {
		return Refreshed{}, changedMeanwhile()
	}
	if err != nil {
		return Refreshed{}, err
	}
	out.AuthzProbe = s.ProbeSaved(ctx, p.Name, b)
	return out, nil
}

// digest compiles and stores what was read, and compares it with what serves now. An *apierr.Error says why the text is not used;
// it is for the record.
func (s *Service) digest(ctx context.Context, p *registry.Provider, r *reading) (spec registry.StoredSpec, out Refreshed, err error) {
	s.digesting.Lock()
	defer s.digesting.Unlock()
	defer func() {
		if err != nil && ctx.Err() != nil && apierr.CodeOf(err) == apierr.Internal {
			err = apierr.Wrap(apierr.Unavailable, "the specification was read, but no time was left to store it; refresh it again", err)
		}
	}()
	catalog := s.Compile(r.text)
	if catalog.Failed() {
		return spec, out, apierr.New(apierr.Invalid, "the specification cannot be used: "+registry.FirstError(catalog.Diagnostics)).
			With("diagnostics", registry.Worst(catalog.Diagnostics))
	}
	old, err := registry.LoadCatalog(ctx, s.Store, p)
	if err != nil {
		return spec, out, err
	}
	if spec, err = registry.PutSpec(ctx, s.Store, r.text, catalog, s.CompilerVersion); err != nil {
		return spec, out, err
	}
	out = Refreshed{
		Tools: len(catalog.Tools), Diff: capability.DiffCatalogs(old, catalog), Warnings: r.warnings, AccessProbe: r.probe,
		Diagnostics: registry.Worst(catalog.Diagnostics), Total: len(catalog.Diagnostics),
	}
	clashes, err := registry.Clashes(ctx, s.Store, p.Name, catalog)
	for _, text := range clashes {
		out.Warnings = append(out.Warnings, Warning{Code: "duplicate_name", Message: text, Suggestion: "Give one of the two operations another operationId."})
	}
	return spec, out, err
}

func changedMeanwhile() error {
	return apierr.New(apierr.Conflict, "the tool provider was changed while its specification was being read; refresh it again")
}

// refused records a refresh that failed, and returns why.
func (s *Service) refused(ctx context.Context, p *registry.Provider, b By, probe registry.AccessProbe, refusal *apierr.Error) error {
	ev := s.event("spec_refresh_failed", severe, b, refusal.Message, map[string]any{
		"spec_access_policy": p.SpecAccessPolicy, "spec_access_probe": probe, "alert_key": "spec_refresh_fail_" + p.Name,
	})
	err := s.observe(ctx, p, (*registry.Provider).SameSource, func(p *registry.Provider) {
		p.SpecAccessProbe, p.RefreshTriedAt = &probe, s.Clock.Now()
	}, nil, ev)
	if errors.Is(err, errMoved) {
		return changedMeanwhile()
	}
	if err != nil {
		return err
	}
	s.Logger.WarnContext(ctx, "specification not refreshed", "provider", p.Name, "access", probe.Status, "reason", refusal.Message)
	return refusal.With("spec_access_probe", probe)
}

// refreshedEvent records what a refresh changed. Protection that became weaker is a warning.
func (s *Service) refreshedEvent(p *registry.Provider, b By, spec registry.StoredSpec, r *Refreshed) registry.Event {
	weaker := r.Diff.WeakenedTools()
	detail := map[string]any{
		"spec_hash": spec.Hash, "tools": r.Tools, "added": r.Diff.Added, "removed": r.Diff.Removed, "changed": r.Diff.ChangedNames(),
		"weakened": weaker, "spec_access_policy": p.SpecAccessPolicy, "spec_access_probe": r.AccessProbe,
	}
	severity := info
	if !r.Diff.Empty() {
		detail["alert_key"] = "spec_change_" + p.Name + "_" + r.Diff.Hash8()
	}
	if len(weaker) > 0 {
		severity = warning
	}
	return s.event("spec_refreshed", severity, b, fmt.Sprintf("%d tools, %d added, %d removed, %d changed",
		r.Tools, len(r.Diff.Added), len(r.Diff.Removed), len(r.Diff.Changed)), detail)
}
