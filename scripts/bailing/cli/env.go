package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf16"

	"bailing/shared/clock"
	"bailing/shared/outbound"
)

// Sender sends requests; [outbound.Client] is one.
type Sender interface {
	Do(context.Context, outbound.Request) (*outbound.Response, error)
}

// Env is the world of a command.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	Open           func(name string) (io.ReadCloser, error)
	Net            Sender
	Clock          clock.Clock
	Width          int  // columns of the terminal; 0 when standard output is none
	Color          bool // standard output may be coloured
	Live           bool // standard error is a terminal, where a line can be taken back
	Interactive    bool // standard input is a terminal, at which somebody can be asked
	// HideInput keeps the terminal from showing what is typed until restore is called.
	HideInput func() (restore func(), err error)

	lines *bufio.Reader // of Stdin
}

// reachable is what a developer's machine may be asked to read beside public addresses: itself and the networks it stands in.
// Addresses at which a cloud hands out credentials stay closed.
const reachable = "loopback,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,100.64.0.0/10,fc00::/7"

// Network is the client that commands send with: guarded as the hub's, but private networks are open. It follows no redirect.
func Network() Sender {
	policy, err := outbound.ParsePolicy(reachable)
	if err != nil {
		panic(err) // a constant
	}
	return outbound.New(outbound.Options{Policy: policy, UserAgent: "bailing-cli"})
}

// System is the process's own world.
func System() *Env {
	e := &Env{
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv,
		Open:  func(name string) (io.ReadCloser, error) { return os.Open(name) },
		Net:   Network(),
		Clock: clock.System(),
		Live:  isTerminal(os.Stderr) && os.Getenv("TERM") != "dumb",

		Interactive: canAnswer(os.Stdin),
		HideInput:   func() (func(), error) { return hideInput(os.Stdin) },
	}
	if isTerminal(os.Stdout) {
		e.Width = columns(os.Stdout, os.Getenv("COLUMNS"))
		e.Color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	}
	return e
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// columns is the width of the terminal: what COLUMNS says, else what the terminal says, else 80.
func columns(f *os.File, variable string) int {
	if n, err := strconv.Atoi(variable); err == nil && n > 0 {
		return n
	}
	if n := terminalWidth(f.Fd()); n > 0 {
		return n
	}
	return 80
}

// TextWidth is where running text is wrapped: at the terminal's edge, but never far beyond what reads well.
func (e *Env) TextWidth() int {
	if e.Width == 0 {
		return 100
	}
	return max(40, min(e.Width, 100))
}

// JSON prints v as the only thing on standard output. What is not printable in its texts is written as an escape, as by [Clean]: for a
// program it is the same, and a terminal is not steered by it.
func (e *Env) JSON(v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(e.Stdout, escaped(b.String()))
	return err
}

// escaped is a JSON document without unprintable characters. Those beyond line feeds stand in texts only.
func escaped(document string) string {
	var b strings.Builder
	for _, r := range document {
		switch {
		case r == '\n' || !unprintable(r):
			b.WriteRune(r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// Progress says on a terminal what takes its time; the returned function takes the line back.
func (e *Env) Progress(format string, args ...any) (done func()) {
	if !e.Live {
		return func() {}
	}
	fmt.Fprintf(e.Stderr, "\r\x1b[K%s ...", Clean(fmt.Sprintf(format, args...)))
	return func() { fmt.Fprint(e.Stderr, "\r\x1b[K") }
}
