package business

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"strings"
	"time"
	"unicode"
)

//go:embed consent
var consentFiles embed.FS

var consentTemplates = template.Must(template.ParseFS(consentFiles, "consent/*.html"))

// policy lets a page load its own stylesheet and icon and nothing else, run nothing, be framed by nobody, and send its forms here.
// Browsers hold the answer of a form to form-action, too, so the loopback listener is in it. A source of a policy cannot name [::1];
// leavePage is for that.
const policy = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self' http://127.0.0.1:*; " +
	"base-uri 'none'; frame-ancestors 'none'"

// headers are on every answer of the page.
func (p *consent) headers(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	if strings.HasPrefix(p.Origin, "https://") {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

// page is one of the templates with what it shows.
func (p *consent) page(w http.ResponseWriter, status int, name string, data any) {
	var b bytes.Buffer
	if err := consentTemplates.ExecuteTemplate(&b, name, data); err != nil {
		p.log.Error("a page could not be made", "page", name, "error", err)
		status, b = http.StatusInternalServerError, *bytes.NewBufferString("internal error")
	}
	p.headers(w)
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
}

// assets serves the stylesheet and the icon.
func (p *consent) assets() http.Handler {
	files, err := fs.Sub(consentFiles, "consent/assets")
	if err != nil {
		panic(err) // the folder is embedded
	}
	serve := http.StripPrefix(assetsPath, http.FileServerFS(files))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.headers(w)
		if strings.HasSuffix(r.URL.Path, "/") {
			http.NotFound(w, r)
			return
		}
		serve.ServeHTTP(w, r)
	})
}

// paths are what forms and links of the templates need.
type paths struct{ Authorize, Login, Logout, Assets string }

var pagePaths = paths{AuthorizePath, loginPath, logoutPath, assetsPath}

func (p *consent) loginPage(w http.ResponseWriter, who visitor, id string, status int, alert string) {
	p.page(w, status, "login.html", map[string]any{
		"Title": "Sign in", "Paths": pagePaths, "Alert": alert, "ID": id, "Token": p.formToken(who, loginForm),
	})
}

// workspace is a route that was asked for.
type workspace struct {
	Key, Name string
	Ticked    bool
}

func (p *consent) consentPage(w http.ResponseWriter, who visitor, a authorization, alert string) {
	asked := make([]workspace, len(a.RequestedRoutes))
	for i, key := range a.RequestedRoutes {
		asked[i] = workspace{key, cmp.Or(p.Workspaces[key], key), alert == ""} // who unticked all does not get all back
	}
	status := http.StatusOK
	if alert != "" {
		status = http.StatusUnprocessableEntity
	}
	left := max(a.ExpiresAt.Sub(p.clock.Now()), 0)
	p.page(w, status, "consent.html", map[string]any{
		"Title": "Let an agent act for you", "Paths": pagePaths, "Alert": alert, "ID": a.ID,
		"Client": cmp.Or(printable(a.Client.Name), a.Client.AppID), "AppID": printable(a.Client.AppID), "Device": printable(a.Device.Name),
		"User": who.user, "Workspaces": asked,
		"Expires": a.ExpiresAt.UTC().Format(time.RFC3339), "ExpiresText": a.ExpiresAt.UTC().Format("15:04 UTC"), "Left": minutes(left),
		"Token": p.formToken(who, decisionForm(a.ID)), "LogoutToken": p.formToken(who, logoutForm),
	})
}

// leavePage goes to a listener that no policy can name: the browser goes by itself, and the person can go by a link.
func (p *consent) leavePage(w http.ResponseWriter, target string) {
	w.Header().Set("Refresh", "0; url="+target)
	p.page(w, http.StatusOK, "leave.html", map[string]any{"Title": "Back to the agent", "Paths": pagePaths, "Target": target})
}

func minutes(d time.Duration) string {
	switch n := int(d / time.Minute); n {
	case 0:
		return "in less than a minute"
	case 1:
		return "in 1 minute"
	default:
		return fmt.Sprintf("in %d minutes", n)
	}
}

// printable shows characters that hide, or turn the text around them, as a replacement: a device calls itself what it likes.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}

// problem is a page that ends in words.
type problem struct {
	status      int
	title, text string
	again       string // what a link back to the request says; "" for none
}

var (
	unknownRequest = problem{http.StatusNotFound, "We do not know this request",
		"The link is incomplete, or the request is not for this shop. Start the login again in the agent.", ""}
	expiredRequest = problem{http.StatusGone, "This request has expired",
		"It was open for ten minutes. Nothing was approved. Start the login again in the agent.", ""}
	usedRequest = problem{http.StatusConflict, "This request was already used",
		"It was approved before, and a request counts once. If you did not do that, tell us.", ""}
	deniedRequest = problem{http.StatusConflict, "This request was denied",
		"It was denied before, and the agent was not let in. To let it in, start the login again in the agent.", ""}
	revokedRequest = problem{http.StatusGone, "This request was withdrawn",
		"It was revoked before it was used. Start the login again in the agent.", ""}
	decidedRequest = problem{http.StatusConflict, "This request was already decided",
		"Somebody was faster, perhaps you in another window. Your last click changed nothing.", "Look at the request"}
	routeRefused = problem{http.StatusForbidden, "A workspace is not allowed",
		"The agent's app may not use one of these workspaces any more. Nothing was approved.", "Choose again"}
	hubSilent = problem{http.StatusBadGateway, "The hub does not answer",
		"We could not reach the service that manages agents, so we do not know what became of the request.", "Try again"}
	strangeAnswer = problem{http.StatusBadGateway, "Something is wrong with this request",
		"The address to go back to is not one of an agent on your own device, so we did not go there. Start the login again in the agent.", ""}
	staleForm = problem{http.StatusForbidden, "This form is out of date",
		"You signed in or out since it was shown, or it was not complete. Nothing was done.", "Show it again"}
	foreignForm = problem{http.StatusForbidden, "This form came from elsewhere",
		"Decisions are made on our own page only. Nothing was done.", ""}
	loggedOut = problem{http.StatusForbidden, "You are not signed in",
		"Your session has ended. Nothing was done.", "Sign in"}
)

// outcome is what became of a request, or that it waits. A status that this page does not know is none that it could decide about.
func outcome(status string) (what problem, waits bool) {
	if status == "pending" {
		return problem{}, true
	}
	what, known := states[status]
	if !known {
		what = hubSilent
	}
	return what, false
}

var states = map[string]problem{
	"approved": usedRequest, "consumed": usedRequest, "denied": deniedRequest, "expired": expiredRequest, "revoked": revokedRequest,
}

// refusals are codes of the hub that a person can understand.
var refusals = map[string]problem{
	"not_found": unknownRequest, "wrong_client": unknownRequest, "expired": expiredRequest, "invalid_state": decidedRequest,
	"route_not_allowed": routeRefused,
}

func (p *consent) problem(w http.ResponseWriter, what problem, id string) {
	data := map[string]any{"Title": what.title, "Paths": pagePaths, "Text": what.text}
	if id != "" && what.again != "" {
		data["Again"], data["AgainURL"] = what.again, authorizeURL(id)
	}
	p.page(w, what.status, "problem.html", data)
}
