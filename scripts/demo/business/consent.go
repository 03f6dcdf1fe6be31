package business

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"bailing/shared/clock"
)

// Paths of the consent page. AuthorizePath is the client's agent_authorize_url at the hub (agent §2.2).
const (
	AuthorizePath = "/agent/authorize"
	loginPath     = "/agent/login"
	logoutPath    = "/agent/logout"
	assetsPath    = "/agent/assets/"
)

// maxForm is the largest form in bytes: 64 routes of 64 characters fit eight times.
const maxForm = 64 << 10

// Consent is what the consent page needs to know of the hub and of itself.
type Consent struct {
	Hub   string // base URL of the hub
	Token string // Client Token; it leaves this process only as a bearer of requests to Hub
	// Origin is scheme, host and port of this business as browsers see it. With https its cookies are Secure, which browsers need to
	// tell the page's own forms from others' on any host but loopback.
	Origin     string
	Workspaces map[string]string // what people call a route, by its key; a route without a name shows its key
}

// OpenConsent opens the page where a person lets an agent in. Before it, its paths are not found. Calling it twice panics.
func (b *Business) OpenConsent(c Consent) {
	p := &consent{
		Consent: c, clock: b.o.Clock, log: b.o.Logger, hub: newHub(c.Hub, c.Token), users: demoUsers(), sessions: newSessions(), doors: newDoors(),
	}
	_, _ = rand.Read(p.key[:])
	b.mux.HandleFunc("GET "+AuthorizePath, p.show)
	b.mux.HandleFunc("POST "+AuthorizePath, p.decide)
	b.mux.HandleFunc("POST "+loginPath, p.login)
	b.mux.HandleFunc("POST "+logoutPath, p.logout)
	b.mux.Handle("GET "+assetsPath, p.assets())
}

// consent is the page. A person logs in here, sees who asks for what, and decides; this server tells the hub, with facts from its
// own session alone. The browser brings an authorization id and takes a redirect to the agent's loopback listener, nothing else.
type consent struct {
	Consent
	clock    clock.Clock
	log      *slog.Logger
	key      [32]byte // makes the tokens of forms; new in every process
	hub      *hub
	users    []user
	sessions *sessions
	doors    *doors
}

// idPattern is how the hub writes the id of an authorization. What does not fit is never sent anywhere.
var idPattern = regexp.MustCompile(`^(?i)[0-9a-f]{8}-[0-9a-f]{4}-[1-5][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// one is the only value of a name, "" when there is none or more.
func one(values []string) string {
	if len(values) != 1 {
		return ""
	}
	return values[0]
}

// show answers the address that the hub gave to the agent. Who is not logged in learns nothing about the request.
func (p *consent) show(w http.ResponseWriter, r *http.Request) {
	id := strings.ToLower(one(r.URL.Query()["authorization_id"]))
	if !idPattern.MatchString(id) {
		p.problem(w, unknownRequest, "")
		return
	}
	who, in := p.visitor(r)
	if !in {
		p.loginPage(w, p.anonymous(w, who), id, http.StatusOK, "")
		return
	}
	p.ask(w, r, who, id, "")
}

// ask shows the request, if it waits for a decision, and else what became of it.
func (p *consent) ask(w http.ResponseWriter, r *http.Request, who visitor, id, alert string) {
	a, err := p.hub.context(r.Context(), id)
	if err != nil {
		p.refused(w, id, err)
		return
	}
	if what, waits := outcome(a.Status); !waits {
		p.problem(w, what, id)
		return
	}
	p.consentPage(w, who, a, alert)
}

// decide takes the decision. The hub judges it once more, and once: what was decided stays.
func (p *consent) decide(w http.ResponseWriter, r *http.Request) {
	if !p.form(w, r) {
		return
	}
	id := strings.ToLower(one(r.PostForm["authorization_id"]))
	if !idPattern.MatchString(id) {
		p.problem(w, unknownRequest, "")
		return
	}
	who, in := p.visitor(r)
	if !in {
		p.problem(w, loggedOut, id)
		return
	}
	if !p.genuine(who, decisionForm(id), r) {
		p.problem(w, staleForm, id)
		return
	}
	switch one(r.PostForm["decision"]) {
	case "approve":
		p.approve(w, r, who, id)
	case "deny":
		target, err := p.hub.deny(r.Context(), id)
		p.leave(w, r, who, id, "denied", target, err)
	default:
		p.problem(w, staleForm, id)
	}
}

// approve tells the hub who the person is, from the session, and which of the requested workspaces were left ticked.
func (p *consent) approve(w http.ResponseWriter, r *http.Request, who visitor, id string) {
	a, err := p.hub.context(r.Context(), id)
	if err != nil {
		p.refused(w, id, err)
		return
	}
	if what, waits := outcome(a.Status); !waits {
		p.problem(w, what, id)
		return
	}
	ticked := r.PostForm["route"]
	var routes []string
	for _, route := range a.RequestedRoutes {
		if slices.Contains(ticked, route) {
			routes = append(routes, route)
		}
	}
	switch {
	case len(ticked) == 0:
		p.consentPage(w, who, a, "Tick at least one workspace, or deny the request.")
		return
	case len(routes) != len(ticked): // a form of this page names requested routes only, each once
		p.problem(w, staleForm, id)
		return
	}
	target, err := p.hub.approve(r.Context(), id, approval{
		Principal:  principal{ID: who.user.ID, Tenant: who.user.Tenant, Roles: who.user.Roles},
		OnBehalfOf: who.user.ID, AllowedRoutes: routes, SubjectDisplay: subjectDisplay{Name: who.user.Display},
	})
	p.leave(w, r, who, id, "approved", target, err)
}

// leave takes the browser back to the agent. The address holds a code, so it is in no log.
func (p *consent) leave(w http.ResponseWriter, r *http.Request, who visitor, id, decision, target string, err error) {
	var no *hubError
	if errors.As(err, &no) && no.code == "invalid_state" { // decided meanwhile, perhaps in another window
		if a, again := p.hub.context(r.Context(), id); again == nil {
			if what, waits := outcome(a.Status); !waits {
				p.problem(w, what, id)
				return
			}
		}
	}
	if err != nil {
		p.refused(w, id, err)
		return
	}
	host, ok := loopback(target)
	if !ok {
		p.log.Error("the hub named an address that is not the agent's", "authorization_id", id)
		p.problem(w, strangeAnswer, "")
		return
	}
	p.log.Info("agent authorization "+decision, "authorization_id", id, "account", who.user.ID)
	if host != "127.0.0.1" {
		p.leavePage(w, target)
		return
	}
	p.headers(w)
	http.Redirect(w, r, target, http.StatusSeeOther)
}

// refused shows what the hub said no to.
func (p *consent) refused(w http.ResponseWriter, id string, err error) {
	var no *hubError
	if !errors.As(err, &no) {
		p.log.Warn("the hub could not be asked", "authorization_id", id, "error", err)
		p.problem(w, hubSilent, id)
		return
	}
	what, known := refusals[no.code]
	if !known || no.status >= http.StatusInternalServerError {
		p.log.Error("the hub refused", "authorization_id", id, "status", no.status, "code", no.code)
		what = hubSilent
	}
	p.problem(w, what, id)
}

// form reads a form of this page; when it returns false, it has answered. Every browser of today says where a form comes from.
// Because of the page's referrer policy its own forms come with the origin "null", as a sandboxed frame's do, so that alone is not enough.
func (p *consent) form(w http.ResponseWriter, r *http.Request) bool {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		p.problem(w, staleForm, "")
		return false
	}
	site, origin := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Origin")
	own := site == "same-origin"
	if origin != "" && origin != "null" {
		own = origin == p.Origin && (own || site == "")
	}
	if !own {
		p.log.Warn("a form of another site", "path", r.URL.Path)
		p.problem(w, foreignForm, "")
	}
	return own
}

// Purposes of form tokens: one for each thing that a form does.
const (
	loginForm  = "login"
	logoutForm = "logout"
)

func decisionForm(id string) string { return "decide " + id }

// formToken proves that a form was made here, for this browser's cookie and this purpose.
func (p *consent) formToken(who visitor, purpose string) string {
	mac := hmac.New(sha256.New, p.key[:])
	mac.Write([]byte(purpose + "\n" + who.cookie))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// genuine reports whether the form carries its token.
func (p *consent) genuine(who visitor, purpose string, r *http.Request) bool {
	return who.cookie != "" && hmac.Equal([]byte(one(r.PostForm["form_token"])), []byte(p.formToken(who, purpose)))
}

// hubPatience is how long the page waits for the hub. A person waits, too.
const hubPatience = 10 * time.Second

// patient is the request's context with the page's patience, and goes on when the browser leaves: a decision that may have been made
// is made.
func patient(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), hubPatience)
}
