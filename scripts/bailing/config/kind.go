package config

import (
	"slices"
	"strings"

	"bailing/scripts/bailing/cli"
	"bailing/shared/textlimit"
)

// Kind is a kind of configuration objects (core §10.4).
type Kind struct {
	Name   string // of one object, and of its command group
	Path   string // below /admin/api/, and its name in files
	Key    string // the member that names an object
	Secret string // the member that the hub shows masked and a file refers to; "" for none
	// Computed are members that the hub finds out by itself.
	Computed []string
	// Defaults are what members mean that are left out, as JSON. "a.b" is the member b of an object a that is there.
	Defaults map[string]string

	columns []column
	valid   func(name string) bool
	rule    string // what valid asks for
}

const resourceRule = "2 to 64 of a-z 0-9 _ -, beginning with a letter or digit"

// Kinds are the kinds in the order in which their objects are saved: each refers to earlier ones only.
var Kinds = []*Kind{
	{
		Name: "target", Path: "targets", Key: "name", valid: textlimit.ResourceName, rule: resourceRule,
		Defaults: map[string]string{"stateless": "false", "needs_project": "false", "timeout_ms": "0", "enabled": "true"},
		columns: []column{
			{"TARGET", "name"}, {"ENABLED", "enabled"}, {"KIND", "kind"}, {"TIMEOUT MS", "timeout_ms"}, {"DESCRIPTION", "description"},
		},
	},
	{
		Name: "credential", Path: "credentials", Key: "name", Secret: "api_key", valid: textlimit.ResourceName, rule: resourceRule,
		Defaults: map[string]string{"kind": `"chat"`, "enabled": "true"},
		columns: []column{
			{"CREDENTIAL", "name"}, {"ENABLED", "enabled"}, {"KIND", "kind"}, {"MODEL", "default_model"},
			{"KEY", "api_key"}, {"BASE URL", "base_url"},
		},
	},
	{
		Name: "provider", Path: "tool-providers", Key: "name", Secret: "secret", valid: textlimit.ResourceName, rule: resourceRule,
		Computed: []string{"has_spec", "spec_refreshed_at", "spec_access_probe", "authz_probe"},
		Defaults: map[string]string{
			"spec_source": `"inline"`, "log_payload": "true", "timeout_ms": "10000", "rate_limit_per_min": "120", "auto_refresh_min": "0",
			"enabled": "true",
		},
	},
	{
		Name: "route", Path: "routes", Key: "route_key", valid: textlimit.RouteKey, rule: "1 to 128 letters, digits and . : _ -",
		Defaults: map[string]string{
			"enabled": "true", "profile": `"readonly"`, "target_config": "{}", "retry.max": "0", "retry.backoff_ms": "5000",
			"tools.max_calls": "5", "budget.enabled": "true",
		},
		columns: []column{
			{"ROUTE", "route_key"}, {"ENABLED", "enabled"}, {"TARGET", "target"}, {"CREDENTIAL", "target_config.credential"},
			{"SESSIONS", "session_policy"}, {"TOOLS FROM", "tools.sources"}, {"NAME", "name"},
		},
	},
	{
		Name: "client", Path: "clients", Key: "app_id", valid: textlimit.ResourceName, rule: resourceRule,
		Computed: []string{"token", "last_used_at"},
		Defaults: map[string]string{"allowed_channels": "[]", "rate_limit_per_min": "60", "enabled": "true", "budget.enabled": "true"},
		columns: []column{
			{"CLIENT", "app_id"}, {"ENABLED", "enabled"}, {"PER MIN", "rate_limit_per_min"}, {"TOKEN", "token"},
			{"ROUTES", "allowed_routes"}, {"NAME", "name"},
		},
	},
}

// column is a column of a list: its head and the member below it.
type column struct{ head, member string }

// KindNamed is the kind with this name or path, nil when there is none.
func KindNamed(name string) *Kind {
	for _, k := range Kinds {
		if k.Name == name || k.Path == name {
			return k
		}
	}
	return nil
}

// computed reports whether the hub alone decides a member.
func (k *Kind) computed(member string) bool {
	return member == "revision" || slices.Contains(k.Computed, member)
}

// Plural is how several objects are called in sentences.
func (k *Kind) Plural() string { return strings.ReplaceAll(k.Path, "-", " ") }

// oneName checks the single argument of a command.
func (k *Kind) oneName(args []string) (string, error) {
	if len(args) != 1 {
		return "", cli.Usagef("give the name of one %s", k.Name)
	}
	if !k.valid(args[0]) {
		return "", cli.Usagef("%q is no name of a %s: %s", args[0], k.Name, k.rule)
	}
	return args[0], nil
}
