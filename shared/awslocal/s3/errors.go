package s3

import (
	"encoding/xml"
	"fmt"
	"net/http"
)

// apiError is an error of the service's API as it goes over the wire.
type apiError struct {
	XMLName xml.Name `xml:"Error"`
	Code    string
	Message string
	Status  int `xml:"-"`
}

func (e *apiError) Error() string { return e.Code + ": " + e.Message }

// write sends e; an answer to HEAD carries the status only.
func (e *apiError) write(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(e.Status)
	if r.Method == http.MethodHead {
		return
	}
	body, err := xml.Marshal(e)
	if err != nil {
		panic(fmt.Sprintf("s3: an error cannot be encoded: %v", err)) // two strings
	}
	w.Write(append([]byte(xml.Header), body...)) // a client that left needs no answer
}

func newError(status int, code, format string, args ...any) *apiError {
	return &apiError{Code: code, Message: fmt.Sprintf(format, args...), Status: status}
}

func errBadRequest(code, format string, args ...any) *apiError {
	return newError(http.StatusBadRequest, code, format, args...)
}

func errNotImplemented(what string) *apiError {
	return newError(http.StatusNotImplemented, "NotImplemented", "%s is not implemented by this stand-in.", what)
}

func errNoBucket() *apiError {
	return newError(http.StatusNotFound, "NoSuchBucket", "The specified bucket does not exist")
}

func errNoKey() *apiError {
	return newError(http.StatusNotFound, "NoSuchKey", "The specified key does not exist.")
}

func errThrottled() *apiError {
	return newError(http.StatusServiceUnavailable, "SlowDown", "Please reduce your request rate.")
}

func errInternal() *apiError {
	return newError(http.StatusInternalServerError, "InternalError", "We encountered an internal error. Please try again.")
}
