package outbound

import (
	"errors"
	"net/url"
	"strings"
	"testing"
)

func TestCheckURL(t *testing.T) {
	t.Parallel()
	const max = 2048
	cases := []struct {
		url  string
		want URLReason // "" for accepted
	}{
		{"https://orders.example/callback", ""},
		{"HTTP://Orders.Example:8080/a/b?c=d", ""},
		{"http://orders.example", ""},
		{"http://orders.example?x", ""},
		{"http://host_with_underscore.example./", ""},
		{"http://localhost:8787/", ""},
		{"http://10.0.0.1:65535/", ""},
		{"http://[::1]/", ""},
		{"https://x.example/" + strings.Repeat("a", max-18), ""},
		{"https://x.example/" + strings.Repeat("a", max-17), URLTooLong},
		{"", URLNotAbsolute},
		{"/callback", URLNotAbsolute},
		{"orders.example/callback", URLNotAbsolute},
		{"mailto:a@b.example", URLNotAbsolute},
		{"ftp://orders.example/", URLScheme},
		{"file:///etc/passwd", URLScheme},
		{"gopher://orders.example/", URLScheme},
		{" http://orders.example/", URLCharacters},
		{"http://orders.example/a b", URLCharacters},
		{"http://orders.example/a\r\nHost: x", URLCharacters},
		{"http://orders.example\\@evil.example/", URLCharacters},
		{"http://orders.example/退", URLCharacters},
		{"http://１２７.0.0.1/", URLCharacters},
		{"http://user:secret@orders.example/", URLUserInfo},
		{"http://user@orders.example/", URLUserInfo},
		{"http://@orders.example/", URLUserInfo},
		{"http://orders.example/#top", URLFragment},
		{"http://", URLHost},
		{"http:///path", URLHost},
		{"http://.example/", URLHost},
		{"http://a..b/", URLHost},
		{"http://-a.example/", URLHost},
		{"http://a%2eb/", URLHost},
		{"http://[::1/", URLHost},
		{"http://[127.0.0.1]/", URLHost},
		{"http://::1/", URLHost},
		{"http://[fe80::1%25eth0]/", URLZone},
		{"http://2130706433/", URLNumericHost},
		{"http://0x7f000001/", URLNumericHost},
		{"http://0177.0.0.1/", URLNumericHost},
		{"http://0x7f.1/", URLNumericHost},
		{"http://127.1/", URLNumericHost},
		{"http://127.0.0.1./", URLNumericHost},
		{"http://127.0.0.0x1/", URLNumericHost},
		{"http://1.2.3.256/", URLNumericHost},
		{"http://orders.example:/", URLPort},
		{"http://orders.example:0/", URLPort},
		{"http://orders.example:65536/", URLPort},
		{"http://orders.example:http/", URLPort},
		{"http://orders.example/%zz", URLEscape},
	}
	for _, c := range cases {
		err := CheckURL(c.url, max)
		var ue *URLError
		switch {
		case c.want == "" && err != nil:
			t.Errorf("CheckURL(%q) = %v, want accepted", c.url, err)
		case c.want != "" && (!errors.As(err, &ue) || ue.Reason != c.want):
			t.Errorf("CheckURL(%q) = %v, want %q", c.url, err, c.want)
		}
	}
	if err := CheckURL("https://x.example/"+strings.Repeat("a", 10_000), 0); err != nil {
		t.Errorf("a limit of 0 is no limit, got %v", err)
	}
}

func TestURLErrorKeepsTheSecretOfTheURL(t *testing.T) {
	t.Parallel()
	if err := CheckURL("http://user:hunter2@orders.example/", 0); strings.Contains(err.Error(), "hunter2") {
		t.Errorf("error %q repeats the password", err)
	}
}

// What is signed is what is sent: the request target is the URL's own text.
func FuzzRequestTarget(f *testing.F) {
	for _, s := range []string{"/orders/A%2FB%20C?q=a%7Eb*c", "/a/../b//c", "/!'()*~", "//evil.example/x", "?", "", "/a?b?c", "/%7E%7e", "/a|b{c}^\"<>`"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if path != "" && path[0] != '/' && path[0] != '?' {
			return
		}
		got, err := parseTarget("https://orders.example" + path)
		if err != nil {
			return
		}
		want := path
		if want == "" || want[0] == '?' {
			want = "/" + want
		}
		if uri := got.url.RequestURI(); uri != want {
			t.Errorf("path %q would be sent as %q", path, uri)
		}
		if got.url.Host != "orders.example" || got.host != "orders.example" {
			t.Errorf("path %q changes the host to %q", path, got.url.Host)
		}
		if u, err := url.Parse("https://orders.example" + path); err == nil && u.Host != "orders.example" {
			t.Errorf("path %q: another parser sees host %q", path, u.Host)
		}
	})
}
