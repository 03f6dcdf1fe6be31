package agentclienttest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
)

// What the stand-in knows.
const (
	ClientAppID = "depot-agent"
	Route       = "depot-desk"
)

// Calls of the surface.
const (
	Create  = "POST /agent-auth/v1/authorizations"
	Token   = "POST /agent-auth/v1/token"
	Session = "GET /agent-auth/v1/session"
	Revoke  = "POST /agent-auth/v1/revoke"
)

// Hub is a stand-in. Its answers are those of the specification, unless [Hub.Answer] says otherwise.
type Hub struct {
	URL string

	mu        sync.Mutex
	asked     []Asked
	answers   map[string]http.HandlerFunc
	consents  map[string]*consent // by authorization
	sessions  []*session
	presented map[string]int // refresh tokens
}

// Asked is a request that came.
type Asked struct {
	Call   string // "POST /agent-auth/v1/token"
	Header http.Header
	Body   map[string]any
}

type consent struct {
	redirect, state, challenge, device string
	routes                             []any
	code                               string // "" until approved, and once used
}

type session struct {
	id, access, refresh string
	used                []string
	revoked             bool
	device              string
	routes              []any
}

// Start starts a stand-in that ends with the test.
func Start(t testing.TB) *Hub {
	t.Helper()
	h := &Hub{answers: map[string]http.HandlerFunc{}, consents: map[string]*consent{}, presented: map[string]int{}}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	h.URL = srv.URL
	return h
}

// Answer lets f answer a call from now on; nil is the right answer again.
func (h *Hub) Answer(call string, f http.HandlerFunc) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answers[call] = f
}

// Asked are the requests that came.
func (h *Hub) Asked(call string) (found []Asked) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, a := range h.asked {
		if a.Call == call {
			found = append(found, a)
		}
	}
	return found
}

// Presented is how often each refresh token came.
func (h *Hub) Presented() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	counts := make(map[string]int, len(h.presented))
	for token, n := range h.presented {
		counts[token] = n
	}
	return counts
}

// Alive is how many sessions are not revoked.
func (h *Hub) Alive() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.sessions {
		if !s.revoked {
			n++
		}
	}
	return n
}

// RevokeAll ends every session, as a business does.
func (h *Hub) RevokeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.sessions {
		s.revoked = true
	}
}

// Approve is the business's page at authorizationURL: it gives consent and returns where the browser goes.
func (h *Hub) Approve(authorizationURL string) (redirect string, err error) {
	return h.decide(authorizationURL, func(c *consent, q url.Values) {
		c.code = secret("bhc_")
		q.Set("code", c.code)
	})
}

// Deny refuses consent.
func (h *Hub) Deny(authorizationURL string) (redirect string, err error) {
	return h.decide(authorizationURL, func(_ *consent, q url.Values) { q.Set("error", "access_denied") })
}

func (h *Hub) decide(authorizationURL string, f func(*consent, url.Values)) (string, error) {
	u, err := url.Parse(authorizationURL)
	if err != nil {
		return "", err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.consents[u.Query().Get("authorization_id")]
	if c == nil {
		return "", fmt.Errorf("no authorization at %s", authorizationURL)
	}
	target, err := url.Parse(c.redirect)
	if err != nil {
		return "", err
	}
	q := target.Query()
	f(c, q)
	q.Set("state", c.state)
	target.RawQuery = q.Encode()
	return target.String(), nil
}

// NewSession opens a session without a browser and returns its id and tokens.
func (h *Hub) NewSession() (id, access, refresh string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.open("Yard laptop 3", []any{Route})
	return s.id, s.access, s.refresh
}

func (h *Hub) open(device string, routes []any) *session {
	s := &session{id: newID(), access: secret("bha_"), refresh: secret("bhr_"), device: device, routes: routes}
	h.sessions = append(h.sessions, s)
	return s
}

// ServeHTTP answers.
func (h *Hub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	var body map[string]any
	if len(raw) > 0 && json.Unmarshal(raw, &body) != nil {
		refuse(w, http.StatusBadRequest, "invalid_request")
		return
	}
	call := r.Method + " " + r.URL.Path
	h.mu.Lock()
	h.asked = append(h.asked, Asked{call, r.Header.Clone(), body})
	if token, ok := body["refresh_token"].(string); ok && call == Token {
		h.presented[token]++
	}
	answer := h.answers[call]
	h.mu.Unlock()
	if answer != nil {
		answer(w, r)
		return
	}
	h.Serve(w, call, r.Header.Get("Authorization"), body)
}

// Serve gives the right answer to a call; an answer of [Hub.Answer] may do so before it misbehaves.
func (h *Hub) Serve(w http.ResponseWriter, call, authorization string, body map[string]any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	bearer := strings.TrimPrefix(authorization, "Bearer ")
	switch call {
	case Create:
		h.create(w, body)
	case Token:
		h.token(w, body)
	case Session:
		h.session(w, bearer)
	case Revoke:
		h.revoke(w, bearer, body)
	default:
		refuse(w, http.StatusNotFound, "not_found")
	}
}

func (h *Hub) create(w http.ResponseWriter, body map[string]any) {
	routes, _ := body["requested_routes"].([]any)
	c := &consent{routes: routes}
	for member, to := range map[string]*string{
		"redirect_uri": &c.redirect, "state": &c.state, "code_challenge": &c.challenge, "device_label": &c.device,
	} {
		*to, _ = body[member].(string)
	}
	u, err := url.Parse(c.redirect)
	if err != nil || u.Scheme != "http" || u.Hostname() != "127.0.0.1" || u.Port() == "" || len(c.state) < 8 || len(c.challenge) != 43 ||
		body["code_challenge_method"] != "S256" || len(body) != 7 || c.device == "" {
		refuse(w, http.StatusBadRequest, "invalid_request")
		return
	}
	if body["client_app_id"] != ClientAppID || !slices.Equal(routes, []any{Route}) {
		refuse(w, http.StatusBadRequest, "invalid_client")
		return
	}
	id := newID()
	h.consents[id] = c
	reply(w, http.StatusCreated, map[string]any{
		"authorization_id": id, "authorization_url": "https://erp.example.net/agent/authorize?authorization_id=" + id, "expires_in": 600,
	})
}

func (h *Hub) token(w http.ResponseWriter, body map[string]any) {
	text := func(name string) string { s, _ := body[name].(string); return s }
	var s *session
	switch text("grant_type") {
	case "authorization_code":
		sum := sha256.Sum256([]byte(text("code_verifier")))
		for _, c := range h.consents {
			if c.code != "" && c.code == text("code") && c.redirect == text("redirect_uri") &&
				c.challenge == base64.RawURLEncoding.EncodeToString(sum[:]) {
				c.code = ""
				s = h.open(c.device, c.routes)
			}
		}
	case "refresh_token":
		s = h.rotate(text("refresh_token"))
	}
	if s == nil || text("client_app_id") != ClientAppID {
		refuse(w, http.StatusBadRequest, "invalid_grant")
		return
	}
	reply(w, http.StatusOK, map[string]any{
		"token_type": "Bearer", "access_token": s.access, "expires_in": 900, "refresh_token": s.refresh, "refresh_expires_in": 2591995,
		"session_id": s.id, "client_app_id": ClientAppID, "subject_display": map[string]any{"name": "Yard 2"}, "subject_display_status": "provided",
	})
}

// rotate uses a refresh token: a second use ends the session (agent §2.8).
func (h *Hub) rotate(token string) *session {
	for _, s := range h.sessions {
		switch {
		case slices.Contains(s.used, token):
			s.revoked = true
			return nil
		case s.refresh == token && !s.revoked:
			s.used = append(s.used, token)
			s.access, s.refresh = secret("bha_"), secret("bhr_")
			return s
		}
	}
	return nil
}

func (h *Hub) session(w http.ResponseWriter, bearer string) {
	for _, s := range h.sessions {
		if s.access == bearer && !s.revoked {
			reply(w, http.StatusOK, map[string]any{
				"session_id": s.id, "client_app_id": ClientAppID, "device_label": s.device, "subject_display": nil,
				"subject_display_status": "missing", "principal": map[string]any{"id": "op-15", "tenant": "yard-2", "roles": []string{"clerk"}},
				"on_behalf_of": "yard-2:op-15", "allowed_routes": s.routes, "created_at": "2026-11-30T08:00:00.000Z",
				"expires_at": "2026-11-30T08:15:00.000Z", "refresh_expires_at": "2026-12-30T08:00:00.000Z",
			})
			return
		}
	}
	refuse(w, http.StatusUnauthorized, "unauthorized")
}

func (h *Hub) revoke(w http.ResponseWriter, bearer string, body map[string]any) {
	for _, s := range h.sessions {
		token, _ := body["refresh_token"].(string)
		if bearer != "" && s.access == bearer || bearer == "" && (s.refresh == token || slices.Contains(s.used, token)) {
			s.revoked = true
		}
	}
	reply(w, http.StatusOK, map[string]any{"revoked": true})
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}

func refuse(w http.ResponseWriter, status int, code string) {
	reply(w, status, map[string]string{"error": code})
}

// Body is an answer with a status and a body as they are.
func Body(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(status)
		io.WriteString(w, body)
	}
}

func secret(prefix string) string {
	b := make([]byte, 32)
	rand.Read(b)
	return prefix + base64.RawURLEncoding.EncodeToString(b)
}

func newID() string {
	b := make([]byte, 16)
	rand.Read(b)
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	s := hex.EncodeToString(b)
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}
