package sfn

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// apiError is an error of the service's API as it goes over the wire.
type apiError struct {
	Type    string // shape name, or the type of a generic error
	Status  int
	Message string
}

func (e *apiError) Error() string { return e.Type + ": " + e.Message }

func (e *apiError) write(w http.ResponseWriter) {
	writeJSON(w, e.Status, map[string]string{"__type": "com.amazonaws.swf.service.v2.model#" + e.Type, "message": e.Message})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("sfn: an answer cannot be encoded: %v", err)) // answers are plain structs
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(status)
	w.Write(body) // a client that left needs no answer
}

// refused makes an error that the service's model names.
func refused(name, format string, args ...any) *apiError {
	return &apiError{Type: name, Status: http.StatusBadRequest, Message: fmt.Sprintf(format, args...)}
}

func errValidation(format string, args ...any) *apiError {
	return refused("ValidationException", format, args...)
}

func errUnsupported(what string) *apiError {
	return errValidation("%s is not implemented by this stand-in.", what)
}

func errARN(arn string) *apiError {
	return refused("InvalidArn", "Invalid Arn: '%s'", arn)
}

func errNoMachine(arn string) *apiError {
	return refused("StateMachineDoesNotExist", "State Machine Does Not Exist: '%s'", arn)
}

func errNoExecution(arn string) *apiError {
	return refused("ExecutionDoesNotExist", "Execution Does Not Exist: '%s'", arn)
}

func errExecutionExists(arn string) *apiError {
	return refused("ExecutionAlreadyExists", "Execution Already Exists: '%s'", arn)
}

func errToken() *apiError {
	return refused("InvalidToken", "Invalid Token: 'Invalid token'")
}

func errNoTask() *apiError {
	return refused("TaskDoesNotExist", "Task Does Not Exist: 'Provided task does not exist'")
}

func errTaskOver() *apiError {
	return refused("TaskTimedOut", "Task Timed Out: 'Provided task does not exist anymore'")
}

func errSerialization(err error) *apiError {
	return refused("SerializationException", "The request cannot be read: %v", err)
}

func errUnknownOperation(target string) *apiError {
	return refused("UnknownOperationException", "The operation %q is not known or not implemented by this stand-in.", target)
}

func errThrottled() *apiError {
	return refused("ThrottlingException", "Rate exceeded")
}

func errInternal() *apiError {
	return &apiError{Type: "InternalFailure", Status: http.StatusInternalServerError,
		Message: "The request processing has failed because of an internal failure."}
}
