package admin

import (
	"context"
	"net/http"
	"strings"

	"bailing/shared/account"
	"bailing/shared/canonical"
	"bailing/shared/lambdahttp"
	"bailing/shared/permission"
	"bailing/shared/registry"
	"bailing/shared/topology"
)

type loggedIn struct {
	OK          bool   `json:"ok"`
	Username    string `json:"username"`
	DisplayName string `json:"display_name"`
}

// Login serves POST /admin/login. It needs no identity. A page of another host may not log a browser in: its owner would be somebody
// else without noticing.
func (h *Handler) Login(w http.ResponseWriter, r *http.Request) {
	in, err := h.login(r)
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	setSession(w, r, in.Token)
	answer(w, r, loggedIn{OK: true, Username: in.Username, DisplayName: in.DisplayName}, nil)
}

func (h *Handler) login(r *http.Request) (account.LoggedIn, error) {
	if fromElsewhere(r) {
		return account.LoggedIn{}, errCrossSite
	}
	body, err := lambdahttp.ReadJSON(r, h.d.BodyMax)
	if err != nil {
		return account.LoggedIn{}, err
	}
	return h.d.Accounts.Login(r.Context(), body, clientAddress(r))
}

// Logout serves POST /admin/logout. It answers the same without a session.
func (h *Handler) Logout(w http.ResponseWriter, r *http.Request) {
	if fromElsewhere(r) {
		lambdahttp.WriteError(w, r, errCrossSite)
		return
	}
	err := h.d.Accounts.Logout(r.Context(), sessionToken(r))
	if err == nil {
		setSession(w, r, "")
	}
	answer(w, r, saved{OK: true}, err)
}

// me is the caller of the administration (core §10.1, D36).
type me struct {
	Username     string          `json:"username"`
	Via          account.Via     `json:"via"`
	Role         permission.Role `json:"role"`
	Perms        permission.Set  `json:"perms"`
	Capabilities capabilities    `json:"capabilities"`
}

// Me serves GET /admin/api/me.
func (h *Handler) Me(w http.ResponseWriter, r *http.Request) {
	i := who(r)
	answer(w, r, me{Username: i.Username, Via: i.Via, Role: i.Role, Perms: i.Perms, Capabilities: edition()}, nil)
}

// capabilities are what this edition of the hub has.
type capabilities struct {
	Edition string         `json:"edition"`
	Console string         `json:"console"`
	Modules []string       `json:"modules"`
	Limits  map[string]int `json:"limits"`
}

// Capabilities serves GET /admin/api/capabilities.
func (h *Handler) Capabilities(w http.ResponseWriter, r *http.Request) { answer(w, r, edition(), nil) }

// modules are the areas of administration, in the reference's order, each with the path that shows that it is there.
var modules = []struct{ name, path string }{
	{"routes", "/admin/api/routes"}, {"clients", "/admin/api/clients"}, {"chat", "/admin/api/chat-entries"},
	{"channels", "/admin/api/channels"}, {"targets", "/admin/api/targets"}, {"tools", "/admin/api/tool-providers"},
	{"kb", "/admin/api/kb"}, {"credentials", "/admin/api/credentials"}, {"storage", "/admin/api/storage-buckets"},
	{"projects", "/admin/api/projects"}, {"runs", "/admin/api/runs"}, {"executors", "/admin/api/executors"},
	{"cost", "/admin/api/cost"}, {"approvals", "/admin/api/tool-approvals"}, {"system", "/admin/pause"},
	{"settings", "/admin/api/instance-branding"}, {"diagnostics", "/admin/api/config-diagnostics"},
	{"accounts", "/admin/api/admins"}, {"audit", "/admin/api/config-audit"},
}

// edition says which modules this version serves.
func edition() capabilities {
	c := capabilities{Edition: "oss", Console: "single", Modules: []string{}, Limits: map[string]int{}}
	f, _ := topology.System().FunctionNamed("admin")
	for _, m := range modules {
		for _, r := range f.Routes {
			if r.Path == m.path || strings.HasPrefix(r.Path, m.path+"/") {
				c.Modules = append(c.Modules, m.name)
				break
			}
		}
	}
	return c
}

// ChangePassword serves POST /admin/api/password.
func (h *Handler) ChangePassword(w http.ResponseWriter, r *http.Request) {
	save(w, r, h.d.BodyMax, plain(func(ctx context.Context, body canonical.Value, c registry.Change) error {
		return h.d.Accounts.ChangePassword(ctx, who(r), body, clientAddress(r), c)
	}), asIs)
}

// ListAdmins serves GET /admin/api/admins.
func (h *Handler) ListAdmins(w http.ResponseWriter, r *http.Request) { list(w, r, h.d.Accounts.List) }

type savedAdmin struct {
	OK       bool   `json:"ok"`
	Username string `json:"username"`
	Password string `json:"password,omitempty"` // generated, in clear text this once
}

// SaveAdmins serves POST /admin/api/admins.
func (h *Handler) SaveAdmins(w http.ResponseWriter, r *http.Request) {
	save(w, r, h.d.BodyMax, func(ctx context.Context, body canonical.Value, c registry.Change) (account.Saved, error) {
		return h.d.Accounts.Save(ctx, who(r), body, c)
	}, func(s account.Saved) any {
		return savedAdmin{OK: true, Username: s.Username, Password: s.Password}
	})
}

// DeleteAdmins serves DELETE /admin/api/admins/{username}.
func (h *Handler) DeleteAdmins(w http.ResponseWriter, r *http.Request) {
	err := h.d.Accounts.Delete(r.Context(), who(r), r.PathValue("username"), change(r))
	answer(w, r, saved{OK: true}, err)
}
