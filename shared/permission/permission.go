package permission

import "slices"

// Permission allows a kind of calls.
type Permission string

// All allows everything.
const All Permission = "*"

const (
	ProjectsRead     Permission = "projects:read"
	ProjectsWrite    Permission = "projects:write"
	RoutesRead       Permission = "routes:read"
	RoutesWrite      Permission = "routes:write"
	RunsRead         Permission = "runs:read"
	RunsWrite        Permission = "runs:write"
	ClientsRead      Permission = "clients:read"
	ClientsWrite     Permission = "clients:write"
	CredentialsRead  Permission = "credentials:read"
	CredentialsWrite Permission = "credentials:write"
	StorageRead      Permission = "storage:read"
	StorageWrite     Permission = "storage:write"
	KBRead           Permission = "kb:read"
	KBWrite          Permission = "kb:write"
	TargetsRead      Permission = "targets:read"
	TargetsWrite     Permission = "targets:write"
	ToolsRead        Permission = "tools:read"
	ToolsWrite       Permission = "tools:write"
	ChannelsRead     Permission = "channels:read"
	ChannelsWrite    Permission = "channels:write"
	UsageRead        Permission = "usage:read"
	UsageWrite       Permission = "usage:write"
	UsageAdjust      Permission = "usage:adjust" // grants and resets, beside usage:write (agent §10)
	AdminsManage     Permission = "admins:manage"
	AuditRead        Permission = "audit:read"
	SystemWrite      Permission = "system:write"
)

// vocabulary is every permission that an account may carry, in the order of core §10.2, then those of agent §10.
var vocabulary = []Permission{
	All,
	ProjectsRead, ProjectsWrite, RoutesRead, RoutesWrite, RunsRead, RunsWrite, ClientsRead, ClientsWrite,
	CredentialsRead, CredentialsWrite, StorageRead, StorageWrite, KBRead, KBWrite, TargetsRead, TargetsWrite,
	ToolsRead, ToolsWrite, ChannelsRead, ChannelsWrite, AdminsManage, AuditRead, SystemWrite,
	UsageRead, UsageWrite, UsageAdjust,
}

// Vocabulary returns every permission.
func Vocabulary() []Permission { return slices.Clone(vocabulary) }

// Known reports whether p is of the vocabulary.
func Known(p Permission) bool { return slices.Contains(vocabulary, p) }

// Set is the permissions that somebody holds.
type Set []Permission

// Has reports whether s holds every one of need; nothing is needed of anybody when need is empty.
func (s Set) Has(need ...Permission) bool {
	if slices.Contains(s, All) {
		return true
	}
	for _, p := range need {
		if !slices.Contains(s, p) {
			return false
		}
	}
	return true
}

// Role is a named set of permissions (core §10.2).
type Role string

const (
	Admin    Role = "admin"
	KBEditor Role = "kb_editor"
	Viewer   Role = "viewer"
)

// Roles returns every role.
func Roles() []Role { return []Role{Admin, KBEditor, Viewer} }

// Permissions are those of the role; none for a role that does not exist.
func (r Role) Permissions() Set {
	switch r {
	case Admin:
		return Set{All}
	case KBEditor:
		return Set{KBRead, KBWrite}
	case Viewer:
		return Set{RunsRead}
	}
	return nil
}
