package agentclient

import (
	"strings"
	"testing"
)

func TestTheChallengeIsTheOneOfTheSpecification(t *testing.T) {
	t.Parallel()
	if got := challengeOf("Zk3rT9-verifier_for.docs~0123456789abcdefghijkL"); got != "oQXb-Ej-bXjIHtbx5fX-sJOb8v_RsfsKzrqF1OouNlc" {
		t.Error(got)
	}
	verifier := newSecret()
	if len(verifier) != 43 || len(challengeOf(verifier)) != 43 || strings.ContainsAny(verifier, "+/=") || verifier == newSecret() {
		t.Error(verifier)
	}
}

func TestWhereABrowserMayBeSent(t *testing.T) {
	t.Parallel()
	pad := func(n int) string { return "https://erp.example/" + strings.Repeat("x", n-len("https://erp.example/")) }
	for raw, says := range map[string]string{
		"https://erp.example.net/agent?authorization_id=1": "",
		"https://erp.example.net:8443/agent#top":           "",
		"http://127.0.0.1:8080/agent":                      "",
		"http://[::1]:8080/agent":                          "",
		pad(4096):                                          "",
		pad(4097):                                          "at most 4096",
		"":                                                 "absolute URL",
		"/agent":                                           "absolute URL",
		"https:erp.example":                                "absolute URL",
		"https://":                                         "absolute URL",
		"https://user@erp.example/":                        "user info",
		"https://user:pw@erp.example/":                     "user info",
		"https://erp.example:0/":                           "port",
		"https://erp.example:65536/":                       "port",
		"https://erp.example:/":                            "port",
		"http://erp.example/":                              "is https",
		"http://127.0.0.1/agent":                           "is https",
		"http://localhost:8080/agent":                      "is https",
		"http://127.0.0.2:8080/agent":                      "is https",
		"http://127.0.0.1.evil.example:8080/agent":         "is https",
		"javascript://erp.example/%0aalert(1)":             "is https",
		"file:///etc/passwd":                               "absolute URL",
		"file://host/etc/passwd":                           "is https",
		"https://erp.example/a b":                          "no spaces",
		"https://erp.example/\n":                           "no spaces",
		"https://erp.example\\@evil.example/":              "no spaces",
		"-https://erp.example":                             "absolute URL",
	} {
		err := checkAuthorizationURL(raw)
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%.60q: %v, want %q", raw, err, says)
		}
	}
}

func TestAHubIsHTTPSOrThisMachine(t *testing.T) {
	t.Parallel()
	for raw, says := range map[string]string{
		"https://hub.example":             "",
		"https://hub.example/prod/":       "",
		"https://hub.example:8443":        "",
		"http://127.0.0.1:8787":           "",
		"http://127.0.0.1":                "",
		"http://[::1]:8787":               "",
		"http://hub.example":              "https is needed",
		"http://10.0.0.5:8787":            "https is needed",
		"http://127.0.0.1.evil.example":   "https is needed",
		"http://localhost:8787":           "write 127.0.0.1",
		"https://user@hub.example":        "user info",
		"https://hub.example?x=1":         "query",
		"https://hub.example/?":           "query",
		"https://hub.example/#x":          "fragment",
		"https://hub.example:0":           "port",
		"https://hub.example:":            "port",
		"ftp://hub.example":               "begins with https://",
		"hub.example":                     "absolute URL",
		"":                                "absolute URL",
		"https://hub.example/ x":          "spaces",
		"https://[fe80::1%25eth0]/":       "zone",
		"https://hub.example\\@evil.test": "backslashes",
	} {
		got, err := CheckHubURL(raw)
		if says == "" && (err != nil || strings.HasSuffix(got, "/")) || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%.60q: %q %v, want %q", raw, got, err, says)
		}
	}
}
