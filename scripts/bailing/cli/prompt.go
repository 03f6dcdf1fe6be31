package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxLine bounds one answer of a person or a script, in bytes.
const maxLine = 64 << 10

// Ask reads one line of standard input. A terminal is shown the question, and the fallback that an empty answer means.
func (e *Env) Ask(ctx context.Context, question, fallback string) (string, error) {
	if fallback != "" {
		question += " [" + fallback + "]"
	}
	answer, err := e.ask(ctx, question, false)
	if err == nil && strings.TrimSpace(answer) == "" {
		return fallback, nil
	}
	return strings.TrimSpace(answer), err
}

// AskSecret reads one line of standard input, which a terminal does not show. It is not trimmed.
func (e *Env) AskSecret(ctx context.Context, question string) (string, error) {
	return e.ask(ctx, question, true)
}

// Confirm asks before something that cannot be taken back. Without a terminal there is nobody to ask: the caller's --yes is the
// answer then.
func (e *Env) Confirm(ctx context.Context, question string) error {
	if !e.Interactive {
		return Usagef("%s Nobody can be asked without a terminal: say --yes", question)
	}
	answer, err := e.ask(ctx, question+" [y/N]", false)
	if err != nil {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return errors.New("nothing was done")
}

func (e *Env) ask(ctx context.Context, question string, hidden bool) (string, error) {
	restore := func() {}
	if e.Interactive {
		fmt.Fprint(e.Stderr, Clean(question)+": ")
		if hidden {
			if e.HideInput == nil {
				return "", errors.New("this terminal cannot hide what is typed")
			}
			show, err := e.HideInput()
			if err != nil {
				return "", fmt.Errorf("the terminal cannot hide what is typed: %w", err)
			}
			restore = func() { show(); fmt.Fprintln(e.Stderr) }
		}
	}
	defer restore()
	return e.readLine(ctx, question)
}

// readLine reads on beside the caller, so that an interrupt ends the wait.
func (e *Env) readLine(ctx context.Context, question string) (string, error) {
	type result struct {
		line string
		err  error
	}
	if e.lines == nil {
		e.lines = bufio.NewReaderSize(e.Stdin, maxLine)
	}
	read := make(chan result, 1)
	go func() {
		b, err := e.lines.ReadSlice('\n')
		read <- result{string(b), err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case r := <-read:
		switch {
		case errors.Is(r.err, io.EOF) && r.line == "":
			return "", Usagef("standard input ended where an answer to %q was expected", question)
		case errors.Is(r.err, bufio.ErrBufferFull):
			return "", fmt.Errorf("the answer to %q is longer than %d bytes", question, maxLine)
		case r.err != nil && !errors.Is(r.err, io.EOF):
			return "", r.err
		}
		return strings.TrimRight(r.line, "\r\n"), nil
	}
}
