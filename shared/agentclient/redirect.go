package agentclient

import (
	"crypto/subtle"
	"net/http"
	"net/url"
	"strings"
)

// redirectPath is where the listener expects the browser.
const redirectPath = "/callback"

// redirectCall names the redirect in errors.
const redirectCall = "the redirect of the browser"

// maxRedirect bounds the target of a request to the listener, in bytes: a code, a state, and what a business adds.
const maxRedirect = 16 << 10

// outcome is what the browser brought: a code, or an error.
type outcome struct {
	code string
	err  error
}

// judge decides whether a request to the listener is the redirect that is waited for, and what it says; ok is false for every
// other request. Only who has the state could have sent it: what breaks a rule beside the right state is the hub's mistake, and ends
// the login.
//
// It judges the raw target. The host must be the listener's own, so that no page of another name reaches it.
func judge(method, host, target, ownHost, state string) (o outcome, ok bool) {
	path, query, _ := strings.Cut(target, "?")
	if method != http.MethodGet || host != ownHost || path != redirectPath || len(target) > maxRedirect {
		return outcome{}, false
	}
	values, err := url.ParseQuery(query)
	if err != nil || len(values["state"]) != 1 || subtle.ConstantTimeCompare([]byte(values["state"][0]), []byte(state)) != 1 {
		return outcome{}, false
	}
	codes, errs := values["code"], values["error"]
	broken := func(rule string) (outcome, bool) { return outcome{err: &RuleError{redirectCall, 0, rule}}, true }
	switch {
	case len(codes)+len(errs) != 1:
		return broken("it has either one code or one error")
	case len(codes) == 1 && !credential(codes[0], codePrefix):
		return broken("code begins with bhc_ and has 40 to 8192 visible characters")
	case len(codes) == 1:
		return outcome{code: codes[0]}, true
	case errs[0] == "access_denied":
		return outcome{err: ErrDenied}, true
	case !errorCode(errs[0]):
		return broken("error is a code of letters, digits and _")
	}
	return outcome{err: &RefusedError{redirectCall, 0, errs[0]}}, true
}
