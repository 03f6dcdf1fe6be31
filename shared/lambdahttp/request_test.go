package lambdahttp

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"bailing/shared/apierr"
	"bailing/shared/canonical"
)

func TestReadJSON(t *testing.T) {
	t.Parallel()
	const max = 20
	cases := []struct {
		name, body, want string // want: canonical form, or the public message after "!"
		code             apierr.Code
	}{
		{"an empty body is an empty object", "", `{}`, ""},
		{"an object", ` {"b":1, "a":2} `, `{"a":2,"b":1}`, ""},
		{"a body at the cap", `{"a":"` + strings.Repeat("x", max-8) + `"}`, `{"a":"` + strings.Repeat("x", max-8) + `"}`, ""},
		{"a body one past the cap", `{"a":"` + strings.Repeat("x", max-7) + `"}`, "payload too large", apierr.PayloadTooLarge},
		{"white space counts as bytes", `{}` + strings.Repeat(" ", max-1), "payload too large", apierr.PayloadTooLarge},
		{"a syntax error", `{"a":}`, "the body is not JSON", apierr.Invalid},
		{"white space alone", ` `, "the body is not JSON", apierr.Invalid},
		{"trailing data", `{} {}`, "the body is not JSON", apierr.Invalid},
		{"a duplicate key", `{"a":1,"a":2}`, "the body has an object with a duplicate key", apierr.Invalid},
		{"invalid UTF-8", "{\"a\":\"\xff\"}", "the body is not valid UTF-8", apierr.Invalid},
	}
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			v, err := ReadJSON(httptest.NewRequest(http.MethodPost, "/", strings.NewReader(tc.body)), max)
			if tc.code == "" {
				if err != nil || string(v.Canonical()) != tc.want {
					t.Fatalf("ReadJSON = %s, %v; want %s", v.Canonical(), err, tc.want)
				}
				return
			}
			e := apierr.Of(err)
			if err == nil || e.Code != tc.code || e.Message != tc.want {
				t.Fatalf("err = %v, want %s %q", err, tc.code, tc.want)
			}
			if tc.code == apierr.PayloadTooLarge && e.Body["max_bytes"] != int64(max) {
				t.Errorf("max_bytes = %v", e.Body["max_bytes"])
			}
		})
	}
	deep := strings.Repeat("[", canonical.DefaultMaxDepth+1) + strings.Repeat("]", canonical.DefaultMaxDepth+1)
	_, err := ReadJSON(httptest.NewRequest(http.MethodPost, "/", strings.NewReader(deep)), DefaultBodyMax)
	if !errors.Is(err, canonical.ErrTooDeep) || apierr.CodeOf(err) != apierr.Invalid {
		t.Errorf("nested too deeply: %v", err)
	}
}

func TestBearerToken(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"": "", "Bearer abc": "abc", "bearer abc": "abc", "BEARER  abc ": "abc", "abc": "abc", "Bearer": "", "Bearer ": "",
		"Bearerabc": "Bearerabc",
	} {
		r := httptest.NewRequest(http.MethodGet, "/?token=q", nil)
		r.Header.Set("Authorization", header)
		if got := BearerToken(r); got != want {
			t.Errorf("%q: %q, want %q", header, got, want)
		}
	}
}
