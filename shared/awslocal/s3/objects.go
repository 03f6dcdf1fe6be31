package s3

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

func (s *Service) putObject(w http.ResponseWriter, r *request) error {
	ifAbsent := false
	switch cond := r.Header.Get("If-None-Match"); cond {
	case "":
	case "*":
		ifAbsent = true
	default:
		return errNotImplemented("If-None-Match with a value other than *")
	}
	if err := s.admit(r, ifAbsent); err != nil {
		return err
	}
	headers, err := keptHeaders(r.Header)
	if err != nil {
		return err
	}
	p, err := newPayload(r.Request)
	if err != nil {
		return err
	}
	o := &object{Blob: s.newID(), Size: p.size, Headers: headers, Modified: s.clock.Now().Truncate(time.Second)}
	b, err := s.blobs.create(o.Blob)
	if err != nil {
		return err
	}
	if err := p.copyTo(b); err != nil {
		b.abort()
		return err
	}
	if err := b.commit(); err != nil {
		return err
	}
	o.MD5 = hex.EncodeToString(p.md5.Sum(nil))
	if p.algorithm != "" {
		o.Checksum = map[string]string{checksumPrefix + p.algorithm: p.declared, "x-amz-checksum-type": "FULL_OBJECT"}
	}
	if err := s.commitPut(r, o, ifAbsent); err != nil {
		return err
	}
	w.Header().Set("ETag", o.etag())
	setAll(w.Header(), o.Checksum)
	w.WriteHeader(http.StatusOK)
	return nil
}

// admit refuses a put that cannot succeed as things are.
func (s *Service) admit(r *request, ifAbsent bool) error {
	_, err := s.find(r.bucket, r.key)
	var api *apiError
	switch {
	case err == nil && ifAbsent:
		return newError(http.StatusPreconditionFailed, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold")
	case errors.As(err, &api) && api.Code == "NoSuchBucket":
		return err
	}
	return nil
}

// commitPut makes the object visible, durably, unless that cannot be any more.
func (s *Service) commitPut(r *request, o *object, ifAbsent bool) error {
	s.commit.Lock()
	defer s.commit.Unlock()
	if err := s.admit(r, ifAbsent); err != nil {
		s.removeBlob(o)
		return err
	}
	rec := record{Kind: recPut, Bucket: r.bucket, Key: r.key, Object: o}
	if err := s.log.Append(rec.encode()); err != nil {
		// The record may be replayed, so its bytes must stay.
		return err
	}
	s.removeBlob(s.apply(rec))
	return nil
}

// removeBlob drops the bytes of an object that nothing names any more. What cannot be removed is removed at the next start.
func (s *Service) removeBlob(o *object) {
	if o == nil {
		return
	}
	if err := s.blobs.remove(o.Blob); err != nil {
		s.logger.Warn("a blob of no object stays until the next start", "blob", o.Blob, "err", err)
	}
}

func (s *Service) newID() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.nextID
	s.nextID++
	return id
}

// keptHeaders returns the headers that are stored with an object.
func keptHeaders(h http.Header) (map[string]string, error) {
	kept := map[string]string{"Content-Type": "binary/octet-stream"}
	metadata := 0
	for name := range h {
		value := strings.Join(h.Values(name), ",")
		switch name {
		case "Content-Type", "Cache-Control", "Content-Disposition", "Content-Language", "Expires":
			kept[name] = value
		case "Content-Encoding":
			if value = withoutChunked(value); value != "" {
				kept[name] = value
			}
		default:
			if meta, ok := strings.CutPrefix(name, "X-Amz-Meta-"); ok {
				kept[name] = value
				metadata += len(meta) + len(value)
			}
		}
	}
	if metadata > maxMetadata {
		return nil, errBadRequest("MetadataTooLarge", "Your metadata headers exceed the maximum allowed metadata size of %d bytes.", maxMetadata)
	}
	return kept, nil
}

// withoutChunked drops aws-chunked, which describes the transfer, from a list of content encodings.
func withoutChunked(encodings string) string {
	var kept []string
	for e := range strings.SplitSeq(encodings, ",") {
		if e = strings.TrimSpace(e); e != "aws-chunked" && e != "" {
			kept = append(kept, e)
		}
	}
	return strings.Join(kept, ",")
}

func (o *object) etag() string { return `"` + o.MD5 + `"` }

func setAll(h http.Header, values map[string]string) {
	for name, value := range values {
		h.Set(name, value)
	}
}

// describe sets the headers that an object has in every answer.
func (o *object) describe(h http.Header) {
	setAll(h, o.Headers)
	h.Set("ETag", o.etag())
	h.Set("Last-Modified", o.Modified.UTC().Format(http.TimeFormat))
	h.Set("Accept-Ranges", "bytes")
}

func (s *Service) headObject(w http.ResponseWriter, r *request) error {
	o, err := s.find(r.bucket, r.key)
	if err != nil {
		return err
	}
	o.describe(w.Header())
	if r.Header.Get("X-Amz-Checksum-Mode") == "ENABLED" {
		setAll(w.Header(), o.Checksum)
	}
	w.Header().Set("Content-Length", strconv.FormatInt(o.Size, 10))
	w.WriteHeader(http.StatusOK)
	return nil
}

func (s *Service) getObject(w http.ResponseWriter, r *request) error {
	o, blob, err := s.openObject(r)
	if err != nil {
		return err
	}
	defer blob.Close()
	from, size, err := byteRange(r.Header.Get("Range"), o.Size)
	if err != nil {
		return err
	}
	if _, err := blob.Seek(from, io.SeekStart); err != nil {
		return fmt.Errorf("s3: seek in blob: %w", err)
	}
	o.describe(w.Header())
	w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	status := http.StatusOK
	if r.Header.Get("Range") != "" {
		status = http.StatusPartialContent
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, from+size-1, o.Size))
	} else if r.Header.Get("X-Amz-Checksum-Mode") == "ENABLED" {
		setAll(w.Header(), o.Checksum)
	}
	w.WriteHeader(status)
	if _, err := io.CopyN(w, blob, size); err != nil {
		// The status is out: a body that ends early is all that can still tell.
		s.logger.Warn("an object was not sent in full", "bucket", r.bucket, "err", err)
	}
	return nil
}

// openObject finds an object and opens its bytes, both before a put or delete can take them away.
func (s *Service) openObject(r *request) (*object, io.ReadSeekCloser, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	b, ok := s.buckets[r.bucket]
	if !ok {
		return nil, nil, errNoBucket()
	}
	o, ok := b[r.key]
	if !ok {
		return nil, nil, errNoKey()
	}
	blob, err := s.blobs.open(o.Blob)
	return o, blob, err
}

// byteRange reads a Range header for an object of the given size: where to begin, and how many bytes.
func byteRange(header string, size int64) (from, length int64, err error) {
	if header == "" {
		return 0, size, nil
	}
	spec, ok := strings.CutPrefix(header, "bytes=")
	if !ok || strings.Contains(spec, ",") {
		return 0, 0, errNotImplemented("A Range other than one of bytes")
	}
	unsatisfiable := newError(http.StatusRequestedRangeNotSatisfiable, "InvalidRange", "The requested range is not satisfiable")
	first, last, ok := strings.Cut(spec, "-")
	if !ok {
		return 0, 0, unsatisfiable
	}
	if first == "" {
		n, err := strconv.ParseUint(last, 10, 62)
		if err != nil || n == 0 || size == 0 {
			return 0, 0, unsatisfiable
		}
		length = min(int64(n), size)
		return size - length, length, nil
	}
	a, err := strconv.ParseUint(first, 10, 62)
	if err != nil || int64(a) >= size {
		return 0, 0, unsatisfiable
	}
	to := size - 1
	if last != "" {
		z, err := strconv.ParseUint(last, 10, 62)
		if err != nil || z < a {
			return 0, 0, unsatisfiable
		}
		to = min(to, int64(z))
	}
	return int64(a), to - int64(a) + 1, nil
}

// deleteObject succeeds whether or not the object exists.
func (s *Service) deleteObject(w http.ResponseWriter, r *request) error {
	s.commit.Lock()
	defer s.commit.Unlock()
	_, err := s.find(r.bucket, r.key)
	var api *apiError
	switch {
	case errors.As(err, &api) && api.Code == "NoSuchBucket":
		return err
	case err == nil:
		rec := record{Kind: recDelete, Bucket: r.bucket, Key: r.key}
		if err := s.log.Append(rec.encode()); err != nil {
			return err
		}
		s.removeBlob(s.apply(rec))
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
