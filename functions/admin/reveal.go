package admin

import "net/http"

type revealedToken struct {
	AppID string `json:"app_id"`
	Token string `json:"token"`
}

type revealedSecret struct {
	Name   string `json:"name"`
	Secret string `json:"secret"`
}

// RevealToken serves GET /admin/api/clients/{app_id}/token: the token in clear text, once that is on record (core §10.2).
// It needs the permission to write clients.
func (h *Handler) RevealToken(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("app_id")
	token, err := h.d.Registry.RevealToken(r.Context(), id, change(r))
	answer(w, r, revealedToken{id, token}, err)
}

// RevealSecret serves GET /admin/api/tool-providers/{name}/secret: the secret in clear text, once that is on record. It needs
// the permission to write tool providers.
func (h *Handler) RevealSecret(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	secret, err := h.d.Registry.RevealSecret(r.Context(), name, change(r))
	answer(w, r, revealedSecret{name, secret}, err)
}
