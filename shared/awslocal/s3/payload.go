package s3

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"
	"net/http"
	"strconv"
	"strings"
)

const (
	checksumPrefix = "x-amz-checksum-"
	unsigned       = "UNSIGNED-PAYLOAD"
	trailing       = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"

	nvmePolynomial = 0x9a6c9329ac4bc9b5 // CRC-64/NVME, reflected
)

// newChecksum returns the hash behind the header x-amz-checksum-<algorithm>, or nil.
func newChecksum(algorithm string) hash.Hash {
	switch algorithm {
	case "crc32":
		return crc32.NewIEEE()
	case "crc32c":
		return crc32.New(crc32.MakeTable(crc32.Castagnoli))
	case "crc64nvme":
		return crc64.New(crc64.MakeTable(nvmePolynomial))
	case "sha1":
		return sha1.New()
	case "sha256":
		return sha256.New()
	case "sha512":
		return sha512.New()
	}
	return nil
}

// payload is the body of a PutObject with everything that it must agree with.
type payload struct {
	body    io.Reader
	chunked *chunkedReader // nil for a plain body
	size    int64

	md5    hash.Hash
	sha256 hash.Hash // nil when the request does not say

	algorithm string // of the checksum; "" for none
	checksum  hash.Hash
	declared  string // base64; for a trailer "" until the body is read

	wantMD5, wantSHA256 []byte // nil when not declared
}

func newPayload(r *http.Request) (*payload, error) {
	p := &payload{body: r.Body, size: r.ContentLength, md5: md5.New()}
	mode := r.Header.Get("X-Amz-Content-Sha256")
	switch {
	case mode == "" || mode == unsigned:
	case mode == trailing:
		n, err := strconv.ParseInt(r.Header.Get("X-Amz-Decoded-Content-Length"), 10, 64)
		if err != nil || n < 0 {
			return nil, errBadRequest("InvalidArgument", "x-amz-decoded-content-length must be a number of bytes.")
		}
		p.size = n
		p.chunked = newChunkedReader(r.Body)
		p.body = p.chunked
	case strings.HasPrefix(mode, "STREAMING-"):
		return nil, errNotImplemented("The payload " + mode)
	default:
		sum, err := hex.DecodeString(mode)
		if err != nil || len(sum) != sha256.Size {
			return nil, errBadRequest("InvalidArgument", "x-amz-content-sha256 must be %s, %s or a SHA-256 in hexadecimal.", unsigned, trailing)
		}
		p.wantSHA256, p.sha256 = sum, sha256.New()
	}
	switch {
	case p.size < 0:
		return nil, newError(http.StatusLengthRequired, "MissingContentLength", "You must provide the Content-Length HTTP header.")
	case p.size > MaxObject:
		return nil, errBadRequest("EntityTooLarge", "Your proposed upload exceeds the maximum allowed size of %d bytes.", MaxObject)
	}
	if m := r.Header.Get("Content-Md5"); m != "" {
		sum, err := base64.StdEncoding.DecodeString(m)
		if err != nil || len(sum) != md5.Size {
			return nil, errBadRequest("InvalidDigest", "The Content-MD5 you specified was invalid.")
		}
		p.wantMD5 = sum
	}
	return p, p.declareChecksum(r.Header)
}

// declareChecksum finds the one checksum of the request, in a header or announced for the trailer.
func (p *payload) declareChecksum(h http.Header) error {
	declare := func(header, value string) error {
		algorithm := strings.TrimPrefix(header, checksumPrefix)
		sum := newChecksum(algorithm)
		switch {
		case sum == nil || algorithm == header:
			return errNotImplemented("The header " + header)
		case p.algorithm != "":
			return errBadRequest("InvalidRequest", "Expecting a single x-amz-checksum- header. Multiple checksum types are not allowed.")
		}
		p.algorithm, p.checksum, p.declared = algorithm, sum, value
		return nil
	}
	for name := range h {
		if header := strings.ToLower(name); strings.HasPrefix(header, checksumPrefix) {
			if err := declare(header, h.Get(name)); err != nil {
				return err
			}
		}
	}
	trailer := strings.ToLower(h.Get("X-Amz-Trailer"))
	switch {
	case trailer == "":
		return nil
	case p.chunked == nil:
		return errBadRequest("InvalidRequest", "x-amz-trailer needs the payload %s.", trailing)
	}
	return declare(trailer, "")
}

// copyTo writes the decoded body to w and verifies it.
func (p *payload) copyTo(w io.Writer) error {
	writers := []io.Writer{w, p.md5}
	for _, h := range []hash.Hash{p.sha256, p.checksum} {
		if h != nil {
			writers = append(writers, h)
		}
	}
	// One byte more than declared is enough to see that there is more.
	n, err := io.Copy(io.MultiWriter(writers...), io.LimitReader(p.body, p.size+1))
	switch {
	case errors.Is(err, errChunk):
		return errBadRequest("InvalidChunkSizeError", "The aws-chunked body is malformed.")
	case errors.Is(err, io.ErrUnexpectedEOF), err == nil && n != p.size:
		return errBadRequest("IncompleteBody", "You did not provide the number of bytes specified by the Content-Length HTTP header")
	case err != nil:
		return err
	}
	return p.verify()
}

func (p *payload) verify() error {
	if p.wantMD5 != nil && string(p.md5.Sum(nil)) != string(p.wantMD5) {
		return errBadRequest("BadDigest", "The Content-MD5 you specified did not match what we received.")
	}
	if p.wantSHA256 != nil && string(p.sha256.Sum(nil)) != string(p.wantSHA256) {
		return errBadRequest("XAmzContentSHA256Mismatch", "The provided 'x-amz-content-sha256' header does not match what was computed.")
	}
	if p.algorithm == "" {
		return nil
	}
	header := checksumPrefix + p.algorithm
	if p.declared == "" {
		var ok bool
		if p.declared, ok = p.trailer(header); !ok {
			return errBadRequest("MalformedTrailerError", "The trailer %s is missing.", header)
		}
	}
	sum, err := base64.StdEncoding.DecodeString(p.declared)
	if err != nil || len(sum) != p.checksum.Size() {
		return errBadRequest("InvalidRequest", "Value for %s header is invalid.", header)
	}
	if string(p.checksum.Sum(nil)) != string(sum) {
		return errBadRequest("BadDigest", "The %s you specified did not match the calculated checksum.", strings.ToUpper(p.algorithm))
	}
	return nil
}

func (p *payload) trailer(name string) (string, bool) {
	if p.chunked == nil {
		return "", false
	}
	v, ok := p.chunked.trailers[name]
	return v, ok
}
