package s3

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Kinds of records.
const (
	recCounters = "counters" // where numbering goes on; begins every snapshot
	recBucket   = "bucket"
	recPut      = "put"
	recDelete   = "delete"
)

// record is one entry of the journal. It names the blob that holds an object's bytes, and holds none itself.
type record struct {
	Kind   string  `json:"kind"`
	Bucket string  `json:"bucket,omitempty"`
	Key    string  `json:"key,omitempty"`
	Object *object `json:"object,omitempty"`
	NextID uint64  `json:"next_id,omitempty"`
}

// object is what is known of an object beside its bytes. It never changes.
type object struct {
	Blob     uint64            `json:"blob"`
	Size     int64             `json:"size"`
	MD5      string            `json:"md5"` // hex
	Modified time.Time         `json:"modified"`
	Headers  map[string]string `json:"headers,omitempty"` // content headers and user metadata, canonical names
	Checksum map[string]string `json:"checksum,omitempty"`
}

func (r record) encode() []byte {
	b, err := json.Marshal(r)
	if err != nil {
		panic(fmt.Sprintf("s3: a record cannot be encoded: %v", err)) // plain data
	}
	return b
}

// Replay applies one record of the journal. Records come in the order in which they were appended, before the service
// serves. A record of which the state has the effect already is harmless when all later records follow.
func (s *Service) Replay(rec []byte) error {
	var r record
	if err := json.Unmarshal(rec, &r); err != nil {
		return fmt.Errorf("s3: decode record: %w", err)
	}
	s.nextID = max(s.nextID, r.NextID)
	switch r.Kind {
	case recCounters, recBucket:
	case recPut, recDelete:
		if _, ok := s.buckets[r.Bucket]; !ok {
			return fmt.Errorf("s3: a record of kind %q is about bucket %q, which does not exist", r.Kind, r.Bucket)
		}
		if r.Kind == recPut {
			if r.Object == nil {
				return fmt.Errorf("s3: a record of kind %q has no object", r.Kind)
			}
			s.nextID = max(s.nextID, r.Object.Blob+1)
		}
	default:
		return fmt.Errorf("s3: a record of unknown kind %q", r.Kind)
	}
	s.apply(r)
	return nil
}

// apply carries out a record and returns the object that it replaced or removed.
func (s *Service) apply(r record) (old *object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r.Kind {
	case recBucket:
		if s.buckets[r.Bucket] == nil {
			s.buckets[r.Bucket] = map[string]*object{}
		}
	case recPut:
		old = s.buckets[r.Bucket][r.Key]
		s.buckets[r.Bucket][r.Key] = r.Object
	case recDelete:
		old = s.buckets[r.Bucket][r.Key]
		delete(s.buckets[r.Bucket], r.Key)
	}
	return old
}

// Ready ends the replay: it checks that the bytes of every object are there, and removes bytes that belong to none.
func (s *Service) Ready() error {
	sizes := map[uint64]int64{}
	for _, b := range s.buckets {
		for _, o := range b {
			sizes[o.Blob] = o.Size
		}
	}
	return s.blobs.reconcile(sizes)
}

// Snapshot emits records that rebuild the service as it is. It contains every record whose append had been called before.
// Writes wait only while the state is noted, not while it is emitted.
func (s *Service) Snapshot(emit func(rec []byte) error) error {
	for _, r := range s.freeze() {
		if err := emit(r.encode()); err != nil {
			return err
		}
	}
	return nil
}

// freeze notes the state while nobody is between an append and its effect.
func (s *Service) freeze() []record {
	s.commit.Lock()
	defer s.commit.Unlock()
	s.mu.RLock()
	defer s.mu.RUnlock()
	records := []record{{Kind: recCounters, NextID: s.nextID}}
	for _, bucket := range slices.Sorted(maps.Keys(s.buckets)) {
		records = append(records, record{Kind: recBucket, Bucket: bucket})
		objects := s.buckets[bucket]
		for _, key := range slices.Sorted(maps.Keys(objects)) {
			records = append(records, record{Kind: recPut, Bucket: bucket, Key: key, Object: objects[key]})
		}
	}
	return records
}
