package registry

import "testing"

func TestServerTokenIsComparedWhole(t *testing.T) {
	t.Parallel()
	const token = "server-token-of-24-chars"
	for _, tc := range []struct {
		rule      string
		have      ServerToken
		presented string
		want      bool
	}{
		{"the token", NewServerToken(token), token, true},
		{"a prefix", NewServerToken(token), token[:23], false},
		{"more than the token", NewServerToken(token), token + "x", false},
		{"nothing", NewServerToken(token), "", false},
		{"no token is nobody's", NewServerToken(""), "", false},
		{"the zero value is nobody's", ServerToken{}, "", false},
	} {
		if got := tc.have.Is(tc.presented); got != tc.want {
			t.Errorf("%s: %v", tc.rule, got)
		}
	}
}
