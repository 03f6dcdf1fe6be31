package admin

import (
	"slices"

	"bailing/shared/capability"
	"bailing/shared/job"
	"bailing/shared/registry"
)

// sources judges the tools that a route attaches, as package catalog assembles them (core §5.1, D22).
func (s *survey) sources(say sayer, r *registry.Route) {
	owner := map[string]string{}
	var clashes, reserved []string
	for _, source := range r.Tools.Sources {
		p := s.providers[source.Provider]
		switch {
		case p == nil:
			say(job.Severe, "provider_missing", "Save the tool provider, or take it out of tools.sources.",
				"tool provider %s does not exist", source.Provider)
			continue
		case !p.Enabled:
			say(job.Warning, "provider_disabled", "Enable the tool provider, or take it out of tools.sources.",
				"tool provider %s is disabled: the route has none of its tools", source.Provider)
			continue
		case !p.read || p.CatalogHash == "": // said of the provider
			continue
		}
		attached := 0
		for _, t := range p.tools {
			if !capability.Allowed(source.Allow, t.scope) {
				continue
			}
			attached++
			if slices.Contains(capability.BuiltinNames(), t.name) {
				reserved = append(reserved, t.name)
				continue
			}
			if first, taken := owner[t.name]; taken {
				clashes = append(clashes, t.name+" ("+first+", "+p.Name+")")
				continue
			}
			owner[t.name] = p.Name
		}
		if attached == 0 {
			say(job.Warning, "source_without_tools", "Correct allow, or take the provider out of tools.sources.",
				"no tool of %s has a scope that the route allows", source.Provider)
		}
	}
	if len(clashes) > 0 {
		say(job.Severe, "tool_name_clash", "Rename one of the operations, or narrow allow.",
			"two tool providers offer a tool of the same name, so that the route has no tools at all: %s", someOf(clashes))
	}
	if len(reserved) > 0 {
		say(job.Warning, "tool_name_reserved", "Rename these operations.",
			"tools with the names of built-in ones are left out: %s", someOf(reserved))
	}
}
