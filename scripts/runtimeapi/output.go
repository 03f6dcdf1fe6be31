package runtimeapi

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// lineMax is where a line without an end is cut, in bytes.
const lineMax = 256 << 10

// sharedOutput takes whole lines from the streams of all processes.
type sharedOutput struct {
	mu sync.Mutex
	w  io.Writer
}

func (s *sharedOutput) stream() *stream { return &stream{to: s} }

// stream is one output of one process. Its writer is one goroutine, then flush.
type stream struct {
	to   *sharedOutput
	rest []byte // the beginning of a line
}

// Write passes on the lines that are complete. What becomes of them is no business of the process.
func (s *stream) Write(b []byte) (int, error) {
	s.rest = append(s.rest, b...)
	for {
		end := bytes.IndexByte(s.rest, '\n')
		if end < 0 && len(s.rest) < lineMax {
			return len(b), nil
		}
		if end < 0 {
			end = lineMax - 1
		}
		s.line(s.rest[:end+1])
		s.rest = s.rest[end+1:]
	}
}

func (s *stream) line(b []byte) {
	s.to.mu.Lock()
	defer s.to.mu.Unlock()
	_, _ = s.to.w.Write(b)
}

func (s *stream) flush() {
	if len(s.rest) > 0 {
		s.line(append(s.rest, '\n'))
		s.rest = nil
	}
}

// tailMax is how much of the error output of a program that does not start is repeated in the error, in bytes.
const tailMax = 2 << 10

// tail keeps the end of what is written to it.
type tail struct {
	mu sync.Mutex
	b  []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b...)
	t.b = t.b[max(0, len(t.b)-tailMax):]
	return len(b), nil
}

// String is the text with a separator in front, "" when there is none.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text := strings.TrimSpace(string(t.b)); text != "" {
		return ": " + text
	}
	return ""
}
