package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"regexp"
	"time"
)

// tail is how many lines a failure shows.
const tail = 120

// mark is what tells two changes of one moment apart.
var mark = regexp.MustCompile(`(system#config/[^#]*)#[0-9a-f]{16}`)

// trace is what happened, a line each. Two runs of a seed have the same one.
type trace struct {
	start time.Time
	sum   hash.Hash
	lines []string // the last ones
	out   io.Writer
}

func newTrace(out io.Writer) *trace { return &trace{start: time.Now(), sum: sha256.New(), out: out} }

// uuid is cut to its first digits, which are enough to tell ids apart.
var uuid = regexp.MustCompile(`([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

func (t *trace) add(format string, args ...any) {
	line := uuid.ReplaceAllString(fmt.Sprintf(format, args...), "$1")
	line = fmt.Sprintf("%12.3f  ", time.Since(t.start).Seconds()) + mark.ReplaceAllString(line, "$1")
	fmt.Fprintln(t.sum, line)
	if t.lines = append(t.lines, line); len(t.lines) > 2*tail {
		t.lines = append([]string(nil), t.lines[tail:]...)
	}
	if t.out != nil {
		fmt.Fprintln(t.out, line)
	}
}

// last is the end of the trace.
func (t *trace) last() []string { return t.lines[max(0, len(t.lines)-tail):] }

// hash names the whole trace.
func (t *trace) hash() string { return hex.EncodeToString(t.sum.Sum(nil)) }
