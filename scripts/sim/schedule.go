package sim

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// kind says what a step is.
type kind int

const (
	toAWS     kind = iota // a request to AWS
	toConnect             // a connection to anything else
	toServe               // a request that has arrived at a business, a model or a receiver
)

// step is one thing that a process is about to do. It waits until the schedule lets it go on.
type step struct {
	kind    kind
	key     string // what it does; the same in every run of a seed
	by      *invocation
	number  int       // of the step among those with its key
	after   time.Time // not before this; zero = at once
	delayed bool      // it has waited once, and is not delayed again
	arrived func()    // runs when the step is first seen, before anything else happens
	seen    bool
	choice  func() // of a toServe step: draws what its server does
	verdict chan verdict
}

// verdict is what happens to a step.
type verdict struct {
	fault fault
	dead  bool // its process died before it
}

// event is something that the world does by itself at a time.
type event struct {
	at     time.Time
	number int
	do     func()
}

// schedule decides the order of everything. Every step of every process parks here; when nothing else can move, one of them is
// chosen by the seed. The order depends on what the steps are, never on which goroutine came first.
type schedule struct {
	rng    *rand.Rand
	settle func() // waits until every goroutine of the bubble is blocked
	trace  *trace

	mu     sync.Mutex
	parked []*step
	ended  []*invocation
	events []*event
	serial int // numbers events and steps with equal keys
	signal chan struct{}

	steps  int
	faults int
}

func newSchedule(rng *rand.Rand, settle func(), t *trace) *schedule {
	return &schedule{rng: rng, settle: settle, trace: t, signal: make(chan struct{}, 1)}
}

func (s *schedule) wake() {
	select {
	case s.signal <- struct{}{}:
	default:
	}
}

// park waits for the step's turn, or for the end of ctx: then it never happened.
func (s *schedule) park(ctx context.Context, st *step) (verdict, error) {
	st.verdict = make(chan verdict, 1)
	s.mu.Lock()
	s.serial++
	st.number = s.serial
	s.parked = append(s.parked, st)
	s.mu.Unlock()
	s.wake()
	select {
	case v := <-st.verdict:
		return v, nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	at := slices.Index(s.parked, st)
	if at >= 0 {
		s.parked = slices.Delete(s.parked, at, at+1)
	}
	s.mu.Unlock()
	if at < 0 { // chosen in the same moment
		return <-st.verdict, nil
	}
	return verdict{}, ctx.Err()
}

// at has do run at t, after everything else that is due then and was planned before.
func (s *schedule) at(t time.Time, do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial++
	s.events = append(s.events, &event{at: t, number: s.serial, do: do})
}

func (s *schedule) in(d time.Duration, do func()) { s.at(time.Now().Add(d), do) }

// finished reports the end of an invocation's handler.
func (s *schedule) finished(i *invocation) {
	s.mu.Lock()
	s.ended = append(s.ended, i)
	s.mu.Unlock()
	s.wake()
}

// nextEvent takes the first event that is due.
func (s *schedule) nextEvent() *event {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.events) == 0 {
		return nil
	}
	first := slices.MinFunc(s.events, func(a, b *event) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.number, b.number))
	})
	if first.at.After(time.Now()) {
		return nil
	}
	s.events = slices.DeleteFunc(s.events, func(e *event) bool { return e == first })
	return first
}

// takeEnded returns what ended since the last call, in the order in which it began.
func (s *schedule) takeEnded() []*invocation {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.ended
	s.ended = nil
	slices.SortFunc(out, func(a, b *invocation) int { return cmp.Compare(a.number, b.number) })
	return out
}

// ready returns the steps that may go on now, in their own order.
func (s *schedule) ready() []*step {
	now := time.Now()
	return slices.DeleteFunc(s.all(), func(st *step) bool { return st.after.After(now) })
}

// all returns the steps that are parked, in their own order.
func (s *schedule) all() []*step {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := slices.Clone(s.parked)
	slices.SortFunc(out, func(a, b *step) int {
		return cmp.Or(cmp.Compare(a.by.number, b.by.number), cmp.Compare(a.key, b.key), cmp.Compare(a.number, b.number))
	})
	return out
}

// unseen returns the steps that arrived since the last call, in their own order.
func (s *schedule) unseen() []*step {
	var out []*step
	for _, st := range s.ready() {
		if !st.seen {
			st.seen = true
			out = append(out, st)
		}
	}
	return out
}

func (s *schedule) release(st *step, v verdict) {
	s.mu.Lock()
	s.parked = slices.DeleteFunc(s.parked, func(p *step) bool { return p == st })
	s.mu.Unlock()
	st.verdict <- v
}

// sleep lets time pass until something parks or ends, an event is due, a delayed step may go on, or limit has passed.
func (s *schedule) sleep(limit time.Time) {
	s.mu.Lock()
	until := limit
	for _, e := range s.events {
		if e.at.Before(until) {
			until = e.at
		}
	}
	for _, st := range s.parked {
		if st.after.After(time.Now()) && st.after.Before(until) {
			until = st.after
		}
	}
	s.mu.Unlock()
	wait := time.NewTimer(time.Until(until))
	defer wait.Stop()
	select {
	case <-s.signal:
	case <-wait.C:
	}
}

// busy reports whether a step is parked.
func (s *schedule) busy() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.parked) > 0
}

// flip is true with probability p.
func (s *schedule) flip(p float64) bool { return p > 0 && s.rng.Float64() < p }

// between is a time from a up to b.
func (s *schedule) between(a, b time.Duration) time.Duration {
	return a + time.Duration(s.rng.Int64N(int64(b-a)+1))
}

// pick is one of a list.
func pick[T any](s *schedule, from ...T) T { return from[s.rng.IntN(len(from))] }
