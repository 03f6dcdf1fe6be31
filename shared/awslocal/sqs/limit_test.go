package sqs

import (
	"errors"
	"testing"
	"time"
)

func TestInFlightLimit(t *testing.T) {
	t.Parallel()
	s := New(Options{})
	now := time.Unix(0, 0)
	q := newQueue(1, "q", defaultSettings(), now)
	for i := range uint64(maxInFlight + 1) {
		q.add(&message{content: &content{Sent: now}, seq: i + 1}, now)
	}
	receive := func(limit int) (int, error) {
		ms, err := s.pickVisible(q, limit, now)
		for _, m := range ms {
			m.inFlight, m.visibleAt = true, now.Add(time.Hour)
			q.place(m, now)
		}
		return len(ms), err
	}
	if n, err := receive(maxInFlight + 1); n != maxInFlight || err != nil {
		t.Errorf("received %d, %v; want %d at the limit", n, err, maxInFlight)
	}
	var api *apiError
	if n, err := receive(1); n != 0 || !errors.As(err, &api) || api.Type != "OverLimit" {
		t.Errorf("received %d, %v; want OverLimit past the limit", n, err)
	}
}
