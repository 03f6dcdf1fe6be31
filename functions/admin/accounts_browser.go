package admin

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/awslabs/aws-lambda-go-api-proxy/core"

	"bailing/shared/account"
	"bailing/shared/apierr"
)

// sessionCookie holds the token of a session (core §0.2).
const sessionCookie = "bz_sess"

// sessionToken is the token that the cookie names, "" without one.
func sessionToken(r *http.Request) string {
	c, err := r.Cookie(sessionCookie)
	if err != nil {
		return ""
	}
	return c.Value
}

// setSession gives the browser the token for as long as the session lives; "" takes it away.
func setSession(w http.ResponseWriter, r *http.Request, token string) {
	c := &http.Cookie{
		Name: sessionCookie, Value: token, Path: basePath(r), MaxAge: int(account.SessionLife.Seconds()),
		HttpOnly: true, Secure: overTLS(r), SameSite: http.SameSiteLaxMode,
	}
	if token == "" {
		c.MaxAge = -1 // written as 0
	}
	http.SetCookie(w, c)
}

// basePath is what stands before the hub's paths in its URL: "/", or the stage on API Gateway's default domain, which
// the hub may share with other stages.
func basePath(r *http.Request) string {
	c, ok := core.GetAPIGatewayContextFromContext(r.Context())
	if !ok {
		return "/"
	}
	whole, err := url.PathUnescape(c.Path) // as the path of the URL is
	if err != nil {
		whole = c.Path
	}
	base, ok := strings.CutSuffix(whole, r.URL.Path)
	if !ok || !strings.HasPrefix(base, "/") {
		return "/"
	}
	return base
}

// overTLS reports whether the browser used https. The gateway writes the header; what a client sent under its name stands
// before that, if it is there at all.
func overTLS(r *http.Request) bool {
	values := strings.Split(strings.Join(r.Header.Values("X-Forwarded-Proto"), ","), ",")
	return strings.EqualFold(strings.TrimSpace(values[len(values)-1]), "https")
}

// clientAddress is where the request came from: from the gateway's own account of it, never from a header (D24).
func clientAddress(r *http.Request) string {
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		return host
	}
	return r.RemoteAddr
}

var errCrossSite = apierr.New(apierr.Forbidden, "cross-site request refused: Origin or Referer must be of this host")

// fromOurselves reports whether Origin, or else Referer, is a page of the host that is asked (core §0.2). Browsers send at least one
// of them with every write. Of a hub with TLS, a page without is not: anybody on the wire can answer with one in its name.
func fromOurselves(r *http.Request) bool {
	page, _ := sentFrom(r)
	u, err := url.Parse(page)
	if err != nil || u.User != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Scheme == "http" && overTLS(r) {
		return false
	}
	host, err := url.Parse("//" + r.Host)
	if err != nil || host.Hostname() == "" || !sameName(u.Hostname(), host.Hostname()) {
		return false
	}
	standard := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	port := u.Port()
	if port == "" {
		port = standard
	}
	return port == host.Port() || host.Port() == "" && port == standard
}

// fromElsewhere reports whether the request names a page that is not of this host. Programs name none.
func fromElsewhere(r *http.Request) bool {
	_, named := sentFrom(r)
	return named && !fromOurselves(r)
}

// sentFrom is the page that a request was sent from; two of them are none.
func sentFrom(r *http.Request) (page string, named bool) {
	for _, header := range []string{"Origin", "Referer"} {
		switch values := r.Header.Values(header); len(values) {
		case 0:
		case 1:
			return values[0], true
		default:
			return "", true
		}
	}
	return "", false
}

// sameName compares host names, and addresses whatever their spelling.
func sameName(a, b string) bool {
	x, err1 := netip.ParseAddr(a)
	y, err2 := netip.ParseAddr(b)
	if err1 == nil && err2 == nil {
		return x == y
	}
	return strings.EqualFold(a, b)
}
