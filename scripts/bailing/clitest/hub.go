package clitest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// ServerToken is the token that a stub accepts.
const ServerToken = "server-token-0123456789abcdef"

// Session cookie, user and password that a stub accepts.
const (
	Username = "ada"
	Password = "correct horse"
	Cookie   = "0123456789abcdef0123456789abcdef0123456789abcdef"
)

// Hub is a stub of a hub: it answers what it was told to, and keeps what it was asked.
type Hub struct {
	URL string

	mu      sync.Mutex
	answers map[string]Reply
	asked   []Asked
	kept    map[string]keeper
	session string // "" when the session has ended
}

// Reply is an answer: with a status of 200 and the body as it is.
type Reply struct {
	Status int
	Body   string
}

// Asked is a request that came.
type Asked struct {
	Call string // "POST /admin/api/routes?x=1"
	Body string
	By   string // "token" or "session"
}

// Start starts a stub. It knows the logins of administrators; what else it answers is by "METHOD PATH".
func Start(t testing.TB, answers map[string]string) *Hub {
	t.Helper()
	h := &Hub{answers: map[string]Reply{}, kept: map[string]keeper{}, session: Cookie}
	for call, body := range answers {
		h.answers[call] = Reply{200, body}
	}
	srv := httptest.NewServer(http.HandlerFunc(h.serve))
	t.Cleanup(srv.Close)
	h.URL = srv.URL
	return h
}

// Set says what the stub answers to a call from now on.
func (h *Hub) Set(call string, status int, body string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answers[call] = Reply{status, body}
}

// EndSession makes the session unknown.
func (h *Hub) EndSession() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.session = ""
}

// Asked are the requests that came, without reads of lists.
func (h *Hub) Asked() []Asked {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.asked)
}

// Writes are the requests that came and were no reads.
func (h *Hub) Writes() (calls []string) {
	for _, a := range h.Asked() {
		if !strings.HasPrefix(a.Call, "GET ") {
			calls = append(calls, a.Call)
		}
	}
	return calls
}

// Last is the body of the last request with this call; nil when there was none.
func (h *Hub) Last(t testing.TB, call string) map[string]any {
	t.Helper()
	for _, a := range slices.Backward(h.Asked()) {
		if a.Call == call {
			var body map[string]any
			if err := json.Unmarshal([]byte(a.Body), &body); err != nil {
				t.Fatalf("%s: %v in %q", call, err, a.Body)
			}
			return body
		}
	}
	return nil
}

// Use lets a session ask the stub with the server token.
func (h *Hub) Use(s *Session) {
	s.Vars["BAILING_URL"], s.Vars["BAILING_SERVER_TOKEN"] = h.URL, ServerToken
}

func (h *Hub) serve(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	h.mu.Lock()
	defer h.mu.Unlock()
	call := r.Method + " " + r.URL.RequestURI()
	w.Header().Set("Content-Type", "application/json")
	reply := func(status int, format string, args ...any) {
		w.WriteHeader(status)
		fmt.Fprintf(w, format, args...)
	}
	if call == "POST /admin/login" {
		h.asked = append(h.asked, Asked{call, string(body), ""})
		var login struct{ Username, Password string }
		switch {
		case json.Unmarshal(body, &login) != nil || login.Username == "":
			reply(400, `{"error":"a user name and a password are required"}`)
		case login.Username == "locked":
			reply(429, `{"error":"too many failed logins","retry_after_ms":480400}`)
		case login.Username != Username || login.Password != Password:
			reply(401, `{"error":"wrong user name or password"}`)
		default:
			h.session = Cookie
			w.Header().Set("Set-Cookie", "bz_sess="+Cookie+"; Path=/; HttpOnly; SameSite=Lax; Max-Age=604800")
			reply(200, `{"ok":true,"username":%q,"display_name":"Ada"}`, Username)
		}
		return
	}
	by := h.by(r)
	h.asked = append(h.asked, Asked{call, string(body), by})
	a, known := h.answers[call]
	switch {
	case by == "foreign":
		reply(403, `{"error":"a write with a session comes from the hub's own pages"}`)
	case by == "" && r.URL.Path != "/health":
		reply(401, `{"error":"unauthorized"}`)
	case known:
		if r.Method == http.MethodPost && a.Status == 200 {
			h.save(r.URL.Path, body)
		}
		reply(a.Status, "%s", a.Body)
	case call == "POST /admin/logout":
		h.session = ""
		reply(200, `{"ok":true}`)
	case call == "GET /admin/api/me" && by == "session":
		reply(200, `{"username":%q,"via":"session","role":"admin","perms":["*"],"capabilities":{}}`, Username)
	case call == "GET /admin/api/me":
		reply(200, `{"username":"(token)","via":"token","role":"admin","perms":["*"],"capabilities":{}}`)
	default:
		reply(404, `{"error":"not found"}`)
	}
}

// by is how a request is authenticated; "foreign" for a write with a session from somewhere else (core §0.2).
func (h *Hub) by(r *http.Request) string {
	if r.Header.Get("Authorization") == "Bearer "+ServerToken {
		return "token"
	}
	c, err := r.Cookie("bz_sess")
	if err != nil || h.session == "" || c.Value != h.session {
		return ""
	}
	if r.Method != http.MethodGet && r.Header.Get("Origin") != "http://"+r.Host {
		return "foreign"
	}
	return "session"
}
