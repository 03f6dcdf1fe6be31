package sfn

import (
	"container/heap"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// move gives x its next progress, in the journal first. sync waits for stable storage. The caller holds x.mu.
func (s *Service) move(x *execution, next progress, sync bool) error {
	s.gate.RLock()
	defer s.gate.RUnlock()
	write := s.log.AppendNoSync
	if sync {
		write = s.log.Append
	}
	if err := write(executionRecord(x, next).encode()); err != nil {
		return fmt.Errorf("sfn: journal: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set(x, next)
	return nil
}

// set gives x its next progress. The caller holds mu.
func (s *Service) set(x *execution, next progress) {
	wasRunning := x.Status == running
	if next.Attempt != x.Attempt || next.Status != running {
		s.unqueue(x)
	}
	x.progress = next
	s.due.place(x)
	if next.Status != running && (wasRunning || !slices.Contains(s.ended, x)) {
		s.ended = append(s.ended, x)
		s.forget()
	}
}

func (s *Service) unqueue(x *execution) {
	if x.queued {
		x.queued = false
		s.ready = slices.DeleteFunc(s.ready, func(other *execution) bool { return other == x })
	}
}

// call is an invocation to be made.
type call struct {
	x        *execution
	attempt  uint64
	invoke   Invoker
	function string
	payload  []byte
}

// next does the one thing that is due first. done says that it did one; a call is left to the caller to make.
func (s *Service) next() (c *call, done bool) {
	s.mu.Lock()
	now := s.clock.Now()
	var x *execution
	switch {
	case len(s.due) > 0 && !s.due[0].at.After(now):
		x = s.due[0]
		if x.at.Equal(x.ReadyAt) && x.callable() && !x.queued && (x.Deadline.IsZero() || now.Before(x.Deadline)) {
			// It is its turn: it keeps its place among the ready until a function may be invoked.
			x.queued = true
			s.ready = append(s.ready, x)
			s.due.place(x)
			s.mu.Unlock()
			return nil, true
		}
	case len(s.ready) > 0 && s.invoke != nil && s.inflight < s.slots:
		x = s.ready[0]
		s.ready = s.ready[1:]
		x.queued = false
		invoke, attempt := s.invoke, x.Attempt
		// Claimed, so that nobody else invokes it.
		x.running = attempt
		s.inflight++
		s.due.place(x)
		s.mu.Unlock()
		if c = s.begin(x, attempt, invoke); c == nil {
			s.over()
		}
		return c, true
	default:
		s.mu.Unlock()
		return nil, false
	}
	// Its time-out, or its end of life. It is out of the agenda while it is looked at, and comes back by its progress.
	heap.Remove(&s.due, x.index)
	s.mu.Unlock()
	s.expire(x)
	return nil, true
}

// expire ends what has taken too long.
func (s *Service) expire(x *execution) {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := s.clock.Now()
	var err error
	switch {
	case x.Status != running:
		return
	case !now.Before(x.started.Add(maxExecution)):
		err = s.move(x, x.end(timedOut, "", "", now), false)
	case !x.Deadline.IsZero() && !now.Before(x.Deadline):
		err = s.move(x, x.fail(errorTimeout, "", now), false)
	default: // somebody was faster
		s.mu.Lock()
		defer s.mu.Unlock()
		s.due.place(x)
	}
	if err != nil {
		s.stuck(x, err)
	}
}

// stuck leaves an execution alone that the journal does not take: it goes on after a restart.
func (s *Service) stuck(x *execution, err error) {
	s.logger.Error("an execution cannot go on", "execution", x.name, "err", err)
}

// begin begins an attempt, or goes on with one that a restart cut off. It returns nil when there is nothing to invoke.
func (s *Service) begin(x *execution, attempt uint64, invoke Invoker) *call {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.Status != running || x.Attempt != attempt {
		return nil
	}
	now := s.clock.Now()
	if !x.Begun {
		next, err := x.begin(now)
		if err != nil {
			next = x.broken(err, now)
		}
		if err := s.move(x, next, false); err != nil {
			s.stuck(x, err)
			return nil
		}
		if err != nil {
			return nil
		}
	}
	payload, err := x.payload(s.token(x.seq, attempt))
	if err != nil {
		if err := s.move(x, x.broken(err, now), false); err != nil {
			s.stuck(x, err)
		}
		return nil
	}
	return &call{x: x, attempt: attempt, invoke: invoke, function: functionName(x.task().function), payload: payload}
}

// make invokes the function and takes its answer. An invocation that its context cut off is neither success nor failure: it is made
// again.
func (s *Service) make(ctx context.Context, c *call) {
	result, err := c.invoke(ctx, c.function, c.payload)
	defer s.over()
	if err != nil && ctx.Err() != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if c.x.running == c.attempt {
			c.x.running = 0
			s.due.place(c.x)
		}
		return
	}
	c.x.mu.Lock()
	defer c.x.mu.Unlock()
	if c.x.Status != running || c.x.Attempt != c.attempt {
		return // timed out, stopped, or answered by its token
	}
	now := s.clock.Now()
	var next progress
	if err != nil {
		name, cause := failure(err)
		next = c.x.fail(name, cause, now)
	} else {
		next = c.x.answered(result, now)
	}
	if err := s.move(c.x, next, false); err != nil {
		s.stuck(c.x, err)
	}
}

// failure is how a function's failure looks from inside a machine.
func failure(err error) (name, cause string) {
	var f *FunctionError
	if !errors.As(err, &f) {
		f = &FunctionError{Type: "Lambda.Unknown", Message: err.Error()}
	}
	text, encodeErr := json.Marshal(struct {
		Message string `json:"errorMessage"`
		Type    string `json:"errorType"`
	}{f.Message, f.Type})
	if encodeErr != nil {
		panic(encodeErr) // two strings
	}
	if len(text) > maxCause {
		text = text[:maxCause]
	}
	return f.Type, string(text)
}

// over frees the slot of an invocation.
func (s *Service) over() {
	s.mu.Lock()
	s.inflight--
	if s.inflight == 0 && s.idle != nil {
		close(s.idle)
		s.idle = nil
	}
	s.mu.Unlock()
	s.wakeUp()
}

// wakeUp lets the goroutine of Start look at what is due.
func (s *Service) wakeUp() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Step does the one thing that is due first, functions included, and reports whether there was one. For those that did not Start.
func (s *Service) Step(ctx context.Context) bool {
	c, done := s.next()
	if c != nil {
		s.make(ctx, c)
	}
	return done
}

// Next is the moment at which something is due: the present, or one to come. ok is false when nothing will be, unless a request
// or an invoker comes.
func (s *Service) Next() (at time.Time, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	if len(s.ready) > 0 && s.invoke != nil && s.inflight < s.slots {
		return now, true
	}
	if len(s.due) == 0 {
		return time.Time{}, false
	}
	if at := s.due[0].at; at.After(now) {
		return at, true
	}
	return now, true
}

// SetInvoke lets functions be invoked from now on; nil stops that. Invocations that are under way go on.
func (s *Service) SetInvoke(invoke Invoker) {
	s.mu.Lock()
	s.invoke = invoke
	s.mu.Unlock()
	s.wakeUp()
}

// Start lets a goroutine do what is due, until Close.
func (s *Service) Start() { s.run.Go(s.loop) }

func (s *Service) loop() {
	var armed time.Time
	var alarm <-chan time.Time
	for s.ctx.Err() == nil {
		for c, done := s.next(); done; c, done = s.next() {
			if c != nil {
				s.run.Go(func() { s.make(s.ctx, c) })
			}
			if s.ctx.Err() != nil {
				return
			}
		}
		at, ok := s.Next()
		now := s.clock.Now()
		switch {
		case ok && !at.After(now):
			continue // the clock was moved meanwhile
		case !ok:
		case alarm == nil || at.Before(armed):
			armed, alarm = at, s.clock.After(at.Sub(now))
			if s.clock.Now().Sub(now) > 10*time.Millisecond {
				alarm = nil // the clock was moved before the alarm was set: it would ring late
				continue
			}
		}
		select {
		case <-alarm:
			alarm = nil
		case <-s.wake:
		case <-s.ctx.Done():
		}
	}
}

// Drain stops new invocations and waits for those under way. When ctx ends they are told to stop; what they leave undone is
// made again after a restart.
func (s *Service) Drain(ctx context.Context) {
	s.mu.Lock()
	s.invoke = nil
	idle := s.idle
	if idle == nil {
		idle = make(chan struct{})
		if s.inflight == 0 {
			close(idle)
		} else {
			s.idle = idle
		}
	}
	s.mu.Unlock()
	select {
	case <-idle:
	case <-ctx.Done():
		s.cancel()
		<-idle
	}
}

// Close stops everything that Start began, invocations included, and waits for it. It does not close the journal.
func (s *Service) Close() {
	s.cancel()
	s.run.Wait()
}
