package s3

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func FuzzChunkedReader(f *testing.F) {
	f.Add([]byte("5\r\nhello\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\r\n\r\n"))
	f.Add([]byte("0\r\n\r\n"))
	f.Add([]byte("2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"))
	f.Add([]byte("ffffffffff\r\nx"))
	f.Fuzz(func(t *testing.T, data []byte) {
		whole := newChunkedReader(bytes.NewReader(data))
		got, err := io.ReadAll(whole)
		if err != nil && !errors.Is(err, errChunk) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("%v", err)
		}
		// How the bytes arrive changes nothing.
		slowly, slowErr := io.ReadAll(newChunkedReader(iotest.OneByteReader(bytes.NewReader(data))))
		if !bytes.Equal(got, slowly) || (err == nil) != (slowErr == nil) {
			t.Fatalf("%q %v, byte by byte %q %v", got, err, slowly, slowErr)
		}
	})
}

func TestChunkedLimits(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		rule string
		body string
		ok   bool
	}{
		{"trailers at the limit", "0\r\n" + strings.Repeat("a:b\r\n", maxTrailers) + "\r\n", true},
		{"one trailer past the limit", "0\r\n" + strings.Repeat("a:b\r\n", maxTrailers+1) + "\r\n", false},
		{"line at the limit", "0\r\na:" + strings.Repeat("b", maxChunkLine-3) + "\r\n\r\n", true},
		{"line past the limit", "0\r\na:" + strings.Repeat("b", maxChunkLine) + "\r\n\r\n", false},
		{"chunk that is not that large", fmt.Sprintf("%x\r\n", uint64(1)<<40), false},
	} {
		if _, err := io.ReadAll(newChunkedReader(strings.NewReader(tc.body))); (err == nil) != tc.ok {
			t.Errorf("%s: %v", tc.rule, err)
		}
	}
}
