package s3

import (
	"io"
	"net/http"
	"strings"
)

// checkBucketName follows the rules for general purpose buckets that matter here.
func checkBucketName(name string) error {
	const letters, inner = "abcdefghijklmnopqrstuvwxyz0123456789", "abcdefghijklmnopqrstuvwxyz0123456789.-"
	if len(name) < 3 || len(name) > 63 || strings.Trim(name, inner) != "" || strings.Contains(name, "..") ||
		!strings.Contains(letters, name[:1]) || !strings.Contains(letters, name[len(name)-1:]) {
		return errBadRequest("InvalidBucketName", "The specified bucket is not valid.")
	}
	return nil
}

// createBucket creates the bucket; one that exists is left as it is, as the region us-east-1 does.
func (s *Service) createBucket(w http.ResponseWriter, r *request) error {
	if err := checkBucketName(r.bucket); err != nil {
		return err
	}
	if n, err := io.ReadFull(r.Body, make([]byte, 1)); n > 0 || err != io.EOF {
		return errNotImplemented("A configuration in CreateBucket")
	}
	s.commit.Lock()
	defer s.commit.Unlock()
	if _, err := s.find(r.bucket, ""); err != nil {
		rec := record{Kind: recBucket, Bucket: r.bucket}
		if err := s.log.Append(rec.encode()); err != nil {
			return err
		}
		s.apply(rec)
	}
	w.Header().Set("Location", "/"+r.bucket)
	w.WriteHeader(http.StatusOK)
	return nil
}

func (s *Service) headBucket(w http.ResponseWriter, r *request) error {
	if _, err := s.find(r.bucket, ""); err != nil {
		return err
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

// find returns the object, or the error for what is missing. For key "" it looks for the bucket only and returns nil.
func (s *Service) find(bucket, key string) (*object, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	b, ok := s.buckets[bucket]
	if !ok {
		return nil, errNoBucket()
	}
	o, ok := b[key]
	if !ok && key != "" {
		return nil, errNoKey()
	}
	return o, nil
}
