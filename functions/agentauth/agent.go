package agentauth

import (
	"net/http"

	"bailing/shared/lambdahttp"
)

// CreateAuthorization serves POST /agent-auth/v1/authorizations (agent §2.2).
func (h *Handler) CreateAuthorization(w http.ResponseWriter, r *http.Request) {
	created, err := h.sessions.Create(r.Context(), readBody(r, h.bodyMax), source(r))
	answer(w, r, http.StatusCreated, created, err)
}

// IssueTokens serves POST /agent-auth/v1/token (agent §2.7, §2.8).
func (h *Handler) IssueTokens(w http.ResponseWriter, r *http.Request) {
	tokens, err := h.sessions.Token(r.Context(), readBody(r, h.bodyMax))
	answer(w, r, http.StatusOK, tokens, err)
}

// ReadSession serves GET /agent-auth/v1/session (agent §2.9).
func (h *Handler) ReadSession(w http.ResponseWriter, r *http.Request) {
	session, _, err := h.sessions.Authenticate(r.Context(), bearer(r))
	if err != nil {
		lambdahttp.WriteError(w, r, err)
		return
	}
	answer(w, r, http.StatusOK, session.View(), nil)
}

// RevokeTokens serves POST /agent-auth/v1/revoke (agent §2.10).
func (h *Handler) RevokeTokens(w http.ResponseWriter, r *http.Request) {
	err := h.sessions.Revoke(r.Context(), bearer(r), readBody(r, h.bodyMax))
	answer(w, r, http.StatusOK, revoked{true}, err)
}
