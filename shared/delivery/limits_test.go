package delivery_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"bailing/shared/clock"
	"bailing/shared/delivery"
	"bailing/shared/job"
	"bailing/shared/job/jobtest"
	"bailing/shared/registry"
)

// shelf is a store of which each test uses a part.
type shelf struct {
	delivery.Store
	claim int64
	dead  int // letters that there are

	mu       sync.Mutex
	asked    []delivery.Letters
	requeued int
	saved    delivery.Result
}

func (s *shelf) DeadLetters(_ context.Context, l delivery.Letters) ([]*delivery.Row, error) {
	s.asked = append(s.asked, l)
	rows := make([]*delivery.Row, min(s.dead, l.Limit))
	for i := range rows {
		rows[i] = &delivery.Row{Key: job.OutboxKey{JobID: "j", Terminal: i + 1, Target: job.ToCallback}}
	}
	return rows, nil
}

func (s *shelf) RequeueOutbox(context.Context, job.OutboxKey, time.Time, time.Time, job.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requeued++
	return nil
}

func (s *shelf) ClaimOutbox(_ context.Context, k job.OutboxKey, from delivery.State, _ string, _, _ time.Time) (*delivery.Row, error) {
	return &delivery.Row{Key: k, Owner: "acme", State: from, Attempts: 1, Claim: s.claim}, nil
}

func (s *shelf) SaveAttempt(_ context.Context, _ *delivery.Row, r delivery.Result, _ job.Event) error {
	s.saved = r
	return nil
}

// owners has every client.
type owners struct{}

func (owners) Get(context.Context, string) (*registry.Versioned[registry.Client], error) {
	return &registry.Versioned[registry.Client]{}, nil
}

func over(s *shelf) *delivery.Service {
	return &delivery.Service{
		Store: s, Clients: owners{}, Secrets: broken{}, Queue: &jobtest.Notices{}, Clock: clock.NewManual(jobtest.Start),
		Logger: slog.New(slog.DiscardHandler), NewID: func() string { return "w" },
	}
}

// Core §2.6.
func TestListsHaveALimit(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int]int{-1: 100, 0: 100, 1: 1, 499: 499, 500: 500, 501: 500} {
		s := &shelf{}
		if _, err := over(s).Letters(t.Context(), true, limit); err != nil || s.asked[0] != (delivery.Letters{Resolved: true, Limit: want}) {
			t.Errorf("limit %d: %+v, %v", limit, s.asked, err)
		}
	}
}

func TestAReplayQueuesAtMostAThousand(t *testing.T) {
	t.Parallel()
	for dead, want := range map[int]delivery.Replayed{
		0: {}, 999: {Queued: 999}, 1000: {Queued: 1000}, 1001: {Queued: 1000, More: true},
	} {
		s := &shelf{dead: dead}
		n, err := over(s).ReplaySince(t.Context(), jobtest.Start, "token")
		if err != nil || n != want || s.requeued != want.Queued || s.asked[0].Resolved || !s.asked[0].Since.Equal(jobtest.Start) {
			t.Errorf("of %d: %+v with %d queued, %v", dead, n, s.requeued, err)
		}
	}
}

// The hub does not try for ever what it cannot prepare (I6).
func TestTheHubsFailuresAreBounded(t *testing.T) {
	t.Parallel()
	for claim, want := range map[int64]delivery.Outcome{199: delivery.OutcomeDeferred, 200: delivery.OutcomeDead} {
		s := &shelf{claim: claim}
		got, err := over(s).Deliver(t.Context(), job.OutboxKey{JobID: "j", Terminal: 1, Target: job.ToCallback})
		if err != nil || got != want || (s.saved.State == delivery.Dead) != (want == delivery.OutcomeDead) || s.saved.Reason == "" {
			t.Errorf("claim %d: %s, %+v, %v", claim, got, s.saved, err)
		}
	}
}
