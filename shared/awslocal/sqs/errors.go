package sqs

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// apiError is an error of the service's API as it goes over the wire.
type apiError struct {
	Type    string // shape name, or the type of a generic error
	Query   string // the code in the older query protocol, which clients prefer; "" when it is Type
	Status  int
	Message string
}

func (e *apiError) Error() string { return e.Type + ": " + e.Message }

// code is what a client reports as the error code, and what a failed batch entry carries.
func (e *apiError) code() string {
	if e.Query != "" {
		return e.Query
	}
	return e.Type
}

func (e *apiError) write(w http.ResponseWriter) {
	fault := "Sender"
	if e.Status >= 500 {
		fault = "Receiver"
	}
	w.Header().Set("X-Amzn-Query-Error", e.code()+";"+fault)
	writeJSON(w, e.Status, map[string]string{"__type": "com.amazonaws.sqs#" + e.Type, "message": e.Message})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("sqs: an answer cannot be encoded: %v", err)) // answers are plain structs
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(status)
	w.Write(body) // a client that left needs no answer
}

const queryPrefix = "AWS.SimpleQueueService."

// modelled makes an error that the service's model names; prefixed says that its query code carries the service's prefix.
func modelled(name string, prefixed bool, format string, args ...any) *apiError {
	e := &apiError{Type: name, Status: http.StatusBadRequest, Message: fmt.Sprintf(format, args...)}
	if prefixed {
		e.Query = queryPrefix + name
	}
	return e
}

func errNoQueue() *apiError {
	e := modelled("QueueDoesNotExist", false, "The specified queue does not exist.")
	e.Query = queryPrefix + "NonExistentQueue"
	return e
}

func errQueueExists(name, attribute string) *apiError {
	e := modelled("QueueNameExists", false, "A queue named %s already exists with a different value for attribute %s.", name, attribute)
	e.Query = "QueueAlreadyExists"
	return e
}

func errParameter(format string, args ...any) *apiError {
	e := modelled("InvalidParameterValueException", false, format, args...)
	e.Query = "InvalidParameterValue"
	return e
}

func errMissing(member string) *apiError {
	e := modelled("MissingRequiredParameterException", false, "The request must contain the parameter %s.", member)
	e.Query = "MissingParameter"
	return e
}

func errUnsupported(what string) *apiError {
	return modelled("UnsupportedOperation", true, "%s is not implemented by this stand-in.", what)
}

func errHandle() *apiError {
	return modelled("ReceiptHandleIsInvalid", false, "The input receipt handle is invalid.")
}

func errSerialization(err error) *apiError {
	return modelled("SerializationException", false, "The request cannot be read: %v", err)
}

func errUnknownOperation(target string) *apiError {
	return modelled("UnknownOperationException", false, "The operation %q is not known or not implemented by this stand-in.", target)
}

func errThrottled() *apiError {
	return modelled("RequestThrottled", false, "The request was denied due to request throttling.")
}

func errInternal() *apiError {
	return &apiError{Type: "InternalFailure", Status: http.StatusInternalServerError,
		Message: "The request processing has failed because of an internal failure."}
}
