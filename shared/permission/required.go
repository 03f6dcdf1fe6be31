package permission

import (
	"slices"
	"strings"
)

// rule is what a prefix below /admin/api/ needs; "" where the contract has no such call.
type rule struct{ read, write Permission }

// rules are the tables of core §10.2 and agent §10, by the first segment below /admin/api/.
var rules = map[string]rule{
	"projects": {ProjectsRead, ProjectsWrite},

	"routes":        {RoutesRead, RoutesWrite},
	"chat-entries":  {RoutesRead, RoutesWrite},
	"page-contexts": {RoutesRead, RoutesWrite},

	"runs":                {RunsRead, RunsWrite},
	"executors":           {RunsRead, RunsWrite},
	"executor-tokens":     {RunsRead, RunsWrite},
	"tool-approvals":      {RunsRead, RunsWrite},
	"delivery-dlq":        {RunsRead, RunsWrite},
	"reconciliations":     {RunsRead, RunsWrite}, // ours
	"threads":             {RunsRead, RunsRead},
	"conversation-audits": {RunsRead, RunsRead},
	"status":              {RunsRead, ""},
	"dispatch-status":     {RunsRead, ""},
	"cost":                {RunsRead, ""},
	"chat-ratings":        {RunsRead, ""},

	"clients":       {ClientsRead, ClientsWrite},
	"agent-clients": {ClientsRead, ClientsWrite},
	"agent-tasks":   {ClientsRead, ClientsWrite},

	"credentials":     {CredentialsRead, CredentialsWrite},
	"storage-buckets": {StorageRead, StorageWrite},
	"kb":              {KBRead, KBWrite},
	"targets":         {TargetsRead, TargetsWrite},
	"tool-providers":  {ToolsRead, ToolsWrite},
	"channels":        {ChannelsRead, ChannelsWrite},
	"alert-rules":     {ChannelsRead, ChannelsWrite},
	"usage":           {UsageRead, UsageWrite},

	"admins":            {AdminsManage, AdminsManage},
	"instance-branding": {AdminsManage, AdminsManage},

	"audit-export":       {AuditRead, ""}, // ours; and [exported]
	"config-audit":       {AuditRead, AuditRead},
	"config-diagnostics": {AuditRead, AuditRead},
	"config-schemas":     {AuditRead, AuditRead},
	"smoke":              {AuditRead, AuditRead},
	"version":            {AuditRead, AuditRead},
}

// personal are the calls that every administrator may make.
var personal = []string{"GET /api/me", "GET /api/capabilities", "POST /api/password", "POST /logout"}

// reveals are the GETs that answer with a whole secret and need the write permission, by prefix and last segment.
var reveals = map[string]string{"clients": "token", "executor-tokens": "token", "tool-providers": "secret", "tool-approvals": "intent"}

// Required returns the permissions that a call needs, all of them; none when every administrator may make it. path is the
// resource below /admin, in the topology's notation ("/api/routes/{route_key}", "/pause"): a name that the caller chose
// must not choose the rule. known is false for what the contract does not list; refuse it.
func Required(method, path string) (need []Permission, known bool) {
	if slices.Contains(personal, method+" "+path) {
		return nil, true
	}
	if path == "/pause" || path == "/resume" {
		return []Permission{SystemWrite}, method == "POST"
	}
	below, ok := strings.CutPrefix(path, "/api/")
	if !ok {
		return nil, false
	}
	segments := strings.Split(below, "/")
	r, ok := rules[segments[0]]
	if !ok {
		return nil, false
	}
	p := r.write
	if reads(method, segments) {
		p = r.read
	}
	need = []Permission{p}
	if p == UsageWrite && adjusts(segments[1:]) {
		need = append(need, UsageAdjust)
	}
	if segments[0] == "audit-export" {
		need = append(need, exported...)
	}
	return need, p != ""
}

// exported is needed beside the audit's own permission to export it: an export holds what the lists show only to those who hold these.
var exported = []Permission{RunsRead, ToolsRead}

// reads reports whether a call needs only the read permission.
func reads(method string, segments []string) bool {
	last := segments[len(segments)-1]
	switch method {
	case "GET", "HEAD":
		return len(segments) != 3 || reveals[segments[0]] != last
	case "POST":
		return len(segments) > 1 && last == "hittest" || slices.Equal(segments, []string{"routes", "auto-preview"})
	}
	return false
}

// adjusts reports whether a write below usage gives or resets an allowance.
func adjusts(segments []string) bool {
	return slices.ContainsFunc(segments, func(s string) bool { return s == "grants" || s == "resets" })
}

// Below returns the part of a resource path below /admin, as [Required] takes it; ok is false for another path.
func Below(resource string) (path string, ok bool) {
	path, ok = strings.CutPrefix(resource, "/admin")
	return path, ok && strings.HasPrefix(path, "/")
}
