package stack

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"bailing/scripts/demo/business"
)

// person fills in the forms of the consent page and stops where it would leave the business.
type person struct {
	t    *testing.T
	http *http.Client
}

func newPerson(t *testing.T, home string) *person {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &person{t, &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if "http://"+r.URL.Host != home {
			return http.ErrUseLastResponse
		}
		return nil
	}}}
}

func (p *person) do(req *http.Request) (text, location string) {
	p.t.Helper()
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	res, err := p.http.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(b), res.Header.Get("Location")
}

var formToken = regexp.MustCompile(`name="form_token" value="([^"]+)"`)

// send fills in the first form of a page.
func (p *person) send(address, page string, fields url.Values) (text, location string) {
	p.t.Helper()
	token := formToken.FindStringSubmatch(page)
	if token == nil {
		p.t.Fatalf("no form: %s", page)
	}
	fields.Set("form_token", token[1])
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, address, strings.NewReader(fields.Encode()))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return p.do(req)
}

func (p *person) open(address string) string {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, address, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	text, _ := p.do(req)
	return text
}

// The demo shows a whole login of an agent: the hub names the page of the business, a person approves there, and the code that the
// agent's listener would get is good for a session in that person's name.
func TestTheDemoLetsAnAgentIn(t *testing.T) {
	t.Parallel()
	s, err := Start(t.Context(), Options{Addr: "127.0.0.1:0", Demo: true, Manual: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	const redirect, verifier = "http://127.0.0.1:49733/callback", "a-verifier-of-forty-three-characters-or-more-0"
	post := func(path string, want int, body, into any) {
		t.Helper()
		b, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.Post(s.URL+"/agent-auth/v1/"+path, "application/json", bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != want || json.Unmarshal(text, into) != nil {
			t.Fatalf("%s: %d, %s, %v", path, res.StatusCode, text, err)
		}
	}
	challenge := sha256.Sum256([]byte(verifier))
	var created struct {
		ID  string `json:"authorization_id"`
		URL string `json:"authorization_url"`
	}
	post("authorizations", http.StatusCreated, map[string]any{
		"client_app_id": DemoClient, "redirect_uri": redirect, "state": "state-of-the-agent", "requested_routes": []string{DemoRoute},
		"device_label": "Yard laptop 3", "code_challenge": base64.RawURLEncoding.EncodeToString(challenge[:]), "code_challenge_method": "S256",
	}, &created)
	if want := s.Demo.BusinessURL + business.AuthorizePath + "?authorization_id=" + created.ID; created.URL != want {
		t.Fatalf("the hub names %s, want %s", created.URL, want)
	}

	p := newPerson(t, s.Demo.BusinessURL)
	page, _ := p.send(s.Demo.BusinessURL+"/agent/login", p.open(created.URL), url.Values{
		"authorization_id": {created.ID}, "username": {business.DemoUser}, "password": {business.DemoPassword},
	})
	if !strings.Contains(page, "Yard laptop 3") || !strings.Contains(page, "Demo client") {
		t.Fatalf("after the login: %s", page)
	}
	page, location := p.send(s.Demo.BusinessURL+business.AuthorizePath, page, url.Values{
		"authorization_id": {created.ID}, "decision": {"approve"}, "route": {DemoRoute},
	})
	back, err := url.Parse(location)
	if err != nil || !strings.HasPrefix(location, redirect+"?") || back.Query().Get("state") != "state-of-the-agent" {
		t.Fatalf("the browser goes to %q: %s", location, page)
	}

	var session struct {
		Access  string `json:"access_token"`
		Display struct {
			Name string `json:"name"`
		} `json:"subject_display"`
	}
	post("token", http.StatusOK, map[string]any{
		"grant_type": "authorization_code", "client_app_id": DemoClient, "code": back.Query().Get("code"), "redirect_uri": redirect,
		"code_verifier": verifier,
	}, &session)
	if session.Access == "" || session.Display.Name != "Dana Meier" {
		t.Errorf("the session is %q's", session.Display.Name)
	}
	if page := p.open(created.URL); !strings.Contains(page, "already used") {
		t.Errorf("afterwards the page says %s", page)
	}
}
