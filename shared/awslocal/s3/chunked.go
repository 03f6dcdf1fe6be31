package s3

import (
	"bufio"
	"errors"
	"io"
	"strconv"
	"strings"
)

const (
	maxChunkLine = 256 // bytes of the line before a chunk
	maxTrailers  = 8   // lines after the last chunk
)

var errChunk = errors.New("s3: malformed aws-chunked body")

// chunkedReader decodes an aws-chunked body with an unsigned payload: chunks of a hexadecimal size, a line break, that
// many bytes and a line break; a chunk of size 0; then trailer lines, and an empty line.
type chunkedReader struct {
	r        *bufio.Reader
	left     int64 // bytes of the current chunk
	started  bool
	err      error
	trailers map[string]string // lower-case names; complete when Read has returned io.EOF
}

func newChunkedReader(r io.Reader) *chunkedReader {
	return &chunkedReader{r: bufio.NewReader(r), trailers: map[string]string{}}
}

func (c *chunkedReader) Read(p []byte) (int, error) {
	if c.err == nil && c.left == 0 {
		c.err = c.nextChunk()
	}
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.r.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	c.err = err
	return n, err
}

// nextChunk reads up to the first byte of a chunk, or to the end of the body.
func (c *chunkedReader) nextChunk() error {
	if c.started {
		if line, err := c.line(); err != nil || line != "" {
			return errors.Join(errChunk, err)
		}
	}
	c.started = true
	line, err := c.line()
	if err != nil {
		return err
	}
	size, err := strconv.ParseUint(line, 16, 40)
	if err != nil {
		return errChunk
	}
	if c.left = int64(size); size > 0 {
		return nil
	}
	for range maxTrailers + 1 {
		line, err := c.line()
		if err != nil {
			return err
		}
		if line == "" {
			return io.EOF
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return errChunk
		}
		c.trailers[strings.ToLower(strings.TrimSpace(name))] = strings.TrimSpace(value)
	}
	return errChunk
}

// line reads one line and drops its end, CR LF.
func (c *chunkedReader) line() (string, error) {
	var b []byte
	for len(b) <= maxChunkLine {
		ch, err := c.r.ReadByte()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return "", err
		}
		if b = append(b, ch); ch == '\n' {
			line, ok := strings.CutSuffix(string(b), "\r\n")
			if !ok {
				return "", errChunk
			}
			return line, nil
		}
	}
	return "", errChunk
}
