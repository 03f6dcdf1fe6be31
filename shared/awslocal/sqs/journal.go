package sqs

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Kinds of records.
const (
	recCounters = "counters"     // where numbering goes on; begins every snapshot
	recCreate   = "create-queue" // also the queues of a snapshot
	recSet      = "set-queue"
	recDrop     = "delete-queue"
	recPurge    = "purge-queue"
	recSend     = "send"    // also the messages of a snapshot
	recReceive  = "receive" // with the resulting counts, so that applying it twice is harmless
	recDelete   = "delete"
	recMove     = "move" // to a dead-letter queue
)

// record is one entry of the journal.
type record struct {
	Kind     string          `json:"kind"`
	Queue    uint64          `json:"queue,omitempty"`
	To       uint64          `json:"to,omitempty"` // queue that a move goes to
	At       time.Time       `json:"at,omitzero"`
	Name     string          `json:"name,omitempty"`
	Created  time.Time       `json:"created,omitzero"`
	Settings *settings       `json:"settings,omitempty"`
	Messages []storedMessage `json:"messages,omitempty"`
	Seqs     []uint64        `json:"seqs,omitempty"`
	Counts   []int           `json:"counts,omitempty"` // receive counts of Seqs after a receive

	NextQueue uint64 `json:"next_queue,omitempty"`
	NextSeq   uint64 `json:"next_seq,omitempty"`
}

// storedMessage is a message in the journal.
type storedMessage struct {
	Seq           uint64                    `json:"seq"`
	ID            string                    `json:"id"`
	Body          string                    `json:"body"`
	Attributes    map[string]attributeValue `json:"attributes,omitempty"`
	Sent          time.Time                 `json:"sent"`
	Sender        string                    `json:"sender,omitempty"`
	DelayedUntil  time.Time                 `json:"delayed_until,omitzero"`
	Received      int                       `json:"received,omitempty"`
	FirstReceived time.Time                 `json:"first_received,omitzero"`
	Source        string                    `json:"source,omitempty"`
}

func stored(m *message) storedMessage {
	s := storedMessage{Seq: m.seq, ID: m.ID, Body: m.Body, Attributes: m.Attributes, Sent: m.Sent, Sender: m.Sender,
		Received: m.received, FirstReceived: m.firstReceived, Source: m.source}
	if !m.inFlight {
		s.DelayedUntil = m.visibleAt
	}
	return s
}

func (s storedMessage) message() *message {
	return &message{
		content: &content{ID: s.ID, Body: s.Body, Attributes: s.Attributes, Sent: s.Sent, Sender: s.Sender},
		seq:     s.Seq, source: s.Source, visibleAt: s.DelayedUntil, received: s.Received, firstReceived: s.FirstReceived,
	}
}

func (r record) encode() []byte {
	b, err := json.Marshal(r)
	if err != nil {
		panic(fmt.Sprintf("sqs: a record cannot be encoded: %v", err)) // plain data
	}
	return b
}

// Replay applies one record of the journal. Records come in the order in which they were appended, before the service
// serves. A record of which the state has the effect already is harmless when all later records follow.
func (s *Service) Replay(rec []byte) error {
	var r record
	if err := json.Unmarshal(rec, &r); err != nil {
		return fmt.Errorf("sqs: decode record: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	// A number in any record is used up, even if what it stood for is gone: old receipt handles carry it.
	s.nextQueue = max(s.nextQueue, r.NextQueue, r.Queue+1)
	s.nextSeq = max(s.nextSeq, r.NextSeq)
	for _, seq := range r.Seqs {
		s.nextSeq = max(s.nextSeq, seq+1)
	}
	for _, m := range r.Messages {
		s.nextSeq = max(s.nextSeq, m.Seq+1)
	}
	return s.apply(r)
}

func (s *Service) apply(r record) error {
	if (r.Kind == recCreate || r.Kind == recSet) && r.Settings == nil || r.Kind == recReceive && len(r.Counts) != len(r.Seqs) {
		return fmt.Errorf("sqs: a record of kind %q is incomplete", r.Kind)
	}
	if r.Kind == recCreate {
		q, ok := s.queues[r.Queue]
		if !ok {
			q = newQueue(r.Queue, r.Name, *r.Settings, r.Created)
			q.modified = r.At
		}
		s.queues[q.id], s.byName[q.name] = q, q
		return nil
	}
	// A queue that is not there was deleted, by a record whose effect the snapshot has.
	q, exists := s.queues[r.Queue]
	switch r.Kind {
	case recCounters, recSet, recDrop, recPurge, recSend, recReceive, recDelete, recMove:
		if exists {
			s.applyTo(q, r)
		}
		return nil
	}
	return fmt.Errorf("sqs: a record of unknown kind %q", r.Kind)
}

// applyTo applies a record about an existing queue.
func (s *Service) applyTo(q *queue, r record) {
	now := s.clock.Now()
	switch r.Kind {
	case recSet:
		q.change(*r.Settings, r.At)
	case recDrop:
		s.drop(q)
	case recPurge:
		q.purge()
	case recSend:
		for _, m := range r.Messages {
			q.add(m.message(), now)
		}
	case recReceive:
		for i, seq := range r.Seqs {
			if m, ok := q.messages[seq]; ok {
				m.received = max(m.received, r.Counts[i])
				if m.firstReceived.IsZero() {
					m.firstReceived = r.At
				}
			}
		}
	case recDelete:
		for _, m := range q.pick(r.Seqs) {
			q.remove(m)
		}
	case recMove:
		to, ok := s.queues[r.To]
		for _, m := range q.pick(r.Seqs) {
			if ok {
				move(m, q, to, now)
			} else {
				q.remove(m)
			}
		}
	}
}

// pick returns the messages of seqs that the queue still has. Twins of injected duplicates are not in the journal, so a
// record may name messages that it never saw.
func (q *queue) pick(seqs []uint64) []*message {
	var ms []*message
	for _, seq := range seqs {
		if m, ok := q.messages[seq]; ok {
			ms = append(ms, m)
		}
	}
	return ms
}

// Snapshot emits records that rebuild the service as it is: queues, and messages with their receive counts. It contains every
// record whose append had been called before. Requests wait only while the state is noted, not while it is emitted.
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
	s.gate.Lock()
	defer s.gate.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	records := []record{{Kind: recCounters, NextQueue: s.nextQueue, NextSeq: s.nextSeq}}
	for _, id := range sortedKeys(s.queues) {
		q := s.queues[id]
		set := q.settings
		records = append(records, record{Kind: recCreate, Queue: id, Name: q.name, Settings: &set, Created: q.created, At: q.modified})
		for _, seq := range sortedKeys(q.messages) {
			records = append(records, record{Kind: recSend, Queue: id, Messages: []storedMessage{stored(q.messages[seq])}})
		}
	}
	return records
}

func sortedKeys[V any](m map[uint64]V) []uint64 {
	keys := make([]uint64, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
