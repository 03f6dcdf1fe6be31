package sqs

import (
	"time"
)

// sendEntry is one message to send, alone or in a batch.
type sendEntry struct {
	Id                      string
	MessageBody             *string
	DelaySeconds            *int
	MessageAttributes       map[string]attributeValue
	MessageSystemAttributes map[string]attributeValue
	MessageDeduplicationId  *string
	MessageGroupId          *string
}

// sendResult answers a message that was sent.
type sendResult struct {
	Id                     string `json:",omitempty"`
	MessageId              string
	MD5OfMessageBody       string
	MD5OfMessageAttributes string `json:",omitempty"`
}

func (s *Service) sendMessage(r *request) (any, error) {
	var in struct {
		QueueUrl string
		sendEntry
	}
	if err := r.decode(&in); err != nil {
		return nil, err
	}
	results, errs, err := s.send(r, in.QueueUrl, []sendEntry{in.sendEntry})
	if err != nil {
		return nil, err
	}
	if errs[0] != nil {
		return nil, errs[0]
	}
	return results[0], nil
}

func (s *Service) sendMessageBatch(r *request) (any, error) {
	var in struct {
		QueueUrl string
		Entries  []sendEntry
	}
	if err := r.decode(&in); err != nil {
		return nil, err
	}
	if err := checkBatch(in.Entries, func(e sendEntry) string { return e.Id }); err != nil {
		return nil, err
	}
	total := 0
	for _, e := range in.Entries {
		if e.MessageBody != nil {
			total += size(*e.MessageBody, e.MessageAttributes)
		}
	}
	if total > maxMessageSize {
		return nil, modelled("BatchRequestTooLong", true, "Batch requests cannot be longer than %d bytes. You have sent %d bytes.", maxMessageSize, total)
	}
	results, errs, err := s.send(r, in.QueueUrl, in.Entries)
	if err != nil {
		return nil, err
	}
	var out batchResult[sendResult]
	for i, e := range in.Entries {
		results[i].Id = e.Id
		out.add(e.Id, results[i], errs[i])
	}
	return out, nil
}

// send sends what is valid in entries, durably, as one record. results and errs are by entry; an error of the whole call
// means that nothing was sent, or, when it comes from the journal, that this is unknown.
func (s *Service) send(r *request, url string, entries []sendEntry) (results []sendResult, errs []error, err error) {
	s.gate.RLock()
	defer s.gate.RUnlock()
	results, errs = make([]sendResult, len(entries)), make([]error, len(entries))
	now := s.clock.Now()

	s.mu.Lock()
	q, err := s.queueAt(r, url)
	if err != nil {
		s.mu.Unlock()
		return nil, nil, err
	}
	rec := record{Kind: recSend, Queue: q.id}
	var ms []*message
	for i, e := range entries {
		if errs[i] = e.check(q.settings); errs[i] != nil {
			continue
		}
		m := e.message(s.nextSeq, q.settings, now, r.accessKey)
		s.nextSeq++
		ms = append(ms, m)
		rec.Messages = append(rec.Messages, stored(m))
		results[i] = sendResult{MessageId: m.ID, MD5OfMessageBody: md5Hex(m.Body), MD5OfMessageAttributes: md5Attributes(m.Attributes)}
	}
	s.mu.Unlock()

	if len(ms) == 0 {
		return results, errs, nil
	}
	if err := s.log.Append(rec.encode()); err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range ms {
		q.add(m, s.clock.Now())
	}
	return results, errs, nil
}

func (e sendEntry) check(set settings) error {
	switch {
	case e.MessageBody == nil || *e.MessageBody == "":
		return errMissing("MessageBody")
	case e.MessageGroupId != nil:
		return errUnsupported("The parameter MessageGroupId")
	case e.MessageDeduplicationId != nil:
		return errUnsupported("The parameter MessageDeduplicationId")
	case len(e.MessageSystemAttributes) > 0:
		return errUnsupported("The parameter MessageSystemAttributes")
	case e.DelaySeconds != nil && (*e.DelaySeconds < 0 || *e.DelaySeconds > maxDelaySeconds):
		return errParameter("Value %d for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and <= %d.",
			*e.DelaySeconds, maxDelaySeconds)
	case size(*e.MessageBody, e.MessageAttributes) > set.MaxMessageSize:
		return errParameter("One or more parameters are invalid. Reason: Message must be shorter than %d bytes.", set.MaxMessageSize)
	}
	if err := checkCharacters(*e.MessageBody); err != nil {
		return err
	}
	return checkAttributes(e.MessageAttributes)
}

func (e sendEntry) message(seq uint64, set settings, now time.Time, sender string) *message {
	delay := set.DelaySeconds
	if e.DelaySeconds != nil {
		delay = *e.DelaySeconds
	}
	m := &message{seq: seq, content: &content{ID: messageID(seq), Body: *e.MessageBody, Attributes: e.MessageAttributes,
		Sent: now, Sender: sender}}
	if delay > 0 {
		m.visibleAt = now.Add(time.Duration(delay) * time.Second)
	}
	return m
}
