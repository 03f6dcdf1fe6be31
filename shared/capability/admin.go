package capability

import "encoding/json"

// AdminTool is the snake-case form of a tool in admin answers (D36).
type AdminTool struct {
	Name            string              `json:"name"`
	Source          string              `json:"source"`
	SchemaVersion   string              `json:"schema_version"`
	Method          string              `json:"method"`
	Path            string              `json:"path"`
	Scope           string              `json:"scope"`
	Risk            Risk                `json:"risk"`
	ConfirmRequired bool                `json:"confirm_required"`
	ConfirmWhen     []Rule              `json:"confirm_when"`
	RequiresSubject bool                `json:"requires_subject"`
	Sensitive       bool                `json:"sensitive"`
	Readonly        bool                `json:"readonly"`
	Idempotent      bool                `json:"idempotent"`
	TimeoutMs       int64               `json:"timeout_ms"`
	RateLimitPerMin int64               `json:"rate_limit_per_min"`
	ConfirmPrompt   string              `json:"confirm_prompt"`
	Context         []string            `json:"context"`
	Extensions      json.RawMessage     `json:"extensions"`
	Parameters      json.RawMessage     `json:"parameters"`
	ParamIn         map[string]Location `json:"param_in"`
	Description     string              `json:"description"`
}

// AdminView is the tool as `GET /admin/api/tool-providers/{name}/tools` shows it.
func (t *Tool) AdminView() AdminTool {
	rules := t.ConfirmWhen
	if rules == nil {
		rules = []Rule{}
	}
	return AdminTool{
		Name: t.Name, Source: t.Source, SchemaVersion: t.SchemaVersion, Method: t.Method, Path: t.Path,
		Scope: t.Scope, Risk: t.Risk, ConfirmRequired: t.ConfirmRequired, ConfirmWhen: rules,
		RequiresSubject: t.RequiresSubject, Sensitive: t.Sensitive, Readonly: t.Readonly, Idempotent: t.Idempotent,
		TimeoutMs: t.TimeoutMs, RateLimitPerMin: t.RateLimitPerMin, ConfirmPrompt: t.ConfirmPrompt,
		Context: t.Context, Extensions: t.Extensions, Parameters: t.InputSchema, ParamIn: t.ParamIn,
		Description: t.Description,
	}
}
