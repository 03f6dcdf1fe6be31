package wal

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// MaxRecord is the size limit of one record, in bytes.
const MaxRecord = 64 << 20

const (
	magicLen      = 8
	logMagic      = "BLOCLOG1"
	snapshotMagic = "BLOCSNP1"

	// A frame header is length, payload checksum, and the checksum of both, each 4 bytes little endian. The header
	// has its own checksum so that a damaged length is told from a record that was cut short.
	headerLen = 12
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// CorruptError reports a damaged file: not the unfinished last record that a killed process leaves, but bytes that no
// run of this package can have produced.
type CorruptError struct {
	File   string // path
	Offset int64  // where the damaged frame begins, in bytes
	Reason string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("wal: %s is corrupt at offset %d: %s", e.File, e.Offset, e.Reason)
}

// errTorn says that a file ends inside a frame.
var errTorn = errors.New("wal: torn frame")

// appendFrame appends the frame of rec to dst. An empty rec marks the end of a snapshot.
func appendFrame(dst, rec []byte) []byte {
	var h [headerLen]byte
	binary.LittleEndian.PutUint32(h[0:], uint32(len(rec)))
	binary.LittleEndian.PutUint32(h[4:], crc32.Checksum(rec, castagnoli))
	binary.LittleEndian.PutUint32(h[8:], crc32.Checksum(h[:8], castagnoli))
	return append(append(dst, h[:]...), rec...)
}

// frameReader reads the frames of one file.
type frameReader struct {
	name   string
	r      *bufio.Reader
	offset int64 // of the next frame
}

func newFrameReader(name string, r io.Reader, magic string) (*frameReader, error) {
	br := bufio.NewReaderSize(r, 64<<10)
	got := make([]byte, magicLen)
	n, err := io.ReadFull(br, got)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("wal: read %s: %w", name, err)
	}
	if string(got[:n]) != magic {
		return nil, &CorruptError{name, 0, "not a file of this format"}
	}
	return &frameReader{name: name, r: br, offset: magicLen}, nil
}

// next returns the next record. At the end of the file it returns io.EOF, or errTorn when the file ends inside a
// frame; damage is a *CorruptError.
func (f *frameReader) next() ([]byte, error) {
	var h [headerLen]byte
	n, err := io.ReadFull(f.r, h[:])
	switch {
	case n == 0 && errors.Is(err, io.EOF):
		return nil, io.EOF
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errTorn
	case err != nil:
		return nil, fmt.Errorf("wal: read %s: %w", f.name, err)
	}
	size := binary.LittleEndian.Uint32(h[0:])
	if crc32.Checksum(h[:8], castagnoli) != binary.LittleEndian.Uint32(h[8:]) {
		// A machine that lost power may leave a file extended with pages that were never written.
		if h == [headerLen]byte{} && f.restIsZero() {
			return nil, errTorn
		}
		return nil, &CorruptError{f.name, f.offset, "the frame header fails its checksum"}
	}
	if size > MaxRecord {
		return nil, &CorruptError{f.name, f.offset, fmt.Sprintf("a record of %d bytes exceeds the limit", size)}
	}
	rec := make([]byte, size)
	if _, err := io.ReadFull(f.r, rec); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, errTorn
		}
		return nil, fmt.Errorf("wal: read %s: %w", f.name, err)
	}
	if crc32.Checksum(rec, castagnoli) != binary.LittleEndian.Uint32(h[4:]) {
		return nil, &CorruptError{f.name, f.offset, "the record fails its checksum"}
	}
	f.offset += headerLen + int64(size)
	return rec, nil
}

func (f *frameReader) restIsZero() bool {
	for {
		b, err := f.r.ReadByte()
		if err != nil {
			return errors.Is(err, io.EOF)
		}
		if b != 0 {
			return false
		}
	}
}
