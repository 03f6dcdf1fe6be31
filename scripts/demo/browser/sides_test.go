package browser

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bailing/scripts/demo/business"
	"bailing/scripts/demo/business/businesstest"
	"bailing/scripts/local/stack"
	"bailing/shared/clock"
)

// side is a business with its hub.
type side struct {
	page     string // address of the business
	routes   []string
	request  func(t *testing.T, redirect, device string) (authorizeURL string)
	exchange func(t *testing.T, code, redirect string) // proves that a code is one; nil where the hub knows no tokens
	clock    *shifted
}

// sides are the stand-in of a hub, which every state of a request can be asked of, and the product.
var sides = map[string]func(t *testing.T) *side{"stand-in": standIn, "product": product}

// onEverySide runs a test on every side, each in a browser of its own.
func onEverySide(t *testing.T, run func(t *testing.T, s *side, b *tab)) {
	chromium(t)
	for name, open := range sides {
		t.Run(name, func(t *testing.T) { run(t, open(t), openTab(t)) })
	}
}

// shifted is the machine's clock, some time ahead.
type shifted struct {
	clock.Clock
	ahead atomic.Int64 // nanoseconds
}

func (s *shifted) Now() time.Time          { return s.Clock.Now().Add(time.Duration(s.ahead.Load())) }
func (s *shifted) Advance(d time.Duration) { s.ahead.Add(int64(d)) }

func standIn(t *testing.T) *side {
	c := &shifted{Clock: clock.System()}
	fake := businesstest.New(c, "order_assistant", "returns_desk")
	hub := httptest.NewServer(fake)
	t.Cleanup(hub.Close)
	shop := business.New(business.Options{Clock: c})
	server := httptest.NewServer(shop)
	t.Cleanup(server.Close)
	shop.OpenConsent(business.Consent{
		Hub: hub.URL, Token: businesstest.Token, Origin: server.URL, Workspaces: map[string]string{"order_assistant": "Order assistant"},
	})
	routes := []string{"order_assistant", "returns_desk"}
	return &side{page: server.URL, routes: routes, clock: c, request: func(_ *testing.T, redirect, device string) string {
		id := fake.Create(businesstest.Request{Device: device, Routes: routes, RedirectTo: redirect, State: state})
		return server.URL + business.AuthorizePath + "?authorization_id=" + id
	}}
}

const (
	state    = "state-of-the-agent"
	verifier = "a-verifier-of-forty-three-characters-or-more-0"
)

func product(t *testing.T) *side {
	c := &shifted{Clock: clock.System()}
	s, err := stack.Start(t.Context(), stack.Options{Addr: "127.0.0.1:0", Demo: true, Manual: true, Clock: c})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	base := s.URL + "/agent-auth/v1/"
	return &side{
		page: s.Demo.BusinessURL, routes: []string{stack.DemoRoute}, clock: c,
		request: func(t *testing.T, redirect, device string) string {
			challenge := sha256.Sum256([]byte(verifier))
			var created struct {
				URL string `json:"authorization_url"`
			}
			post(t, base+"authorizations", http.StatusCreated, map[string]any{
				"client_app_id": stack.DemoClient, "redirect_uri": redirect, "state": state, "requested_routes": []string{stack.DemoRoute},
				"device_label": device, "code_challenge": base64.RawURLEncoding.EncodeToString(challenge[:]), "code_challenge_method": "S256",
			}, &created)
			return created.URL
		},
		exchange: func(t *testing.T, code, redirect string) {
			var tokens struct {
				Access string `json:"access_token"`
				Who    struct {
					Name string `json:"name"`
				} `json:"subject_display"`
			}
			post(t, base+"token", http.StatusOK, map[string]any{
				"grant_type": "authorization_code", "client_app_id": stack.DemoClient, "code": code, "redirect_uri": redirect, "code_verifier": verifier,
			}, &tokens)
			if !strings.HasPrefix(tokens.Access, "bha_") || tokens.Who.Name != "Dana Meier" {
				t.Errorf("the session is %q's", tokens.Who.Name)
			}
		},
	}
}

func post(t *testing.T, address string, want int, body, into any) {
	t.Helper()
	b, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.Post(address, "application/json", bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != want {
		t.Fatalf("%s: %d, %s, %v", address, res.StatusCode, text, err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

// agent is the listener of an agent on this machine.
type agent struct {
	t        *testing.T
	redirect string
	got      chan *http.Request
}

// listen waits on a free port of a loopback address.
func listen(t *testing.T, host string) *agent {
	t.Helper()
	l, err := net.Listen("tcp", host+":0")
	if err != nil {
		t.Skipf("no loopback address %s: %v", host, err)
	}
	a := &agent{t: t, redirect: fmt.Sprintf("http://%s/callback?agent=1", l.Addr()), got: make(chan *http.Request, 100)}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if r.URL.Path != "/callback" { // an icon, perhaps
			w.WriteHeader(http.StatusNoContent)
			return
		}
		a.got <- r
		_, _ = io.WriteString(w, `<!DOCTYPE html><title>Agent</title><h1>The agent heard you</h1>`)
	}))
	server.Listener.Close()
	server.Listener = l
	server.Start()
	t.Cleanup(server.Close)
	return a
}

// next is what the agent received, exactly once.
func (a *agent) next() url.Values {
	a.t.Helper()
	select {
	case r := <-a.got:
		if r.Method != http.MethodGet || r.Header.Get("Referer") != "" || len(r.Cookies()) != 0 {
			a.t.Errorf("the agent got %s with referrer %q and %d cookies", r.Method, r.Header.Get("Referer"), len(r.Cookies()))
		}
		a.wantNothing()
		return r.URL.Query()
	case <-time.After(patience):
		a.t.Fatal("the agent received nothing")
		return nil
	}
}

func (a *agent) wantNothing() {
	a.t.Helper()
	if len(a.got) != 0 {
		a.t.Errorf("the agent received %d requests more than it should", len(a.got))
	}
}
