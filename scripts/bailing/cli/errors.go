package cli

import (
	"errors"
	"fmt"
)

// Exit statuses; see the package comment.
const (
	OK          = 0
	NotFine     = 1
	Trouble     = 2
	Interrupted = 130
)

// ErrNotFine ends a command that has printed what is wrong with the thing it looked at.
var ErrNotFine = errors.New("not fine")

// UsageError is a command line that makes no sense.
type UsageError struct {
	Reason  string
	command string
}

func (e *UsageError) Error() string { return e.Reason }

// Usagef returns a [UsageError].
func Usagef(format string, args ...any) error {
	return &UsageError{Reason: fmt.Sprintf(format, args...)}
}

// HintError is an error with advice for the person at the terminal.
type HintError struct {
	Err  error
	Hint string
}

func (e *HintError) Error() string { return e.Err.Error() }
func (e *HintError) Unwrap() error { return e.Err }
