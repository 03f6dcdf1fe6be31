package admin

import (
	"net/http"
	"strconv"

	"bailing/shared/apierr"
	"bailing/shared/canonical"
	"bailing/shared/lambdahttp"
	"bailing/shared/registry"
)

// RouteSetup serves GET /admin/api/routes/{route_key}/agent-setup (agent §10.1).
func (h *Handler) RouteSetup(w http.ResponseWriter, r *http.Request) {
	setup, err := h.d.Registry.RouteSetup(r.Context(), r.PathValue("route_key"))
	answer(w, r, setup, err)
}

// SaveRouteSetup serves PUT /admin/api/routes/{route_key}/agent-setup.
func (h *Handler) SaveRouteSetup(w http.ResponseWriter, r *http.Request) {
	key := r.PathValue("route_key")
	// Whether the route exists is answered before the body is looked at.
	_, err := h.d.Registry.RouteSetup(r.Context(), key)
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	body, err := setupBody(r, registry.MaxRouteSetupBytes, registry.CodeInvalidRequest)
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	setup, err := h.d.Registry.SaveRouteSetup(r.Context(), key, body, change(r))
	answer(w, r, setup, err)
}

// ClientSetup serves GET /admin/api/clients/{app_id}/agent-setup (agent §10.2).
func (h *Handler) ClientSetup(w http.ResponseWriter, r *http.Request) {
	setup, err := h.d.Registry.ClientSetup(r.Context(), r.PathValue("app_id"))
	answer(w, r, setup, err)
}

// SaveClientSetup serves PUT /admin/api/clients/{app_id}/agent-setup.
func (h *Handler) SaveClientSetup(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("app_id")
	_, err := h.d.Registry.ClientSetup(r.Context(), id)
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	body, err := setupBody(r, registry.MaxClientSetupBytes, registry.CodeInvalidSetup)
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	setup, err := h.d.Registry.SaveClientSetup(r.Context(), id, body, change(r))
	answer(w, r, setup, err)
}

// setupBody reads the body of a setup. One that is too large is 413 (core §0.1); one that is no JSON is 400 with code.
func setupBody(r *http.Request, max int64, code string) (canonical.Value, error) {
	body, err := lambdahttp.ReadJSON(r, max)
	if apierr.CodeOf(err) == apierr.Invalid {
		err = apierr.Wrap(apierr.Invalid, code, err).With("message", apierr.Of(err).Message)
	}
	return body, err
}

// AgentOverview serves GET /admin/api/agent-clients/overview (agent §10.4). days is pulled into 1 to 90; without a number it
// is 30.
func (h *Handler) AgentOverview(w http.ResponseWriter, r *http.Request) {
	days, err := strconv.Atoi(r.URL.Query().Get("days"))
	if err != nil {
		days = registry.DefaultOverviewDays
	}
	overview, err := h.d.Registry.AgentOverview(r.Context(), days)
	if err == nil {
		err = h.countSessions(r.Context(), &overview)
	}
	answer(w, r, overview, err)
}
