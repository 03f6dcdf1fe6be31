package admin

import (
	"context"
	"net/http"

	"bailing/shared/registry"
)

// deletedRoute is the answer to a deleted route. Warnings are left out when there are none.
type deletedRoute struct {
	OK       bool     `json:"ok"`
	Warnings []string `json:"warnings,omitempty"`
}

// remove runs a command that deletes what the path names. A name that nothing is called, or could be called, is deleted
// already (core §10.3); what a route refers to is 409 with referred_by.
func remove(w http.ResponseWriter, r *http.Request, command func(context.Context, string, registry.Change) error, variable string) {
	err := command(r.Context(), r.PathValue(variable), change(r))
	answer(w, r, saved{OK: true}, err)
}

// DeleteTargets serves DELETE /admin/api/targets/{name}.
func (h *Handler) DeleteTargets(w http.ResponseWriter, r *http.Request) {
	remove(w, r, h.d.Registry.DeleteTarget, "name")
}

// DeleteCredentials serves DELETE /admin/api/credentials/{name}.
func (h *Handler) DeleteCredentials(w http.ResponseWriter, r *http.Request) {
	remove(w, r, h.d.Registry.DeleteCredential, "name")
}

// DeleteProviders serves DELETE /admin/api/tool-providers/{name}.
func (h *Handler) DeleteProviders(w http.ResponseWriter, r *http.Request) {
	remove(w, r, h.d.Registry.DeleteProvider, "name")
}

// DeleteRoutes serves DELETE /admin/api/routes/{route_key}.
func (h *Handler) DeleteRoutes(w http.ResponseWriter, r *http.Request) {
	d, err := h.d.Registry.DeleteRoute(r.Context(), r.PathValue("route_key"), change(r))
	answer(w, r, deletedRoute{OK: true, Warnings: d.Warnings}, err)
}

// DeleteClients serves DELETE /admin/api/clients/{app_id}.
func (h *Handler) DeleteClients(w http.ResponseWriter, r *http.Request) {
	remove(w, r, h.d.Registry.DeleteClient, "app_id")
}
