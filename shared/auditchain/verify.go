package auditchain

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"bailing/shared/canonical"
)

// BrokenError is the first line at which an export is not what was exported.
type BrokenError struct {
	Line   int64 // counted from 1
	Reason string
}

func (e *BrokenError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// Result is what a whole export holds.
type Result struct {
	Header canonical.Value
	Count  int64  // of records
	Final  string // hash of the last line: who knows it knows the whole export
}

// Verify reads a whole export. It fails with *[BrokenError] at the first line that does not follow from those before it, or at the
// missing end; any other error is r's.
func Verify(r io.Reader) (Result, error) {
	v, in := NewVerifier(), bufio.NewReaderSize(r, 64<<10)
	for {
		line, err := readLine(in)
		switch {
		case errors.Is(err, io.EOF) && len(line) == 0:
			return v.End()
		case errors.Is(err, io.EOF):
			return Result{}, &BrokenError{v.line + 1, "it is cut off"}
		case errors.Is(err, ErrTooLong):
			return Result{}, &BrokenError{v.line + 1, fmt.Sprintf("it is longer than %d bytes", LineMax)}
		case err != nil:
			return Result{}, fmt.Errorf("auditchain: %w", err)
		}
		if err := v.Line(line); err != nil {
			return Result{}, err
		}
	}
}

// readLine reads one line without its end, at most LineMax bytes.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if len(bytes.TrimSuffix(line, []byte("\n"))) > LineMax {
			return nil, ErrTooLong
		}
		if err == nil {
			return line[:len(line)-1], nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// Verifier reads an export line by line.
type Verifier struct {
	chain  Chain
	line   int64
	header canonical.Value
	ended  bool
}

// NewVerifier is at the start of an export.
func NewVerifier() *Verifier { return &Verifier{chain: New()} }

// Line reads the next line, without its end. It fails with *[BrokenError]; nothing can be read behind it.
func (v *Verifier) Line(line []byte) error {
	v.line++
	if reason := v.next(line); reason != "" {
		return &BrokenError{v.line, reason}
	}
	return nil
}

// next is the reason against the line, "" when it is the one that follows.
func (v *Verifier) next(line []byte) string {
	if v.ended {
		return "it stands behind the end"
	}
	if len(line) > LineMax {
		return fmt.Sprintf("it is longer than %d bytes", LineMax)
	}
	doc, err := canonical.Parse(line, canonical.Limits{MaxBytes: LineMax, MaxNodes: LineMax})
	if err != nil {
		return "it is no JSON"
	}
	kind, content := contentOf(doc)
	if kind == "" {
		return "it is no line of an export"
	}
	if first := v.line == 1; first != (kind == "header") {
		return map[bool]string{true: "the export begins without its header", false: "it is a second header"}[first]
	}
	seq, _ := doc.Get("seq")
	if n, ok := seq.Int64(); !ok || n != v.chain.Seq {
		return fmt.Sprintf("its number is not %d: a line is missing, added or moved", v.chain.Seq)
	}
	if text(doc, "prev") != v.chain.Prev {
		return "it does not follow the line before it: one of both was changed"
	}
	want := bodyOf(v.chain.Seq, v.chain.Prev, kind, content)
	hash := hashOf(want)
	if text(doc, "hash") != hash {
		return "its hash is not that of its content: it was changed"
	}
	if string(line) != `{"hash":"`+hash+`",`+string(want[1:]) {
		return "it is not written in canonical form"
	}
	switch kind {
	case "header":
		v.header = content
	case "trailer":
		count, _ := content.Get("count")
		if n, ok := count.Int64(); !ok || n != v.chain.Seq-1 || text(content, "final") != v.chain.Prev || content.Len() != 2 {
			return "the trailer counts other records"
		}
		v.ended = true
	}
	v.chain.Seq, v.chain.Prev = v.chain.Seq+1, hash
	return ""
}

// contentOf is the one member of a line beside its number and hashes, "" when the line has another form.
func contentOf(doc canonical.Value) (kind string, content canonical.Value) {
	if doc.Kind() != canonical.Object || doc.Len() != 4 {
		return "", canonical.Value{}
	}
	for _, kind := range []string{"header", "record", "trailer"} {
		if content, ok := doc.Get(kind); ok && content.Kind() == canonical.Object {
			return kind, content
		}
	}
	return "", canonical.Value{}
}

func text(v canonical.Value, name string) string {
	if m, ok := v.Get(name); ok && m.Kind() == canonical.String {
		return m.Text()
	}
	return ""
}

// Ended reports whether the trailer was read.
func (v *Verifier) Ended() bool { return v.ended }

// Records is how many records were read.
func (v *Verifier) Records() int64 {
	n := v.chain.Seq - 1
	if v.ended {
		n--
	}
	return max(0, n)
}

// End is the result once all lines were read; it fails with *[BrokenError] when the trailer is missing.
func (v *Verifier) End() (Result, error) {
	if !v.ended {
		return Result{}, &BrokenError{v.line + 1, "the export ends without its trailer: lines are missing"}
	}
	return Result{Header: v.header, Count: v.Records(), Final: v.chain.Prev}, nil
}
