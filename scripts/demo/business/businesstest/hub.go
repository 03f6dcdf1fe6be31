package businesstest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"bailing/shared/clock"
)

// Token is the Client Token of [Client].
const Token = "client-token-canary-7c1f"

// Client and its routes.
const Client = "demo-app"

// Code begins every code of this hub.
const Code = "bhc_"

// Request is an agent's wish to be let in.
type Request struct {
	ClientName string // "" = "Demo client"
	Device     string
	Routes     []string
	RedirectTo string // the agent's redirect_uri
	State      string
}

// Decision is what a business said.
type Decision struct {
	Approved bool
	Body     map[string]any
}

type entry struct {
	Request
	status  string
	expires time.Time
	said    []Decision
}

// Hub is an http.Handler that is safe for concurrent use.
type Hub struct {
	clock clock.Clock
	mux   *http.ServeMux

	mu       sync.Mutex
	allowed  []string // routes of the client
	redirect string   // answered instead of the agent's address, unless ""
	broken   http.HandlerFunc
	entries  map[string]*entry
	tokens   []string // of every request, as they came
}

// New is a hub whose only client may use the given routes.
func New(c clock.Clock, allowed ...string) *Hub {
	h := &Hub{clock: c, mux: http.NewServeMux(), allowed: allowed, entries: map[string]*entry{}}
	const path = "/agent-auth/v1/authorizations/{id}"
	h.mux.HandleFunc("GET "+path, h.business(h.context))
	h.mux.HandleFunc("POST "+path+"/approve", h.business(h.approve))
	h.mux.HandleFunc("POST "+path+"/deny", h.business(h.deny))
	return h
}

// Create opens an authorization for ten minutes and returns its id.
func (h *Hub) Create(r Request) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	id := uuid.NewString()
	h.entries[id] = &entry{Request: r, status: "pending", expires: h.clock.Now().Add(10 * time.Minute)}
	return id
}

// Set puts an authorization into a state.
func (h *Hub) Set(id, status string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.entries[id].status = status
}

// Allow replaces the routes of the client.
func (h *Hub) Allow(routes ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.allowed = routes
}

// SendElsewhere makes decisions answer with this address.
func (h *Hub) SendElsewhere(redirect string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.redirect = redirect
}

// Break makes f answer everything; nil mends the hub.
func (h *Hub) Break(f http.HandlerFunc) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.broken = f
}

// Said lists the decisions about an authorization that counted.
func (h *Hub) Said(id string) []Decision {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.entries[id].said)
}

// Tokens lists the Authorization headers of all requests.
func (h *Hub) Tokens() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.tokens)
}

func (h *Hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.tokens = append(h.tokens, r.Header.Get("Authorization"))
	broken := h.broken
	h.mu.Unlock()
	if broken != nil {
		broken(w, r)
		return
	}
	h.mux.ServeHTTP(w, r)
}

func (h *Hub) business(f func(id string, e *entry, body map[string]any) (int, any)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		defer h.mu.Unlock()
		id := strings.ToLower(r.PathValue("id"))
		e := h.entries[id]
		body := map[string]any{}
		status, answer := http.StatusNotFound, any(failure("not_found"))
		switch {
		case r.Header.Get("Authorization") != "Bearer "+Token:
			status, answer = http.StatusUnauthorized, failure("unauthorized")
		case r.Method == http.MethodPost && json.NewDecoder(r.Body).Decode(&body) != nil:
			status, answer = http.StatusBadRequest, failure("invalid_request")
		case e != nil:
			status, answer = f(id, e, body)
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(answer)
	}
}

func failure(code string) map[string]any { return map[string]any{"error": code} }

func (h *Hub) context(id string, e *entry, _ map[string]any) (int, any) {
	status, name := e.status, e.ClientName
	if status == "pending" && !h.clock.Now().Before(e.expires) {
		status = "expired"
	}
	if name == "" {
		name = "Demo client"
	}
	return http.StatusOK, map[string]any{
		"authorization_id": id, "client": map[string]any{"app_id": Client, "name": name}, "device": map[string]any{"name": e.Device},
		"requested_routes": e.Routes, "status": status, "expires_at": e.expires.Format("2006-01-02T15:04:05.000Z"),
	}
}

func (h *Hub) approve(id string, e *entry, body map[string]any) (int, any) {
	routes, _ := body["allowed_routes"].([]any)
	who, _ := body["principal"].(map[string]any)
	if len(routes) == 0 || who["id"] == nil || body["on_behalf_of"] == nil {
		return http.StatusBadRequest, failure("invalid_request")
	}
	for _, route := range routes {
		if key, _ := route.(string); !slices.Contains(h.allowed, key) || !slices.Contains(e.Routes, key) {
			return http.StatusForbidden, failure("route_not_allowed")
		}
	}
	return h.decide(e, Decision{true, body}, "approved", "code", Code+strings.ReplaceAll(id, "-", "")+"0123456789")
}

func (h *Hub) deny(_ string, e *entry, body map[string]any) (int, any) {
	if len(body) > 0 {
		return http.StatusBadRequest, failure("invalid_request")
	}
	return h.decide(e, Decision{false, body}, "denied", "error", "access_denied")
}

func (h *Hub) decide(e *entry, d Decision, status, name, value string) (int, any) {
	switch {
	case !h.clock.Now().Before(e.expires):
		return http.StatusGone, failure("expired")
	case e.status != "pending":
		return http.StatusConflict, failure("invalid_state")
	}
	u, err := url.Parse(e.RedirectTo)
	if err != nil {
		return http.StatusInternalServerError, failure("internal")
	}
	q := u.Query()
	q.Set(name, value)
	q.Set("state", e.State)
	u.RawQuery = q.Encode()
	e.status, e.said = status, append(e.said, d)
	if h.redirect != "" {
		return http.StatusOK, map[string]any{"redirect_uri": h.redirect}
	}
	return http.StatusOK, map[string]any{"redirect_uri": u.String()}
}
