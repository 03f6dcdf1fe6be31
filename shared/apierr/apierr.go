package apierr

import (
	"errors"
	"fmt"
	"net/http"

	"bailing/shared/plainjson"
)

// Code names a kind of failure. Codes are for programs: the table in [Code.Status] gives each its HTTP status.
type Code string

const (
	Invalid         Code = "invalid"           // 400: the request is malformed or breaks a rule
	Unauthorized    Code = "unauthorized"      // 401: no or unknown credential
	Forbidden       Code = "forbidden"         // 403: known credential, not allowed
	NotFound        Code = "not_found"         // 404: absent, or not visible to this caller
	WrongMethod     Code = "wrong_method"      // 405
	Conflict        Code = "conflict"          // 409: contradicts what is stored
	Gone            Code = "gone"              // 410: it was there, and its time has passed
	PayloadTooLarge Code = "payload_too_large" // 413
	Unsupported     Code = "unsupported_media" // 415
	RateLimited     Code = "rate_limited"      // 429
	Internal        Code = "internal"          // 500: our fault; the cause is logged, never sent
	NotImplemented  Code = "not_implemented"   // 501
	Upstream        Code = "upstream"          // 502: a system that we called failed
	Unavailable     Code = "unavailable"       // 503: paused, or a store that cannot answer now
)

var statuses = map[Code]int{
	Invalid: 400, Unauthorized: 401, Forbidden: 403, NotFound: 404, WrongMethod: 405, Conflict: 409, Gone: 410, PayloadTooLarge: 413,
	Unsupported: 415, RateLimited: 429, Internal: 500, NotImplemented: 501, Upstream: 502, Unavailable: 503,
}

// Status is the HTTP status of the code; 500 for one that the table does not know.
func (c Code) Status() int {
	if s, ok := statuses[c]; ok {
		return s
	}
	return http.StatusInternalServerError
}

// Error is a failure with a public half (Code, Message, Body) and a private half (the cause).
type Error struct {
	Code    Code
	Message string         // the `error` member of the answer (core §0.1); may be a machine code
	Body    map[string]any // further members of the answer; a member "error": nil leaves `error` out
	cause   error
}

// New returns an error that the caller may read.
func New(code Code, message string) *Error { return &Error{Code: code, Message: message} }

// Newf is [New] with a format.
func Newf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Wrap keeps cause for logs and shows the caller only message.
func Wrap(code Code, message string, cause error) *Error {
	return &Error{Code: code, Message: message, cause: cause}
}

// With returns a copy of e whose answer has one more member.
func (e *Error) With(member string, value any) *Error {
	c := *e
	c.Body = make(map[string]any, len(e.Body)+1)
	for k, v := range e.Body {
		c.Body[k] = v
	}
	c.Body[member] = value
	return &c
}

// Error is the private text, for logs.
func (e *Error) Error() string {
	if e.cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.cause)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

// Unwrap returns the private cause.
func (e *Error) Unwrap() error { return e.cause }

// Of returns the *Error in err's chain, or an internal one that hides err.
func Of(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return Wrap(Internal, "internal_error", err)
}

// CodeOf is the code of err; [Internal] for an error of another type, "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	return Of(err).Code
}

// Write answers with err as JSON (core §0.1). requestID appears only in answers of status 500, together with the
// header x-request-id.
func Write(w http.ResponseWriter, err error, requestID string) {
	e := Of(err)
	body := map[string]any{"error": e.Message}
	for k, v := range e.Body {
		body[k] = v
	}
	if v, ok := body["error"]; ok && v == nil {
		delete(body, "error")
	}
	if e.Code == Internal && requestID != "" {
		body["request_id"] = requestID
		w.Header().Set("X-Request-Id", requestID)
	}
	WriteJSON(w, e.Code.Status(), body)
}

// WriteJSON answers with v in the contract's envelope: UTF-8 JSON that no cache keeps (core §0.1). Mark-up is not escaped for
// HTML, which would make stored JSON up to six times as long on its way out.
func WriteJSON(w http.ResponseWriter, status int, v any) {
	b, err := plainjson.Marshal(v)
	if err != nil {
		status, b = http.StatusInternalServerError, []byte(`{"error":"internal_error"}`)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(b)
}
