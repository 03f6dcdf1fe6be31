package agentclient

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

const (
	testHost  = "127.0.0.1:49733"
	testState = "Zt9fQ2-state"
	testCode  = "bhc_abcdefghijklmnopqrstuvwxyz0123456789ABCDEFG"
)

func TestOnlyTheRedirectWithTheStateCounts(t *testing.T) {
	t.Parallel()
	for name, r := range map[string][3]string{
		"another method":         {"POST", testHost, "/callback?code=" + testCode + "&state=" + testState},
		"HEAD, as a preview":     {"HEAD", testHost, "/callback?code=" + testCode + "&state=" + testState},
		"another host":           {"GET", "evil.example:49733", "/callback?code=" + testCode + "&state=" + testState},
		"localhost":              {"GET", "localhost:49733", "/callback?code=" + testCode + "&state=" + testState},
		"another port":           {"GET", "127.0.0.1:80", "/callback?code=" + testCode + "&state=" + testState},
		"another path":           {"GET", testHost, "/callback/?code=" + testCode + "&state=" + testState},
		"an escaped path":        {"GET", testHost, "/%63allback?code=" + testCode + "&state=" + testState},
		"an absolute target":     {"GET", testHost, "http://" + testHost + "/callback?code=" + testCode + "&state=" + testState},
		"the icon":               {"GET", testHost, "/favicon.ico"},
		"no query":               {"GET", testHost, "/callback"},
		"no state":               {"GET", testHost, "/callback?code=" + testCode},
		"an empty state":         {"GET", testHost, "/callback?code=" + testCode + "&state="},
		"a state cut short":      {"GET", testHost, "/callback?code=" + testCode + "&state=" + testState[:11]},
		"a state with more":      {"GET", testHost, "/callback?code=" + testCode + "&state=" + testState + "x"},
		"two states":             {"GET", testHost, "/callback?code=" + testCode + "&state=" + testState + "&state=" + testState},
		"a query that is broken": {"GET", testHost, "/callback?code=%zz&state=" + testState},
		"too long a target":      {"GET", testHost, "/callback?code=" + testCode + "&state=" + testState + "&x=" + strings.Repeat("x", maxRedirect)},
	} {
		if o, ok := judge(r[0], r[1], r[2], testHost, testState); ok || o.err != nil || o.code != "" {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

func TestWhatTheRedirectSays(t *testing.T) {
	t.Parallel()
	o, ok := judge(http.MethodGet, testHost, "/callback?lang=en&code="+testCode+"&state="+testState, testHost, testState)
	if !ok || o.err != nil || o.code != testCode {
		t.Errorf("%+v %v", o, ok)
	}
	if o, ok = judge(http.MethodGet, testHost, "/callback?error=access_denied&state="+testState, testHost, testState); !ok || !errors.Is(o.err, ErrDenied) {
		t.Errorf("%+v %v", o, ok)
	}
	var refused *RefusedError
	o, ok = judge(http.MethodGet, testHost, "/callback?error=server_error&state="+testState, testHost, testState)
	if !ok || !errors.As(o.err, &refused) || refused.Code != "server_error" {
		t.Errorf("%+v %v", o, ok)
	}
	long := codePrefix + strings.Repeat("x", maxToken-len(codePrefix))
	if o, _ = judge(http.MethodGet, testHost, "/callback?code="+long+"&state="+testState, testHost, testState); o.code != long {
		t.Errorf("the longest code: %v", o.err)
	}
	for query, says := range map[string]string{
		"":                                    "either one code or one error",
		"&code=" + testCode + "&error=x":      "either one code or one error",
		"&code=" + testCode + "&code=x":       "either one code or one error",
		"&code=":                              "begins with bhc_",
		"&code=bha_" + testCode[4:]:           "begins with bhc_",
		"&code=" + testCode[:39]:              "40 to 8192",
		"&code=" + long + "x":                 "40 to 8192",
		"&code=" + testCode + "%0a":           "visible",
		"&error=":                             "error is a code",
		"&error=%3Cscript%3E":                 "error is a code",
		"&error=" + strings.Repeat("x", 64+1): "error is a code",
	} {
		o, ok := judge(http.MethodGet, testHost, "/callback?state="+testState+query, testHost, testState)
		var broken *RuleError
		if !ok || !errors.As(o.err, &broken) || !strings.Contains(broken.Rule, says) {
			t.Errorf("%.60q: %v %+v, want %q", query, ok, o, says)
		}
	}
}

func FuzzRedirect(f *testing.F) {
	f.Add("GET", testHost, "/callback?code="+testCode+"&state="+testState)
	f.Add("GET", testHost, "/callback?error=access_denied&state="+testState)
	f.Add("GET", testHost, "/callback?state="+testState+"&code=%zz;x=1")
	f.Add("GET", "evil", "/callback#state="+testState)
	f.Fuzz(func(t *testing.T, method, host, target string) {
		o, ok := judge(method, host, target, testHost, testState)
		switch {
		case !ok && (o.code != "" || o.err != nil):
			t.Error("a request that does not count says something")
		case !ok:
			return
		case method != http.MethodGet || host != testHost || !strings.HasPrefix(target, redirectPath+"?") || !strings.Contains(target, "state="):
			t.Errorf("%q %q %q counts", method, host, target)
		case (o.code == "") == (o.err == nil):
			t.Errorf("%+v is both or neither", o)
		case o.code != "" && !credential(o.code, codePrefix):
			t.Errorf("%q is no code", o.code)
		}
	})
}
