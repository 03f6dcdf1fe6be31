package sqs

import (
	"encoding/base64"
	"fmt"
	"time"
)

// handle is what a receipt handle says: one receive of one message of one queue.
type handle struct {
	queue    uint64
	seq      uint64
	received int
}

const handleFormat = "%d:%d:%d"

func (h handle) String() string {
	return base64.URLEncoding.EncodeToString(fmt.Appendf(nil, handleFormat, h.queue, h.seq, h.received))
}

// parseHandle reads a handle of queue q.
func parseHandle(text string, q *queue) (handle, error) {
	raw, err := base64.URLEncoding.DecodeString(text)
	if err != nil {
		return handle{}, errHandle()
	}
	var h handle
	if _, err := fmt.Sscanf(string(raw), handleFormat, &h.queue, &h.seq, &h.received); err != nil || h.queue != q.id || h.String() != text {
		return handle{}, errHandle()
	}
	return h, nil
}

// held returns the message of h when h is its last receive, else nil.
func (q *queue) held(h handle) *message {
	if m, ok := q.messages[h.seq]; ok && m.received == h.received {
		return m
	}
	return nil
}

type deleteEntry struct{ Id, ReceiptHandle string }

func (s *Service) deleteMessage(r *request) (any, error) {
	var in struct{ QueueUrl, ReceiptHandle string }
	if err := r.decode(&in); err != nil {
		return nil, err
	}
	errs, err := s.delete(r, in.QueueUrl, []deleteEntry{{ReceiptHandle: in.ReceiptHandle}})
	if err != nil {
		return nil, err
	}
	return struct{}{}, errs[0]
}

func (s *Service) deleteMessageBatch(r *request) (any, error) {
	var in struct {
		QueueUrl string
		Entries  []deleteEntry
	}
	if err := r.decode(&in); err != nil {
		return nil, err
	}
	if err := checkBatch(in.Entries, func(e deleteEntry) string { return e.Id }); err != nil {
		return nil, err
	}
	errs, err := s.delete(r, in.QueueUrl, in.Entries)
	if err != nil {
		return nil, err
	}
	var out batchResult[idResult]
	for i, e := range in.Entries {
		out.add(e.Id, idResult{e.Id}, errs[i])
	}
	return out, nil
}

// delete deletes the messages that the entries still hold, durably; errs are by entry.
func (s *Service) delete(r *request, url string, entries []deleteEntry) (errs []error, err error) {
	s.gate.RLock()
	defer s.gate.RUnlock()
	errs = make([]error, len(entries))
	s.mu.Lock()
	q, err := s.queueAt(r, url)
	if err != nil {
		s.mu.Unlock()
		return nil, err
	}
	rec := record{Kind: recDelete, Queue: q.id}
	var gone []*message
	for i, e := range entries {
		var h handle
		if e.ReceiptHandle == "" {
			errs[i] = errMissing("ReceiptHandle")
			continue
		}
		if h, errs[i] = parseHandle(e.ReceiptHandle, q); errs[i] != nil {
			continue
		}
		// Nobody may receive the message while its end is being written.
		if m := q.held(h); m != nil {
			q.remove(m)
			gone = append(gone, m)
			rec.Seqs = append(rec.Seqs, m.seq)
		}
	}
	s.mu.Unlock()
	if len(gone) == 0 {
		return errs, nil
	}
	if err := s.log.Append(rec.encode()); err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, m := range gone {
			q.add(m, s.clock.Now())
		}
		return nil, err
	}
	return errs, nil
}

type visibilityEntry struct {
	Id, ReceiptHandle string
	VisibilityTimeout *int
}

func (s *Service) changeVisibility(r *request) (any, error) {
	var in struct {
		QueueUrl string
		visibilityEntry
	}
	if err := r.decode(&in); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.queueAt(r, in.QueueUrl)
	if err != nil {
		return nil, err
	}
	return struct{}{}, s.setVisibility(q, in.visibilityEntry)
}

func (s *Service) changeVisibilityBatch(r *request) (any, error) {
	var in struct {
		QueueUrl string
		Entries  []visibilityEntry
	}
	if err := r.decode(&in); err != nil {
		return nil, err
	}
	if err := checkBatch(in.Entries, func(e visibilityEntry) string { return e.Id }); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.queueAt(r, in.QueueUrl)
	if err != nil {
		return nil, err
	}
	var out batchResult[idResult]
	for _, e := range in.Entries {
		out.add(e.Id, idResult{e.Id}, s.setVisibility(q, e))
	}
	return out, nil
}

// setVisibility hides a message in flight for the given time from now on. The caller holds mu.
func (s *Service) setVisibility(q *queue, e visibilityEntry) error {
	switch {
	case e.ReceiptHandle == "":
		return errMissing("ReceiptHandle")
	case e.VisibilityTimeout == nil:
		return errMissing("VisibilityTimeout")
	case *e.VisibilityTimeout < 0 || *e.VisibilityTimeout > maxVisibilitySeconds:
		return errParameter("Value %d for parameter VisibilityTimeout is invalid. Reason: VisibilityTimeout must be an integer between 0 and %d.",
			*e.VisibilityTimeout, maxVisibilitySeconds)
	}
	h, err := parseHandle(e.ReceiptHandle, q)
	if err != nil {
		return err
	}
	m := q.held(h)
	if m == nil {
		return errParameter("Value %s for parameter ReceiptHandle is invalid. Reason: Message does not exist "+
			"or is not available for visibility timeout change.",
			e.ReceiptHandle)
	}
	now := s.clock.Now()
	if !m.inFlight || !m.visibleAt.After(now) {
		return modelled("MessageNotInflight", true, "The message referred to isn't in flight.")
	}
	until := now.Add(time.Duration(*e.VisibilityTimeout) * time.Second)
	if until.After(m.lastReceived.Add(maxVisibilitySeconds * time.Second)) {
		return errParameter("Value %d for parameter VisibilityTimeout is invalid. Reason: Total VisibilityTimeout "+
			"for the message is beyond the limit [%d seconds].",
			*e.VisibilityTimeout, maxVisibilitySeconds)
	}
	q.unplace(m)
	m.visibleAt = until
	q.place(m, now)
	return nil
}
