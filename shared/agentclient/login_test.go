package agentclient

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"bailing/shared/agentclient/agentclienttest"
)

// A1 to A3 of the specification's trace.
func TestALoginStoresASession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	k, stale, err := b.client.Login(t.Context(), b.options(t, b.hub.Approve))
	if err != nil || stale != nil {
		t.Fatal(err, stale)
	}
	if got := b.stored(t); *got != *k || k.Hub != b.hub.URL || k.SubjectDisplay != "Yard 2" || k.DeviceLabel != "Yard laptop 3" {
		t.Errorf("stored %+v", got)
	}
	if want := b.clock.Now().Add(15 * time.Minute); !k.AccessExpiresAt.Equal(want) || !k.RenewAt.Equal(want.Add(-time.Minute)) ||
		!k.RefreshExpiresAt.Equal(b.clock.Now().Add(2591995*time.Second)) {
		t.Errorf("%+v", k)
	}
	access, err := b.client.AccessToken(t.Context())
	if err != nil || access != k.AccessToken {
		t.Error(err)
	}
	v, err := b.client.Session(t.Context())
	if err != nil || v.SessionID != k.SessionID || v.OnBehalfOf != "yard-2:op-15" || v.AllowedRoutes[0] != agentclienttest.Route {
		t.Errorf("%+v %v", v, err)
	}
	for _, call := range []string{agentclienttest.Create, agentclienttest.Token, agentclienttest.Session} {
		asked := b.hub.Asked(call)
		if len(asked) != 1 || asked[0].Header.Get("Content-Type") != "application/json" || asked[0].Header.Get("User-Agent") != userAgent {
			t.Errorf("%s: %+v", call, asked)
		}
	}
	create, exchange := b.hub.Asked(agentclienttest.Create)[0].Body, b.hub.Asked(agentclienttest.Token)[0].Body
	if len(exchange) != 5 || exchange["redirect_uri"] != create["redirect_uri"] || challengeOf(exchange["code_verifier"].(string)) != create["code_challenge"] ||
		strings.Contains(create["redirect_uri"].(string), "localhost") {
		t.Errorf("%v %v", create, exchange)
	}
}

func TestADeniedLoginSaysSo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if _, _, err := b.client.Login(t.Context(), b.options(t, b.hub.Deny)); !is(err, ErrDenied) {
		t.Error(err)
	}
	if _, err := b.store.Load(t.Context()); !is(err, ErrNotLoggedIn) || len(b.hub.Asked(agentclienttest.Token)) != 0 {
		t.Error(err)
	}
}

func TestALoginThatNobodyAnswersEnds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	o := b.options(t, func(string) (string, error) { return "", nil })
	o.Timeout = time.Millisecond
	if _, _, err := b.client.Login(t.Context(), o); !is(err, ErrLoginExpired) {
		t.Error(err)
	}
	o.Timeout = 0 // the hub's own deadline, which is a second here
	b.hub.Answer(agentclienttest.Create, agentclienttest.Body(201,
		`{"authorization_id":"`+testSession+`","authorization_url":"https://erp.example.net/","expires_in":1}`))
	if _, _, err := b.client.Login(t.Context(), o); !is(err, ErrLoginExpired) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	o.Show = func(Authorization) error { cancel(); return nil }
	if _, _, err := b.client.Login(ctx, o); !is(err, context.Canceled) {
		t.Error(err)
	}
	o.Show = func(Authorization) error { return net.ErrClosed }
	if _, _, err := b.client.Login(t.Context(), o); !is(err, net.ErrClosed) {
		t.Error(err)
	}
}

// Whoever guesses the port learns nothing, and ends nothing.
func TestTheListenerAnswersTheRedirectOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, _, err := b.client.Login(t.Context(), b.options(t, func(page string) (string, error) {
		target, err := b.hub.Approve(page)
		if err != nil {
			return "", err
		}
		u, err := url.Parse(target)
		if err != nil {
			return "", err
		}
		q := u.Query()
		q.Set("state", q.Get("state")+"x")
		for _, wrong := range []string{u.Scheme + "://" + u.Host + "/", u.Scheme + "://" + u.Host + "/callback", u.Scheme + "://" + u.Host + "/callback?" + q.Encode()} {
			if status, _, page := browse(t, wrong); status != 404 || strings.Contains(page, "html") {
				t.Errorf("%d %s", status, page)
			}
		}
		status, h, text := browse(t, target)
		if status != 200 || !strings.HasPrefix(text, "<!doctype html>") || !strings.Contains(text, "Close this window") ||
			!strings.HasPrefix(h.Get("Content-Security-Policy"), "default-src 'none';") || h.Get("Cache-Control") != "no-store" ||
			h.Get("Referrer-Policy") != "no-referrer" || h.Get("X-Content-Type-Options") != "nosniff" || strings.Contains(text, "bhc_") {
			t.Errorf("%d %v %s", status, h, text)
		}
		if status, _, _ := browse(t, target); status != 404 {
			t.Errorf("the second redirect got %d", status)
		}
		return "", nil
	}))
	if err != nil {
		t.Error(err)
	}
}

// Another program may be given the port; it does not know the state.
func TestAListenerThatIsClosedTakesNothing(t *testing.T) {
	t.Parallel()
	l, err := listen(testState)
	if err != nil {
		t.Fatal(err)
	}
	l.close()
	if res, err := http.Get(l.redirectURI() + "?code=" + testCode + "&state=" + testState); err == nil {
		res.Body.Close()
		if res.StatusCode == http.StatusOK {
			t.Error("it took the redirect")
		}
	}
	if len(l.got) != 0 {
		t.Error("it has something")
	}
}

func TestANewSessionReplacesTheOldOneAndRevokesIt(t *testing.T) {
	t.Parallel()
	b := loggedIn(t)
	old := b.stored(t)
	k, stale, err := b.client.Login(t.Context(), b.options(t, b.hub.Approve))
	if err != nil || stale != nil || k.SessionID == old.SessionID || b.hub.Alive() != 1 {
		t.Errorf("%v %v, %d sessions", err, stale, b.hub.Alive())
	}
	b.hub.Answer(agentclienttest.Revoke, agentclienttest.Body(500, `{"error":"internal"}`))
	if _, stale, err = b.client.Login(t.Context(), b.options(t, b.hub.Approve)); err != nil || stale == nil {
		t.Errorf("%v; a session that could not be revoked: %v", err, stale)
	}
}

// A session that cannot be stored is not left open.
func TestASessionThatCannotBeStoredIsRevoked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.client.Store = &broken{Store: b.store, save: errors.New("the disk is full")}
	if _, _, err := b.client.Login(t.Context(), b.options(t, b.hub.Approve)); err == nil || !strings.Contains(err.Error(), "disk is full") {
		t.Error(err)
	}
	if b.hub.Alive() != 0 {
		t.Error("the session is open, and nobody has its tokens")
	}
}

func TestAnotherClientIsAnIdentityConflict(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.hub.Answer(agentclienttest.Token, agentclienttest.Body(200, string(changed(t, goodTokens, change{"client_app_id", "other-agent", ""}))))
	_, _, err := b.client.Login(t.Context(), b.options(t, b.hub.Approve))
	if !is(err, ErrIdentityConflict) {
		t.Error(err)
	}
	wantNoSecret(t, err)
	if _, err := b.store.Load(t.Context()); !is(err, ErrNotLoggedIn) {
		t.Error(err)
	}
}

func TestWhatALoginNeeds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	good := b.options(t, b.hub.Approve)
	many := make([]string, maxRoutes+1)
	for i := range many {
		many[i] = "r" + string(rune('a'+i/26)) + string(rune('a'+i%26))
	}
	long := strings.Repeat("x", maxDevice)
	for says, change := range map[string]func(*LoginOptions){
		"name of a client":      func(o *LoginOptions) { o.ClientAppID = "Depot" },
		"1 to 64 routes":        func(o *LoginOptions) { o.Routes = nil },
		"is for 1 to 64 routes": func(o *LoginOptions) { o.Routes = many },
		"not auto":              func(o *LoginOptions) { o.Routes = []string{"auto"} },
		`"*" is no name`:        func(o *LoginOptions) { o.Routes = []string{"*"} },
		"named twice":           func(o *LoginOptions) { o.Routes = []string{"ab", "ab"} },
		"1 to 128 characters":   func(o *LoginOptions) { o.DeviceLabel = "" },
		"label of 1 to 128":     func(o *LoginOptions) { o.DeviceLabel = long + "x" },
		"spaces at its ends":    func(o *LoginOptions) { o.DeviceLabel = " x" },
		"nobody would see":      func(o *LoginOptions) { o.Show = nil },
		"https is needed":       func(o *LoginOptions) { o.Hub = "http://hub.example" },
		"hub refuses":           func(o *LoginOptions) { o.ClientAppID = "unknown-agent" },
		"hub cannot be reached": func(o *LoginOptions) { o.Hub = nobody },
	} {
		o := good
		change(&o)
		if _, _, err := b.client.Login(t.Context(), o); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
	good.DeviceLabel, good.Routes = long, many[:maxRoutes]
	if err := good.check(); err != nil {
		t.Error(err)
	}
}

// nobody is an address at which nothing listens.
const nobody = "http://127.0.0.1:9"
