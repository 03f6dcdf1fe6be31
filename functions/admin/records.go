package admin

import (
	"context"
	"net/http"

	"bailing/shared/canonical"
	"bailing/shared/registry"
)

// saved is the answer to a save (core §10.3).
type saved struct {
	OK bool `json:"ok"`
}

type savedRoute struct {
	OK       bool     `json:"ok"`
	Warnings []string `json:"warnings,omitempty"`
}

type savedClient struct {
	OK    bool   `json:"ok"`
	AppID string `json:"app_id"`
	Token string `json:"token"`
}

// plain makes a command without a result one that save can run.
func plain(command func(context.Context, canonical.Value, registry.Change) error) func(context.Context, canonical.Value, registry.Change) (saved, error) {
	return func(ctx context.Context, v canonical.Value, c registry.Change) (saved, error) {
		return saved{OK: true}, command(ctx, v, c)
	}
}

func asIs(s saved) any { return s }

// ListTargets serves GET /admin/api/targets.
func (h *Handler) ListTargets(w http.ResponseWriter, r *http.Request) {
	list(w, r, h.d.Registry.ListTargets)
}

// SaveTargets serves POST /admin/api/targets.
func (h *Handler) SaveTargets(w http.ResponseWriter, r *http.Request) {
	save(w, r, h.d.BodyMax, plain(h.d.Registry.SaveTarget), asIs)
}

// ListCredentials serves GET /admin/api/credentials.
func (h *Handler) ListCredentials(w http.ResponseWriter, r *http.Request) {
	list(w, r, h.d.Registry.ListCredentials)
}

// SaveCredentials serves POST /admin/api/credentials.
func (h *Handler) SaveCredentials(w http.ResponseWriter, r *http.Request) {
	save(w, r, h.d.BodyMax, plain(h.d.Registry.SaveCredential), asIs)
}

// ListRoutes serves GET /admin/api/routes.
func (h *Handler) ListRoutes(w http.ResponseWriter, r *http.Request) {
	list(w, r, h.d.Registry.ListRoutes)
}

// SaveRoutes serves POST /admin/api/routes.
func (h *Handler) SaveRoutes(w http.ResponseWriter, r *http.Request) {
	save(w, r, h.d.BodyMax, h.d.Registry.SaveRoute, func(s registry.RouteSaved) any {
		return savedRoute{OK: true, Warnings: s.Warnings}
	})
}

// ListClients serves GET /admin/api/clients.
func (h *Handler) ListClients(w http.ResponseWriter, r *http.Request) {
	list(w, r, h.d.Registry.ListClients)
}

// SaveClients serves POST /admin/api/clients. The answer carries the client's token in clear text, every time.
func (h *Handler) SaveClients(w http.ResponseWriter, r *http.Request) {
	save(w, r, h.d.BodyMax, h.d.Registry.SaveClient, func(s registry.ClientSaved) any {
		return savedClient{OK: true, AppID: s.AppID, Token: s.Token}
	})
}
