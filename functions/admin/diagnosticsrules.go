package admin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"bailing/shared/job"
	"bailing/shared/redact"
	"bailing/shared/registry"
	"bailing/shared/textlimit"
)

// finding is one thing that is not ready.
type finding struct {
	Severity   string `json:"severity"` // error: does not work; warning: works otherwise than it looks; info
	Kind       string `json:"kind"`     // system, target, credential, provider, route or client
	Name       string `json:"name"`     // of the object; "hub" for the system
	Code       string `json:"code"`
	Message    string `json:"message"`
	Suggestion string `json:"suggestion"`
}

// findings collects them; an object has at most one of each code and message.
type findings struct{ list []finding }

func (f *findings) add(severity, kind, name, code, message, suggestion string) {
	f.list = append(f.list,
		finding{severity, kind, name, code, textlimit.Cut(redact.Text(message), maxShortText), suggestion})
}

var severityOrder = []string{job.Severe, job.Warning, job.Info}

// diagnose applies every rule. Findings are ordered by severity, kind, name, code and message. There are at most diagnosesMax; one
// more says how many were left out.
func (s *survey) diagnose() []finding {
	f := &findings{list: []finding{}}
	s.system(f)
	for _, r := range s.routes {
		s.route(f, r)
	}
	for _, p := range s.providers {
		s.provider(f, p)
	}
	for i := range s.clients {
		s.client(f, &s.clients[i])
	}
	slices.SortFunc(f.list, func(a, b finding) int {
		return cmp.Or(
			cmp.Compare(slices.Index(severityOrder, a.Severity), slices.Index(severityOrder, b.Severity)),
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message,
				b.Message),
		)
	})
	if over := len(f.list) - diagnosesMax; over > 0 {
		f.list = f.list[:diagnosesMax]
		f.add(job.Info, "system", "hub", "truncated", fmt.Sprintf("%d further findings are left out", over),
			"Resolve the ones above first.")
	}
	return f.list
}

func (s *survey) system(f *findings) {
	if s.paused {
		f.add(job.Warning, "system", "hub", "hub_paused", "the hub is paused: it accepts and runs no jobs",
			"Resume it with POST /admin/resume.")
	}
	if llm := s.targets[registry.TargetLLM]; llm != nil && !llm.Enabled {
		f.add(job.Warning, "target", llm.Name, "default_target_disabled", "the target that models answer is disabled",
			"Enable the target llm.")
	}
	if len(s.routes) == 0 {
		f.add(job.Info, "system", "hub", "no_routes", "there is no route: nothing can be submitted", "Save a route.")
	}
	if len(s.clients) == 0 {
		f.add(job.Info, "system", "hub", "no_clients", "there is no client: only administrators can submit jobs",
			"Save a client.")
	}
	if s.unread > 0 {
		f.add(job.Info, "system", "hub", "not_checked",
			fmt.Sprintf("the tools of %d tool providers were not looked at", s.unread),
			"Look at them with bailing provider list.")
	}
}

// route judges a route that is enabled: a disabled one runs nothing.
func (s *survey) route(f *findings, r *registry.Route) {
	if !r.Enabled {
		return
	}
	say := func(severity, code, suggestion, message string, args ...any) {
		f.add(severity, "route", r.RouteKey, code, fmt.Sprintf(message, args...), suggestion)
	}
	switch t := s.targets[r.Target]; {
	case t == nil:
		say(job.Severe, "target_missing", "Save the target, or name another one in the route.", "target %s does not exist",
			r.Target)
	case !t.Enabled:
		say(job.Severe, "target_disabled", "Enable the target, or disable the route.", "target %s is disabled", r.Target)
	case t.Kind == registry.Executor:
		say(job.Warning, "target_without_executor", "Name the target llm in the route.",
			"target %s needs an executor, and there are none in this version: its jobs end after 30 minutes", r.Target)
	case t.Name == registry.TargetLLM:
		s.model(say, r)
	}
	if r.Tools != nil {
		s.sources(say, r)
	}
}

type sayer func(severity, code, suggestion, message string, args ...any)

// model judges who answers the jobs of a route.
func (s *survey) model(say sayer, r *registry.Route) {
	var cfg registry.LLMConfig
	if err := json.Unmarshal(r.TargetConfig, &cfg); err != nil {
		say(job.Severe, "target_config_unreadable", "Save the route again.", "target_config cannot be read")
		return
	}
	c := s.credentials[cfg.Credential]
	switch {
	case c == nil:
		say(job.Severe, "credential_missing", "Save the credential, or name another one in target_config.",
			"credential %s does not exist", cfg.Credential)
		return
	case !c.Enabled:
		say(job.Severe, "credential_disabled", "Enable the credential, or name another one in target_config.",
			"credential %s is disabled", cfg.Credential)
	case c.Kind == "embedding":
		say(job.Warning, "credential_kind", "Name a credential of kind chat or both.",
			"credential %s is for embeddings, and the route asks it for answers", cfg.Credential)
	}
	if cfg.Model == "" && c.DefaultModel == "" {
		say(job.Severe, "model_missing", "Set model in target_config, or default_model in the credential.",
			"neither the route nor credential %s names a model", cfg.Credential)
	}
}

// provider judges what the hub knows about a provider that is enabled.
func (s *survey) provider(f *findings, p *surveyedProvider) {
	if !p.Enabled {
		return
	}
	say := func(severity, code, suggestion, message string, args ...any) {
		f.add(severity, "provider", p.Name, code, fmt.Sprintf(message, args...), suggestion)
	}
	if p.CatalogHash == "" {
		say(job.Severe, "spec_missing", "Send spec_json, or refresh it from its spec_url.",
			"it has no specification, and so no tools")
	}
	if p.broken {
		say(job.Severe, "catalog_unreadable", "Save its specification again, or refresh it.",
			"what its specification compiled to cannot be read")
	}
	if p.refresh != nil && p.refresh.failed {
		say(job.Severe, "spec_refresh_failing", "Correct what the message names and refresh it.",
			"the last refresh failed, and the earlier specification keeps serving: %s", p.refresh.summary)
	}
	if a := p.SpecAccessProbe; a != nil {
		switch {
		case a.Status == registry.AccessPublic && p.SpecAccessPolicy != registry.PublicAllowed:
			say(job.Severe, "spec_public",
				"Let the business refuse unsigned reads, or allow them with spec_access_policy public_allowed.",
				"its specification can be read without a valid signature")
		case a.Status == registry.AccessInconclusive:
			say(job.Warning, "spec_access_inconclusive", "Refresh it and look at the HTTP statuses of the probe.",
				"who may read its specification is not known: %s", a.Reason)
		}
	}
	if a := p.AuthzProbe; a != nil {
		switch a.Status {
		case registry.AuthzSuspect:
			say(job.Severe, "authz_suspect", "Let the business check the subject of every call, and probe again.",
				"the business served a subject without rights")
		case registry.AuthzInconclusive:
			say(job.Info, "authz_inconclusive", "Probe again; a dedicated probe endpoint gives a clear answer.",
				"whether the business refuses a subject without rights is not known: %s", a.Reason)
		}
	}
	if n := len(p.left); n > 0 {
		say(job.Warning, "tools_left_out", "Correct the specification; bailing provider lint shows what to change.",
			"%d operations did not become tools, the first is %s: %s", n, p.left[0].path, p.left[0].message)
	}
	if p.read && p.CatalogHash != "" && len(p.tools) == 0 {
		say(job.Warning, "no_tools", "Mark operations with x-agent-capability.", "its specification has no tools")
	}
}

// client judges what a client that is enabled may use.
func (s *survey) client(f *findings, c *registry.Client) {
	if !c.Enabled || slices.Contains(c.AllowedRoutes, "*") {
		return
	}
	var missing, disabled []string
	for _, key := range c.AllowedRoutes {
		switch r := s.routes[key]; {
		case r == nil:
			missing = append(missing, key)
		case !r.Enabled:
			disabled = append(disabled, key)
		}
	}
	say := func(severity, code, suggestion, message string, args ...any) {
		f.add(severity, "client", c.AppID, code, fmt.Sprintf(message, args...), suggestion)
	}
	if len(missing)+len(disabled) == len(c.AllowedRoutes) {
		say(job.Severe, "client_without_routes", "Allow it a route that exists and is enabled.",
			"none of its %d allowed routes can be used", len(c.AllowedRoutes))
	}
	if len(missing) > 0 {
		say(job.Warning, "allowed_route_missing",
			"Save these routes, or take them off allowed_routes: a later route of that key is theirs to use.",
			"it is allowed routes that do not exist: %s", someOf(missing))
	}
	if len(disabled) > 0 {
		say(job.Info, "allowed_route_disabled", "Enable these routes if they are needed.",
			"it is allowed routes that are disabled: %s", someOf(disabled))
	}
}

// namesMax is how many names a message lists.
const namesMax = 10

// someOf lists names for a message.
func someOf(names []string) string {
	slices.Sort(names)
	if over := len(names) - namesMax; over > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:namesMax], ", "), over)
	}
	return strings.Join(names, ", ")
}
