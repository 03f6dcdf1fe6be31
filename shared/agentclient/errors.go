package agentclient

import (
	"errors"
	"fmt"
	"net/http"
)

// What became of a session, and of a login.
var (
	// ErrNotLoggedIn: the store holds no session.
	ErrNotLoggedIn = errors.New("nobody is logged in")
	// ErrSessionEnded: the hub does not know the session any more: it was revoked, or is too old. What was stored is deleted.
	ErrSessionEnded = errors.New("the session has ended: it was revoked, or is too old; log in again")
	// ErrSessionLost: a refresh was interrupted after the hub had answered it, so that nobody has the tokens. What was stored is deleted.
	ErrSessionLost = errors.New("the session is lost: a refresh was interrupted before its tokens were stored; log in again")
	// ErrIdentityConflict: the hub answered with a session or a client that was not asked for. It is never stored.
	ErrIdentityConflict = errors.New("the hub answered for another session or another client")
	// ErrDenied: the person, or the business, said no.
	ErrDenied = errors.New("access was denied on the business's page")
	// ErrLoginExpired: no answer came from the browser in time.
	ErrLoginExpired = errors.New("nobody answered on the business's page in time")
)

// RuleError is an answer that breaks a rule of the wire.
type RuleError struct {
	Call   string // "POST /agent-auth/v1/token"
	Status int    // 0 when the answer came from the browser
	Rule   string // the rule that is broken
}

func (e *RuleError) Error() string {
	if e.Status == 0 {
		return fmt.Sprintf("%s breaks a rule: %s", e.Call, e.Rule)
	}
	return fmt.Sprintf("the answer to %s (status %d) breaks a rule: %s", e.Call, e.Status, e.Rule)
}

// RefusedError is a refusal of the hub.
type RefusedError struct {
	Call   string
	Status int
	Code   string // such as invalid_grant (agent §11)
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("the hub refuses %s: %s (status %d)", e.Call, e.Code, e.Status)
}

// NetError is a request without an answer.
type NetError struct {
	Call string
	// Sent reports whether the hub may have got the request. False is certain: nothing happened.
	Sent bool
	Err  error
}

func (e *NetError) Error() string {
	if e.Sent {
		return fmt.Sprintf("no answer to %s: %v", e.Call, e.Err)
	}
	return fmt.Sprintf("the hub cannot be reached: %v", e.Err)
}

func (e *NetError) Unwrap() error { return e.Err }

// undecided reports whether a call that ended with err may have done what it was meant to do. A status from 300 to 499 did
// nothing, but 408, which speaks of a time and not of the request.
func undecided(err error) bool {
	status := 0
	var unsent *NetError
	var broken *RuleError
	var refused *RefusedError
	switch {
	case errors.As(err, &unsent):
		return unsent.Sent
	case errors.As(err, &refused):
		status = refused.Status
	case errors.As(err, &broken):
		status = broken.Status
	}
	return status < 300 || status >= 500 || status == http.StatusRequestTimeout
}

// refusedWith reports whether err is a refusal with a status, and a code unless that is "".
func refusedWith(err error, status int, code string) bool {
	var refused *RefusedError
	return errors.As(err, &refused) && refused.Status == status && (code == "" || refused.Code == code)
}
