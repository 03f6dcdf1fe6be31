//go:build !linux && !darwin

package cli

import (
	"errors"
	"os"
)

// canAnswer reports whether somebody at a terminal can answer questions through f.
func canAnswer(f *os.File) bool { return isTerminal(f) }

// hideInput fails: passwords are read from standard input that is no terminal.

func hideInput(*os.File) (restore func(), err error) {
	return nil, errors.New("a terminal cannot hide what is typed on this system")
}
