package auditchain

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"bailing/shared/canonical"
	"bailing/shared/textlimit"
)

// LineMax is the most bytes of one line, its end not counted.
const LineMax = 1 << 20

// ErrTooLong says that a record does not fit into a line.
var ErrTooLong = errors.New("auditchain: the line is too long")

// none is the hash before the first line.
var none = strings.Repeat("0", 2*sha256.Size)

// Chain is where an export stands.
type Chain struct {
	Seq  int64  // number of the next line
	Prev string // hash of the line before it
}

// New is the chain of an export of which no line is written.
func New() Chain { return Chain{Prev: none} }

// Resume is a chain that went on elsewhere: seq is the number of its next line, which is no header, and prev the last hash.
func Resume(seq int64, prev string) (Chain, error) {
	if seq < 1 || !textlimit.Hex64(prev) {
		return Chain{}, errors.New("auditchain: no place in a chain")
	}
	return Chain{seq, prev}, nil
}

// AppendHeader appends the first line to dst; it says what is exported.
func (c *Chain) AppendHeader(dst []byte, header canonical.Value) ([]byte, error) {
	return c.line(dst, "header", header)
}

// AppendRecord appends the line of one record to dst. It fails with [ErrTooLong] and leaves the chain as it was when the record does not
// fit into a line.
func (c *Chain) AppendRecord(dst []byte, record canonical.Value) ([]byte, error) {
	return c.line(dst, "record", record)
}

// AppendTrailer appends the last line to dst.
func (c *Chain) AppendTrailer(dst []byte) ([]byte, error) {
	v, err := canonical.FromGo(map[string]any{"count": c.Seq - 1, "final": c.Prev})
	if err != nil {
		return dst, fmt.Errorf("auditchain: trailer: %w", err)
	}
	return c.line(dst, "trailer", v)
}

func (c *Chain) line(dst []byte, kind string, v canonical.Value) ([]byte, error) {
	body := bodyOf(c.Seq, c.Prev, kind, v)
	hash := hashOf(body)
	// "hash" is the first of the members in canonical order, whatever the kind.
	line := append([]byte(`{"hash":"`+hash+`",`), body[1:]...)
	if len(line) > LineMax {
		return dst, ErrTooLong
	}
	c.Seq, c.Prev = c.Seq+1, hash
	return append(append(dst, line...), '\n'), nil
}

// bodyOf is a line without its hash, in canonical order.
func bodyOf(seq int64, prev, kind string, v canonical.Value) []byte {
	number := `"seq":` + strconv.FormatInt(seq, 10)
	b := []byte{'{'}
	switch kind {
	case "header":
		b = append(v.AppendCanonical(append(b, `"header":`...)), `,"prev":"`+prev+`",`+number...)
	case "record":
		b = append(v.AppendCanonical(append(b, `"prev":"`+prev+`","record":`...)), `,`+number...)
	default:
		b = v.AppendCanonical(append(b, `"prev":"`+prev+`",`+number+`,"trailer":`...))
	}
	return append(b, '}')
}

func hashOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}
