package dynamodb

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"bailing/shared/awslocal/dynamodb/attr"
	"bailing/shared/awslocal/dynamodb/expr"
)

// Error codes of the API that the stand-in answers.
const (
	codeConditionFailed  = "ConditionalCheckFailedException"
	codeTokenMismatch    = "IdempotentParameterMismatchException"
	codeInternal         = "InternalServerError"
	codeLimit            = "LimitExceededException"
	codeTableInUse       = "ResourceInUseException"
	codeTableNotFound    = "ResourceNotFoundException"
	codeSerialization    = "SerializationException"
	codeThrottled        = "ThrottlingException"
	codeThroughput       = "ProvisionedThroughputExceededException"
	codeCanceled         = "TransactionCanceledException"
	codeConflict         = "TransactionConflictException"
	codeUnknownOperation = "UnknownOperationException"
	codeValidation       = "ValidationException"
)

// apiError is an answer other than success.
type apiError struct {
	code    string
	message string
	item    attr.Map // of a failed condition, when the request asked for it
	reasons []reason // of a cancelled transaction, one per action
}

// reason is one entry of CancellationReasons.
type reason struct {
	code    string
	message string
	item    attr.Map
}

func (e *apiError) Error() string { return e.code + ": " + e.message }

func (e *apiError) status() int {
	if e.code == codeInternal {
		return http.StatusInternalServerError
	}
	return http.StatusBadRequest
}

// wireType is the code with the shape's namespace, as the service sends it.
func (e *apiError) wireType() string {
	switch e.code {
	case codeValidation:
		return "com.amazon.coral.validate#" + e.code
	case codeThrottled:
		return "com.amazon.coral.availability#" + e.code
	case codeSerialization, codeUnknownOperation:
		return "com.amazon.coral.service#" + e.code
	}
	return "com.amazonaws.dynamodb.v20120810#" + e.code
}

func (e *apiError) body() []byte {
	var o objectWriter
	o.text("__type", e.wireType())
	o.text("message", e.message)
	if e.item != nil {
		o.item("Item", e.item)
	}
	if e.reasons != nil {
		o.list("CancellationReasons", len(e.reasons), func(b []byte, i int) []byte {
			var r objectWriter
			r.text("Code", e.reasons[i].code)
			if e.reasons[i].message != "" {
				r.text("Message", e.reasons[i].message)
			}
			if e.reasons[i].item != nil {
				r.item("Item", e.reasons[i].item)
			}
			return append(b, r.bytes()...)
		})
	}
	return o.bytes()
}

func invalid(format string, a ...any) *apiError {
	return &apiError{code: codeValidation, message: fmt.Sprintf(format, a...)}
}

func invalidParameter(format string, a ...any) *apiError {
	return invalid("One or more parameter values were invalid: "+format, a...)
}

func tableNotFound(name string) *apiError {
	return &apiError{code: codeTableNotFound, message: "Requested resource not found: Table: " + name + " not found"}
}

func conditionFailed(item attr.Map) *apiError {
	return &apiError{code: codeConditionFailed, message: "The conditional request failed", item: item}
}

func internalError() *apiError {
	return &apiError{code: codeInternal, message: "The request processing has failed because of an internal error"}
}

// canceled is a transaction that did not happen, for the reasons of its actions in order.
func canceled(reasons []reason) *apiError {
	codes := make([]string, len(reasons))
	for i, r := range reasons {
		codes[i] = r.code
	}
	return &apiError{
		code:    codeCanceled,
		message: "Transaction cancelled, please refer cancellation reasons for specific reasons [" + strings.Join(codes, ", ") + "]",
		reasons: reasons,
	}
}

// asAPIError gives every error its form on the wire. What is not known to be the caller's fault is internal.
func asAPIError(err error) *apiError {
	var api *apiError
	var value *attr.Error
	var expression *expr.Error
	switch {
	case errors.As(err, &api):
		return api
	case errors.As(err, &value):
		return invalid("%s", value.Reason)
	case errors.As(err, &expression):
		return invalid("%s", expression.Error())
	}
	return internalError()
}
