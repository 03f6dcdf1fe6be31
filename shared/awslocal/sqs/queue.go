package sqs

import (
	"container/heap"
	"time"
)

// content is the part of a message that never changes.
type content struct {
	ID         string
	Body       string
	Attributes map[string]attributeValue
	Sent       time.Time
	Sender     string // access key id
}

// message is a message in a queue. Its fields are guarded by Service.mu.
type message struct {
	*content
	seq           uint64
	source        string // ARN of the queue that a redrive took it from
	visibleAt     time.Time
	received      int // how often; also names the last receive in receipt handles
	firstReceived time.Time
	lastReceived  time.Time
	inFlight      bool // hidden by a receive, not by a delay

	heap  *messageHeap // where it waits
	index int
}

// queue holds its messages twice: all by number, and each in one of two heaps, by what it waits for.
type queue struct {
	id       uint64 // never used again, so that a record cannot meet a later queue of the same name
	name     string
	settings settings
	created  time.Time
	modified time.Time

	messages map[uint64]*message
	ready    messageHeap // visible, oldest first
	hidden   messageHeap // delayed or in flight, first to become visible first
	inFlight int

	expires time.Time     // no message expires before; zero when there is none
	changed chan struct{} // closed and replaced when a message may be visible earlier than a waiter knows
}

func newQueue(id uint64, name string, set settings, at time.Time) *queue {
	q := &queue{id: id, name: name, settings: set, created: at, modified: at,
		messages: map[uint64]*message{}, changed: make(chan struct{})}
	q.ready.less = func(a, b *message) bool { return a.seq < b.seq }
	q.hidden.less = func(a, b *message) bool {
		if a.visibleAt.Equal(b.visibleAt) {
			return a.seq < b.seq
		}
		return a.visibleAt.Before(b.visibleAt)
	}
	return q
}

func (q *queue) arn() string { return "arn:aws:sqs:" + region + ":" + account + ":" + q.name }

// add puts m into the queue, visible or hidden according to visibleAt, in the place of a message of the same number.
func (q *queue) add(m *message, now time.Time) {
	if old, ok := q.messages[m.seq]; ok {
		m.received = max(m.received, old.received) // counts never fall: receipt handles rely on it
		q.remove(old)
	}
	q.messages[m.seq] = m
	if at := m.Sent.Add(q.settings.retention()); q.expires.IsZero() || at.Before(q.expires) {
		q.expires = at
	}
	q.place(m, now)
}

// place puts a message that is in no heap into the one it belongs to, and wakes the waiters.
func (q *queue) place(m *message, now time.Time) {
	if m.visibleAt.After(now) {
		heap.Push(&q.hidden, m)
		if m.inFlight {
			q.inFlight++
		}
	} else {
		m.inFlight = false
		heap.Push(&q.ready, m)
	}
	q.wake()
}

func (q *queue) placeAll(ms []*message, now time.Time) {
	for _, m := range ms {
		q.place(m, now)
	}
}

// unplace takes m out of its heap. It stays in messages.
func (q *queue) unplace(m *message) {
	if m.heap == &q.hidden && m.inFlight {
		q.inFlight--
	}
	heap.Remove(m.heap, m.index)
}

// remove takes m out of the queue. It does nothing when m is not there any more.
func (q *queue) remove(m *message) {
	if q.messages[m.seq] != m {
		return
	}
	if m.heap != nil {
		q.unplace(m)
	}
	delete(q.messages, m.seq)
}

// refresh makes visible what is due, and drops what has expired; it returns the expired messages.
func (q *queue) refresh(now time.Time) (expired []*message) {
	for len(q.hidden.items) > 0 && !q.hidden.items[0].visibleAt.After(now) {
		m := q.hidden.items[0]
		q.unplace(m)
		m.inFlight = false
		heap.Push(&q.ready, m)
	}
	if q.expires.IsZero() || now.Before(q.expires) {
		return nil
	}
	q.expires = time.Time{}
	for _, m := range q.messages {
		at := m.Sent.Add(q.settings.retention())
		switch {
		case !at.After(now) && m.heap != nil:
			q.remove(m)
			expired = append(expired, m)
		case q.expires.IsZero() || at.Before(q.expires):
			q.expires = at
		}
	}
	return expired
}

func (q *queue) wake() {
	close(q.changed)
	q.changed = make(chan struct{})
}

// counts returns how many messages are visible, in flight and delayed.
func (q *queue) counts() (visible, inFlight, delayed int) {
	return len(q.ready.items), q.inFlight, len(q.hidden.items) - q.inFlight
}

// messageHeap is a container/heap of messages that know their place.
type messageHeap struct {
	items []*message
	less  func(a, b *message) bool
}

func (h *messageHeap) Len() int           { return len(h.items) }
func (h *messageHeap) Less(i, j int) bool { return h.less(h.items[i], h.items[j]) }

func (h *messageHeap) Swap(i, j int) {
	h.items[i], h.items[j] = h.items[j], h.items[i]
	h.items[i].index, h.items[j].index = i, j
}

func (h *messageHeap) Push(x any) {
	m := x.(*message)
	m.heap, m.index = h, len(h.items)
	h.items = append(h.items, m)
}

func (h *messageHeap) Pop() any {
	last := len(h.items) - 1
	m := h.items[last]
	h.items[last] = nil
	h.items = h.items[:last]
	m.heap = nil
	return m
}
