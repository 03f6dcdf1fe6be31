package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"bailing/shared/apierr"
	"bailing/shared/canonical"
	"bailing/shared/capability"
	"bailing/shared/outbound"
	"bailing/shared/registry"
	"bailing/shared/toolcall"
)

// What an authorization probe says about itself (core §3.7).
const (
	probeSubject = "__bailing_authz_probe__:nobody"
	probeJobID   = "probe"
	probeClient  = "__probe__"
	probeScope   = "__probe__.authz"
	probeName    = "authz_probe" // of a dedicated endpoint without an operationId
	probeTimeout = 8 * time.Second
	probeAnswer  = 64 << 10 // bytes that are read of an answer
)

// Modes of a probe.
const (
	modeDedicated = "dedicated"
	modeTool      = "tool"
)

var probeBody = []byte(`{"subject":"` + probeSubject + `","reason":"bailing-authz-probe","expect":"deny"}`)

// ProbeAuthz asks the business of the provider called name whether it refuses a subject without rights, and records the
// answer. NotFound: there is no such provider. Conflict: it was changed meanwhile.
func (s *Service) ProbeAuthz(ctx context.Context, name string, b By) (registry.AuthzProbe, error) {
	return s.probeAndNote(ctx, name, b, s.change(b))
}

// probeAndNote probes the provider as it is stored now. A probe never stands in the way of anything: what goes wrong with the
// request is its finding. c is the administrator's call, if this is all that it does.
func (s *Service) probeAndNote(ctx context.Context, name string, b By, c *registry.Change) (registry.AuthzProbe, error) {
	v, err := s.get(ctx, name)
	if err != nil {
		return registry.AuthzProbe{}, err
	}
	probe, err := s.probe(ctx, &v.Value)
	if err != nil {
		return registry.AuthzProbe{}, err
	}
	probe.At = registry.ProbeTime(s.Clock.Now())
	severity, detail := info, map[string]any{"authz_probe": probe}
	if probe.Status == registry.AuthzSuspect {
		severity, detail["alert_key"] = warning, "authz_probe_"+name
	}
	err = s.observe(ctx, &v.Value, (*registry.Provider).SameBusiness, func(p *registry.Provider) { p.AuthzProbe = &probe }, c,
		s.event("authorize_probe", severity, b, string(probe.Status), detail))
	if errors.Is(err, errMoved) {
		return registry.AuthzProbe{}, apierr.New(apierr.Conflict, "the tool provider was changed while its business was being asked; ask again")
	}
	return probe, err
}

// target is what a probe asks.
type target struct {
	tool            string // its name in the record
	mode            string
	requiresSubject bool
	request         capability.Request
}

func (s *Service) probe(ctx context.Context, p *registry.Provider) (registry.AuthzProbe, error) {
	skipped := func(why string) (registry.AuthzProbe, error) {
		return registry.AuthzProbe{Status: registry.AuthzSkipped, Reason: why}, nil
	}
	switch {
	case !p.Enabled:
		return skipped("the provider is disabled")
	case p.BaseURL == "":
		return skipped("the provider has no base_url")
	case p.CatalogHash == "":
		return skipped("the provider has no specification yet")
	}
	t, ok, err := s.choose(ctx, p)
	if err != nil {
		return registry.AuthzProbe{}, err
	}
	if !ok {
		return skipped("the specification names no x-bailing-authz-probe and has no GET tool without required parameters")
	}
	secret, err := s.secret(ctx, p)
	if err != nil {
		return registry.AuthzProbe{}, err
	}
	g := toolcall.Governance{Secret: secret, Client: probeClient, JobID: probeJobID, Subject: probeSubject, Scope: probeScope}
	res, err := s.HTTP.Do(ctx, outbound.Request{
		Method: t.request.Method, URL: t.request.URL, Header: g.Headers(t.request, s.Clock.Now()), Body: t.request.Body,
		Timeout: min(time.Duration(p.TimeoutMS)*time.Millisecond, probeTimeout), MaxResponse: probeAnswer, OneSend: true,
	})
	probe := t.judge(res, err)
	probe.Tool, probe.Mode, probe.RequiresSubject = t.tool, t.mode, &t.requiresSubject
	return probe, nil
}

// choose finds what to ask in the catalogue of p, and keeps no more of it: probes wait side by side.
func (s *Service) choose(ctx context.Context, p *registry.Provider) (target, bool, error) {
	s.digesting.Lock()
	defer s.digesting.Unlock()
	catalog, err := registry.LoadCatalog(ctx, s.Store, p)
	if err != nil {
		return target{}, false, err
	}
	t, ok := probeTarget(catalog, p.BaseURL)
	return t, ok, nil
}

// probeTarget is the dedicated endpoint of the specification or, failing that, a tool that only reads and needs no arguments.
func probeTarget(c *capability.Catalog, baseURL string) (target, bool) {
	if d := c.AuthzProbe; d != nil {
		t := target{tool: d.OperationID, mode: modeDedicated, requiresSubject: true, request: capability.Request{
			Method: d.Method, PathQuery: d.Path, URL: strings.TrimRight(baseURL, "/") + d.Path,
		}}
		if t.tool == "" {
			t.tool = probeName
		}
		if d.Method != http.MethodGet && d.Method != http.MethodHead {
			t.request.Body, t.request.ContentType = probeBody, "application/json"
		}
		return t, true
	}
	tool := c.ProbeTool()
	if tool == nil {
		return target{}, false
	}
	none, err := canonical.Parse([]byte("{}"), canonical.Limits{})
	if err != nil {
		return target{}, false
	}
	request, err := tool.BuildRequest(baseURL, none)
	if err != nil {
		return target{}, false
	}
	return target{tool: tool.Name, mode: modeTool, requiresSubject: tool.RequiresSubject, request: request}, true
}

// judge reads the answer (core §3.7).
func (t *target) judge(res *outbound.Response, err error) registry.AuthzProbe {
	var failed *outbound.Error
	if errors.As(err, &failed) {
		return registry.AuthzProbe{Status: registry.AuthzInconclusive, HTTP: failed.Status, Reason: noAnswer(failed)}
	}
	if err != nil {
		return registry.AuthzProbe{Status: registry.AuthzInconclusive, Reason: "the request could not be made"}
	}
	out := registry.AuthzProbe{HTTP: res.Status}
	switch {
	case res.Status == http.StatusUnauthorized || res.Status == http.StatusForbidden:
		out.Status, out.Reason = registry.AuthzPass, "the business refused a subject without rights"
	case res.Status < 200 || res.Status > 299:
		out.Status, out.Reason = registry.AuthzInconclusive, fmt.Sprintf("HTTP %d says neither yes nor no", res.Status)
	case t.mode == modeDedicated:
		out.Status, out.Reason = dedicatedVerdict(res.Body)
	case t.requiresSubject:
		out.Status, out.Reason = registry.AuthzSuspect, "the business served a subject without rights; it must authorize the subject of each call itself"
	default:
		out.Status, out.Reason = registry.AuthzInconclusive, "the tool declares no subject, so that serving anybody may be right; declare x-bailing-authz-probe"
	}
	return out
}

// dedicatedVerdict reads the members of core §3.7; the first that is a boolean decides.
func dedicatedVerdict(body []byte) (registry.AuthzStatus, string) {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(body, &members) // anything else has no members
	for _, name := range []string{"authorized", "allow", "allowed", "ok"} {
		switch string(members[name]) {
		case "false":
			return registry.AuthzPass, "the probe endpoint answered " + name + "=false"
		case "true":
			return registry.AuthzSuspect, "the probe endpoint answered " + name + "=true for a subject without rights"
		}
	}
	return registry.AuthzInconclusive, "the probe endpoint's answer has no boolean authorized, allow, allowed or ok"
}

// ProbeSaved runs the probe after a save or a refresh, which stands whatever comes of it: a failure of ours is a probe that says
// nothing.
func (s *Service) ProbeSaved(ctx context.Context, name string, b By) registry.AuthzProbe {
	probe, err := s.probeAndNote(ctx, name, b, nil)
	if err == nil {
		return probe
	}
	s.Logger.WarnContext(ctx, "authorization probe not made", "provider", name, "error", err)
	return registry.AuthzProbe{
		Status: registry.AuthzInconclusive, Reason: "the probe could not be made now; ask for it again", At: registry.ProbeTime(s.Clock.Now()),
	}
}
