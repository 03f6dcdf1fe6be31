package ratelimit

import (
	"encoding"
	"encoding/binary"
	"errors"
	"math"
)

// ErrCorrupt is the error of [Bucket.UnmarshalBinary].
var ErrCorrupt = errors.New("stored rate limit bucket is corrupt")

var (
	_ encoding.BinaryMarshaler   = Bucket{}
	_ encoding.BinaryUnmarshaler = (*Bucket)(nil)
)

const (
	formatVersion = 1
	maxMarks      = 1000 // Take never keeps more than ExactLimit exact or 3*slots slotted ones
)

// MarshalBinary is the stored form: a version byte, then varints of the window in milliseconds, the sequence number, the
// number of marks, and for each mark its distance from the one before, its count, and for an exact one 1 + how many exact
// calls came after it. The error is always nil.
func (b Bucket) MarshalBinary() ([]byte, error) {
	dst := make([]byte, 0, 32+6*len(b.marks))
	dst = append(dst, formatVersion)
	dst = binary.AppendVarint(dst, b.windowMS)
	dst = binary.AppendUvarint(dst, b.seq)
	dst = binary.AppendUvarint(dst, uint64(len(b.marks)))
	last := int64(0)
	for _, m := range b.marks {
		dst = binary.AppendVarint(dst, m.at-last)
		dst = binary.AppendUvarint(dst, uint64(m.n))
		if m.seq == 0 {
			dst = append(dst, 0)
		} else {
			dst = binary.AppendUvarint(dst, b.seq-m.seq+1)
		}
		last = m.at
	}
	return dst, nil
}

// UnmarshalBinary reads the stored form; no bytes at all are an empty bucket. What is malformed or out of
// bounds is [ErrCorrupt] and leaves b as it was.
func (b *Bucket) UnmarshalBinary(data []byte) error {
	if len(data) == 0 {
		*b = Bucket{}
		return nil
	}
	if data[0] != formatVersion {
		return ErrCorrupt
	}
	r := reader{data: data[1:]}
	in := Bucket{windowMS: r.varint(), seq: r.uvarint()}
	n := r.uvarint()
	if r.bad || n > maxMarks || in.windowMS < 0 || in.windowMS > 24*3600*1000 {
		return ErrCorrupt
	}
	last := int64(0)
	for i := range n {
		delta, count, age := r.varint(), r.uvarint(), r.uvarint()
		m := mark{at: last + delta, n: int(min(count, math.MaxInt32))}
		if age > 0 {
			m.seq = in.seq - age + 1
		}
		if r.bad || i > 0 && delta < 0 || m.at > math.MaxInt64/128 || m.at < math.MinInt64/128 || count == 0 || count > MaxCount || age > in.seq || age > 0 && count != 1 {
			return ErrCorrupt
		}
		in.marks = append(in.marks, m)
		last = m.at
	}
	if len(r.data) > 0 {
		return ErrCorrupt
	}
	*b = in
	return nil
}

// reader reads varints and remembers the first failure.
type reader struct {
	data []byte
	bad  bool
}

func (r *reader) uvarint() uint64 {
	v, n := binary.Uvarint(r.data)
	return advance(r, v, n)
}

func (r *reader) varint() int64 {
	v, n := binary.Varint(r.data)
	return advance(r, v, n)
}

func advance[T int64 | uint64](r *reader, v T, n int) T {
	if n <= 0 {
		r.bad, r.data = true, nil
		return 0
	}
	r.data = r.data[n:]
	return v
}
