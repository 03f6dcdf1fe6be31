package agentsession

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"bailing/shared/canonical"
	"bailing/shared/registry"
)

const (
	vectorVerifier  = "Zk3rT9-verifier_for.docs~0123456789abcdefghijkL"
	vectorChallenge = "oQXb-Ej-bXjIHtbx5fX-sJOb8v_RsfsKzrqF1OouNlc"
)

// The vectors of agent §14 that concern authentication.
func TestVectors(t *testing.T) {
	t.Parallel()
	if got := challengeOf(vectorVerifier); got != vectorChallenge || !isVerifier(vectorVerifier) || !isChallenge(vectorChallenge) {
		t.Errorf("challenge %s", got)
	}
	if got := hash("bha_abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG"); got != "b5566bd9908d088775ffe736a6c8015f9614b569272aa722e149ed4a10e11d4d" {
		t.Errorf("token hash %s", got)
	}
	q, err := parseList("depot-agent", "on_behalf_of=yard-2:op-15&state=active")
	if got := q.binding(); err != nil || got != "dd62026999f7f12655944a8d06ee03eb2f8bbf3d7d6ed891581337f59998a87b" {
		t.Errorf("cursor binding %s, %v", got, err)
	}
}

// bearerCases are the rule of agent §1.2.
var bearerCases = map[string]string{
	"Bearer abc": "abc", "bearer abc": "abc", "BEARER abc": "abc", "Bearer a=b/c+d~.-_": "a=b/c+d~.-_", "Bearer é": "é",
	"": "", "Bearer": "", "Bearer ": "", "abc": "", "Bearer  abc": "", " Bearer abc": "", "Bearer abc ": "", "Bearer a b": "", "Bearer\tabc": "",
	"Bearer abc\t": "", "Bearer a\u00a0b": "", "Bearer a\u2028b": "", "Bearer a\ufeffb": "", "Basic abc": "", "Bearerabc": "", "Bearer abc\n": "",
}

func TestBearerParsing(t *testing.T) {
	t.Parallel()
	for header, want := range bearerCases {
		if got := Bearer(header); got != want {
			t.Errorf("%q: %q, want %q", header, got, want)
		}
	}
}

// redirectCases are the loopback rule of agent §2.2.
var redirectCases = map[string]bool{
	"http://127.0.0.1:49733/callback": true, "http://127.0.0.1:1": true, "http://127.0.0.1:65535/": true, "http://[::1]:8080/x": true,
	"http://127.0.0.1:80?x=1": true, "http://127.0.0.1:80/?a=%zz": true, "http://127.0.0.1:80/é": true, "http://127.0.0.1:00080/": true,

	"http://localhost:49733/callback": false, "http://127.0.0.1": false, "http://127.0.0.1/": false, "http://127.0.0.1:": false, "http://127.0.0.1:/": false,
	"http://127.0.0.1:0": false, "http://127.0.0.1:0/": false, "http://127.0.0.1:65536": false, "http://127.0.0.1:000080/": false,
	"https://127.0.0.1:1": false, "HTTP://127.0.0.1:1": false, "http:127.0.0.1:1": false, "//127.0.0.1:1": false,
	"http://user@127.0.0.1:1": false, "http://127.0.0.1:1@evil.example/": false, "http://127.0.0.1:80@evil.example": false, "http://:@127.0.0.1:1/": false,
	"http://127.0.0.1:1/#": false, "http://127.0.0.1:1#x": false, "http://127.0.0.1:1/a#b": false,
	"http://127.0.0.2:1": false, "http://127.1:80": false, "http://0x7f000001:80": false, "http://2130706433:80": false, "http://127.0.0.1.:80": false,
	"http://[::1%25lo]:80": false, "http://[0:0:0:0:0:0:0:1]:80": false, "http://[::ffff:127.0.0.1]:80": false, "http://::1:80": false,
	"http://127.0.0.1:8x": false, "http://127.0.0.1:+80": false, "http://127.0.0.1:-1": false, "http://127.0.0.1:٨٠": false, "http://127.0.0.1:80\\@evil.example": false,
	"http://127.0.0.1:80/a b": false, " http://127.0.0.1:80": false, "http://127.0.0.1:80\n": false, "http://127.0.0.1:80/\r\nSet-Cookie: a": false,
	"http://127.0.0.1:80/\x00": false, "http://127.0.0.1:80/\xff": false, "": false, "http://127.0.0.1.evil.example:80/": false,
}

func TestLoopbackRule(t *testing.T) {
	t.Parallel()
	for raw, want := range redirectCases {
		if got := IsLoopback(raw); got != want {
			t.Errorf("%q: %v", raw, got)
		}
	}
	const base = "http://127.0.0.1:1/"
	if !IsLoopback(base+strings.Repeat("x", maxRedirect-len(base))) || IsLoopback(base+strings.Repeat("x", maxRedirect-len(base)+1)) {
		t.Error("the limit is not 2048")
	}
}

func TestRedirectComposition(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ redirect, state, want string }{
		{"http://127.0.0.1:1/cb", "s", "http://127.0.0.1:1/cb?code=c&state=s"},
		{"http://127.0.0.1:1", "s", "http://127.0.0.1:1/?code=c&state=s"},
		{"http://127.0.0.1:1?a=1", "s", "http://127.0.0.1:1/?a=1&code=c&state=s"},
		{"http://[::1]:1/cb?", "s", "http://[::1]:1/cb?code=c&state=s"},
		{"http://127.0.0.1:1/cb?b=2&a=1&b=3", "s", "http://127.0.0.1:1/cb?b=2&a=1&b=3&code=c&state=s"},
		{"http://127.0.0.1:1/cb?code=x&error=y&code=z&a=1", "s", "http://127.0.0.1:1/cb?a=1&code=c&state=s"},
		{"http://127.0.0.1:1/cb?c%6Fde=x&a", "s", "http://127.0.0.1:1/cb?a=&code=c&state=s"},
		{"http://127.0.0.1:1/cb?state=old&a=1&state=older", "new", "http://127.0.0.1:1/cb?state=new&a=1&code=c"},
		{"http://127.0.0.1:1/cb?error_description=kept&a=%zz&&b=+%20", "s", "http://127.0.0.1:1/cb?error_description=kept&a=%25zz&b=++&code=c&state=s"},
		{"http://127.0.0.1:1/cb", "a b&c=d+é*-._~'", "http://127.0.0.1:1/cb?code=c&state=a+b%26c%3Dd%2B%C3%A9*-._%7E%27"},
		{"http://127.0.0.1:1/é\"<>", "s", "http://127.0.0.1:1/%C3%A9%22%3C%3E?code=c&state=s"},
		{"http://127.0.0.1:1/a%2Fb?x=a=b", "s", "http://127.0.0.1:1/a%2Fb?x=a%3Db&code=c&state=s"},
	} {
		if got := redirectTo(tc.redirect, "code", "c", tc.state); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.redirect, got, tc.want)
		}
		if got, want := redirectTo(tc.redirect, "error", "c", tc.state), strings.Replace(tc.want, "code=c", "error=c", 1); got != want {
			t.Errorf("%s: %s, want %s", tc.redirect, got, want)
		}
	}
}

func TestAuthorizationURL(t *testing.T) {
	t.Parallel()
	for page, want := range map[string]string{
		"https://erp.example.net/a":                                             "https://erp.example.net/a?authorization_id=i",
		"https://erp.example.net":                                               "https://erp.example.net/?authorization_id=i",
		"https://erp.example.net/a?lang=en":                                     "https://erp.example.net/a?lang=en&authorization_id=i",
		"https://erp.example.net/a?authorization_id=x&b=1":                      "https://erp.example.net/a?authorization_id=i&b=1",
		"https://erp.example.net/a?b=1&authorization_id=x&authorization_id=y&c": "https://erp.example.net/a?b=1&authorization_id=i&c=",
	} {
		if got := authorizationURL(page, "i"); got != want {
			t.Errorf("%s: %s, want %s", page, got, want)
		}
	}
}

func TestPKCE(t *testing.T) {
	t.Parallel()
	x := func(n int) string { return strings.Repeat("x", n) }
	for s, want := range map[string]bool{x(42): false, x(43): true, x(128): true, x(129): false, x(42) + "~": true, x(42) + ".": true, x(42) + "+": false, x(42) + "=": false, x(41) + "é": false} {
		if isVerifier(s) != want {
			t.Errorf("verifier %q: %v", s, !want)
		}
	}
	for s, want := range map[string]bool{x(42): false, x(43): true, x(44): false, x(42) + "-": true, x(42) + "_": true, x(42) + ".": false, x(42) + "~": false, x(42) + "=": false} {
		if isChallenge(s) != want {
			t.Errorf("challenge %q: %v", s, !want)
		}
	}
	if !proves(vectorVerifier, vectorChallenge) || proves(vectorVerifier+"x", vectorChallenge) || proves(vectorChallenge, vectorChallenge) || proves("", "") {
		t.Error("proof")
	}
}

func TestTokensHaveTheirShape(t *testing.T) {
	t.Parallel()
	got, err := draw(bytes.NewReader(bytes.Repeat([]byte{0xFB}, 32)), accessPrefix)
	if want := "bha_" + base64.RawURLEncoding.EncodeToString(bytes.Repeat([]byte{0xFB}, 32)); err != nil || got != want || len(got) != 47 || !hasShape(got, accessPrefix) {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := draw(bytes.NewReader(make([]byte, 31)), accessPrefix); err == nil {
		t.Error("a token of too little randomness")
	}
	for s, want := range map[string]bool{"bhc_" + strings.Repeat("x", 36): true, "bhc_" + strings.Repeat("x", 35): false, "bha_" + strings.Repeat("x", 43): false} {
		if hasShape(s, codePrefix) != want {
			t.Errorf("%q: %v", s, !want)
		}
	}
}

// The states of agent §2.14.
func TestStatesOfRefreshTokens(t *testing.T) {
	t.Parallel()
	at := time.Unix(1, 0)
	live, revoked, reused := &Session{}, &Session{RevokedAt: at}, &Session{RevokedAt: at, ReusedAt: at}
	for _, tc := range []struct {
		stored  TokenState
		session *Session
		want    TokenState
	}{
		{TokenActive, live, TokenActive}, {TokenUsed, live, TokenUsed},
		{TokenActive, revoked, TokenRevoked}, {TokenUsed, revoked, TokenUsed}, {TokenReplayed, revoked, TokenReplayed},
		{TokenActive, reused, TokenRevoked}, {TokenUsed, reused, TokenRevoked}, {TokenReplayed, reused, TokenReplayed},
	} {
		if got := (&RefreshToken{State: tc.stored}).StateIn(tc.session); got != tc.want {
			t.Errorf("%s in %+v: %s, want %s", tc.stored, tc.session, got, tc.want)
		}
	}
}

func TestMemoryIsBoundedAndKeepsWhatIsUsed(t *testing.T) {
	t.Parallel()
	var m memory
	name := func(n int) string { return hash(string(rune(n))) }
	m.put("kept", Owner{SessionID: "s"})
	for n := range 3 * memoryMax {
		m.put(name(n), Owner{SessionID: "x"})
		if o, ok := m.get("kept"); !ok || o.SessionID != "s" {
			t.Fatalf("forgotten after %d", n)
		}
	}
	if len(m.young) > memoryMax || len(m.old) > memoryMax {
		t.Errorf("%d and %d remembered", len(m.young), len(m.old))
	}
	if _, ok := m.get(name(0)); ok {
		t.Error("nothing was forgotten")
	}
}

func TestPositionsAreOrdered(t *testing.T) {
	t.Parallel()
	at := func(ms int64, id string) Position { return Position{time.UnixMilli(ms), id} }
	order := []Position{{}, at(2, "b"), at(2, "a"), at(1, "c")}
	for i, p := range order {
		for j, q := range order {
			if j > 0 && p.before(q) != (i < j) {
				t.Errorf("%v before %v: %v", p, q, !(i < j))
			}
		}
	}
}

func FuzzRedirect(f *testing.F) {
	for raw := range redirectCases {
		f.Add(raw, "state-of-8")
	}
	f.Fuzz(func(t *testing.T, raw, state string) {
		if !IsLoopback(raw) || !utf8.ValidString(state) {
			return
		}
		for _, name := range []string{"code", "error"} {
			got := redirectTo(raw, name, "c", state)
			u, err := url.Parse(got)
			if err != nil {
				if strings.Contains(raw, "%") { // an escape in the path that is none stays as it came
					continue
				}
				t.Fatalf("%q: %v", got, err)
			}
			if h := u.Hostname(); u.Scheme != "http" || h != "127.0.0.1" && h != "::1" || u.Port() == "" || u.User != nil || u.Fragment != "" {
				t.Fatalf("%q became %q", raw, got)
			}
			pairs := parseQuery(u.RawQuery)
			count := map[string]int{}
			for _, p := range pairs {
				count[p.name]++
				if p.name == "state" && p.value != state || p.name == name && p.value != "c" {
					t.Fatalf("%q: %+v", got, p)
				}
			}
			if count["code"]+count["error"] != 1 || count[name] != 1 || count["state"] != 1 {
				t.Fatalf("%q: %v", got, count)
			}
			for _, p := range parseQuery(queryOf(raw)) {
				if p.name != "code" && p.name != "error" && p.name != "state" && !slices.Contains(pairs, p) {
					t.Fatalf("%q lost %+v", got, p)
				}
			}
		}
		if strings.ContainsAny(redirectTo(raw, "code", "c", state), " \t\r\n#\"<>\\") {
			t.Fatalf("%q is no address", raw)
		}
	})
}

func queryOf(raw string) string {
	_, q, _ := strings.Cut(raw, "?")
	return q
}

func FuzzAuthorizeURL(f *testing.F) {
	for _, raw := range []string{"https://erp.example.net/a?lang=en", "https://erp.example.net", "https://e.example/?authorization_id=x", "http://127.0.0.1:1/", "https://e.example:443/é?%zz", "https://0000\"0"} {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if registry.CheckAuthorizeURL(raw) != nil {
			return
		}
		got := authorizationURL(raw, "the-id")
		before, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		after, err := url.Parse(got)
		if err != nil || after.Host != before.Host || after.Scheme != before.Scheme || after.User != nil || after.Fragment != "" {
			t.Fatalf("%q became %q, %v", raw, got, err)
		}
		n := 0
		for _, p := range parseQuery(after.RawQuery) {
			if p.name == "authorization_id" {
				n++
				if p.value != "the-id" {
					t.Fatalf("%q", got)
				}
			}
		}
		if n != 1 {
			t.Fatalf("%q has %d ids", got, n)
		}
	})
}

func FuzzPKCE(f *testing.F) {
	f.Add(vectorVerifier, vectorChallenge)
	f.Fuzz(func(t *testing.T, verifier, challenge string) {
		if isVerifier(verifier) {
			if c := challengeOf(verifier); !isChallenge(c) || !proves(verifier, c) {
				t.Fatalf("%q has the challenge %q", verifier, c)
			}
		}
		if isChallenge(challenge) && proves(verifier, challenge) != (challengeOf(verifier) == challenge) {
			t.Fatalf("%q proves %q", verifier, challenge)
		}
	})
}

func FuzzBearer(f *testing.F) {
	for header := range bearerCases {
		f.Add(header)
	}
	f.Fuzz(func(t *testing.T, header string) {
		got := Bearer(header)
		if got == "" {
			return
		}
		if len(header) != len("Bearer ")+len(got) || !strings.EqualFold(header[:7], "bearer ") || header[7:] != got || strings.ContainsAny(got, " \t\r\n\v\f\u00a0\u1680\u2003\u2028\u2029\u3000\ufeff") {
			t.Fatalf("%q: %q", header, got)
		}
	})
}

func FuzzCursor(f *testing.F) {
	q, _ := parseList("depot-agent", "state=active")
	binding := q.binding()
	good := formatCursor(Position{time.UnixMilli(1_796_025_600_123).UTC(), "6f1c2f5e-8c3b-4c5a-9d7e-0a1b2c3d4e5f"}, binding)
	f.Add(good)
	f.Add("x")
	f.Add(base64.RawURLEncoding.EncodeToString([]byte(`{"v":1,"binding":"` + binding + `","created_at":"0000-01-01T00:00:00.000Z","session_id":"6f1c2f5e-8c3b-4c5a-9d7e-0a1b2c3d4e5f"}`)))
	f.Fuzz(func(t *testing.T, s string) {
		p, err := parseCursor(s, binding)
		if err != nil {
			if !errors.Is(err, errCursor) {
				t.Fatal(err)
			}
			return
		}
		again, err := parseCursor(formatCursor(p, binding), binding)
		if err != nil || !again.CreatedAt.Equal(p.CreatedAt) || again.SessionID != p.SessionID || p.CreatedAt.Unix() < 0 {
			t.Fatalf("%+v, %+v, %v", p, again, err)
		}
		if _, err := parseCursor(s, hash("another")); err == nil {
			t.Fatal("good for another list")
		}
	})
}

// FuzzBodies: no body makes what cannot be stored or sent on.
func FuzzBodies(f *testing.F) {
	f.Add(`{"client_app_id":"depot-agent","redirect_uri":"http://127.0.0.1:1/","state":"12345678","requested_routes":["a1"],"device_label":"d","code_challenge":"` + vectorChallenge + `","code_challenge_method":"S256"}`)
	f.Add(`{"principal":{"id":"a","roles":["b"]},"on_behalf_of":"a","allowed_routes":["a1"],"subject_display":{"name":"x"}}`)
	f.Fuzz(func(t *testing.T, text string) {
		v, err := canonical.Parse([]byte(text), canonical.Limits{})
		if err != nil {
			return
		}
		if a, err := parseRequest(v); err == nil {
			for _, s := range append([]string{a.ClientAppID, a.RedirectURI, a.State, a.DeviceLabel, a.Challenge}, a.RequestedRoutes...) {
				if s == "" || !utf8.ValidString(s) {
					t.Fatalf("%q", s)
				}
			}
		}
		if g, err := parseGrant(v); err == nil {
			b, err := json.Marshal(g.Principal)
			if err != nil || !g.complete() || !utf8.Valid(b) || !utf8.ValidString(g.OnBehalfOf) || g.Display != "" && !isDisplay(g.Display, g.Display) {
				t.Fatalf("%+v", g)
			}
		}
	})
}
