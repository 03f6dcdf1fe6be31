package agentauth

import (
	"net/http"

	"bailing/shared/lambdahttp"
	"bailing/shared/registry"
	"bailing/shared/textlimit"
)

// asBusiness answers with what serve answers for the client whose token the request carries, and the id of its path. An id that is none
// makes the path one that nobody serves, whoever asks (agent §2.1).
func (h *Handler) asBusiness(w http.ResponseWriter, r *http.Request, serve func(client *registry.Client, id string) (any, error)) {
	id, ok := textlimit.NormalizeUUID(r.PathValue("id"))
	if !ok {
		h.Unknown(w, r)
		return
	}
	client, err := h.sessions.Business(r.Context(), bearer(r))
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	v, err := serve(client, id)
	answer(w, r, http.StatusOK, v, err)
}

// ReadAuthorization serves GET /agent-auth/v1/authorizations/{id} (agent §2.3).
func (h *Handler) ReadAuthorization(w http.ResponseWriter, r *http.Request) {
	h.asBusiness(w, r, func(client *registry.Client, id string) (any, error) {
		return h.sessions.Context(r.Context(), client, id)
	})
}

// ApproveAuthorization serves POST /agent-auth/v1/authorizations/{id}/approve (agent §2.4).
func (h *Handler) ApproveAuthorization(w http.ResponseWriter, r *http.Request) {
	h.asBusiness(w, r, func(client *registry.Client, id string) (any, error) {
		return h.sessions.Approve(r.Context(), client, id, readBody(r, h.bodyMax))
	})
}

// DenyAuthorization serves POST /agent-auth/v1/authorizations/{id}/deny (agent §2.5).
func (h *Handler) DenyAuthorization(w http.ResponseWriter, r *http.Request) {
	h.asBusiness(w, r, func(client *registry.Client, id string) (any, error) {
		return h.sessions.Deny(r.Context(), client, id, readBody(r, h.bodyMax))
	})
}

// RevokeAuthorization serves POST /agent-auth/v1/authorizations/{id}/revoke (agent §2.6).
func (h *Handler) RevokeAuthorization(w http.ResponseWriter, r *http.Request) {
	h.asBusiness(w, r, func(client *registry.Client, id string) (any, error) {
		return h.sessions.RevokeAuthorization(r.Context(), client, id, readBody(r, smallBody))
	})
}

// ListSessions serves GET /agent-auth/v1/sessions (agent §2.12).
func (h *Handler) ListSessions(w http.ResponseWriter, r *http.Request) {
	client, err := h.sessions.Business(r.Context(), bearer(r))
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	page, err := h.sessions.List(r.Context(), client, r.URL.RawQuery)
	answer(w, r, http.StatusOK, page, err)
}

// RevokeSession serves POST /agent-auth/v1/sessions/{id}/revoke (agent §2.11). Who proves nothing hears no more than that, also of an
// id that is none.
func (h *Handler) RevokeSession(w http.ResponseWriter, r *http.Request) {
	client, err := h.sessions.Business(r.Context(), bearer(r))
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	id, ok := textlimit.NormalizeUUID(r.PathValue("id"))
	if !ok {
		h.Unknown(w, r)
		return
	}
	answer(w, r, http.StatusOK, revoked{true}, h.sessions.RevokeSession(r.Context(), client, id))
}

// SetSubjectDisplay serves PUT /agent-auth/v1/sessions/{id}/subject-display (agent §2.13).
func (h *Handler) SetSubjectDisplay(w http.ResponseWriter, r *http.Request) {
	h.asBusiness(w, r, func(client *registry.Client, id string) (any, error) {
		return h.sessions.SetSubjectDisplay(r.Context(), client, id, readBody(r, smallBody))
	})
}
