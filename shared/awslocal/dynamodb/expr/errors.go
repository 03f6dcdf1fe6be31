package expr

import "fmt"

// Error is a refused expression, or an update that does not fit the item.
type Error struct {
	Label  string // the request member, for example "UpdateExpression"; empty for errors of evaluation
	Reason string
}

func (e *Error) Error() string {
	if e.Label == "" {
		return e.Reason
	}
	return "Invalid " + e.Label + ": " + e.Reason
}

func (p *parser) fail(format string, a ...any) error {
	return &Error{p.label, fmt.Sprintf(format, a...)}
}

var (
	errPath    = &Error{Reason: "The document path provided in the update expression is invalid for update"}
	errOperand = &Error{Reason: "An operand in the update expression has an incorrect data type"}
	errMissing = &Error{Reason: "The provided expression refers to an attribute that does not exist in the item"}
)
