package permission_test

import (
	"slices"
	"strings"
	"testing"

	"bailing/shared/permission"
	"bailing/shared/topology"
)

func TestEveryAdminRouteHasItsPermission(t *testing.T) {
	t.Parallel()
	seen := 0
	for _, f := range topology.System().Functions {
		for _, r := range f.Routes {
			below, ok := permission.Below(r.Path)
			if !ok || r.Auth != topology.Admin {
				continue
			}
			seen++
			if _, known := permission.Required(r.Method, below); !known {
				t.Errorf("%s %s has no entry in the table of permissions: nobody may call it", r.Method, r.Path)
			}
		}
	}
	if seen == 0 {
		t.Error("the topology has no route for administrators")
	}
}

// calls are one read and one write of every row of core §10.2 and agent §10, and what each needs, written out.
var calls = []struct{ call, need string }{
	{"GET /api/projects", "projects:read"}, {"POST /api/projects", "projects:write"},
	{"GET /api/routes", "routes:read"}, {"POST /api/routes", "routes:write"}, {"DELETE /api/routes/{key}", "routes:write"},
	{"GET /api/routes/{key}/agent-setup", "routes:read"}, {"PUT /api/routes/{key}/agent-setup", "routes:write"},
	{"POST /api/routes/auto-preview", "routes:read"}, {"POST /api/routes/{key}/auto-preview", "routes:write"},
	{"GET /api/runs", "runs:read"}, {"GET /api/runs/{job}/trace", "runs:read"}, {"POST /api/runs/{job}/rerun", "runs:write"},
	{"GET /api/executors", "runs:read"}, {"POST /api/executors", "runs:write"},
	{"GET /api/executor-tokens", "runs:read"}, {"POST /api/executor-tokens", "runs:write"},
	{"GET /api/executor-tokens/{name}/token", "runs:write"},
	{"GET /api/tool-approvals", "runs:read"}, {"GET /api/tool-approvals/{id}", "runs:read"}, {"GET /api/tool-approvals/{id}/intent", "runs:write"},
	{"POST /api/tool-approvals/{id}/approve", "runs:write"}, {"POST /api/tool-approvals/{id}/deny", "runs:write"},
	{"GET /api/delivery-dlq", "runs:read"}, {"POST /api/delivery-dlq/{id}/resend", "runs:write"},
	{"GET /api/reconciliations", "runs:read"}, {"POST /api/reconciliations/{job}/{key}/close", "runs:write"},
	{"GET /api/threads", "runs:read"}, {"POST /api/threads/{id}/x", "runs:read"},
	{"GET /api/conversation-audits", "runs:read"}, {"POST /api/conversation-audits/x", "runs:read"},
	{"GET /api/status", "runs:read"}, {"POST /api/status", "unknown"},
	{"GET /api/dispatch-status", "runs:read"}, {"POST /api/dispatch-status", "unknown"},
	{"GET /api/cost", "runs:read"}, {"POST /api/cost", "unknown"},
	{"GET /api/chat-ratings", "runs:read"}, {"POST /api/chat-ratings", "unknown"},
	{"GET /api/clients", "clients:read"}, {"HEAD /api/clients", "clients:read"}, {"POST /api/clients", "clients:write"},
	{"GET /api/clients/{id}/token", "clients:write"}, {"GET /api/clients/{id}/secret", "clients:read"},
	{"GET /api/clients/{id}/agent-setup", "clients:read"}, {"PUT /api/clients/{id}/agent-setup", "clients:write"},
	{"GET /api/agent-clients/overview", "clients:read"}, {"POST /api/agent-clients/sessions/{id}/revoke", "clients:write"},
	{"GET /api/agent-tasks", "clients:read"}, {"POST /api/agent-tasks", "clients:write"},
	{"GET /api/credentials", "credentials:read"}, {"POST /api/credentials/{name}/verify", "credentials:write"},
	{"GET /api/storage-buckets", "storage:read"}, {"POST /api/storage-buckets", "storage:write"},
	{"GET /api/kb", "kb:read"}, {"POST /api/kb", "kb:write"}, {"POST /api/kb/{id}/hittest", "kb:read"}, {"PUT /api/kb/{id}/hittest", "kb:write"},
	{"GET /api/admins", "admins:manage"}, {"POST /api/admins", "admins:manage"}, {"DELETE /api/admins/{name}", "admins:manage"},
	{"GET /api/instance-branding", "admins:manage"}, {"POST /api/instance-branding", "admins:manage"},
	{"GET /api/targets", "targets:read"}, {"POST /api/targets", "targets:write"}, {"POST /api/targets/hittest", "targets:read"},
	{"GET /api/tool-providers", "tools:read"}, {"GET /api/tool-providers/{name}/tools", "tools:read"},
	{"GET /api/tool-providers/{name}/secret", "tools:write"}, {"POST /api/tool-providers/{name}/debug-invoke", "tools:write"},
	{"GET /api/chat-entries", "routes:read"}, {"POST /api/chat-entries", "routes:write"},
	{"GET /api/page-contexts", "routes:read"}, {"POST /api/page-contexts", "routes:write"},
	{"GET /api/channels", "channels:read"}, {"POST /api/channels", "channels:write"},
	{"GET /api/alert-rules", "channels:read"}, {"POST /api/alert-rules", "channels:write"},
	{"GET /api/audit-export", "audit:read runs:read tools:read"}, {"POST /api/audit-export", "unknown"},
	{"GET /api/config-audit", "audit:read"}, {"POST /api/config-audit", "audit:read"},
	{"GET /api/config-diagnostics", "audit:read"}, {"GET /api/config-schemas/{name}", "audit:read"},
	{"POST /api/smoke", "audit:read"}, {"GET /api/version", "audit:read"},
	{"GET /api/usage/billing/plans", "usage:read"}, {"POST /api/usage/billing/plans", "usage:write"},
	{"POST /api/usage/billing/grants", "usage:write usage:adjust"}, {"POST /api/usage/billing/{account}/resets", "usage:write usage:adjust"},
	{"GET /api/usage/billing/grants", "usage:read"},
	{"POST /pause", "system:write"}, {"POST /resume", "system:write"}, {"GET /pause", "unknown"},
	{"GET /api/me", ""}, {"GET /api/capabilities", ""}, {"POST /api/password", ""}, {"POST /logout", ""},
	{"POST /api/me", "unknown"}, {"GET /api/none", "unknown"}, {"GET /api", "unknown"}, {"GET /", "unknown"}, {"POST /login", "unknown"},
	{"GET /api/projectsx", "unknown"}, {"POST /api/hittest", "unknown"},
}

func TestWhatEachCallNeeds(t *testing.T) {
	t.Parallel()
	for _, c := range calls {
		method, path, _ := strings.Cut(c.call, " ")
		need, known := permission.Required(method, path)
		if known != (c.need != "unknown") {
			t.Errorf("%s: known %v", c.call, known)
		}
		var texts []string
		for _, p := range need {
			texts = append(texts, string(p))
		}
		if got := strings.Join(texts, " "); known && got != c.need {
			t.Errorf("%s needs %q, want %q", c.call, got, c.need)
		}
	}
}

// Whoever holds one permission can do exactly its rows, and what every administrator can.
func TestOnePermissionAllowsExactlyItsRows(t *testing.T) {
	t.Parallel()
	used := map[permission.Permission]bool{permission.All: true}
	for _, p := range permission.Vocabulary() {
		for _, c := range calls {
			if c.need == "unknown" {
				continue
			}
			method, path, _ := strings.Cut(c.call, " ")
			need, _ := permission.Required(method, path)
			needed := strings.Fields(c.need)
			want := p == permission.All || len(needed) == 0 || len(needed) == 1 && needed[0] == string(p)
			if got := (permission.Set{p}).Has(need...); got != want {
				t.Errorf("%s with %s alone: %v, want %v", c.call, p, got, want)
			}
			if slices.Contains(needed, string(p)) {
				used[p] = true
			}
		}
		if !used[p] {
			t.Errorf("no call needs %s", p)
		}
	}
}

func TestRoles(t *testing.T) {
	t.Parallel()
	for role, want := range map[permission.Role]permission.Set{
		"admin": {"*"}, "kb_editor": {"kb:read", "kb:write"}, "viewer": {"runs:read"}, "owner": nil, "": nil,
	} {
		if got := role.Permissions(); !slices.Equal(got, want) {
			t.Errorf("%s has %v, want %v", role, got, want)
		}
		if listed := slices.Contains(permission.Roles(), role); listed != (want != nil) {
			t.Errorf("%s is listed: %v", role, listed)
		}
		for _, p := range want {
			if !permission.Known(p) {
				t.Errorf("%s holds %s, which is no permission", role, p)
			}
		}
	}
}

func TestTheVocabularyIsClosed(t *testing.T) {
	t.Parallel()
	for _, p := range []permission.Permission{"", "routes", "routes:", "routes:delete", "Routes:read", "routes:*", "**"} {
		if permission.Known(p) {
			t.Errorf("%q is a permission", p)
		}
	}
}

func TestAnEmptySetMayOnlyWhatEverybodyMay(t *testing.T) {
	t.Parallel()
	if s := (permission.Set{}); !s.Has() || s.Has(permission.RunsRead) {
		t.Error("the empty set has more or less than nothing")
	}
	if s := (permission.Set{permission.UsageWrite}); s.Has(permission.UsageWrite, permission.UsageAdjust) {
		t.Error("one of two needed permissions is enough")
	}
}
