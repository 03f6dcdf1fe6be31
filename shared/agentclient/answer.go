package agentclient

import (
	"fmt"
	"time"
	"unicode/utf8"

	"bailing/shared/canonical"
	"bailing/shared/textlimit"
)

// Authorization is a request for consent (agent §2.2).
type Authorization struct {
	ID        string
	URL       string // where the person's browser goes
	ExpiresIn time.Duration
}

// Tokens are the answer of the token endpoint (agent §2.8).
type Tokens struct {
	Access, Refresh         string
	AccessLife, RefreshLife time.Duration // from the answer on
	SessionID, ClientAppID  string
	SubjectDisplay          string // the person's name; "" when the business gave none
}

// Principal is the person as the business knows them (agent §2.4).
type Principal struct {
	ID       string   `json:"id"`
	Tenant   string   `json:"tenant,omitempty"`
	Roles    []string `json:"roles,omitempty"`
	Audience string   `json:"audience,omitempty"`
	Channel  string   `json:"channel,omitempty"`
}

// SessionView is a session as the hub describes it (agent §2.9).
type SessionView struct {
	SessionID        string    `json:"session_id"`
	ClientAppID      string    `json:"client_app_id"`
	DeviceLabel      string    `json:"device_label"`
	SubjectDisplay   string    `json:"subject_display,omitempty"` // the person's name; "" when the business gave none
	Principal        Principal `json:"principal"`
	OnBehalfOf       string    `json:"on_behalf_of"`
	AllowedRoutes    []string  `json:"allowed_routes"`
	CreatedAt        time.Time `json:"created_at"`
	ExpiresAt        time.Time `json:"expires_at"`         // of the access token
	RefreshExpiresAt time.Time `json:"refresh_expires_at"` // of the session
}

// answer reads members of an object, and keeps the first rule that is broken.
type answer struct {
	call   string
	status int
	within string // what rules call the object, with a dot; "" for the answer itself
	object canonical.Value
	err    error
}

// open reads the body of an answer: exactly one JSON object.
func open(call string, status int, body []byte) *answer {
	a := &answer{call: call, status: status}
	v, err := canonical.Parse(body, canonical.Limits{MaxBytes: maxAnswer, MaxDepth: 32, MaxNodes: 1 << 16})
	switch {
	case err != nil:
		a.fail("the body is JSON (%v)", err)
	case v.Kind() != canonical.Object:
		a.fail("the body is an object")
	}
	a.object = v
	return a
}

func (a *answer) fail(rule string, args ...any) {
	if a.err == nil {
		a.err = &RuleError{a.call, a.status, a.within + fmt.Sprintf(rule, args...)}
	}
}

// member is a member of a kind.
func (a *answer) member(name string, kind canonical.Kind) canonical.Value {
	v, ok := a.object.Get(name)
	if !ok || v.Kind() != kind {
		a.fail("%s is a member of the kind %s", name, kind)
		return canonical.Value{}
	}
	return v
}

// text is a text for which ok holds; rule says what ok asks for.
func (a *answer) text(name string, ok func(string) bool, rule string) string {
	s := a.member(name, canonical.String).Text()
	if a.err == nil && !utf8.ValidString(s) {
		a.fail("%s has no lone surrogate", name)
	}
	if a.err == nil && !ok(s) {
		a.fail("%s %s", name, rule)
	}
	if a.err != nil {
		return ""
	}
	return s
}

// seconds is a whole number of seconds from 1 to max.
func (a *answer) seconds(name string, max int64) time.Duration {
	n, ok := a.member(name, canonical.Number).Int64()
	if a.err == nil && (!ok || n < 1 || n > max) {
		a.fail("%s is a whole number from 1 to %d", name, max)
	}
	if a.err != nil {
		return 0
	}
	return time.Duration(n) * time.Second
}

func (a *answer) time(name string) (t time.Time) {
	a.text(name, func(s string) (ok bool) {
		t, ok = parseTime(s)
		return ok
	}, "is a time of ISO 8601")
	return t
}

func (a *answer) credential(name, prefix string) string {
	return a.text(name, func(s string) bool { return credential(s, prefix) },
		fmt.Sprintf("begins with %s and has %d to %d visible characters", prefix, minToken, maxToken))
}

func (a *answer) uuid(name string) string { return a.text(name, textlimit.UUID, "is a UUID") }

func (a *answer) client() string {
	return a.text("client_app_id", textlimit.ResourceName, "is the id of a client")
}

// subject reads subject_display and its status, which come together, or not at all from hubs that do not know them.
func (a *answer) subject() string {
	display, given := a.object.Get("subject_display")
	status, described := a.object.Get("subject_display_status")
	if !given && !described {
		return ""
	}
	name, named := display.Get("name")
	switch {
	case display.Kind() == canonical.Null && status.Text() == "missing":
		return ""
	case display.Kind() == canonical.Object && display.Len() == 1 && named && name.Kind() == canonical.String && status.Text() == "provided":
		if s := name.Text(); utf8.ValidString(s) && displayName(s) {
			return s
		}
		a.fail("subject_display.name has 1 to %d characters, none of which is a control character", maxDisplayName)
	default:
		a.fail(`subject_display is null with the status "missing", or {"name": text} with the status "provided"`)
	}
	return ""
}

func readAuthorization(call string, status int, body []byte) (Authorization, error) {
	a := open(call, status, body)
	var why error
	r := Authorization{ID: a.uuid("authorization_id")}
	r.URL = a.text("authorization_url", func(s string) bool {
		why = checkAuthorizationURL(s)
		return true
	}, "")
	if why != nil {
		a.fail("authorization_url %v", why)
	}
	r.ExpiresIn = a.seconds("expires_in", maxAuthorization)
	if a.err != nil {
		return Authorization{}, a.err
	}
	return r, nil
}

func readTokens(call string, status int, body []byte) (Tokens, error) {
	a := open(call, status, body)
	a.text("token_type", func(s string) bool { return s == "Bearer" }, `is exactly "Bearer"`)
	r := Tokens{
		Access: a.credential("access_token", accessPrefix), AccessLife: a.seconds("expires_in", maxAccessLife),
		Refresh: a.credential("refresh_token", refreshPrefix), RefreshLife: a.seconds("refresh_expires_in", maxRefreshLife),
		SessionID: a.uuid("session_id"), ClientAppID: a.client(), SubjectDisplay: a.subject(),
	}
	if a.err != nil {
		return Tokens{}, a.err
	}
	return r, nil
}

func readSession(call string, status int, body []byte) (SessionView, error) {
	a := open(call, status, body)
	r := SessionView{
		SessionID: a.uuid("session_id"), ClientAppID: a.client(),
		DeviceLabel:    a.text("device_label", func(s string) bool { return s != "" && textlimit.Fits(s, maxDevice) }, "has 1 to 128 characters"),
		SubjectDisplay: a.subject(),
		OnBehalfOf:     a.text("on_behalf_of", func(s string) bool { return s != "" && textlimit.Fits(s, maxOnBehalfOf) }, "has 1 to 256 characters"),
		Principal:      a.principal(), AllowedRoutes: a.routes(),
		CreatedAt: a.time("created_at"), ExpiresAt: a.time("expires_at"), RefreshExpiresAt: a.time("refresh_expires_at"),
	}
	if a.err != nil {
		return SessionView{}, a.err
	}
	return r, nil
}

// principal is the person. What is optional is absent or a text.
func (a *answer) principal() (p Principal) {
	object := a.member("principal", canonical.Object)
	inner := &answer{a.call, a.status, "principal.", object, a.err}
	optional := func(name string) string {
		if _, ok := inner.object.Get(name); !ok || inner.err != nil {
			return ""
		}
		return inner.text(name, func(string) bool { return true }, "")
	}
	if inner.err == nil {
		p.ID = inner.text("id", func(s string) bool { return s != "" && textlimit.Fits(s, maxDevice) }, "has 1 to 128 characters")
		p.Tenant, p.Audience, p.Channel = optional("tenant"), optional("audience"), optional("channel")
	}
	if _, ok := inner.object.Get("roles"); ok {
		for _, v := range inner.member("roles", canonical.Array).Elems() {
			if v.Kind() != canonical.String || !utf8.ValidString(v.Text()) {
				inner.fail("roles are texts")
			}
			p.Roles = append(p.Roles, v.Text())
		}
	}
	a.err = inner.err
	return p
}

// routes is the list of allowed routes: not empty, each of 1 to 64 characters.
func (a *answer) routes() (routes []string) {
	for _, v := range a.member("allowed_routes", canonical.Array).Elems() {
		if v.Kind() != canonical.String || !plainText(v.Text(), maxRoute) || !utf8.ValidString(v.Text()) {
			a.fail("allowed_routes are texts of 1 to 64 characters")
		}
		routes = append(routes, v.Text())
	}
	if len(routes) == 0 {
		a.fail("allowed_routes is not empty")
	}
	return routes
}

func readRevoked(call string, status int, body []byte) error {
	a := open(call, status, body)
	if !a.member("revoked", canonical.Bool).Bool() {
		a.fail("revoked is true")
	}
	return a.err
}

// readRefusal is the error of an answer without success: {"error": code}.
func readRefusal(call string, status int, body []byte) error {
	a := open(call, status, body)
	code := a.text("error", errorCode, "is a code of letters, digits and _")
	if a.err != nil {
		return a.err
	}
	return &RefusedError{call, status, code}
}
