package sqs

import (
	"container/heap"
	"strconv"
	"strings"
	"time"
)

// maxInFlight is the limit on messages of one queue that are received and not yet deleted or visible again.
const maxInFlight = 120_000

type receiveInput struct {
	QueueUrl                    string
	MaxNumberOfMessages         *int
	VisibilityTimeout           *int
	WaitTimeSeconds             *int
	AttributeNames              []string
	MessageSystemAttributeNames []string
	MessageAttributeNames       []string
	ReceiveRequestAttemptId     *string
}

// receivedMessage is a message as a receiver gets it.
type receivedMessage struct {
	MessageId              string
	ReceiptHandle          string
	MD5OfBody              string
	Body                   string
	Attributes             map[string]string         `json:",omitempty"`
	MD5OfMessageAttributes string                    `json:",omitempty"`
	MessageAttributes      map[string]attributeValue `json:",omitempty"`
}

func (s *Service) receiveMessage(r *request) (any, error) {
	var in receiveInput
	if err := r.decode(&in); err != nil {
		return nil, err
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	deadline := s.clock.Now()
	for first := true; ; first = false {
		now := s.clock.Now()
		t, err := s.take(r, &in, now)
		if err != nil {
			return nil, err
		}
		if first {
			deadline = now.Add(time.Duration(t.wait) * time.Second)
		}
		if len(t.messages) > 0 || !now.Before(deadline) || !s.waitForChange(r, t, now, deadline) {
			return struct {
				Messages []receivedMessage `json:",omitempty"`
			}{t.messages}, nil
		}
	}
}

func (in *receiveInput) check() error {
	within := func(name string, v *int, low, high int) error {
		if v != nil && (*v < low || *v > high) {
			return errParameter("Value %d for parameter %s is invalid. Reason: Must be >= %d and <= %d, if provided.", *v, name, low, high)
		}
		return nil
	}
	if in.ReceiveRequestAttemptId != nil {
		return errUnsupported("The parameter ReceiveRequestAttemptId")
	}
	if err := within("MaxNumberOfMessages", in.MaxNumberOfMessages, 1, maxBatch); err != nil {
		return err
	}
	if err := within("VisibilityTimeout", in.VisibilityTimeout, 0, maxVisibilitySeconds); err != nil {
		return err
	}
	return within("WaitTimeSeconds", in.WaitTimeSeconds, 0, maxWaitSeconds)
}

// taken is the outcome of one look into a queue.
type taken struct {
	messages []receivedMessage
	wait     int             // seconds that this receive may wait in all
	next     time.Time       // when the next hidden message becomes visible; zero for never
	changed  <-chan struct{} // closed when that is no longer right
}

// take receives what is visible now.
func (s *Service) take(r *request, in *receiveInput, now time.Time) (t taken, err error) {
	s.gate.RLock()
	defer s.gate.RUnlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	q, err := s.queueAt(r, in.QueueUrl)
	if err != nil {
		return t, err
	}
	if err := s.refresh(q, now); err != nil {
		return t, err
	}
	visibility := or(in.VisibilityTimeout, q.settings.VisibilitySeconds)
	picked, err := s.pickVisible(q, or(in.MaxNumberOfMessages, 1), now)
	if err != nil {
		return t, err
	}
	for _, m := range picked {
		m.inFlight = true
		m.visibleAt = now.Add(time.Duration(visibility) * time.Second)
		t.messages = append(t.messages, q.answer(m, in))
		q.place(m, now)
		if r.duplicate {
			s.addTwin(q, m, now)
		}
	}
	t.wait = or(in.WaitTimeSeconds, q.settings.WaitSeconds)
	t.changed = q.changed
	if len(q.hidden.items) > 0 {
		t.next = q.hidden.items[0].visibleAt
	}
	return t, nil
}

func or(v *int, other int) int {
	if v != nil {
		return *v
	}
	return other
}

// pickVisible takes up to limit messages out of the heap of visible ones and counts the receive; the caller places them. Those
// that have been received too often go to the dead-letter queue instead. With an error, what was not journaled is as it was:
// receipt handles of earlier receives stay good.
func (s *Service) pickVisible(q *queue, limit int, now time.Time) (picked []*message, err error) {
	if q.inFlight >= maxInFlight && len(q.ready.items) > 0 {
		return nil, modelled("OverLimit", false, "Too many messages in flight: the limit is %d.", maxInFlight)
	}
	limit = min(limit, maxInFlight-q.inFlight)
	var dlq *queue
	if p := q.settings.Redrive; p != nil {
		dlq = s.queueByARN(p.Target)
	}
	received := record{Kind: recReceive, Queue: q.id, At: now}
	dead := record{Kind: recMove, Queue: q.id, At: now}
	var condemned []*message
	for len(picked) < limit && len(q.ready.items) > 0 {
		m := heap.Pop(&q.ready).(*message)
		if dlq != nil && m.received >= q.settings.Redrive.MaxReceives {
			condemned = append(condemned, m)
			dead.To, dead.Seqs = dlq.id, append(dead.Seqs, m.seq)
			continue
		}
		picked = append(picked, m)
		received.Seqs, received.Counts = append(received.Seqs, m.seq), append(received.Counts, m.received+1)
	}
	if err := s.note(dead); err != nil {
		q.placeAll(append(condemned, picked...), now)
		return nil, err
	}
	for _, m := range condemned {
		move(m, q, dlq, now)
	}
	if err := s.note(received); err != nil {
		q.placeAll(picked, now)
		return nil, err
	}
	for _, m := range picked {
		m.received++
		m.lastReceived = now
		if m.firstReceived.IsZero() {
			m.firstReceived = now
		}
	}
	return picked, nil
}

// note journals a record about messages, if it names any.
func (s *Service) note(r record) error {
	if len(r.Seqs) == 0 {
		return nil
	}
	return s.log.AppendNoSync(r.encode())
}

// move takes m from one queue to its dead-letter queue.
func move(m *message, from, to *queue, now time.Time) {
	from.remove(m)
	m.source, m.visibleAt, m.inFlight = from.arn(), time.Time{}, false
	to.add(m, now)
}

// addTwin puts a second copy of a message that was just received into the queue, for the injected duplicate delivery.
func (s *Service) addTwin(q *queue, m *message, now time.Time) {
	twin := *m
	twin.seq, twin.visibleAt, twin.inFlight, twin.heap = s.nextSeq, time.Time{}, false, nil
	s.nextSeq++
	q.add(&twin, now)
}

// refresh brings a queue up to date. The caller holds gate and mu.
func (s *Service) refresh(q *queue, now time.Time) error {
	expired := q.refresh(now)
	rec := record{Kind: recDelete, Queue: q.id}
	for _, m := range expired {
		rec.Seqs = append(rec.Seqs, m.seq)
	}
	return s.note(rec)
}

// waitForChange waits until the queue is worth another look and reports whether it is: false when the client left or the
// service closes.
func (s *Service) waitForChange(r *request, t taken, now, deadline time.Time) bool {
	until := deadline
	if !t.next.IsZero() && t.next.Before(until) {
		until = t.next
	}
	after := s.clock.After(until.Sub(now))
	// A clock that was moved between its reading and the start of this wait would end it that much later.
	if s.clock.Now().Sub(now) > 10*time.Millisecond {
		return true
	}
	select {
	case <-after:
	case <-t.changed:
	case <-r.ctx.Done():
	case <-s.closed:
	}
	// Several may have happened: nobody takes a message for a receiver that is known to have left.
	select {
	case <-s.closed:
		return false
	default:
		return r.ctx.Err() == nil
	}
}

// answer shows m to a receiver.
func (q *queue) answer(m *message, in *receiveInput) receivedMessage {
	out := receivedMessage{MessageId: m.ID, ReceiptHandle: handle{q.id, m.seq, m.received}.String(),
		MD5OfBody: md5Hex(m.Body), Body: m.Body}
	system := map[string]string{
		"SenderId":                         m.Sender,
		"SentTimestamp":                    millis(m.Sent),
		"ApproximateReceiveCount":          strconv.Itoa(m.received),
		"ApproximateFirstReceiveTimestamp": millis(m.firstReceived),
	}
	if m.source != "" {
		system["DeadLetterQueueSourceArn"] = m.source
	}
	for _, names := range [][]string{in.AttributeNames, in.MessageSystemAttributeNames} {
		for _, name := range names {
			for k, v := range system {
				if name == "All" || name == k {
					if out.Attributes == nil {
						out.Attributes = map[string]string{}
					}
					out.Attributes[k] = v
				}
			}
		}
	}
	for k, v := range m.Attributes {
		if wanted(k, in.MessageAttributeNames) {
			if out.MessageAttributes == nil {
				out.MessageAttributes = map[string]attributeValue{}
			}
			out.MessageAttributes[k] = v
		}
	}
	out.MD5OfMessageAttributes = md5Attributes(out.MessageAttributes)
	return out
}

func millis(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }

// wanted reports whether a receiver asked for the attribute name: by name, by "prefix.*", or for all.
func wanted(name string, patterns []string) bool {
	for _, p := range patterns {
		prefix, isPrefix := strings.CutSuffix(p, ".*")
		if p == "All" || p == name || isPrefix && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
