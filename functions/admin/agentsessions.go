package admin

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"bailing/shared/agentsession"
	"bailing/shared/apierr"
	"bailing/shared/lambdahttp"
	"bailing/shared/registry"
	"bailing/shared/textlimit"
)

// AgentSessions is what administrators do with the sessions of local agents.
type AgentSessions interface {
	List(ctx context.Context, clients []string, q agentsession.CentreQuery) (agentsession.CentrePage, error)
	Count(ctx context.Context, clients []string) (map[string]agentsession.Counts, error)
	Revoke(ctx context.Context, id string, change registry.Change) (already bool, err error)
}

// ListAgentSessions serves GET /admin/api/agent-clients/sessions (agent §10.4): of one client, which may be deleted by now, or of all.
func (h *Handler) ListAgentSessions(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	clients := []string{q.Get("client_app_id")}
	if clients[0] == "" {
		views, err := h.d.Registry.ListClients(r.Context())
		if err != nil {
			lambdahttp.WriteError(w, r, err)
			return
		}
		clients = clients[:0]
		for i := range views {
			clients = append(clients, views[i].AppID)
		}
	}
	page, err := h.d.AgentSessions.List(r.Context(), clients, agentsession.CentreQuery{
		State: sessionState(q.Get("state")), Limit: number(q, "limit", agentsession.DefaultCentrePage), Offset: number(q, "offset", 0),
	})
	answer(w, r, page, err)
}

// sessionState is the state that a query asks for; "", which is every state, for anything else (agent §10.4).
func sessionState(text string) agentsession.SessionState {
	switch s := agentsession.SessionState(text); s {
	case agentsession.SessionActive, agentsession.SessionExpired, agentsession.SessionRevoked:
		return s
	}
	return ""
}

// number is a parameter as a number, fallback for anything else. What is out of range is pulled into it by the command.
func number(q url.Values, name string, fallback int) int {
	n, err := strconv.Atoi(q.Get(name))
	if err != nil {
		return fallback
	}
	return n
}

type sessionRevoked struct {
	OK             bool   `json:"ok"`
	SessionID      string `json:"session_id"`
	Revoked        bool   `json:"revoked,omitempty"`
	AlreadyRevoked bool   `json:"already_revoked,omitempty"`
}

// RevokeAgentSession serves POST /admin/api/agent-clients/sessions/{id}/revoke (agent §10.4). Its record names who did it; of a session
// that is revoked already nothing is written.
func (h *Handler) RevokeAgentSession(w http.ResponseWriter, r *http.Request) {
	id, ok := textlimit.NormalizeUUID(r.PathValue("id"))
	if !ok {
		lambdahttp.WriteError(w, r, apierr.New(apierr.NotFound, "there is no such session"))
		return
	}
	already, err := h.d.AgentSessions.Revoke(r.Context(), id, change(r))
	answer(w, r, sessionRevoked{OK: true, SessionID: id, Revoked: !already, AlreadyRevoked: already}, err)
}

// countSessions adds what the agents of each client hold to an overview.
func (h *Handler) countSessions(ctx context.Context, o *registry.AgentOverview) error {
	clients := make([]string, len(o.Applications))
	for i := range o.Applications {
		clients[i] = o.Applications[i].AppID
	}
	counts, err := h.d.AgentSessions.Count(ctx, clients)
	if err != nil {
		return err
	}
	for i := range o.Applications {
		n := counts[o.Applications[i].AppID]
		if !n.LastSeenAt.IsZero() {
			seen := n.LastSeenAt.UTC().Format("2006-01-02T15:04:05.000Z")
			o.Applications[i].LastUsedAt = &seen
		}
		sum := &o.Summary.Sessions
		sum.Active, sum.Expired, sum.Revoked = sum.Active+n.Active, sum.Expired+n.Expired, sum.Revoked+n.Revoked
		sum.Total += n.Active + n.Expired + n.Revoked
	}
	return nil
}
