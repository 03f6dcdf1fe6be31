package registry_test

import (
	"strings"
	"testing"

	"bailing/shared/registry"
)

func TestAuthorizeURLRule(t *testing.T) {
	t.Parallel()
	pad := func(n int) string {
		const head = "https://crm.example/"
		return head + strings.Repeat("x", n-len(head))
	}
	for raw, says := range map[string]string{
		"https://crm.example":                     "",
		"HTTPS://crm.example/agent?lang=en":       "",
		"https://crm.example:8443/a/b":            "",
		"https://10.0.0.5/agent":                  "",
		"https://[2001:db8::1]:8443/agent":        "",
		"https://crm.example/a@b":                 "",
		"https://crm.example?x=a@b":               "",
		"http://127.0.0.1:1":                      "",
		"http://127.0.0.1:65535/agent?x=1":        "",
		"http://[::1]:8080/":                      "",
		"http://127.0.0.1:080?x":                  "",
		pad(2048):                                 "",
		pad(2049):                                 "at most 2048",
		"":                                        "absolute URL",
		"crm.example/agent":                       "absolute URL",
		"https:crm.example":                       "absolute URL",
		"https:/crm.example":                      "absolute URL",
		"https:///agent":                          "absolute URL",
		"https://:443/agent":                      "absolute URL",
		"//crm.example/agent":                     "absolute URL",
		"https://user@crm.example/":               "user info",
		"https://user:pw@crm.example/":            "user info",
		"https://@crm.example/":                   "user info",
		"https://crm.example/#x":                  "fragment",
		"https://crm.example/#":                   "fragment",
		"https://crm.example/a b":                 "spaces",
		" https://crm.example/":                   "spaces",
		"https://crm.example/\n":                  "spaces",
		"https://crm.example/\u2028":              "spaces",
		"https://crm.example\\@evil.example/":     "backslashes",
		"https://crm.example:0/":                  "no valid port",
		"https://crm.example:65536/":              "no valid port",
		"https://crm.example:/":                   "no valid port",
		"https://crm.example:x/":                  "not a URL",
		"https://[::1/":                           "not a URL",
		"http://crm.example/":                     "must be https",
		"http://localhost:8080/":                  "must be https",
		"http://127.0.0.2:8080/":                  "must be https",
		"http://127.1:8080/":                      "must be https",
		"http://0x7f.0.0.1:8080/":                 "must be https",
		"http://127.0.0.1.evil.example:8080/":     "must be https",
		"http://[0:0:0:0:0:0:0:1]:8080/":          "must be https",
		"HTTP://127.0.0.1:8080/":                  "must be https",
		"http://127.0.0.1/":                       "explicit port",
		"http://127.0.0.1":                        "explicit port",
		"http://127.0.0.1:/":                      "explicit port",
		"http://127.0.0.1:0/":                     "explicit port",
		"http://127.0.0.1:65536/":                 "explicit port",
		"http://[::1]/":                           "explicit port",
		"http://127.0.0.1:8080@evil.example/":     "user info",
		"ftp://crm.example/":                      "must be https",
		"javascript://crm.example/%0aalert(1)":    "must be https",
		"https://crm.example/" + "\ufffd":         "spaces, control",
		"http://127.0.0.1:8080/" + "x" + "#frag":  "fragment",
		"https://crm.example/" + "%zz":            "not a URL",
		"https://crm.example/?next=https://a.com": "",
	} {
		err := registry.CheckAuthorizeURL(raw)
		switch {
		case says == "" && err != nil:
			t.Errorf("%.60q: %v", raw, err)
		case says != "" && (err == nil || !strings.Contains(err.Error(), says)):
			t.Errorf("%.60q: %v, want %q", raw, err, says)
		}
	}
}
